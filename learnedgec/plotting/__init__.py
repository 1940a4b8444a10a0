"""The style of all figures, which fit a paper's column and suit colour-blind readers, and their files.

Colours are by Okabe and Ito, always together with a distinct marker or line style. Each figure
is written twice, as PDF and PNG.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from learnedgec.errors import needs
from learnedgec.runtime.files import atomic_path, check_writable
from learnedgec.types import Floats

# The colours of Okabe and Ito (2008) without yellow, which is too pale for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
GREY = "#777777"
COLUMN = 3.35  # inches
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
}


def check_plotting(folder: str | Path) -> None:
    """Raise the errors of drawing into this folder before the work begins.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        OutputError: the folder cannot be written.
    """
    style()
    check_writable(Path(folder) / "figure.pdf")


def style() -> Any:
    """Return the context in which figures are drawn.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    with needs("plot", "drawing figures"):
        import matplotlib
    return matplotlib.rc_context(_STYLE)


def new_figure(
    width: float, height: float, rows: int = 1, columns: int = 1, **options: Any
) -> tuple[Any, Any]:
    """Return an empty figure, in inches, that touches no global state, and its axes.

    Args:
        width: the width of the figure.
        height: the height of the figure.
        rows: the number of rows of axes.
        columns: the number of columns of axes.
        options: as for `matplotlib.figure.Figure.subplots`.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


def look_of(number: int) -> dict[str, Any]:
    """Return the colour and the marker of one of several series."""
    return {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}


def add_legend(figure: Any, axis: Any, columns: int = 4, **options: Any) -> None:
    """Write a legend below a figure: the labels of one of its axes, each once.

    Args:
        figure: the figure.
        axis: the axis whose labels it lists.
        columns: the largest number of labels in a line.
        options: options of `Figure.legend`.
    """
    handles, labels = axis.get_legend_handles_labels()
    by_label = dict(zip(labels, handles, strict=True))
    options |= {"loc": "outside lower center", "ncols": min(columns, len(by_label))}
    figure.legend(by_label.values(), by_label.keys(), **options)


def distances(values: Floats, low: Floats, high: Floats) -> Floats:
    """Return the distances of the ends of intervals from the values, (2, N); 0 where an end is missing.

    Args:
        values: the values, (N).
        low: the lower ends, (N).
        high: the upper ends, (N).
    """
    ends: Floats = np.maximum(np.nan_to_num([values - low, high - values]), 0.0)
    return ends


def label_rows(axis: Any, labels: Sequence[str]) -> None:
    """Write a label at each row of an axis, the first on top, shortened to 34 characters."""
    axis.set_yticks(range(len(labels)), [shorten(label, 34) for label in labels])
    axis.set_ylim(len(labels) - 0.5, -0.5)


def save_figures(figures: Mapping[str, Any], folder: str | Path) -> list[Path]:
    """Write figures as PDF and PNG, and return the files.

    Args:
        figures: name of the files without suffix -> the figure. Characters that some file systems refuse
            become `_`.
        folder: the folder of the files; it is created if it does not exist.
    """
    files = []
    for stem, figure in figures.items():
        name = re.sub(r"[^\w.+-]+", "_", stem).strip("_")
        for kind in ("pdf", "png"):
            files.append(Path(folder) / f"{name}.{kind}")
            with atomic_path(files[-1]) as temporary:
                figure.savefig(temporary, format=kind)
    return files


def shorten(text: str, length: int) -> str:
    """Return a text cut to a number of characters, with an ellipsis if it was cut."""
    return text if len(text) <= length else text[: length - 1] + "…"


def two_digits(value: float) -> str:
    """Return a number with two digits, or a dash if it is NaN."""
    return "–" if np.isnan(value) else f"{value:.2f}"
