"""Containers of texts: a function for each that makes it from given texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import datasets
import numpy as np
import pandas as pd

CONTAINERS: dict[str, Callable[[Sequence[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "numpy": lambda texts: np.array(texts, dtype=np.str_),
    "numpy-objects": lambda texts: np.array(texts, dtype=object),
    "numpy-items": lambda texts: [np.str_(text) for text in texts],
    "series": lambda texts: pd.Series(texts, index=range(7, 7 + len(texts)), dtype="str"),
    "string-series": lambda texts: pd.Series(texts, dtype="string"),
    "categories": lambda texts: pd.Series(texts, dtype="category"),
    "index": pd.Index,
    "dataset": lambda texts: datasets.Dataset.from_dict({"text": list(texts)})["text"],
}
