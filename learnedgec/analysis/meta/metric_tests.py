"""Tests whether one metric agrees better with human judgements than another."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from learnedgec.analysis.meta.agreement import decided, preferences
from learnedgec.analysis.meta.measures import JudgedBenchmark
from learnedgec.stats.correlation import pearson
from learnedgec.stats.significance import holm, swap_test, williams
from learnedgec.types import Floats

__all__ = ["MetricTest", "Candidate", "compare_metrics"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the tests need of a metric.

    Attributes:
        label: its label.
        scores: float64 (S,), the systems' scores.
        sentences: float64 (S, N), the score of each sentence of each system.
        values: measure -> its value.
    """

    label: str
    scores: Floats
    sentences: Floats
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class MetricTest:
    """Whether two metrics differ by one measure; every p-value is two-sided.

    Each test is corrected by Holm's method for the pairs of metrics that are compared by its measure.

    Attributes:
        measure: `pearson`, `sentence_accuracy` or `segment_pearson`.
        better: label of the metric with the larger value.
        worse: label of the other.
        difference: of their values.
        perm_both: p-value of PERM-BOTH, of the metrics' sentence scores or their means: are the two
            interchangeable on these outputs?
        perm_both_adjusted: the same after Holm's correction.
        perm_systems: p-value of PERM-SYS: does the difference hold for other systems? At least 2/2^S.
        perm_systems_adjusted: the same after Holm's correction.
        williams: p-value of Williams' test, for correlations of systems; NaN otherwise.
        williams_adjusted: the same after Holm's correction.
    """

    measure: str
    better: str
    worse: str
    difference: float
    perm_both: float
    perm_systems: float
    williams: float
    perm_both_adjusted: float = float("nan")
    perm_systems_adjusted: float = float("nan")
    williams_adjusted: float = float("nan")


def compare_metrics(shared: JudgedBenchmark, metrics: Sequence[Candidate]) -> list[MetricTest]:
    """Test each pair of metrics on each measure that the benchmark has."""
    return [
        test
        for measure, quality in _qualities(shared, metrics).items()
        for test in _corrected(
            [_test(shared, measure, quality, pair) for pair in combinations(metrics, 2)]
        )
    ]


def _qualities(
    shared: JudgedBenchmark, metrics: Sequence[Candidate]
) -> dict[str, Callable[[Floats], Floats]]:
    """Return measure -> the function from sentence scores (B, S, N) to their quality (B,)."""
    human = shared.human
    qualities: dict[str, Callable[[Floats], Floats]] = {}
    if metrics and "pearson" in metrics[0].values:
        qualities["pearson"] = lambda scores: pearson(human.scores, scores.mean(axis=-1))
    if shared.comparisons is not None:
        clear = decided(shared.comparisons)
        qualities["sentence_accuracy"] = lambda scores: (
            preferences(scores, clear, shared.protocol.ties) == clear.outcome
        ).mean(axis=-1)
    if human.ratings is not None:
        rated = ~np.isnan(human.ratings)
        ratings = human.ratings[rated]
        qualities["segment_pearson"] = lambda scores: pearson(ratings, scores[..., rated])
    return qualities


def _test(
    shared: JudgedBenchmark,
    measure: str,
    quality: Callable[[Floats], Floats],
    pair: tuple[Candidate, Candidate],
) -> MetricTest:
    """Test one pair on one measure, without correction; a metric without a value is the worse one."""
    better, worse = sorted(
        pair, key=lambda metric: np.nan_to_num(metric.values[measure], nan=-np.inf), reverse=True
    )
    first, second = better.values[measure], worse.values[measure]
    perm_both, perm_systems = (
        swap_test(
            quality,
            better.sentences,
            worse.sentences,
            swapped=swapped,
            count=shared.protocol.resamples,
            seed=shared.protocol.seed,
        )
        for swapped in ("outputs", "systems")
    )
    between = float(pearson(better.scores, worse.scores))
    of_systems = (
        williams(first, second, between, len(better.scores))
        if measure == "pearson"
        else float("nan")
    )
    return MetricTest(
        measure, better.label, worse.label, first - second, perm_both, perm_systems, of_systems
    )


def _corrected(tests: Sequence[MetricTest]) -> list[MetricTest]:
    """Return the tests of one measure with p-values that Holm's method corrects for their number."""
    both, systems, correlations = (
        holm(np.array([getattr(test, name) for test in tests])).tolist()
        for name in ("perm_both", "perm_systems", "williams")
    )
    return [
        dataclasses.replace(
            test,
            perm_both_adjusted=both[row],
            perm_systems_adjusted=systems[row],
            williams_adjusted=correlations[row],
        )
        for row, test in enumerate(tests)
    ]
