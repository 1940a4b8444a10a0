"""The search for a metric's parameters, in trials that take milliseconds, with an estimate of the gain.

The objective on the tuning data overestimates the gain. The same search is therefore run on parts of the
judgements, and its choice is evaluated on the others (`cross_validate`). On another benchmark, if one is
named, the tuned metric is compared with the given one (`compare`).
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import optuna

from learnedgec._version import __version__
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.catalog.leakage import fingerprint
from learnedgec.data.tables import plain
from learnedgec.errors import ConfigError, LeakageError
from learnedgec.metrics.bound import BoundMetric, NamedMetric
from learnedgec.metrics.ensemble import Ensemble
from learnedgec.metrics.tuned import TEST_MARK, TunedMetric, tuned_on
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, bind_one, contamination
from learnedgec.stats.resampling import (
    Estimate,
    interval_of_correlation,
    interval_over_sentences,
    resample,
)
from learnedgec.tuning.objective import Goal, Target, check_tuning_data
from learnedgec.tuning.space import Simplex, Space, read_space
from learnedgec.tuning.trials import (
    Fold,
    MetricTrials,
    SearchPlan,
    TriedMetric,
    best_trial,
    check_validation,
    cross_validate,
    run_trials,
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The value of a metric on another benchmark than the tuning data, and the gain of the tuned metric.

    Attributes:
        label: `tuned`, `given` or `uniform`.
        value: the objective.
        bounds: the interval of the value, by bootstrap over sentences.
        gain: the tuned metric's value minus this value.
        gain_bounds: the interval of the gain, on the same resamples.
    """

    label: str
    value: float
    bounds: tuple[float, float]
    gain: float
    gain_bounds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Tuning:
    """The result of a search.

    Attributes:
        best: the tuned metric. Of equals, it is the one tried first, so the given metric if none is better.
        references: `given`, the metric before tuning, and `uniform`, the metric with equal weights, if
            weights were tuned.
        trials: every finished trial by number.
        folds: the same search on parts of the judgements, each evaluated on the others.
        gain: the gain over the given metric on the held-out judgements of the folds; without an interval if
            they are too few or no resample differs.
        held_out_sentences: the number of held-out sentences whose judgements count.
        benchmark: name of the tuning data.
        judgements: how many of its judgements count, in words.
        notices: caveats about these data, one sentence each.
        goal: the goal that was maximised.
        plan: the settings of the search.
        settings: the settings and the benchmark as the tuned metric's file describes them.
        tuned_on_test: whether the tuning data are test data.
        sentences: hashes of the tuning data's sentences, as `tuned_on` returns them.
    """

    best: TriedMetric
    references: Mapping[str, TriedMetric]
    trials: tuple[TriedMetric, ...]
    folds: tuple[Fold, ...]
    gain: Estimate
    held_out_sentences: int
    benchmark: str
    judgements: str
    notices: tuple[str, ...]
    goal: Goal
    plan: SearchPlan
    settings: Mapping[str, Any]
    tuned_on_test: bool
    sentences: frozenset[bytes]

    @property
    def candidates(self) -> dict[str, TriedMetric]:
        """The best metric as `tuned`, then the references."""
        return {"tuned": self.best, **self.references}

    @property
    def held_out(self) -> tuple[float, float]:
        """The mean and the standard deviation of the folds' held-out values; NaN without folds."""
        return _mean_and_deviation([fold.held_out for fold in self.folds])

    @property
    def given_held_out(self) -> tuple[float, float]:
        """The mean and the standard deviation of the given metric's values on the same judgements."""
        return _mean_and_deviation([fold.given for fold in self.folds])

    def record(self, comparisons: Mapping[str, Sequence[Comparison]] | None = None) -> TunedMetric:
        """Return the content of the tuned metric's file.

        Args:
            comparisons: benchmark -> the result of `compare` there.
        """
        held_out, untuned = self.held_out, self.given_held_out
        study = {
            **self.settings,
            "value": self.best.value,
            "parameters": self.best.parameters,
            "references": {
                label: {"value": candidate.value, "parameters": candidate.parameters}
                for label, candidate in self.references.items()
            },
            "held_out": held_out[0],
            "held_out_deviation": held_out[1],
            "given_held_out": untuned[0],
            "given_held_out_deviation": untuned[1],
            "gain": asdict(self.gain),
            "folds": [asdict(fold) for fold in self.folds],
            "comparisons": {
                benchmark: [asdict(row) for row in rows]
                for benchmark, rows in (comparisons or {}).items()
            },
            "sentences": sorted(key.hex() for key in self.sentences),
            "versions": {"learnedgec": __version__, "optuna": optuna.__version__},
            "trials": [
                {"number": trial.number, "value": trial.value, "parameters": trial.parameters}
                for trial in self.trials
            ],
        }
        return TunedMetric(str(self.best.metric), plain(study), self.tuned_on_test)


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    values = [value for value in values if not math.isnan(value)]
    return (float(np.mean(values)), float(np.std(values))) if values else (math.nan, math.nan)


def tune(
    metric: AnyMetric,
    benchmark: Benchmark,
    goal: Goal = Goal(),
    plan: SearchPlan = SearchPlan(),
    *,
    space: Mapping[str, Any] | None = None,
    tuned_on_test: bool = False,
    resamples: int = 1000,
    level: float = 0.95,
    runtime: Runtime = Runtime(),
) -> Tuning:
    """Find the parameters with which a metric agrees best with human judgements on a benchmark.

    The first trials are the given parameters, then the corners and the centre of weights and the ends
    and the middle of numbers. The statistics are computed once if they do not depend on the tuned parameters
    (`Metric.aggregate_parameters`), otherwise once for each of their values. An ensemble without scales gets
    those of its members on the benchmark.

    Args:
        metric: the metric to tune, or its name.
        benchmark: a benchmark with human judgements.
        goal: the goal to maximise.
        plan: the settings of the search.
        space: parameter -> range, as `read_space` reads it; by default, weights on the simplex.
        tuned_on_test: allow tuning on test data, and mark the result.
        resamples: bootstrap resamples of the held-out sentences.
        level: the level of the interval of the gain.
        runtime: how to run.

    Raises:
        LeakageError: the benchmark is test data, and `tuned_on_test` does not say so.
        ConfigError: the space or the plan cannot be used.
        InputError: the benchmark lacks the judgements that the goal needs, or the metric gives everything the
            same score.

    Example:
        >>> from learnedgec import load_metric
        >>> from learnedgec.data.benchmarks import load_benchmark
        >>> both = load_metric("ensemble(length=0.5, random=0.5)")
        >>> tuning = tune(both, load_benchmark("sample"), Goal("sentence-accuracy"), SearchPlan(trials=20))
        >>> tuning.best.value >= max(reference.value for reference in tuning.references.values())
        True
    """
    bound = bind_one(metric, runtime)
    caveat, on_test = check_task(
        bound, benchmark, goal, plan, space=space, tuned_on_test=tuned_on_test
    )
    # The metric or its members may already have been tuned, possibly on test data.
    marked, seen = on_test or bound.tuned_on_test, tuned_on(bound.tuned_names)
    # The parameters of a tuned metric are kept, but not its name.
    bound = BoundMetric(bound.metric, runtime=bound.runtime)
    benchmark = goal.judged(benchmark)
    target = Target(goal, benchmark, seed=plan.seed, cache_dir=runtime.cache_dir)
    trials_of = MetricTrials(bound, benchmark)
    value = bound.metric
    if isinstance(value, Ensemble) and value.scales is None:
        value = trials_of.metric = value.scaled_by(trials_of.statistics(value))
    ranges = read_space(value, space)

    settings = {
        "benchmark": benchmark.name,
        "objective": goal.objective,
        "aggregation": goal.aggregation,
        "human": goal.human_on(benchmark),
        "sampler": "tpe",
        "seed": plan.seed,
    }
    trials = run_trials(trials_of, target, ranges, plan, progress=runtime.progress)
    best = best_trial(trials)
    folds, gain, held_out_sentences = cross_validate(
        trials_of, goal, ranges, plan, resamples=resamples, level=level
    )
    return Tuning(
        best=best,
        references=_references(trials_of, ranges, target),
        trials=tuple(trials),
        folds=tuple(folds),
        gain=gain,
        held_out_sentences=held_out_sentences,
        benchmark=benchmark.name,
        judgements=target.judgements,
        notices=(
            *benchmark.notices,
            *contamination(bound, benchmark.name, benchmark.sources),
            *filter(None, [caveat]),
        ),
        goal=goal,
        plan=plan,
        settings={
            **settings,
            "space": {parameter: str(range_) for parameter, range_ in ranges.ranges.items()},
            "validation": plan.validation,
            "signature": bound.replaced(best.metric).signature(benchmark.references),
        },
        tuned_on_test=marked,
        sentences=seen | {key for key in map(fingerprint, benchmark.sources) if key},
    )


def _references(trials_of: MetricTrials, ranges: Space, target: Target) -> dict[str, TriedMetric]:
    """Return what the tuned metric is compared with: the given parameters and, of weights, equal ones."""
    references = {"given": trials_of.tried(ranges.given, target)}
    for parameter, range_ in ranges.ranges.items():
        if isinstance(range_, Simplex) and "uniform" not in references:
            references["uniform"] = trials_of.tried({parameter: range_.starts()[0]}, target)
    return references


def check_task(
    metric: NamedMetric,
    benchmark: Benchmark,
    goal: Goal,
    plan: SearchPlan,
    *,
    space: Mapping[str, Any] | None = None,
    tuned_on_test: bool = False,
) -> tuple[str, bool]:
    """Raise unless `tune` can begin; return a caveat about the data, and whether they are test data.

    Args:
        metric: the metric to tune.
        benchmark: a benchmark with human judgements.
        goal: the goal to maximise.
        plan: the settings of the search.
        space: parameter -> range, as for `tune`.
        tuned_on_test: allow test data.

    Raises:
        LeakageError: the benchmark is test data, and `tuned_on_test` does not say so.
        ConfigError: the space or the plan cannot be used.
        InputError: the benchmark lacks the judgements that the goal needs.
    """
    caveat, on_test = "", False
    try:
        caveat = check_tuning_data(benchmark, goal)
    except LeakageError:
        if not tuned_on_test:
            raise
        on_test = True
    read_space(metric.metric, space)
    benchmark = goal.judged(benchmark)
    check_validation(goal, benchmark, plan)
    # Expected wins replace TrueSkill, which takes long and needs the same judgements.
    Target(dataclasses.replace(goal, human=None if goal.human == "TS" else goal.human), benchmark)
    return caveat, on_test


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

    The objective is that of the search (`Goal.on`).

    Args:
        tuning: the result of a search.
        benchmark: another benchmark, such as `gjg15:test90` after `gjg15:dev10`.
        resamples: bootstrap resamples of the sentences; all metrics share them.
        level: the level of the intervals.
        seed: the seed of the resamples.
        runtime: how to run.

    Raises:
        InputError: the benchmark lacks the judgements that the goal needs.
    """
    goal = tuning.goal.on(benchmark)
    benchmark = goal.judged(benchmark)
    samples = resample(len(benchmark.sources), resamples, seed)
    whole = Target(goal, benchmark, seed=seed, cache_dir=runtime.cache_dir)
    parts = Target(goal, benchmark, samples, seed=seed, cache_dir=runtime.cache_dir)
    metrics = {label: candidate.metric for label, candidate in tuning.candidates.items()}
    bound = bind_one(tuning.best.metric, runtime)
    trials_of = MetricTrials(bound, benchmark)
    of_resamples = {label: trials_of.values(metric, parts) for label, metric in metrics.items()}
    values = {label: float(trials_of.values(metric, whole)[0]) for label, metric in metrics.items()}
    sentences = [len(whole.counted)]
    return [
        Comparison(
            label,
            values[label],
            interval_over_sentences(many, sentences, level)
            if goal.of_sentences or goal.of_segments
            else interval_of_correlation(values[label], many, level),
            values["tuned"] - values[label],
            interval_over_sentences(of_resamples["tuned"] - many, sentences, level),
        )
        for label, many in of_resamples.items()
    ]


def tuned_name(
    metric: NamedMetric,
    benchmark: str,
    name: str = "",
    *,
    goal: Goal = Goal(),
    tuned_on_test: bool = False,
) -> str:
    """Return the name of a tuned metric: `METRIC@BENCHMARK`, or the given name.

    The objective follows as `+OBJECTIVE` unless it is the default. A given word becomes `METRIC@WORD`, and a
    given name gets `+BENCHMARK` unless it names the benchmark. If the tuning data are test data, every name
    gets `+test`, so that every table shows it.

    Args:
        metric: the metric to tune.
        benchmark: the tuning data's name, as the user wrote it.
        name: the name of the tuned metric, if one is given.
        goal: the goal that was maximised.
        tuned_on_test: whether the tuning data are test data.

    Example:
        >>> from learnedgec.scoring import as_named
        >>> tuned_name(as_named("length"), "gjg15:dev10")
        'length@gjg15-dev10'
        >>> tuned_name(as_named("length"), "sample", goal=Goal("pearson"))
        'length@sample+pearson'
    """
    head = benchmark.partition(":")[0]
    if head.lower() == "jfleg":
        benchmark = head
    # The name of a folder such as `.` comes from its full path; `folder` replaces one without usable letters.
    words = next(filter(None, map(_words, (Path(benchmark), Path(benchmark).absolute()))), "folder")
    if name and "@" not in name:
        name = f"{metric.metric.name}@{name}"
    if not name:
        name = f"{metric.metric.name}@{words}"
        name += f"+{goal.objective}" if goal.objective != Goal().objective else ""
    elif words not in name and _words(Path(head)) not in name.partition("@")[2]:
        name += f"+{words}"
    return name + TEST_MARK if tuned_on_test and not name.endswith(TEST_MARK) else name


def _words(place: Path) -> str:
    """Return the last part of a benchmark's name or path, without a table's suffix, as a metric's word."""
    name = re.sub(r"\.(csv|tsv|jsonl|parquet)(\.gz)?(?=:|$)", "", place.name)
    return re.sub("[^A-Za-z0-9_.+]+", "-", name).strip("-.")


def check_name(name: str) -> None:
    """Raise `ConfigError` unless a tuned metric can have this name, or this word after `@`."""
    if not re.fullmatch(r"([A-Za-z][\w.+-]*@)?[\w.+-]+", name):
        raise ConfigError(
            f"name: {name!r} cannot be the name of the tuned metric, by which it is found; write "
            "METRIC@WORD, or WORD, with letters, digits and ._+- such as some@mine."
        )
