"""Trials of a search: a metric with other parameters, in an optuna study.

A study is in memory, or in a file or database that several processes share. `MetricTrials` computes the
metric's statistics once, so that a trial takes milliseconds.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import optuna
from filelock import FileLock
from jsonargparse.typing import PositiveInt
from optuna.samplers import BaseSampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from learnedgec.analysis.meta.evaluation import benchmark_statistics
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.errors import ConfigError, FormatError, InputError, MissingDependencyError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.progress import track
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.writing import check_writable
from learnedgec.tuning.objective import Target
from learnedgec.tuning.space import Space
from learnedgec.types import Floats

Sampler = Literal["tpe", "cma-es", "gp"]

# Number of metrics whose statistics are kept in memory, if trials need their own statistics.
_HELD = 32


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """The settings of a search.

    Attributes:
        trials: number of trials.
        sampler: what proposes the parameters of a trial: `tpe`, `cma-es` or `gp`.
        seed: of the sampler, the folds and every resample.
        validation: how the search is repeated on parts of the judgements and evaluated on the others:
            `k-fold`: over sentences; `systems`: each system is left out in turn, and its judgements are held
            out; or `none`.
        folds: number of folds over sentences.
        storage: keep the study in this file, to continue it or to share it with other processes: `.db`,
            `.sqlite` or `.sqlite3` for SQLite, any other name for a journal, or the address of a database; by
            default, in memory.
    """

    trials: PositiveInt = 200
    sampler: Sampler = "tpe"
    seed: int = 0
    validation: Literal["k-fold", "systems", "none"] = "k-fold"
    folds: int = 5
    storage: str | None = None


@dataclass(frozen=True, slots=True)
class TriedMetric:
    """A metric with parameters that were tried.

    Attributes:
        metric: the metric.
        parameters: the tuned ones.
        value: the objective on the tuning data; NaN where it does not exist.
        number: of the trial; -1 for a metric that was evaluated outside the study.
    """

    metric: Metric
    parameters: Mapping[str, Any]
    value: float
    number: int = -1


class MetricTrials:
    """A metric on a benchmark, with other parameters at each trial; statistics are computed once."""

    def __init__(self, metric: Metric, benchmark: Benchmark, runtime: Runtime) -> None:
        """Compute nothing yet.

        Args:
            metric: the metric with its given parameters.
            benchmark: the human judgements.
            runtime: how to run.
        """
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

    def values(self, metric: Metric, target: Target) -> Floats:
        """Return the objective of the metric with other parameters, on each sample of the target."""
        return target.values(metric, self.statistics(metric))

    def tried(self, parameters: Mapping[str, Any], target: Target) -> TriedMetric:
        """Return the metric with some parameters, and its value on the target's first sample."""
        metric = dataclasses.replace(self.metric, **parameters)
        return TriedMetric(metric, parameters, float(self.values(metric, target)[0]))


def run_trials(
    trials_of: MetricTrials,
    target: Target,
    space: Space,
    plan: SearchPlan,
    *,
    name: str = "fold",
    task: Mapping[str, Any] | None = None,
    progress: bool = False,
) -> list[TriedMetric]:
    """Run or continue a study and return its finished trials.

    Args:
        trials_of: the metric on the benchmark.
        target: what is maximised there.
        space: what is tuned.
        plan: the settings of the search.
        name: of the study in its storage.
        task: what its trials depend on.
        progress: show a bar on stderr.

    Raises:
        InputError: the objective does not exist for any of the parameters tried.
    """

    def run(study: optuna.Study) -> Iterator[None]:
        while len(finished_trials(study)) < plan.trials:
            trial = ask(study, space, plan.sampler, plan.seed, plan.storage)
            value = trials_of.tried(space.suggest(trial), target).value
            if math.isnan(value):
                study.tell(trial, state=TrialState.PRUNED)
            else:
                study.tell(trial, value)
            yield

    with quiet():
        study = open_study(name, task or {}, space.starts(), storage=plan.storage)
        for _ in track(run(study), "trials", total=plan.trials, show=progress):
            pass
    tried = []
    for trial in finished_trials(study):
        parameters = space.suggest(trial)
        metric = dataclasses.replace(trials_of.metric, **parameters)
        value = math.nan if trial.value is None else trial.value
        tried.append(TriedMetric(metric, parameters, value, trial.number))
    if all(math.isnan(trial.value) for trial in tried):
        raise InputError(
            f"{trials_of.metric.name} has no {target.goal.objective} on {trials_of.benchmark.name} with any "
            "of the parameters tried: it gives everything compared the same score, or all human judgements "
            "are equal. Choose another metric or benchmark."
        )
    return tried


def best_trial(trials: Sequence[TriedMetric]) -> TriedMetric:
    """Return the trial with the largest value, the first of equals."""
    return max(trials, key=lambda trial: -math.inf if math.isnan(trial.value) else trial.value)


# -- studies ---------------------------------------------------------------------------------------


def open_study(
    name: str,
    task: Mapping[str, Any],
    starts: Sequence[Mapping[str, Any]],
    *,
    storage: str | None = None,
    pruner: optuna.pruners.BasePruner | None = None,
) -> optuna.Study:
    """Create a study or join it.

    Args:
        name: of the study in its storage.
        task: what its trials depend on; a study of the same name must have the same task.
        starts: the points of the first trials.
        storage: nothing for memory, a path that ends in `.db`, `.sqlite` or `.sqlite3` for SQLite, the
            address of a database such as `postgresql://HOST/NAME`, any other path for a journal.
        pruner: decides about trials that report early values; by default, none is pruned.

    Raises:
        ConfigError: the storage holds a study of this name with another task.
        FormatError: the storage cannot be read.
        OutputError: the storage cannot be written.
    """
    if storage is not None and "://" not in storage:
        check_writable(storage)
        Path(storage).parent.mkdir(parents=True, exist_ok=True)
    try:
        study = optuna.create_study(
            storage=_open_storage(storage),
            study_name=name,
            direction="maximize",
            load_if_exists=True,
            pruner=pruner or optuna.pruners.NopPruner(),
        )
    except Exception as error:  # Each kind of storage has its own errors.
        raise FormatError(
            f"{storage}:1: not a storage of studies ({error}); give another path."
        ) from None
    # Convert the task as the storage does, so that both can be compared.
    plain = json.loads(json.dumps(task))
    stored = study.user_attrs.get("task", plain)
    if stored != plain:
        changed = sorted(key for key in plain if stored.get(key) != plain[key])
        raise ConfigError(
            f"storage: {storage} holds a study {name} with another {' and '.join(changed)}; "
            "give the same settings to continue it, or another name or storage."
        )
    study.set_user_attr("task", plain)
    for point in starts:
        study.enqueue_trial(dict(point), skip_if_exists=True)
    return study


def ask(
    study: optuna.Study, space: Space, sampler: Sampler, seed: int, storage: str | None
) -> optuna.Trial:
    """Return the next trial; processes that share a file take turns, so that no two draw the same point.

    Args:
        study: the study.
        space: what the trial draws.
        sampler: name of the sampler.
        seed: seed of the study.
        storage: file or address of a shared study, or `None`.
    """
    # Optuna locks a journal by the file that ends in `.lock`.
    shared = storage is not None and "://" not in storage
    with FileLock(f"{storage}.ask.lock") if shared else contextlib.nullcontext():
        study.sampler = _make_sampler(sampler, seed, len(study.get_trials(deepcopy=False)))
        trial = study.ask()
        space.suggest(trial)
    return trial


def finished_trials(study: optuna.Study) -> list[FrozenTrial]:
    """Return the trials that have a value, or whose value does not exist, by number."""
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))


def _make_sampler(kind: Sampler, seed: int, number: int) -> BaseSampler:
    """Return the sampler of one trial.

    It is seeded by the study's seed and the trial's number, so that a study that was stopped continues as if
    it had not been.
    """
    seed = (seed * 1_000_003 + number) % 2**32
    if kind == "gp":
        return optuna.samplers.GPSampler(seed=seed)
    if kind == "cma-es":
        if importlib.util.find_spec("cmaes") is None:
            raise MissingDependencyError("cmaes", "tune", "sampler: cma-es")
        return optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
    # The distance to points that others are trying keeps processes apart.
    return optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)


def explained_variance(study: optuna.Study, seed: int) -> dict[str, float]:
    """Return which share of the values' variance over complete trials each parameter explains (fANOVA).

    Empty where fewer than two trials differ in value.
    """
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len({trial.value for trial in complete}) < 2:
        return {}
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=seed)
    return optuna.importance.get_param_importances(study, evaluator=evaluator)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence optuna's announcements, its advice, and its warnings about experimental features."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(level)


def _open_storage(storage: str | None) -> str | JournalStorage | None:
    """Return a storage as `optuna.create_study` takes it."""
    if storage is None or "://" in storage:
        return storage
    if storage.endswith((".db", ".sqlite", ".sqlite3")):
        return f"sqlite:///{storage}"
    return JournalStorage(JournalFileBackend(storage))
