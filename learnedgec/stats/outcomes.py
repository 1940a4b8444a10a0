"""One rule for all that counts wins: it says which of two scores is higher, or whether they tie.

Two scores tie if they differ by no more than rounding. A strict comparison of floating-point numbers would
count that rounding as a win: two outputs with the same numbers of correct and proposed edits may have M2
scores of 0.30000000000000004 and 0.3.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from learnedgec.types import Floats


def quotient(above: npt.ArrayLike, below: npt.ArrayLike) -> Floats:
    """Return above / below, or NaN where the denominator is not above 0.

    Example:
        >>> quotient([1, 1], [2, 0]).tolist()
        [0.5, nan]
    """
    above, below = np.broadcast_arrays(np.asarray(above, float), np.asarray(below, float))
    quotients: Floats = np.divide(above, below, out=np.full(below.shape, np.nan), where=below > 0)
    return quotients


# Scores that differ by no more than this are equal. The difference is absolute below 1, and relative above.
_ROUNDING = 1e-12


def outcomes(first: Floats, second: Floats) -> Floats:
    """Return 1 where the first score is higher, -1 where the second is higher, and 0 where they tie.

    Scores tie if |a - b| <= 1e-12 * max(1, |a|, |b|). Infinite scores tie with their equals. NaN, which is
    neither higher nor lower, ties with everything.

    Args:
        first: scores of any shape.
        second: scores that broadcast against them.

    Returns:
        float64 of their common shape.

    Example:
        >>> outcomes(np.array([0.1 + 0.2, 0.5, 1.0]), np.array([0.3, 0.25, 2.0])).tolist()
        [0.0, 1.0, -1.0]
    """
    with np.errstate(invalid="ignore"):
        difference = np.subtract(first, second, dtype=np.float64)
    size = np.maximum(np.maximum(np.abs(first), np.abs(second)), 1.0)
    near = np.abs(difference) <= _ROUNDING * np.where(np.isfinite(size), size, 1.0)
    signs: Floats = np.where(near | np.isnan(difference), 0.0, np.sign(difference))
    return signs


def win_counts(scores: Floats) -> Floats:
    """Return the number of sentences on which the row's system beats the column's, float64 (S, S).

    Two systems tie on all other sentences: N - wins - wins.T.

    Args:
        scores: (S, N), each system's score of each sentence.

    Example:
        >>> win_counts(np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]])).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    wins: Floats = (outcomes(scores[:, None], scores[None]) > 0).sum(axis=2, dtype=np.float64)
    return wins


def win_shares(wins: Floats, ties: Floats) -> Floats:
    """Return the share of all games, including ties, that the row's system won, float64 (S, S).

    A tie is a game without a winner: the shares of two systems and of their ties sum to 1.

    Args:
        wins: (S, S), the number of times that the row's system beat the column's.
        ties: (S, S), symmetric, the number of times that they tied.

    Returns:
        The shares, NaN for systems that never met.

    Example:
        >>> win_shares(np.array([[0.0, 3.0], [1.0, 0.0]]), np.array([[0.0, 4.0], [4.0, 0.0]])).tolist()
        [[nan, 0.375], [0.125, nan]]
    """
    return quotient(wins, wins + wins.T + ties)
