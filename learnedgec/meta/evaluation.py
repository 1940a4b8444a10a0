"""Meta-evaluate metrics on a benchmark: every measure with its count and its intervals.

Intervals are made in two ways that answer two questions. Over *sentences*: with other sentences, how
would these systems have come out? Sentences are resampled with everything that hangs on them, the
metric's scores and people's judgements. Over *systems*: with other systems of this kind, what would
the correlation have been? Twelve systems leave that wide open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial as bound
from itertools import combinations
from typing import get_args

import numpy as np

from learnedgec.arrays import Floats, Indices
from learnedgec.benchmarks.base import Benchmark, Comparisons
from learnedgec.benchmarks.contamination import contamination
from learnedgec.errors import InputError
from learnedgec.execution.runtime import Runtime
from learnedgec.meta.agreement import (
    Agreement,
    Ties,
    agreement,
    agreement_with_ties,
    at_equal_counts,
    decided,
    human_wins,
    preferences,
    tie_threshold,
)
from learnedgec.meta.human_scores import default_human, human_scores, judged
from learnedgec.meta.segments import (
    Grouping,
    Segments,
    segment_correlation,
    segment_correlations_of_resamples,
)
from learnedgec.metrics.base import Metric, Statistics
from learnedgec.metrics.registry import load_metric
from learnedgec.ranking import (
    Aggregation,
    sentence_scores,
    system_scores,
    system_scores_of_resamples,
)
from learnedgec.stats.correlation import (
    Correlation,
    correlate,
    leave_one_out,
    one_sided_p_values,
    partial,
    pearson,
    soft_pairwise_accuracy,
    windows,
)
from learnedgec.stats.resampling import interval, multiplicities, resample
from learnedgec.stats.significance import perm_both, williams
from learnedgec.stats.trueskill import TrueSkillModel

__all__ = [
    "SENTINELS",
    "Measurement",
    "Evaluation",
    "MetricEvaluation",
    "MetricTest",
    "Protocol",
    "benchmark_statistics",
    "evaluate",
]


SENTINELS = ("edit-count", "length", "constant", "random")


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a meta-evaluation is done.

    Attributes:
        aggregation: how a metric's sentences become a system's score.
        ties: what a metric's tie between two outputs of a sentence means.
        window: systems in a window of neighbours; no window analysis where there are fewer systems.
        resamples: bootstrap resamples of the sentences, and of the systems; permutations.
        level: of the intervals.
        seed: of the random generator.
        model: TrueSkill's parameters, for `aggregation="trueskill"`.
    """

    aggregation: Aggregation = "mean"
    ties: Ties = "symmetric"
    window: int = 8
    resamples: int = 1000
    level: float = 0.95
    seed: int = 0
    model: TrueSkillModel = field(default_factory=TrueSkillModel)

    def __post_init__(self) -> None:
        if self.resamples < 1 or not 0 < self.level < 1 or self.window < 2:
            raise InputError(
                f"resamples {self.resamples}, level {self.level:g}, window {self.window}: give at least "
                "one resample, a level between 0 and 1 and a window of two systems or more."
            )

    def __str__(self) -> str:
        parts = [f"aggregation:{self.aggregation}"]
        if self.aggregation == "trueskill":
            parts.append(f"model:{self.model}|order:sentences, then pairs of systems as listed")
        parts += [f"ties:{self.ties}", f"resamples:{self.resamples}"]
        return "|".join([*parts, f"level:{self.level:g}", f"seed:{self.seed}"])


@dataclass(frozen=True, slots=True)
class Measurement:
    """One number about a metric, with what it rests on.

    Attributes:
        value: the estimate; NaN where it does not exist.
        count: how many.
        unit: of what: systems, comparisons, outputs or sources.
        over_sentences: interval by bootstrap over sentences, NaN where there is none.
        over_systems: interval by bootstrap over systems, NaN where there is none.
    """

    value: float
    count: int
    unit: str
    over_sentences: tuple[float, float] = (float("nan"), float("nan"))
    over_systems: tuple[float, float] = (float("nan"), float("nan"))


@dataclass(frozen=True, slots=True)
class MetricEvaluation:
    """What is known about one metric.

    Attributes:
        metric: its label.
        sentinel: whether it is one of `SENTINELS`.
        signature: of the metric, the benchmark and the protocol.
        scores: float64 (S,), the systems' scores.
        score_intervals: float64 (S, 2), by bootstrap over sentences.
        estimates: by measure.
        windows: correlation -> float64 (W,) within each window, from the best systems on.
        window_intervals: correlation -> float64 (W, 2), by bootstrap over sentences.
        without: correlation -> float64 (S,), without each system.
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
        order: int (S,), the systems from best to worst, by people.
        human_wins: float64 (S, S), share of decided comparisons that the row's system won against the
            column's; NaN where there is none.
        metrics: one entry per metric, sentinels last.
        tests: between pairs of metrics, where they were asked for.
        protocol: how it was done.
        notices: what a reader should know.
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
        metrics: the metrics; the sentinels are added behind them.
        protocol: how.
        human: `EW` or `TS` (expected wins, TrueSkill), a rated dimension, or any published score; the
            published values where there are some, else computed. `default_human` if absent.
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
    shared = _Field(benchmark, protocol, human, runtime)
    found = [_evaluate_metric(shared, metric) for metric in everything]
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


class _Field:
    """A benchmark with its human scores and everything that its metrics share.

    Attributes:
        samples: int (B, N), resamples of the sentences.
        drawn: (B, N), how often each resample has each sentence.
        draws: int (B, S), resamples of the systems.
        edits: (S, N), tokens edited.
        human: people's scores.
        comparisons: of the systems under evaluation, or `None` where there are no rankings.
    """

    def __init__(
        self, benchmark: Benchmark, protocol: Protocol, human: str, runtime: Runtime
    ) -> None:
        self.benchmark, self.protocol, self.runtime = benchmark, protocol, runtime
        size = len(benchmark.sources)
        self.samples = resample(size, protocol.resamples, protocol.seed)
        self.drawn = multiplicities(self.samples, size)
        self.draws = resample(len(benchmark.systems), protocol.resamples, protocol.seed + 1)
        self.human = human_scores(
            benchmark,
            human,
            self.drawn,
            seed=protocol.seed,
            cache_dir=runtime.cache_dir,
            progress=runtime.progress,
        )
        self.comparisons = benchmark.comparisons() if benchmark.rankings else None
        metric = load_metric("edit-count")
        self.edits = sentence_scores(metric, benchmark_statistics(metric, benchmark, runtime))

    def win_shares(self) -> Floats:
        """Return (S, S): the share of decided comparisons that the row's system won, NaN where none."""
        shares = np.full((len(self.edits), len(self.edits)), np.nan)
        if self.comparisons is not None:
            wins = human_wins(self.comparisons, self.edits.shape[1])[0].sum(axis=0)
            games = wins + wins.T
            np.divide(wins, games, out=shares, where=games > 0)
        return shares


def benchmark_statistics(
    metric: Metric, benchmark: Benchmark, runtime: Runtime
) -> list[Statistics]:
    """Return the statistics of each system, without the references that are its own text.

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


def _evaluate_metric(shared: _Field, metric: Metric) -> tuple[MetricEvaluation, Floats]:
    """Return every measure of one metric, and its sentence scores (S, N)."""
    protocol, benchmark = shared.protocol, shared.benchmark
    statistics = benchmark_statistics(metric, benchmark, shared.runtime)
    sentences = sentence_scores(metric, statistics)
    scores = system_scores(metric, statistics, protocol.aggregation, protocol.model)
    many = system_scores_of_resamples(
        metric, statistics, shared.samples, protocol.aggregation, protocol.model
    )
    estimates: dict[str, Measurement] = {}
    if len(scores) > 1:
        estimates |= _of_systems(shared, sentences, scores, many)
    if shared.comparisons is not None:
        estimates |= _of_comparisons(shared, shared.comparisons, sentences)
    if shared.human.ratings is not None:
        estimates |= _of_segments(shared, shared.human.ratings, sentences)
    order = np.argsort(-shared.human.scores, kind="stable")
    kinds: tuple[Correlation, ...] = ("pearson", "spearman")
    slid: dict[str, Floats] = {}
    slid_intervals: dict[str, Floats] = {}
    if len(scores) >= protocol.window:
        for kind in kinds:
            slid[kind] = windows(kind, shared.human.scores, scores, protocol.window, order)
            of_resamples = windows(kind, shared.human.many, many, protocol.window, order)
            slid_intervals[kind] = _bounds(of_resamples, protocol.level)
    signature = metric.signature(benchmark.references, runtime=shared.runtime)
    found = MetricEvaluation(
        metric=metric.label,
        sentinel=metric.name in SENTINELS,
        signature="|".join(
            [signature, f"benchmark:{benchmark.name}", f"human:{shared.human.name}", str(protocol)]
        ),
        scores=scores,
        score_intervals=_bounds(many, protocol.level),
        estimates=estimates,
        windows=slid,
        window_intervals=slid_intervals,
        without={kind: leave_one_out(kind, shared.human.scores, scores) for kind in kinds},
    )
    return found, sentences


def _of_systems(
    shared: _Field, sentences: Floats, scores: Floats, many: Floats
) -> dict[str, Measurement]:
    """Return the measures between the systems' scores."""
    level, human, draws = shared.protocol.level, shared.human.scores, shared.draws
    estimates = {}

    def add(name: str, value: Floats, resamples: Floats, redraws: Floats) -> None:
        estimates[name] = Measurement(
            float(value),
            len(human),
            "systems",
            interval(resamples, level),
            interval(redraws, level),
        )

    for kind in get_args(Correlation):
        measure = bound(correlate, kind)
        add(
            kind.replace("-", "_"),
            measure(human, scores),
            measure(shared.human.many, many),
            measure(human[draws], scores[draws]),
        )
    if shared.human.p_values is not None:
        estimates["soft_pairwise_accuracy"] = _soft(shared, sentences)
    edits = shared.edits.mean(axis=1)
    many_edits = shared.drawn @ shared.edits.T / shared.edits.shape[1]
    for kind in get_args(Segments):
        left = bound(partial, kind)
        add(
            f"partial_{kind}",
            left(human, scores, edits),
            left(shared.human.many, many, many_edits),
            left(human[draws], scores[draws], edits[draws]),
        )
    return estimates


def _soft(shared: _Field, sentences: Floats) -> Measurement:
    """Return the soft pairwise accuracy; its p-values are of sentence scores, whatever the aggregation."""
    assert shared.human.p_values is not None
    size = len(sentences)
    first, second = np.triu_indices(size, 1)
    p_values = one_sided_p_values(
        (sentences[first] - sentences[second]).T,
        count=shared.protocol.resamples,
        seed=shared.protocol.seed + 2,
    )
    gap = np.full((size, size), np.nan)
    gap[first, second] = gap[second, first] = np.abs(shared.human.p_values - p_values)
    drawn = gap[shared.draws[:, first], shared.draws[:, second]]
    known = ~np.isnan(drawn)
    resampled = np.divide(
        np.where(known, drawn, 0.0).sum(axis=1),
        known.sum(axis=1),
        out=np.full(len(drawn), np.nan),
        where=known.any(axis=1),
    )
    value = float(soft_pairwise_accuracy(shared.human.p_values, p_values))
    return Measurement(
        value, size, "systems", over_systems=interval(1 - resampled, shared.protocol.level)
    )


def _of_comparisons(
    shared: _Field, comparisons: Comparisons, sentences: Floats
) -> dict[str, Measurement]:
    """Return the measures of agreement with people's comparisons."""
    ties, level, drawn = shared.protocol.ties, shared.protocol.level, shared.drawn
    found = agreement(sentences, comparisons, ties)
    equal = agreement(sentences, at_equal_counts(comparisons, shared.edits), ties)
    calibrated = agreement_with_ties(sentences, comparisons, tie_threshold(sentences, comparisons))

    def accuracy(counts: Agreement) -> Measurement:
        resamples = interval(counts.accuracies(drawn), level)
        return Measurement(counts.accuracy, counts.count, "comparisons", resamples)

    return {
        "sentence_accuracy": accuracy(found),
        "sentence_kendall": Measurement(
            found.kendall, found.count, "comparisons", interval(found.kendalls(drawn), level)
        ),
        "sentence_accuracy_equal_edits": accuracy(equal),
        "tie_calibrated_accuracy": accuracy(calibrated),
    }


def _of_segments(shared: _Field, ratings: Floats, sentences: Floats) -> dict[str, Measurement]:
    """Return the correlations with ratings of single outputs."""
    estimates = {}
    for grouping in get_args(Grouping):
        for kind in get_args(Segments):
            value, count = segment_correlation(kind, sentences, ratings, grouping)
            resamples = segment_correlations_of_resamples(
                kind, sentences, ratings, shared.samples, grouping
            )
            prefix, unit = (
                ("segment", "outputs") if grouping == "pooled" else ("grouped", "sources")
            )
            estimates[f"{prefix}_{kind}"] = Measurement(
                value, count, unit, interval(resamples, shared.protocol.level)
            )
    return estimates


def _tests(
    shared: _Field, metrics: Sequence[tuple[MetricEvaluation, Floats]]
) -> Iterator[MetricTest]:
    """Test each pair of metrics on each measure that the benchmark has."""
    protocol, human = shared.protocol, shared.human
    measures = {"pearson": lambda scores: pearson(human.scores, scores.mean(axis=-1))}
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
