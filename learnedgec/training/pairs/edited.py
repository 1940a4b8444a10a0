"""Ranked pairs that differ in one edit of a system, which references have or do not have."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jsonargparse.typing import PositiveInt

from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.edits.annotator import extract_edits
from learnedgec.edits.parsing import default_annotator
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs.base import PairSource, RankedPair, drawn
from learnedgec.training.pairs.referenced import (
    outputs_with_references,
    pooled_references,
    reference_texts,
)


@dataclass
class EditPairs(PairSource):
    """Pairs of a system's output and the same output without one of its edits.

    The output is better if a reference has the edit, at the same place with the same correction, else the
    output without it. A head with the objective `logistic` then learns the log-odds that an annotator accepts
    an edit, as the difference of its values with and without the edit. References leave out good edits, so
    some of the edits that count as wrong are right.

    Args:
        outputs: datasets with outputs of systems, such as `pillars:train/single`.
        references: datasets with references for the same sources; all references of a source are pooled.
        annotator: spaCy pipeline that finds the edits; by default as for the metric `errant`.
        number: number of pairs, drawn at random; by default, all.
        seed: seed of the draw.
    """

    outputs: list[str]
    references: list[str]
    annotator: str | None = None
    number: PositiveInt | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        self.annotator = self.annotator or default_annotator()

    def datasets(self) -> list[str]:
        """Return the datasets of outputs and of references."""
        return list(dict.fromkeys([*self.outputs, *self.references]))

    def material(self) -> Iterator[str]:
        """Yield the references, which decide which side is better."""
        yield from reference_texts(self.references)

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs in the order of the data, or those drawn."""
        assert self.annotator is not None
        references = pooled_references(self.references)
        # (source, output) -> its dataset
        outputs = {
            row: name for name in self.outputs for row in outputs_with_references(name, references)
        }
        pairs = [
            *outputs,
            *((source, row.text) for source, rows in references.items() for row in rows),
        ]
        edits = extract_edits(pairs, self.annotator, runtime=runtime)
        accepted: dict[str, set[tuple[int, int, str]]] = {}
        for (source, _), row in zip(pairs[len(outputs) :], edits[len(outputs) :], strict=True):
            accepted.setdefault(source, set()).update(map(_key, row))
        # Several systems often make an edit beside the same others.
        ranked: dict[RankedPair, None] = {}
        for ((source, _), name), row in zip(outputs.items(), edits, strict=False):
            for edit in row:
                better = apply_edits(source, row)
                worse = apply_edits(source, [other for other in row if other != edit])
                if _key(edit) not in accepted[source]:
                    better, worse = worse, better
                ranked[RankedPair(source, better, worse, 1.0, source, name)] = None
        return drawn(list(ranked), self.number, random.Random(self.seed))


def _key(edit: Edit) -> tuple[int, int, str]:
    return edit.start, edit.end, edit.correction
