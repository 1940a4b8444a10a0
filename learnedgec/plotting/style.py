"""How every figure looks and is written: at the width of a paper's column, safe for colour-blind readers.

Colours are those of Okabe and Ito, always together with a distinct marker or line style. Each figure
is written twice, as PDF and PNG.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from learnedgec.errors import MissingDependencyError
from learnedgec.runtime.writing import atomic_path, check_writable

# Okabe and Ito (2008), without yellow, which is too pale for lines.
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
}


def check_plotting(folder: str | Path) -> None:
    """Raise before the work any error that drawing into this folder would raise after it.

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
    try:
        import matplotlib
    except ImportError:
        raise MissingDependencyError("matplotlib", "plot", "drawing figures") from None
    return matplotlib.rc_context(_STYLE)


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure, in inches, that touches no global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def label_rows(axis: Any, labels: Sequence[str]) -> None:
    """Write a label at each row of an axis, the first on top, shortened to 34 characters."""
    axis.set_yticks(range(len(labels)), [shorten(label, 34) for label in labels])
    axis.set_ylim(len(labels) - 0.5, -0.5)


def save_figure(figure: Any, folder: str | Path, stem: str) -> Iterator[Path]:
    """Write a figure as PDF and PNG; characters that some file systems refuse become `_`.

    Args:
        figure: a figure of matplotlib.
        folder: folder in which the files are written.
        stem: name of the files, without the ending.
    """
    name = re.sub(r"[^\w.+-]+", "_", stem).strip("_")
    for suffix, options in ((".pdf", {}), (".png", {"dpi": 200})):
        path = Path(folder) / (name + suffix)
        with atomic_path(path) as temporary:
            figure.savefig(temporary, format=suffix[1:], **options)
        yield path


def shorten(text: str, length: int) -> str:
    """Return a text cut to a number of characters, with an ellipsis where it was cut."""
    return text if len(text) <= length else text[: length - 1] + "…"


def two_digits(value: float) -> str:
    """Return a number with two digits, and a dash where it does not exist."""
    return "–" if np.isnan(value) else f"{value:.2f}"
