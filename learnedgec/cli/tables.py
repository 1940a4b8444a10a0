"""Results for readers: tables on a terminal and in LaTeX, their terms, and edits under their sentences."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, groupby, zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any

import yaml

from learnedgec.data.m2 import Edit
from learnedgec.data.tables import Row, align, cell, columns_of, display_width
from learnedgec.metrics.base import ShowsEdits
from learnedgec.metrics.bound import BoundMetric, Inputs
from learnedgec.metrics.scores import Score, is_sentinel, short_labels

# A line does not break within a word, an interval or a p-value.
_WORD = re.compile(r"(?:\[[^]]*\]|\bp [<≤=] |\S)+")


class Bold(float):
    """A number that is bold in LaTeX."""


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


# -- LaTeX -----------------------------------------------------------------------------------------


def latex_table(
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


# -- terms ------------------------------------------------------------------------------------------


def explain_terms(rows: Sequence[Row], sentences: Sequence[str]) -> list[str]:
    """Return a sentence for each of the terms in a table or in the sentences around it.

    Example:
        >>> explain_terms([{"human": "EW"}], ["p after Holm's correction"])[0][:17]
        'EW: expected wins'
    """
    cells = [cell(value) for row in rows for value in row.values()]
    text = " ".join([*sentences, *columns_of(rows), *cells])
    terms = yaml.safe_load(Path(__file__).with_name("terms.yaml").read_text("utf-8"))
    return [
        f"{row['term']}: {row['means']}"
        for row in terms
        if re.search(rf"\b(?:{row.get('printed', re.escape(row['term']))})\b", text)
    ]


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


# -- edits under their sentences -------------------------------------------------------------------

_SIGNS = {"matched": "=", "unmatched": "+", "missed": "-", "unchanged": " "}
WORTH = ("add_one", "leave_one_out", "shapley", "standard_error")
# Columns that an edit's line shows without their names.
_PLACED = (
    *("system", "metric", "sentence", "annotator", "edit"),
    *("start", "end", "original", "correction", "type"),
)


def edit_text(
    rows: Sequence[Row], bound: BoundMetric, scores: Mapping[str, Score], inputs: Inputs
) -> str:
    """Return the edits that a metric counts for a reader; sentences without any are left out.

    Args:
        rows: the metric's `edit_rows`.
        bound: the metric.
        scores: system -> its score.
        inputs: the texts.
    """
    assert isinstance(bound.metric, ShowsEdits)
    counted = bound.metric.counted

    def heading(row: Row) -> str:
        details = scores[row["system"]].sentence_details
        counts = (f"{name} {details[name][row['sentence'] - 1]:g}" for name in counted)
        return f"annotator {row['annotator']}  {'  '.join(counts)}"

    def line(row: Row) -> str:
        text = f"{_SIGNS[row['edit']]} {_change(row)}"
        for name, value in row.items():
            if name == "change":
                text += f", {'helpful' if value > 0 else 'harmful' if value < 0 else 'none'}"
            elif name not in _PLACED:
                text += f"  {name} {value:.4f}" if isinstance(value, float) else f"  {name} {value}"
        return text

    legend = "= in system and gold   + in system only   - in gold only"
    return _under_sentences(legend, rows, inputs, heading, line)


def attribution_text(rows: Iterable[Row], inputs: Inputs) -> str:
    """Return the contribution of each edit for a reader; sentences without edits are left out."""

    def line(row: Row) -> str:
        *values, deviation = (row[name] for name in WORTH)
        error = f" ± {deviation:.4f}" if deviation else ""
        return f"{'  '.join(f'{value:+.4f}' for value in values)}{error}  {_change(row)}"

    legend = "before each edit: its add-one, leave-one-out and Shapley values"
    return _under_sentences(legend, rows, inputs, itemgetter("metric"), line)


def _under_sentences(
    legend: str,
    rows: Iterable[Row],
    inputs: Inputs,
    heading: Callable[[Row], str],
    line: Callable[[Row], str],
) -> str:
    """Return a line for each edit, below its sentence with a heading."""
    lines = [legend]
    place = itemgetter("system", "metric", "sentence")
    for (system, _, sentence), edits in groupby(rows, place):
        first, *others = edits
        lines += [
            "",
            f"{system} {sentence}  {heading(first)}",
            f"  source      {inputs.sources[sentence - 1]}",
            f"  hypothesis  {inputs.systems[system][sentence - 1]}",
            *(f"  {line(row)}" for row in (first, *others)),
        ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def edit_cells(source: str, edit: Edit) -> dict[str, Any]:
    """Return the cells of a row that say where an edit is, and what it changes."""
    return {
        "start": edit.start,
        "end": edit.end,
        "original": " ".join(source.split()[edit.start : edit.end]),
        "correction": edit.correction,
        "type": edit.type,
    }


def _change(row: Row) -> str:
    """Return an edit's place, change and type.

    Example:
        >>> _change({"start": 1, "end": 2, "original": "go", "correction": "", "type": "U:VERB"})
        '1:2     go → ∅  [U:VERB]'
    """
    place = f"{row['start']}:{row['end']}"
    line = f"{place:7} {row['original'] or '∅'} → {row['correction'] or '∅'}"
    return line + (f"  [{row['type']}]" if row["type"] else "")
