"""Studies of Optuna: in memory, or in a file or database that several processes share."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import optuna
from filelock import FileLock, Timeout
from optuna.samplers import BaseSampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from learnedgec.errors import ConfigError, FormatError, MissingDependencyError
from learnedgec.runtime.writing import atomic_path, check_writable
from learnedgec.tuning.space import Space

Sampler = Literal["tpe", "cma-es", "gp"]

# The longest that a trial in a database on a server may take.
_LONGEST = timedelta(days=1)


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
        name: the name of the study in its storage.
        task: everything on which its trials depend; a study of the same name must have the same task.
        starts: the points of the first trials.
        storage: `None` for memory, a path that ends in `.db`, `.sqlite` or `.sqlite3` for SQLite, the address
            of a database such as `postgresql://HOST/NAME`, or any other path for a journal.
        pruner: the pruner of trials that report early values; by default, none is pruned.

    Raises:
        ConfigError: the storage holds a study of this name with another task.
        FormatError: the storage cannot be read.
        OutputError: the storage cannot be written.
    """
    if storage is not None and _is_file(storage):
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
        reason = str(error.__cause__ or error).partition("\n")[0]
        raise FormatError(
            f"{storage}:1: not a storage of studies ({reason}); give another path."
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


@contextlib.contextmanager
def next_trial(
    study: optuna.Study, space: Space, sampler: Sampler, seed: int, storage: str | None
) -> Iterator[optuna.Trial]:
    """Yield a trial that another process left unfinished, for example because it was killed, or a new one.

    Processes that share a file take turns, so that no two draw the same point, and each process locks its
    trial, so that no other repeats it. A database on a server has no such locks: there, a trial that has not
    ended after a day counts as left.

    Args:
        study: the study.
        space: the space from which the trial draws.
        sampler: name of the sampler.
        seed: seed of the study.
        storage: file or address of a shared study, or `None`.
    """
    with contextlib.ExitStack() as held:
        with _lock(storage, "ask"):
            running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
            left = next((trial for trial in running if _is_left(study, trial, storage)), None)
            number = left.number if left else len(study.get_trials(deepcopy=False))
            # A trial that was left while it drew its point draws the rest with other random numbers.
            study.sampler = _make_sampler(sampler, seed + len(left.params if left else ()), number)
            trial = optuna.Trial(study, left._trial_id) if left else study.ask()
            space.suggest(trial)
            held.enter_context(_lock(storage, trial.number))
        yield trial
    if _is_file(storage):
        Path(f"{storage}.{trial.number}.lock").unlink(missing_ok=True)


def _is_file(storage: str | None) -> bool:
    """Return whether a storage is a file, beside which locks can be created."""
    return storage is not None and "://" not in storage


def _lock(
    storage: str | None, name: str | int, timeout: float = -1
) -> contextlib.AbstractContextManager[Any]:
    """Return the lock on the next draw (`ask`) or on a trial by number; only files have locks."""
    # Optuna locks a journal by the file that ends in `.journal.lock`.
    return (
        FileLock(f"{storage}.{name}.lock", timeout=timeout)
        if _is_file(storage)
        else contextlib.nullcontext()
    )


def _is_left(study: optuna.Study, trial: FrozenTrial, storage: str | None) -> bool:
    """Return whether no process works any longer on a trial that was running."""
    if not _is_file(storage):
        assert trial.datetime_start is not None
        return datetime.now() - trial.datetime_start > _LONGEST
    try:
        with _lock(storage, trial.number, timeout=0):
            # The trial may have ended before the lock was free.
            return study.get_trials(deepcopy=False)[trial.number].state == TrialState.RUNNING
    except Timeout:
        return False


def finished_trials(study: optuna.Study) -> list[FrozenTrial]:
    """Return the finished trials by number, including those whose value does not exist."""
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))


def _make_sampler(kind: Sampler, seed: int, number: int) -> BaseSampler:
    """Return the sampler of one trial.

    Its seed comes from the study's seed and the trial's number, so that a study that was stopped continues as
    if it had never stopped.
    """
    seed = (seed * 1_000_003 + number) % 2**32
    if kind == "gp":
        return optuna.samplers.GPSampler(seed=seed)
    if kind == "cma-es":
        if importlib.util.find_spec("cmaes") is None:
            raise MissingDependencyError("cmaes", "tune", "sampler: cma-es")
        return optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
    # With `constant_liar`, processes keep away from the points that others are trying.
    return optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)


def explained_variance(study: optuna.Study, seed: int) -> dict[str, float]:
    """Return the share of the values' variance over complete trials that each parameter explains (fANOVA).

    There are no shares if fewer than two trials differ in value.
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
    """Return a storage in the form that `optuna.create_study` takes."""
    if storage is None or "://" in storage:
        return storage
    if storage.endswith((".db", ".sqlite", ".sqlite3")):
        # After a kill between creating a table and its index, two studies could have the same name.
        with _lock(storage, "ask"):
            if not Path(storage).exists():
                with atomic_path(storage) as created:
                    optuna.storages.RDBStorage(f"sqlite:///{created}").engine.dispose()
        return f"sqlite:///{storage}"
    return JournalStorage(JournalFileBackend(storage))
