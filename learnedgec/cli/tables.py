"""Results for readers: tables on a terminal and in LaTeX, their terms, and edits under their sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import yaml

from learnedgec.data.corpus import Corpus
from learnedgec.metrics.bound import BoundMetric
from learnedgec.metrics.contract import Score, ShowsEdits
from learnedgec.metrics.sentinels import is_sentinel
from learnedgec.table import Row, cell, columns_of

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
    rows: Sequence[Row], bound: BoundMetric, scores: Mapping[str, Score], corpus: Corpus
) -> str:
    """Return the edits that a metric counts for a reader; sentences without any are left out.

    Args:
        rows: the metric's `edit_rows`.
        bound: the metric.
        scores: system -> its score.
        corpus: the texts.
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
    return _under_sentences(legend, rows, corpus, heading, line)


def attribution_text(rows: Iterable[Row], corpus: Corpus) -> str:
    """Return the contribution of each edit for a reader; sentences without edits are left out."""

    def line(row: Row) -> str:
        *values, deviation = (row[name] for name in WORTH)
        error = f" ± {deviation:.4f}" if deviation else ""
        return f"{'  '.join(f'{value:+.4f}' for value in values)}{error}  {_change(row)}"

    legend = "before each edit: its add-one, leave-one-out and Shapley values"
    return _under_sentences(legend, rows, corpus, itemgetter("metric"), line)


def _under_sentences(
    legend: str,
    rows: Iterable[Row],
    corpus: Corpus,
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
            f"  source      {corpus.sources[sentence - 1]}",
            f"  hypothesis  {corpus.systems[system][sentence - 1]}",
            *(f"  {line(row)}" for row in (first, *others)),
        ]
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _change(row: Row) -> str:
    """Return an edit's place, change and type.

    Example:
        >>> _change({"start": 1, "end": 2, "original": "go", "correction": "", "type": "U:VERB"})
        '1:2     go → ∅  [U:VERB]'
    """
    place = f"{row['start']}:{row['end']}"
    line = f"{place:7} {row['original'] or '∅'} → {row['correction'] or '∅'}"
    return line + (f"  [{row['type']}]" if row["type"] else "")
