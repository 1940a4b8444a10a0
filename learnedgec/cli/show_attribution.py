"""Output of `learnedgec score --show attribution`: the contribution of each edit to each metric's score."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from learnedgec.attribution import attribute_edits
from learnedgec.cli.inputs import Inputs
from learnedgec.cli.output import emit, remark, with_notes, write_result
from learnedgec.cli.show import change_of, print_sentence, reading_console
from learnedgec.cli.table import Layout
from learnedgec.edits.annotator import extract_edits
from learnedgec.edits.parsing import default_annotator
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.m2 import Edit
from learnedgec.metrics.base import Metric

__all__ = ["add_attribution_arguments", "show_attribution"]

_LEGEND = "before each edit: its add-one, leave-one-out and Shapley values"


def add_attribution_arguments(parser: ArgumentParser) -> None:
    """Add `--annotator`."""
    parser.add_argument(
        "--annotator",
        type=str,
        help="--show attribution: spaCy pipeline that extracts edits: en-ewt-sm, an installed package or a "
        "directory (default: en_core_web_sm if installed, else en-ewt-sm)",
    )


def show_attribution(
    metrics: Sequence[Metric], inputs: Inputs, options: Namespace, runtime: Runtime
) -> None:
    """Attribute every system's edits, as ERRANT finds them, and print one row per edit.

    Args:
        metrics: whose scores are attributed.
        inputs: the sentences.
        options: with `annotator`, `format`, `out` and `quiet`.
        runtime: how to run.

    Raises:
        UnknownNameError, ModelError: the annotator is unknown or not installed.
    """
    pairs = [
        pair
        for texts in inputs.systems.values()
        for pair in zip(inputs.sources, texts, strict=True)
    ]
    edits = extract_edits(pairs, options.annotator or default_annotator(), runtime=runtime)
    rows = [row for metric in metrics for row in _rows(metric, inputs, edits, runtime)]
    signatures = [metric.signature(inputs.references, runtime=runtime) for metric in metrics]
    if options.format == "table" and not options.wide:
        colour = options.out == "-" and sys.stdout.isatty()
        text = with_notes(_told(rows, inputs, colour=colour), options.out, [], signatures)
        write_result(text, options.out, quiet=options.quiet)
        for signature in signatures:
            remark(signature, options, whole=True)
    else:
        emit(
            rows,
            options,
            payload={"attribution": rows},
            caption="Contribution of each edit to the score.",
            layout=Layout(groups=("system", "metric"), prose=("original", "correction")),
            signatures=signatures,
        )


def _told(rows: Sequence[Mapping[str, Any]], inputs: Inputs, *, colour: bool) -> str:
    """Return the edits under their sentences, for a reader; sentences without any are left out."""
    from rich.text import Text

    buffer = io.StringIO()
    console = reading_console(buffer, colour=colour)
    console.print(Text(_LEGEND, style="dim"), soft_wrap=True)
    for (metric, system, sentence), found in groupby(
        rows, itemgetter("metric", "system", "sentence")
    ):
        print_sentence(
            console,
            f"{system} {sentence}  {metric}",
            inputs.sources[sentence - 1],
            inputs.systems[system][sentence - 1],
        )
        for row in found:
            worth = "  ".join(
                f"{row[name]:+.4f}" for name in ("add_one", "leave_one_out", "shapley")
            )
            error = f" ± {row['standard_error']:.4f}" if row["standard_error"] else ""
            console.print(
                Text(f"  {worth}{error}  {change_of(row)}"),
                soft_wrap=True,
            )
    return "\n".join(line.rstrip() for line in buffer.getvalue().split("\n"))


def _rows(
    metric: Metric, inputs: Inputs, edits: Sequence[Sequence[Edit]], runtime: Runtime
) -> Iterator[dict[str, Any]]:
    """Yield one row per system, sentence (from 1) and edit; all systems are scored in one call."""
    size, names = len(inputs.sources), list(inputs.systems)
    found = attribute_edits(
        metric,
        inputs.sources * len(names),
        [text for name in names for text in inputs.systems[name]],
        None
        if inputs.references is None
        else inputs.references.select(list(range(size)) * len(names)),
        edits=edits,
        runtime=runtime,
    )
    for place, each in enumerate(found):
        tokens = inputs.sources[place % size].split()
        for number, edit in enumerate(each.edits):
            yield {
                "system": names[place // size],
                "metric": metric.label,
                "sentence": place % size + 1,
                "start": edit.start,
                "end": edit.end,
                "original": " ".join(tokens[edit.start : edit.end]),
                "correction": edit.correction,
                "type": edit.type,
                "add_one": each.add_one[number],
                "leave_one_out": each.leave_one_out[number],
                "shapley": each.shapley[number],
                "standard_error": each.standard_error[number],
            }
