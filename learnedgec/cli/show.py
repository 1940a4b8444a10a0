"""What `learnedgec score --show edits` prints: each sentence's edits beside the gold edits."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from learnedgec.errors import InputError
from learnedgec.metrics.abilities import ShowsEdits
from learnedgec.metrics.base import Metric
from learnedgec.metrics.scores import Score

__all__ = ["able_to_show", "show_edits"]

_SIGNS = {
    "matched": ("=", "green"),
    "unmatched": ("+", "red"),
    "missed": ("-", "yellow"),
    "unchanged": (" ", "dim"),
}
_PLACED = ("sentence", "annotator", "edit", "start", "end", "original", "correction", "type")
LEGEND = "= in system and gold   + in system only   - in gold only"


def able_to_show(metric: Metric) -> ShowsEdits:
    """Return the metric, if it knows which edits it counted.

    Raises:
        InputError: it does not.
    """
    if not isinstance(metric, ShowsEdits):
        raise InputError(
            f"{metric.label} does not compare edits; --show edits works for m2, errant, cleme and "
            "their kind."
        )
    return metric


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

    able = able_to_show(metric)
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
        for row in able.edit_rows(score.statistics):
            if row["sentence"] != sentence:
                sentence = row["sentence"]
                counts = "  ".join(
                    f"{name} {details[name][sentence - 1]:g}" for name in able.counted
                )
                console.print()
                console.print(
                    Text(f"{system} {sentence}  annotator {row['annotator']}  {counts}", "bold")
                )
                console.print(Text(f"  source      {sources[sentence - 1]}"), soft_wrap=True)
                console.print(
                    Text(f"  hypothesis  {systems[system][sentence - 1]}"), soft_wrap=True
                )
            style = _SIGNS[row["edit"]][1]
            console.print(Text(_line(row), style), soft_wrap=True)
    return "\n".join(line.rstrip() for line in buffer.getvalue().split("\n"))


def _line(row: Mapping[str, Any]) -> str:
    """Return one edit: its sign, place, change and type, and what else the metric says of it."""
    sign, place = _SIGNS[row["edit"]][0], f"{row['start']}:{row['end']}"
    line = f"  {sign} {place:7} {row['original'] or '∅'} → {row['correction'] or '∅'}"
    line += f"  [{row['type']}]" if row["type"] else ""
    for name, value in row.items():
        if name == "change":
            line += f", {'helpful' if value > 0 else 'harmful' if value < 0 else 'none'}"
        elif name not in _PLACED:
            line += f"  {name} {value:.4f}" if isinstance(value, float) else f"  {name} {value}"
    return line
