"""The licences of an evaluator's training data, and the licence of its weights.

Whether the licence of training data applies to the weights is not settled. To be safe, a package's licence
requires all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from learnedgec.data.catalog.registry import DATASETS

__all__ = ["licence_lines", "weights_licence"]

_SPDX = re.compile(r"MIT|Apache-2\.0|BSD-[23]-Clause|CC0-1\.0|CC-BY(-NC)?(-SA|-ND)?-[1-4]\.0")
_NONE, _OWN = "LicenseRef-none-stated", "LicenseRef-own-data"
_TERMS = {
    "NC": "not for commercial use",
    "BY": "name the authors",
    "SA": "pass on what you make of it under the same licence",
    "ND": "pass on nothing that you make of it",
}


def weights_licence(datasets: Iterable[str]) -> str:
    """Return the licence of weights that were trained on datasets, as an SPDX expression.

    `AND` joins licences that all apply. `LicenseRef-none-stated` means that the authors of the data state no
    licence, `LicenseRef-own-data` that the data are the user's, and `LicenseRef-NAME` the terms of the
    dataset NAME.

    Args:
        datasets: names as in a manifest: datasets of the catalog, with or without a part, or files.

    Example:
        >>> weights_licence(["tmu-gfm", "gug:train", "jfleg:dev", "ratings.csv"])
        'CC-BY-NC-SA-4.0 AND LicenseRef-none-stated AND LicenseRef-own-data'
    """
    return " AND ".join(sorted({_licence(name) for name in datasets})) or _OWN


def licence_lines(datasets: Iterable[str]) -> Iterator[str]:
    """Yield a line of a model card for each licence: its datasets and its conditions.

    Example:
        >>> list(licence_lines(["robustgec:bea19", "robustgec:tem8"]))
        ['- `robustgec`: MIT; keep its notice']
    """
    named: dict[str, dict[str, None]] = {}
    for name in datasets:
        named.setdefault(_licence(name), {})[_whole(name)] = None
    for licence, names in named.items():
        about = ", ".join(f"`{name}`" for name in names)
        if licence == _NONE:
            text = "no licence is stated, so none is given; ask the authors before any use but research"
        elif licence == _OWN:
            text = "your own data"
        elif licence.startswith("LicenseRef-"):
            text = DATASETS.find(next(iter(names))).licence
        elif licence.startswith("CC-BY"):
            terms = (term for key, term in _TERMS.items() if key in licence.split("-"))
            text = "; ".join([DATASETS.find(next(iter(names))).licence, *terms])
        else:
            text = f"{licence}; keep its notice"
        yield f"- {about}: {text}"


def _whole(name: str) -> str:
    """Return a dataset's name without the part."""
    head = name.partition(":")[0]
    return head if head in DATASETS else name


def _licence(name: str) -> str:
    """Return the SPDX identifier of a dataset's licence."""
    head = _whole(name)
    if head not in DATASETS:
        return _OWN
    stated = DATASETS.find(head).licence
    if stated == "none stated":
        return _NONE
    identifier = stated.replace(" ", "-")
    return identifier if _SPDX.fullmatch(identifier) else f"LicenseRef-{head}"
