"""Meta-evaluation of metrics on a benchmark by all measures, with sample sizes and intervals.

`measures` defines the measures and their intervals, and `results` what is returned. This module has the
windows of neighbouring systems, and the tests of whether one metric agrees better with people than another.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from learnedgec.analysis.aggregation import (
    Aggregation,
    sentence_scores,
    system_scores,
    system_scores_of_resamples,
)
from learnedgec.analysis.meta.agreement import default_human, judged
from learnedgec.analysis.meta.measures import (
    JudgedBenchmark,
    Leader,
    Measurement,
    Protocol,
    find_leader,
    measurements,
    qualities,
    values_alone,
)
from learnedgec.analysis.meta.results import Curve, Evaluation, MetricEvaluation, MetricTest
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.errors import InputError
from learnedgec.metrics.bound import BoundMetric, NamedMetric
from learnedgec.metrics.contract import Statistics
from learnedgec.metrics.sentinels import SENTINELS, Random, is_sentinel, random_numbers
from learnedgec.runtime.files import local_path
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, bind, contamination, count_tuned_on, shared_statistics
from learnedgec.stats.correlation import (
    Correlation,
    among_best,
    leave_one_out,
    pearson,
    windows,
)
from learnedgec.stats.resampling import interval_of_correlation, intervals, means_and_intervals
from learnedgec.stats.significance import holm, swap_test, too_few_resamples, williams
from learnedgec.types import Floats, Indices

_CURVES: tuple[Correlation, ...] = ("pearson", "spearman")

# All measures of `random` are means over this many seeds.
_SEEDS = 20


def evaluate(
    metric: AnyMetric | Sequence[AnyMetric],
    benchmark: Benchmark,
    protocol: Protocol = Protocol(),
    *,
    human: str | None = None,
    sentinels: bool = True,
    runtime: Runtime = Runtime(),
) -> Evaluation:
    """Meta-evaluate metrics on a benchmark.

    Args:
        metric: a metric, its name, or a list of them; the sentinels are added after them.
        benchmark: a benchmark with rankings, ratings or published scores of its systems.
        protocol: the settings of the evaluation.
        human: `EW` or `TS` (expected wins, TrueSkill), a rated dimension, or any published score; published
            values are used if there are any, else they are computed. By default, the first of
            `default_human`.
        sentinels: whether to add the sentinels. Measures of `random` are means over 20 seeds. Its
            intervals are the intervals of a single seed, such as `random(seed=7)`.
        runtime: how to run.

    Raises:
        UnknownNameError: the benchmark has no such human score.
        InputError: a metric needs references and the benchmark has none, or no system was judged.

    Example:
        >>> from learnedgec import load_benchmark
        >>> evaluation = evaluate("gleu(iterations=1)", load_benchmark("sample"))
        >>> [entry.metric for entry in evaluation.metrics]
        ['gleu(iterations=1)', 'edit-count', 'length', 'constant', 'random']
        >>> estimate = evaluation.metrics[0].estimates["sentence_accuracy"]
        >>> estimate.count, 0 < estimate.value < 1
        (313, True)
    """
    # Without metrics, the sentinels are evaluated.
    metrics = bind(metric, runtime) if metric else []
    if sentinels:
        metrics = with_sentinels(metrics, runtime)
    human = human or default_human(benchmark)[0]
    return evaluate_metrics(metrics, benchmark, protocol, human, Scored(), runtime)


def with_sentinels(metrics: Sequence[BoundMetric], runtime: Runtime) -> list[BoundMetric]:
    """Return metrics, and after them the sentinels that are not among them."""
    labels = {each.label for each in metrics}
    return [*metrics, *bind([name for name in SENTINELS if name not in labels], runtime)]


def evaluate_metrics(
    metrics: Sequence[BoundMetric],
    benchmark: Benchmark,
    protocol: Protocol,
    human: str,
    scored: Scored,
    runtime: Runtime,
) -> Evaluation:
    """Meta-evaluate bound metrics as `evaluate` does.

    Args:
        metrics: the metrics, with the sentinels that are wanted.
        benchmark: a benchmark with rankings, ratings or published scores of its systems.
        protocol: the settings of the evaluation.
        human: the human score.
        scored: what earlier evaluations have scored; this one reads it and adds to it.
        runtime: how to run.
    """
    benchmark = judged(benchmark, human)
    for each in metrics:
        check_references(each, benchmark)
    # The edit count is computed first: measures of the others control for it.
    known = scored.of(benchmark, protocol)
    statistics = shared_statistics(
        [*bind("edit-count", runtime), *(each for each in metrics if each not in known)],
        lambda m: benchmark_statistics(m, benchmark),
    )
    count, rows = next(statistics)
    edits = sentence_scores(count.metric, rows)
    shared = JudgedBenchmark(benchmark, protocol, human, edits, runtime)
    for each, rows in statistics:
        by, is_random = protocol.aggregation, each.metric == Random()
        samples = shared.samples[:1] if is_random else shared.samples
        scores = _system_scores(each, rows, by, samples)
        known[each] = _with_other_seeds(scores, benchmark, by) if is_random else scores
    entries = [
        (_evaluate_random if each.metric == Random() else _evaluate_metric)(
            shared, each, known[each]
        )
        for each in metrics
    ]
    tested = [entry for entry in entries if not entry.sentinel or entry.metric == "edit-count"]
    pairs = len(tested) * (len(tested) - 1) // 2 if protocol.tests else 0
    return Evaluation(
        benchmark=benchmark.name,
        human=shared.human.name,
        systems=tuple(benchmark.systems),
        human_scores=shared.human.scores,
        human_intervals=shared.human.intervals(protocol.resampling.level),
        order=shared.order,
        human_p_values=_p_values_from_best(shared),
        human_wins=shared.win_shares(),
        metrics=tuple(entries),
        leaders=_leaders(shared, entries),
        tests=tuple(compare_metrics(shared, tested)) if protocol.tests else (),
        protocol=protocol,
        notices=(
            *_notices(benchmark, metrics, entries),
            *_of_common_sentences(shared),
            *(too_few_resamples(pairs, protocol.resampling) if pairs else ()),
        ),
        human_common=shared.common,
    )


def _of_common_sentences(shared: JudgedBenchmark) -> Iterator[str]:
    """Yield whether systems were rated on different sentences, with their means on common sentences."""
    ratings, common = shared.human.ratings, shared.common
    if common is None or ratings is None:
        return
    counts = (~np.isnan(ratings)).sum(axis=1)
    number = (~np.isnan(ratings)).all(axis=0).sum()
    notice = (
        f"systems were rated on different sentences ({counts.min():,} to {counts.max():,}), so their means "
        f"of {shared.human.name} may differ because their sentences do; "
    )
    if not number:
        yield notice + "there is no sentence on which all of them were rated."
        return
    order = np.argsort(-common, kind="stable").tolist()
    names = list(shared.benchmark.systems)
    means = ", ".join(f"{names[place]} {common[place]:.3f}" for place in order)
    sentences = "1 sentence" if number == 1 else f"{number:,} sentences"
    yield notice + f"on the {sentences} that all have in common: {means}."


def _p_values_from_best(shared: JudgedBenchmark) -> Floats:
    """Return the p-value of the difference of each system from people's best, after Holm's correction."""
    best, size = shared.order[0], len(shared.order)
    p_values: Floats = np.full((size, size), np.nan)
    if (one_sided := shared.human.p_values) is not None:
        smaller = np.minimum(one_sided, 1 - one_sided)
        p_values[np.triu_indices(size, 1)] = 2 * np.maximum(smaller, 1 / (len(shared.samples) + 1))
    return holm(np.fmax(p_values[best], p_values[:, best]))


def _notices(
    benchmark: Benchmark, metrics: Sequence[BoundMetric], entries: Sequence[MetricEvaluation]
) -> Iterator[str]:
    """Yield caveats about the benchmark, and about what the metrics were trained and tuned on."""
    values = [each.value for entry in entries for each in entry.estimates.values()]
    if np.isnan(values).all():
        yield "too few ratings for any measure; two rated outputs or more are needed."
    yield from benchmark.notices
    yield from dict.fromkeys(
        text
        for metric in metrics
        for text in contamination(metric, benchmark.name, benchmark.sources)
    )
    for entry in entries:
        if unscored := np.isnan(entry.sentences).sum():
            yield (
                f"{entry.metric} has no score for {unscored:,} of {entry.sentences.size:,} outputs: their "
                "comparisons count as ties, and correlations with them do not exist."
            )
        if entry.tuned_here:
            yield (
                f"{entry.metric} was tuned on {entry.tuned_here} of the {len(benchmark.sources)} sentences "
                "here; only its held-out folds and the other sentences are evidence."
            )


def check_references(metric: NamedMetric, benchmark: Benchmark) -> None:
    """Raise `InputError` if a metric needs references and the benchmark has none."""
    if metric.metric.needs_references and benchmark.references is None:
        folder = local_path(benchmark.name) or local_path(benchmark.name.rpartition(":")[0])
        own = folder is not None and folder.is_dir()
        add = f", or write one reference a line to {folder}/ref0.txt" if own else ""
        raise InputError(
            f"{metric.label} needs references and the benchmark {benchmark.name} has none; choose another "
            f"metric or another benchmark{add}."
        )


def benchmark_statistics(metric: BoundMetric, benchmark: Benchmark) -> list[Statistics]:
    """Return the statistics of each system, computed without references that are its own text.

    Args:
        metric: the metric.
        benchmark: the benchmark, with its systems.

    Raises:
        InputError: the metric needs references and the benchmark has none.
    """
    check_references(metric, benchmark)
    statistics: dict[str, Statistics] = {}
    for corpus in benchmark.corpora:
        statistics |= metric.compute(corpus.tokenised(metric.runtime.tokenise))
    return [statistics[system] for system in benchmark.systems]


@dataclass(frozen=True, slots=True)
class SystemScores:
    """What a metric gives the systems of a benchmark, which does not depend on people.

    Attributes:
        sentences: float64 (S, N), sentence scores; (R, S, N) of `random`, by each of R seeds.
        scores: float64 (S,), system scores; (R, S) of `random`.
        resampled: float64 (B, S), system scores on resamples of the sentences; `random` has one, by seed 0.
    """

    sentences: Floats
    scores: Floats
    resampled: Floats


class Scored:
    """The scores of evaluations of the same texts with the same settings, but by other human scores.

    SEEDA-S and SEEDA-E, for example, judge the same outputs, so every metric scores these once.
    """

    def __init__(self) -> None:
        self._about: tuple[object, ...] = ()
        self._scores: dict[BoundMetric, SystemScores] = {}

    def of(self, benchmark: Benchmark, protocol: Protocol) -> dict[BoundMetric, SystemScores]:
        """Return what is known of these texts, to add to; scores of other texts are forgotten."""
        texts = benchmark.sources, tuple(benchmark.systems.items()), benchmark.references
        about = (*texts, benchmark.excluded, protocol.aggregation, protocol.resampling)
        if about != self._about:
            self._about, self._scores = about, {}
        return self._scores


def _system_scores(
    bound: BoundMetric, statistics: Sequence[Statistics], by: Aggregation, samples: Indices
) -> SystemScores:
    """Return the scores of systems from their statistics, with the scores of the resamples."""
    metric = bound.metric
    return SystemScores(
        sentence_scores(metric, statistics),
        system_scores(metric, statistics, by),
        system_scores_of_resamples(metric, statistics, samples, by),
    )


def _evaluate_metric(
    shared: JudgedBenchmark, bound: BoundMetric, scored: SystemScores
) -> MetricEvaluation:
    """Return every measure of one metric."""
    protocol, benchmark, metric = shared.protocol, shared.benchmark, bound.metric
    sentences, scores, resampled = scored.sentences, scored.scores, scored.resampled
    observed = _curves(shared, shared.human.scores, scores)
    of_resamples = _curves(shared, shared.human.resampled, resampled)

    def curves(name: str) -> dict[str, Curve]:
        return {
            kind: Curve(
                values,
                np.array(
                    [
                        interval_of_correlation(value, column, protocol.resampling.level)
                        for value, column in zip(values, of_resamples[name][kind].T, strict=True)
                    ]
                ).reshape(-1, 2),
            )
            for kind, values in observed[name].items()
        }

    signature = bound.signature(benchmark.references)
    return MetricEvaluation(
        metric=bound.label,
        sentinel=is_sentinel(metric.name),
        tuned_here=count_tuned_on(bound, benchmark.sources),
        trained_here=bool(contamination(bound, benchmark.name, benchmark.sources)),
        signature="|".join(
            [signature, f"benchmark:{benchmark.name}", f"human:{shared.human.name}", str(protocol)]
        ),
        scores=scores,
        sentences=sentences,
        score_intervals=intervals(resampled, protocol.resampling.level),
        estimates=measurements(shared, sentences, scores, resampled),
        windows=curves("windows"),
        best=curves("best"),
        without=_without(shared, scores),
    )


def _curves(
    shared: JudgedBenchmark, human: Floats, scores: Floats
) -> dict[str, dict[Correlation, Floats]]:
    """Return the correlations within windows, (…, W), and among the best systems, (…, K), by their kind."""
    order, width = shared.order, shared.protocol.window
    windowed = _CURVES if scores.shape[-1] >= width else ()
    return {
        "windows": {kind: windows(kind, human, scores, width, order) for kind in windowed},
        "best": {kind: among_best(kind, human, scores, order) for kind in _CURVES},
    }


def _without(shared: JudgedBenchmark, scores: Floats) -> dict[str, Floats]:
    """Return the correlations without each system in turn, (…, S), by their kind."""
    return {kind: leave_one_out(kind, shared.human.scores, scores) for kind in _CURVES}


def _evaluate_random(
    shared: JudgedBenchmark, bound: BoundMetric, scored: SystemScores
) -> MetricEvaluation:
    """Return the mean of every measure of `random` over seeds: a single seed may agree with people by chance.

    An interval shows where single seeds lie, by the mean and the deviation of their values
    (`means_and_intervals`). A metric within it is not clearly better than chance. Scores of systems and of
    sentences are of seed 0.
    """
    of_first = SystemScores(scored.sentences[0], scored.scores[0], scored.resampled)
    first = _evaluate_metric(shared.with_one_resample(), bound, of_first)
    values = values_alone(shared, scored.sentences, scored.scores)
    curves = _curves(shared, shared.human.scores, scored.scores)
    level = shared.protocol.resampling.level

    def mean_of(name: str) -> Measurement:
        value, bounds = means_and_intervals(
            np.array([[each[name]] for each in values]),
            level,
            lowest=0.0 if "accuracy" in name else -1.0,
        )
        low, high = bounds[0].tolist()
        estimate = first.estimates[name]
        systems = (low, high) if estimate.unit == "systems" else estimate.over_systems
        return dataclasses.replace(
            estimate, value=float(value[0]), over_sentences=(low, high), over_systems=systems
        )

    def mean_curves(name: str) -> dict[str, Curve]:
        return {
            kind: Curve(*means_and_intervals(values, level))
            for kind, values in curves[name].items()
        }

    return dataclasses.replace(
        first,
        signature=f"{first.signature}|seeds:{_SEEDS}",
        estimates={name: mean_of(name) for name in first.estimates},
        windows=mean_curves("windows"),
        best=mean_curves("best"),
        without={
            kind: means_and_intervals(values, level)[0]
            for kind, values in _without(shared, scored.scores).items()
        },
    )


def _with_other_seeds(first: SystemScores, benchmark: Benchmark, by: Aggregation) -> SystemScores:
    """Return the scores by `random` with every seed, from those with seed 0."""
    others = _random_sentences(range(1, _SEEDS), benchmark)
    scores = [
        system_scores(Random(), [Statistics({"score": row}) for row in rows], by) for rows in others
    ]
    return SystemScores(
        np.concatenate([first.sentences[None], others]),
        np.stack([first.scores, *scores]),
        first.resampled,
    )


def _random_sentences(seeds: Sequence[int], benchmark: Benchmark) -> Floats:
    """Return the scores by `random` with each of R seeds, float64 (R, S, N)."""
    numbers: dict[str, Floats] = {}
    for corpus in benchmark.corpora:
        rows = corpus.unreferenced.rows
        drawn = random_numbers(seeds, rows.sources, rows.hypotheses)
        numbers |= {system: drawn[:, places] for system, places in rows.numbers.items()}
    return np.stack([numbers[system] for system in benchmark.systems], axis=1)


# -- tests between metrics --------------------------------------------------------------------------


def _leaders(shared: JudgedBenchmark, entries: Sequence[MetricEvaluation]) -> dict[str, Leader]:
    """Return the best metric by each measure by which some metric has a value."""
    sentences = {entry.metric: entry.sentences for entry in entries}
    leaders = {}
    for measure in qualities(shared):
        estimates = {entry.metric: entry.estimates[measure] for entry in entries}
        if leader := find_leader(shared, measure, estimates, sentences):
            leaders[measure] = leader
    return leaders


def compare_metrics(
    shared: JudgedBenchmark, metrics: Sequence[MetricEvaluation]
) -> list[MetricTest]:
    """Test each pair of metrics on each measure that the benchmark has."""
    return [
        test
        for measure, quality in qualities(shared).items()
        for test in _corrected(
            [_test(shared, measure, quality, pair) for pair in combinations(metrics, 2)]
        )
    ]


def _test(
    shared: JudgedBenchmark,
    measure: str,
    quality: Callable[[Floats], Floats],
    pair: tuple[MetricEvaluation, MetricEvaluation],
) -> MetricTest:
    """Test one pair on one measure, without correction; a metric without a value is the worse one."""
    better, worse = sorted(
        pair,
        key=lambda metric: np.nan_to_num(metric.estimates[measure].value, nan=-np.inf),
        reverse=True,
    )
    first, second = better.estimates[measure].value, worse.estimates[measure].value
    perm_both, perm_systems = (
        swap_test(
            quality,
            better.sentences,
            worse.sentences,
            swapped=swapped,
            resampling=shared.protocol.resampling,
        )
        for swapped in ("outputs", "systems")
    )
    between = float(pearson(better.scores, worse.scores))
    systems = len(better.scores)
    williams_p = williams(first, second, between, systems) if measure == "pearson" else math.nan
    return MetricTest(
        measure, better.metric, worse.metric, first - second, perm_both, perm_systems, williams_p
    )


def _corrected(tests: Sequence[MetricTest]) -> list[MetricTest]:
    """Return the tests of one measure with p-values that Holm's method corrects for their number."""
    columns = {
        f"{name}_adjusted": holm(np.array([getattr(test, name) for test in tests])).tolist()
        for name in ("perm_both", "perm_systems", "williams")
    }
    return [
        dataclasses.replace(test, **{name: column[row] for name, column in columns.items()})
        for row, test in enumerate(tests)
    ]
