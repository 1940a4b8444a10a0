"""The cheapest alignment of two sentences by matches, substitutions, insertions, deletions and reorderings.

An alignment is a cheapest path through a table over the tokens of both sentences: a match costs 0, a deletion
or an insertion 1, a substitution an amount that the caller gives, and a reordering of k+1 tokens k.
Reordering is searched for only where both last words occur in the other sentence.

Source: Felice, Bryant and Briscoe, "Automatic Extraction of Learner Errors in ESL Sentences Using
Linguistically Enhanced Alignments" (COLING 2016).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Step: TypeAlias = tuple[str, int, int, int, int]
"""An operation (`M`, `S`, `D`, `I` or `Tk`) with its span of tokens in the source and in the target."""

# The time to join neighbouring changes grows with the square of their number, and faster with the number of
# substitutions. These numbers take seconds.
_MOST_CHANGES, _MOST_SUBSTITUTIONS = 600, 100


def alignment_tables(
    words: Sequence[str],
    other: Sequence[str],
    low: Sequence[str],
    other_low: Sequence[str],
    substitution: npt.NDArray[np.float64],
) -> tuple[list[array[float]], list[list[str]]]:
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
    row = [float(j) for j in range(width + 1)]
    # As arrays, finished rows take a quarter of the memory.
    costs = [array("d", row)]
    operations = [["O"] + ["I"] * width]
    for i in range(height):
        above, word = row, words[i]
        row = [above[0] + 1]
        operation_row = ["D"]
        operations.append(operation_row)
        substitution_row: list[float] = substitution[i].tolist()
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
            # A reordering can end here only if both last words occur on both sides.
            if reaches <= j and first.get(other_low[j], height) <= i:
                back = _reordered(costs, low, other_low, i, j)
                if back and costs[i - back][j - back] + back <= best:
                    best, operation = costs[i - back][j - back] + back, f"T{back + 1}"
            row.append(best)
            operation_row.append(operation)
        costs.append(array("d", row))
    return costs, operations


def trace_back(operations: Sequence[Sequence[str]]) -> list[Step]:
    """Return the steps of the path to the last cell of a table of operations, from left to right.

    Example:
        >>> words, other = ["a", "b", "c"], ["b", "a"]
        >>> trace_back(alignment_tables(words, other, words, other, np.full((3, 2), 2.0))[1])
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


def break_long_runs(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield steps; after 600 neighbouring changes or 100 substitutions, an empty match separates edits."""
    changes = substitutions = 0
    for step in steps:
        kind, start, _, left, _ = step
        if kind[0] in "MT":
            changes = substitutions = 0
        elif changes == _MOST_CHANGES or substitutions == _MOST_SUBSTITUTIONS:
            yield "M", start, start, left, left
            changes = substitutions = 0
        changes += kind[0] not in "MT"
        substitutions += kind == "S"
        yield step


def _first_places(words: Sequence[str]) -> dict[str, int]:
    """Return the first position of each word."""
    return {word: place for place, word in reversed([*enumerate(words)])}


def _reordered(
    costs: Sequence[array[float]], low: Sequence[str], other: Sequence[str], i: int, j: int
) -> int:
    """Return the smallest k for which the k+1 words up to i and j are the same in another order, or 0.

    The search ends at a pair of words whose alignment costs nothing.
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
