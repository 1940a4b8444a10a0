"""Figures of a search and of a sweep: their trials, and the importance of settings."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from learnedgec.plotting.style import (
    COLOURS,
    COLUMN,
    GREY,
    add_legend,
    label_rows,
    new_figure,
    save_figures,
    style,
)
from learnedgec.tuning.search import Tuning

if TYPE_CHECKING:
    from learnedgec.tuning.sweep import Sweep


def plot_tuning(tuning: Tuning, folder: str | Path, stem: str) -> list[Path]:
    """Write the history of a search.

    Args:
        tuning: the search.
        folder: the folder of the files; it is created if it does not exist.
        stem: the start of the files' names.

    Returns:
        The files.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        OutputError: the folder cannot be written.
    """
    with style():
        figure, axis = new_figure(COLUMN, 2.4)
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
        # Leave out the lowest tenth of the trials: a corner with a low score would flatten all others.
        low = np.nanmin([np.quantile(values[valid], 0.1), untuned, mean - deviation])
        high = np.nanmax([values[valid].max(), untuned, mean + deviation])
        axis.set_ylim(low - 0.15 * (high - low + 1e-9), high + 0.1 * (high - low + 1e-9))
        axis.set_xlabel("trial")
        axis.set_ylabel(f"{tuning.goal.objective.replace('-', ' ')}\non {tuning.benchmark}")
        add_legend(figure, axis, 2)
        return save_figures({f"{stem}.history": figure}, folder)


def plot_sweep(sweep: Sweep, folder: str | Path, stem: str) -> list[Path]:
    """Write the dev score of each trial by epoch, and the importance of each setting.

    Args:
        sweep: the trials.
        folder: the folder of the files; it is created if it does not exist.
        stem: the start of the files' names.

    Returns and errors are those of `plot_tuning`.
    """
    with style():
        figure, axis = new_figure(COLUMN, 2.4)
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
        add_legend(figure, axis, 3)
        figures = {f"{stem}.trials": figure}
        if len(sweep.importances) > 1:
            # `label_rows` puts the first setting, which is the largest, on top.
            figure, axis = new_figure(COLUMN, 0.6 + 0.25 * len(sweep.importances))
            shares = list(sweep.importances.values())
            axis.barh(range(len(shares)), shares, color=COLOURS[0], height=0.6)
            label_rows(axis, list(sweep.importances))
            axis.set_xlim(0, 1)
            axis.set_xlabel("share of the objective's variance (fANOVA)")
            figures[f"{stem}.importance"] = figure
        return save_figures(figures, folder)
