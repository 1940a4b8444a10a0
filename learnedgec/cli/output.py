"""Results on stdout as a table, CSV, TSV, LaTeX or JSON; notices on stderr."""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli.table import Layout, Strong, format_table, renaming, text_of, value_of
from learnedgec.cli.terminal import folded, width_of
from learnedgec.errors import InputError
from learnedgec.execution.progress import QUIET
from learnedgec.execution.writing import check_writable
from learnedgec.formats.rows import Row, columns_of, plain
from learnedgec.formats.text import write_text
from learnedgec.metrics.labels import is_sentinel, short_labels

__all__ = [
    "FORMATS",
    "add_output_arguments",
    "emit",
    "about_bold",
    "add_quiet_argument",
    "notice",
    "remark",
    "shows_bold",
    "with_format",
    "with_notes",
    "write_result",
]

FORMATS = ("table", "json", "csv", "tsv", "latex")

# The format that a file's suffix stands for.
_SUFFIXES = {".json": "json", ".csv": "csv", ".tsv": "tsv", ".tex": "latex"}

# Rules, absent values and bounds, for terminals that lack the characters.
_PLAIN = str.maketrans({"─": "-", "–": "-", "≤": "<=", "Δ": "D", "±": "+-"})


def add_output_arguments(parser: ArgumentParser, formats: Sequence[str] = FORMATS) -> None:
    """Add `--format`, of which the first is the default, `--out` and, where tables are printed, `--wide`."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format",
        choices=formats,
        help="output format (default: that of the suffix of --out, .json, .csv, .tsv or .tex, else "
        f"{formats[0]})",
    )
    group.add_argument("--out", type=str, default="-", help="output file; -: stdout")
    if "table" in formats:
        group.add_argument(
            "--wide",
            action="store_true",
            help="show every column, in one table of any width",
        )


def add_quiet_argument(add_argument: Callable[..., object]) -> None:
    """Add `--quiet`, which means the same in every command, by a parser's method or a group's."""
    add_argument("--quiet", action="store_true", help=QUIET)


def with_format(
    options: Namespace, formats: Sequence[str] = FORMATS, *, table: bool = True
) -> Namespace:
    """Return the options with a format where none was given: that of the file's suffix, else the first.

    Args:
        options: with `format` and `out`.
        formats: those that the command knows.
        table: whether results are rows; other text may go to a file with any suffix.

    Raises:
        InputError: the file's suffix stands for no format, and its content would be a table.
        OutputError: the file could not be written.
    """
    if options.format is None:
        suffix = Path(options.out.removesuffix(".gz")).suffix.lower()
        if suffix not in ("", ".txt", *_SUFFIXES) and table and formats[0] == "table":
            raise InputError(
                f"the suffix of {options.out} stands for no format; use .json, .csv, .tsv, .tex (LaTeX) or "
                ".txt (a table), or choose one with --format."
            )
        named = _SUFFIXES.get(suffix, "")
        options.format = named if named in formats else formats[0]
    # Now, and not after hours of work.
    if options.out != "-":
        check_writable(options.out)
    return options


def write_result(text: str, out: str, *, quiet: bool = False) -> None:
    """Write a result to stdout (`-`), or to a file with a notice that names it."""
    write_text(out, text)
    if out != "-" and not quiet:
        notice(f"wrote {out}")


def shows_bold(options: Namespace) -> bool:
    """Return whether the reader sees `Strong` values in a table."""
    return bool(options.format == "table" and options.out == "-" and sys.stdout.isatty())


def about_bold(meaning: str, metrics: Sequence[str]) -> str:
    """Return the meaning of bold scores, and which metrics have none; nothing if all are sentinels.

    Args:
        meaning: one sentence.
        metrics: the metrics' labels.
    """
    sentinels = [metric for metric in metrics if is_sentinel(metric)]
    if len(sentinels) == len(metrics):
        return ""
    return meaning + (f" None for the sentinels ({', '.join(sentinels)})." if sentinels else "")


def remark(message: str, options: argparse.Namespace, *, whole: bool = False) -> None:
    """Print a remark on stderr, such as a legend or a file's name, unless `--quiet` was given.

    Args:
        message: one or more sentences.
        options: with `quiet`.
        whole: whether it stays one line on a terminal, to be copied.
    """
    if not options.quiet:
        notice(message, whole=whole)


def notice(message: str, *, whole: bool = False) -> None:
    """Print an important notice on stderr, such as why a result is invalid, even with `--quiet`.

    A closed stderr is not an error.

    Args:
        message: one or more sentences.
        whole: whether it stays one line on a terminal, to be copied.
    """
    with contextlib.suppress(OSError):
        print(message if whole else folded(message, sys.stderr), file=sys.stderr)


def emit(
    rows: Sequence[Row],
    options: argparse.Namespace | None = None,
    *,
    payload: Any = None,
    title: str = "",
    caption: str = "",
    table_rows: Sequence[Row] | None = None,
    latex_rows: Sequence[Row] | None = None,
    layout: Layout = Layout(),
    notes: Sequence[str] = (),
    signatures: Iterable[str] = (),
) -> None:
    """Print results; notes go to stderr below a table, or into the file with it.

    Args:
        rows: one mapping per line, column name to value; rows may lack columns.
        options: with the `format`, one of `FORMATS`, and perhaps `out`, a path or `-` for stdout, and
            `wide` and `quiet`; a table on stdout if absent.
        payload: what `json` prints instead of the rows.
        title: the line above the table.
        caption: of the table in LaTeX, the title if absent.
        table_rows: rows for readers (`table`, `latex`) where they differ from those for programs; values
            may be `Strong`.
        latex_rows: rows for `latex` where they differ from those of the table.
        layout: how the table may be folded on a terminal; its names of metrics are short in LaTeX, with the
            whole ones below the table.
        notes: sentences below a table, such as the meaning of its columns.
        signatures: of the scores, one each line below them; comments in LaTeX.
    """
    chosen: dict[str, Any] = {"format": "table", "out": "-", "wide": False, "quiet": False}
    chosen |= vars(options) if options else {}
    format, out = chosen["format"], chosen["out"]  # noqa: A001 - the option's name
    shown = rows if table_rows is None else table_rows
    signatures = list(dict.fromkeys(signatures))
    if format == "json":
        text = json.dumps(plain(rows if payload is None else payload), indent=2, ensure_ascii=False)
        text += "\n"
    elif format in ("csv", "tsv"):
        text = _separated(rows, "," if format == "csv" else "\t")
    elif format == "latex":
        names = short_labels(layout.names)
        chosen_rows = shown if latex_rows is None else latex_rows
        text = _latex([renaming(names)(row) for row in chosen_rows], caption or title, names)
        text += "".join(f"% {signature}\n" for signature in signatures)
    else:
        text = _table(shown, title, out, layout, wide=chosen["wide"])
        text = with_notes(text, out, notes, signatures)
    write_result(text, out, quiet=chosen["quiet"])
    if format in ("table", "latex") and not chosen["quiet"]:
        for note in notes:
            notice(note)
        for signature in signatures:
            notice(signature, whole=True)


def with_notes(text: str, out: str, notes: Sequence[str], signatures: Sequence[str]) -> str:
    """Return a text with its notes below it if it goes to a file, where stderr does not follow it."""
    below = [*notes, *signatures]
    return "\n".join([text, *below, ""]) if below and out != "-" else text


def _separated(rows: Sequence[Row], delimiter: str) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(
        buffer, columns_of(rows), delimiter=delimiter, lineterminator="\n", restval=""
    )
    writer.writeheader()
    writer.writerows([{key: plain(value) for key, value in row.items()} for row in rows])
    return buffer.getvalue()


def _latex(rows: Sequence[Row], caption: str, names: Mapping[str, str]) -> str:
    """Return a booktabs table; numbers to the right, and below it what short names stand for."""
    columns = columns_of(rows)
    numeric = [
        all(isinstance(value_of(row.get(c)), int | float | None) for row in rows) for c in columns
    ]
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"  \centering",
        r"  \begin{tabular}{" + "".join("r" if number else "l" for number in numeric) + "}",
        r"    \toprule",
        "    " + " & ".join(_escape(column) for column in columns) + r" \\",
        r"    \midrule",
        *(
            "    " + " & ".join(_latex_cell(row.get(column)) for column in columns) + r" \\"
            for row in rows
        ),
        r"    \bottomrule",
        r"  \end{tabular}",
        *(
            rf"  \par\smallskip{{\footnotesize {_escape(short)}: \texttt{{{_escape(name)}}}}}"
            for name, short in names.items()
            if short != name
        ),
        *([rf"  \caption{{{_escape(caption)}}}"] if caption else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_cell(value: Any) -> str:
    text = _escape(text_of(value))
    return rf"\textbf{{{text}}}" if isinstance(value, Strong) else text


# Characters that are special in LaTeX, or exist only in its mathematics mode.
_LATEX = {char: "\\" + char for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "Δ": r"$\Delta$",
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

# A minus before a number is not a hyphen.
_MINUS = re.compile(r"(?<![\w.-])-(?=[\d.])")


def _escape(text: str) -> str:
    found = "".join(_LATEX.get(char, char) for char in text)
    return _MINUS.sub("$-$", found)


def _table(rows: Sequence[Row], title: str, out: str, layout: Layout, *, wide: bool) -> str:
    """Return a table: in colour on a terminal, and folded to its width or to COLUMNS; else unfolded."""
    shown = out == "-"
    width = width_of(sys.stdout) if shown and not wide else None
    text = format_table(rows, layout, width, colour=shown and sys.stdout.isatty())
    if title:
        text = f"{folded(title, sys.stdout) if shown else title}\n{text}"
    try:
        text.encode("utf-8" if out != "-" else sys.stdout.encoding or "utf-8", "surrogatepass")
    except UnicodeEncodeError:
        return text.translate(_PLAIN)
    return text
