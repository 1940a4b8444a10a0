"""Results on stdout as a table, CSV, TSV, LaTeX or JSON; notices on stderr."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import sys
from collections.abc import Sequence
from typing import Any

from jsonargparse import ArgumentParser

from learnedgec.formats.rows import Row, cell, columns_of, plain
from learnedgec.formats.text import write_text

__all__ = ["FORMATS", "add_output_arguments", "emit", "notice"]

FORMATS = ("table", "json", "csv", "tsv", "latex")


_PLAIN = str.maketrans({"─": "-", "–": "-"})


def add_output_arguments(parser: ArgumentParser, formats: Sequence[str] = FORMATS) -> None:
    """Add `--format`, of which the first is the default, and `--out`."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format", choices=formats, default=formats[0], help="how results are printed"
    )
    group.add_argument("--out", type=str, default="-", help="write results to this file; -: stdout")


def notice(message: str) -> None:
    """Print one line on stderr; nobody to read it is no reason to end."""
    with contextlib.suppress(OSError):
        print(message, file=sys.stderr)


def emit(
    rows: Sequence[Row],
    *,
    format: str,  # noqa: A002 - the option's name
    payload: Any = None,
    out: str = "-",
    title: str = "",
    table_rows: Sequence[Row] | None = None,
) -> None:
    """Print results.

    Args:
        rows: one mapping per line, column name to value; rows may lack columns.
        format: one of `FORMATS`.
        payload: what `json` prints instead of the rows.
        out: a path, or `-` for stdout.
        title: caption of the table.
        table_rows: rows for people (`table`, `latex`) where they differ from those for programs.
    """
    if format == "json":
        text = json.dumps(plain(rows if payload is None else payload), indent=2, ensure_ascii=False)
        text += "\n"
    elif format in ("csv", "tsv"):
        text = _separated(rows, "," if format == "csv" else "\t")
    elif format == "latex":
        text = _latex(rows if table_rows is None else table_rows, title)
    else:
        text = _table(rows if table_rows is None else table_rows, title, out)
    write_text(out, text)


def _separated(rows: Sequence[Row], delimiter: str) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(
        buffer, columns_of(rows), delimiter=delimiter, lineterminator="\n", restval=""
    )
    writer.writeheader()
    writer.writerows([{key: plain(value) for key, value in row.items()} for row in rows])
    return buffer.getvalue()


def _latex(rows: Sequence[Row], title: str) -> str:
    """Return a booktabs table; numbers to the right."""
    columns = columns_of(rows)
    numeric = [all(isinstance(row.get(c), int | float | None) for row in rows) for c in columns]
    lines = [
        r"\begin{table}",
        r"  \centering",
        r"  \begin{tabular}{" + "".join("r" if number else "l" for number in numeric) + "}",
        r"    \toprule",
        "    " + " & ".join(_escape(column) for column in columns) + r" \\",
        r"    \midrule",
        *(
            "    " + " & ".join(_escape(cell(row.get(column))) for column in columns) + r" \\"
            for row in rows
        ),
        r"    \bottomrule",
        r"  \end{tabular}",
        *([rf"  \caption{{{_escape(title)}}}"] if title else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    specials = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    specials |= {char: "\\" + char for char in "&%$#_{}"}
    return "".join(specials.get(char, char) for char in text)


def _table(rows: Sequence[Row], title: str, out: str) -> str:
    """Return a plain table as wide as it needs to be, coloured on a terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    columns = columns_of(rows)
    table = Table(box=SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for column in columns:
        number = all(not isinstance(row.get(column), str) for row in rows)
        table.add_column(Text(column), justify="right" if number else "left", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell(row.get(column))) for column in columns))
    terminal = out == "-" and sys.stdout.isatty()
    buffer = io.StringIO()
    console = Console(file=buffer, force_terminal=terminal, width=1000, legacy_windows=False)
    console.print(table)
    lines = [line.rstrip() for line in buffer.getvalue().splitlines() if line.strip()]
    text = "\n".join(lines) + "\n"
    try:
        text.encode("utf-8" if out != "-" else sys.stdout.encoding or "utf-8", "surrogatepass")
    except UnicodeEncodeError:
        # A terminal without the characters of rules and absent values.
        return text.translate(_PLAIN)
    return text
