"""Trials that several processes share: exactly the requested number, even if a process is killed.

A study lives in memory, in an SQLite file or in a journal file; a process that runs its trials is a worker.
Two locks, which the operating system releases however a process ends, keep the number exact:

- the study's lock: one worker at a time looks at all trials and takes the next one;
- each worker's own lock: a trial whose worker no longer holds its lock was abandoned, and the first worker to
  notice runs it again, at the same point.

Optuna's own means were tried (5.0): its heartbeats work only for SQL storages under `Study.optimize`, and its
limit is checked after each trial, so three workers with a limit of 40 trials in SQLite ran 41 when one of
them was killed and 42 when none was. A journal has no heartbeat, and its own lock, held by a killed worker,
kept the others waiting for 30 seconds.

Every trial draws from its own random generator, seeded by the study's seed and the trial's number, so workers
never draw the same point and a resumed study continues as if it had not stopped.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import optuna
from filelock import FileLock, Timeout
from optuna.distributions import BaseDistribution
from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy.exc import DatabaseError

from learnedgec.errors import ConfigError, FormatError
from learnedgec.execution.writing import check_writable

__all__ = ["Sampler", "SharedStudy", "Tried"]

Sampler = Literal["tpe", "cma-es", "gp", "grid"]

_DATABASES = (".db", ".sqlite", ".sqlite3")


@dataclass(frozen=True, slots=True)
class Tried:
    """A finished trial.

    Attributes:
        number: in the study.
        point: its coordinates.
        value: the objective; NaN where it does not exist or the trial was pruned.
        worker: the worker that ran it.
    """

    number: int
    point: Mapping[str, Any]
    value: float
    worker: str


class SharedStudy:
    """One worker's view of a study; a context manager, at work while it is open."""

    def __init__(
        self,
        name: str,
        task: Mapping[str, Any],
        distributions: Mapping[str, BaseDistribution],
        plan: Sequence[Mapping[str, Any]],
        *,
        storage: str | None = None,
        sampler: Sampler = "tpe",
        seed: int = 0,
        pruner: BasePruner | None = None,
    ) -> None:
        """Create the study or join it.

        Args:
            name: of the study in its storage.
            task: what its trials depend on; a study of the same name must have the same task.
            distributions: the distributions of the coordinates.
            plan: the points of the first trials.
            storage: nothing for memory, a path that ends in `.db`, `.sqlite` or `.sqlite3` for SQLite,
                any other path for a journal.
            sampler: what draws the points after the plan.
            seed: of the sampler.
            pruner: decides about trials that report early values; by default, none is pruned.

        Raises:
            ConfigError: the storage holds a study of this name with another task.
            FormatError: the storage is damaged.
            OutputError: the storage cannot be written.
        """
        self.distributions, self.plan = dict(distributions), [dict(point) for point in plan]
        self.worker = uuid.uuid4().hex[:12]
        if storage is not None and "://" in storage:
            raise ConfigError(
                f"storage: {storage} is the address of a database; workers share a study by locks on files, "
                "so give the path of one: study.journal, or study.db for SQLite."
            )
        path = None if storage is None else Path(storage)
        self._workers = None if path is None else path.with_name(f"{path.name}.workers")
        self._lock: Any = contextlib.nullcontext()
        if path is not None:
            check_writable(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(f"{path}.lock")
        with self._lock, _quiet():
            try:
                self._study = optuna.create_study(
                    storage=self._open(path),
                    study_name=name,
                    direction="maximize",
                    load_if_exists=True,
                    sampler=_Reseeded(lambda number: _sampler(sampler, seed, number)),
                    pruner=pruner or optuna.pruners.NopPruner(),
                )
            except (ValueError, DatabaseError) as error:
                raise FormatError(
                    f"{storage}:1: not a storage of studies ({error}); give another path."
                ) from None
            # As the storage would return it.
            plain = json.loads(json.dumps(task))
            known = self._study.user_attrs.get("task")
            if known is None:
                self._study.set_user_attr("task", plain)
        if known not in (None, plain):
            changed = sorted(key for key in plain if known.get(key) != plain[key])
            raise ConfigError(
                f"storage: {storage} holds a study {name} with another {' and '.join(changed)}; "
                "give the same settings to continue it, or another name or storage."
            )

    def __enter__(self) -> SharedStudy:
        if self._workers is not None:
            self._workers.mkdir(exist_ok=True)
            self._alive = FileLock(self._workers / self.worker)
            self._alive.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._workers is not None:
            self._alive.release()
            # The last worker removes the folder, with any files of killed workers.
            for file in self._workers.iterdir():
                self._works(file.name)
            with contextlib.suppress(OSError):
                self._workers.rmdir()

    def claim(self, limit: int) -> Trial | None:
        """Return the next trial, with its coordinates drawn, or `None` once `limit` are taken.

        A planned point comes first, then one whose worker was killed, then one from the sampler.
        """
        with self._lock, _quiet():
            self._revive()
            standing = [trial for trial in self._trials() if trial.state != TrialState.FAIL]
            waiting = any(trial.state == TrialState.WAITING for trial in standing)
            if len(standing) >= limit and not waiting:
                return None
            if not waiting:
                taken = {trial.user_attrs.get("plan") for trial in standing}
                number = next((n for n in range(len(self.plan)) if n not in taken), None)
                if number is not None:
                    self._study.enqueue_trial(self.plan[number], user_attrs={"plan": number})
            trial = self._study.ask(self.distributions)
            trial.set_user_attr("worker", self.worker)
            return trial

    def tell(self, trial: Trial, value: float) -> None:
        """Finish a trial; NaN means that it has no value."""
        with _quiet():
            if value == value:
                self._study.tell(trial, value)
            else:
                self._study.tell(trial, state=TrialState.PRUNED)

    @property
    def running(self) -> bool:
        """Whether a trial is unfinished."""
        unfinished = (TrialState.RUNNING, TrialState.WAITING)
        return any(trial.state in unfinished for trial in self._trials())

    def finished(self) -> list[Tried]:
        """Return the finished trials by number."""
        return [
            Tried(
                trial.number,
                trial.params,
                trial.value
                if trial.state == TrialState.COMPLETE and trial.value is not None
                else float("nan"),
                trial.user_attrs.get("worker", ""),
            )
            for trial in self._trials()
            if trial.state in (TrialState.COMPLETE, TrialState.PRUNED)
        ]

    def _trials(self) -> list[FrozenTrial]:
        return self._study.get_trials(deepcopy=False)

    def _open(self, path: Path | None) -> optuna.storages.BaseStorage | None:
        """Return the storage at a path."""
        if path is None:
            return None
        if path.suffix in _DATABASES:
            return optuna.storages.RDBStorage(f"sqlite:///{path}")
        # The journal's own locks would outlive a killed worker by half a minute.
        backend = JournalFileBackend(str(path), lock_obj=self._lock)
        return optuna.storages.JournalStorage(backend)

    def _revive(self) -> None:
        """Put the trials of workers that have ended back into the queue."""
        trials = self._trials()
        again = {trial.user_attrs.get("again") for trial in trials}
        for trial in trials:
            if trial.state != TrialState.RUNNING:
                continue
            worker = trial.user_attrs.get("worker")
            if worker == self.worker or (worker is not None and self._works(worker)):
                continue
            # A planned point returns to the plan by itself. The new trial is made before the old one
            # fails, so that a kill between the two loses nothing.
            if "plan" not in trial.user_attrs and trial.number not in again:
                point = trial.system_attrs.get("fixed_params") or trial.params
                self._study.enqueue_trial(point, user_attrs={"again": trial.number})
            self._study.tell(trial.number, state=TrialState.FAIL)

    def _works(self, worker: str) -> bool:
        """Return whether a worker still holds its lock, and remove the files of a dead one."""
        assert self._workers is not None
        file = self._workers / worker
        if not file.exists():
            return False
        lock = FileLock(file)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        lock.release()
        file.unlink(missing_ok=True)
        return False


class _Reseeded(BaseSampler):
    """A sampler that is created for each trial, from the trial's number."""

    def __init__(self, make: Callable[[int], BaseSampler]) -> None:
        self._make = make
        self._made: tuple[int, BaseSampler] | None = None

    def _of(self, trial: FrozenTrial) -> BaseSampler:
        if self._made is None or self._made[0] != trial.number:
            self._made = trial.number, self._make(trial.number)
        return self._made[1]

    def infer_relative_search_space(
        self, study: optuna.Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        return self._of(trial).infer_relative_search_space(study, trial)

    def sample_relative(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        search_space: dict[str, BaseDistribution],
    ) -> dict[str, Any]:
        return self._of(trial).sample_relative(study, trial, search_space)

    def sample_independent(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        return self._of(trial).sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self,
        study: optuna.Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        self._of(trial).after_trial(study, trial, state, values)


def _sampler(kind: Sampler, seed: int, number: int) -> BaseSampler:
    """Return the sampler of one trial."""
    seed = (seed * 1_000_003 + number) % 2**32
    if kind == "tpe":
        # The distance to points that others are trying keeps workers apart.
        return optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)
    if kind == "gp":
        return optuna.samplers.GPSampler(seed=seed)
    if kind == "cma-es":
        return optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
    if kind == "grid":
        # Every point is planned; this one serves no trial.
        return optuna.samplers.RandomSampler(seed=seed)
    raise ConfigError(f"sampler: {kind!r} must be one of tpe, cma-es, gp and grid.")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silence optuna's announcements, its advice, and its warnings about experimental features."""
    import warnings

    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(level)
