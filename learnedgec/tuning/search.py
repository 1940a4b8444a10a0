"""Tune a metric: compute statistics once, run trials that take milliseconds, and estimate the gain.

The objective on the tuning data overestimates the gain. So the same search is run on parts of the sentences
and its choice is evaluated on the others (`Fold`), and the tuned metric is compared with the given one on
another benchmark if one is named (`compare`).
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from learnedgec.analysis.contamination import contamination
from learnedgec.analysis.meta.evaluation import benchmark_statistics
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.errors import ConfigError, LeakageError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.ensemble import Ensemble
from learnedgec.metrics.tuned import TEST_MARK
from learnedgec.runtime.digests import key_of
from learnedgec.runtime.runtime import Runtime
from learnedgec.stats.resampling import interval, interval_of_correlation, resample
from learnedgec.tuning.objective import Goal, Target, check_tuning_data
from learnedgec.tuning.results import Comparison, Fold, Tuning
from learnedgec.tuning.space import Simplex, Space, read_space
from learnedgec.tuning.trials import EarlyCheck, MetricTrials, SearchPlan, best_trial, run_trials
from learnedgec.types import Indices

__all__ = [
    "check_name",
    "compare",
    "tune",
    "tuned_name",
]


def tune(
    metric: Metric,
    benchmark: Benchmark,
    goal: Goal = Goal(),
    plan: SearchPlan = SearchPlan(),
    *,
    space: Mapping[str, Any] | None = None,
    name: str = "",
    tuned_on_test: bool = False,
    runtime: Runtime = Runtime(),
) -> Tuning:
    """Find the parameters with which a metric agrees best with human judgements on a benchmark.

    The first trials are the given parameters, then the corners and the centre of weights and the ends
    and the middle of numbers. The statistics are computed once if they do not depend on the tuned parameters
    (`Metric.aggregate_parameters`), otherwise once for each of their values. An ensemble without scales gets
    those of its members on the benchmark.

    Args:
        metric: the metric to tune.
        benchmark: with human judgements.
        goal: what is maximised.
        plan: the settings of the search.
        space: parameter -> range, as `read_space` reads it; weights on the simplex if absent.
        name: of the study in a storage; by default, `tuned_name`.
        tuned_on_test: allow tuning on test data, and mark the result.
        runtime: how to run.

    Raises:
        LeakageError: the benchmark is test data, and `tuned_on_test` does not say so.
        ConfigError: the space or the plan cannot be used, or the storage holds another study.
        InputError: the benchmark lacks the judgements that the goal needs, or the metric gives everything the
            same score.

    Example:
        >>> from learnedgec import load_metric
        >>> from learnedgec.data.benchmarks.registry import load_benchmark
        >>> both = load_metric("ensemble(length=0.5, random=0.5)")
        >>> found = tune(both, load_benchmark("sample"), Goal("sentence-accuracy"), SearchPlan(trials=20))
        >>> found.best.value >= max(each.value for each in found.references.values())
        True
    """
    # Its components may already have been tuned on test data.
    marked = metric.tuned_on_test
    # The parameters of a tuned metric are kept, but not its name.
    metric = dataclasses.replace(metric)
    try:
        check_tuning_data(benchmark, goal)
    except LeakageError:
        if not tuned_on_test:
            raise
        marked = True
    benchmark = goal.judged(benchmark)
    if isinstance(metric, Ensemble) and metric.scales is None:
        metric = metric.scaled_by(benchmark_statistics(metric, benchmark, runtime))
    ranges = read_space(metric, space)
    trials_of = MetricTrials(metric, benchmark, runtime)
    target = Target(goal, benchmark, seed=plan.seed, cache_dir=runtime.cache_dir)
    given = {parameter: getattr(metric, parameter) for parameter in ranges.ranges}
    references = {"given": trials_of.candidate(given, target)}
    for parameter, range_ in ranges.ranges.items():
        if isinstance(range_, Simplex):
            uniform = {parameter: range_.starts()[0]}
            references.setdefault("uniform", trials_of.candidate(uniform, target))
    task = {
        "metric": str(metric),
        "space": str(ranges),
        "benchmark": benchmark.name,
        "texts": key_of(benchmark.sources, *map(list, benchmark.systems.values())),
        "objective": goal.objective,
        "aggregation": goal.aggregation,
        "human": goal.human_on(benchmark),
        "sampler": plan.sampler,
        "seed": plan.seed,
        "signature": trials_of.signature(metric.for_statistics),
    }
    trials = run_trials(
        trials_of,
        target,
        ranges,
        plan,
        study=tuned_name(metric, benchmark.name, name, tuned_on_test=marked),
        task=task,
        early=EarlyCheck(trials_of, goal, plan.seed) if plan.prune else None,
        progress=runtime.progress,
    )
    best = best_trial(trials)
    return Tuning(
        best=best,
        references=references,
        trials=tuple(trials),
        folds=tuple(_folds(trials_of, goal, ranges, plan)),
        benchmark=benchmark.name,
        notices=(*benchmark.notices, *contamination(metric, benchmark.name)),
        parts=tuple(metric.sentence_details(trials_of.statistics(metric)[0])),
        human=goal.human_on(benchmark),
        goal=goal,
        space=ranges,
        plan=plan,
        tuned_on_test=marked,
        signature=trials_of.signature(best.metric),
        value_at=lambda parameters: trials_of.value(parameters, target),
    )


def compare(
    tuning: Tuning,
    benchmark: Benchmark,
    *,
    resamples: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    runtime: Runtime = Runtime(),
) -> list[Comparison]:
    """Evaluate the tuned metric on another benchmark, next to the given metric and equal weights.

    Args:
        tuning: the result of a search.
        benchmark: another one, such as `gjg15:test90` after `gjg15:dev10`.
        resamples: bootstrap resamples of the sentences; all metrics share them.
        level: of the intervals.
        seed: of the resamples.
        runtime: how to run.

    Raises:
        InputError: the benchmark lacks the judgements that the goal needs.
    """
    benchmark = tuning.goal.judged(benchmark)
    samples = resample(len(benchmark.sources), resamples, seed)
    whole = Target(tuning.goal, benchmark, seed=seed, cache_dir=runtime.cache_dir)
    parts = Target(tuning.goal, benchmark, samples, seed=seed, cache_dir=runtime.cache_dir)
    metrics = {"tuned": tuning.best.metric}
    metrics |= {label: candidate.metric for label, candidate in tuning.references.items()}
    trials_of = MetricTrials(tuning.best.metric, benchmark, runtime)
    of_outputs = tuning.goal.of_sentences or tuning.goal.of_segments
    values, many = {}, {}
    for label, metric in metrics.items():
        statistics = trials_of.statistics(metric)
        values[label] = float(whole.values(metric, statistics)[0])
        many[label] = parts.values(metric, statistics)
    return [
        Comparison(
            label,
            values[label],
            interval(many[label], level)
            if of_outputs
            else interval_of_correlation(values[label], many[label], level),
            values["tuned"] - values[label],
            interval(many["tuned"] - many[label], level),
        )
        for label in metrics
    ]


def tuned_name(
    metric: Metric, benchmark: str, name: str = "", *, tuned_on_test: bool = False
) -> str:
    """Return the name of a tuned metric: `METRIC@BENCHMARK`, or the given name.

    A metric that was tuned on test data has a name that ends in `+test`, so that every table says so.

    Args:
        metric: the metric to tune.
        benchmark: the tuning data's name, as the user wrote it.
        name: of the tuned metric, if one is given.
        tuned_on_test: whether the tuning data are test data.

    Example:
        >>> from learnedgec import load_metric
        >>> tuned_name(load_metric("length"), "gjg15:dev10")
        'length@gjg15-dev10'
    """
    if not name:
        head = benchmark.partition(":")[0]
        # The name of a folder such as `.` is in its full path; a folder without a usable letter has none.
        places = [Path(head if head.lower() == "jfleg" else benchmark), Path(benchmark).absolute()]
        words = [re.sub("[^A-Za-z0-9_.+]+", "-", place.name).strip("-.") for place in places]
        name = f"{metric.name}@{next(filter(None, words), 'folder')}"
    return name + TEST_MARK if tuned_on_test and not name.endswith(TEST_MARK) else name


def check_name(name: str) -> None:
    """Raise `ConfigError` unless a tuned metric can have this name."""
    if not re.fullmatch(r"[A-Za-z][\w.+-]*@[\w.+-]+", name):
        raise ConfigError(
            f"name: {name!r} is not a name for a tuned metric; write METRIC@WORD with letters, digits and "
            "._+- such as some@mine."
        )


def _folds(trials_of: MetricTrials, goal: Goal, space: Space, plan: SearchPlan) -> Iterator[Fold]:
    """Search on parts of the sentences; parts without a value for any start are left out."""
    alone = dataclasses.replace(plan, storage=None, prune=False)
    for seen, held_out in _parts(len(trials_of.benchmark.sources), plan):
        target, other = (
            Target(goal, trials_of.benchmark, part[None], seed=plan.seed)
            for part in (seen, held_out)
        )
        starts = [space.decode(point) for point in space.starts()]
        if all(math.isnan(trials_of.value(start, target)) for start in starts):
            continue
        best = best_trial(run_trials(trials_of, target, space, alone))
        yield Fold(
            best.parameters,
            best.value,
            trials_of.value(best.parameters, other),
            trials_of.value({}, other),
        )


def _parts(size: int, plan: SearchPlan) -> Iterator[tuple[Indices, Indices]]:
    """Yield the sentences that a search sees and those that are held out."""
    random = np.random.default_rng(plan.seed)
    if plan.validation == "bootstrap":
        for seen in resample(size, plan.folds, plan.seed):
            yield seen, np.setdiff1d(np.arange(size), seen)
    elif plan.validation == "k-fold":
        if plan.folds > size:
            raise ConfigError(f"folds: {plan.folds} of {size} sentences; give fewer.")
        for part in np.array_split(random.permutation(size), plan.folds):
            yield np.setdiff1d(np.arange(size), part), np.sort(part)
