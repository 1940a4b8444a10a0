"""A number with its interval, over resampled cases."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from learnedgec.errors import InputError
from learnedgec.stats.resampling import interval, multiplicities, resample
from learnedgec.types import Floats

__all__ = ["Bootstrap", "Estimate"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval; NaN where it does not exist.

    Attributes:
        value: the estimate.
        low: lower bound of the interval.
        high: upper bound of the interval.
    """

    value: float
    low: float
    high: float


class Bootstrap:
    """Resamples of N cases (or sentences), shared by all estimates.

    Args:
        size: N.
        resamples: number of resamples.
        level: of the intervals.
        seed: of the random generator.
    """

    def __init__(
        self, size: int, resamples: int = 1000, level: float = 0.95, seed: int = 0
    ) -> None:
        if resamples < 1 or not 0 < level < 1:
            raise InputError(
                f"{resamples} resamples, level {level:g}: give at least one resample and a level between "
                "0 and 1."
            )
        self.level = level
        self.samples = resample(size, resamples, seed)
        self._drawn = multiplicities(self.samples, size)

    def estimate(self, value: float, of_resamples: Floats) -> Estimate:
        """Return a number with the interval of its values on the resamples."""
        return Estimate(value, *interval(of_resamples, self.level))

    def ratio(self, above: Floats, below: Floats) -> Estimate:
        """Return Σ above / Σ below over the cases, float64 (N,) each; NaN where Σ below is 0."""
        values = _quotient(self._drawn @ above, self._drawn @ below)
        return self.estimate(float(_quotient(above.sum(), below.sum())), values)

    def mean(self, values: Floats) -> Estimate:
        """Return the mean over the cases of float64 (N,)."""
        return self.ratio(values, np.ones(len(values)))

    def share(self, kept: npt.NDArray[Any], cases: npt.NDArray[np.intp]) -> Estimate:
        """Return the mean of M values, such as whether each of M variants is kept; each belongs to a case."""
        size = self._drawn.shape[1]
        above = np.bincount(cases, kept, size).astype(np.float64)
        return self.ratio(above, np.bincount(cases, minlength=size).astype(np.float64))

    def sums(self, values: Floats) -> Floats:
        """Return Σ values over each resample, float64 (B,)."""
        found: Floats = self._drawn @ values
        return found


def _quotient(above: Floats | np.float64, below: Floats | np.float64) -> Floats:
    above, below = np.asarray(above, float), np.asarray(below, float)
    quotients: Floats = np.divide(above, below, out=np.full(above.shape, np.nan), where=below != 0)
    return quotients
