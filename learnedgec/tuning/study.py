"""The study of a sweep in its journal, which processes share and which survives an interruption.

It does not import what training needs, so a process joins a study at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import optuna
from filelock import FileLock
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from learnedgec.errors import ConfigError, FormatError
from learnedgec.runtime.files import check_writable
from learnedgec.tuning.search import sampler_of
from learnedgec.tuning.space import Space


def open_study(
    journal: Path,
    task: Mapping[str, Any],
    first: Mapping[str, Any],
    pruner: optuna.pruners.BasePruner,
) -> optuna.Study:
    """Create a study or join it.

    Args:
        journal: the file of the study.
        task: everything on which its trials depend; a study that there is must have the same task.
        first: the point of the first trial.
        pruner: the pruner of trials.

    Raises:
        ConfigError: the file holds a study with another task.
        FormatError: it cannot be read.
        OutputError: it cannot be written.
    """
    check_writable(journal)
    journal.parent.mkdir(parents=True, exist_ok=True)
    try:
        study = optuna.create_study(
            storage=JournalStorage(JournalFileBackend(str(journal))),
            study_name="sweep",
            direction="maximize",
            load_if_exists=True,
            pruner=pruner,
        )
    except Exception as error:  # Damaged lines of a journal raise errors of any kind.
        reason = str(error.__cause__ or error).partition("\n")[0]
        raise FormatError(f"{journal}:1: not the journal of a sweep ({reason}).") from None
    stored = study.user_attrs.get("task", task)
    if stored != task:
        changed = sorted(key for key in task if stored.get(key) != task[key])
        raise ConfigError(
            f"{journal} holds a sweep with another {' and '.join(changed)}; give the same settings to "
            "continue it, or another name."
        )
    study.set_user_attr("task", dict(task))
    study.enqueue_trial(dict(first), skip_if_exists=True)
    return study


def next_trial(
    study: optuna.Study, space: Space, seed: int, journal: Path, left: int | None = None
) -> optuna.Trial:
    """Return a new trial that has drawn its settings, or one that an interruption left unfinished.

    Processes take turns, so that no two draw the same settings.

    Args:
        study: the study.
        space: the space from which the trial draws.
        seed: seed of the study.
        journal: the file of the study.
        left: number of the unfinished trial.
    """
    # Optuna locks a journal by the file that ends in `.journal.lock`.
    with FileLock(f"{journal}.ask.lock"):
        trials = study.get_trials(deepcopy=False)
        drawn = 0 if left is None else len(trials[left].params)
        # A trial that was left while it drew its settings draws the rest with other random numbers.
        study.sampler = sampler_of(seed + drawn, len(trials) if left is None else left)
        trial = study.ask() if left is None else optuna.Trial(study, trials[left]._trial_id)
        space.suggest(trial)
    return trial


def explained_variance(study: optuna.Study, seed: int) -> dict[str, float]:
    """Return the share of the values' variance over complete trials that each parameter explains (fANOVA).

    There are no shares if fewer than two trials differ in value.
    """
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len({trial.value for trial in complete}) < 2:
        return {}
    evaluator = optuna.importance.FanovaImportanceEvaluator(seed=seed)
    return optuna.importance.get_param_importances(study, evaluator=evaluator)
