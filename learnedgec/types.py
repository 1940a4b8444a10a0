"""Array types for signatures."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Floats", "Indices", "Ints"]

Array: TypeAlias = npt.NDArray[Any]
"""An array of any type."""
Floats: TypeAlias = npt.NDArray[np.float64]
"""Scores and other real numbers, float64."""
Indices: TypeAlias = npt.NDArray[np.intp]
"""Positions of sentences or systems."""
Ints: TypeAlias = npt.NDArray[np.int64]
"""Counts, int64."""
