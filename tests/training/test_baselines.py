"""Whether a head may be trusted: beside baselines, and with an interval."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import tiny

from learnedgec.evaluators.evaluator import Evaluator, HeadConfig
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.evaluate import Verdict, judge_heads, predict
from learnedgec.training.examples import Example

TEXTS = [(f"he go {n}", f"he goes {n} " + "there " * (n % 5)) for n in range(120)]


def saved(folder: Path, **heads: HeadConfig) -> Evaluator:
    """Return an evaluator of these heads with random weights, the same ones each time."""
    return Evaluator.load(str(tiny.save_evaluator(folder, heads=heads)))


@pytest.fixture
def evaluator(tmp_path: Path) -> Evaluator:
    fluency, quality = HeadConfig(offset=2.0, scale=1.0), HeadConfig(objective="logistic")
    return saved(tmp_path / "mine", fluency=fluency, quality=quality)


def verdict(evaluator: Evaluator, start: Evaluator | None, ratings: Sequence[float]) -> Verdict:
    texts = TEXTS[: len(ratings)]
    rows = [Example((text,), {"fluency": float(r)}) for text, r in zip(texts, ratings, strict=True)]
    return judge_heads(evaluator, start, {"dev": rows, "test": rows})["fluency"]


def test_a_head_is_trusted_that_agrees_where_nothing_simpler_does(
    evaluator: Evaluator, tmp_path: Path
) -> None:
    values = predict(evaluator, TEXTS, "fluency", Runtime())
    found = verdict(evaluator, saved(tmp_path / "other", style=HeadConfig()), values)
    assert found.trusted
    assert list(found.baselines) == ["edit-count", "length", "before (style)"]
    assert found.sentence.startswith(
        "fluency may be trusted on text like this: r 1.00 [1.00, 1.00]"
    )

    few = verdict(evaluator, None, values[:60])
    assert few.sentence.startswith("fluency is promising, but test it on more text: r 1.00")

    # The head was not trained further.
    found = verdict(evaluator, evaluator, values)
    assert found.trusted
    assert found.sentence.startswith(
        "fluency stays as it was in the evaluator that it continues: r 1"
    )

    # What it continued was as good: the same on another scale.
    other_scale = {"fluency": HeadConfig(offset=3.0, scale=2.0), "quality": HeadConfig()}
    found = verdict(evaluator, saved(tmp_path / "scaled", **other_scale), values)
    assert not found.trusted
    assert found.baselines["before"] == pytest.approx(1)
    assert (
        "is no better than the evaluator that it continues (+0.00 [+0.00, +0.00])" in found.sentence
    )

    # Ratings that fall with the length are predicted by it.
    lengths = [-len(text.split()) for _, text in TEXTS]
    found = verdict(evaluator, None, lengths)
    assert found.baselines["length"] == pytest.approx(-1)
    assert not found.trusted

    found = verdict(evaluator, None, [n * 7 % 11 for n in range(120)])
    assert not found.trusted
    assert "is not clearly above chance (0)" in found.sentence


def test_pairs_are_judged_by_their_order(evaluator: Evaluator) -> None:
    values: Any = predict(evaluator, TEXTS, "quality", Runtime())
    rows = []
    for first in range(0, 60, 2):
        better, worse = sorted((first, first + 1), key=lambda place: -values[place])
        rows.append(Example((TEXTS[better], TEXTS[worse]), ranked=("quality",)))
    found = judge_heads(evaluator, None, {"dev": rows, "test": rows})
    assert list(found) == ["quality"]
    assert "accuracy 1.00 [0.89, 1.00] on the test part, n = 30" in found["quality"].sentence
