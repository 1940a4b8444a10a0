"""Tune a metric: statistics once, then trials that cost milliseconds, then an honest account of the gain.

The value that tuning reaches on its own data flatters it. So the same search is run on parts of the
sentences and its choice is valued on the others (`Fold`), and the tuned metric is compared with the
given one on another benchmark where one is named (`compare`).
"""

from __future__ import annotations

import dataclasses
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import optuna

from learnedgec import cache
from learnedgec._version import __version__
from learnedgec.benchmarks.base import Benchmark
from learnedgec.benchmarks.contamination import contamination
from learnedgec.errors import ConfigError, InputError, LeakageError
from learnedgec.meta.evaluation import benchmark_statistics
from learnedgec.meta.significance import interval
from learnedgec.metrics.base import Metric, Statistics
from learnedgec.metrics.ensemble import Ensemble
from learnedgec.metrics.tuned import TunedMetric
from learnedgec.progress import track
from learnedgec.ranking import resample
from learnedgec.runtime import Runtime
from learnedgec.tuning.goal import Goal, Target, check_tuning_data
from learnedgec.tuning.space import Simplex, Space, read_space
from learnedgec.tuning.study import Sampler, SharedStudy

__all__ = [
    "Candidate",
    "Comparison",
    "Fold",
    "Plan",
    "Tuning",
    "check_name",
    "compare",
    "tune",
    "tuned_name",
]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

# The share of the sentences on which a trial shows early whether it is hopeless, and the percentile of
# early values, counted from the best, below which it is.
_EARLY = 0.25
_HOPELESS = 75.0
# How the name of a metric ends that was tuned on test data.
_MARK = "+test"
# Metrics whose statistics are held in memory, where trials need statistics of their own.
_HELD = 32


@dataclass(frozen=True, slots=True)
class Plan:
    """How a search is done.

    Attributes:
        trials: how many.
        sampler: `tpe`, `cma-es`, `gp`, or `grid` for an even cover of the space.
        seed: of the sampler, the folds and every resample.
        patience: stop when the best value has not moved for so many trials; 0: never.
        prune: try each trial on a quarter of the sentences first and drop it where it is among the
            worst quarter of trials there; worth it where trials take long.
        validation: `k-fold`; `bootstrap`: tune on a resample and value on the sentences it left out; or
            `none`.
        folds: how many folds or resamples.
        storage: path of the study, by its suffix SQLite or a journal; memory if absent.
    """

    trials: int = 200
    sampler: Sampler = "tpe"
    seed: int = 0
    patience: int = 0
    prune: bool = False
    validation: Literal["k-fold", "bootstrap", "none"] = "k-fold"
    folds: int = 5
    storage: str | None = None

    def __post_init__(self) -> None:
        if self.trials < 1 or self.patience < 0:
            raise ConfigError(
                f"trials {self.trials}, patience {self.patience}: give one trial or more, and no "
                "negative patience."
            )
        if self.validation != "none" and self.folds < 2:
            raise ConfigError(f"folds: {self.folds} are too few; give 2 or more.")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A metric with parameters that were tried.

    Attributes:
        metric: the metric.
        parameters: the tuned ones.
        value: the objective on the tuning data; NaN where it does not exist or the trial was pruned.
        number: of the trial; -1 for a metric that was valued outside the study.
        worker: who ran the trial.
    """

    metric: Metric
    parameters: Mapping[str, Any]
    value: float
    number: int = -1
    worker: str = ""


@dataclass(frozen=True, slots=True)
class Fold:
    """One search on a part of the sentences.

    Attributes:
        parameters: what it chose.
        value: the objective on the part it saw.
        held_out: the objective on the other sentences; NaN where it does not exist there.
        given: the objective of the given metric on those.
    """

    parameters: Mapping[str, Any]
    value: float
    held_out: float
    given: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A metric on a benchmark that it was not tuned on, and how far the tuned one is ahead of it.

    Attributes:
        label: `tuned`, `given` or `uniform`.
        value: the objective.
        bounds: its interval by bootstrap over sentences.
        gain: the tuned metric's value minus this one's.
        gain_bounds: its interval, on the same resamples.
    """

    label: str
    value: float
    bounds: tuple[float, float]
    gain: float
    gain_bounds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a search found.

    Attributes:
        best: the tuned metric; on a tie the one tried first, so the given one if nothing is better.
        references: `given`, the metric before tuning, and `uniform`, with equal weights, where weights
            were tuned.
        trials: every finished trial by number.
        folds: the same search on parts of the data.
        benchmark: name of the tuning data.
        notices: what a reader should know about them.
        parts: names of what the metric's sentence scores are made of, such as `fluency`.
        human: name of people's score there; of comparisons, `EW`.
        goal: what was maximised.
        space: what was tuned.
        plan: how.
        tuned_on_test: whether the tuning data are what metrics are tested on.
        signature: of the tuned metric on that data.
        value_at: the objective on the tuning data at some parameters; draws maps.
    """

    best: Candidate
    references: Mapping[str, Candidate]
    trials: tuple[Candidate, ...]
    folds: tuple[Fold, ...]
    benchmark: str
    notices: tuple[str, ...]
    parts: tuple[str, ...]
    human: str
    goal: Goal
    space: Space
    plan: Plan
    tuned_on_test: bool
    signature: str
    value_at: Callable[[Mapping[str, Any]], float] = field(repr=False)

    @property
    def held_out(self) -> tuple[float, float]:
        """The mean and the standard deviation of the folds' held-out values; NaN without folds."""
        return _mean_and_deviation([fold.held_out for fold in self.folds])

    @property
    def given_held_out(self) -> tuple[float, float]:
        """The same for the given metric on the same sentences."""
        return _mean_and_deviation([fold.given for fold in self.folds])

    def record(self, comparisons: Mapping[str, Sequence[Comparison]] | None = None) -> TunedMetric:
        """Return the content of the tuned metric's file.

        Args:
            comparisons: benchmark -> what `compare` found there.
        """
        study = {
            "benchmark": self.benchmark,
            "objective": self.goal.objective,
            "aggregation": self.goal.aggregation,
            "human": self.human,
            "space": {name: str(range_) for name, range_ in self.space.ranges.items()},
            "sampler": self.plan.sampler,
            "seed": self.plan.seed,
            "value": self.best.value,
            "parameters": dict(self.best.parameters),
            "references": {
                label: {"value": _plain(candidate.value), "parameters": dict(candidate.parameters)}
                for label, candidate in self.references.items()
            },
            "validation": self.plan.validation,
            "held_out": _plain(self.held_out[0]),
            "held_out_deviation": _plain(self.held_out[1]),
            "given_held_out": _plain(self.given_held_out[0]),
            "given_held_out_deviation": _plain(self.given_held_out[1]),
            "folds": [
                {
                    "parameters": dict(fold.parameters),
                    "value": _plain(fold.value),
                    "held_out": _plain(fold.held_out),
                    "given": _plain(fold.given),
                }
                for fold in self.folds
            ],
            "comparisons": {
                benchmark: [
                    {
                        "label": row.label,
                        "value": _plain(row.value),
                        "bounds": [_plain(bound) for bound in row.bounds],
                        "gain": _plain(row.gain),
                        "gain_bounds": [_plain(bound) for bound in row.gain_bounds],
                    }
                    for row in rows
                ]
                for benchmark, rows in (comparisons or {}).items()
            },
            "signature": self.signature,
            "versions": {"learnedgec": __version__, "optuna": optuna.__version__},
            "trials": [
                {
                    "number": trial.number,
                    "value": _plain(trial.value),
                    "parameters": dict(trial.parameters),
                }
                for trial in self.trials
            ],
        }
        return TunedMetric(str(self.best.metric), study, self.tuned_on_test)


def tune(
    metric: Metric,
    benchmark: Benchmark,
    goal: Goal = Goal(),
    plan: Plan = Plan(),
    *,
    space: Mapping[str, Any] | None = None,
    name: str = "",
    tuned_on_test: bool = False,
    runtime: Runtime = Runtime(),
) -> Tuning:
    """Find the parameters with which a metric agrees best with people on a benchmark.

    The first trials are the given parameters, then the corners and the centre of weights and the ends
    and the middle of numbers. The statistics are computed once if they do not depend on the tuned
    parameters (`Metric.aggregate_parameters`), and else once for each of their values. An ensemble
    without scales gets those of its members on the benchmark.

    Args:
        metric: what is tuned.
        benchmark: with human judgements.
        goal: what is maximised.
        plan: how.
        space: parameter -> range, as `read_space` reads it; weights on the simplex if absent.
        name: of the study in a storage; `tuned_name` if absent.
        tuned_on_test: allow data that metrics are tested on, and mark the result.
        runtime: how to run.

    Raises:
        LeakageError: the benchmark is test data, and `tuned_on_test` does not say so.
        ConfigError: the space or the plan cannot be used, or the storage holds another study.
        InputError: the benchmark lacks the judgements that the goal needs, or the metric scores
            everything alike.

    Example:
        >>> from learnedgec import parse_metric
        >>> from learnedgec.benchmarks.names import load_benchmark
        >>> both = parse_metric("ensemble(length=0.5, random=0.5)")
        >>> found = tune(both, load_benchmark("sample"), Goal("sentence-accuracy"), Plan(trials=20))
        >>> found.best.value >= max(each.value for each in found.references.values())
        True
    """
    marked = False
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
    trials_of = _Trials(metric, benchmark, runtime)
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
        "texts": cache.key_of(benchmark.sources, *map(list, benchmark.systems.values())),
        "objective": goal.objective,
        "aggregation": goal.aggregation,
        "human": goal.human_on(benchmark),
        "sampler": plan.sampler,
        "seed": plan.seed,
        "signature": trials_of.signature(metric.for_statistics),
    }
    trials = _search(
        trials_of,
        target,
        ranges,
        plan,
        study=tuned_name(metric, benchmark, name, tuned_on_test=marked),
        task=task,
        early=_Early(trials_of, goal, plan.seed) if plan.prune else None,
        progress=runtime.progress,
    )
    best = _best(trials)
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
    """Value the tuned metric on another benchmark, beside the given one and equal weights.

    Args:
        tuning: what was found.
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
    trials_of = _Trials(tuning.best.metric, benchmark, runtime)
    values, many = {}, {}
    for label, metric in metrics.items():
        statistics = trials_of.statistics(metric)
        values[label] = float(whole.values(metric, statistics)[0])
        many[label] = parts.values(metric, statistics)
    return [
        Comparison(
            label,
            values[label],
            interval(many[label], level),
            values["tuned"] - values[label],
            interval(many["tuned"] - many[label], level),
        )
        for label in metrics
    ]


def tuned_name(
    metric: Metric, benchmark: Benchmark, name: str = "", *, tuned_on_test: bool = False
) -> str:
    """Return the name of a tuned metric: `METRIC@BENCHMARK`, or the one it was given.

    A metric that was tuned on test data has a name that ends in `+test`, so that every table says so.

    Example:
        >>> from learnedgec import parse_metric
        >>> from learnedgec.benchmarks.names import load_benchmark
        >>> tuned_name(parse_metric("length"), load_benchmark("sample"))
        'length@sample'
    """
    if not name:
        head = benchmark.name.partition(":")[0]
        where = head if head == "jfleg" else Path(benchmark.name).name
        name = f"{metric.name}@{re.sub('[^A-Za-z0-9_.+]+', '-', where).strip('-.')}"
    return name + _MARK if tuned_on_test and not name.endswith(_MARK) else name


def check_name(name: str) -> None:
    """Raise `ConfigError` unless a tuned metric can have this name."""
    if not re.fullmatch(r"[A-Za-z][\w.+-]*@[\w.+-]+", name):
        raise ConfigError(
            f"name: {name!r} is no name of a tuned metric; write METRIC@WORD with letters, digits and "
            "._+- such as some@mine."
        )


class _Trials:
    """A metric on a benchmark, with other parameters at each trial; statistics are computed once."""

    def __init__(self, metric: Metric, benchmark: Benchmark, runtime: Runtime) -> None:
        self.metric, self.benchmark, self.runtime = metric, benchmark, runtime
        self._held: dict[Metric, list[Statistics]] = {}

    def statistics(self, metric: Metric) -> list[Statistics]:
        """Return the statistics of every system, from memory where another metric shares them."""
        key = metric.for_statistics
        if key not in self._held:
            if len(self._held) >= _HELD:
                del self._held[next(iter(self._held))]
            self._held[key] = benchmark_statistics(metric, self.benchmark, self.runtime)
        return self._held[key]

    def with_parameters(self, parameters: Mapping[str, Any]) -> Metric:
        """Return the metric with other parameters."""
        return dataclasses.replace(self.metric, **parameters)

    def value(self, parameters: Mapping[str, Any], target: Target) -> float:
        """Return the objective of the metric with some parameters."""
        metric = self.with_parameters(parameters)
        return float(target.values(metric, self.statistics(metric))[0])

    def candidate(self, parameters: Mapping[str, Any], target: Target) -> Candidate:
        """Return the metric with some parameters, and its value."""
        value = self.value(parameters, target)
        return Candidate(self.with_parameters(parameters), parameters, value)

    def signature(self, metric: Metric) -> str:
        """Return the metric's signature on the benchmark."""
        return metric.signature(self.benchmark.references, runtime=self.runtime)


class _Early:
    """A part of the sentences on which a trial shows early whether it is hopeless."""

    def __init__(self, trials_of: _Trials, goal: Goal, seed: int) -> None:
        size = len(trials_of.benchmark.sources)
        order = np.random.default_rng(seed).permutation(size)
        part = trials_of.benchmark.select(
            sentences=np.sort(order[: max(1, round(size * _EARLY))]).tolist()
        )
        self._trials_of = _Trials(trials_of.metric, part, trials_of.runtime)
        self._target = Target(goal, part, np.arange(len(part.sources))[None], seed=seed)

    def is_hopeless(self, trial: optuna.Trial, parameters: Mapping[str, Any]) -> bool:
        """Return whether the trial is among the worst there."""
        value = self._trials_of.value(parameters, self._target)
        if math.isnan(value):
            return False
        trial.report(value, 0)
        return trial.should_prune()


def _search(
    trials_of: _Trials,
    target: Target,
    space: Space,
    plan: Plan,
    *,
    study: str = "fold",
    task: Mapping[str, Any] | None = None,
    early: _Early | None = None,
    progress: bool = False,
) -> list[Candidate]:
    """Run or continue a study and return its finished trials."""
    points, limit = space.starts(), plan.trials
    if plan.sampler == "grid":
        points = space.lattice(limit)
        limit = len(points)
    with SharedStudy(
        study,
        task or {},
        space.distributions(),
        points,
        storage=plan.storage,
        sampler=plan.sampler,
        seed=plan.seed,
        pruner=optuna.pruners.PercentilePruner(_HOPELESS, n_startup_trials=len(points)),
    ) as shared:

        def run() -> Iterator[None]:
            while True:
                values = [trial.value for trial in shared.finished()]
                if len(values) >= len(points):
                    _check_values(values, trials_of, target)
                trial = shared.claim(0 if _has_settled(values, plan.patience) else limit)
                if trial is not None:
                    parameters = space.decode(trial.params)
                    hopeless = early is not None and early.is_hopeless(trial, parameters)
                    shared.tell(
                        trial, math.nan if hopeless else trials_of.value(parameters, target)
                    )
                    yield
                elif shared.running:
                    # Another worker is at a last trial, and may yet be killed.
                    time.sleep(0.1)
                else:
                    return

        for _ in track(run(), "trials", total=limit, show=progress):
            pass
        finished = shared.finished()
    _check_values([trial.value for trial in finished], trials_of, target)
    found = []
    for trial in finished:
        parameters = space.decode(trial.point)
        metric = trials_of.with_parameters(parameters)
        found.append(Candidate(metric, parameters, trial.value, trial.number, trial.worker))
    return found


def _folds(trials_of: _Trials, goal: Goal, space: Space, plan: Plan) -> Iterator[Fold]:
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
        best = _best(_search(trials_of, target, space, alone))
        yield Fold(
            best.parameters,
            best.value,
            trials_of.value(best.parameters, other),
            trials_of.value({}, other),
        )


def _parts(size: int, plan: Plan) -> Iterator[tuple[Indices, Indices]]:
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


def _best(trials: Sequence[Candidate]) -> Candidate:
    """Return the trial with the largest value, the first of equals."""
    return max(trials, key=lambda trial: -math.inf if math.isnan(trial.value) else trial.value)


def _has_settled(values: Sequence[float], patience: int) -> bool:
    """Return whether the best of the values has not moved for `patience` trials."""
    known = [-math.inf if math.isnan(value) else value for value in values]
    return 0 < patience <= len(known) - 1 - known.index(max(known)) if known else False


def _check_values(values: Sequence[float], trials_of: _Trials, target: Target) -> None:
    """Raise unless one of the values exists."""
    if all(math.isnan(value) for value in values):
        raise InputError(
            f"{trials_of.metric.name} has no {target.goal.objective} on {trials_of.benchmark.name} with "
            "any of the parameters tried: it scores everything that people compared alike, or they "
            "judged everything alike. Choose another metric or benchmark."
        )


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    known = [value for value in values if not math.isnan(value)]
    return (float(np.mean(known)), float(np.std(known))) if known else (math.nan, math.nan)


def _plain(value: float) -> float | None:
    """Return a number that JSON can hold."""
    return value if math.isfinite(value) else None
