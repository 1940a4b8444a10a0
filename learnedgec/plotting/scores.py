"""Figures of systems' scores: rankings with intervals and win matrices, and agreement with people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle, product
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from learnedgec.analysis.meta.evaluation import Evaluation, MetricEvaluation
from learnedgec.analysis.meta.measures import measure_name
from learnedgec.analysis.ranking import SystemRanking
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
    two_digits,
)
from learnedgec.stats.correlation import ranks
from learnedgec.types import Floats

_LINES = ("-", "--", "-.", ":")

_MEASURES = ("pearson", "spearman", "sentence_accuracy", "grouped_kendall")


# Curves of a metric's correlations, with their intervals.
_CURVES = {
    "windows": attrgetter("windows", "window_intervals"),
    "best": attrgetter("best", "best_intervals"),
}

# Where a name may stand beside its point, the best first.
_DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))


def plot_ranking(ranking: SystemRanking, folder: str | Path) -> list[Path]:
    """Write a ranking's scores with intervals and clusters, and its win matrix.

    Returns:
        The files.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        OutputError: the folder cannot be written.
    """
    stem = f"{ranking.metric}.{ranking.by}"
    with style():
        matrix = _wins(ranking.systems, ranking.wins, ranking.order, "sentences won, ties half")
        return [
            *save_figure(_intervals(ranking), folder, f"{stem}.intervals"),
            *save_figure(matrix, folder, f"{stem}.wins"),
        ]


def _intervals(ranking: SystemRanking) -> Any:
    """Draw each system's score with its interval, best on top, clusters apart."""
    order = ranking.order
    figure = new_figure(COLUMN, 0.6 + 0.19 * len(order))
    axis = figure.subplots()
    for row, number in enumerate(order):
        colour = COLOURS[0] if ranking.cluster[number] % 2 else COLOURS[1]
        axis.plot(ranking.intervals[number], (row, row), color=colour, linewidth=1.2)
        axis.plot(ranking.scores[number], row, "o", color=colour, markersize=4)
        if row and ranking.cluster[number] != ranking.cluster[order[row - 1]]:
            axis.axhline(row - 0.5, color=GREY, linewidth=0.6, linestyle=":")
    labels = []
    for number in order:
        best, worst = ranking.ranges[number].tolist()
        ranks = f"{best}" if best == worst else f"{best}–{worst}"
        labels.append(f"{ranking.systems[number]}  {ranks}")
    label_rows(axis, labels)
    by = "" if ranking.by == "mean" else f" ({ranking.by})"
    axis.set_xlabel(f"{shorten(ranking.metric, 40)}{by}")
    return figure


def _wins(systems: Sequence[str], wins: Floats, order: Sequence[int], label: str) -> Any:
    """Draw how often the row beats the column in this order, in percent, ties counting as half a win."""
    names, wins = [systems[number] for number in order], wins[np.ix_(order, order)]
    shares = 0.5 + (wins - wins.T) / 2
    size = max(COLUMN, 1.1 + 0.27 * len(names))
    figure = new_figure(size + 0.5, size)
    axis = figure.subplots()
    np.fill_diagonal(shares, np.nan)
    # Half is white.
    reach = float(np.nanmax(np.abs(shares - 0.5), initial=0.01))
    image = axis.imshow(shares, cmap="PuOr", vmin=0.5 - reach, vmax=0.5 + reach)
    for row, column in zip(*np.nonzero(~np.isnan(shares)), strict=True):
        red, green, blue, _ = image.cmap(image.norm(shares[row, column]))
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
        look = {"ha": "center", "va": "center", "color": "white" if dark else "black"}
        axis.text(column, row, f"{100 * shares[row, column]:.0f}", fontsize=6, **look)
    axis.set_xticks(range(len(names)), names, rotation=90)
    axis.set_yticks(range(len(names)), names)
    axis.tick_params(length=0)
    for spine in axis.spines.values():
        spine.set_visible(False)
    bar = figure.colorbar(image, ax=axis, fraction=0.046, pad=0.02)
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    bar.outline.set_visible(False)
    axis.set_title(f"{label}: row against column, %")
    return figure


def plot_evaluation(evaluation: Evaluation, folder: str | Path) -> list[Path]:
    """Write an evaluation's scatter plots, intervals, ranks, curves of windows and best systems, and wins.

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
    with style():
        files = [*save_figure(_scatter(evaluation, drawn), folder, f"{stem}.scatter")]
        files += save_figure(_forest(drawn), folder, f"{stem}.intervals")
        files += save_figure(_ranks(evaluation, drawn), folder, f"{stem}.ranks")
        for curve, read in _CURVES.items():
            if drawn and any(map(len, read(drawn[0])[0].values())):
                files += save_figure(_curves(evaluation, drawn, curve), folder, f"{stem}.{curve}")
        if not np.isnan(evaluation.human_wins).all():
            order = evaluation.order.tolist()
            label = "comparisons won, ties half"
            figure = _wins(evaluation.systems, evaluation.human_wins, order, label)
            files += save_figure(figure, folder, f"{stem}.wins")
    return files


def _looks(entries: Sequence[MetricEvaluation]) -> Mapping[str, Mapping[str, Any]]:
    """Return colour and marker of each metric; the edit count is grey."""
    looks: dict[str, dict[str, Any]] = {
        entry.metric: {"color": GREY, "marker": "x", "linestyle": ":"} for entry in entries
    }
    metrics = [entry.metric for entry in entries if not entry.sentinel]
    for metric, colour, marker, line in zip(
        metrics, cycle(COLOURS), cycle(MARKERS), cycle(_LINES), strict=False
    ):
        looks[metric] = {"color": colour, "marker": marker, "linestyle": line}
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
        reaches = _reach(y, entry.score_intervals), _reach(x, evaluation.human_intervals)
        axis.errorbar(x, y, *reaches, fmt="none", ecolor="#DDDDDD", elinewidth=0.6, zorder=1)
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
    unit, size = axis.figure.dpi / 72, 5.5
    taken = [(px - 3 * unit, py - 3 * unit, px + 3 * unit, py + 3 * unit) for px, py in points]
    # From the crowded middle outwards, so that the names with the least room are placed first.
    crowd = np.linalg.norm(points[:, None] - points[None], axis=2)
    for place in np.argsort(np.sort(crowd, axis=1)[:, 1 : min(4, len(points))].sum(axis=1)):
        px, py = points[place]
        width, height = 0.58 * size * unit * len(names[place]), 1.05 * size * unit
        choices = []
        for distance, (dx, dy) in product((4, 8, 12, 17, 23), _DIRECTIONS):
            # The name begins, ends or has its middle at the point.
            left = px + dx * distance * unit + (dx - 1) / 2 * width
            low = py + dy * distance * unit + (dy - 1) / 2 * height
            box = (left, low, left + width, low + height)
            cover = sum(_overlap(box, other) for other in taken)
            outside = left < frame.x0 or low < frame.y0 or box[2] > frame.x1 + 12 * unit
            choices.append((cover + distance * unit**2 + 1e6 * outside, distance, box))
        _, distance, box = min(choices, key=itemgetter(0))
        taken.append(box)
        # A line connects a name to a point that it is not next to.
        line = {"arrowstyle": "-", "color": "#333333", "linewidth": 0.4, "shrinkB": 2}
        axis.annotate(
            names[place],
            (x[place], y[place]),
            xytext=((box[0] - px) / unit, (box[1] - py) / unit),
            textcoords="offset points",
            fontsize=size,
            annotation_clip=False,
            zorder=3,
            arrowprops=line if distance > 4 else None,
        )


def _overlap(box: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Return the area that two boxes share, in pixels²."""
    width = min(box[2], other[2]) - max(box[0], other[0])
    height = min(box[3], other[3]) - max(box[1], other[1])
    return max(width, 0.0) * max(height, 0.0)


def _ranks(evaluation: Evaluation, entries: Sequence[MetricEvaluation]) -> Any:
    """Draw each system's rank by people and by each metric, joined by a line."""
    columns = [f"human {evaluation.human}", *(shorten(entry.metric, 24) for entry in entries)]
    places = np.column_stack(
        [ranks(evaluation.human_scores), *(ranks(entry.scores) for entry in entries)]
    )
    figure = new_figure(max(COLUMN, 0.9 * len(columns) + 1.2), 0.9 + 0.18 * len(places))
    axis = figure.subplots()
    for number, (system, row) in enumerate(zip(evaluation.systems, places, strict=True)):
        colour = COLOURS[number % len(COLOURS)]
        axis.plot(row, color=colour, marker="o", markersize=3, linewidth=1)
        for x, side, align in ((0, -0.08, "right"), (len(columns) - 1, 0.08, "left")):
            axis.text(x + side, row[x], system, fontsize=5.5, ha=align, va="center")
    axis.set_xticks(range(len(columns)), columns, rotation=20)
    axis.set_xlim(-0.9, len(columns) - 0.1)
    axis.invert_yaxis()
    axis.set_ylabel("rank")
    return figure


def _curves(evaluation: Evaluation, entries: Sequence[MetricEvaluation], name: str) -> Any:
    """Draw the correlation in each window of neighbouring systems, or among the best systems."""
    figure = new_figure(COLUMN * 2, 2.6)
    axes = figure.subplots(1, 2, sharey=True)
    width = evaluation.protocol.window
    looks = _looks(entries)
    for axis, kind in zip(axes, ("pearson", "spearman"), strict=True):
        axis.axhline(0, color="#BBBBBB", linewidth=0.6)
        for entry in entries:
            curve, bounds = (values[kind] for values in _CURVES[name](entry))
            places = np.arange(1, len(curve) + 1)
            look = looks[entry.metric]
            label = shorten(entry.metric, 28)
            axis.plot(places, curve, linewidth=1.2, markersize=3.5, label=label, **look)
            axis.fill_between(places, *bounds.T, color=look["color"], alpha=0.1, linewidth=0)
        axis.set_title(measure_name(kind))
        if name == "windows":
            axis.set_xticks(places, [f"{place}–{place + width - 1}" for place in places])
            axis.set_xlabel(f"ranks of the {width} systems, by human score ({evaluation.human})")
        else:
            axis.set_xticks(places, places + len(evaluation.systems) - len(places))
            axis.set_xlabel(f"number of best systems, by human score ({evaluation.human})")
        axis.set_ylim(-1.05, 1.05)
    axes[0].set_ylabel("correlation")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(4, len(entries)))
    return figure


def _forest(entries: Sequence[MetricEvaluation]) -> Any:
    """Draw the main measures of each metric with both intervals."""
    measures = [name for name in _MEASURES if name in entries[0].estimates]
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
        axis.set_title(f"{measure_name(measure)}\nn = {entries[0].estimates[measure].count:,}")
        axis.grid(axis="x", color="#E5E5E5", linewidth=0.5)
        axis.set_axisbelow(True)
    label_rows(axes[0], [entry.metric for entry in entries])
    figure.supxlabel("thick: over sentences, thin: over systems", fontsize=7)
    return figure


def _reach(values: Floats, bounds: Floats) -> Floats:
    """Return the distances to both ends of each interval, (2, S); 0 where an end is missing."""
    distances = np.stack([values - bounds[:, 0], bounds[:, 1] - values])
    reach: Floats = np.maximum(np.nan_to_num(distances), 0.0)
    return reach
