"""The measures of a metric on a benchmark: of system scores, of pairwise judgements, of rated outputs.

Intervals are computed in two ways, which answer two questions. An interval over *sentences* shows what these
systems might reach on as many other sentences. Sentences are resampled together with the metric's scores and
the human judgements for them; a correlation of systems has the interval of `interval_of_correlation`. An
interval over *systems* shows what the correlation might be among other systems of this kind. Correlations
have Fisher's interval, and the soft pairwise accuracy has a bootstrap's over systems. With twelve
systems, it is wide. A resample on which a measure does not exist says nothing about it. With two systems,
this holds for every other resample, so the interval has all possible values.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import get_args

import numpy as np

from learnedgec.analysis.aggregation import ABOUT_ORDER, Aggregation
from learnedgec.analysis.meta.agreement import (
    Agreement,
    Grouping,
    SegmentCorrelation,
    Ties,
    agreement,
    agreement_with_ties,
    at_equal_counts,
    human_scores,
    human_wins,
    is_of_rankings,
    preferences,
    rated_dimension,
    segment_correlation,
    segment_correlations_of_resamples,
    tie_threshold,
    without_ties,
)
from learnedgec.data.benchmarks.base import Benchmark, Comparisons
from learnedgec.errors import InputError
from learnedgec.metrics.sentinels import is_sentinel
from learnedgec.runtime.runtime import Runtime
from learnedgec.stats.correlation import (
    Correlation,
    correlate,
    fisher_interval,
    one_sided_p_values,
    partial,
    pearson,
    soft_pairwise_accuracy,
)
from learnedgec.stats.resampling import (
    FEW,
    Resampling,
    are_rare,
    interval,
    interval_of_correlation,
    interval_of_share,
    interval_over_sentences,
    multiplicities,
    quotient,
    resample,
    widened,
)
from learnedgec.stats.significance import (
    Swapped,
    holm,
    sign_flips,
    swap_test,
    swaps,
    win_shares,
)
from learnedgec.stats.skills import MODEL
from learnedgec.types import Floats

_NAMES = {
    "pearson": "Pearson r",
    "spearman": "Spearman ρ",
    "kendall": "Kendall τ",
    "partial_pearson": "r beyond edit count",
    "partial_spearman": "ρ beyond edit count",
    "sentence_kendall": "sentence Kendall τ",
    "sentence_accuracy_equal_edits": "accuracy at equal edit counts",
    "segment_pearson": "segment Pearson r",
    "grouped_kendall": "Kendall τ within a source",
}


_KINDS: Mapping[str, Correlation] = {kind.replace("-", "_"): kind for kind in get_args(Correlation)}
_GROUPINGS: Mapping[Grouping, tuple[str, str]] = {
    "pooled": ("segment", "outputs"),
    "grouped": ("grouped", "sources"),
}

MIN_SYSTEMS = 3
"""The smallest number of systems for a correlation; a correlation of two scores is always 1 or -1."""

# What a measure needs -> the measures.
_MEASURES = {
    "systems": (
        *_KINDS,
        *(f"partial_{kind}" for kind in get_args(SegmentCorrelation)),
    ),
    "judgements": ("soft_pairwise_accuracy",),
    "comparisons": (
        "sentence_accuracy",
        "sentence_kendall",
        "sentence_accuracy_equal_edits",
        "tie_calibrated_accuracy",
    ),
    "ratings": tuple(
        f"{unit}_{kind}" for unit in ("segment", "grouped") for kind in get_args(SegmentCorrelation)
    ),
}

ALL_MEASURES = tuple(chain.from_iterable(_MEASURES.values()))
"""Every measure; which of them there are depends on the judgements of a benchmark (`measures_of`)."""


def measures_of(benchmark: Benchmark, human: str) -> list[str]:
    """Return the names of the measures for which a benchmark has judgements.

    Args:
        benchmark: a benchmark whose systems all have the human score, as returned by `judged`.
        human: the name of the human score.
    """
    ranked = is_of_rankings(benchmark, human)
    rated = not ranked and bool(rated_dimension(benchmark, human))
    several = len(benchmark.systems) > 1 and not benchmark.anonymous
    there = {
        "systems": several,
        "judgements": several and (ranked or rated),
        "comparisons": bool(benchmark.rankings),
        "ratings": rated,
    }
    return [name for need, names in _MEASURES.items() if there[need] for name in names]


def measure_name(measure: str) -> str:
    """Return the name of a measure in words, for headings.

    Example:
        >>> measure_name("pearson"), measure_name("sentence_accuracy")
        ('Pearson r', 'sentence accuracy')
    """
    return _NAMES.get(measure, measure.replace("_", " "))


@dataclass(frozen=True, slots=True)
class Protocol:
    """The settings of a meta-evaluation.

    Attributes:
        aggregation: the aggregation of a metric's sentences to a system's score.
        ties: the treatment of a metric's ties between two outputs of a sentence.
        window: number of neighbouring systems in a window; with fewer systems there is no window analysis.
        resampling: how sentences and systems are drawn for intervals, and swapped for tests.
        tests: whether to test each pair of metrics, including the edit count, for a difference.

    Example:
        >>> Protocol(aggregation="trueskill").window
        8
    """

    aggregation: Aggregation = "mean"
    ties: Ties = "symmetric"
    window: int = 8
    resampling: Resampling = field(default_factory=Resampling)
    tests: bool = False

    def __post_init__(self) -> None:
        if self.window < 2:
            raise InputError(f"window is {self.window}; give two systems or more.")

    def __str__(self) -> str:
        parts = [f"aggregation:{self.aggregation}"]
        if self.aggregation.startswith("trueskill"):
            parts.append(f"model:{MODEL}|{ABOUT_ORDER[self.aggregation]}")
        return "|".join([*parts, f"ties:{self.ties}", str(self.resampling)])


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measure of a metric, with its sample size and intervals.

    Attributes:
        value: the estimate; NaN if it does not exist.
        count: the sample size.
        unit: the unit of the count: systems, comparisons, outputs or sources.
        over_sentences: interval over sentences, NaN if undefined.
        over_systems: interval over systems, NaN if undefined.
    """

    value: float
    count: int
    unit: str
    over_sentences: tuple[float, float] = (float("nan"), float("nan"))
    over_systems: tuple[float, float] = (float("nan"), float("nan"))


class JudgedBenchmark:
    """A benchmark with its human scores and everything that its metrics share.

    Attributes:
        samples: int (B, N), resamples of the sentences.
        draws: (B, N), the number of times that each resample has drawn each sentence.
        system_samples: int (B, S), resamples of the systems.
        edits: (S, N), the numbers of edited tokens.
        human: the human scores.
        order: int (S,), the systems from best to worst, by human score.
        comparisons: the comparisons of the systems under evaluation; `None` if there are no rankings.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        protocol: Protocol,
        human: str,
        edits: Floats,
        runtime: Runtime,
    ) -> None:
        """Collect the human judgements.

        Args:
            benchmark: with S systems, all of them judged, and N sentences.
            protocol: the settings of the evaluation.
            human: the name of the human score.
            edits: (S, N), the numbers of edited tokens.
            runtime: its cache holds runs of TrueSkill.
        """
        self.benchmark, self.protocol, self.edits = benchmark, protocol, edits
        size = len(benchmark.sources)
        self.samples = resample(size, protocol.resampling)
        self.draws = multiplicities(self.samples, size)
        systems = len(benchmark.systems)
        self.system_samples = resample(systems, protocol.resampling.other(1))
        self.human = human_scores(
            benchmark, human, self.draws, seed=protocol.resampling.seed, runtime=runtime
        )
        self.order = np.argsort(-self.human.scores, kind="stable")
        self.comparisons = benchmark.comparisons() if benchmark.rankings else None

    @cached_property
    def at_equal_edits(self) -> Comparisons:
        """The comparisons, without human ties, of outputs with equally many edits."""
        assert self.comparisons is not None
        return without_ties(at_equal_counts(self.comparisons, self.edits))

    @property
    def common(self) -> Floats | None:
        """The human scores on common sentences, if systems that are compared were rated on different ones."""
        return None if self.benchmark.anonymous else self.human.common

    def with_one_resample(self) -> JudgedBenchmark:
        """Return the same judgements with a single resample, for values whose intervals are not needed."""
        one = copy.copy(self)
        one.samples, one.draws = self.samples[:1], self.draws[:1]
        one.system_samples = self.system_samples[:1]
        one.human = dataclasses.replace(self.human, resampled=self.human.resampled[:1])
        return one

    def win_shares(self) -> Floats:
        """Return (S, S): the share of human comparisons that the row's system won, NaN if none."""
        if self.comparisons is None:
            return np.full((len(self.edits), len(self.edits)), np.nan)
        wins, ties = human_wins(self.comparisons, self.edits.shape[1])
        return win_shares(wins.sum(axis=0), ties.sum(axis=0))


def values_alone(
    shared: JudgedBenchmark, sentences: Floats, scores: Floats
) -> list[dict[str, float]]:
    """Return the value of every measure, without intervals, for each of R sets of scores.

    Args:
        shared: the benchmark with its human judgements.
        sentences: float64 (R, S, N), sentence scores.
        scores: float64 (R, S), system scores.
    """
    several = scores.shape[1] > 1 and not shared.benchmark.anonymous
    people, ratings = shared.human, shared.human.ratings
    p_values = (
        _soft_p_values(shared, sentences) if several and people.p_values is not None else None
    )
    edits = shared.edits.mean(axis=1)
    between = {}
    if several:
        between = _correlations(people.scores, scores) | _partials(people.scores, scores, edits)

    def of_one(number: int) -> Iterator[tuple[str, float]]:
        own = sentences[number]
        yield from ((name, float(values[number])) for name, values in between.items())
        if p_values is not None and people.p_values is not None:
            soft = soft_pairwise_accuracy(people.p_values, p_values[number])
            yield "soft_pairwise_accuracy", float(soft)
        if shared.comparisons is not None:
            for name, counts in _agreements(shared, shared.comparisons, own).items():
                yield name, _agreed(name, counts)
        if ratings is not None:
            for grouping, (prefix, _) in _GROUPINGS.items():
                for kind in get_args(SegmentCorrelation):
                    value, _ = segment_correlation(kind, own, ratings, grouping)
                    yield f"{prefix}_{kind}", value

    return [dict(of_one(number)) for number in range(len(sentences))]


def measurements(
    shared: JudgedBenchmark, sentences: Floats, scores: Floats, resampled: Floats
) -> dict[str, Measurement]:
    """Return every measure for which the benchmark has judgements, by name.

    Args:
        shared: the benchmark with its human judgements.
        sentences: float64 (S, N), the metric's sentence scores of each system.
        scores: float64 (S,), its system scores.
        resampled: float64 (B, S), its system scores on each resample of the sentences.
    """
    estimates: dict[str, Measurement] = {}
    if len(scores) > 1 and not shared.benchmark.anonymous:
        estimates |= _of_systems(shared, sentences, scores, resampled)
    if shared.comparisons is not None:
        estimates |= _of_comparisons(shared, shared.comparisons, sentences)
    if shared.human.ratings is not None:
        estimates |= _of_segments(shared, shared.human.ratings, sentences)
    return estimates


def _of_systems(
    shared: JudgedBenchmark, sentences: Floats, scores: Floats, resampled: Floats
) -> dict[str, Measurement]:
    """Return the measures between the systems' scores."""
    level, human = shared.protocol.resampling.level, shared.human
    count = len(human.scores)

    def with_intervals(
        values: Mapping[str, Floats], resampled_values: Mapping[str, Floats], controls: int = 0
    ) -> dict[str, Measurement]:
        measured = {}
        for (name, number), of_resamples in zip(
            values.items(), resampled_values.values(), strict=True
        ):
            value, kind = float(number), _KINDS[name.removeprefix("partial_")]
            lowest = 0.0 if kind == "pairwise-accuracy" else -1.0
            measured[name] = Measurement(
                value,
                count,
                "systems",
                interval_of_correlation(value, of_resamples, level, lowest=lowest),
                fisher_interval(value, count, level, kind=kind, controls=controls),
            )
        return measured

    estimates = with_intervals(
        _correlations(human.scores, scores), _correlations(human.resampled, resampled)
    )
    if human.p_values is not None:
        estimates["soft_pairwise_accuracy"] = _soft(shared, human.p_values, sentences)
    resampled_edits = shared.draws @ shared.edits.T / shared.edits.shape[1]
    return estimates | with_intervals(
        _partials(human.scores, scores, shared.edits.mean(axis=1)),
        _partials(human.resampled, resampled, resampled_edits),
        controls=1,
    )


def _correlations(human: Floats, scores: Floats) -> dict[str, Floats]:
    """Return each correlation of human and metric scores, (…, S) each, over the last axis, by measure."""
    values = {name: correlate(kind, human, scores) for name, kind in _KINDS.items()}
    if human.shape[-1] < MIN_SYSTEMS:
        nothing = dict.fromkeys(values, np.full_like(values["pairwise_accuracy"], np.nan))
        values = nothing | {"pairwise_accuracy": values["pairwise_accuracy"]}
    return values


def _partials(human: Floats, scores: Floats, edits: Floats) -> dict[str, Floats]:
    """Return the correlations beyond the numbers of edits, (…, S), as `_correlations` does."""
    exist = human.shape[-1] >= MIN_SYSTEMS
    values = {kind: partial(kind, human, scores, edits) for kind in get_args(SegmentCorrelation)}
    return {
        f"partial_{kind}": value if exist else np.full_like(value, np.nan)
        for kind, value in values.items()
    }


def _soft(shared: JudgedBenchmark, human: Floats, sentences: Floats) -> Measurement:
    """Return the soft pairwise accuracy with p-values of people, (pairs,), and of sentence scores, (S, N)."""
    size = len(sentences)
    first, second = np.triu_indices(size, 1)
    [p_values] = _soft_p_values(shared, sentences[None])
    gap = np.full((size, size), np.nan)
    gap[first, second] = gap[second, first] = np.abs(human - p_values)
    gaps = gap[shared.system_samples[:, first], shared.system_samples[:, second]]
    resampled = quotient(np.nansum(gaps, axis=1), (~np.isnan(gaps)).sum(axis=1))
    value = float(soft_pairwise_accuracy(human, p_values))
    level = widened(shared.protocol.resampling.level, size)
    over_systems = interval(1 - resampled, level, possible=(0.0, 1.0))
    return Measurement(value, size, "systems", over_systems=over_systems)


def _soft_p_values(shared: JudgedBenchmark, sentences: Floats) -> Floats:
    """Return the one-sided p-values of the pairs of systems, (R, pairs), from R sets of scores, (R, S, N)."""
    first, second = np.triu_indices(sentences.shape[1], 1)
    differences = (sentences[:, first] - sentences[:, second]).reshape(-1, sentences.shape[2]).T
    p_values = one_sided_p_values(differences, shared.protocol.resampling.other(2))
    return p_values.reshape(len(sentences), len(first))


def _of_comparisons(
    shared: JudgedBenchmark, comparisons: Comparisons, sentences: Floats
) -> dict[str, Measurement]:
    """Return the measures of agreement with human comparisons."""
    level, draws = shared.protocol.resampling.level, shared.draws
    estimates = {}
    for name, counts in _agreements(shared, comparisons, sentences).items():
        value, number = _agreed(name, counts), len(shared.at_equal_edits)
        bounds = math.nan, math.nan
        if counts is not None:
            number, of_kendall = counts.count, name == "sentence_kendall"
            resampled = counts.kendalls(draws) if of_kendall else counts.accuracies(draws)
            bounds = _interval_of_counts(
                counts, resampled, level, lowest=-1.0 if of_kendall else 0.0
            )
        estimates[name] = Measurement(value, number, "comparisons", bounds)
    return estimates


def _agreements(
    shared: JudgedBenchmark, comparisons: Comparisons, sentences: Floats
) -> dict[str, Agreement | None]:
    """Return the counts behind each measure of agreement; `None` if the metric has no preference."""
    ties, equal = shared.protocol.ties, shared.at_equal_edits
    agreed = agreement(sentences, comparisons, ties)
    # A metric that ties all of these, as the edit count does, has no preference there.
    prefers = preferences(sentences, equal).any()
    threshold = tie_threshold(sentences, comparisons)
    return {
        "sentence_accuracy": agreed,
        "sentence_kendall": agreed,
        "sentence_accuracy_equal_edits": agreement(sentences, equal, ties) if prefers else None,
        "tie_calibrated_accuracy": agreement_with_ties(sentences, comparisons, threshold),
    }


def _agreed(name: str, counts: Agreement | None) -> float:
    """Return the value of a measure of agreement."""
    if counts is None:
        return math.nan
    return counts.kendall if name == "sentence_kendall" else counts.accuracy


def _of_segments(
    shared: JudgedBenchmark, ratings: Floats, sentences: Floats
) -> dict[str, Measurement]:
    """Return the correlations with ratings of single outputs."""
    estimates = {}
    for grouping, (prefix, unit) in _GROUPINGS.items():
        for kind in get_args(SegmentCorrelation):
            value, count = segment_correlation(kind, sentences, ratings, grouping)
            resamples = segment_correlations_of_resamples(
                kind, sentences, ratings, shared.samples, grouping
            )
            sentences_rated = (~np.isnan(ratings)).any(axis=0).sum()
            sources = count if grouping == "grouped" else int(sentences_rated)
            over_sentences = interval_over_sentences(
                resamples,
                [0 if np.isnan(value) else sources],
                shared.protocol.resampling.level,
                possible=(-1.0, 1.0),
            )
            estimates[f"{prefix}_{kind}"] = Measurement(value, count, unit, over_sentences)
    return estimates


def _interval_of_counts(
    counts: Agreement, resampled: Floats, level: float, *, lowest: float = 0.0
) -> tuple[float, float]:
    """Return the interval of an accuracy, or of Kendall's τ, which is −1 at its `lowest`.

    With at most `FEW` sentences, or with fewer than ten hits or misses, percentiles would be too narrow, so
    it is the interval of a share.
    """
    value = counts.kendall if lowest else counts.accuracy
    if np.isnan(value):
        return float("nan"), float("nan")
    low, high = interval(resampled, level, possible=(lowest, 1.0))
    width = 1 - lowest
    share = (value - lowest) / width
    if counts.sentences > FEW and low < high and not are_rare(share, counts.count):
        return low, high
    low, high = interval_of_share(
        share,
        (resampled - lowest) / width,
        counts.sentences,
        counts.count,
        level,
    )
    return lowest + width * low, lowest + width * high


# -- differences between metrics -------------------------------------------------------------------


def qualities(shared: JudgedBenchmark) -> dict[str, Callable[[Floats], Floats]]:
    """Return measure -> the function from sentence scores (B, S, N) to their quality (B,), for tests."""
    human = shared.human
    functions: dict[str, Callable[[Floats], Floats]] = {}
    if len(human.scores) >= MIN_SYSTEMS and not shared.benchmark.anonymous:
        functions["pearson"] = lambda scores: pearson(human.scores, scores.mean(axis=-1))
    if shared.comparisons is not None:
        clear = without_ties(shared.comparisons)
        functions["sentence_accuracy"] = lambda scores: (
            preferences(scores, clear, shared.protocol.ties) == clear.outcome
        ).mean(axis=-1)
    if human.ratings is not None:
        rated = ~np.isnan(human.ratings)
        ratings = human.ratings[rated]
        functions["segment_pearson"] = lambda scores: pearson(ratings, scores[..., rated])
    return functions


@dataclass(frozen=True, slots=True)
class Leader:
    """The metric that agrees best with people by one measure, with tests of its lead.

    Attributes:
        metric: the label of the metric.
        sentinel: the label of the best sentinel; empty if there is none.
        p_values: label of each other metric and of the best sentinel -> two-sided p-value of its difference,
            after Holm's correction.
    """

    metric: str
    sentinel: str
    p_values: Mapping[str, float]


def find_leader(
    shared: JudgedBenchmark,
    measure: str,
    estimates: Mapping[str, Measurement],
    sentences: Mapping[str, Floats],
) -> Leader | None:
    """Return the best metric by a measure; `None` if no metric has a value.

    Tests swap the two metrics' scores of a sentence (PERM-INPUT), or of a system where the measure is the
    correlation of systems' scores (PERM-SYS); see `swap_test`.

    Args:
        shared: the benchmark with its human judgements.
        measure: `pearson`, `sentence_accuracy` or `segment_pearson`.
        estimates: the metric's label -> its value by the measure.
        sentences: the metric's label -> float64 (S, N), its sentence scores.
    """
    values = {label: each.value for label, each in estimates.items() if not math.isnan(each.value)}
    metrics = [label for label in values if not is_sentinel(label)]
    sentinels = [label for label in values if is_sentinel(label)]
    if not metrics:
        return None
    best = max(metrics, key=values.__getitem__)
    sentinel = max(sentinels, key=values.__getitem__, default="")
    rivals = [label for label in (*metrics, sentinel) if label not in ("", best)]
    tests = [_difference(shared, measure, sentences[best], sentences[rival]) for rival in rivals]
    return Leader(best, sentinel, dict(zip(rivals, holm(np.array(tests)).tolist(), strict=True)))


def swapped_unit(measure: str) -> Swapped:
    """Return the unit whose scores the test of a leader swaps: a system for a correlation of systems."""
    return "systems" if measure == "pearson" else "sentences"


def _difference(shared: JudgedBenchmark, measure: str, first: Floats, second: Floats) -> float:
    """Return the p-value of the difference of two metrics by a measure."""
    resampling = shared.protocol.resampling
    if shared.comparisons is not None and measure == "sentence_accuracy":
        right = [
            agreement(scores, shared.comparisons, shared.protocol.ties).concordant
            for scores in (first, second)
        ]
        differences = right[0] - right[1]
        differences = differences[differences != 0]
        flips = 1.0 - 2 * swaps(len(differences), resampling)
        return sign_flips(flips @ differences, len(differences))
    return swap_test(
        qualities(shared)[measure],
        first,
        second,
        swapped=swapped_unit(measure),
        resampling=resampling,
    )
