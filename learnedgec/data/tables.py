"""CSV and TSV tables with a header, row by row, each with its place for error messages."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator

from learnedgec.data.text import read_text
from learnedgec.errors import FormatError
from learnedgec.runtime.writing import PathLike

__all__ = ["read_table", "sentence_number", "short_integer", "whole_number"]


def read_table(
    path: PathLike, delimiter: str = ",", required: Iterable[str] = ()
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (`file:line`, column -> cell) for each row; cells may be quoted, `""` being one quotation mark.

    A cell has at most 131,072 characters.

    Args:
        path: a file, a `.gz` file or `-` for standard input.
        delimiter: what separates cells: a comma, or a tab in TSV.
        required: columns that the header must have.

    Raises:
        InputError: the file is missing, a directory or unreadable.
        FormatError: the file is not UTF-8, a required column is not in the header, or a row has more or
            fewer cells than the header.
    """
    name = os.fspath(path)
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), delimiter=delimiter)
    try:
        header = reader.fieldnames or ()
        for column in required:
            if column not in header:
                raise FormatError(
                    f"{name}:1: no column {column!r} in the header; found "
                    f"{', '.join(header)[:200] or 'nothing'}."
                )
        for record in reader:
            place = f"{name}:{reader.line_num}"
            if None in record or None in record.values():
                raise FormatError(
                    f"{place}: {len(header)} columns were expected, as in the header."
                )
            yield place, record
    except csv.Error as error:
        raise FormatError(
            f"{name}:{reader.line_num}: not a table ({error}); is a quotation mark not closed?"
        ) from None


def short_integer(text: str) -> int:
    """Return an integer of at most nine digits, or raise `ValueError`.

    Example:
        >>> short_integer("-12")
        -12
    """
    if not re.fullmatch(r"-?[0-9]{1,9}", text.strip()):
        raise ValueError(f"{text[:20]!r} is not an integer of at most nine digits")
    return int(text)


def whole_number(text: str, place: str, below: int) -> int:
    """Return a number from 0 to `below` - 1, or raise `FormatError` starting with `place`.

    Args:
        text: text of the cell.
        place: file and line, for the message.
        below: upper bound, which is excluded.
    """
    if not (re.fullmatch(r"[0-9]{1,9}", text) and int(text) < below):
        raise FormatError(f"{place} is {text[:60]!r}; a number from 0 to {below - 1} was expected.")
    return int(text)


def sentence_number(text: str, sentences: int, place: str) -> int:
    """Return the `id` cell of a row: the number of one of the sources, from 0.

    Args:
        text: text of the cell.
        sentences: number of sources.
        place: file and line, for the message.

    Raises:
        FormatError: the cell holds no such number.
    """
    return whole_number(text, f"{place}: 'id'", sentences)
