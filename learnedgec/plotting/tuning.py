"""Figures of a search: its history, and which parameter mattered."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna

from learnedgec.plotting.style import (
    COLOURS,
    COLUMN,
    GREY,
    label_rows,
    new_figure,
    save_figure,
    shorten,
    style,
)
from learnedgec.tuning.search import Tuning
from learnedgec.tuning.space import Simplex
from learnedgec.tuning.trials import quiet

if TYPE_CHECKING:
    from learnedgec.tuning.sweep import Sweep


def plot_tuning(tuning: Tuning, folder: str | Path, stem: str) -> list[Path]:
    """Write the history, and the importance of what was tuned.

    Args:
        tuning: what to draw.
        folder: where; made if it does not exist.
        stem: how the files' names start.

    Returns:
        The files.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        OutputError: the folder cannot be written.
    """
    with style():
        files = [*save_figure(_history(tuning), folder, f"{stem}.history")]
        shares = importances(tuning)
        if len(shares) > 1:
            files += save_figure(_bars(shares), folder, f"{stem}.importance")
    return files


def plot_sweep(sweep: Sweep, folder: str | Path, stem: str) -> list[Path]:
    """Write the dev score of each trial by epoch, and the importance of each setting.

    Args:
        sweep: what to draw.
        folder: where; made if it does not exist.
        stem: how the files' names start.

    Returns:
        The files.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        OutputError: the folder cannot be written.
    """
    with style():
        figure = new_figure(COLUMN, 2.4)
        axis = figure.subplots()
        looks: dict[str, Any] = {
            "pruned": {"color": GREY, "linewidth": 0.6},
            "best": {"color": COLOURS[1]},
        }
        for trial in sweep.trials:
            state = "best" if trial == sweep.best else trial.state
            look = looks.get(state, {"color": COLOURS[0], "linewidth": 0.8})
            axis.plot(list(trial.scores), list(trial.scores.values()), ".-", label=state, **look)
        axis.set_xlabel("epoch")
        axis.set_ylabel("dev score")
        handles = dict(zip(*axis.get_legend_handles_labels()[::-1], strict=True))
        figure.legend(handles.values(), handles, loc="outside lower center", ncols=3)
        files = [*save_figure(figure, folder, f"{stem}.trials")]
        if len(sweep.importances) > 1:
            files += save_figure(_bars(dict(sweep.importances)), folder, f"{stem}.importance")
    return files


def importances(tuning: Tuning) -> dict[str, float]:
    """Return which share of the objective's variance over the trials each parameter explains (fANOVA).

    Each weight counts as a separate parameter. Empty where fewer than two trials differ in value.
    """
    completed = [trial for trial in tuning.trials if not math.isnan(trial.value)]
    if len({trial.value for trial in completed}) < 2:
        return {}
    rows = [_columns(tuning, trial.parameters) for trial in completed]
    distributions: dict[str, optuna.distributions.BaseDistribution] = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if isinstance(values[0], str):
            distributions[name] = optuna.distributions.CategoricalDistribution(sorted(set(values)))
        elif min(values) < max(values):
            distributions[name] = optuna.distributions.FloatDistribution(min(values), max(values))
    # This study is over the weights, because the coordinates of the trials mean little to a reader.
    with quiet():
        study = optuna.create_study(direction="maximize")
        for trial, row in zip(completed, rows, strict=True):
            study.add_trial(
                optuna.trial.create_trial(
                    params={name: row[name] for name in distributions},
                    distributions=distributions,
                    value=trial.value,
                )
            )
        evaluator = optuna.importance.FanovaImportanceEvaluator(seed=tuning.plan.seed)
        shares = optuna.importance.get_param_importances(study, evaluator=evaluator)
    return {name: float(share) for name, share in shares.items()}


def _columns(tuning: Tuning, parameters: Any) -> dict[str, Any]:
    """Return numbers and texts by name: a simplex as one column per weight."""
    row: dict[str, Any] = {}
    for name, range_ in tuning.space.ranges.items():
        if isinstance(range_, Simplex):
            labels = _weight_labels(tuning, name)
            row |= dict(zip(labels, parameters[name], strict=True))
        elif isinstance(parameters[name], int | float) and not isinstance(parameters[name], bool):
            row[name] = float(parameters[name])
        else:
            row[name] = repr(parameters[name])
    return row


def _weight_labels(tuning: Tuning, name: str) -> list[str]:
    """Return a label for each weight: the part of the sentence scores that it belongs to, or a number."""
    size = len(tuning.best.parameters[name])
    labels = [shorten(part, 24) for part in tuning.parts]
    if len(labels) == size == len(set(labels)):
        return labels
    return [f"{name} {number}" for number in range(1, size + 1)]


def _history(tuning: Tuning) -> Any:
    """Draw each trial's value and the best so far, with the held-out folds on the right."""
    figure = new_figure(COLUMN, 2.4)
    axis = figure.subplots()
    numbers = np.array([trial.number for trial in tuning.trials])
    values = np.array([trial.value for trial in tuning.trials])
    valid = ~np.isnan(values)
    axis.plot(numbers[valid], values[valid], "o", color=GREY, markersize=2, label="trial")
    look = {"color": COLOURS[0], "linewidth": 1.2, "label": "best so far"}
    axis.step(numbers[valid], np.maximum.accumulate(values[valid]), where="post", **look)
    untuned = tuning.references["given"].value
    if not math.isnan(untuned):
        axis.axhline(untuned, color=COLOURS[1], linewidth=0.8, linestyle="--", label="given")
    mean, deviation = tuning.held_out
    if not math.isnan(mean):
        look = {"fmt": "s", "color": COLOURS[2], "markersize": 3.5, "capsize": 2}
        right = numbers.max() * 1.06 + 1
        axis.errorbar([right], [mean], yerr=[deviation], label="held out (mean, sd)", **look)
    # The middle of the trials: a corner that scores nothing would flatten everything else.
    shown = [float(np.quantile(values[valid], 0.1)), float(values[valid].max())]
    shown += [
        value for value in (untuned, mean - deviation, mean + deviation) if not math.isnan(value)
    ]
    low, high = min(shown), max(shown)
    axis.set_ylim(low - 0.15 * (high - low + 1e-9), high + 0.1 * (high - low + 1e-9))
    axis.set_xlabel("trial")
    axis.set_ylabel(_words(tuning))
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _bars(shares: dict[str, float]) -> Any:
    """Draw the importances, largest on top."""
    figure = new_figure(COLUMN, 0.6 + 0.25 * len(shares))
    axis = figure.subplots()
    axis.barh(range(len(shares)), list(shares.values()), color=COLOURS[0], height=0.6)
    label_rows(axis, list(shares))
    axis.set_xlim(0, 1)
    axis.set_xlabel("share of the objective's variance (fANOVA)")
    return figure


def _words(tuning: Tuning) -> str:
    """Return the objective and the data in words."""
    return f"{tuning.goal.objective.replace('-', ' ')}\non {tuning.benchmark}"
