"""Tables in files.

A table has a header, and rows whose cells are separated by commas, semicolons or tabs. One set of rules holds
for every table. Names of columns are unique, and columns without a name, such as the
index that pandas writes, are left out. Cells are quoted as in CSV, strictly. If quotation marks cannot be
quoting, they belong to the text (`_has_plain_marks`). Where semicolons separate cells, commas are decimal.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from learnedgec.data.text import check_no_json, open_text
from learnedgec.errors import FormatError, InputWarning, warn_of_inputs
from learnedgec.runtime.files import PathLike

NO_RANK = -1
"""The rank that Appraise and others write if a judge left it blank."""

_MISSING = frozenset(("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "None"))

_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}

# Excel reads the separator from a line before the header.
_SEPARATOR_LINE = re.compile(r"sep=.?", re.IGNORECASE)

# In a table of fewer rows, a column of consecutive numbers may rate the rows instead of counting them.
_MIN_COUNTED_ROWS = 6

_NUMBER = re.compile(r"-?\d+([.,]\d+)?")

# A column without a name; pandas gives it one of these names.
_UNNAMED = re.compile(r"(Unnamed: \d+|__index_level_\d+__)?")


class _DecimalComma(str):
    """A cell such as `3,5` of a table whose commas are decimal."""

    def __float__(self) -> float:
        return float(self.replace(",", "."))


def read_table(
    path: PathLike,
    delimiter: str = "",
    required: Sequence[str] = (),
    known: Iterable[str] | None = None,
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (`file:line`, column -> cell) for each row; with required columns, empty rows are left out.

    Args:
        path: a file, a `.gz` file or `-` for standard input.
        delimiter: the separator of cells; by default, the comma, semicolon or tab that fits the header. A
            notice names the separator if the file's suffix implies another.
        required: columns that the header must have.
        known: further columns that are read; a notice names all others. By default, all are read.

    Raises:
        InputError: the file is missing, a directory or unreadable.
        FormatError: the file is not UTF-8, two columns have one name, a required column is not in the header,
            a quotation mark breaks the rules of CSV, or a row has more or fewer cells than the header.
    """
    name = os.fspath(path)
    with open_text(path, None) as opened:
        file = opened if opened.seekable() else io.StringIO(opened.read())
        check_no_json(file.readline(), name)
        delimiter = delimiter or _recognise_separator(file, name, required)
        header = _header(file, name, delimiter)
        check_columns(f"{name}:1", header, required, known)
        columns = [(place, column) for place, column in enumerate(header) if is_named(column)]
        quoting = csv.QUOTE_NONE if _has_plain_marks(file, name, delimiter) else csv.QUOTE_MINIMAL
        rows = _rows(file, name, delimiter, quoting)
        next(rows, None)
        for place, cells in rows:
            if len(cells) != len(header):
                raise FormatError(
                    f"{place}: {len(header)} columns were expected, as in the header, not {len(cells)}."
                )
            # Spreadsheets leave empty rows below a table.
            if required and not any(cells):
                continue
            if delimiter == ";":
                cells = [_DecimalComma(cell) if _NUMBER.fullmatch(cell) else cell for cell in cells]
            yield place, {column: cells[number] for number, column in columns}


def is_named(column: str) -> bool:
    """Return whether a column has a name; an index that pandas wrote has none."""
    return not _UNNAMED.fullmatch(column)


def check_columns(
    place: str, header: Sequence[str], required: Iterable[str], known: Iterable[str] | None = None
) -> None:
    """Raise `FormatError` if a column is missing or repeated, and warn of columns that are not read.

    Args:
        place: the start of the message, such as `file:1`.
        header: names of all columns.
        required: columns that the header must have.
        known: further columns that are read; by default, all.
    """
    for column, count in Counter(filter(is_named, header)).items():
        if count > 1:
            raise FormatError(
                f"{place}: {count} columns are named {column!r}; give each a name of its own. (Those of "
                f"several raters can then be named in data.columns: {{{column}: [{column}_1, {column}_2]}}.)"
            )
    check_required(place, header, required)
    read = set(header if known is None else (*required, *known))
    if ignored := [
        column or f"number {number} (no name)"
        for number, column in enumerate(header, 1)
        if column not in read or not is_named(column)
    ]:
        names = ", ".join(ignored)[:200]
        warn_of_inputs(InputWarning(f"{place}: columns that are not read: {names}."))


def check_required(place: str, columns: Collection[str], required: Iterable[str]) -> None:
    """Raise `FormatError` if a required column, or key of a record, is missing; see `check_columns`."""
    if missing := [column for column in required if column not in columns]:
        names = ", ".join(filter(None, columns))[:200]
        raise FormatError(
            f"{place}: no column {missing[0]!r}; found {names or 'nothing'}. Rename a "
            "column, or say what it is called ",
            hint=f"by columns={{{missing[0]!r}: NAME}}.",
            flag="by --columns, or under data.columns of a training configuration.",
        )


def _rows(
    file: TextIO, name: str, delimiter: str, quoting: int = csv.QUOTE_MINIMAL
) -> Iterator[tuple[str, list[str]]]:
    """Yield (`file:line`, cells) of the header and each row, without blank lines."""
    file.seek(0)
    reader = csv.reader(file, delimiter=delimiter, quoting=quoting, strict=True)  # type: ignore[arg-type]
    line = 1
    try:
        for cells in reader:
            if cells and not (line == 1 and _SEPARATOR_LINE.fullmatch(delimiter.join(cells))):
                yield f"{name}:{line}", cells
            line = reader.line_num + 1
    except csv.Error as error:
        if "field limit" in str(error):
            raise FormatError(
                f"{name}:{line}: a cell has more than {csv.field_size_limit():,} characters; split it, or "
                "look for a quotation mark before it that is never closed."
            ) from None
        raise FormatError(
            f"{name}:{line}: a quotation mark breaks the rules of CSV ({error}); enclose the whole cell in "
            'quotation marks and double those inside (""), or write JSON Lines.'
        ) from None


def _header(file: TextIO, name: str, delimiter: str) -> list[str]:
    """Return the names of the columns."""
    for _, cells in _rows(file, name, delimiter):
        return [cell.strip() for cell in cells]
    return []


def _recognise_separator(file: TextIO, name: str, required: Iterable[str]) -> str:
    """Return a separator by which the header has all required columns, or else the most columns."""
    expected = "\t" if name.removesuffix(".gz").lower().endswith(".tsv") else ","
    headers: dict[str, list[str]] = {}
    for delimiter in (expected, *_SEPARATORS):
        try:
            headers.setdefault(delimiter, _header(file, name, delimiter))
        except FormatError:
            headers[delimiter] = []
    columns = frozenset(required)
    separator = max(headers, key=lambda key: (columns <= {*headers[key]}, len(headers[key])))
    if columns and columns <= {*headers[expected]}:
        return expected
    if separator != expected:
        decimal = "; 3,5 is read as 3.5" if separator == ";" else ""
        warn_of_inputs(
            InputWarning(
                f"{name}: cells are separated by {_SEPARATORS[separator]}, not "
                f"{_SEPARATORS[expected]}{decimal}."
            )
        )
    return separator


def _has_plain_marks(file: TextIO, name: str, delimiter: str) -> bool:
    r"""Return whether the quotation marks around cells belong to the text instead of quoting it.

    The marks quote cells if a row would otherwise have another number of cells, if the name of a column or
    all cells of a column are in marks, or if a cell has a doubled mark. Otherwise, the marks are text if a
    cell lacks the closing mark or has spaces inside both marks (`" Yes . "`, a tokenised quotation), or if
    tabs separate the cells and only some cells of a column have marks.
    """
    rows = _rows(file, name, delimiter, csv.QUOTE_NONE)
    _, header = next(rows, ("", []))
    if any(cell.startswith('"') for cell in header):
        return False
    bare, tight, padded, is_unclosed = set[int](), set[int](), set[int](), False
    for _, cells in rows:
        if len(cells) != len(header):
            return False
        for column, cell in enumerate(cells):
            if not cell.startswith('"'):
                if cell not in _MISSING and not _NUMBER.fullmatch(cell):
                    bare.add(column)
            elif len(cell) < 2 or not cell.endswith('"'):
                is_unclosed = True
            elif '""' in cell[1:-1]:
                return False
            elif len(cell) > 4 and cell[1] == cell[-2] == " ":
                padded.add(column)
            else:
                tight.add(column)
    if tight - bare:
        return False
    return is_unclosed or bool(padded - tight) or (delimiter == "\t" and bool(padded | tight))


# -- columns ---------------------------------------------------------------------------------------


class RowCounts:
    """Finds numeric columns that only count the rows of a table, so that they are no ratings."""

    def __init__(self) -> None:
        self._rows = 0
        self._names: set[str] = set()
        self._last: Mapping[str, float] = {}

    def add(self, values: Mapping[str, float]) -> None:
        """Add the numbers of the next row: column -> number."""
        self._last = {
            name: value
            for name, value in values.items()
            if (value in (0, 1) if self._rows == 0 else self._last.get(name) == value - 1)
        }
        self._rows += 1
        self._names.update(values)

    def check(self, name: str) -> None:
        """Raise `FormatError` if one of several columns counts the rows, and there are enough rows to tell.

        Args:
            name: the table, for the message.
        """
        if self._last and self._rows >= _MIN_COUNTED_ROWS and len(self._names) > 1:
            column = next(iter(self._last))
            raise FormatError(
                f"{name}: the column {column[:60]!r} counts the rows, so it is no rating; name it 'index', "
                "or name the ratings in data.columns."
            )


# -- cells -----------------------------------------------------------------------------------------


def number_in(cell: Any, column: str, place: str) -> float | None:
    """Return the number that a cell holds, or `None` if it is empty or a word such as `NA`.

    Args:
        cell: its value.
        column: the column's name, for messages.
        place: `file:line`.

    Raises:
        FormatError: it is not a finite number.

    Example:
        >>> number_in("3.5", "fluency", "ratings.csv:2"), number_in("n/a", "fluency", "ratings.csv:3")
        (3.5, None)
    """
    if str(cell).strip() in _MISSING:
        return None
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise FormatError(
            f"{place}: the column {column[:60]!r} must hold a number, not {str(cell)[:60]!r}; leave the cell "
            "empty if there is none. (If the column is no rating, name those that are in data.columns.)"
        )
    return number


def rank_in(cell: Any, column: str, place: str) -> float | None:
    """Return the rank that a cell holds, from 1, or `None` if it is empty or -1.

    Args:
        cell: its value.
        column: the column's name, for messages.
        place: `file:line`.

    Raises:
        FormatError: the cell holds anything else.
    """
    rank = number_in(cell, column, place)
    if rank is None or rank == NO_RANK:
        return None
    if rank < 1:
        raise FormatError(
            f"{place}: the column {column[:60]!r} must hold a rank of at least 1, not {str(cell)[:60]!r}; "
            f"{NO_RANK} or an empty cell means none."
        )
    return rank


def whole_number(text: str, below: int, place: str) -> int:
    """Return the whole number that a cell holds.

    Args:
        text: the cell.
        below: the number must be smaller.
        place: the start of the message, such as file, row and column.

    Raises:
        FormatError: the cell holds anything but a number from 0 to `below` - 1.
    """
    if not (text.isdecimal() and len(text) < 10 and int(text) < below):
        raise FormatError(f"{place} is {text[:60]!r}; a number from 0 to {below - 1} was expected.")
    return int(text)
