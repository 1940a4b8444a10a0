"""Distances of texts that may be long: exact, in time that grows with the length and with the distance."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from learnedgec.edits.pieces import LongSentenceWarning
from learnedgec.execution.notices import warn_of_inputs

__all__ = ["levenshtein_distance", "warn_of_slow_distances"]

# RapidFuzz first looks for a distance of at most so much, then for twice as much until it finds one. Without
# a hint it fills the whole table, which takes half a minute for two texts of a million characters.
_HINT = 64

# Characters or tokens that are compared in well under a second, whatever they are.
_SLOW = 100_000


def levenshtein_distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many insertions, deletions and substitutions of tokens there are between two sentences.

    Example:
        >>> levenshtein_distance("He go home".split(), "He goes home .".split())
        2
    """
    from rapidfuzz.distance import Levenshtein

    return int(Levenshtein.distance(first, second, score_hint=_HINT))


def warn_of_slow_distances(lengths: Collection[int]) -> None:
    """Warn where sentences are so long that a distance between them may take many seconds.

    Args:
        lengths: the tokens, or characters, of every sentence.
    """
    longer = [length for length in lengths if length > _SLOW]
    if longer:
        warn_of_inputs(
            LongSentenceWarning(
                f"distances between sentences of more than {_SLOW:,} tokens or characters, of which there "
                f"are {len(longer)}, up to {max(longer):,}, take time that grows with their length times the "
                "distance; is each line one sentence?"
            )
        )
