"""Checks of the metric contract, for the tests of your own metrics.

    from learnedgec.testing import check_metric
    from dice import Dice


    def test_dice_is_a_metric():
        check_metric(Dice())

learnedgec's own metrics pass the same checks.
"""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from learnedgec.data.catalog.files import sample_folder
from learnedgec.data.references import References
from learnedgec.data.text import read_lines
from learnedgec.errors import InputError, LearnedgecError, LengthError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.registry import REGISTRY, load_metric, metric_class
from learnedgec.runtime.runtime import Runtime

__all__ = ["CHECKS", "Texts", "blank_texts", "check_metric", "sample_texts"]

# Encoders batch differently; float32 then agrees to this.
_TOLERANCE = 1e-5


@dataclass(frozen=True)
class Texts:
    """N sources, N outputs of each system by its name, and references.

    Attributes:
        sources: N sentences.
        systems: name of a system -> its N outputs.
        references: one or more references of each source.
    """

    sources: Sequence[str]
    systems: Mapping[str, Sequence[str]]
    references: References

    def references_for(self, metric: Metric) -> References | None:
        """Return the references if the metric needs some."""
        return self.references if metric.needs_references else None


@cache
def sample_texts() -> Texts:
    """Return the sample that is part of learnedgec: 72 sentences and four systems."""
    folder = sample_folder()
    sources = read_lines(folder / "source.txt")
    systems = {path.stem: read_lines(path) for path in sorted((folder / "systems").glob("*.txt"))}
    return Texts(sources, systems, References.from_m2(folder / "gold.m2", sources))


def blank_texts() -> Texts:
    """Return sentences, outputs and references that are empty or blank here and there."""
    return Texts(
        ["He go home .", "", "He go home .", " ", "He go home ."],
        {"blank": ["", "", "He goes home .", "  ", " . "]},
        References.from_texts(
            ["He goes home .", "", "He goes home .", "", ""],
            [None, None, "He went home .", "A .", "A"],
        ),
    )


def check_metric(metric: Metric) -> None:
    """Check that a metric keeps the contract, on the sample and on blank sentences.

    Its name parses back to it, it survives pickling, and it refuses texts of different lengths. Every
    sentence has a finite score that depends on neither the other sentences, their order, the batch size nor
    the other systems. Its corpus score follows from the statistics.

    Args:
        metric: with parameters that make it score without a network.

    Raises:
        AssertionError: it does not; the message says what was found. An error of the metric itself is the
            cause of one that names the check.

    Example:
        >>> check_metric(load_metric("gleu(iterations=10)"))
    """
    for check in CHECKS:
        try:
            check(metric)
        except AssertionError:
            raise
        except Exception as error:  # a metric of others raises errors of any kind
            checked = (check.__doc__ or "").partition("\n")[0]
            raise AssertionError(
                f"{metric.label}: {error!r} in {check.__name__} ({checked.rstrip('.')})."
            ) from error


def check_name(metric: Metric) -> None:
    """Check that name and label parse back to the metric; an unregistered class has its import path."""
    kind = type(metric)
    try:
        hash(metric)
    except TypeError as error:
        raise AssertionError(
            f"{metric.label}: it cannot be hashed ({error}); its parameters must be numbers, texts or tuples."
        ) from error
    try:
        if metric.name not in REGISTRY:
            metric_class(f"{kind.__module__}:{kind.__qualname__}")
        for name in (str(metric), metric.label):
            parsed = load_metric(name)
            _require(parsed == metric, metric, f"{name!r} parses to another metric, {parsed}")
            _require(hash(parsed) == hash(metric), metric, "equal metrics have different hashes")
    except LearnedgecError as error:
        raise AssertionError(
            f"{metric.label}: its name does not parse back to it: {error}"
        ) from error


def check_pickling(metric: Metric) -> None:
    """Check that a copy made by pickling, as for another process, is equal."""
    copy = pickle.loads(pickle.dumps(metric))
    _require(copy == metric, metric, "it is another metric after pickling")


def check_scores(metric: Metric) -> None:
    """Check that every system's scores are finite, float64, and parallel to the sentences."""
    texts = sample_texts()
    scores = metric.score_systems(texts.sources, texts.systems, texts.references_for(metric))
    size = len(texts.sources)
    for system, score in scores.items():
        _finite(metric, f"of {system}", score.value, score.sentences)
        _require(score.metric == str(metric), metric, f"its score is called {score.metric}")
        shape, dtype = score.sentences.shape, score.sentences.dtype
        _require(shape == (size,), metric, f"its sentence scores have the shape {shape}")
        _require(dtype == np.float64, metric, f"its sentence scores are {dtype}")
        _require(len(score.statistics) == size, metric, "its statistics lack sentences")
        for name, column in score.sentence_details.items():
            _require(len(column) == size, metric, f"the sentence detail {name!r} lacks sentences")


def check_blanks(metric: Metric) -> None:
    """Check that empty and blank sentences have a finite score, and so has a copy of the source."""
    for texts in (blank_texts(), sample_texts()):
        system = texts.systems.get("blank", texts.sources)
        score = metric.score(texts.sources, system, texts.references_for(metric))
        _finite(metric, "of blank or unchanged sentences", score.value, score.sentences)


def check_order(metric: Metric) -> None:
    """Check that a sentence's score depends neither on the order of sentences nor on the batch size."""
    texts = sample_texts()
    outputs, references = texts.systems["eager"], texts.references_for(metric)
    expected = metric.score(texts.sources, outputs, references).sentences
    order = list(reversed(range(len(outputs))))
    reversed_ = metric.score(
        [texts.sources[number] for number in order],
        [outputs[number] for number in order],
        None if references is None else references.select(order),
        runtime=Runtime(batch_tokens=64),
    ).sentences[::-1]
    _equal(metric, "in the reverse order and in small batches", reversed_, expected)


def check_neighbours(metric: Metric) -> None:
    """Check that a sentence alone scores as among others, unless the metric declares that it does not."""
    if metric.sentence_scores_depend_on_others:
        return
    texts = sample_texts()
    outputs, references = texts.systems["strong"], texts.references_for(metric)
    expected = metric.score(texts.sources, outputs, references).sentences
    for number in (0, 17, 40):
        alone = metric.score(
            [texts.sources[number]],
            [outputs[number]],
            None if references is None else references.select([number]),
        ).sentences
        when = f"of sentence {number + 1} alone (declare sentence_scores_depend_on_others if it must be)"
        _equal(metric, when, alone, expected[[number]])


def check_systems(metric: Metric) -> None:
    """Check that a system scores alone as it does with others."""
    texts = sample_texts()
    references = texts.references_for(metric)
    together = metric.score_systems(texts.sources, texts.systems, references)
    for system in ("eager", "weak"):
        alone = metric.score(texts.sources, texts.systems[system], references)
        _equal(metric, f"of {system} alone", alone.sentences, together[system].sentences)
        _equal(metric, f"of {system} alone", [alone.value], [together[system].value])


def check_aggregate(metric: Metric) -> None:
    """Check that the corpus score, and that of a resample, follows from the statistics."""
    texts = sample_texts()
    score = metric.score(texts.sources, texts.systems["careful"], texts.references_for(metric))
    again = metric.aggregate(score.statistics)
    _require(again == score.value, metric, f"it aggregates to {again}, and scored {score.value}")
    everything = np.arange(len(texts.sources))
    resampled = metric.aggregate_many(score.statistics, np.stack([everything, everything]))
    _equal(metric, "of a resample with every sentence once", resampled, [score.value] * 2)


def check_lengths(metric: Metric) -> None:
    """Check that texts of different lengths are refused, and no texts at all."""
    two = References.from_texts(["a", "b"])
    _refuses(metric, LengthError, ["a", "b"], ["a"], two)
    _refuses(metric, InputError, [], [], References(()))
    if metric.needs_references:
        _refuses(metric, LengthError, ["a"], ["a"], two)
        _refuses(metric, InputError, ["a"], ["a"], None)
        _refuses(metric, InputError, ["a", "b"], ["a", "b"], References((two[0], ())))


CHECKS: tuple[Callable[[Metric], None], ...] = (
    check_name,
    check_pickling,
    check_lengths,
    check_scores,
    check_blanks,
    check_order,
    check_neighbours,
    check_systems,
    check_aggregate,
)
"""The single checks, in the order in which `check_metric` makes them."""


def _require(holds: bool, metric: Metric, problem: str) -> None:
    if not holds:
        raise AssertionError(f"{metric.label}: {problem}.")


def _finite(metric: Metric, of: str, value: float, sentences: npt.ArrayLike) -> None:
    _require(bool(np.isfinite(value)), metric, f"the score {of} is {value}")
    bad = np.flatnonzero(~np.isfinite(sentences))
    _require(
        not len(bad), metric, f"scores {of} are not finite, such as that of sentence {bad[:1] + 1}"
    )


def _equal(metric: Metric, when: str, scores: npt.ArrayLike, expected: npt.ArrayLike) -> None:
    """Raise unless scores are what they are otherwise."""
    pairs = zip(np.asarray(scores).tolist(), np.asarray(expected).tolist(), strict=True)
    for one, other in pairs:
        same = math.isclose(one, other, rel_tol=1e-6, abs_tol=_TOLERANCE)
        _require(same, metric, f"a score {when} is {one!r}, and otherwise {other!r}")


def _refuses(
    metric: Metric,
    error: type[Exception],
    sources: Sequence[str],
    hypotheses: Sequence[str],
    references: References | None,
) -> None:
    try:
        metric.score(sources, hypotheses, references)
    except error:
        return
    counts = f"{len(sources)} sources, {len(hypotheses)} hypotheses"
    rows = "no references" if references is None else f"references for {len(references)}"
    raise AssertionError(
        f"{metric.label}: it scores {counts} and {rows}; {error.__name__} was expected."
    )
