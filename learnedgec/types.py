"""Types of arrays and texts for signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
"""An array of any type."""
Floats: TypeAlias = npt.NDArray[np.float64]
"""Scores and other real numbers, float64."""
Indices: TypeAlias = npt.NDArray[np.intp]
"""Positions of sentences or systems."""
Ints: TypeAlias = npt.NDArray[np.int64]
"""Counts, int64."""
Mask: TypeAlias = npt.NDArray[np.bool_]
"""Which of some items have a property, bool."""
Texts: TypeAlias = Sequence[str]
"""Sentences, one text each."""
