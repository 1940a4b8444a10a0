"""Several corrections of each source: n-best lists, or the outputs of several systems."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from learnedgec.data.sentences import Systems, as_systems
from learnedgec.data.text import check_lengths
from learnedgec.errors import InputError

Candidates: TypeAlias = Sequence[Sequence[str]]
"""For each of N sources, one or more corrections; their number may vary."""


def as_candidates(systems: Systems | Candidates) -> Candidates:
    """Return the candidates of each source, from systems' outputs by name or from lists of candidates.

    Raises:
        LengthError: the systems have outputs for different numbers of sources.

    Example:
        >>> as_candidates({"A": ["He go .", "Yes ."], "B": ["He goes .", "Yes ."]})
        [['He go .', 'He goes .'], ['Yes .', 'Yes .']]
    """
    if not isinstance(systems, Mapping):
        return systems
    outputs = as_systems(systems)
    check_lengths(*outputs.items())
    return [list(row) for row in zip(*outputs.values(), strict=True)]


def check_candidates(
    sources: Sequence[str], candidates: Candidates, weights: Sequence[Sequence[float]] | None
) -> None:
    """Raise unless every source has candidates, and each of them a weight where there are weights.

    Args:
        sources: N sources.
        candidates: corrections of each source.
        weights: weight of each candidate, if there are weights.

    Raises:
        InputError: a source has no candidate, or weights that are negative, infinite or all 0.
    """
    if len(sources) != len(candidates):
        raise InputError(
            f"{len(sources)} sources have {len(candidates)} lists of candidates; give one list each."
        )
    for number, row in enumerate(candidates, 1):
        if isinstance(row, str) or not row:
            raise InputError(
                f"sentence {number} has {'a text in place of a list' if row else 'no candidate'}; "
                "give a list with at least one correction."
            )
    if weights is None:
        return
    for number, (row, shares) in enumerate(zip(candidates, weights, strict=True), 1):
        if len(row) != len(shares) or min(shares) < 0 or not 0 < sum(shares) < math.inf:
            raise InputError(
                f"sentence {number} has {len(row)} candidates and the weights {list(shares)}; give each a "
                "number from 0 up, not all 0."
            )
