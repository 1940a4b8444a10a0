"""Tables of results, row by row: plain values for JSON, cells for readers, pandas and HTML for notebooks.

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


def as_html(rows: Sequence[Row], caption: str = "", note: str = "") -> str:
    """Return the rows as an HTML table for notebooks, numbers right-aligned, with a small note below.

    Args:
        rows: rows of the table, as column -> value.
        caption: caption of the table; none if empty.
        note: text below the table; none if empty.

    Example:
        >>> as_html([{"F": 0.5}])
        '<table><thead><tr><th>F</th></tr></thead><tbody><tr><td>0.5000</td></tr></tbody></table>'
    """
    names = columns_of(rows)
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
