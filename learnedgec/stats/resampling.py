"""Resamples of sentences, and intervals of a score from its values on the resamples."""

from __future__ import annotations

import numpy as np

from learnedgec.errors import ConfigError
from learnedgec.types import Floats, Indices

__all__ = ["interval", "interval_of_correlation", "multiplicities", "resample"]


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


def interval_of_correlation(
    value: float, of_resamples: Floats, level: float = 0.95
) -> tuple[float, float]:
    """Return the interval of a correlation or an accuracy of systems, by bootstrap over sentences.

    The systems' scores have the noise of the sample of sentences, and resampling adds as much again. So the
    values on the resamples lie below the observed one, and for a high correlation all percentiles may do so.
    The percentile interval is therefore extended, on the side of the observed value, by the distance from the
    median of the resamples to that value. It holds for the correlation in other samples of as many sentences
    (docs/reliability.md).

    Args:
        value: the observed correlation, at most 1.
        of_resamples: (B,), on each resample; NaN where it does not exist.
        level: of the interval.

    Example:
        >>> low, high = interval_of_correlation(0.99, np.linspace(0.9, 0.98, 101))
        >>> round(low, 3), round(high, 3)
        (0.902, 1.0)
    """
    low, high = interval(of_resamples, level)
    if np.isnan(low) or np.isnan(value):
        return low, high
    shift = value - float(np.nanmedian(of_resamples))
    return max(low + min(shift, 0.0), -1.0), min(high + max(shift, 0.0), 1.0)


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
