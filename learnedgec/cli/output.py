"""Results on stdout as a table, CSV, TSV, LaTeX or JSON; notices on stderr."""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli.table import Bold, format_table, text_of, value_of, with_names
from learnedgec.data.rows import Row, columns_of, plain
from learnedgec.data.text import write_text
from learnedgec.errors import InputError
from learnedgec.metrics.labels import is_sentinel, short_labels
from learnedgec.plotting.style import check_plotting
from learnedgec.runtime.progress import QUIET
from learnedgec.runtime.writing import check_writable

__all__ = [
    "FORMATS",
    "add_output_arguments",
    "add_quiet_argument",
    "emit",
    "emit_text",
    "explain_bold",
    "notice",
    "remark",
    "shows_bold",
    "tell_written",
    "with_format",
]

FORMATS = ("table", "json", "csv", "tsv", "latex")

# The format that a file's suffix stands for.
_SUFFIXES = {".json": "json", ".csv": "csv", ".tsv": "tsv", ".tex": "latex"}


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
            "--wide", action="store_true", help="show every column, in one table of any width"
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
        formats: those of the command.
        table: whether results are rows; other text may go to a file with any suffix.

    Raises:
        InputError: the file's suffix stands for no format, and its content would be a table.
        OutputError: the file, or figures, could not be written.
        MissingDependencyError: figures were asked for, and what draws them is not installed.
    """
    if options.format is None:
        suffix = Path(options.out.removesuffix(".gz")).suffix.lower()
        if suffix not in ("", ".txt", *_SUFFIXES) and table and formats[0] == "table":
            raise InputError(
                f"the suffix of {options.out} stands for no format; use .json, .csv, .tsv, .tex (LaTeX) or "
                ".txt (a table), or choose one with --format."
            )
        format_of_suffix = _SUFFIXES.get(suffix, "")
        options.format = format_of_suffix if format_of_suffix in formats else formats[0]
    # Now, and not after hours of work.
    if options.out != "-":
        check_writable(options.out)
    if options.get("plot"):
        check_plotting(options.plot)
    return options


def shows_bold(options: Namespace) -> bool:
    """Return whether the reader sees `Bold` values in a table."""
    return bool(options.format == "table" and options.out == "-" and sys.stdout.isatty())


def explain_bold(meaning: str, metrics: Sequence[str]) -> str:
    """Return the meaning of bold scores, and which metrics have none; nothing if all are sentinels.

    Args:
        meaning: one sentence.
        metrics: the metrics' labels.
    """
    sentinels = [metric for metric in metrics if is_sentinel(metric)]
    if len(sentinels) == len(metrics):
        return ""
    return meaning + (f" None for the sentinels ({', '.join(sentinels)})." if sentinels else "")


def notice(message: str) -> None:
    """Print an important notice on stderr, such as why a result is invalid, even with `--quiet`."""
    print(message, file=sys.stderr)


def remark(message: str, options: argparse.Namespace) -> None:
    """Print a remark on stderr, such as a legend or a file's name, unless `--quiet` was given."""
    if not options.quiet:
        notice(message)


def tell_written(paths: Iterable[object], options: argparse.Namespace) -> None:
    """Print the name of each file that was written, unless `--quiet` was given."""
    for path in paths:
        remark(f"wrote {path}", options)


def emit(
    rows: Sequence[Row],
    options: argparse.Namespace | None = None,
    *,
    payload: Any = None,
    title: str = "",
    caption: str = "",
    table_rows: Sequence[Row] | None = None,
    latex_rows: Sequence[Row] | None = None,
    groups: Sequence[str] = (),
    metrics: Sequence[str] = (),
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
            may be `Bold`.
        latex_rows: rows for `latex` where they differ from those of the table.
        groups: columns whose values become headings where the table is wider than the terminal.
        metrics: labels of metrics, as columns or cells, that are short in such a table and in LaTeX.
        notes: sentences below a table, such as the meaning of its columns.
        signatures: of the scores, one each line below them; comments in LaTeX.
    """
    chosen: dict[str, Any] = {"format": "table", "out": "-", "wide": False, "quiet": False}
    chosen |= vars(options) if options else {}
    for_readers = rows if table_rows is None else table_rows
    lines = [*notes, *dict.fromkeys(signatures)]
    if chosen["format"] == "json":
        content = plain(rows if payload is None else payload)
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    elif chosen["format"] in ("csv", "tsv"):
        text = _separated(rows, "," if chosen["format"] == "csv" else "\t")
    elif chosen["format"] == "latex":
        names = short_labels(metrics)
        cells = with_names(for_readers if latex_rows is None else latex_rows, names)
        text = _latex(cells, caption or title, names)
        text += "".join(f"% {signature}\n" for signature in lines[len(notes) :])
    else:
        terminal = chosen["out"] == "-" and sys.stdout.isatty()
        width = None if chosen["wide"] or not terminal else shutil.get_terminal_size().columns
        text = f"{title}\n" if title else ""
        text += format_table(for_readers, width, groups=groups, metrics=metrics, colour=terminal)
    emit_text(
        text, argparse.Namespace(**chosen), lines if chosen["format"] in ("table", "latex") else ()
    )


def emit_text(text: str, options: argparse.Namespace, lines: Sequence[str] = ()) -> None:
    """Print a text, with lines about it on stderr; or write both to a file.

    Args:
        text: the result.
        options: with `format`, `out` and `quiet`.
        lines: notes and signatures.
    """
    in_file = options.out != "-"
    below = in_file and options.format == "table" and lines
    write_text(options.out, "\n".join([text, *lines, ""]) if below else text)
    if not options.quiet:
        for line in [f"wrote {options.out}"] * in_file + list(lines):
            notice(line)


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
    body = [" & ".join(_latex_cell(row.get(column)) for column in columns) for row in rows]
    legend = [
        rf"  \par\smallskip{{\footnotesize {_escape(short)}: \texttt{{{_escape(name)}}}}}"
        for name, short in names.items()
        if short != name
    ]
    lines = [
        r"% \usepackage{booktabs}",
        r"\begin{table}",
        r"  \centering",
        r"  \begin{tabular}{" + "".join("r" if number else "l" for number in numeric) + "}",
        r"    \toprule",
        "    " + " & ".join(map(_escape, columns)) + r" \\",
        r"    \midrule",
        *(rf"    {line} \\" for line in body),
        r"    \bottomrule",
        r"  \end{tabular}",
        *legend,
        *([rf"  \caption{{{_escape(caption)}}}"] if caption else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_cell(value: Any) -> str:
    text = _escape(text_of(value))
    return rf"\textbf{{{text}}}" if isinstance(value, Bold) else text


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
    return _MINUS.sub("$-$", "".join(_LATEX.get(char, char) for char in text))
