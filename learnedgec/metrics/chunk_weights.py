"""How much a chunk counts: by its length, or by what it does to the similarity with the reference.

The formulas are those of `learnedgec.metrics.cleme`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit

from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.data.references import References
from learnedgec.edits.chunks import CLASSES
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats

if TYPE_CHECKING:
    from learnedgec.metrics.bertscore import BertScore

__all__ = ["LONGEST", "length_weights", "similarity_weights"]

# The longest length that is distinguished; weights are at their bounds long before.
LONGEST = 63


class LengthWeight(NamedTuple):
    """The weight of a chunk by its length: α, and the bounds to which the weight is clipped."""

    alpha: float
    least: float
    most: float


_CORPUS = (LengthWeight(2, 0.75, 1.25),) * 3
# By level and assumption, the weights of tp, fp and fn.
_LENGTH_WEIGHTS = {
    ("corpus", "dependent"): _CORPUS,
    ("corpus", "independent"): _CORPUS,
    ("sentence", "dependent"): (
        LengthWeight(10, 1, 10),
        LengthWeight(10, 0.25, 1),
        LengthWeight(10, 1, 1),
    ),
    ("sentence", "independent"): (
        LengthWeight(10, 2.5, 10),
        LengthWeight(10, 0.25, 1),
        LengthWeight(10, 1, 1),
    ),
}


def length_weights(level: str, assumption: str, mean_lengths: Floats) -> Floats:
    """Return the weight of each class and length for each of B mean lengths, float (B, 4, 64).

    If no reference changes anything, there is no mean length, and all chunks have weight 1.

    Args:
        level: `corpus` or `sentence`.
        assumption: `dependent` or `independent`.
        mean_lengths: float (B,), NaN where there is none.
    """
    tp, fp, fn = _LENGTH_WEIGHTS[level, assumption]
    excess = np.arange(LONGEST + 1) - mean_lengths[:, None]
    columns = [
        np.clip(alpha * expit(sign * excess - math.log(alpha - 1)), least, most)
        for sign, (alpha, least, most) in ((1, tp), (-1, fp), (-1, fp), (1, fn))
    ]
    table: Floats = np.nan_to_num(np.stack(columns, axis=1), nan=1.0)
    return table


def similarity_weights(
    sources: Sequence[str],
    references: References,
    records: Sequence[dict[str, Any]],
    similarity: BertScore,
    runtime: Runtime,
) -> Floats:
    """Return the sums of similarity weights, float (N, R, 4); each goes into the records.

    Args:
        sources: N sentences.
        references: references of the sentences.
        records: N records with `chunks`, which get `weights`.
        similarity: metric that weighs the edits.
        runtime: how to run.
    """
    from learnedgec.metrics.pretrained_overlap import edit_changes

    alone = [
        [[_edit_alone(chunk, column) for chunk in record["chunks"]] for column in range(len(row))]
        for record, row in zip(records, references, strict=True)
    ]
    edits = [[filter(None, column) for column in row] for row in alone]
    changes = edit_changes(sources, edits, references, similarity, runtime)
    sums = np.zeros((len(sources), references.most, len(CLASSES) - 1))
    for number, (source, record) in enumerate(zip(sources, records, strict=True)):
        for place, chunk in enumerate(record["chunks"]):
            chunk["weights"] = []
            for column, kind in enumerate(chunk["counts"]):
                edit, weight = alone[number][column][place], 1.0
                if edit is not None:
                    # An empty text is similar to nothing: a chunk whose edit leaves no text has weight 0.
                    some = bool(apply_edits(source, [edit]))
                    weight = abs(changes[number][column][edit]) if some else 0.0
                    sums[number, column, CLASSES.index(kind)] += weight
                chunk["weights"].append(weight)
    return sums


def _edit_alone(chunk: Mapping[str, Any], column: int) -> Edit | None:
    """Return the edit whose change of similarity is the weight of a chunk; `None` for tn."""
    kind = chunk["counts"][column]
    if kind == "tn":
        return None
    correction = chunk["references"][column] if kind == "fn" else chunk["correction"]
    return Edit(chunk["start"], chunk["end"], correction)
