"""Divide two long sentences into pairs of pieces that are aligned separately.

The table of a cheapest alignment (`learnedgec.edits.cheapest`) has a cell for every pair of tokens, a hundred
million for two texts of 10,000 tokens. Such texts are not sentences, but they are still scored, within
seconds and in memory that grows with their length. They are divided in the middle of the longest runs of
equal tokens on a shortest alignment (by the Levenshtein distance of tokens, with RapidFuzz). The cheapest
alignment hardly ever differs there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeAlias

import numpy as np

from learnedgec.execution.notices import InputWarning, warn_of_inputs

__all__ = ["LONG", "LongSentenceWarning", "Piece", "cut", "warn_of_long"]

LONG = 1_000
"""The tokens of the longest sentence that is aligned as a whole."""

# The most tokens of a piece, on either side: its table is made in about 0.01 s.
_MOST = 100

Piece: TypeAlias = tuple[int, int, int, int]
"""Where a piece starts and ends in the source, and where in the target."""


class LongSentenceWarning(InputWarning):
    """Warning that sentences are so long that they are aligned in pieces."""


def warn_of_long(lengths: Collection[int]) -> None:
    """Warn if sentences have too many tokens to be aligned as a whole.

    Args:
        lengths: number of tokens of every sentence.
    """
    longer = [length for length in lengths if length > LONG]
    if longer:
        warn_of_inputs(
            LongSentenceWarning(
                f"texts of more than {LONG:,} tokens (here {len(longer)}, up to {max(longer):,} tokens) are "
                "aligned in pieces, so their edits may differ from those of the official tool; is each line "
                "one sentence?"
            )
        )


def cut(words: Sequence[str], other: Sequence[str], most: int = _MOST) -> list[Piece]:
    """Return the pieces of two sentences, from left to right, with at most `most` tokens of either in each.

    Each piece but the last has between half of `most` and `most` tokens on one side. It ends in the middle of
    the longest run of equal tokens that allows this; without such a run, it is as long as possible.

    Args:
        words: tokens of the source.
        other: tokens of the target.
        most: maximum number of tokens of either sentence in a piece.

    Example:
        >>> cut("a b c d e f".split(), "a b c x e f".split(), most=4)
        [(0, 4, 0, 4), (4, 6, 4, 6)]
        >>> cut("a b c d e f".split(), "x b c d e y".split(), most=4)
        [(0, 3, 0, 3), (3, 6, 3, 6)]
    """
    rows, columns, merit = _path(words, other)
    pieces: list[Piece] = []
    at = 0
    while at < len(rows) - 1:
        top, left = int(rows[at]), int(columns[at])
        # The path goes down and to the right: the places that are near enough follow one another.
        last = min(
            int(np.searchsorted(rows, top + most, "right")),
            int(np.searchsorted(columns, left + most, "right")),
        )
        if last < len(rows):
            half = max(
                int(np.searchsorted(rows, top + (most + 1) // 2)),
                int(np.searchsorted(columns, left + (most + 1) // 2)),
            )
            first = min(max(half, at + 1), last - 1)
            # The last of the best.
            at = last - 1 - int(np.argmax(merit[first:last][::-1]))
        else:
            at = len(rows) - 1
        pieces.append((top, int(rows[at]), left, int(columns[at])))
    return pieces


def _path(
    words: Sequence[str], other: Sequence[str]
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], ...]:
    """Return the positions on a shortest alignment, and how suitable each is for dividing.

    Returns:
        Three int64 arrays (P,): tokens of the source before the position, tokens of the target before it, and
        the length of the run of equal tokens of which it is the middle, else 0.
    """
    from rapidfuzz.distance import Levenshtein

    rows, columns = [np.zeros(1, dtype=np.int64)], [np.zeros(1, dtype=np.int64)]
    merits: dict[int, int] = {}
    size = 1
    numbers = {word: number for number, word in enumerate(dict.fromkeys((*words, *other)))}
    steps = Levenshtein.opcodes([numbers[w] for w in words], [numbers[w] for w in other])
    for step in steps:
        down, right = step.src_end - step.src_start, step.dest_end - step.dest_start
        length = max(down, right)
        along = np.arange(1, length + 1)
        rows.append(step.src_start + np.minimum(along, down))
        columns.append(step.dest_start + np.minimum(along, right))
        if step.tag == "equal":
            merits[size - 1 + length // 2] = length
        size += length
    merit = np.zeros(size, dtype=np.int64)
    merit[list(merits)] = list(merits.values())
    return np.concatenate(rows), np.concatenate(columns), merit
