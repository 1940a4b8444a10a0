"""Sweeps: training runs with different settings, in a study that continues after an interruption."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import optuna
import pytorch_lightning as lightning
import torch
import yaml
from filelock import FileLock
from optuna.trial import FrozenTrial, TrialState

from learnedgec.errors import ConfigError, DivergedError, UnknownNameError
from learnedgec.evaluators.package import check_package
from learnedgec.runtime.files import atomic_folder, key_of
from learnedgec.runtime.runtime import Runtime, parallel_map
from learnedgec.table import Column, Row, Table
from learnedgec.training.objectives import measurable_heads
from learnedgec.training.run import Run, quiet_lightning
from learnedgec.training.settings import Settings
from learnedgec.tuning.search import quiet
from learnedgec.tuning.space import Range, Space, parse_range
from learnedgec.tuning.study import explained_variance, next_trial, open_study

# The name of the study's file in the folder of the run.
_JOURNAL = "sweep.journal"

_ENDED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)

# One of three trials that reach a rung (1, 3, 9, ... epochs) continues.
_REDUCTION = 3


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """The settings of a sweep.

    Attributes:
        trials: number of trials, each a training run.
        jobs: number of trials that are trained side by side.
        pruner: the pruner that ends trials with low dev scores early: `hyperband`; `asha`, which ends more
            trials and sooner; or `none`.
        seed: the seed of the settings that are tried; `--seed_everything` is the seed of training.
    """

    trials: int = 20
    jobs: int = 1
    pruner: Literal["hyperband", "asha", "none"] = "hyperband"
    seed: int = 0


@dataclass(frozen=True, slots=True)
class SweptTrial:
    """A trial of a sweep.

    Attributes:
        number: the number of the trial, from 0; trial 0 has the settings of the configuration.
        parameters: the settings that were tried.
        state: `complete`, `pruned`, or `failed` if memory was too small, training diverged, no epoch had a
            dev score, or settings did not suit each other.
        scores: the dev score after each epoch, by epoch.
    """

    number: int
    parameters: Mapping[str, Any]
    state: str
    scores: Mapping[int, float]

    @property
    def score(self) -> float | None:
        """The best dev score."""
        return max(self.scores.values(), default=None)


@dataclass(frozen=True, slots=True)
class Sweep:
    """The result of a sweep.

    Attributes:
        trials: all trials, by number.
        best: the trial with the highest dev score.
        package: the folder of the best trial's evaluator.
        results: the results of the best trial, part -> head -> figures. No choice used the test part.
        saved: number of epochs that pruning saved.
        importances: setting -> share of the dev score's variance that it explains (fANOVA).
    """

    trials: tuple[SweptTrial, ...]
    best: SweptTrial
    package: Path
    results: Mapping[str, Any]
    saved: int
    importances: Mapping[str, float]

    def table(self) -> Table:
        """Return a row for each trial: its settings, number of epochs, dev score and state."""
        # The last part of a key is its column, unless another key ends in the same.
        ends = Counter(key.rpartition(".")[2] for key in self.best.parameters)
        names = {
            key: end if ends[end := key.rpartition(".")[2]] == 1 else key
            for key in self.best.parameters
        }
        rows = [
            {
                "trial": trial.number + 1,
                **{names[key]: value for key, value in trial.parameters.items()},
                "epochs": len(trial.scores),
                "dev_score": trial.score,
                "state": "best" if trial == self.best else trial.state,
            }
            for trial in self.trials
        ]
        columns = [
            Column("trial"),
            *(Column(name, show=_setting_cell(name)) for name in names.values()),
            Column("epochs"),
            Column("dev_score", "dev score"),
            Column("state"),
        ]
        return Table(columns, rows)

    def _repr_html_(self) -> str:
        return self.table().html()


def _setting_cell(name: str) -> Callable[[Row], Any]:
    def show(row: Row) -> Any:
        value = row.get(name)
        return f"{value:g}" if isinstance(value, float) else value

    return show


def sweep(
    settings: Settings,
    space: Mapping[str, str],
    plan: SweepPlan = SweepPlan(),
    *,
    progress: bool = True,
    notify: Callable[[str], None] | None = None,
) -> Sweep:
    """Train with settings from a space, and package the run with the highest dev score.

    The study is in `runs/NAME/sweep.journal`. With `--resume`, a sweep that was interrupted continues, each
    trial from its last checkpoint.

    Args:
        settings: the settings of the first trial.
        space: key of the configuration -> its range, as `parse_range` reads it. A key of `model`, `data` or
            `trainer` may be named without its group.
        plan: the settings of the sweep.
        progress: show progress bars on stderr.
        notify: function that is called with a line about each trial; for several jobs, it must be picklable.

    Raises:
        ConfigError: the space, a setting or the study cannot be used; the message names it.
        LearnedgecError: as for `train`.
    """
    with quiet_lightning(), quiet():
        run = Run(settings, progress=False)
        _check(run)
        check_measurable(run)
        searched = _read_space(space, run.config)
        work = _Work(
            settings=settings,
            space=searched,
            plan=plan,
            folder=run.folder,
            task=_task(settings, searched, plan),
            epochs=max(run.trainer.max_epochs or 0, 0),
            notify=notify,
            progress=progress and plan.jobs == 1,
            threads=max(1, torch.get_num_threads() // plan.jobs),
        )
        study = work.study()
        # The lock waits for another process that works on this sweep, and ends with that process.
        with FileLock(run.folder / "sweep.lock"):
            if plan.jobs > 1:
                run.data.load()  # This makes the pairs once, before processes share them.
            more = max(0, plan.trials - len(study.get_trials(False, _ENDED)))
            # Whoever holds the lock alone works on the sweep, so that running trials were interrupted.
            left = [trial.number for trial in study.get_trials(False, (TrialState.RUNNING,))]
            trials = [*left, *[None] * more][:more]
            parallel_map(work, trials, "trials", Runtime(jobs=plan.jobs), chunk_size=1)
        best = work.keep_best(study)
        if best is None:
            raise ConfigError(
                "trials: none of them came to its end with a dev score; give more, or another space."
            )
        with atomic_folder(run.package) as folder:
            shutil.copytree(work.package(best), folder, dirs_exist_ok=True)
        swept = [_swept(trial, searched) for trial in study.get_trials(False, _ENDED)]
        pruned = [trial for trial in swept if trial.state == "pruned"]
        return Sweep(
            tuple(swept),
            next(trial for trial in swept if trial.number == best),
            run.package,
            check_package(run.package)["results"],
            sum(max(0, work.epochs - len(trial.scores)) for trial in pruned),
            explained_variance(study, plan.seed),
        )


def _swept(trial: FrozenTrial, space: Space) -> SweptTrial:
    """Return the trial of a study that has ended."""
    state = "failed" if trial.state == TrialState.FAIL else trial.state.name.lower()
    scores = dict(sorted(trial.intermediate_values.items()))
    return SweptTrial(trial.number, space.suggest(trial), state, scores)


def _check(run: Run) -> None:
    """Raise `ConfigError` if the options do not suit a sweep; remove an earlier one that is overwritten."""
    config = run.config
    if config.seeds > 1 or run.trainer.world_size > 1:
        raise ConfigError(
            f"seeds is {config.seeds}, and there are {run.trainer.world_size} devices; a sweep trains one "
            "seed on one device in each trial."
        )
    journal = run.folder / _JOURNAL
    run.check_free(not config.resume and (journal.exists() or run.package.is_dir()))
    if config.overwrite and not config.resume:
        journal.unlink(missing_ok=True)
        for old in run.folder.glob("trial-*/"):
            shutil.rmtree(old)


def check_measurable(run: Run) -> None:
    """Raise `ConfigError` if the dev part, by whose score trials are compared, can measure no head."""
    objectives = run.module.objectives
    if not measurable_heads(objectives, run.data.load()["dev"]):
        raise ConfigError(
            f"data: the dev part can measure none of the heads {', '.join(objectives)}, because it has no "
            "ranked pairs and no ratings that differ for them, so trials cannot be compared; add data."
        )


def _read_space(space: Mapping[str, str], config: Any) -> Space:
    """Return the space, with the configuration's values as the given ones."""
    keys = list(config.keys())
    ranges: dict[str, Range] = {}
    for key, text in space.items():
        complete = any(key == other or key.startswith(f"{other}.") for other in keys)
        groups = [group for group in ("model", "data", "trainer") if f"{group}.{key}" in keys]
        if not complete and len(groups) != 1:
            raise ConfigError(f"space: {UnknownNameError('key of a configuration', key, keys)}")
        ranges[key if complete else f"{groups[0]}.{key}"] = parse_range(text)
    return Space(ranges, {key: config.get(key) for key in ranges})


def _task(settings: Settings, space: Space, plan: SweepPlan) -> dict[str, Any]:
    """Return everything on which the trials depend."""
    values = yaml.safe_load(settings.as_yaml())
    parts = ("seed_everything", "model", "data", "trainer", "early_stopping")
    configuration = json.dumps({part: values[part] for part in parts}, sort_keys=True)
    task = {"configuration": key_of(configuration), "space": str(space)}
    return task | {"pruner": plan.pruner, "seed": plan.seed}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """The work on one trial after another; `epochs` is 0 if their number has no limit."""

    settings: Settings
    space: Space
    plan: SweepPlan
    folder: Path
    task: Mapping[str, Any]
    epochs: int
    notify: Callable[[str], None] | None
    progress: bool
    threads: int

    def __call__(self, left: int | None) -> None:
        """Train the trial with a number, which was interrupted, or a new one."""
        torch.set_num_threads(self.threads)
        with quiet_lightning(), quiet():
            study = self.study()
            trial = next_trial(study, self.space, self.plan.seed, self.journal, left)
            self.train(study, trial)
            self.keep_best(study)

    def study(self) -> optuna.Study:
        """Create the study, or join it."""
        pruner: optuna.pruners.BasePruner | None = None
        if self.plan.pruner == "hyperband":
            most = self.epochs or "auto"
            pruner = optuna.pruners.HyperbandPruner(1, most, reduction_factor=_REDUCTION)
        elif self.plan.pruner == "asha":
            pruner = optuna.pruners.SuccessiveHalvingPruner(1, reduction_factor=_REDUCTION)
        first = self.space.encode(self.space.given)
        return open_study(self.journal, self.task, first, pruner or optuna.pruners.NopPruner())

    @property
    def journal(self) -> Path:
        """The path of the study's journal."""
        return self.folder / _JOURNAL

    def train(self, study: optuna.Study, trial: optuna.Trial) -> None:
        """Train a trial to its end, or until it is pruned."""
        tried = self.space.suggest(trial)
        if self.notify:
            shown = ", ".join(f"{key} {value}" for key, value in tried.items())
            self.notify(f"Trial {trial.number + 1} of {self.plan.trials}: {shown}.")
        # A trial with a checkpoint continues, and a trial without one starts again.
        part = {"part": f"trial-{trial.number}", "resume": True, "overwrite": True}
        state, value = TrialState.COMPLETE, None
        try:
            run = Run(self.settings.but(**tried, **part), progress=self.progress)
            pruning = _Pruning(trial, self.epochs)
            run.trainer.callbacks.append(pruning)  # type: ignore[attr-defined]
            run.complete(None)
            value = max(pruning.scores.values(), default=None)
            state = TrialState.FAIL if value is None else state
        except optuna.TrialPruned:
            state = TrialState.PRUNED
        except (MemoryError, torch.OutOfMemoryError, DivergedError):
            state = TrialState.FAIL
        except ConfigError as error:
            # The settings do not suit each other, so trying them again would not help.
            study.tell(trial, state=TrialState.FAIL)
            raise ConfigError(
                f"trial {trial.number + 1}: {error} To continue without this trial, give --resume."
            ) from None
        study.tell(trial, value, state)
        for checkpoint in self.package(trial.number).parent.glob("*.ckpt"):
            checkpoint.unlink()

    def package(self, number: int) -> Path:
        """Return the folder of a trial's evaluator."""
        return self.folder / f"trial-{number}" / self.folder.name

    def keep_best(self, study: optuna.Study) -> int | None:
        """Remove the evaluators of all trials but the best, and return its number."""
        complete = study.get_trials(False, (TrialState.COMPLETE,))
        if not complete:
            return None
        best = study.best_trial.number
        for trial in complete:
            if trial.number != best:
                shutil.rmtree(self.package(trial.number), ignore_errors=True)
        return best


class _Pruning(lightning.Callback):
    """Reports the dev score after each epoch, and ends a trial that the pruner rejects."""

    def __init__(self, trial: optuna.Trial, epochs: int) -> None:
        self.trial, self.epochs = trial, epochs
        begun = trial.study.get_trials(False)[trial.number]
        self.scores: dict[int, float] = dict(begun.intermediate_values)

    def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        """Report each score once, because an epoch may be trained again after an interruption."""
        epoch = trainer.current_epoch + 1
        score = float(trainer.callback_metrics.get("dev/score", math.nan))
        if not math.isnan(score) and epoch not in self.scores:
            self.scores[epoch] = score
            self.trial.report(score, epoch)
        if epoch != self.epochs and self.trial.should_prune():
            raise optuna.TrialPruned
