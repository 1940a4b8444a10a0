"""Figures of robustness: scores with their bounds, consistency by kind of variant, attacks preferred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from learnedgec.plotting.style import (
    COLOURS,
    COLUMN,
    GREY,
    MARKERS,
    label_rows,
    new_figure,
    save_figure,
    shorten,
    style,
)
from learnedgec.robustness.attacks import ALL, AttackResult
from learnedgec.robustness.cases import Dimension
from learnedgec.robustness.preferences import PreferenceRobustness
from learnedgec.robustness.systems import CONSISTENCIES, SystemRobustness
from learnedgec.stats.resampling import Estimate
from learnedgec.types import Array

_DIMENSIONS: Mapping[Dimension, str] = {
    "action": "what was done",
    "distance": "tokens to the only error",
    "nearest": "tokens to the nearest error",
    "frequency": "frequency of the substitute",
}

# (dimension, group) -> the number and its interval.
_Groups = Mapping[tuple[Dimension, str], Estimate]


def plot_systems(results: Sequence[SystemRobustness], folder: str | Path) -> list[Path]:
    """Write every system's F with its bounds, and P-CRS by kind of variant, for each set of cases and metric.

    Returns:
        The files.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        OutputError: the folder cannot be written.
    """
    files: list[Path] = []
    with style():
        for cases, metric in dict.fromkeys((result.cases, result.metric) for result in results):
            entries = [r for r in results if (r.cases, r.metric) == (cases, metric)]
            stem = f"{cases}.{metric}"
            files += save_figure(_bounds(entries), folder, f"{stem}.bounds")
            rows = {
                f"P-CRS, {rule}": {
                    entry.system: {(g.dimension, g.group): g.consistent[rule] for g in entry.groups}
                    for entry in entries
                }
                for rule in CONSISTENCIES
            }
            files += save_figure(_by_kind(rows), folder, f"{stem}.variants")
    return files


def plot_preferences(results: Sequence[PreferenceRobustness], folder: str | Path) -> list[Path]:
    """Write, for each set of cases, the metrics' CRS, P-CRS and accuracy, in all and by kind of variant.

    The metrics are in their given order, so that packages trained with a growing weight α of consistency
    make a curve. Returns and errors are those of `plot_systems`.
    """
    files: list[Path] = []
    with style():
        for cases in dict.fromkeys(result.cases for result in results):
            entries = [result for result in results if result.cases == cases]
            rows = {
                label: {
                    entry.metric: {(g.dimension, g.group): getattr(g, name) for g in entry.groups}
                    for entry in entries
                }
                for label, name in (("P-CRS", "consistent"), ("accuracy", "accuracy"))
            }
            files += save_figure(_in_order(entries), folder, f"{cases}.metrics")
            files += save_figure(_by_kind(rows), folder, f"{cases}.preferences")
    return files


def plot_attacks(results: Sequence[AttackResult], folder: str | Path) -> list[Path]:
    """Write how often each metric prefers each attack to all honest systems; see `plot_systems`."""
    with style():
        return list(save_figure(_attacks(results), folder, "attacks"))


def _bounds(entries: Sequence[SystemRobustness]) -> Any:
    """Draw each system's F on the originals between its bounds."""
    figure = new_figure(COLUMN, 0.75 + 0.25 * len(entries))
    axis = figure.subplots()
    for row, entry in enumerate(entries):
        bounds = [entry.lower.f.value, entry.upper.f.value]
        axis.plot(bounds, (row, row), "|-", color=COLOURS[0], linewidth=1.5, markersize=8)
        f = entry.original.f
        axis.plot((f.low, f.high), (row, row), color=COLOURS[1], linewidth=4, alpha=0.35)
        axis.plot(f.value, row, "o", color=COLOURS[1], markersize=4)
    label_rows(axis, [entry.system for entry in entries])
    axis.set_xlabel(f"{shorten(entries[0].metric, 34)}: originals, lower and upper bound")
    return figure


def _in_order(entries: Sequence[PreferenceRobustness]) -> Any:
    """Draw CRS, P-CRS and accuracy of one metric after the other."""
    figure = new_figure(COLUMN, 2.2)
    axis = figure.subplots()
    places = np.arange(len(entries))
    for number, (label, name) in enumerate((("CRS", "crs"), ("P-CRS", "p_crs"), ("accuracy",) * 2)):
        estimates: list[Estimate] = [getattr(entry, name) for entry in entries]
        _draw_estimates(axis, places + 0.06 * (number - 1), estimates, number, label=label)
    labels = [shorten(entry.metric, 34) for entry in entries]
    axis.set_xticks(places, labels, rotation=20, ha="right")
    figure.legend(loc="outside upper center", ncols=3)
    return figure


def _draw_estimates(
    axis: Any, places: Array, estimates: Sequence[Estimate], number: int, **look: Any
) -> None:
    """Draw the estimates of one series with their intervals; its number gives colour and marker."""
    low, middle, high = np.array([(e.low, e.value, e.high) for e in estimates]).T
    reach = np.maximum([middle - low, high - middle], 0)
    marker, colour = MARKERS[number % len(MARKERS)], COLOURS[number % len(COLOURS)]
    look = {"marker": marker, "color": colour, "markersize": 3.5, "linewidth": 0.9} | look
    axis.errorbar(places, middle, yerr=reach, **look)


def _by_kind(rows: Mapping[str, Mapping[str, _Groups]]) -> Any:
    """Draw a panel for each row and dimension, with a series for each system or metric."""
    kinds = list(
        dict.fromkeys(kind for series in rows.values() for g in series.values() for kind in g)
    )
    dimensions = [name for name in _DIMENSIONS if any(kind[0] == name for kind in kinds)]
    figure = new_figure(COLUMN * 2.1, 0.4 + 1.8 * len(rows))
    axes = figure.subplots(len(rows), len(dimensions), squeeze=False, sharey="row", sharex="col")
    for row, (title, series) in zip(axes, rows.items(), strict=True):
        for axis, dimension in zip(row, dimensions, strict=True):
            groups = [kind for kind in kinds if kind[0] == dimension]
            for number, (name, values) in enumerate(series.items()):
                places = np.arange(len(groups)) + 0.12 * (number - (len(series) - 1) / 2)
                line = "none" if dimension == "action" else "-"
                estimates = [values[kind] for kind in groups]
                label = shorten(name, 34)
                _draw_estimates(axis, places, estimates, number, label=label, linestyle=line)
            axis.set_xticks(range(len(groups)), [group for _, group in groups], rotation=30)
        row[0].set_ylabel(title)
    for axis, dimension in zip(axes[-1], dimensions, strict=True):
        axis.set_xlabel(_DIMENSIONS[dimension])
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=min(4, len(labels)))
    return figure


def _attacks(results: Sequence[AttackResult]) -> Any:
    """Draw the share of pairs in which the attack is preferred, a group of bars for each metric."""
    pooled = [result for result in results if result.honest == ALL]
    metrics = list(dict.fromkeys(result.metric for result in pooled))
    attacks = list(dict.fromkeys(result.attack for result in pooled))
    figure = new_figure(COLUMN, 0.9 + 0.16 * len(pooled))
    axis = figure.subplots()
    height = 0.8 / len(attacks)
    for number, attack in enumerate(attacks):
        of_attack = [result for result in pooled if result.attack == attack]
        shift = (number - (len(attacks) - 1) / 2) * height
        rows = [metrics.index(result.metric) + shift for result in of_attack]
        preferred = [result.preferred for result in of_attack]
        shares, colour = [estimate.value for estimate in preferred], COLOURS[number % len(COLOURS)]
        axis.barh(rows, shares, height=0.9 * height, color=colour, label=attack)
        for row, estimate in zip(rows, preferred, strict=True):
            axis.plot((estimate.low, estimate.high), (row, row), color=GREY)
    label_rows(axis, metrics)
    axis.set_xlim(0, 1)
    axis.set_xlabel("share of outputs preferred")
    figure.legend(loc="outside upper center", ncols=4, title="attack on")
    return figure
