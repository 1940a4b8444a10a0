"""Whether the number of edits gives away which side of a ranked pair is the better one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

from rapidfuzz.distance import Levenshtein

from learnedgec.training.pairs.base import RankedPair

__all__ = ["BALANCE", "Nearness", "edit_balance", "nearness"]

Nearness: TypeAlias = Literal["nearer", "equal", "farther"]
"""Whether the better side of a pair is nearer to its source than the worse side."""
BALANCE: tuple[Nearness, ...] = get_args(Nearness)


def _distances(pair: RankedPair) -> tuple[int, int]:
    """Return how many words the better and the worse side are from the source."""
    source = pair.source.split()
    better, worse = (
        Levenshtein.distance(source, text.split()) for text in (pair.better, pair.worse)
    )
    return better, worse


def nearness(pair: RankedPair) -> Nearness:
    """Return whether the better side is nearer to the source than the worse one, equally far or farther.

    Example:
        >>> nearness(RankedPair("She go .", "She goes .", "She go ."))
        'farther'
    """
    better, worse = _distances(pair)
    return "nearer" if better < worse else "equal" if better == worse else "farther"


def edit_balance(pairs: Sequence[RankedPair]) -> dict[str, Any]:
    """Return how far both sides are from the source, and how often each is farther.

    The distance is the fewest words that are substituted, inserted and deleted.

    Returns:
        `better_farther`, `equally_far`, `better_nearer`: shares of the pairs, which sum to 1;
        `better_distance`, `worse_distance`: mean distances in words. All are 0 if there are no pairs.

    Example:
        >>> edit_balance([RankedPair("She go .", "She goes .", "She go .")])["better_farther"]
        1.0
    """
    farther = equal = 0
    total = [0, 0]
    for pair in pairs:
        better, worse = _distances(pair)
        farther += better > worse
        equal += better == worse
        total[0] += better
        total[1] += worse
    count = max(len(pairs), 1)
    return {
        "better_farther": farther / count,
        "equally_far": equal / count,
        "better_nearer": (len(pairs) - farther - equal) / count,
        "better_distance": total[0] / count,
        "worse_distance": total[1] / count,
    }
