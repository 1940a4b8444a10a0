"""Figures of meta-evaluations: scatter plots, window curves and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from learnedgec.analysis.meta.evaluation import Evaluation, MetricEvaluation
from learnedgec.plotting.ranking import win_matrix
from learnedgec.plotting.style import (
    COLOURS,
    COLUMN,
    GREY,
    new_figure,
    save_figure,
    shorten,
    style,
    two_digits,
)
from learnedgec.types import Floats

__all__ = [
    "plot_evaluation",
]

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_LINES = ("-", "--", "-.", ":")

_NAMES = {
    "pearson": "Pearson r",
    "spearman": "Spearman ρ",
    "sentence_accuracy": "sentence accuracy",
    "grouped_kendall": "Kendall τ within a source",
}


def plot_evaluation(evaluation: Evaluation, folder: str | Path) -> list[Path]:
    """Write an evaluation's scatter plots, window curves, intervals and the human win matrix.

    Args:
        evaluation: what to draw; of the sentinels, only the edit count is drawn.
        folder: where; made if it does not exist.

    Returns:
        The files.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        OutputError: the folder cannot be written.
    """
    drawn = [
        entry for entry in evaluation.metrics if not entry.sentinel or entry.metric == "edit-count"
    ]
    stem = f"{evaluation.benchmark}.{evaluation.human}.{evaluation.protocol.aggregation}"
    order = evaluation.order.tolist()
    with style():
        files = [*save_figure(_scatter(evaluation, drawn), folder, f"{stem}.scatter")]
        files += save_figure(_forest(drawn), folder, f"{stem}.intervals")
        if drawn and drawn[0].windows:
            files += save_figure(_windows(evaluation, drawn), folder, f"{stem}.windows")
        if not np.isnan(evaluation.human_wins).all():
            names = [evaluation.systems[number] for number in order]
            wins = evaluation.human_wins[np.ix_(order, order)]
            figure = win_matrix(names, 0.5 + (wins - wins.T) / 2, "comparisons won, ties half")
            files += save_figure(figure, folder, f"{stem}.wins")
    return files


def _looks(entries: Sequence[MetricEvaluation]) -> Mapping[str, Mapping[str, Any]]:
    """Return colour and marker of each metric; the edit count is grey."""
    looks: dict[str, dict[str, Any]] = {}
    for number, entry in enumerate(entry for entry in entries if not entry.sentinel):
        looks[entry.metric] = {
            "color": COLOURS[number % len(COLOURS)],
            "marker": _MARKERS[number % len(_MARKERS)],
            "linestyle": _LINES[number % len(_LINES)],
        }
    for entry in entries:
        looks.setdefault(entry.metric, {"color": GREY, "marker": "x", "linestyle": ":"})
    return looks


def _scatter(evaluation: Evaluation, entries: Sequence[MetricEvaluation]) -> Any:
    """Draw each metric's scores against the human scores, with intervals and names."""
    columns = min(2, len(entries))
    rows = -(-len(entries) // columns)
    figure = new_figure(COLUMN * columns, 2.7 * rows)
    axes = figure.subplots(rows, columns, squeeze=False)
    looks = _looks(entries)
    for axis, entry in zip(axes.flat, entries, strict=False):
        x, y = evaluation.human_scores, entry.scores
        axis.errorbar(
            x,
            y,
            xerr=_reach(x, evaluation.human_intervals),
            yerr=_reach(y, entry.score_intervals),
            fmt="none",
            ecolor="#DDDDDD",
            elinewidth=0.6,
            zorder=1,
        )
        look = looks[entry.metric]
        axis.scatter(x, y, s=14, color=look["color"], marker=look["marker"], zorder=2)
        r, rho = (entry.estimates[name].value for name in ("pearson", "spearman"))
        axis.set_title(f"{shorten(entry.metric, 34)}   r {two_digits(r)}   ρ {two_digits(rho)}")
        axis.margins(0.12)
        axis.set_xlabel(f"human score ({evaluation.human})")
        axis.set_ylabel("metric")
    for axis in axes.flat[len(entries) :]:
        axis.set_visible(False)
    # Places are known only once the layout is.
    figure.draw_without_rendering()
    for axis, entry in zip(axes.flat, entries, strict=False):
        _name_points(axis, evaluation.human_scores, entry.scores, evaluation.systems)
    return figure


def _name_points(axis: Any, x: Floats, y: Floats, names: Sequence[str]) -> None:
    """Write each point's name beside it, where it covers the fewest names and points."""
    points = axis.transData.transform(np.column_stack([x, y]))
    frame = axis.get_window_extent()
    unit = axis.figure.dpi / 72
    size = 5.5
    taken = [(px - 3 * unit, py - 3 * unit, px + 3 * unit, py + 3 * unit) for px, py in points]
    # From the crowded middle outwards, so that the names with the least room are placed first.
    crowd = np.linalg.norm(points[:, None] - points[None], axis=2)
    for place in np.argsort(np.sort(crowd, axis=1)[:, 1 : min(4, len(points))].sum(axis=1)):
        px, py = points[place]
        width, height = 0.58 * size * unit * len(names[place]), 1.05 * size * unit
        choices = []
        for distance in (4, 8, 12, 17, 23):
            for dx, dy in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)):
                left = px + dx * distance * unit - {1: 0.0, 0: width / 2, -1: width}[dx]
                low = py + dy * distance * unit - {1: 0.0, 0: height / 2, -1: height}[dy]
                box = (left, low, left + width, low + height)
                cover = sum(_overlap(box, other) for other in taken)
                outside = left < frame.x0 or low < frame.y0 or box[2] > frame.x1 + 12 * unit
                choices.append((cover + distance * unit**2 + 1e6 * outside, distance, box))
        _, distance, box = min(choices, key=itemgetter(0))
        taken.append(box)
        axis.annotate(
            names[place],
            (x[place], y[place]),
            xytext=((box[0] - px) / unit, (box[1] - py) / unit),
            textcoords="offset points",
            fontsize=size,
            annotation_clip=False,
            zorder=3,
            # A line connects a name to a point that it is not next to.
            arrowprops={"arrowstyle": "-", "color": "#333333", "linewidth": 0.4, "shrinkB": 2}
            if distance > 4
            else None,
        )


def _overlap(box: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Return the area that two boxes share, in pixels²."""
    width = min(box[2], other[2]) - max(box[0], other[0])
    height = min(box[3], other[3]) - max(box[1], other[1])
    return max(width, 0.0) * max(height, 0.0)


def _windows(evaluation: Evaluation, entries: Sequence[MetricEvaluation]) -> Any:
    """Draw the correlation within each window of neighbouring systems."""
    figure = new_figure(COLUMN * 2, 2.6)
    axes = figure.subplots(1, 2, sharey=True)
    width = evaluation.protocol.window
    looks = _looks(entries)
    for axis, kind in zip(axes, ("pearson", "spearman"), strict=True):
        axis.axhline(0, color="#BBBBBB", linewidth=0.6)
        for entry in entries:
            curve, bounds = entry.windows[kind], entry.window_intervals[kind]
            places = np.arange(1, len(curve) + 1)
            look = looks[entry.metric]
            axis.plot(
                places,
                curve,
                linewidth=1.2,
                markersize=3.5,
                label=shorten(entry.metric, 28),
                **look,
            )
            axis.fill_between(
                places, bounds[:, 0], bounds[:, 1], color=look["color"], alpha=0.1, linewidth=0
            )
        axis.set_title(_NAMES[kind])
        axis.set_xticks(places, [f"{place}–{place + width - 1}" for place in places])
        axis.set_xlabel(f"ranks of the {width} systems, by human score ({evaluation.human})")
        axis.set_ylim(-1.05, 1.05)
    axes[0].set_ylabel("correlation")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(4, len(entries)), frameon=False
    )
    return figure


def _forest(entries: Sequence[MetricEvaluation]) -> Any:
    """Draw the main measures of each metric with both intervals."""
    measures = [name for name in _NAMES if name in entries[0].estimates]
    figure = new_figure(COLUMN * 2, 0.95 + 0.22 * len(entries))
    axes = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
    looks = _looks(entries)
    for axis, measure in zip(axes, measures, strict=True):
        for row, entry in enumerate(entries):
            estimate, look = entry.estimates[measure], looks[entry.metric]
            colour = look["color"]
            axis.plot(estimate.over_systems, (row, row), color=colour, linewidth=0.8, alpha=0.8)
            axis.plot(estimate.over_sentences, (row, row), color=colour, linewidth=2.8, alpha=0.5)
            axis.plot(estimate.value, row, color=colour, marker=look["marker"], markersize=4)
        axis.set_title(f"{_NAMES[measure]}\nn = {entries[0].estimates[measure].count:,}")
        axis.grid(axis="x", color="#E5E5E5", linewidth=0.5)
        axis.set_axisbelow(True)
    axes[0].set_yticks(range(len(entries)), [shorten(entry.metric, 28) for entry in entries])
    axes[0].set_ylim(len(entries) - 0.5, -0.5)
    figure.supxlabel("thick: over sentences, thin: over systems", fontsize=7)
    return figure


def _reach(values: Floats, bounds: Floats) -> Floats:
    """Return the distances to both ends of each interval, (2, S); 0 where an end is missing."""
    distances = np.stack([values - bounds[:, 0], bounds[:, 1] - values])
    reach: Floats = np.maximum(np.nan_to_num(distances), 0.0)
    return reach
