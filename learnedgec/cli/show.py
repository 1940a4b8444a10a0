"""What `learnedgec score --show edits` prints: each sentence's edits or chunks beside the gold ones."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from learnedgec.errors import InputError
from learnedgec.metrics.base import Metric, Score, Statistics
from learnedgec.metrics.cleme import ChunkOverlap
from learnedgec.metrics.edit_overlap import EditOverlap

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

__all__ = ["edit_rows", "show_edits"]

_SIGNS = {"matched": ("=", "green"), "unmatched": ("+", "red"), "missed": ("-", "yellow")}
_WEIGHED = ("weight", "change", "mass", "transported")
LEGEND = "= in system and gold   + in system only   - in gold only"
CHUNK_LEGEND = (
    "tp as a reference has it   fp_ne other than references   fp_un references leave it   "
    "fn references change it   tn nobody does"
)
_COUNTS = ("tp", "proposed", "gold", "fp", "fp_ne", "fp_un", "fn", "tn")
_CHUNK_STYLES = {"tp": "green", "fp_ne": "red", "fp_un": "red", "fn": "yellow", "tn": "dim"}
# Tables of chunks are as wide as their sentences.
_WIDTH = 10_000


def edit_rows(metric: Metric, statistics: Statistics) -> list[dict[str, Any]]:
    """Return one row per edit or chunk, for programs; gold edits are those of the chosen annotator.

    Args:
        metric: one that compares edits, such as m2 or errant, or chunks, such as cleme.
        statistics: with records.

    Returns:
        Rows of `sentence` (from 1), `annotator`, `edit` (`matched`, `unmatched`: the system's
        alone, or `missed`: the annotator's alone), `start`, `end`, `original`, `correction`
        (alternatives joined by `||`) and `type` where it is known; of a metric that weighs edits also
        `weight` and `change`, by which the edit alone brings the source nearer to the reference
        (helpful above 0, harmful below), and of uot-errant `mass` and how much of it was
        `transported`. In order of position.

        Of a metric that compares chunks: rows of `sentence`, `annotator`, `counts` (`tp`, `fp_ne`,
        `fp_un`, `fn` or `tn`), `start`, `end`, `original`, `correction` (the system's), `references`
        (those of all annotators, joined by `||`), and `weight` where it is not always 1.

    Raises:
        InputError: the metric does not compare edits.
    """
    if isinstance(metric, ChunkOverlap) and statistics.records:
        return list(_chunk_rows(metric, statistics))
    if not isinstance(metric, EditOverlap) or not statistics.records:
        raise InputError(
            f"{metric.label} does not compare edits; --show edits works for m2, errant, cleme and their kind."
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


def _chunk_rows(metric: ChunkOverlap, statistics: Statistics) -> Iterator[dict[str, Any]]:
    """Yield one row per chunk."""
    by_length = metric.chunk_weights(statistics)
    for number, (record, choice) in enumerate(
        zip(statistics.records, metric.chosen(statistics), strict=True), 1
    ):
        for chunk in record["chunks"]:
            counts = chunk["counts"][choice]
            row = {
                "sentence": number,
                "annotator": record["annotators"][choice],
                "counts": counts,
                **{key: chunk[key] for key in ("start", "end", "original", "correction")},
                "references": "||".join(chunk["references"]),
            }
            if by_length is not None:
                row["weight"] = by_length(counts, chunk)
            elif "weights" in chunk:
                row["weight"] = chunk["weights"][choice]
            yield row


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
        metric: one that compares edits or chunks.
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
        width=_WIDTH,
        force_terminal=colour,
        no_color=not colour,
        legacy_windows=False,
        highlight=False,
    )
    chunks = isinstance(metric, ChunkOverlap)
    console.print(Text(CHUNK_LEGEND if chunks else LEGEND, style="dim"))
    for system, score in scores.items():
        details = score.sentence_details
        names = [name for name in _COUNTS if name in details]
        for number, group in groupby(
            edit_rows(metric, score.statistics), key=itemgetter("sentence")
        ):
            rows = list(group)
            if chunks and not any(map(_edited, rows)):
                continue
            counts = "  ".join(f"{name} {details[name][number - 1]:g}" for name in names)
            console.print()
            console.print(
                Text(f"{system} {number}  annotator {rows[0]['annotator']}  {counts}", "bold")
            )
            console.print(Text(f"  source      {sources[number - 1]}"))
            console.print(Text(f"  hypothesis  {systems[system][number - 1]}"))
            if chunks:
                console.print(_chunk_table(rows, score.statistics.records[number - 1]))
                continue
            for row in rows:
                console.print(_edit_line(row))
    return "\n".join(line.rstrip() for line in buffer.getvalue().split("\n"))


def _edit_line(row: Mapping[str, Any]) -> Text:
    """Return the line of an edit."""
    from rich.text import Text

    sign, style = _SIGNS[row["edit"]]
    place = f"{row['start']}:{row['end']}"
    change = f"{row['original'] or '∅'} → {row['correction'] or '∅'}"
    line = f"  {sign} {place:7} {change}" + (f"  [{row['type']}]" if row["type"] else "")
    if "weight" in row:
        effect = "helpful" if row["change"] > 0 else "harmful" if row["change"] < 0 else "none"
        line += f"  weight {row['weight']:.4f}, {effect}"
    if "mass" in row:
        line += f"  mass {row['mass']:.4f}, {row['transported']:.4f} transported"
    return Text(line, style)


def _edited(row: Mapping[str, Any]) -> bool:
    """Return whether the system or an annotator has something else in a chunk than the source."""
    texts = {row["correction"], *row["references"].split("||")}
    return texts != {row["original"]}


def _chunk_table(rows: Sequence[Mapping[str, Any]], record: Mapping[str, Any]) -> Table:
    """Return the chunks of one sentence, one per line."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=True, header_style="")
    heads = [f"annotator {annotator}" for annotator in record["annotators"]]
    weighed = "weight" in rows[0]
    for head in ("", "", "source", "hypothesis", *heads, *(["weight"] if weighed else [])):
        table.add_column(head)
    for row, chunk in zip(rows, record["chunks"], strict=True):
        texts = (row["original"], row["correction"], *chunk["references"])
        table.add_row(
            f"  {row['counts']}",
            f"{row['start']}:{row['end']}",
            *(text or "∅" for text in texts),
            *([f"{row['weight']:.4f}"] if weighed and row["counts"] != "tn" else []),
            style=_CHUNK_STYLES[row["counts"]],
        )
    return table
