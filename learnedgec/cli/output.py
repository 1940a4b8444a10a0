"""Results on stdout as a table, CSV, TSV, LaTeX or JSON; notices on stderr."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from jsonargparse import Namespace

from learnedgec.cli.tables import explain_terms
from learnedgec.data.catalog.files import cache_folder
from learnedgec.data.text import check_no_workbook, write_text
from learnedgec.errors import InputError, OutputError, PluginError
from learnedgec.metrics.tuned import TRAINED_MARK, TUNED_MARK
from learnedgec.plotting import check_plotting
from learnedgec.runtime.files import check_writable, key_of
from learnedgec.runtime.plugins import Registry
from learnedgec.table import Table, plain, wrapped

_Entry = TypeVar("_Entry")

FORMATS = ("table", "json", "csv", "tsv", "latex")

# Flags about what is shown of a table, and below it.
_BELOW = {
    "wide": "show every column, in one table of any width",
    "notes": "explain below the table what its columns mean",
    "signatures": "print the scores' signatures below the table",
}

# The width of a table that no terminal shows.
_WIDTH = 100

# What the marks of results mean, on sentences that a metric was tuned or trained on.
TUNED_NOTE = (
    f"{TUNED_MARK} tuned on sentences of this benchmark: no evidence, unlike its held-out folds"
)
TRAINED_NOTE = f"{TRAINED_MARK} trained on data of this benchmark: no evidence for other texts"

# The format that a file's suffix stands for.
_SUFFIXES = {
    ".json": "json", ".csv": "csv", ".tsv": "tsv", ".tex": "latex",
    ".m2": "m2", ".md": "markdown", ".html": "html",
}  # fmt: skip


# The options that name what is read.
_INPUTS = (
    *("src", "hyp", "ref", "gold", "table", "baseline"),
    *("attack", "benchmark", "case", "compare", "counts"),
)


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
        InputError: the file's folder does not exist, it is one of the inputs, or its name is that of another
            format.
        OutputError: the file, or figures, could not be written.
        MissingDependencyError: figures were asked for, and what draws them is not installed.
    """
    if options.get("format") is None:
        suffix = Path(options.out.removesuffix(".gz")).suffix.lower()
        options.format = _SUFFIXES.get(suffix, formats[0])
        if options.format not in formats:
            raise InputError(
                f"--out {options.out} ends in {suffix}, which is none of the formats here "
                f"({', '.join(formats)}); choose another name."
            )
    check_out(options.out)
    _check_no_input(options)
    if options.get("plot"):
        check_plotting(options.plot)
    return options


def _check_no_input(options: Namespace) -> None:
    """Raise `InputError` if `--out` would replace a file that the command reads.

    A file that does not exist yet is no input, and neither are `-` and devices.
    """
    out = Path(options.out).resolve()
    if not out.is_file():
        return
    for name in _INPUTS:
        value = options.get(name) or []
        inputs = {Path(path).resolve() for path in ([value] if isinstance(value, str) else value)}
        # A folder of outputs stands for its files.
        if out in inputs or (name in ("hyp", "attack") and out.parent in inputs):
            raise InputError(
                f"--out {options.out} is an input of this command; choose another path."
            )


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
        lines = wrapped(message, width) if sys.stderr.isatty() else [message]
        print(*lines, sep="\n", file=sys.stderr)


def notice_daily(*messages: str) -> None:
    """Print important notices that were not printed today."""
    for message in messages:
        if first_time(key_of(message), daily=True):
            notice(message)


def first_time(name: str, *, daily: bool = False) -> bool:
    """Return whether this is the first call with a name, ever or with `daily` today.

    Empty files in the cache's folder record the calls.
    """
    file = cache_folder() / "said" / name
    if file.exists() and (not daily or date.fromtimestamp(file.stat().st_mtime) == date.today()):
        return False
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
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


def emit_table(
    table: Table,
    options: Any,
    *,
    details: Mapping[str, Any] | None = None,
    conclusions: Sequence[str] = (),
    notes: Sequence[str] = (),
    signatures: Iterable[str] = (),
) -> None:
    """Print a table in the chosen format, with the conclusions below it.

    Notes and signatures are in JSON and in every file for people; a table on stdout has them on request.

    Args:
        table: the result.
        options: with `format`, one of `FORMATS`, `out`, a path or `-` for stdout, and perhaps the flags about
            tables and `quiet`.
        details: what JSON has beside the rows.
        conclusions: the conclusions from the table, a sentence each.
        notes: the meaning of its columns, the tests and the like, in a sentence each.
        signatures: the signatures of the scores, one each line below them; comments in LaTeX.
    """
    signatures = list(dict.fromkeys(signatures))
    if options.format == "table":
        wide = getattr(options, "wide", False)
        text = table.text(None if wide else _columns(options), wide=wide)
        if getattr(options, "notes", None) is not None:
            notes = [*notes, *explain_terms(table.cells(), (table.title, *conclusions, *notes))]
        text = "\n".join(filter(None, [table.title, text])) + _wrapped_lines(conclusions, options)
        emit_text(text, options, notes=notes, signatures=signatures)
        return
    if options.format == "json":
        sentences = {"conclusions": [*conclusions], "notes": [*notes], "signatures": signatures}
        content = {"rows": table.records(), **plain(details or {})}
        content |= {"totals": table.records(table.totals)} if table.totals else {}
        content |= {name: lines for name, lines in sentences.items() if lines}
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    elif options.format == "latex":
        text = table.latex()
        text += "".join(f"% {line}\n" for line in (*conclusions, *notes, *signatures))
    else:
        text = table.separated("," if options.format == "csv" else "\t")
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
    """Return the width of the terminal or page that shows the result."""
    terminal = options.out == "-" and sys.stdout.isatty()
    return shutil.get_terminal_size().columns if terminal else _WIDTH


def _wrapped_lines(sentences: Iterable[str], options: Any) -> str:
    """Return each sentence on lines of its own, which fit the width that `_columns` returns."""
    width = min(_columns(options), _WIDTH)
    return "".join(f"{line}\n" for text in sentences for line in wrapped(text, width))


def loaded(registry: Registry[_Entry]) -> dict[str, _Entry]:
    """Return the entries by their names, and print a notice for each plug-in that cannot be loaded."""
    entries = {}
    for name, entry in registry.entries():
        if isinstance(entry, PluginError):
            notice(str(entry))
        else:
            entries[name] = entry
    return entries
