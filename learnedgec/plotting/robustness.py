"""Figures of robustness: consistency by kind of variant, and metrics beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from learnedgec.plotting import (
    COLUMN,
    add_legend,
    distances,
    look_of,
    new_figure,
    save_figures,
    shorten,
    style,
)
from learnedgec.robustness.cases import Dimension
from learnedgec.robustness.metrics import PreferenceGroup, PreferenceRobustness
from learnedgec.robustness.systems import CONSISTENCIES, SystemRobustness, VariantGroup
from learnedgec.stats.resampling import Estimate
from learnedgec.types import Array, Floats

_DIMENSIONS: Mapping[Dimension, str] = {
    "action": "what was done",
    "distance": "tokens to the only error",
    "nearest": "tokens to the nearest error",
    "frequency": "frequency of the substitute",
}

# The numbers of all groups of variants, for each system or metric.
_Series = Sequence[Sequence[Estimate]]


def plot_systems(results: Sequence[SystemRobustness], folder: str | Path) -> list[Path]:
    """Write every system's P-CRS by kind of variant, for each set of cases and metric.

    Returns:
        The files.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        OutputError: the folder cannot be written.
    """
    figures = {}
    with style():
        for cases, metric in dict.fromkeys((result.cases, result.metric) for result in results):
            entries = [r for r in results if (r.cases, r.metric) == (cases, metric)]
            names, groups = [entry.system for entry in entries], entries[0].groups
            panels = {
                f"P-CRS, {rule}": [[g.consistent[rule] for g in entry.groups] for entry in entries]
                for rule in CONSISTENCIES
            }
            figures[f"{cases}.{metric}.variants"] = _by_kind(panels, names, groups)
        return save_figures(figures, folder)


def plot_preferences(results: Sequence[PreferenceRobustness], folder: str | Path) -> list[Path]:
    """Write the metrics' CRS, P-CRS and accuracy, in all and by kind of variant, for each set of cases.

    The metrics are in their given order, so that packages trained with a growing weight α of consistency
    make a curve. Returns and errors are those of `plot_systems`.
    """
    figures = {}
    with style():
        for cases in dict.fromkeys(result.cases for result in results):
            entries = [result for result in results if result.cases == cases]
            names, groups = [entry.metric for entry in entries], entries[0].groups
            panels = {
                "P-CRS": [[group.consistent for group in entry.groups] for entry in entries],
                "accuracy": [[group.accuracy for group in entry.groups] for entry in entries],
            }
            figures[f"{cases}.metrics"] = _in_order(entries)
            figures[f"{cases}.preferences"] = _by_kind(panels, names, groups)
        return save_figures(figures, folder)


def _in_order(entries: Sequence[PreferenceRobustness]) -> Any:
    """Draw CRS, P-CRS and accuracy of one metric after the other."""
    figure, axis = new_figure(COLUMN, 2.2)
    places = np.arange(len(entries))
    for number, (label, name) in enumerate((("CRS", "crs"), ("P-CRS", "p_crs"), ("accuracy",) * 2)):
        estimates: list[Estimate] = [getattr(entry, name) for entry in entries]
        _draw_estimates(axis, places + 0.06 * (number - 1), estimates, number, label=label)
    labels = [shorten(entry.metric, 34) for entry in entries]
    axis.set_xticks(places, labels, rotation=20, ha="right")
    add_legend(figure, axis)
    return figure


def _draw_estimates(
    axis: Any, places: Array, estimates: Sequence[Estimate], number: int, **look: Any
) -> None:
    """Draw the estimates of one series with their intervals; the number decides colour and marker."""
    values, reach = _with_distances(estimates)
    look = look_of(number) | {"markersize": 3.5, "linewidth": 0.9} | look
    axis.errorbar(places, values, yerr=reach, **look)


def _with_distances(estimates: Sequence[Estimate]) -> tuple[Floats, Floats]:
    """Return the values of estimates, (N,), and the distances to the ends of their intervals, (2, N)."""
    values, low, high = np.array([(e.value, e.low, e.high) for e in estimates]).T
    return values, distances(values, low, high)


def _by_kind(
    panels: Mapping[str, _Series],
    names: Sequence[str],
    groups: Sequence[VariantGroup | PreferenceGroup],
) -> Any:
    """Draw a panel for each number and dimension of groups, with a series for each system or metric."""
    dimensions = [name for name in _DIMENSIONS if any(g.dimension == name for g in groups)]
    size = COLUMN * 2.1, 0.4 + 1.8 * len(panels)
    grid: dict[str, Any] = {"squeeze": False, "sharey": "row", "sharex": "col"}
    figure, axes = new_figure(*size, len(panels), len(dimensions), **grid)
    for row, (title, series) in zip(axes, panels.items(), strict=True):
        for axis, dimension in zip(row, dimensions, strict=True):
            members = [n for n, group in enumerate(groups) if group.dimension == dimension]
            line = "none" if dimension == "action" else "-"
            for number, (name, estimates) in enumerate(zip(names, series, strict=True)):
                places = np.arange(len(members)) + 0.12 * (number - (len(names) - 1) / 2)
                look = {"label": shorten(name, 34), "linestyle": line}
                _draw_estimates(axis, places, [estimates[n] for n in members], number, **look)
            axis.set_xticks(range(len(members)), [groups[n].group for n in members], rotation=30)
        row[0].set_ylabel(title)
    for axis, dimension in zip(axes[-1], dimensions, strict=True):
        axis.set_xlabel(_DIMENSIONS[dimension])
    add_legend(figure, axes[0][0])
    return figure
