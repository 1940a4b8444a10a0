"""Figures of results: rankings, win matrices, agreement with people, trials, and robustness."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from learnedgec.analysis.meta.measures import measure_name
from learnedgec.analysis.ranking import ranks_in_words
from learnedgec.plotting import (
    COLOURS,
    COLUMN,
    GREY,
    add_legend,
    distances,
    label_rows,
    look_of,
    new_figure,
    save_figures,
    shorten,
    style,
    two_digits,
)
from learnedgec.stats.correlation import ranks
from learnedgec.types import Array, Floats

if TYPE_CHECKING:
    from learnedgec.analysis.meta.results import Evaluation, MetricEvaluation
    from learnedgec.analysis.ranking import SystemRanking
    from learnedgec.robustness.cases import Dimension
    from learnedgec.robustness.metrics import PreferenceGroup, PreferenceRobustness
    from learnedgec.robustness.systems import SystemRobustness, VariantGroup
    from learnedgec.stats.resampling import Estimate
    from learnedgec.tuning.sweep import Sweep
    from learnedgec.tuning.task import TuningResult

_LINES = ("-", "--", "-.", ":")

_MEASURES = ("pearson", "spearman", "sentence_accuracy", "grouped_kendall")

# The directions in which a name may stand beside its point, the best first.
_DIRECTIONS = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)])


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
        figures = {f"{stem}.intervals": _intervals(ranking), f"{stem}.wins": matrix}
        return save_figures(figures, folder)


def _intervals(ranking: SystemRanking) -> Any:
    """Draw each system's score with its interval, the best on top, with lines between clusters."""
    order = ranking.order
    figure, axis = new_figure(COLUMN, 0.6 + 0.19 * len(order))
    for row, number in enumerate(order):
        colour = COLOURS[0] if ranking.cluster[number] % 2 else COLOURS[1]
        axis.plot(ranking.intervals[number], (row, row), color=colour, linewidth=1.2)
        axis.plot(ranking.scores[number], row, "o", color=colour, markersize=4)
        if row and ranking.cluster[number] != ranking.cluster[order[row - 1]]:
            axis.axhline(row - 0.5, color=GREY, linewidth=0.6, linestyle=":")
    label_rows(
        axis,
        [
            f"{ranking.systems[number]}  {ranks_in_words(*ranking.ranges[number])}"
            for number in order
        ],
    )
    by = "" if ranking.by == "mean" else f" ({ranking.by})"
    axis.set_xlabel(f"{shorten(ranking.metric, 40)}{by}")
    return figure


def _wins(systems: Sequence[str], wins: Floats, order: Sequence[int], label: str) -> Any:
    """Draw the share of wins of each row's system over each column's, in percent; a tie is half a win."""
    names, wins = [systems[number] for number in order], wins[np.ix_(order, order)]
    shares = 0.5 + (wins - wins.T) / 2
    size = max(COLUMN, 1.1 + 0.27 * len(names))
    figure, axis = new_figure(size + 0.5, size)
    np.fill_diagonal(shares, np.nan)
    # A share of one half is white.
    reach = float(np.nanmax(np.abs(shares - 0.5), initial=0.01))
    image = axis.imshow(shares, cmap="PuOr", vmin=0.5 - reach, vmax=0.5 + reach)
    for row, column in zip(*np.nonzero(~np.isnan(shares)), strict=True):
        dark = abs(shares[row, column] - 0.5) > 0.65 * reach
        look = {"ha": "center", "va": "center", "color": "white" if dark else "black"}
        axis.text(column, row, f"{100 * shares[row, column]:.0f}", fontsize=6, **look)
    axis.set_xticks(range(len(names)), names, rotation=90)
    axis.set_yticks(range(len(names)), names)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    bar = figure.colorbar(image, ax=axis, fraction=0.046, pad=0.02)
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    bar.outline.set_visible(False)
    axis.set_title(f"{label}: row against column, %")
    return figure


def plot_evaluation(evaluation: Evaluation, folder: str | Path) -> list[Path]:
    """Write an evaluation's scatter plots, intervals, ranks, curves of windows and best systems, and wins.

    Args:
        evaluation: the evaluation; the edit count is the only sentinel in the figures.
        folder: the folder of the files; it is created if it does not exist.

    Returns:
        The files.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        OutputError: the folder cannot be written.
    """
    entries = [
        entry for entry in evaluation.metrics if not entry.sentinel or entry.metric == "edit-count"
    ]
    stem = f"{evaluation.benchmark}.{evaluation.human}.{evaluation.protocol.aggregation}"
    with style():
        figures = {
            "scatter": _scatter(evaluation, entries),
            "intervals": _forest(entries),
            "ranks": _ranks(evaluation, entries),
        }
        for name in ("windows", "best"):
            if any(len(curve.values) for curve in getattr(entries[0], name).values()):
                figures[name] = _curves(evaluation, entries, name)
        if not np.isnan(evaluation.human_wins).all():
            order = evaluation.order.tolist()
            label = "comparisons won, ties half"
            figures["wins"] = _wins(evaluation.systems, evaluation.human_wins, order, label)
        return save_figures({f"{stem}.{name}": figures[name] for name in figures}, folder)


def _looks(entries: Sequence[MetricEvaluation]) -> Mapping[str, Mapping[str, Any]]:
    """Return colour, marker and line of each metric; the edit count is grey."""
    return {
        entry.metric: {"color": GREY, "marker": "x", "linestyle": ":"}
        if entry.sentinel
        else look_of(number) | {"linestyle": _LINES[number % len(_LINES)]}
        for number, entry in enumerate(entries)
    }


def _scatter(evaluation: Evaluation, entries: Sequence[MetricEvaluation]) -> Any:
    """Draw each metric's scores against the human scores, with intervals and names."""
    columns = min(2, len(entries))
    rows = -(-len(entries) // columns)
    figure, axes = new_figure(COLUMN * columns, 2.7 * rows, rows, columns, squeeze=False)
    looks = _looks(entries)
    for axis, entry in zip(axes.flat, entries, strict=False):
        x, y = evaluation.human_scores, entry.scores
        bars = distances(y, *entry.score_intervals.T), distances(x, *evaluation.human_intervals.T)
        axis.errorbar(x, y, *bars, fmt="none", ecolor="#DDDDDD", elinewidth=0.6, zorder=1)
        look = looks[entry.metric]
        axis.scatter(x, y, s=14, color=look["color"], marker=look["marker"], zorder=2)
        r, rho = (entry.estimates[name].value for name in ("pearson", "spearman"))
        axis.set_title(f"{shorten(entry.metric, 34)}   r {two_digits(r)}   ρ {two_digits(rho)}")
        axis.margins(0.12)
        axis.set_xlabel(f"human score ({evaluation.human})")
        axis.set_ylabel("metric")
    for axis in axes.flat[len(entries) :]:
        axis.set_visible(False)
    # The places of points are known only after the layout.
    figure.draw_without_rendering()
    for axis, entry in zip(axes.flat, entries, strict=False):
        _name_points(axis, evaluation.human_scores, entry.scores, evaluation.systems)
    return figure


def _name_points(axis: Any, x: Floats, y: Floats, names: Sequence[str]) -> None:
    """Write each point's name beside it, at the place that covers least of the other points and names."""
    points = axis.transData.transform(np.column_stack([x, y]))
    frame = axis.get_window_extent()
    unit, size = axis.figure.dpi / 72, 5.5
    # A box is its lower left and its upper right corner.
    occupied = [np.array([point - 3 * unit, point + 3 * unit]) for point in points]
    for place, point in enumerate(points):
        extent = size * unit * np.array([0.58 * len(names[place]), 1.05])
        boxes, costs = [], []
        for distance, direction in product((4, 8, 12, 17, 23), _DIRECTIONS):
            # The name begins, ends or has its middle at the point.
            low = point + distance * unit * direction + (direction - 1) / 2 * extent
            boxes.append(np.array([low, low + extent]))
            outside = (low < frame.p0).any() or (low + extent > frame.p1).any()
            costs.append(_overlaps(boxes[-1], np.array(occupied)).sum() + 1e6 * outside)
        box = boxes[int(np.argmin(costs))]
        occupied.append(box)
        axis.annotate(
            names[place],
            (x[place], y[place]),
            xytext=(box[0] - point) / unit,
            textcoords="offset points",
            fontsize=size,
            annotation_clip=False,
            zorder=3,
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.4, "shrinkB": 2},
        )


def _overlaps(box: Floats, others: Floats) -> Floats:
    """Return the area that a box shares with each of K other boxes, in pixels², (K,)."""
    sides = np.minimum(box[1], others[:, 1]) - np.maximum(box[0], others[:, 0])
    areas: Floats = sides.clip(0).prod(axis=1)
    return areas


def _ranks(evaluation: Evaluation, entries: Sequence[MetricEvaluation]) -> Any:
    """Draw each system's rank by people and by each metric, joined by a line."""
    columns = [f"human {evaluation.human}", *(shorten(entry.metric, 24) for entry in entries)]
    places = np.column_stack(
        [ranks(evaluation.human_scores), *(ranks(entry.scores) for entry in entries)]
    )
    figure, axis = new_figure(max(COLUMN, 0.9 * len(columns) + 1.2), 0.9 + 0.18 * len(places))
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
    figure, axes = new_figure(COLUMN * 2, 2.6, 1, 2, sharey=True)
    width = evaluation.protocol.window
    looks = _looks(entries)
    for axis, kind in zip(axes, ("pearson", "spearman"), strict=True):
        axis.axhline(0, color="#BBBBBB", linewidth=0.6)
        for entry in entries:
            curve = getattr(entry, name)[kind]
            places = np.arange(1, len(curve.values) + 1)
            look = looks[entry.metric]
            label = shorten(entry.metric, 28)
            axis.plot(places, curve.values, linewidth=1.2, markersize=3.5, label=label, **look)
            bounds = curve.intervals.T
            axis.fill_between(places, *bounds, color=look["color"], alpha=0.1, linewidth=0)
        axis.set_title(measure_name(kind))
        if name == "windows":
            axis.set_xticks(places, [f"{place}–{place + width - 1}" for place in places])
            axis.set_xlabel(f"ranks of the {width} systems, by human score ({evaluation.human})")
        else:
            axis.set_xticks(places, places + len(evaluation.systems) - len(places))
            axis.set_xlabel(f"number of best systems, by human score ({evaluation.human})")
        axis.set_ylim(-1.05, 1.05)
    axes[0].set_ylabel("correlation")
    add_legend(figure, axes[0])
    return figure


def _forest(entries: Sequence[MetricEvaluation]) -> Any:
    """Draw the main measures of each metric with both intervals."""
    measures = [name for name in _MEASURES if name in entries[0].estimates]
    size = COLUMN * 2, 0.95 + 0.22 * len(entries)
    figure, [axes] = new_figure(*size, 1, len(measures), sharey=True, squeeze=False)
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


def plot_tuning(result: TuningResult, folder: str | Path) -> list[Path]:
    """Write the history of a search.

    Args:
        result: the tuned metric, whose name begins the files' names.
        folder: the folder of the files; it is created if it does not exist.

    Returns:
        The files.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        OutputError: the folder cannot be written.
    """
    with style():
        figure, axis = new_figure(COLUMN, 2.4)
        task = result.task
        numbers = np.array([trial.number for trial in result.trials])
        values = np.array([trial.value for trial in result.trials])
        valid = ~np.isnan(values)
        axis.plot(numbers[valid], values[valid], "o", color=GREY, markersize=2, label="trial")
        look = {"color": COLOURS[0], "linewidth": 1.2, "label": "best so far"}
        axis.step(numbers[valid], np.maximum.accumulate(values[valid]), where="post", **look)
        untuned = result.candidates["given"].value
        if not math.isnan(untuned):
            axis.axhline(untuned, color=COLOURS[1], linewidth=0.8, linestyle="--", label="given")
        mean, deviation = result.held_out
        if not math.isnan(mean):
            look = {"fmt": "s", "color": COLOURS[2], "markersize": 3.5, "capsize": 2}
            right = numbers.max() * 1.06 + 1
            axis.errorbar([right], [mean], yerr=[deviation], label="held out (mean, sd)", **look)
        # Leave out the lowest tenth of the trials: a corner with a low score would flatten all others.
        low = np.nanmin([np.quantile(values[valid], 0.1), untuned, mean - deviation])
        high = np.nanmax([values[valid].max(), untuned, mean + deviation])
        axis.set_ylim(low - 0.15 * (high - low + 1e-9), high + 0.1 * (high - low + 1e-9))
        axis.set_xlabel("trial")
        axis.set_ylabel(f"{task.goal.objective.replace('-', ' ')}\non {task.label}")
        add_legend(figure, axis, 2)
        return save_figures({f"{result.name}.history": figure}, folder)


def plot_sweep(sweep: Sweep, folder: str | Path, stem: str) -> list[Path]:
    """Write the dev score of each trial by epoch, and the importance of each setting.

    Args:
        sweep: the trials.
        folder: the folder of the files; it is created if it does not exist.
        stem: the start of the files' names.

    Returns and errors are as in `plot_tuning`.
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


# -- robustness ------------------------------------------------------------------------------------

_DIMENSIONS: Mapping[Dimension, str] = {
    "action": "what was done",
    "distance": "tokens to the only error",
    "nearest": "tokens to the nearest error",
    "frequency": "frequency of the substitute",
}


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
                for rule in entries[0].p_crs
            }
            figures[f"{cases}.{metric}.variants"] = _by_kind(panels, names, groups)
        return save_figures(figures, folder)


def plot_preferences(results: Sequence[PreferenceRobustness], folder: str | Path) -> list[Path]:
    """Write the metrics' CRS, P-CRS and accuracy, in all and by kind of variant, for each set of cases.

    The metrics are in their given order, so that packages trained with a growing weight α of consistency
    make a curve. Returns and errors are as in `plot_systems`.
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
    values, low, high = np.array([(e.value, e.low, e.high) for e in estimates]).T
    look = look_of(number) | {"markersize": 3.5, "linewidth": 0.9} | look
    axis.errorbar(places, values, yerr=distances(values, low, high), **look)


def _by_kind(
    panels: Mapping[str, Sequence[Sequence[Estimate]]],
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
