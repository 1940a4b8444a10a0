"""What `learnedgec score --show edits` prints: each sentence's edits beside the gold edits."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from learnedgec.errors import InputError
from learnedgec.metrics.base import Metric, Statistics
from learnedgec.metrics.edit_overlap import EditOverlap
from learnedgec.metrics.scores import Score

__all__ = ["edit_rows", "show_edits"]

_SIGNS = {"matched": ("=", "green"), "unmatched": ("+", "red"), "missed": ("-", "yellow")}
_WEIGHED = ("weight", "change")
LEGEND = "= in system and gold   + in system only   - in gold only"


def edit_rows(metric: Metric, statistics: Statistics) -> list[dict[str, Any]]:
    """Return one row per edit, for programs; gold edits are those of the chosen annotator.

    Args:
        metric: one that compares edits, such as m2 or errant.
        statistics: with records.

    Returns:
        Rows of `sentence` (from 1), `annotator`, `edit` (`matched`, `unmatched`: the system's
        alone, or `missed`: the annotator's alone), `start`, `end`, `original`, `correction`
        (alternatives joined by `||`) and `type` where it is known; of a metric that weighs edits also
        `weight` and `change`, by which the edit alone brings the source nearer to the reference
        (helpful above 0, harmful below). In order of position.

    Raises:
        InputError: the metric does not compare edits.
    """
    if not isinstance(metric, EditOverlap) or not statistics.records:
        raise InputError(
            f"{metric.label} does not compare edits; --show edits works for m2, errant and their kind."
        )
    rows = []
    for number, (record, choice) in enumerate(
        zip(statistics.records, metric.chosen(statistics), strict=True), 1
    ):
        compared = record[choice]
        gold = {
            (edit["start"], edit["end"], text): edit["type"]
            for edit in compared["gold"]
            for text in edit["corrections"]
        }
        found = [
            {
                **{key: edit[key] for key in ("start", "end", "original", "correction")},
                **{key: edit[key] for key in _WEIGHED if key in edit},
                "edit": "matched" if edit["matched"] else "unmatched",
                "type": edit.get("type")
                or gold.get((edit["start"], edit["end"], edit["correction"]), ""),
            }
            for edit in compared["edits"]
        ] + [
            {
                **{key: edit[key] for key in ("start", "end", "original", "type")},
                **{key: edit[key] for key in _WEIGHED if key in edit},
                "edit": "missed",
                "correction": "||".join(edit["corrections"]),
            }
            for edit in compared["gold"]
            if not edit["matched"]
        ]
        found.sort(key=lambda row: (row["start"], row["end"]))
        head = {"sentence": number, "annotator": compared["annotator"]}
        columns = ("edit", "start", "end", "original", "correction", "type", *_WEIGHED)
        rows += [{**head, **{key: row[key] for key in columns if key in row}} for row in found]
    return rows


def show_edits(
    metric: Metric,
    scores: Mapping[str, Score],
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    *,
    colour: bool,
) -> str:
    """Return the edits of all systems for a reader, in colour or plain; sentences without any are left out.

    Args:
        metric: one that compares edits.
        scores: of each system.
        sources: the N sources.
        systems: the N hypotheses of each system.
        colour: put terminal colours in.

    Raises:
        InputError: the metric does not compare edits.
    """
    from rich.console import Console
    from rich.text import Text

    buffer = io.StringIO()
    console = Console(
        file=buffer,
        force_terminal=colour,
        no_color=not colour,
        legacy_windows=False,
        highlight=False,
    )
    console.print(Text(LEGEND, style="dim"))
    for system, score in scores.items():
        details = score.sentence_details
        sentence = 0
        for row in edit_rows(metric, score.statistics):
            if row["sentence"] != sentence:
                sentence = row["sentence"]
                counts = "  ".join(
                    f"{name} {details[name][sentence - 1]:g}" for name in ("tp", "proposed", "gold")
                )
                console.print()
                console.print(
                    Text(f"{system} {sentence}  annotator {row['annotator']}  {counts}", "bold")
                )
                console.print(Text(f"  source      {sources[sentence - 1]}"), soft_wrap=True)
                console.print(
                    Text(f"  hypothesis  {systems[system][sentence - 1]}"), soft_wrap=True
                )
            sign, style = _SIGNS[row["edit"]]
            place = f"{row['start']}:{row['end']}"
            change = f"{row['original'] or '∅'} → {row['correction'] or '∅'}"
            line = f"  {sign} {place:7} {change}" + (f"  [{row['type']}]" if row["type"] else "")
            if "weight" in row:
                effect = (
                    "helpful" if row["change"] > 0 else "harmful" if row["change"] < 0 else "none"
                )
                line += f"  weight {row['weight']:.4f}, {effect}"
            console.print(Text(line, style), soft_wrap=True)
    return "\n".join(line.rstrip() for line in buffer.getvalue().split("\n"))
