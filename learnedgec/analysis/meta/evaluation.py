"""Meta-evaluate metrics on a benchmark: every measure with its count and its intervals.

`measures` defines the measures and their intervals, `metric_tests` the tests between metrics; this module has
the results and the windows of neighbouring systems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from learnedgec.analysis.contamination import contamination
from learnedgec.analysis.meta.human_scores import default_human, judged
from learnedgec.analysis.meta.measures import JudgedBenchmark, Measurement, measurements
from learnedgec.analysis.meta.metric_tests import Candidate, MetricTest, compare_metrics
from learnedgec.analysis.meta.protocol import Protocol
from learnedgec.analysis.ranking import sentence_scores, system_scores, system_scores_of_resamples
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.errors import InputError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.labels import SENTINELS, is_sentinel
from learnedgec.metrics.registry import load_metric
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import shared_statistics
from learnedgec.stats.correlation import Correlation, leave_one_out, windows
from learnedgec.stats.resampling import interval, interval_of_correlation
from learnedgec.stats.significance import too_few_resamples
from learnedgec.types import Floats, Indices

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
        >>> from learnedgec.data.benchmarks.registry import load_benchmark
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
    results = [_evaluate_metric(shared, metric, each, runtime) for metric, each in statistics]
    tested = [
        Candidate(
            entry.metric,
            entry.scores,
            sentences,
            {name: estimate.value for name, estimate in entry.estimates.items()},
        )
        for entry, sentences in results
        if tests and (not entry.sentinel or entry.metric == "edit-count")
    ]
    pairs = len(tested) * (len(tested) - 1) // 2
    return Evaluation(
        benchmark=benchmark.name,
        human=shared.human.name,
        systems=tuple(benchmark.systems),
        human_scores=shared.human.scores,
        human_intervals=_bounds(shared.human.many, protocol.level),
        order=np.argsort(-shared.human.scores, kind="stable"),
        human_wins=shared.win_shares(),
        metrics=tuple(entry for entry, _ in results),
        tests=tuple(compare_metrics(shared, tested)),
        protocol=protocol,
        notices=(
            *benchmark.notices,
            *dict.fromkeys(
                text for metric in metrics for text in contamination(metric, benchmark.name)
            ),
            *(too_few_resamples(pairs, protocol.resamples, protocol.level) if pairs else ()),
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
            slid_intervals[kind] = np.array(
                [
                    interval_of_correlation(value, column, protocol.level)
                    for value, column in zip(slid[kind], of_resamples.T, strict=True)
                ]
            )
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


def _bounds(many: Floats, level: float) -> Floats:
    """Return the interval of each column, (K, 2) from (B, K)."""
    return np.array([interval(column, level) for column in many.T]).reshape(-1, 2)
