"""Several corrections of each source: n-best lists, or the outputs of several systems."""

from __future__ import annotations

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


def check_candidates(sources: Sequence[str], candidates: Candidates) -> None:
    """Raise `InputError` unless every source has a list of one or more candidates."""
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
