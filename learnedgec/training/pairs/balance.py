"""How well the number of edits alone predicts which side of a ranked pair is better."""

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
    """Return the word distances of the better and of the worse side from the source."""
    source = pair.source.split()
    better, worse = (
        Levenshtein.distance(source, text.split()) for text in (pair.better, pair.worse)
    )
    return better, worse


def nearness(pair: RankedPair) -> Nearness:
    """Return `nearer`, `equal` or `farther`: the distance of the better side compared with the worse one.

    Example:
        >>> nearness(RankedPair("She go .", "She goes .", "She go ."))
        'farther'
    """
    better, worse = _distances(pair)
    return "nearer" if better < worse else "equal" if better == worse else "farther"


def edit_balance(pairs: Sequence[RankedPair]) -> dict[str, Any]:
    """Return the mean distances of both sides from the source, and how often each side is farther.

    The distance is the smallest number of words that must be substituted, inserted or deleted.

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
