"""Trials of a search: a metric with other parameters on a benchmark, from statistics in memory."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import optuna
from optuna.trial import FrozenTrial, TrialState

from learnedgec.analysis.meta.evaluation import benchmark_statistics
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.errors import ConfigError, InputError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.progress import track
from learnedgec.runtime.runtime import Runtime
from learnedgec.tuning.objective import Goal, Target
from learnedgec.tuning.space import Space
from learnedgec.tuning.study import (
    Sampler,
    ask,
    finished_trials,
    open_study,
    quiet,
)

__all__ = ["SearchPlan", "TriedMetric"]

# The share of the sentences on which hopeless trials are detected early, and the percentile of early values,
# counted from the best, below which a trial is hopeless.
_EARLY = 0.25

_HOPELESS = 75.0

# Number of metrics whose statistics are kept in memory, if trials need their own statistics.
_HELD = 32


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """The settings of a search.

    Attributes:
        trials: number of trials.
        sampler: what proposes the parameters of a trial: `tpe`, `cma-es`, `gp`, or `grid` for an even cover
            of the space.
        seed: of the sampler, the folds and every resample.
        patience: stop when the best value has not improved for this many trials; 0: never.
        prune: evaluate each trial on a quarter of the sentences first, and stop it if it is among the
            worst quarter of trials on them; useful if trials take long.
        validation: how the search is repeated on parts of the sentences and evaluated on the others:
            `k-fold`; `bootstrap`: on resamples, evaluated on the sentences they left out; or `none`.
        folds: number of folds, or of bootstrap resamples.
        storage: keep the study in this file, to continue it or to share it with other processes: `.db`,
            `.sqlite` or `.sqlite3` for SQLite, any other name for a journal, or the address of a database; by
            default, in memory.
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


class MetricTrials:
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

    def candidate(self, parameters: Mapping[str, Any], target: Target) -> TriedMetric:
        """Return the metric with some parameters, and its value."""
        value = self.value(parameters, target)
        return TriedMetric(self.with_parameters(parameters), parameters, value)

    def signature(self, metric: Metric) -> str:
        """Return the metric's signature on the benchmark."""
        return metric.signature(self.benchmark.references, runtime=self.runtime)


class EarlyCheck:
    """A part of the sentences on which hopeless trials are detected early."""

    def __init__(self, trials_of: MetricTrials, goal: Goal, seed: int) -> None:
        size = len(trials_of.benchmark.sources)
        order = np.random.default_rng(seed).permutation(size)
        part = trials_of.benchmark.select(
            sentences=np.sort(order[: max(1, round(size * _EARLY))]).tolist()
        )
        self._trials_of = MetricTrials(trials_of.metric, part, trials_of.runtime)
        self._target = Target(goal, part, np.arange(len(part.sources))[None], seed=seed)

    def is_hopeless(self, trial: optuna.Trial, parameters: Mapping[str, Any]) -> bool:
        """Return whether the trial is among the worst there."""
        value = self._trials_of.value(parameters, self._target)
        if math.isnan(value):
            return False
        trial.report(value, 0)
        return trial.should_prune()


def run_trials(
    trials_of: MetricTrials,
    target: Target,
    space: Space,
    plan: SearchPlan,
    *,
    study: str = "fold",
    task: Mapping[str, Any] | None = None,
    early: EarlyCheck | None = None,
    progress: bool = False,
) -> list[TriedMetric]:
    """Run or continue a study and return its finished trials."""
    points, limit = space.starts(), plan.trials
    if plan.sampler == "grid":
        points = space.lattice(limit)
        limit = len(points)
    pruner = optuna.pruners.PercentilePruner(_HOPELESS, n_startup_trials=len(points))

    def run() -> Iterator[None]:
        while True:
            values = [_value(trial) for trial in finished_trials(shared)]
            if len(values) >= len(points):
                _check_values(values, trials_of, target)
            if len(values) >= limit or _has_settled(values, plan.patience):
                return
            trial = ask(shared, space.distributions(), plan.sampler, plan.seed, plan.storage)
            parameters = space.decode(trial.params)
            hopeless = early is not None and early.is_hopeless(trial, parameters)
            value = math.nan if hopeless else trials_of.value(parameters, target)
            if math.isnan(value):
                shared.tell(trial, state=TrialState.PRUNED)
            else:
                shared.tell(trial, value)
            yield

    with quiet():
        shared = open_study(study, task or {}, points, storage=plan.storage, pruner=pruner)
        for _ in track(run(), "trials", total=limit, show=progress):
            pass
        finished = finished_trials(shared)
    _check_values([_value(trial) for trial in finished], trials_of, target)
    tried = []
    for trial in finished:
        parameters = space.decode(trial.params)
        metric = trials_of.with_parameters(parameters)
        tried.append(TriedMetric(metric, parameters, _value(trial), trial.number))
    return tried


def _value(trial: FrozenTrial) -> float:
    """Return a trial's value; NaN where it does not exist or the trial was pruned."""
    complete = trial.state == TrialState.COMPLETE and trial.value is not None
    return float(trial.value) if complete else math.nan  # type: ignore[arg-type]


def best_trial(trials: Sequence[TriedMetric]) -> TriedMetric:
    """Return the trial with the largest value, the first of equals."""
    return max(trials, key=lambda trial: -math.inf if math.isnan(trial.value) else trial.value)


def _has_settled(values: Sequence[float], patience: int) -> bool:
    """Return whether the best of the values has not improved for `patience` trials."""
    known = [-math.inf if math.isnan(value) else value for value in values]
    return 0 < patience <= len(known) - 1 - known.index(max(known)) if known else False


def _check_values(values: Sequence[float], trials_of: MetricTrials, target: Target) -> None:
    """Raise unless one of the values exists."""
    if all(math.isnan(value) for value in values):
        raise InputError(
            f"{trials_of.metric.name} has no {target.goal.objective} on {trials_of.benchmark.name} with "
            "any of the parameters tried: it gives everything compared the same score, or all human "
            "judgements are equal. Choose another metric or benchmark."
        )


@dataclass(frozen=True, slots=True)
class TriedMetric:
    """A metric with parameters that were tried.

    Attributes:
        metric: the metric.
        parameters: the tuned ones.
        value: the objective on the tuning data; NaN where it does not exist or the trial was pruned.
        number: of the trial; -1 for a metric that was evaluated outside the study.
    """

    metric: Metric
    parameters: Mapping[str, Any]
    value: float
    number: int = -1
