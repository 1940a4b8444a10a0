"""Checks of the metric contract, for the tests of your own metrics.

    from learnedgec.testing import check_metric
    from dice import Dice


    def test_dice_is_a_metric():
        check_metric(Dice())

learnedgec's own metrics pass the same checks.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt

from learnedgec import scoring
from learnedgec.data.catalog.files import sample_folder
from learnedgec.data.references import References
from learnedgec.data.text import read_lines
from learnedgec.errors import InputError, LearnedgecError, LengthError, TextWarning
from learnedgec.metrics.contract import Metric, Score, Scores
from learnedgec.metrics.registry import REGISTRY, load_metric, metric_class
from learnedgec.runtime.runtime import Runtime

# Scores in float32 agree to this between different batches of an encoder.
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

    def of(
        self, metric: Metric, outputs: Sequence[str], order: Sequence[int] | None = None
    ) -> tuple[list[str], list[str], References | None]:
        """Return what a metric scores: sources, outputs, and references if it needs some.

        Args:
            metric: the metric.
            outputs: N outputs.
            order: the sentences in their order; all as they are by default.
        """
        numbers = range(len(self.sources)) if order is None else order
        return (
            [self.sources[number] for number in numbers],
            [outputs[number] for number in numbers],
            self.references.select(numbers) if metric.needs_references else None,
        )


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
            with warnings.catch_warnings():
                # Some texts are odd, so that they show what metrics do with them.
                warnings.simplefilter("ignore", TextWarning)
                check(metric)
        except AssertionError as error:
            raise AssertionError(f"{metric.label}: {error}.") from error.__cause__
        except Exception as error:  # any error of a third-party metric
            checked = (check.__doc__ or "").partition("\n")[0]
            raise AssertionError(
                f"{metric.label}: {error!r} in {check.__name__} ({checked.rstrip('.')})."
            ) from error


@lru_cache(maxsize=64)
def _sample_scores(metric: Metric) -> Scores[Score]:
    """Return the scores of all systems of the sample, which several checks read."""
    texts = sample_texts()
    references = texts.references if metric.needs_references else None
    return scoring.score(metric, texts.sources, texts.systems, references)


def check_name(metric: Metric) -> None:
    """Check that name and label parse back to the metric; an unregistered class has its import path."""
    kind = type(metric)
    try:
        hash(metric)
        if metric.name not in REGISTRY:
            metric_class(f"{kind.__module__}:{kind.__qualname__}")
        parsed = {load_metric(str(metric)), load_metric(metric.label)}
    except TypeError as error:
        reason = f"it cannot be hashed ({error}); its parameters must be numbers, texts or tuples"
        raise AssertionError(reason) from error
    except LearnedgecError as error:
        raise AssertionError(f"its name does not parse back to it: {error}") from error
    assert parsed == {metric}, f"{str(metric)!r} or its label parses to another metric, {parsed}"


def check_pickling(metric: Metric) -> None:
    """Check that a pickled copy, such as another process gets, is equal."""
    assert pickle.loads(pickle.dumps(metric)) == metric, "it is another metric after pickling"


def check_scores(metric: Metric) -> None:
    """Check that every system's scores are finite, float64, and parallel to the sentences."""
    size = len(sample_texts().sources)
    for system, score in _sample_scores(metric).items():
        _finite(f"of {system}", score)
        assert score.metric == str(metric), f"its score is called {score.metric}"
        shape, dtype = score.sentences.shape, score.sentences.dtype
        assert shape == (size,), f"its sentence scores have the shape {shape}"
        assert dtype == np.float64, f"its sentence scores are {dtype}"
        assert len(score.statistics) == size, "its statistics lack sentences"
        for name, column in score.sentence_details.items():
            assert len(column) == size, f"the sentence detail {name!r} lacks sentences"


def check_blanks(metric: Metric) -> None:
    """Check that empty and blank sentences have a finite score, and so has a copy of the source."""
    for texts in (blank_texts(), sample_texts()):
        outputs = texts.systems.get("blank", texts.sources)
        _finite("of blank or unchanged sentences", metric.score(*texts.of(metric, outputs)))


def check_neighbours(metric: Metric) -> None:
    """Check that a sentence alone scores as among others, unless the metric declares that it does not."""
    if metric.sentence_scores_depend_on_others:
        return
    texts = sample_texts()
    expected = _sample_scores(metric)["strong"].sentences
    for number in (0, 17, 40):
        alone = metric.score(*texts.of(metric, texts.systems["strong"], [number])).sentences
        when = f"of sentence {number + 1} alone (declare sentence_scores_depend_on_others if it must be)"
        _equal(when, alone, expected[[number]])


def check_order(metric: Metric) -> None:
    """Check that a sentence's score depends neither on the order of sentences nor on the batch size.

    A metric that declares `statistics_depend_on_others` is left out, because the other systems are absent.
    """
    if metric.statistics_depend_on_others:
        return
    texts = sample_texts()
    backwards = texts.of(metric, texts.systems["weak"], range(len(texts.sources))[::-1])
    scores = metric.score(*backwards, runtime=Runtime(batch_tokens=64)).sentences
    expected = _sample_scores(metric)["weak"].sentences
    _equal("in the reverse order and in small batches", scores[::-1], expected)


def check_systems(metric: Metric) -> None:
    """Check that a system scores alone as it does with others, unless the metric declares otherwise."""
    if metric.statistics_depend_on_others:
        return
    texts = sample_texts()
    alone = metric.score(*texts.of(metric, texts.systems["eager"]))
    together = _sample_scores(metric)["eager"]
    _equal("of eager alone", alone.sentences, together.sentences)
    _equal("of eager alone", [alone.value], [together.value])


def check_aggregate(metric: Metric) -> None:
    """Check that the scores of the corpus and of a resample follow from the statistics."""
    score = _sample_scores(metric)["careful"]
    again = metric.aggregate(score.statistics)
    assert again == score.value, f"it aggregates to {again}, and scored {score.value}"
    everything = np.arange(len(score.sentences))
    resampled = metric.aggregate_many(score.statistics, np.stack([everything, everything]))
    _equal("of a resample with every sentence once", resampled, [score.value] * 2)


def check_lengths(metric: Metric) -> None:
    """Check that texts of different lengths are refused, and no texts at all."""
    two = References.from_texts(["a", "b"])
    refused: list[tuple[type[Exception], list[str], list[str], References | None]] = [
        (LengthError, ["a", "b"], ["a"], two),
        (InputError, [], [], References(())),
    ]
    if metric.needs_references:
        refused += [
            (LengthError, ["a"], ["a"], two),
            (InputError, ["a"], ["a"], None),
            (InputError, ["a", "b"], ["a", "b"], References((two[0], ()))),
        ]
    for error, sources, hypotheses, references in refused:
        try:
            metric.score(sources, hypotheses, references)
        except error:
            continue
        counts = f"{len(sources)} sources, {len(hypotheses)} hypotheses"
        rows = "no references" if references is None else f"references for {len(references)}"
        raise AssertionError(f"it scores {counts} and {rows}; {error.__name__} was expected")


CHECKS: tuple[Callable[[Metric], None], ...] = (
    check_name,
    check_pickling,
    check_lengths,
    check_scores,
    check_blanks,
    check_neighbours,
    check_order,
    check_systems,
    check_aggregate,
)
"""The single checks, in the order in which `check_metric` makes them."""


def _finite(of: str, score: Score) -> None:
    """Raise unless a score and its sentences' scores are finite."""
    assert np.isfinite(score.value), f"the score {of} is {score.value}"
    bad = np.flatnonzero(~np.isfinite(score.sentences))
    assert not len(bad), f"scores {of} are not finite, such as the score of sentence {bad[:1] + 1}"


def _equal(when: str, scores: npt.ArrayLike, expected: npt.ArrayLike) -> None:
    """Raise unless scores are what they are otherwise."""
    first, second = np.asarray(scores), np.asarray(expected)
    for number in np.flatnonzero(~np.isclose(first, second, rtol=1e-6, atol=_TOLERANCE))[:1]:
        values = f"{first[number].item()!r}, and otherwise {second[number].item()!r}"
        raise AssertionError(f"a score {when} is {values}")
