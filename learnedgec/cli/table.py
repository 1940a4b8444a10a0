"""Tables for readers, folded to the width of the terminal.

A table that is too wide is folded step by step until it fits, and never in the middle of a cell: columns
whose rows share a value become headings, long column names take several lines, long names of metrics are
shortened with a legend below, and finally the columns are printed in parts or each row as a list.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from learnedgec.formats.rows import Row, cell, columns_of
from learnedgec.metrics.labels import short_labels

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Layout", "Strong", "format_table", "renaming", "text_of", "value_of"]

# Characters between two columns, before the first, and those that a column of prose has at least.
_GAP, _EDGE, _PROSE = 3, 1, 18


@dataclass(frozen=True, slots=True)
class Strong:
    """A value that is set in bold."""

    value: Any


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table that is wider than the terminal may be folded.

    Attributes:
        groups: columns whose values become a heading over the rows that share them.
        keys: columns that every part repeats; the first one if absent.
        names: names of metrics, as columns or cells, that may be shortened.
        prose: columns whose cells may take several lines.
        extra: columns that are left out.
    """

    groups: Sequence[str] = ()
    keys: Sequence[str] = ()
    names: Sequence[str] = ()
    prose: Sequence[str] = ()
    extra: Sequence[str] = ()


def value_of(value: Any) -> Any:
    """Return a cell's value, bold or not."""
    return value.value if isinstance(value, Strong) else value


def text_of(value: Any) -> str:
    """Return a cell's text, bold or not."""
    return cell(value_of(value))


def format_table(
    rows: Sequence[Row],
    layout: Layout = Layout(),
    width: int | None = None,
    *,
    colour: bool = False,
) -> str:
    """Return a table for readers.

    Args:
        rows: one mapping per line, column name to value, which may be `Strong`; rows may lack columns.
        layout: how it may be folded.
        width: of the terminal; `None`: as wide as it needs to be, with every column.
        colour: with a terminal's codes for bold.

    Example:
        >>> rows = [{"system": "ours", "true_positives": 1, "false_positives": 2}]
        >>> print(format_table(rows, width=40))
                      true_      false_
         system   positives   positives
         ──────────────────────────────
         ours             1           2
        <BLANKLINE>
    """
    from rich.console import Console

    buffer = io.StringIO()
    # Wide enough for anything: the text has been folded before.
    console = Console(
        file=buffer,
        force_terminal=colour,
        width=10_000,
        legacy_windows=False,
        highlight=False,
        emoji=False,
        markup=False,
    )
    if width is None:
        _print_part(console, rows, columns_of(rows), {})
    else:
        _print_folded(console, rows, layout, width)
    lines = [line.rstrip() for line in buffer.getvalue().split("\n")]
    return "\n".join(lines).rstrip("\n") + "\n"


def _print_folded(console: Console, rows: Sequence[Row], layout: Layout, width: int) -> None:
    """Print a table within a width, with the first of the steps that is enough."""
    rows = [{key: row[key] for key in row if key not in layout.extra} for row in rows]
    columns, names = columns_of(rows), {}
    if _width(rows, columns) <= width:
        _print_part(console, rows, columns, {})
        return
    tables = list(_grouped(rows, layout.groups))
    columns = [column for column in columns if column not in layout.groups]
    headers = {column: _folded_header(rows, column) for column in columns}
    if any(_width(part, columns, headers) > width for _, part in tables):
        # A heading is not shortened: it has the line for itself.
        cells = (value for _, part in tables for row in part for value in row.values())
        shown = {*columns, *(value for value in cells if isinstance(value, str))}
        names = {name: s for name, s in short_labels(layout.names).items() if name in shown}
        rename = renaming(names)
        tables = [(heading, [rename(row) for row in part]) for heading, part in tables]
        columns = [names.get(column, column) for column in columns]
        everything = [row for _, part in tables for row in part]
        headers = {column: _folded_header(everything, column) for column in columns}
    keys = [names.get(key, key) for key in layout.keys if key in columns] or columns[:1]
    for number, (heading, part) in enumerate(tables):
        if number:
            console.print()
        if heading:
            console.print(
                textwrap.fill(heading, width, break_long_words=False), style="bold", soft_wrap=True
            )
        _print_columns(console, part, columns, keys, headers, layout.prose, width)
    used = {short: name for name, short in names.items() if short != name}
    if used:
        console.print()
    for short, name in used.items():
        console.print(f" {short}: {name}", soft_wrap=True)


def _print_columns(
    console: Console,
    rows: Sequence[Row],
    columns: Sequence[str],
    keys: Sequence[str],
    headers: Mapping[str, str],
    prose: Sequence[str],
    width: int,
) -> None:
    """Print the rows of one heading: as one table, in parts below each other, or as lists."""
    columns = [column for column in columns if any(column in row for row in rows)]
    flowing = [column for column in columns if column in prose]
    if _width(rows, columns, headers) <= width:
        _print_part(console, rows, columns, headers)
    elif flowing:
        fixed = [column for column in columns if column not in prose]
        left = width - _width(rows, fixed, headers) - _GAP * len(flowing)
        if left < _PROSE * len(flowing):
            _print_lists(console, rows, columns, width)
        else:
            _print_part(console, rows, columns, headers, _shared(rows, flowing, left))
    else:
        parts = list(_parts(rows, columns, keys, headers, width))
        if any(_width(rows, part, headers) > width for part in parts):
            _print_lists(console, rows, columns, width)
            return
        for number, part in enumerate(parts):
            if number:
                console.print()
            _print_part(console, rows, part, headers)


def _print_part(
    console: Console,
    rows: Sequence[Row],
    columns: Sequence[str],
    headers: Mapping[str, str],
    widths: Mapping[str, int] = {},
) -> None:
    """Print one table; the columns with a width fold their cells at words."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(
            Text(headers.get(column, column)),
            justify="right" if _numeric(rows, column) else "left",
            no_wrap=True,
        )
    for row in rows:
        cells = []
        for column in columns:
            value = row.get(column)
            text = text_of(value)
            if column in widths:
                text = textwrap.fill(text, widths[column], break_long_words=False)
            cells.append(Text(text, style="bold" if isinstance(value, Strong) else ""))
        table.add_row(*cells)
    with console.capture() as captured:
        console.print(table)
    lines = [line for line in captured.get().split("\n") if line.strip()]
    console.file.write("\n".join(lines) + "\n")


def _print_lists(console: Console, rows: Sequence[Row], columns: Sequence[str], width: int) -> None:
    """Print each row as a list of its columns, under the first of them."""
    first, *others = columns
    margin = max(map(len, others), default=0) + _GAP + 2
    for number, row in enumerate(rows):
        if number:
            console.print()
        console.print(text_of(row.get(first)), style="bold", soft_wrap=True)
        for column in others:
            text = text_of(row.get(column))
            if text:
                filled = textwrap.fill(
                    text,
                    max(width, margin + _PROSE),
                    initial_indent=f"  {column}".ljust(margin),
                    subsequent_indent=" " * margin,
                    break_long_words=False,
                    break_on_hyphens=False,
                )
                console.print(filled, soft_wrap=True)


def _grouped(rows: Sequence[Row], groups: Sequence[str]) -> Iterator[tuple[str, Sequence[Row]]]:
    """Yield each heading with the rows that follow it, without the columns that it names."""

    def heading(row: Row) -> str:
        found = [f"{group} {text_of(row[group])}" for group in groups if text_of(row.get(group))]
        return ", ".join(found)

    for text, found in groupby(rows, heading):
        yield text, [{key: row[key] for key in row if key not in groups} for row in found]


def renaming(names: Mapping[str, str]) -> Callable[[Row], dict[str, Any]]:
    """Return a function that puts short names in place of columns and cells."""

    def short(value: Any) -> Any:
        return names.get(value, value) if isinstance(value, str) else value

    return lambda row: {names.get(key, key): short(value) for key, value in row.items()}


def _folded_header(rows: Sequence[Row], column: str) -> str:
    """Return a column's name on as many lines as let it be as narrow as its cells, or as its longest word."""
    words = re.findall(r"[^_ ]*[_ ]?", column)
    widest = max(
        [*(len(text_of(row.get(column))) for row in rows), *(len(w.strip()) for w in words)]
    )
    lines = [""]
    for word in words:
        if len((lines[-1] + word).strip()) > widest:
            lines.append("")
        lines[-1] += word
    return "\n".join(line.strip() for line in lines)


def _numeric(rows: Sequence[Row], column: str) -> bool:
    return all(not isinstance(value_of(row.get(column)), str) for row in rows)


def _width(rows: Sequence[Row], columns: Sequence[str], headers: Mapping[str, str] = {}) -> int:
    """Return how wide a table is."""
    if not columns:
        return 0
    return _EDGE + sum(_column_width(rows, c, headers) + _GAP for c in columns) - _GAP


def _column_width(rows: Sequence[Row], column: str, headers: Mapping[str, str] = {}) -> int:
    from rich.cells import cell_len

    head = max(map(cell_len, headers.get(column, column).split("\n")))
    return max([head, *(cell_len(text_of(row.get(column))) for row in rows)])


def _shared(rows: Sequence[Row], columns: Sequence[str], width: int) -> dict[str, int]:
    """Return how wide each column of prose is: by how much the columns have to say, the least first."""
    found = {}
    wanted = {column: _column_width(rows, column) for column in columns}
    for column in sorted(columns, key=wanted.__getitem__):
        share = max(_PROSE, width * wanted[column] // sum(wanted.values()))
        found[column] = min(wanted.pop(column), share)
        width -= found[column]
    return found


def _parts(
    rows: Sequence[Row],
    columns: Sequence[str],
    keys: Sequence[str],
    headers: Mapping[str, str],
    width: int,
) -> Iterator[list[str]]:
    """Yield the columns of each part, every one with the keys and as many others as fit."""
    part = list(keys)
    for column in columns:
        if column in keys:
            continue
        if len(part) > len(keys) and _width(rows, [*part, column], headers) > width:
            yield part
            part = list(keys)
        part.append(column)
    yield part
