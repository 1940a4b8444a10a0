"""Figures of rankings: scores with intervals and clusters, and win matrices."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from learnedgec.analysis.ranking import SystemRanking
from learnedgec.plotting.style import (
    COLOURS,
    COLUMN,
    GREY,
    new_figure,
    save_figure,
    shorten,
    style,
)
from learnedgec.types import Floats

__all__ = [
    "plot_ranking",
]


def plot_ranking(ranking: SystemRanking, folder: str | Path) -> list[Path]:
    """Write a ranking's scores with intervals and clusters, and its win matrix.

    Returns:
        The files.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        OutputError: the folder cannot be written.
    """
    with style():
        stem = f"{ranking.metric}.{ranking.by}"
        order = ranking.order
        names = [ranking.systems[number] for number in order]
        wins = ranking.wins[np.ix_(order, order)]
        return [
            *save_figure(_intervals(ranking), folder, f"{stem}.intervals"),
            *save_figure(
                win_matrix(names, 0.5 + (wins - wins.T) / 2, "sentences won, ties half"),
                folder,
                f"{stem}.wins",
            ),
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
    labels = [
        f"{ranking.systems[number]}  {_ranks(*ranking.ranges[number].tolist())}" for number in order
    ]
    axis.set_yticks(range(len(order)), labels)
    axis.set_ylim(len(order) - 0.5, -0.5)
    by = "" if ranking.by == "mean" else f" ({ranking.by})"
    axis.set_xlabel(f"{shorten(ranking.metric, 40)}{by}")
    return figure


def _ranks(best: int, worst: int) -> str:
    return str(best) if best == worst else f"{best}–{worst}"


def win_matrix(names: Sequence[str], shares: Floats, label: str) -> Any:
    """Draw how often the row beats the column, in percent; half is white."""
    size = max(COLUMN, 1.1 + 0.27 * len(names))
    figure = new_figure(size + 0.5, size)
    axis = figure.subplots()
    off = ~np.eye(len(names), dtype=bool)
    reach = float(np.nanmax(np.abs(np.where(off, shares, np.nan) - 0.5), initial=0.01))
    image = axis.imshow(
        np.where(off, shares, np.nan), cmap="PuOr", vmin=0.5 - reach, vmax=0.5 + reach
    )
    for row, column in zip(*np.nonzero(off & ~np.isnan(shares)), strict=True):
        red, green, blue, _ = image.cmap(image.norm(shares[row, column]))
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
        axis.text(
            column,
            row,
            f"{100 * shares[row, column]:.0f}",
            ha="center",
            va="center",
            fontsize=6,
            color="white" if dark else "black",
        )
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
