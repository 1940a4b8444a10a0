"""ERRANT against `errant_compare` on sentences written for this project."""

from __future__ import annotations

from pathlib import Path

import pytest

from learnedgec.data.m2 import read_m2
from learnedgec.data.references import References
from learnedgec.data.text import read_json
from learnedgec.metrics.errant import Errant

HERE = Path(__file__).parent


@pytest.mark.parametrize("beta", [0.5, 1.0])
@pytest.mark.parametrize("system", ["hypA", "hypB"])
def test_equals_errant_compare(system: str, beta: float) -> None:
    expected = read_json(HERE / "errant_compare.json")[f"{system}_beta{beta}"]
    blocks = read_m2(HERE / f"errant_{system}.m2")
    metric = Errant(beta=beta, annotator="en-ewt-sm")
    score = metric.score_of(
        metric.compare(
            [block.source for block in blocks],
            [block.annotations[0] for block in blocks],
            References.from_m2(HERE / "errant_gold.m2"),
        )
    )
    tp, proposed, gold = (score.details[name] for name in ("tp", "proposed", "gold"))
    assert {
        "TP": tp,
        "FP": proposed - tp,
        "FN": gold - tp,
        "precision": round(score.details["precision"], 4),
        "recall": round(score.details["recall"], 4),
        "f": round(score.value, 4),
    } == expected
