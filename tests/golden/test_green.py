"""GREEN against the official script's output on sentences written for this project."""

from __future__ import annotations

from pathlib import Path

import pytest

from learnedgec.data.references import References
from learnedgec.data.text import read_json, read_lines
from learnedgec.metrics.green import Green

HERE = Path(__file__).parent


@pytest.mark.parametrize("beta", [1.0, 2.0])
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("system", ["hypA", "hypB"])
def test_equals_the_official_script(system: str, count: int, beta: float) -> None:
    expected = read_json(HERE / "green.json")[f"{system}_{count}ref"][f"beta{beta}"]
    references = References.from_files(*(HERE / f"ref{i}.txt" for i in range(count)))
    score = Green(beta=beta).score(
        read_lines(HERE / "source.txt"), read_lines(HERE / f"{system}.txt"), references
    )
    # The script prints percent with eight digits.
    assert 100 * score.value == pytest.approx(expected["corpus"], abs=6e-9)
    assert 100 * score.sentences == pytest.approx(expected["sentences"], abs=6e-9)
