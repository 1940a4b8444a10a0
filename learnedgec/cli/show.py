"""Output of `learnedgec score --show edits`: the edits of each sentence with the gold edits."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from learnedgec.errors import InputError
from learnedgec.metrics.abilities import ShowsEdits
from learnedgec.metrics.base import Metric
from learnedgec.metrics.scores import Score

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["able_to_show", "change_of", "print_sentence", "reading_console", "show_edits"]

_SIGNS = {
    "matched": ("=", "green"),
    "unmatched": ("+", "red"),
    "missed": ("-", "yellow"),
    "unchanged": (" ", "dim"),
}
_PLACED = ("sentence", "annotator", "edit", "start", "end", "original", "correction", "type")
LEGEND = "= in system and gold   + in system only   - in gold only"


def able_to_show(metric: Metric) -> ShowsEdits:
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
    from rich.text import Text

    able = able_to_show(metric)
    buffer = io.StringIO()
    console = reading_console(buffer, colour=colour)
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
                print_sentence(
                    console,
                    f"{system} {sentence}  annotator {row['annotator']}  {counts}",
                    sources[sentence - 1],
                    systems[system][sentence - 1],
                )
            style = _SIGNS[row["edit"]][1]
            console.print(Text(_line(row), style), soft_wrap=True)
    return "\n".join(line.rstrip() for line in buffer.getvalue().split("\n"))


def reading_console(buffer: io.StringIO, *, colour: bool) -> Console:
    """Return a console that prints for a reader, in colour or plain, without wrapping sentences."""
    from rich.console import Console

    return Console(
        file=buffer,
        force_terminal=colour,
        no_color=not colour,
        legacy_windows=False,
        highlight=False,
    )


def print_sentence(console: Console, heading: str, source: str, hypothesis: str) -> None:
    """Print what precedes the edits of a sentence: a heading, the source and the hypothesis."""
    from rich.text import Text

    console.print()
    console.print(Text(heading, "bold"), soft_wrap=True)
    console.print(Text(f"  source      {source}"), soft_wrap=True)
    console.print(Text(f"  hypothesis  {hypothesis}"), soft_wrap=True)


def change_of(row: Mapping[str, Any]) -> str:
    """Return an edit's place, change and type.

    Example:
        >>> change_of({"start": 1, "end": 2, "original": "go", "correction": "", "type": "U:VERB"})
        '1:2     go → ∅  [U:VERB]'
    """
    place = f"{row['start']}:{row['end']}"
    line = f"{place:7} {row['original'] or '∅'} → {row['correction'] or '∅'}"
    return line + (f"  [{row['type']}]" if row["type"] else "")


def _line(row: Mapping[str, Any]) -> str:
    """Return one edit: its sign, place, change and type, and further values of the metric."""
    line = f"  {_SIGNS[row['edit']][0]} {change_of(row)}"
    for name, value in row.items():
        if name == "change":
            line += f", {'helpful' if value > 0 else 'harmful' if value < 0 else 'none'}"
        elif name not in _PLACED:
            line += f"  {name} {value:.4f}" if isinstance(value, float) else f"  {name} {value}"
    return line
