"""Which of several references a sentence is compared with, by itself or along a corpus.

A metric that sums counts over a corpus compares each sentence with the reference that is best for
the corpus score so far, from the first sentence to the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from learnedgec.arrays import Array, Floats, Indices
from learnedgec.metrics.base import Statistics

__all__ = ["best_along", "first_best", "real_references"]

Mask = npt.NDArray[np.bool_]


def real_references(statistics: Statistics) -> Mask:
    """Return which places for references each sentence fills, bool (N, R), of those that `annotator` has."""
    places = np.arange(statistics["annotator"].shape[1])
    real: Mask = places < statistics["references"][:, None]
    return real


def first_best(keys: Sequence[Array], real: Mask) -> Indices:
    """Return the index along the last axis of the first real entry whose keys are largest, in order.

    Example:
        >>> real = np.ones((1, 3), dtype=bool)
        >>> int(first_best([np.array([[1, 2, 2]]), np.array([[9, 3, 4]])], real)[0])
        2
    """
    best = real
    for key in keys:
        best = best & (key == np.where(best, key, -np.inf).max(axis=-1, keepdims=True))
    indices: Indices = best.argmax(axis=-1)
    return indices


def best_along(
    steps: Iterable[tuple[Floats, Mask]],
    preference: Callable[[Floats, Floats], Sequence[Array]],
) -> tuple[Indices, Floats]:
    """Choose references along B samples of M ≥ 1 sentences.

    Args:
        steps: for each of the M sentences the counts with each reference, float (C, B, R), and
            which references are real, bool (B, R).
        preference: from the sums that there would be with each reference, float (C, B, R), and the
            counts themselves, to what decides, the most important first; larger is better and the
            first reference wins if all are equal.

    Returns:
        The choices, int (B, M), and the sums of the chosen counts, float (C, B).
    """
    choices: list[Indices] = []
    sums: Floats | None = None
    for counts, real in steps:
        before = np.zeros(counts.shape[:2]) if sums is None else sums
        best = np.zeros(counts.shape[1], dtype=np.intp)
        # Where all references count the same there is no choice.
        if ((counts != counts[..., :1]) & real).any():
            best = first_best(preference(before[..., None] + counts, counts), real)
        choices.append(best)
        sums = before + counts[:, np.arange(len(best)), best]
    assert sums is not None
    return np.stack(choices, axis=1), sums
