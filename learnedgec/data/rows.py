"""Rows of results as JSON values, as cells of a table, as a data frame, and as HTML for notebooks.

A row is a mapping from columns to values; rows may lack columns.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from learnedgec.errors import MissingDependencyError

if TYPE_CHECKING:
    import pandas


Row: TypeAlias = Mapping[str, Any]


def columns_of(rows: Sequence[Row]) -> list[str]:
    """Return every column, in order of first appearance."""
    return list(dict.fromkeys(column for row in rows for column in row))


def plain(value: Any) -> Any:
    """Return a value for JSON: NumPy's numbers and arrays become Python's, NaN becomes `None`."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def cell(value: Any) -> str:
    """Format one value for a reader: four decimals, empty for an absent value."""
    if value is None:
        return ""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.4f}" if math.isfinite(value) else "–"
    return str(value)


def as_frame(rows: Sequence[Row]) -> pandas.DataFrame:
    """Return the rows as a pandas data frame.

    Raises:
        MissingDependencyError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise MissingDependencyError("pandas", "pandas", "a data frame") from None
    return pandas.DataFrame(list(rows), columns=columns_of(rows))


# Rows of a longer table that a notebook or a prompt shows.
_SHOWN = 20


def shown(rows: Sequence[Row]) -> tuple[Sequence[Row], str]:
    """Return the rows that fit a screen, and how many others there are, in words."""
    others = len(rows) - _SHOWN
    return (rows[:_SHOWN], f"… {others:,} more rows.") if others > 0 else (rows, "")


def as_text(rows: Sequence[Row]) -> str:
    """Return the rows as a table for a prompt, numbers right-aligned; of a long one, its first rows.

    Example:
        >>> print(as_text([{"system": "ours", "F": 0.5}, {"system": "theirs", "F": 0.25}]))
        system       F
        ours    0.5000
        theirs  0.2500
    """
    names = columns_of(rows)
    first, note = shown(rows)
    lines = [names, *([cell(row.get(name)) for name in names] for row in first)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = [any(isinstance(row.get(name), str) for row in first) for name in names]
    table = [
        "  ".join(
            text.ljust(width) if to_left else text.rjust(width)
            for text, width, to_left in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in lines
    ]
    return "\n".join([*table, *filter(None, [note])])


def as_html(rows: Sequence[Row], caption: str = "", note: str = "") -> str:
    """Return the rows as an HTML table for notebooks, numbers right-aligned, with a small note below.

    Of a long table, the first rows are shown.

    Args:
        rows: rows of the table, as column -> value.
        caption: caption of the table; none if empty.
        note: text below the table; none if empty.

    Example:
        >>> as_html([{"F": 0.5}])
        '<table><thead><tr><th>F</th></tr></thead><tbody><tr><td>0.5000</td></tr></tbody></table>'
    """
    names = columns_of(rows)
    rows, more = shown(rows)
    note = " ".join(filter(None, [more, note]))
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(_data(row.get(name)) for name in names) + "</tr>" for row in rows
    )
    below = f"<small>{html.escape(note)}</small>" if note else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def _data(value: Any) -> str:
    style = ' style="text-align: left"' if isinstance(value, str) else ""
    return f"<td{style}>{html.escape(cell(value))}</td>"
