"""Tables of results: columns are declared once, and every format follows from them.

    Table(columns, rows).records()     CSV, TSV, JSON and data frames: plain values under the columns' keys
    Table(columns, rows).text()        a terminal
    Table(columns, rows).latex()       a paper
    Table(columns, rows).markdown()    a page
    Table(columns, rows).html()        a notebook

A result's method `table`, or a function `table_of…` beside the results, declares the columns.
"""

from __future__ import annotations

import csv
import html
import io
import math
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Flag, auto
from itertools import accumulate, chain, groupby, zip_longest
from typing import TYPE_CHECKING, Any, TypeAlias

from learnedgec.errors import needs

if TYPE_CHECKING:
    import pandas

Row: TypeAlias = Mapping[str, Any]


class For(Flag):
    """For whom a column is."""

    DATA = auto()
    """Programs: CSV, TSV, JSON and data frames."""
    TEXT = auto()
    """Readers on a terminal, of a page and of a notebook."""
    WIDE = auto()
    """Readers on a terminal who ask for every column."""
    PAPER = auto()
    """Readers of a paper: LaTeX."""
    READERS = TEXT | WIDE | PAPER
    ALL = DATA | READERS
    ASKED = DATA | WIDE


class Bold(float):
    """A number that is bold in LaTeX."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        key: the name of the column in CSV, JSON and data frames.
        heading: the name that readers see; by default, the key. With a function from a row to a name, readers
            see a column for each name, and rows that differ in such columns alone are one row for them. A
            cell without a name is left out.
        show: returns what readers see in a row; by default, the value, a number with four decimals.
        audience: for whom the column is.
        varying: whether readers see the column only if its values differ, as names of metrics.
    """

    key: str
    heading: str | Callable[[Row], str | None] = ""
    show: Callable[[Row], Any] | None = None
    audience: For = For.ALL
    varying: bool = False

    def cell(self, row: Row) -> Any:
        """Return what readers see of a row."""
        return self.show(row) if self.show else row.get(self.key)


@dataclass(frozen=True, repr=False)
class Table:
    """The columns and rows of a result, from which every format follows.

    Readers do not see a column without any value. CSV, JSON and data frames have each column that a row
    names.

    Attributes:
        columns: the columns, in order.
        rows: one mapping for each row, from the columns' keys to values; rows may lack columns.
        totals: rows below the others, which CSV and data frames leave out.
        title: the line above the table on a terminal.
        caption: the caption in LaTeX and in notebooks; by default, the title.
        groups: keys of columns, or headings, whose values become headings if the table is wider than the
            terminal, and part of the caption in LaTeX if all rows have the same value.
        short: long label -> short one, for labels in headings and cells of a table that is wider than the
            terminal, and in LaTeX.
        note: a text below the table in notebooks.

    Example:
        >>> columns = Column("system"), Column("low", audience=For.DATA), Column("score", "F")
        >>> table = Table(columns, [{"system": "ours", "low": 0.25, "score": 0.5}])
        >>> print(table.text())
         system        F
         ───────────────
         ours     0.5000
        <BLANKLINE>
        >>> table.records()
        [{'system': 'ours', 'low': 0.25, 'score': 0.5}]
    """

    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str = ""
    caption: str = ""
    groups: Sequence[str] = ()
    short: Mapping[str, str] | None = None
    note: str = ""
    totals: Sequence[Row] = ()

    @classmethod
    def of(cls, rows: Sequence[Row], **about: Any) -> Table:
        """Return a table of these rows with a column for each key, in order of first appearance."""
        return cls([*map(Column, columns_of(rows))], rows, **about)

    @classmethod
    def join(cls, tables: Sequence[Table]) -> Table:
        """Return the rows of several tables below each other, with the columns of all."""
        columns = {column.key: column for table in tables for column in table.columns}
        rows = [*chain.from_iterable(table.rows for table in tables)]
        totals = [*chain.from_iterable(table.totals for table in tables)]
        return replace(tables[0], columns=[*columns.values()], rows=rows, totals=totals)

    # -- for programs ----------------------------------------------------------------------------

    def records(self, rows: Sequence[Row] | None = None) -> list[dict[str, Any]]:
        """Return the rows, or `totals`, with plain values: NaN and absent values are `None`."""
        rows = self.rows if rows is None else rows
        keys = self._keys(rows)
        return [{key: plain(row[key]) for key in keys if key in row} for row in rows]

    def _keys(self, rows: Sequence[Row]) -> list[str]:
        """Return the keys of the columns for programs that any row has."""
        keys = {*columns_of(rows)}
        return [c.key for c in self.columns if For.DATA & c.audience and c.key in keys]

    def separated(self, delimiter: str = ",") -> str:
        """Return the rows as CSV, or as TSV; lists are joined by spaces."""
        buffer = io.StringIO()
        writer = csv.DictWriter(
            buffer, self._keys(self.rows), delimiter=delimiter, lineterminator="\n"
        )
        writer.writeheader()
        for record in self.records():
            writer.writerow(
                {k: " ".join(map(str, v)) if isinstance(v, list) else v for k, v in record.items()}
            )
        return buffer.getvalue()

    def to_frame(self) -> pandas.DataFrame:
        """Return the rows as a pandas data frame.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        with needs("pandas", "a data frame"):
            import pandas
        keys = self._keys(self.rows)
        rows = [{key: row[key] for key in keys if key in row} for row in self.rows]
        return pandas.DataFrame(rows, columns=keys)

    # -- for readers -----------------------------------------------------------------------------

    def cells(self, audience: For = For.TEXT) -> list[dict[str, Any]]:
        """Return what readers see: heading -> cell of each row."""
        rows = [*self.rows, *self.totals]
        alike: dict[str, list[Any]] = {}
        spread: list[dict[str, Any]] = [{} for _ in rows]
        headings: dict[str, None] = {}
        columns = [column for column in self.columns if audience & column.audience]
        for is_spread, group in groupby(columns, key=lambda column: callable(column.heading)):
            beside = list(group)
            if is_spread:
                for row, cells in zip(rows, spread, strict=True):
                    cells |= _spread_cells(beside, row)
                    headings |= dict.fromkeys(cells)
                continue
            for column in beside:
                values = [column.cell(row) for row in rows]
                differ = not column.varying or len({*values} - {None}) > 1
                if differ and any(value is not None for value in values):
                    alike[_fixed_heading(column)] = values
                    headings[_fixed_heading(column)] = None
        if not any(spread):
            return [
                dict(zip(alike, cells, strict=True)) for cells in zip(*alike.values(), strict=True)
            ]
        shown: dict[tuple[Any, ...], dict[str, Any]] = {}
        for cells, *values in zip(spread, *alike.values(), strict=True):
            one = shown.setdefault(tuple(values), dict.fromkeys(headings))
            one |= dict(zip(alike, values, strict=True)) | cells
        return [*shown.values()]

    def _group_headings(self) -> list[str]:
        headings = {column.key: _fixed_heading(column) for column in self.columns}
        return [headings.get(group, group) for group in self.groups]

    def text(self, width: int | None = None, *, wide: bool = False) -> str:
        """Return the table for a terminal; one that is wider than the terminal is narrowed.

        It has short labels and wraps at words. If that is not enough, its columns are divided between tables
        that all have the first one.

        Args:
            width: the terminal's width; `None` if the table may have any width.
            wide: whether to show the columns for readers who ask for every column.
        """
        rows = self.cells(For.TEXT | For.WIDE if wide else For.TEXT)
        if not rows:
            return ""
        groups = self._group_headings()
        room = width or sys.maxsize
        lines = _lines(rows)
        legend: dict[str, str] = {}
        if not _fits(lines, room):
            legend = {name: short for name, short in (self.short or {}).items() if name != short}
            rows = _renamed(rows, legend)
            lines = _lines(rows)

        def heading_of(row: Row) -> str:
            texts = {group: cell(row.get(group)) for group in groups}
            return ", ".join(f"{group} {text}" for group, text in texts.items() if text)

        if not _fits(lines, room):
            lines = []
            parts: dict[str, list[dict[str, Any]]] = {}
            for row in rows:
                parts.setdefault(heading_of(row), []).append(row)
            for heading, of_group in parts.items():
                # A column may have no value in a group.
                shown = [
                    column
                    for column in of_group[0]
                    if column not in groups and any(row[column] is not None for row in of_group)
                ]
                ungrouped = [{column: row[column] for column in shown} for row in of_group]
                lines += [heading, *_narrowed(ungrouped, room)]
        lines = [
            *filter(str.strip, lines),
            *(f" {short}: {name}" for name, short in legend.items()),
        ]
        return "\n".join(lines) + "\n"

    def __repr__(self) -> str:
        """Return the first rows for a prompt."""
        rows, note = _visible(self.cells())
        names = columns_of(rows)
        left = [any(isinstance(row.get(name), str) for row in rows) for name in names]
        lines = [names, *([cell(row.get(name)) for name in names] for row in rows)]
        return "\n".join([*align(lines, left), *filter(None, [note])])

    def html(self) -> str:
        """Return the first rows for a notebook, with numbers right-aligned.

        Example:
            >>> Table.of([{"F": 0.5}]).html()
            '<table><thead><tr><th>F</th></tr></thead><tbody><tr><td>0.5000</td></tr></tbody></table>'
        """
        rows, more = _visible(self.cells())
        names = columns_of(rows)
        note = " ".join(filter(None, [more, self.note]))
        caption = self.caption or self.title
        title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        body = "".join(
            "<tr>" + "".join(_html_cell(row.get(name)) for name in names) + "</tr>" for row in rows
        )
        below = f"<small>{html.escape(note)}</small>" if note else ""
        return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"

    _repr_html_ = html

    def markdown(self) -> str:
        """Return the table for a page.

        Example:
            >>> print(Table.of([{"system": "ours", "F": 0.5}]).markdown())
            | system | F |
            | --- | --- |
            | ours | 0.5000 |
            <BLANKLINE>
        """
        rows = self.cells()
        names = columns_of(rows)
        lines = [
            names,
            ["---"] * len(names),
            *([cell(row.get(name)).replace("|", r"\|") for name in names] for row in rows),
        ]
        return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)

    def latex(self) -> str:
        """Return a booktabs table with columns of numbers to the right, and a legend of the short labels."""
        short = self.short or {}
        rows = _renamed(self.cells(For.PAPER), short)
        texts = {column: [cell(row.get(column)) for row in rows] for column in columns_of(rows)}
        constant = []
        for column in self._group_headings():
            if column in texts and len(rows) > 1 and len(set(texts[column])) == 1:
                value = texts.pop(column)[0]
                constant.append(f"{value} {column}" if value[0].isdigit() else f"{column} {value}")
        caption = self.caption or self.title
        if constant:
            caption = f"{caption} For {', '.join(constant)}."
        alignment = "".join(
            "r" if all(map(_NUMBER.match, column)) else "l" for column in texts.values()
        )
        body = [[_latex_cell(row.get(column)) for column in texts] for row in rows]
        lines = [
            r"% \usepackage{booktabs}",
            r"\begin{table}",
            r"  \centering",
            rf"  \begin{{tabular}}{{{alignment}}}",
            r"    \toprule",
            rf"    {' & '.join(_escape(column.replace('_', ' ')) for column in texts)} \\",
            r"    \midrule",
            *(rf"    {' & '.join(cells)} \\" for cells in body),
            r"    \bottomrule",
            r"  \end{tabular}",
            *(
                rf"  \par\smallskip{{\footnotesize {_escape(label)}: \texttt{{{_escape(name)}}}}}"
                for name, label in short.items()
                if label != name
            ),
            *([rf"  \caption{{{_escape(caption)}}}"] if caption else []),
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"


def bounded(key: str, heading: str = "", digits: int = 3) -> list[Column]:
    """Return the columns of a value with its interval, which readers see in one cell (`interval_cell`).

    Args:
        key: the key of the value; those of the interval's ends are `KEY_low` and `KEY_high`.
        heading: the name that readers see; by default, the key.
        digits: the number of decimals of the interval's ends.

    Example:
        >>> Table(bounded("p"), [{"p": 0.5, "p_low": 0.25, "p_high": 1}]).cells()
        [{'p': '0.500 [0.250, 1.000]'}]
    """

    def show(row: Row) -> str | None:
        if key not in row:
            return None
        return interval_cell(row[key], row.get(f"{key}_low"), row.get(f"{key}_high"), digits=digits)

    ends = (Column(f"{key}_{end}", audience=For.DATA) for end in ("low", "high"))
    return [Column(key, heading, show), *ends]


def _fixed_heading(column: Column) -> str:
    return column.heading if isinstance(column.heading, str) and column.heading else column.key


def _spread_cells(columns: Sequence[Column], row: Row) -> dict[str, Any]:
    """Return the cells of columns that have a heading in this row."""
    named = (
        (column.heading(row), column.cell(row)) for column in columns if callable(column.heading)
    )
    return {name: value for name, value in named if name and value is not None}


# -- values ----------------------------------------------------------------------------------------


def columns_of(rows: Sequence[Row]) -> list[str]:
    """Return every column, in order of first appearance."""
    return list(dict.fromkeys(chain.from_iterable(rows)))


def plain(value: Any) -> Any:
    """Return a value for JSON: NumPy's numbers and arrays become Python's, NaN becomes `None`."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value


def cell(value: Any) -> str:
    """Return one value as text for a reader: numbers with four decimals, and nothing for an absent value."""
    if value is None:
        return ""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return f"{value:.4f}" if math.isfinite(value) else "–"
    return str(value)


def interval_cell(
    value: float | None, low: float | None, high: float | None, *, mark: str = "", digits: int = 3
) -> str:
    """Return a value with its mark and its interval, if it has one.

    Args:
        value: the value, with three decimals.
        low: the lower end of the interval.
        high: the upper end of the interval.
        mark: a text after the value.
        digits: the number of decimals of the interval's ends.

    Example:
        >>> interval_cell(0.5, 0.25, 1.0, digits=2)
        '0.500 [0.25, 1.00]'
    """
    if value is None or math.isnan(value):
        return "–"
    if low is None or high is None or math.isnan(low):
        return f"{value:.3f}{mark}"
    return f"{value:.3f}{mark} [{low:.{digits}f}, {high:.{digits}f}]"


# -- text ------------------------------------------------------------------------------------------

# The number of rows that a notebook or a prompt shows of a longer table.
_VISIBLE_ROWS = 20


def _visible(rows: Sequence[Row]) -> tuple[Sequence[Row], str]:
    """Return the rows that fit a screen, and a note on how many others there are."""
    others = len(rows) - _VISIBLE_ROWS
    return (rows[:_VISIBLE_ROWS], f"… {others:,} more rows.") if others > 0 else (rows, "")


def align(
    lines: Sequence[Sequence[str]],
    left: Sequence[bool],
    widths: Sequence[int] | None = None,
    gap: int = 2,
    above: int = 0,
) -> list[str]:
    """Return the lines of a table.

    Args:
        lines: the cells of each line.
        left: for each column, whether its cells are left-aligned.
        widths: the width of each column; by default, the width of its widest cell.
        gap: number of spaces between columns.
        above: number of lines above a horizontal rule; 0 for no rule.

    Example:
        >>> align([["system", "F"], ["ours", "0.5000"]], [True, False])
        ['system       F', 'ours    0.5000']
    """
    cell_widths = [[display_width(text) for text in cells] for cells in lines]
    widths = widths or [max(column) for column in zip(*cell_widths, strict=True)]
    table = []
    for cells, sizes in zip(lines, cell_widths, strict=True):
        padded = []
        for text, size, width, is_left in zip(cells, sizes, widths, left, strict=True):
            spaces = " " * (width - size)
            padded.append(text + spaces if is_left else spaces + text)
        table.append((" " * gap).join(padded).rstrip())
    if above:
        table.insert(above, "─" * (sum(widths) + gap * (len(widths) - 1)))
    return table


def display_width(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    Example:
        >>> display_width("F₁"), display_width("系统")
        (2, 4)
    """
    if text.isascii():
        return len(text)
    wide = sum(map("WF".count, map(unicodedata.east_asian_width, text)))
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


# A line does not break within a word, an interval or a p-value.
_WORD = re.compile(r"(?:\[[^]]*\]|\bp [<≤=] |\S)+")


def wrapped(text: str, width: int) -> list[str]:
    """Return a text on lines of this width, which break at spaces."""
    lines: list[str] = []
    for word in _WORD.findall(text):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and display_width(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines or [""]


def _fits(lines: Sequence[str], room: int) -> bool:
    """Return whether a table, which is as wide as its rule, leaves a space at the right."""
    return len(lines[1]) < room


def _narrowed(rows: Sequence[Row], width: int) -> Iterator[str]:
    """Yield the lines of tables of at most this width that all have the first column."""
    first, *left = columns_of(rows)
    least, longest_cells, most = {}, {}, {}
    for column in (first, *left):
        cells = [cell(row.get(column)) for row in rows]
        texts = [*_heading(column).split("\n"), *cells]
        words = [word for text in texts for word in _WORD.findall(text)]
        least[column] = max(map(display_width, words), default=0)
        longest_cells[column] = max(map(display_width, cells))
        most[column] = max(map(display_width, texts))

    def wanted(column: str) -> tuple[int, int]:
        # Room goes to cells first, and then to headings.
        return max(0, longest_cells[column] - widths[column]), most[column] - widths[column]

    while True:
        # Two spaces follow each column.
        ends = accumulate(2 + least[column] for column in (first, *left))
        count = max(1, sum(end <= width for end in ends) - 1)
        widths = {column: least[column] for column in (first, *left[:count])}
        left = left[count:]
        for _ in range(width - sum(widths.values()) - 2 * len(widths)):
            column = max(widths, key=wanted)
            widths[column] = min(most[column], widths[column] + 1)
        yield from _lines([{c: row.get(c) for c in widths} for row in rows], widths)
        if not left:
            return


def _lines(rows: Sequence[Row], widths: Mapping[str, int] | None = None) -> list[str]:
    """Return the lines of a table; with widths of its columns, its cells wrap at words."""
    columns = columns_of(rows)
    above: Sequence[Sequence[str]] = [columns]
    below: Sequence[Sequence[str]] = [[cell(row.get(column)) for column in columns] for row in rows]
    if widths:
        # The last line of each heading is above the rule.
        above = _cell_lines([*map(_heading, columns)], widths, last=True)
        below = [line for cells in below for line in _cell_lines(cells, widths)]
    left = [any(isinstance(row.get(column), str) for row in rows) for column in columns]
    sizes = [*widths.values()] if widths else None
    lines = align([*above, *below], left, sizes, gap=2 if widths else 3, above=len(above))
    return [f" {line}" for line in lines]


def _cell_lines(
    cells: Sequence[str], widths: Mapping[str, int], *, last: bool = False
) -> Sequence[Sequence[str]]:
    """Return the lines of a row whose cells wrap at words, from their first or up to their last lines."""
    lines_of = [
        [part for line in text.split("\n") for part in wrapped(line, width)]
        for text, width in zip(cells, widths.values(), strict=True)
    ]
    if last:
        return [*zip_longest(*(lines[::-1] for lines in lines_of), fillvalue="")][::-1]
    return [*zip_longest(*lines_of, fillvalue="")]


def _heading(column: str) -> str:
    """Return the heading of a narrow column."""
    return column.replace("_", " ").replace("[", "\n[")


def _renamed(rows: Sequence[Row], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows with other names for columns and cells."""

    def name_of(value: Any) -> Any:
        return names.get(value, value) if isinstance(value, str) else value

    return [{name_of(key): name_of(value) for key, value in row.items()} for row in rows]


# -- HTML and LaTeX --------------------------------------------------------------------------------


def _html_cell(value: Any) -> str:
    style = ' style="text-align: left"' if isinstance(value, str) else ""
    return f"<td{style}>{html.escape(cell(value))}</td>"


def _latex_cell(value: Any) -> str:
    text = _escape(cell(value))
    return rf"\textbf{{{text}}}" if isinstance(value, Bold) else text


# The beginning of a cell with a number, or an empty one.
_NUMBER = re.compile(r"[-+−–≤<\[ .]*(\d|$)")

# Characters that are special in LaTeX, or exist only in its mathematics mode.
_LATEX = str.maketrans(
    {char: "\\" + char for char in "&%$#_{}"}
    | {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "Δ": r"$\Delta$",
        "Σ": r"$\Sigma$",
        "β": r"$\beta$",
        "ρ": r"$\rho$",
        "τ": r"$\tau$",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "<": "$<$",
        ">": "$>$",
        "|": "$|$",
        "±": r"$\pm$",
        "·": r"$\cdot$",
        "–": "--",
        "…": r"\dots{}",
    }
)


def _escape(text: str) -> str:
    # A minus before a number is not a hyphen.
    return re.sub(r"(?<![\w.-])-(?=[\d.])", "$-$", text.translate(_LATEX))
