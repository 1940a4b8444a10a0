"""Resamples of sentences, and intervals of a score from its values on the resamples."""

from __future__ import annotations

import numpy as np

from learnedgec.arrays import Floats, Indices
from learnedgec.errors import ConfigError

__all__ = [
    "interval",
    "multiplicities",
    "resample",
]


def interval(values: Floats, level: float = 0.95) -> tuple[float, float]:
    """Return the central `level` of a bootstrap distribution, leaving out NaN.

    Resamples in which a correlation does not exist are left out; with none left, NaN.
    """
    known = values[~np.isnan(values)]
    if not known.size:
        return float("nan"), float("nan")
    tail = 50 * (1 - level)
    low, high = np.percentile(known, [tail, 100 - tail])
    return float(low), float(high)


def resample(size: int, count: int, seed: int = 0) -> Indices:
    """Return int (count, size): each row draws `size` numbers below `size` with replacement.

    Args:
        size: number of sentences.
        count: number of resamples.
        seed: of the random generator.

    Raises:
        ConfigError: the resamples do not fit into memory.
    """
    try:
        return np.random.default_rng(seed).integers(0, size, (count, size), dtype=np.intp)
    except (MemoryError, OverflowError, ValueError):
        raise ConfigError(
            f"{count:.3g} resamples of {size} sentences do not fit into memory; ask for fewer."
        ) from None


def multiplicities(samples: Indices, size: int) -> Floats:
    """Return float64 (B, size): how often each resample has drawn each sentence."""
    offsets = samples + np.arange(len(samples))[:, None] * size
    counts = np.bincount(offsets.ravel(), minlength=len(samples) * size)
    return counts.reshape(len(samples), size).astype(np.float64)
