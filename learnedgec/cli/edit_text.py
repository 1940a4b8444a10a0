"""Edits under their sentences, for `learnedgec score --show edits` and `--show attribution`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from learnedgec.analysis.attribution import attribute_edits
from learnedgec.cli.inputs import Task
from learnedgec.data.m2 import Edit
from learnedgec.data.tables import Row
from learnedgec.edits.annotators import default_annotator
from learnedgec.metrics.base import ShowsEdits
from learnedgec.metrics.bound import BoundMetric, Inputs
from learnedgec.metrics.scores import Score

_SIGNS = {"matched": "=", "unmatched": "+", "missed": "-", "unchanged": " "}
_WORTH = ("add_one", "leave_one_out", "shapley", "standard_error")
# Columns that an edit's line shows without their names.
_PLACED = (
    *("system", "metric", "sentence", "annotator", "edit"),
    *("start", "end", "original", "correction", "type"),
)


def edit_rows(bound: BoundMetric, scores: Mapping[str, Score]) -> list[dict[str, Any]]:
    """Return a row for each edit that a metric counts, by system."""
    metric = bound.metric
    assert isinstance(metric, ShowsEdits)
    return [
        {"system": system, "metric": bound.label, **row}
        for system, score in scores.items()
        for row in metric.edit_rows(score.statistics)
    ]


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
        *values, deviation = (row[name] for name in _WORTH)
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


def attribution_rows(task: Task, annotator: str | None) -> list[dict[str, Any]]:
    """Attribute every system's edits, as ERRANT finds them; return a row per metric, system and edit.

    Args:
        task: the metrics, whose scores are attributed, and the sentences.
        annotator: the annotator that extracts the edits.

    Raises:
        UnknownNameError, ModelError: the annotator is unknown or not installed.
    """
    references = task.inputs.references
    # All systems are scored in one call.
    names, numbers, sources, hypotheses = task.outputs()
    references = references and references.select([n - 1 for n in numbers])
    annotator = annotator or default_annotator()
    settings: dict[str, Any] = {"annotator": annotator, "runtime": task.metrics[0].runtime}
    return [
        {"system": name, "metric": metric.label, "sentence": number}
        | edit_cells(source, edit)
        | dict(zip(_WORTH, worth, strict=True))
        for metric in task.metrics
        for name, number, source, attribution in zip(
            names,
            numbers,
            sources,
            attribute_edits(metric, sources, hypotheses, references, **settings),
            strict=True,
        )
        for edit, *worth in zip(
            attribution.edits, *(getattr(attribution, name) for name in _WORTH), strict=True
        )
    ]


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
