"""References and systems whose edits are given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from learnedgec.data.m2 import AnnotatedSentence, Edit, read_m2
from learnedgec.data.references import References
from learnedgec.metrics.edit_overlap import EditRows
from learnedgec.metrics.statistics import Statistics


class ComparesEdits(Protocol):
    """A metric that compares given edits."""

    def compare(
        self, sources: Sequence[str], edits: EditRows, references: References, /
    ) -> Statistics: ...


def references_of(source: str, *annotators: Sequence[Edit]) -> References:
    """Return one sentence's references, each with an annotator's edits."""
    block = AnnotatedSentence(source, {n: tuple(edits) for n, edits in enumerate(annotators)})
    return References.from_annotated([block])


def compare_files(metric: ComparesEdits, system: Path, gold: Path) -> Statistics:
    """Return the statistics of a system's edits in an M2 file."""
    blocks = read_m2(system)
    sources = [block.source for block in blocks]
    edits = [block.annotations[0] for block in blocks]
    return metric.compare(sources, edits, References.from_m2(gold))
