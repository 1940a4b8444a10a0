"""Quotients of counts and sums that may be 0."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from learnedgec.types import Floats


def quotient(above: npt.ArrayLike, below: npt.ArrayLike) -> Floats:
    """Return above / below, NaN where the denominator is not above 0.

    Example:
        >>> quotient([1, 1], [2, 0]).tolist()
        [0.5, nan]
    """
    above, below = np.broadcast_arrays(np.asarray(above, float), np.asarray(below, float))
    quotients: Floats = np.divide(above, below, out=np.full(below.shape, np.nan), where=below > 0)
    return quotients
