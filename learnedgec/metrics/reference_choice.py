"""The reference that a sentence is compared with: the best for the sentence, or for the corpus so far.

A metric that sums counts over a corpus compares each sentence with the reference that is best for
the corpus score so far, from the first sentence to the last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from learnedgec.data.references import References
from learnedgec.metrics.statistics import Statistics
from learnedgec.types import Array, Floats, Indices, Ints

Mask = npt.NDArray[np.bool_]

# Numbers in the counts of one block of samples: 2 MiB.
_BLOCK = 2**18


def count_references(references: References) -> Ints:
    """Return how many references each sentence has, int (N,)."""
    return np.array([len(row) for row in references], dtype=np.int64)


def reference_arrays(references: References) -> dict[str, Array]:
    """Return `annotator`, int (N, R), whose each reference is, and `references`, int (N,), their number."""
    annotator = np.zeros((len(references), references.most), dtype=np.int64)
    for numbers, row in zip(annotator, references, strict=True):
        numbers[: len(row)] = [reference.annotator for reference in row]
    return {"annotator": annotator, "references": count_references(references)}


def real_references(statistics: Statistics) -> Mask:
    """Return which of the R reference slots of `annotator` each sentence fills, bool (N, R)."""
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


def sample_blocks(samples: Indices, width: int) -> Iterator[Indices]:
    """Cut B samples of M sentences, int (B, M), into blocks whose counts fit into a processor's cache.

    Args:
        samples: sentence numbers.
        width: the numbers that are held for each sentence.
    """
    size = max(_BLOCK // max(samples.shape[1] * width, 1), 1)
    for start in range(0, len(samples), size):
        yield samples[start : start + size]


def best_along(
    counts: Floats,
    real: Mask,
    preference: Callable[[Floats, Floats], Sequence[Array]],
    guess: Indices | None = None,
) -> tuple[Indices, Floats]:
    """Choose references along B samples of M sentences.

    Choices are guessed for all sentences and then made again with the resulting sums, until none changes.
    Each round settles at least one more choice from the left, so the result is that of going from sentence to
    sentence. Few choices depend on the sums; two or three rounds are usual.

    Args:
        counts: of each sentence with each reference, float (C, B, M, R).
        real: which references exist, bool (B, M, R).
        preference: a function from the sums with each reference chosen, float (C, B, M, R), and the counts
            themselves to the ranking keys, the most important first; larger is better, and the first
            reference wins if all are equal.
        guess: choices to start from, int (B, M), such as those in another order; the closer they are, the
            faster.

    Returns:
        The choices, int (B, M), and the sums of the chosen counts, float (C, B).
    """
    choices = np.zeros(real.shape[:2], dtype=np.intp) if guess is None else guess.copy()
    open_ = np.arange(len(real))
    left, left_real = counts, real
    while len(open_):
        before = _sums(take_references(left, choices[None, open_]))[..., :-1]
        best = first_best(preference(before[..., None] + left, left), left_real)
        moved = (best != choices[open_]).any(axis=1)
        choices[open_] = best
        open_, left, left_real = open_[moved], left[:, moved], left_real[moved]
    sums: Floats = _sums(take_references(counts, choices[None]))[..., -1]
    return choices, sums


def _sums(chosen: Floats) -> Floats:
    """Return the sums before the first sentence, 0, and after each of M, float (C, B, 1 + M)."""
    sums: Floats = np.concatenate([np.zeros_like(chosen[..., :1]), chosen], axis=-1)
    return np.cumsum(sums, axis=-1, out=sums)


def take_references(values: Array, choices: Indices) -> Array:
    """Return the values of the chosen references, (…, M) from (…, M, R)."""
    chosen: Array = np.take_along_axis(values, choices[..., None], axis=-1)[..., 0]
    return chosen


def four_decimals(values: Floats) -> Floats:
    """Return the numbers rounded as by Python's `round`; NumPy's differs in close cases.

    Some official tools choose by rounded figures.
    """
    rounded: Floats = np.round(values, 4)
    close = np.abs(values * 1e4 % 1 - 0.5) < 1e-6
    if close.any():
        rounded[close] = [round(value, 4) for value in values[close].tolist()]
    return rounded
