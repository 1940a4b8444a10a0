"""References and systems whose edits are given, and the texts on which official tools were run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from learnedgec.data.m2 import AnnotatedSentence, Edit, read_m2
from learnedgec.data.references import References
from learnedgec.data.text import read_lines
from learnedgec.metrics.contract import Statistics
from learnedgec.metrics.edit_overlap import EditRows

GOLDEN = Path(__file__).parent / "golden"


def toy(system: str, references: int) -> tuple[list[str], list[str], References]:
    """Return sources, the hypotheses of system A or B, and so many of the two references."""
    names = "source.txt", f"hyp{system}.txt", *(f"ref{number}.txt" for number in range(references))
    sources, hypotheses, *texts = (read_lines(GOLDEN / name) for name in names)
    return sources, hypotheses, References.from_texts(*texts)


class ComparesEdits(Protocol):
    """A metric that compares given edits."""

    def compare(
        self, sources: Sequence[str], edits: EditRows, references: References, /
    ) -> Statistics: ...


def references_of(source: str, *annotators: Sequence[Edit]) -> References:
    """Return one sentence's references, each with an annotator's edits."""
    block = AnnotatedSentence(source, {n: tuple(edits) for n, edits in enumerate(annotators)})
    return References.from_annotated([block])


# One system after the other is compared with the same references, in several ways.
_references = lru_cache(maxsize=1)(References.from_m2)
_blocks = lru_cache(maxsize=1)(read_m2)


def compare_files(metric: ComparesEdits, system: Path, gold: Path) -> Statistics:
    """Return the statistics of a system's edits in an M2 file."""
    blocks = _blocks(system)
    sources = [block.source for block in blocks]
    edits = [block.annotations[0] for block in blocks]
    return metric.compare(sources, edits, _references(gold))
