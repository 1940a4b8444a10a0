"""Sets of cases, arranged so that values of each sentence can be read case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from learnedgec.data.catalog.cases import Case
from learnedgec.errors import InputError
from learnedgec.robustness.changes import (
    ContextChange,
    Dimension,
    describe_changes,
    group_variants,
    word_frequencies,
)

__all__ = ["TOTAL", "CaseSet", "arrange_cases"]

TOTAL = "total"


@dataclass(frozen=True, slots=True)
class CaseSet:
    """C cases with up to V variants; the sentences of all sets form one long list.

    Attributes:
        name: of the set.
        sizes: int (C,), the number of sentences of each case: the original and its variants.
        rows: int (C, V + 1), the place of each sentence in the list, the original first; padded with the
            original.
        real: bool (C, V + 1), where it is not padding.
        groups: which variants are of which kind: see `group_variants`.
    """

    name: str
    sizes: npt.NDArray[np.intp]
    rows: npt.NDArray[np.intp]
    real: npt.NDArray[np.bool_]
    groups: Mapping[tuple[Dimension, str], Sequence[tuple[int, int]]]


def arrange_cases(
    parts: Mapping[str, Sequence[Case]], frequencies: Mapping[str, float] | None = None
) -> list[CaseSet]:
    """Return each set of cases and, if there are several, `total`, all of them one after the other.

    Args:
        parts: sets of cases by name. The long list has the sentences (`Case.pairs`) of the first, then those
            of the second, and so on.
        frequencies: of words, per million tokens; by default in the originals of all cases, source
            and target.

    Raises:
        InputError: a set has no case, or a case no variant.
    """
    for name, cases in parts.items():
        if not cases:
            raise InputError(f"{name} has no case; give one or more.")
        for number, case in enumerate(cases, 1):
            if not case.variants:
                raise InputError(f"case {number} of {name} has no variant; leave it out.")
    if frequencies is None:
        frequencies = word_frequencies(
            text
            for cases in parts.values()
            for case in cases
            for text in (case.original.source, case.original.target)
        )
    changes = {name: [describe_changes(case) for case in cases] for name, cases in parts.items()}
    starts = np.cumsum([0, *(sum(len(case.pairs) for case in cases) for cases in parts.values())])
    if len(parts) > 1:
        changes[TOTAL] = list(chain.from_iterable(changes.values()))
        starts[-1] = 0
    return [
        _arrange(name, of_cases, int(start), frequencies)
        for (name, of_cases), start in zip(changes.items(), starts, strict=False)
    ]


def _arrange(
    name: str,
    changes: Sequence[Sequence[ContextChange]],
    start: int,
    frequencies: Mapping[str, float],
) -> CaseSet:
    sizes = np.array([1 + len(variants) for variants in changes], dtype=np.intp)
    first = start + np.cumsum(sizes) - sizes
    places = np.arange(sizes.max())
    real = places < sizes[:, None]
    rows = np.where(real, first[:, None] + places, first[:, None])
    return CaseSet(name, sizes, rows, real, group_variants(changes, frequencies))
