"""The cheapest alignment of two sentences by matches, substitutions, insertions, deletions and reorderings.

An alignment is a cheapest path through a table over the tokens of both sentences: a match costs 0, a deletion
or an insertion 1, a substitution an amount that the caller gives, and a reordering of k+1 tokens k.
Reordering is searched for only where both last words occur in the other sentence.

Source: Felice, Bryant and Briscoe, "Automatic Extraction of Learner Errors in ESL Sentences Using
Linguistically Enhanced Alignments" (COLING 2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

__all__ = ["Step", "cheapest_table", "trace_back"]

Step: TypeAlias = tuple[str, int, int, int, int]
"""`M`, `S`, `D`, `I` or `Tk`, and the span of tokens on either side."""


def cheapest_table(
    words: Sequence[str],
    other: Sequence[str],
    low: Sequence[str],
    other_low: Sequence[str],
    substitution: Sequence[Sequence[float]],
) -> tuple[list[list[float]], list[list[str]]]:
    """Return the table of costs and the table of the operations that end in each cell.

    Args:
        words: H tokens of the source.
        other: W tokens of the target.
        low: the source's tokens in lower case, which reordering compares.
        other_low: the target's tokens in lower case.
        substitution: (H, W), cost of each substitution.

    Returns:
        Two tables of H+1 rows and W+1 columns.
    """
    first, other_first = _first_places(low), _first_places(other_low)
    width, height = len(other), len(words)
    costs: list[list[float]] = [[float(j) for j in range(width + 1)]]
    operations = [["O"] + ["I"] * width]
    for i in range(height):
        above, word = costs[i], words[i]
        row: list[float] = [above[0] + 1]
        operation_row = ["D"]
        costs.append(row)
        operations.append(operation_row)
        substitution_row = substitution[i]
        reaches = other_first.get(low[i], width)
        for j in range(width):
            if word == other[j]:
                row.append(above[j])
                operation_row.append("M")
                continue
            best, operation = above[j] + substitution_row[j], "S"
            insertion, deletion = row[j] + 1, above[j + 1] + 1
            if insertion < best:
                best, operation = insertion, "I"
            if deletion < best:
                best, operation = deletion, "D"
            # A reordering that ends here has both last words on both sides.
            if reaches <= j and first.get(other_low[j], height) <= i:
                back = _reordered(costs, low, other_low, i, j)
                if back and costs[i - back][j - back] + back <= best:
                    best, operation = costs[i - back][j - back] + back, f"T{back + 1}"
            row.append(best)
            operation_row.append(operation)
    return costs, operations


def trace_back(operations: Sequence[Sequence[str]]) -> list[Step]:
    """Return the steps of the path to the last cell of a table of operations, from left to right.

    Example:
        >>> words, other = ["a", "b", "c"], ["b", "a"]
        >>> trace_back(cheapest_table(words, other, words, other, [[2.0] * 2] * 3)[1])
        [('T2', 0, 2, 0, 2), ('D', 2, 3, 2, 2)]
    """
    i, j = len(operations) - 1, len(operations[0]) - 1
    steps: list[Step] = []
    while i or j:
        operation = operations[i][j]
        size = int(operation[1:] or 1)
        down, right = 0 if operation == "I" else size, 0 if operation == "D" else size
        steps.append((operation, i - down, i, j - right, j))
        i, j = i - down, j - right
    return steps[::-1]


def _first_places(words: Sequence[str]) -> dict[str, int]:
    """Return the first position of each word."""
    places: dict[str, int] = {}
    for place, word in enumerate(words):
        places.setdefault(word, place)
    return places


def _reordered(
    costs: list[list[float]], low: Sequence[str], other: Sequence[str], i: int, j: int
) -> int:
    """Return the smallest k for which the k+1 words up to i and j are the same in another order, or 0.

    The search ends at a pair of words that costs nothing.
    """
    missing: dict[str, int] = {}
    unequal = 0
    for k in range(min(i, j) + 1):
        if k and costs[i - k + 1][j - k + 1] == costs[i - k][j - k]:
            return 0
        for word, step in ((low[i - k], 1), (other[j - k], -1)):
            before = missing.get(word, 0)
            missing[word] = before + step
            unequal += (before + step != 0) - (before != 0)
        if k and not unequal:
            return k
    return 0
