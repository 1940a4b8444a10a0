"""M2 against the official scorer's output on sentences written for this project."""

from __future__ import annotations

from pathlib import Path

import pytest

from learnedgec.data.m2 import read_m2
from learnedgec.data.references import References
from learnedgec.data.text import read_json, read_lines
from learnedgec.metrics.registry import load_metric

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("system", "gold"),
    [
        ("hypA", "gold"),
        ("hypB", "gold"),
        ("special_hypA", "special"),
        ("special_hypB", "special"),
    ],
)
def test_equals_the_official_scorer(system: str, gold: str) -> None:
    expected = read_json(HERE / "m2.json")[system]
    blocks = read_m2(HERE / f"{gold}.m2")
    sources = [block.source for block in blocks]
    references = References.from_annotated(blocks)
    hypotheses = read_lines(HERE / f"{system}.txt")

    score = load_metric("m2").score(sources, hypotheses, references)
    assert score.value == pytest.approx(expected["f0.5"], abs=1e-9)
    assert score.details["precision"] == pytest.approx(expected["precision"], abs=1e-9)
    assert score.details["recall"] == pytest.approx(expected["recall"], abs=1e-9)

    alone = load_metric("sentm2").score(sources, hypotheses, references)
    assert alone.value == pytest.approx(expected["sentm2"], abs=1e-9)
    details = alone.sentence_details
    for name, values in [
        ("f0.5", alone.sentences),
        ("f0.5", score.sentences),
        ("f0.5", details["f0.5"]),
        ("precision", details["precision"]),
        ("recall", details["recall"]),
    ]:
        assert values == pytest.approx([row[name] for row in expected["sentences"]], abs=1e-9)
