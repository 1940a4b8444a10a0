"""Results on stdout as a table, CSV, TSV, LaTeX or JSON; notices on stderr."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from itertools import accumulate, groupby, zip_longest
from pathlib import Path
from typing import Any

from jsonargparse import Namespace

from learnedgec.cli.terms import explain_terms
from learnedgec.data.catalog.files import cache_folder
from learnedgec.data.tables import Row, aligned, cell, columns_of, display_width, plain
from learnedgec.data.text import check_no_workbook, write_text
from learnedgec.errors import InputError, OutputError
from learnedgec.metrics.scores import short_labels
from learnedgec.plotting import check_plotting
from learnedgec.runtime.files import check_writable, key_of

FORMATS = ("table", "json", "csv", "tsv", "latex")

# Flags about what is shown of a table, and below it.
_BELOW = {
    "wide": "show every column, in one table of any width",
    "notes": "explain below the table what its columns mean",
    "signatures": "print the scores' signatures below the table",
}

# The width of a table that no terminal shows.
_WIDTH = 100

# What no line break divides: a word, an interval or a p-value.
_WORD = re.compile(r"(?:\[[^]]*\]|\bp [<≤=] |\S)+")

# What marks the results of a metric on sentences that it was tuned or trained on, and what it means.
TUNED_MARK = "*"
TUNED_NOTE = (
    f"{TUNED_MARK} tuned on sentences of this benchmark: no evidence, unlike its held-out folds"
)
TRAINED_MARK = "†"
TRAINED_NOTE = f"{TRAINED_MARK} trained on data of this benchmark: no evidence for other texts"

# The format that a file's suffix stands for.
_SUFFIXES = {".json": "json", ".csv": "csv", ".tsv": "tsv", ".tex": "latex"}


class Bold(float):
    """A number that is bold in LaTeX."""


# -- options ---------------------------------------------------------------------------------------


def add_output_flags(
    parser: Any, formats: Sequence[str] = FORMATS, *, explained: bool = False
) -> None:
    """Add `--format` (default: the first of `formats`), `--out` and, for tables, what is shown of them."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format",
        choices=formats,
        help="output format (default: that of the suffix of --out, .json, .csv, .tsv or .tex, else "
        f"{formats[0]})",
    )
    group.add_argument("--out", type=str, default="-", help="output file; -: stdout")
    if "table" in formats:
        for flag, about in _BELOW.items():
            if explained or flag == "wide":
                group.add_argument(f"--{flag}", action="store_true", help=about)


def with_format(options: Namespace, formats: Sequence[str] = FORMATS) -> Namespace:
    """Set `--format`, if absent, by the suffix of `--out`, and check that the output can be written.

    Args:
        options: with `format` and `out`; it is changed and returned.
        formats: the command's formats, the default first.

    Raises:
        InputError: the file's folder does not exist.
        OutputError: the file, or figures, could not be written.
        MissingDependencyError: figures were asked for, and what draws them is not installed.
    """
    if options.format is None:
        suffix = Path(options.out.removesuffix(".gz")).suffix.lower()
        format_of_suffix = _SUFFIXES.get(suffix)
        options.format = format_of_suffix if format_of_suffix in formats else formats[0]
    check_out(options.out)
    if options.get("plot"):
        check_plotting(options.plot)
    return options


def check_out(path: str) -> None:
    """Fail now rather than after hours of work if an output file cannot be written.

    Raises:
        InputError: its folder does not exist, or it is a workbook.
        OutputError: it cannot be written.
    """
    if path == "-":
        return
    check_no_workbook(path, written=True)
    folder = Path(path).parent
    if not folder.exists():
        raise InputError(
            f"the folder {folder} of {path} does not exist; create it, or choose another path."
        )
    check_writable(path)


def check_free(path: Path, options: Namespace) -> None:
    """Fail now rather than after hours of work if an earlier result would be lost.

    Raises:
        OutputError: there is one, and `--overwrite` is not given.
    """
    if path.is_file() and not options.overwrite:
        raise OutputError(f"{path} exists; choose another name, or replace it with --overwrite.")


# -- messages --------------------------------------------------------------------------------------


def notice(*messages: str) -> None:
    """Print important notices on stderr, such as why a result is invalid, even with `--quiet`."""
    width = min(shutil.get_terminal_size().columns, _WIDTH)
    for message in messages:
        # A log keeps each notice on one line.
        lines = _wrapped(message, width) if sys.stderr.isatty() else [message]
        print(*lines, sep="\n", file=sys.stderr)


def notice_daily(*messages: str) -> None:
    """Print important notices that were not printed today."""
    for message in messages:
        if first_time(key_of(message), daily=True):
            notice(message)


def first_time(name: str, *, daily: bool = False) -> bool:
    """Return whether this is called for the first time with a name, or else the first time today.

    Files in the cache's folder remember it.
    """
    said = cache_folder() / "said" / name
    if said.exists() and (not daily or date.fromtimestamp(said.stat().st_mtime) == date.today()):
        return False
    with suppress(OSError):
        said.parent.mkdir(parents=True, exist_ok=True)
        said.touch()
    return True


def remark(message: str, options: Any) -> None:
    """Print a remark on stderr, such as a legend or a file's name, unless `--quiet` was given."""
    if not getattr(options, "quiet", False):
        notice(message)


def tell_written(paths: Iterable[object], options: Namespace) -> None:
    """Print the name of each file that was written, unless `--quiet` was given."""
    for path in paths:
        remark(f"wrote {path}", options)


# -- results ---------------------------------------------------------------------------------------


def emit(
    rows: Sequence[Row],
    options: Any,
    *,
    payload: Any = None,
    title: str = "",
    caption: str = "",
    table_rows: Sequence[Row] | None = None,
    latex_rows: Sequence[Row] | None = None,
    groups: Sequence[str] = (),
    metrics: Sequence[str] = (),
    conclusions: Sequence[str] = (),
    notes: Sequence[str] = (),
    signatures: Iterable[str] = (),
) -> None:
    """Print rows in the chosen format, with the conclusions below a table.

    Notes and signatures are in JSON and in every file for people; a table on stdout has them on request.

    Args:
        rows: one mapping per line, column name to value; rows may lack columns.
        options: with `format`, one of `FORMATS`, `out`, a path or `-` for stdout, and perhaps the flags about
            tables and `quiet`.
        payload: what `json` prints instead of the rows.
        title: the line above the table.
        caption: the caption of the table in LaTeX, the title if absent.
        table_rows: rows for readers (`table`, `latex`) where they differ from those for programs; values
            may be `Bold`.
        latex_rows: rows for `latex` where they differ from those of the table.
        groups: columns whose values become headings where the table is wider than the terminal, and part of
            the caption in LaTeX where they are the same in all rows.
        metrics: labels of metrics, in columns or cells, that become shorter in such a table and in LaTeX.
        conclusions: what the table says, in a sentence each.
        notes: the meaning of its columns, the tests and the like, in a sentence each.
        signatures: the signatures of the scores, one each line below them; comments in LaTeX.
    """
    table_rows = rows if table_rows is None else table_rows
    signatures = list(dict.fromkeys(signatures))
    if options.format == "table":
        width = None if getattr(options, "wide", False) else _columns(options)
        table = format_table(table_rows, width, groups=groups, metrics=metrics)
        if getattr(options, "notes", None) is not None:
            notes = [*notes, *explain_terms(table_rows, (title, *conclusions, *notes))]
        text = "\n".join(filter(None, [title, table])) + _wrapped_lines(conclusions, options)
        emit_text(text, options, notes=notes, signatures=signatures)
        return
    if options.format == "json":
        content = plain(rows if payload is None else payload)
        if isinstance(content, dict):
            said = {"conclusions": [*conclusions], "notes": [*notes]}
            content |= {name: lines for name, lines in said.items() if lines}
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    elif options.format == "latex":
        cells = table_rows if latex_rows is None else latex_rows
        text = _latex(cells, caption or title, short_labels(metrics), groups)
        text += "".join(f"% {line}\n" for line in (*conclusions, *notes, *signatures))
    else:
        text = _separated(rows, "," if options.format == "csv" else "\t")
    emit_text(text, options)


def emit_text(
    text: str, options: Any, *, notes: Sequence[str] = (), signatures: Sequence[str] = ()
) -> None:
    """Print a text, or write it to a file, with the notes and signatures that were asked for.

    Args:
        text: the result.
        options: with `format`, `out` and perhaps `notes`, `signatures` and `quiet`.
        notes: sentences about the result; a file has them in any case.
        signatures: the signatures of the scores; a file has them in any case.
    """
    to_file = options.out != "-"
    hidden = []
    for name, about, lines in (
        ("notes", "explain", _wrapped_lines(notes, options)),
        ("signatures", "signatures", "".join(f"{line}\n" for line in signatures)),
    ):
        if to_file or getattr(options, name, False):
            text += lines
        elif lines:
            hidden.append(f"{about}: --{name}")
    write_text(options.out, text)
    if to_file:
        remark(f"wrote {options.out}", options)
    if hidden:
        remark("; ".join(hidden), options)


def _columns(options: Any) -> int:
    """Return the width of what shows the result."""
    terminal = options.out == "-" and sys.stdout.isatty()
    return shutil.get_terminal_size().columns if terminal else _WIDTH


def _wrapped_lines(sentences: Iterable[str], options: Any) -> str:
    """Return each sentence on lines of its own, none wider than what shows the result."""
    width = min(_columns(options), _WIDTH)
    return "".join(f"{line}\n" for text in sentences for line in _wrapped(text, width))


def _wrapped(text: str, width: int) -> list[str]:
    """Return a text on lines of this width, which break at spaces."""
    lines: list[str] = []
    for word in _WORD.findall(text):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and display_width(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines or [""]


def _separated(rows: Sequence[Row], delimiter: str) -> str:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, columns_of(rows), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(plain(rows))
    return buffer.getvalue()


def _renamed(rows: Sequence[Row], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows with other names for columns and cells."""

    def name_of(value: Any) -> Any:
        return names.get(value, value) if isinstance(value, str) else value

    return [{name_of(key): name_of(value) for key, value in row.items()} for row in rows]


# -- tables for readers ----------------------------------------------------------------------------


def format_table(
    rows: Sequence[Row],
    width: int | None = None,
    *,
    groups: Sequence[str] = (),
    metrics: Sequence[str] = (),
) -> str:
    """Return a table for readers; one that is wider than the terminal is narrowed.

    It has short names of metrics and wraps at words. If that is not enough, its columns are divided between
    tables that all have the first one.

    Args:
        rows: one mapping per line, column name to value, which may be `Bold`; rows may lack columns.
        width: the terminal's width; `None` if the table may have any width.
        groups: columns whose values become headings if the table is wider.
        metrics: labels of metrics, in columns or cells, that become shorter if the table is wider.

    Example:
        >>> print(format_table([{"system": "ours", "F": 0.5}, {"system": "theirs"}]))
         system        F
         ───────────────
         ours     0.5000
         theirs
        <BLANKLINE>
    """
    room = width or sys.maxsize
    lines = _lines(rows)
    legend: dict[str, str] = {}
    if not _fits(lines, room):
        legend = {name: short for name, short in short_labels(metrics).items() if name != short}
        rows = _renamed(rows, legend)
        lines = _lines(rows)

    def heading_of(row: Row) -> str:
        texts = {group: cell(row.get(group)) for group in groups}
        return ", ".join(f"{group} {text}" for group, text in texts.items() if text)

    if not _fits(lines, room):
        lines = []
        for heading, part in groupby(rows, heading_of):
            ungrouped = [{k: row[k] for k in row if k not in groups} for row in part]
            lines += [heading, *_narrowed(ungrouped, room)]
    lines = [*filter(str.strip, lines), *(f" {short}: {name}" for name, short in legend.items())]
    return "\n".join(lines) + "\n"


def _fits(lines: Sequence[str], room: int) -> bool:
    """Return whether a table, which is as wide as its rule, leaves a space at the right."""
    return len(lines[1]) < room


def _narrowed(rows: Sequence[Row], width: int) -> Iterator[str]:
    """Yield the lines of tables of at most this width that all have the first column."""
    first, *left = columns_of(rows)
    least, of_cells, most = {}, {}, {}
    for column in (first, *left):
        cells = [cell(row.get(column)) for row in rows]
        texts = [*_heading(column).split("\n"), *cells]
        words = [word for text in texts for word in _WORD.findall(text)]
        least[column] = max(map(display_width, words), default=0)
        of_cells[column] = max(map(display_width, cells))
        most[column] = max(map(display_width, texts))

    def wanted(column: str) -> tuple[int, int]:
        # Room goes to cells first, and then to headings.
        return max(0, of_cells[column] - widths[column]), most[column] - widths[column]

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
    lines = aligned([*above, *below], left, sizes, gap=2 if widths else 3, above=len(above))
    return [f" {line}" for line in lines]


def _cell_lines(
    cells: Sequence[str], widths: Mapping[str, int], *, last: bool = False
) -> Sequence[Sequence[str]]:
    """Return the lines of a row whose cells wrap at words, from their first or up to their last lines."""
    wrapped = [
        [part for line in text.split("\n") for part in _wrapped(line, width)]
        for text, width in zip(cells, widths.values(), strict=True)
    ]
    if last:
        return [*zip_longest(*(lines[::-1] for lines in wrapped), fillvalue="")][::-1]
    return [*zip_longest(*wrapped, fillvalue="")]


def _heading(column: str) -> str:
    """Return the heading of a narrow column."""
    return column.replace("_", " ").replace("[", "\n[")


# -- LaTeX -----------------------------------------------------------------------------------------


def _latex(
    rows: Sequence[Row], caption: str, names: Mapping[str, str], groups: Sequence[str] = ()
) -> str:
    """Return a booktabs table with columns of numbers to the right, and a legend of the short names.

    Columns of `groups` with one value in all rows are said in the caption.
    """
    rows = _renamed(rows, names)
    texts = {column: [cell(row.get(column)) for row in rows] for column in columns_of(rows)}
    constant = []
    for column in groups:
        if column in texts and len(rows) > 1 and len(set(texts[column])) == 1:
            value = texts.pop(column)[0]
            constant.append(f"{value} {column}" if value[0].isdigit() else f"{column} {value}")
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
            rf"  \par\smallskip{{\footnotesize {_escape(short)}: \texttt{{{_escape(name)}}}}}"
            for name, short in names.items()
            if short != name
        ),
        *([rf"  \caption{{{_escape(caption)}}}"] if caption else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _latex_cell(value: Any) -> str:
    text = _escape(cell(value))
    return rf"\textbf{{{text}}}" if isinstance(value, Bold) else text


# The beginning of a cell with a number, or an empty one.
_NUMBER = re.compile(r"[-+−–≤<\[ .]*(\d|$)")

# Characters that are special in LaTeX, or exist only in its mathematics mode.
_LATEX = {char: "\\" + char for char in "&%$#_{}"} | {
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


def _escape(text: str) -> str:
    escaped = "".join(_LATEX.get(char, char) for char in text)
    # A minus before a number is not a hyphen.
    return re.sub(r"(?<![\w.-])-(?=[\d.])", "$-$", escaped)
