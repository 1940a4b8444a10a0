"""Whether a head may be trusted: beside baselines, and with an interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny

from learnedgec.evaluators.evaluator import Evaluator, HeadConfig
from learnedgec.evaluators.inference import sentence_vectors
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.evaluate import (
    HeadTest,
    Verdict,
    evaluate,
    head_test,
    judge_heads,
    predict,
    warnings_about,
)
from learnedgec.training.examples import Example, stored

TEXTS = [(f"he go {n}", f"he goes {n} " + "there " * (n % 5)) for n in range(120)]


def saved(folder: Path, **heads: HeadConfig) -> Evaluator:
    """Return an evaluator of these heads with random weights, the same ones each time."""
    return Evaluator.load(str(tiny.save_evaluator(folder, heads=heads)))


@pytest.fixture
def evaluator(tmp_path: Path) -> Evaluator:
    fluency, quality = HeadConfig(offset=2.0, scale=1.0), HeadConfig(objective="logistic")
    return saved(tmp_path / "mine", fluency=fluency, quality=quality)


def judged(
    evaluator: Evaluator,
    start: Evaluator | None,
    parts: Mapping[str, Sequence[Example]],
    **options: Any,
) -> dict[str, Verdict]:
    """Return the verdicts on the heads of an evaluator after its evaluation on these parts."""
    examples = {part: stored(rows) for part, rows in parts.items()}
    return judge_heads(evaluator, start, examples, **options).verdicts


def verdict(evaluator: Evaluator, start: Evaluator | None, ratings: Sequence[float]) -> Verdict:
    texts = TEXTS[: len(ratings)]
    rows = [
        Example([text], "ratings", ["fluency"], [float(rating)])
        for text, rating in zip(texts, ratings, strict=True)
    ]
    return judged(evaluator, start, {"dev": rows, "test": rows})["fluency"]


def test_a_head_is_trusted_that_agrees_where_nothing_simpler_does(
    evaluator: Evaluator, tmp_path: Path
) -> None:
    values = predict(evaluator, TEXTS, "fluency", Runtime())
    found = verdict(evaluator, saved(tmp_path / "other", style=HeadConfig()), values)
    assert found.trusted
    assert list(found.baselines) == ["edit-count", "length", "before (style)"]
    assert found.sentence.startswith("fluency is trusted: on text like this, r 1.00 [1.00, 1.00]")

    few = verdict(evaluator, None, values[:60])
    assert not few.trusted
    assert few.word == "promising"
    assert few.sentence.startswith("fluency is promising: test it on more text; r 1.00")

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
        rows.append(Example([TEXTS[better], TEXTS[worse]], "pairs", ["quality"]))
    found = judged(evaluator, None, {"dev": rows, "test": rows})
    assert list(found) == ["quality"]
    assert "accuracy 1.00 [0.88, 1.00] on the test part, n = 30." in found["quality"].sentence


@pytest.mark.parametrize("rated", [True, False])
def test_a_head_is_set_beside_a_ridge_regression(
    evaluator: Evaluator, tmp_path: Path, rated: bool
) -> None:
    encoder = str(tiny.save_encoder(tmp_path / "encoder"))
    truth = sentence_vectors(encoder, [text for _, text in TEXTS], Runtime())[:, 0] * 100
    rows = [
        Example([text], "ratings", ["fluency"], [float(value)])
        for text, value in zip(TEXTS, truth, strict=True)
    ]
    if not rated:
        ordered = [
            sorted(range(n, n + 2), key=lambda place: -truth[place]) for n in range(0, 120, 2)
        ]
        rows = [
            Example([TEXTS[better], TEXTS[worse]], "pairs", ["quality"])
            for better, worse in ordered
        ]
    parts = {"train": rows[::2], "dev": rows, "test": rows[1::2]}
    (found,) = judged(evaluator, None, parts, encoder=encoder).values()
    assert list(found.baselines) == ["edit-count", "length", "ridge"]
    assert found.baselines["ridge"] > 0.9
    assert not found.trusted


def test_a_baseline_that_is_right_the_other_way_round_is_said_to_be(evaluator: Evaluator) -> None:
    lengths = [-len(text.split()) for _, text in TEXTS]
    found = verdict(evaluator, None, [length + n % 2 for n, length in enumerate(lengths)])
    assert found.baselines["length"] == pytest.approx(-0.94, abs=0.01)
    values = predict(evaluator, TEXTS, "fluency", Runtime())
    found = verdict(evaluator, None, values / values.std() + np.array(lengths))
    assert "r 0.68 [0.55, 0.79]" in found.sentence
    assert (
        "is worse than edit-count counted the other way round, with r 0.86 (-0.17 ["
        in found.sentence
    )


@pytest.mark.parametrize("rated", [True, False])
def test_copies_of_ratings_or_pairs_of_one_source_are_no_further_evidence(rated: bool) -> None:
    generator = np.random.default_rng(1)
    values, ratings = generator.normal(size=(2, 26))
    ratings += values
    rows: list[Example] = []
    for n in range(13):
        texts = ((f"he go {n}", f"he goes {n}"), (f"he go {n}", f"he gone {n}"))
        if rated:
            rows += [
                Example([text], "ratings", ["a"], [ratings[2 * n + k]])
                for k, text in enumerate(texts)
            ]
        else:
            rows.append(Example(texts, "pairs", ["a"]))
    once, often = (head_test(rows * copies, "a", rated) for copies in (1, 20))
    assert once is not None
    assert often is not None
    alone = values[: len(once.texts)]
    first, second = once.figures(alone), often.figures(np.tile(alone, 20))
    assert (first["n"], second["n"]) == ((26, 520) if rated else (13, 260))
    assert first["sources"] == second["sources"] == 13
    name = "pearson" if rated else "accuracy"
    for end in ("", "_low", "_high"):
        assert second[name + end] == pytest.approx(first[name + end], abs=1e-9)


def test_few_sources_say_nothing_of_a_correlation(evaluator: Evaluator) -> None:
    values = predict(evaluator, TEXTS, "fluency", Runtime())
    rows = [
        Example([(f"he go {n % 3}", text)], "ratings", ["fluency"], [float(value)])
        for n, ((_, text), value) in enumerate(zip(TEXTS, values, strict=True))
    ]
    found = judged(evaluator, None, {"dev": rows, "test": rows})["fluency"]
    assert found == Verdict(
        {},
        "not trusted",
        "fluency is not trusted: the test part cannot test it, because its ratings come from 3 sources, and "
        "a test needs 4.",
    )
    figures = evaluate(evaluator, rows)["fluency"].figures
    assert figures["pearson"] == pytest.approx(1)
    assert (figures["pearson_low"], figures["pearson_high"]) == (-1, 1)


def test_resamples_without_a_correlation_are_no_evidence() -> None:
    # Only one rating of twelve differs: 35 % of the resamples do not have it.
    ratings = np.array([3.0] * 11 + [5.0])
    test = HeadTest([("", "")] * 12, ratings, np.empty((0, 2), int), list("abcdefghijkl"))
    figures = test.figures(np.arange(12.0))
    assert figures["pearson"] == pytest.approx(5.5 / (143 * 11 / 12) ** 0.5)
    assert (figures["pearson_low"], figures["pearson_high"]) == (-1, 1)


@pytest.mark.parametrize(
    ("ratings", "why"),
    [
        ([3.0] * 40, "all its ratings are 3"),
        ([1.0, 2.0, 3.0], "its ratings come from 3 sources, and a test needs 4"),
        ([], "it has no ratings or pairs there"),
    ],
)
def test_what_cannot_be_tested_is_not_to_be_trusted(
    evaluator: Evaluator, ratings: list[float], why: str
) -> None:
    rows = [
        Example([text], "ratings", ["fluency"], [float(n)]) for n, text in enumerate(TEXTS[:40])
    ]
    texts = zip(TEXTS, ratings, strict=False)
    few = [Example([text], "ratings", ["fluency"], [rating]) for text, rating in texts]
    verdicts = judged(evaluator, None, {"train": rows, "dev": rows, "test": few})
    assert list(verdicts) == ["fluency"]
    assert not verdicts["fluency"].trusted
    assert verdicts["fluency"].sentence == (
        f"fluency is not trusted: the test part cannot test it, because {why}."
    )
    figures = {head: result.figures for head, result in evaluate(evaluator, few).items()}
    (warning,) = warnings_about(figures, verdicts)
    equal = ": all ratings or all predictions are equal" * (len(ratings) == 40)
    assert warning.startswith(f"fluency has no result on the dev part (n = {len(few)}{equal}),")
