"""Tables for readers. A table that is wider than the terminal is narrowed, and wraps at words."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from learnedgec.data.rows import Row, cell, columns_of
from learnedgec.metrics.labels import short_labels

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Bold", "format_table", "text_of", "value_of", "with_names"]


@dataclass(frozen=True, slots=True)
class Bold:
    """A value that is set in bold."""

    value: Any


def value_of(value: Any) -> Any:
    """Return a cell's value, bold or not."""
    return value.value if isinstance(value, Bold) else value


def text_of(value: Any) -> str:
    """Return a cell's text, bold or not."""
    return cell(value_of(value))


def with_names(rows: Sequence[Row], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows with other names for columns and cells."""

    def name_of(value: Any) -> Any:
        return names.get(value, value) if isinstance(value, str) else value

    return [{name_of(key): name_of(value) for key, value in row.items()} for row in rows]


def format_table(
    rows: Sequence[Row],
    width: int | None = None,
    *,
    groups: Sequence[str] = (),
    metrics: Sequence[str] = (),
    colour: bool = False,
) -> str:
    """Return a table for readers.

    Args:
        rows: one mapping per line, column name to value, which may be `Bold`; rows may lack columns.
        width: of the terminal; `None`: as wide as the table.
        groups: columns whose values become headings if the table is wider.
        metrics: labels of metrics, as columns or cells, that are short if the table is wider.
        colour: with a terminal's codes for bold.

    Example:
        >>> print(format_table([{"system": "ours", "F": 0.5}, {"system": "theirs"}]))
         system        F
         ───────────────
         ours     0.5000
         theirs
        <BLANKLINE>
    """
    from rich.console import Console

    console = Console(
        file=io.StringIO(),
        force_terminal=colour,
        width=10_000,
        legacy_windows=False,
        highlight=False,
    )
    table = _table(rows)
    legend: dict[str, str] = {}
    if width is None or console.measure(table).maximum <= width:
        console.print(table)
    else:
        legend = {name: short for name, short in short_labels(metrics).items() if name != short}
        for heading, part in _grouped(with_names(rows, legend), groups):
            table = _table(part, narrow=True)
            # In a narrower table numbers and names would be broken; the terminal breaks lines instead.
            console.width = max(width, console.measure(table).minimum)
            console.print(heading, style="bold", markup=False)
            console.print(table)
    assert isinstance(console.file, io.StringIO)
    lines = [line.rstrip() for line in console.file.getvalue().split("\n")]
    lines = [line for line in lines if line] + [f" {s}: {name}" for name, s in legend.items()]
    return "\n".join(lines) + "\n"


def _grouped(
    rows: Sequence[Row], groups: Sequence[str]
) -> list[tuple[str, Sequence[dict[str, Any]]]]:
    """Return the rows below each heading, without the columns that it names."""

    def heading_of(row: Row) -> str:
        texts = {group: text_of(row.get(group)) for group in groups}
        return ", ".join(f"{group} {text}" for group, text in texts.items() if text)

    return [
        (heading, [{key: row[key] for key in row if key not in groups} for row in part])
        for heading, part in groupby(rows, heading_of)
    ]


def _table(rows: Sequence[Row], *, narrow: bool = False) -> Table:
    """Return a table whose columns of several words may wrap."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=narrow)
    columns = columns_of(rows)
    for column in columns:
        numeric = all(not isinstance(value_of(row.get(column)), str) for row in rows)
        header = column.replace("_", " ") if narrow else column
        one_word = not any(" " in text_of(row.get(column)) for row in rows) and " " not in header
        table.add_column(Text(header), justify="right" if numeric else "left", no_wrap=one_word)
    for row in rows:
        values = [row.get(column) for column in columns]
        table.add_row(
            *(Text(text_of(v), style="bold" if isinstance(v, Bold) else "") for v in values)
        )
    return table
