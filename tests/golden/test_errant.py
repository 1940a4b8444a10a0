"""ERRANT against `errant_compare` on sentences written for this project."""

from __future__ import annotations

from pathlib import Path

import pytest
from annotated import compare_files

from learnedgec.data.text import read_json
from learnedgec.metrics.errant import Errant

HERE = Path(__file__).parent


@pytest.mark.parametrize("beta", [0.5, 1.0])
@pytest.mark.parametrize("system", ["hypA", "hypB"])
def test_equals_errant_compare(system: str, beta: float) -> None:
    expected = read_json(HERE / "errant_compare.json")[f"{system}_beta{beta}"]
    metric = Errant(beta=beta, annotator="en-ewt-sm")
    files = HERE / f"errant_{system}.m2", HERE / "errant_gold.m2"
    score = metric.score_of(compare_files(metric, *files))
    tp, proposed, gold = (score.details[name] for name in ("tp", "proposed", "gold"))
    assert {
        "TP": tp,
        "FP": proposed - tp,
        "FN": gold - tp,
        "precision": round(score.details["precision"], 4),
        "recall": round(score.details["recall"], 4),
        "f": round(score.value, 4),
    } == expected
