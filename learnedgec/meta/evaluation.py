"""Meta-evaluate metrics on a benchmark: every measure with its count and its intervals.

`measures` defines the measures and their intervals; this module has the results, the windows of neighbouring
systems, and the tests between metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from learnedgec.arrays import Floats, Indices
from learnedgec.benchmarks.base import Benchmark
from learnedgec.benchmarks.contamination import contamination
from learnedgec.errors import InputError
from learnedgec.execution.runtime import Runtime
from learnedgec.meta.agreement import decided, preferences
from learnedgec.meta.human_scores import default_human, judged
from learnedgec.meta.measures import JudgedBenchmark, Measurement, measurements
from learnedgec.meta.protocol import Protocol
from learnedgec.metrics.base import Metric, shared_statistics
from learnedgec.metrics.labels import SENTINELS, is_sentinel
from learnedgec.metrics.registry import load_metric
from learnedgec.metrics.statistics import Statistics
from learnedgec.ranking import sentence_scores, system_scores, system_scores_of_resamples
from learnedgec.stats.correlation import Correlation, leave_one_out, pearson, windows
from learnedgec.stats.resampling import interval
from learnedgec.stats.significance import perm_both, williams

__all__ = [
    "SENTINELS",
    "Evaluation",
    "MetricEvaluation",
    "MetricTest",
    "benchmark_statistics",
    "evaluate",
]


@dataclass(frozen=True, slots=True)
class MetricEvaluation:
    """The results of one metric.

    Attributes:
        metric: its label.
        sentinel: whether it is one of `SENTINELS`.
        signature: of the metric, the benchmark and the protocol.
        scores: float64 (S,), the systems' scores.
        score_intervals: float64 (S, 2), by bootstrap over sentences.
        estimates: measure -> its estimate.
        windows: correlation -> float64 (W,) within each window, from the best systems on.
        window_intervals: correlation -> float64 (W, 2), by bootstrap over sentences.
        without: correlation -> float64 (S,), without each system in turn.
    """

    metric: str
    sentinel: bool
    signature: str
    scores: Floats
    score_intervals: Floats
    estimates: Mapping[str, Measurement]
    windows: Mapping[str, Floats]
    window_intervals: Mapping[str, Floats]
    without: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class MetricTest:
    """Whether one metric is better than another by one measure.

    Attributes:
        measure: `pearson`, `sentence_accuracy` or `segment_pearson`.
        better: label of the metric with the larger value.
        worse: label of the other.
        difference: of their values.
        perm_both: one-sided p-value by permutation, of the metrics' sentence scores or their means.
        williams: one-sided p-value of Williams' test, for correlations of systems; NaN otherwise.
    """

    measure: str
    better: str
    worse: str
    difference: float
    perm_both: float
    williams: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Metrics meta-evaluated on one benchmark against one human score.

    Attributes:
        benchmark: its name.
        human: the name of the human score.
        systems: names of the S systems.
        human_scores: float64 (S,).
        human_intervals: float64 (S, 2) by bootstrap over sentences; NaN where only the published
            values are known.
        order: int (S,), the systems from best to worst, by human score.
        human_wins: float64 (S, S), share of human comparisons that the row's system won against the
            column's, ties counting as comparisons; NaN where there are no comparisons.
        metrics: one entry per metric, sentinels last.
        tests: between pairs of metrics, if requested.
        protocol: the settings of the evaluation.
        notices: caveats for a reader, one sentence each.
    """

    benchmark: str
    human: str
    systems: tuple[str, ...]
    human_scores: Floats
    human_intervals: Floats
    order: Indices
    human_wins: Floats
    metrics: tuple[MetricEvaluation, ...]
    tests: tuple[MetricTest, ...]
    protocol: Protocol
    notices: tuple[str, ...]


def evaluate(
    benchmark: Benchmark,
    metrics: Sequence[Metric],
    protocol: Protocol = Protocol(),
    *,
    human: str | None = None,
    sentinels: bool = True,
    tests: bool = False,
    runtime: Runtime = Runtime(),
) -> Evaluation:
    """Meta-evaluate metrics on a benchmark.

    Args:
        benchmark: with rankings, ratings or published scores of its systems.
        metrics: the metrics; the sentinels are added after them.
        protocol: the settings of the evaluation.
        human: `EW` or `TS` (expected wins, TrueSkill), a rated dimension, or any published score; published
            values are used if there are any, else they are computed. By default, the first of
            `default_human`.
        sentinels: whether to add the sentinels.
        tests: whether to test each pair of metrics, the edit count among them, for a difference.
        runtime: how to run.

    Raises:
        UnknownNameError: the benchmark has no such human score.
        InputError: a metric needs references and the benchmark has none, or no system was judged.

    Example:
        >>> from learnedgec import load_metric
        >>> from learnedgec.benchmarks.registry import load_benchmark
        >>> found = evaluate(load_benchmark("sample"), [load_metric("gleu(iterations=1)")])
        >>> [entry.metric for entry in found.metrics]
        ['gleu(iterations=1)', 'edit-count', 'length', 'constant', 'random']
        >>> estimate = found.metrics[0].estimates["sentence_accuracy"]
        >>> estimate.count, 0 < estimate.value < 1
        (313, True)
    """
    names = [load_metric(name) for name in SENTINELS] if sentinels else []
    everything = [*metrics, *(each for each in names if each not in metrics)]
    human = human or default_human(benchmark)[0]
    benchmark = judged(benchmark, human)
    counts = load_metric("edit-count")
    statistics = shared_statistics(
        [counts, *everything], lambda m: benchmark_statistics(m, benchmark, runtime)
    )
    edits = sentence_scores(*next(statistics))
    shared = JudgedBenchmark(benchmark, protocol, human, edits, runtime)
    found = [_evaluate_metric(shared, metric, each, runtime) for metric, each in statistics]
    tested = [each for each in found if not each[0].sentinel or each[0].metric == "edit-count"]
    return Evaluation(
        benchmark=benchmark.name,
        human=shared.human.name,
        systems=tuple(benchmark.systems),
        human_scores=shared.human.scores,
        human_intervals=_bounds(shared.human.many, protocol.level),
        order=np.argsort(-shared.human.scores, kind="stable"),
        human_wins=shared.win_shares(),
        metrics=tuple(entry for entry, _ in found),
        tests=tuple(_tests(shared, tested)) if tests else (),
        protocol=protocol,
        notices=(
            *benchmark.notices,
            *dict.fromkeys(
                text for metric in metrics for text in contamination(metric, benchmark.name)
            ),
        ),
    )


def benchmark_statistics(
    metric: Metric, benchmark: Benchmark, runtime: Runtime
) -> list[Statistics]:
    """Return the statistics of each system, leaving out references that are its own text.

    Args:
        metric: the metric.
        benchmark: the benchmark, with its systems.
        runtime: how to run.

    Raises:
        InputError: the metric needs references and the benchmark has none.
    """
    if metric.needs_references and benchmark.references is None:
        raise InputError(
            f"{metric.label} needs references and the benchmark {benchmark.name} has none; choose another "
            "metric or another benchmark."
        )
    found: dict[str, Statistics] = {}
    for systems, references in benchmark.by_references():
        found |= metric.statistics_of_systems(
            benchmark.sources, systems, references, runtime=runtime
        )
    return [found[system] for system in benchmark.systems]


def _evaluate_metric(
    shared: JudgedBenchmark, metric: Metric, statistics: Sequence[Statistics], runtime: Runtime
) -> tuple[MetricEvaluation, Floats]:
    """Return every measure of one metric, and its sentence scores (S, N)."""
    protocol, benchmark = shared.protocol, shared.benchmark
    sentences = sentence_scores(metric, statistics)
    scores = system_scores(metric, statistics, protocol.aggregation, protocol.model)
    many = system_scores_of_resamples(
        metric, statistics, shared.samples, protocol.aggregation, protocol.model
    )
    order = np.argsort(-shared.human.scores, kind="stable")
    kinds: tuple[Correlation, ...] = ("pearson", "spearman")
    slid: dict[str, Floats] = {}
    slid_intervals: dict[str, Floats] = {}
    if len(scores) >= protocol.window:
        for kind in kinds:
            slid[kind] = windows(kind, shared.human.scores, scores, protocol.window, order)
            of_resamples = windows(kind, shared.human.many, many, protocol.window, order)
            slid_intervals[kind] = _bounds(of_resamples, protocol.level)
    signature = metric.signature(benchmark.references, runtime=runtime)
    found = MetricEvaluation(
        metric=metric.label,
        sentinel=is_sentinel(metric.name),
        signature="|".join(
            [signature, f"benchmark:{benchmark.name}", f"human:{shared.human.name}", str(protocol)]
        ),
        scores=scores,
        score_intervals=_bounds(many, protocol.level),
        estimates=measurements(shared, sentences, scores, many),
        windows=slid,
        window_intervals=slid_intervals,
        without={kind: leave_one_out(kind, shared.human.scores, scores) for kind in kinds},
    )
    return found, sentences


def _tests(
    shared: JudgedBenchmark, metrics: Sequence[tuple[MetricEvaluation, Floats]]
) -> Iterator[MetricTest]:
    """Test each pair of metrics on each measure that the benchmark has."""
    protocol, human = shared.protocol, shared.human
    measures: dict[str, Callable[[Floats], Floats]] = {}
    if metrics and "pearson" in metrics[0][0].estimates:
        measures["pearson"] = lambda scores: pearson(human.scores, scores.mean(axis=-1))
    if shared.comparisons is not None:
        told = decided(shared.comparisons)
        measures["sentence_accuracy"] = lambda scores: (
            preferences(scores, told, protocol.ties) == told.outcome
        ).mean(axis=-1)
    if human.ratings is not None:
        rated = ~np.isnan(human.ratings)
        ratings = human.ratings[rated]
        measures["segment_pearson"] = lambda scores: pearson(ratings, scores[..., rated])
    for measure, quality in measures.items():

        def value(pair: tuple[MetricEvaluation, Floats], measure: str = measure) -> float:
            found = pair[0].estimates[measure].value
            return -np.inf if np.isnan(found) else found

        for pair in combinations(metrics, 2):
            (better, of_better), (worse, of_worse) = sorted(pair, key=value, reverse=True)
            r_better, r_worse = (entry.estimates[measure].value for entry in (better, worse))
            between = float(pearson(better.scores, worse.scores))
            yield MetricTest(
                measure=measure,
                better=better.metric,
                worse=worse.metric,
                difference=r_better - r_worse,
                perm_both=perm_both(
                    quality, of_better, of_worse, count=protocol.resamples, seed=protocol.seed
                ),
                williams=williams(r_better, r_worse, between, len(human.scores))
                if measure == "pearson"
                else float("nan"),
            )


def _bounds(many: Floats, level: float) -> Floats:
    """Return the interval of each column, (K, 2) from (B, K)."""
    return np.array([interval(column, level) for column in many.T]).reshape(-1, 2)
