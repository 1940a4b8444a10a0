"""Studies of Optuna: in memory, or in a file or database that several processes share."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import optuna
from filelock import FileLock
from optuna.samplers import BaseSampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

from learnedgec.errors import ConfigError, FormatError, MissingDependencyError
from learnedgec.runtime.writing import check_writable
from learnedgec.tuning.space import Space

Sampler = Literal["tpe", "cma-es", "gp"]


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
