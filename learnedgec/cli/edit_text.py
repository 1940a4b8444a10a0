"""Edits under their sentences, for `learnedgec score --show edits` and `--show attribution`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from learnedgec.analysis.attribution import attribute_edits
from learnedgec.cli.inputs import Scoring
from learnedgec.data.m2 import Edit
from learnedgec.edits.annotator import extract_edits
from learnedgec.edits.parsing import default_annotator
from learnedgec.errors import InputError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.protocols import ShowsEdits
from learnedgec.metrics.scores import Score

_SIGNS = {"matched": "=", "unmatched": "+", "missed": "-", "unchanged": " "}
_WORTH = ("add_one", "leave_one_out", "shapley", "standard_error")
_PLACED = ("sentence", "annotator", "edit", "start", "end", "original", "correction", "type")


def with_edits(metric: Metric) -> ShowsEdits:
    """Return the metric, if it records the edits that it counts.

    Raises:
        InputError: it does not.
    """
    if not isinstance(metric, ShowsEdits):
        raise InputError(
            f"{metric.label} does not compare edits; --show edits works for m2, errant, cleme and "
            "similar metrics."
        )
    return metric


def edit_text(
    metric: Metric,
    scores: Mapping[str, Score],
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
) -> str:
    """Return the edits of all systems for a reader; sentences without any are left out.

    Args:
        metric: one that compares edits.
        scores: of each system.
        sources: the N sources.
        systems: the N hypotheses of each system.

    Raises:
        InputError: the metric does not compare edits.
    """
    comparing = with_edits(metric)
    lines = ["= in system and gold   + in system only   - in gold only"]
    for system, score in scores.items():
        for sentence, rows in groupby(
            comparing.edit_rows(score.statistics), itemgetter("sentence")
        ):
            edits = list(rows)
            details = score.sentence_details
            counts = (f"{name} {details[name][sentence - 1]:g}" for name in comparing.counted)
            heading = f"{system} {sentence}  annotator {edits[0]['annotator']}  {'  '.join(counts)}"
            lines += _sentence(heading, sources[sentence - 1], systems[system][sentence - 1])
            lines += map(_edit, edits)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def attribution_text(
    rows: Iterable[Mapping[str, Any]],
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
) -> str:
    """Return the contribution of each edit for a reader; sentences without edits are left out."""
    lines = ["before each edit: its add-one, leave-one-out and Shapley values"]
    place = itemgetter("metric", "system", "sentence")
    for (metric, system, sentence), edits in groupby(rows, place):
        heading = f"{system} {sentence}  {metric}"
        lines += _sentence(heading, sources[sentence - 1], systems[system][sentence - 1])
        for row in edits:
            *values, deviation = (row[name] for name in _WORTH)
            error = f" ± {deviation:.4f}" if deviation else ""
            worth = "  ".join(f"{value:+.4f}" for value in values)
            lines.append(f"  {worth}{error}  {_change(row)}")
    return "".join(f"{line.rstrip()}\n" for line in lines)


def attribution_rows(scoring: Scoring, annotator: str | None) -> list[dict[str, Any]]:
    """Attribute every system's edits, as ERRANT finds them; return a row per metric, system and edit.

    Args:
        scoring: the metrics, whose scores are attributed, and the sentences.
        annotator: what extracts the edits.

    Raises:
        UnknownNameError, ModelError: the annotator is unknown or not installed.
    """
    inputs, runtime = scoring.inputs, scoring.runtime
    size, names = len(inputs.sources), list(inputs.systems)
    # All systems are scored in one call.
    sources = inputs.sources * len(names)
    hypotheses = [text for texts in inputs.systems.values() for text in texts]
    references = inputs.references and inputs.references.select(list(range(size)) * len(names))
    pairs = list(zip(sources, hypotheses, strict=True))
    edits = extract_edits(pairs, annotator or default_annotator(), runtime=runtime)
    rows = []
    for metric in scoring.metrics:
        attributions = attribute_edits(
            metric, sources, hypotheses, references, edits=edits, runtime=runtime
        )
        for place, attribution in enumerate(attributions):
            head: dict[str, Any] = {"system": names[place // size], "metric": metric.label}
            head["sentence"] = place % size + 1
            for number, edit in enumerate(attribution.edits):
                worth = {name: getattr(attribution, name)[number] for name in _WORTH}
                rows.append(head | edit_cells(sources[place], edit) | worth)
    return rows


def edit_cells(source: str, edit: Edit) -> dict[str, Any]:
    """Return the cells of a row that say where an edit is, and what it changes."""
    return {
        "start": edit.start,
        "end": edit.end,
        "original": " ".join(source.split()[edit.start : edit.end]),
        "correction": edit.correction,
        "type": edit.type,
    }


def _sentence(heading: str, source: str, hypothesis: str) -> list[str]:
    """Return what precedes the edits of a sentence."""
    return ["", heading, f"  source      {source}", f"  hypothesis  {hypothesis}"]


def _change(row: Mapping[str, Any]) -> str:
    """Return an edit's place, change and type.

    Example:
        >>> _change({"start": 1, "end": 2, "original": "go", "correction": "", "type": "U:VERB"})
        '1:2     go → ∅  [U:VERB]'
    """
    place = f"{row['start']}:{row['end']}"
    line = f"{place:7} {row['original'] or '∅'} → {row['correction'] or '∅'}"
    return line + (f"  [{row['type']}]" if row["type"] else "")


def _edit(row: Mapping[str, Any]) -> str:
    """Return one edit: its sign, place, change and type, and further values of the metric."""
    line = f"  {_SIGNS[row['edit']]} {_change(row)}"
    for name, value in row.items():
        if name == "change":
            line += f", {'helpful' if value > 0 else 'harmful' if value < 0 else 'none'}"
        elif name not in _PLACED:
            line += f"  {name} {value:.4f}" if isinstance(value, float) else f"  {name} {value}"
    return line
