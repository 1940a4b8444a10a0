"""GLEU against the official script's output on sentences written for this project."""

from __future__ import annotations

from pathlib import Path

import pytest

from learnedgec.data.references import References
from learnedgec.data.text import read_json, read_lines
from learnedgec.metrics.registry import load_metric

HERE = Path(__file__).parent


@pytest.mark.parametrize("system", ["hypA", "hypB"])
@pytest.mark.parametrize("count", [1, 2])
def test_equals_the_official_script(system: str, count: int) -> None:
    expected = read_json(HERE / "gleu.json")[f"{system}_{count}ref"]
    references = References.from_files(*(HERE / f"ref{i}.txt" for i in range(count)))
    score = load_metric("gleu").score(
        read_lines(HERE / "source.txt"), read_lines(HERE / f"{system}.txt"), references
    )
    assert score.value == pytest.approx(expected["corpus"][0], abs=1e-9)
    assert score.details["reference_deviation"] == pytest.approx(expected["corpus"][1], abs=1e-9)
    assert score.sentences == pytest.approx(expected["sentences"], abs=1e-9)
