"""The linguistic alignment of ERRANT, in a table that is filled faster; merging and types by `errant`.

Apart from `learnedgec.edits.annotator`, which loads this when it has sentences, because `errant` loads spaCy.

An alignment is a cheapest path through a table over the tokens of both sentences: a match costs 0, a deletion
or an insertion 1, a substitution up to 2 by lemma, part of speech and characters, and k+1 tokens in
another order k. The time goes into two things, and both are saved here: the cost of each substitution is
computed for all pairs at once, and reordering is searched for only where both last words occur in the
other sentence. What the sentences have in common at their ends is aligned at sight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from errant.alignment import Alignment
from errant.en.classifier import classify
from errant.en.merger import get_rule_edits
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from learnedgec.formats.m2 import Edit

if TYPE_CHECKING:
    from learnedgec.edits.parsing import Sentence

__all__ = ["annotate"]


def annotate(source: Sentence, target: Sentence, types: bool) -> tuple[Edit, ...]:
    """Return the edits from one parsed sentence to another, typed or not."""
    # Every cell of the table depends on those before it, so that equal ends change nothing before them.
    # (Equal beginnings do: they decide at which of two equal tokens one is inserted.)
    common = 0
    for left, right in zip(reversed(source), reversed(target), strict=False):
        if left.text != right.text:
            break
        common += 1
    alignment = _Alignment(source[: len(source) - common], target[: len(target) - common])
    found = []
    for edit in get_rule_edits(alignment):
        if types:
            classify(edit)
        found.append(Edit(edit.o_start, edit.o_end, edit.c_str, edit.type if types else ""))
    return tuple(found)


class _Alignment(Alignment):  # type: ignore[misc]
    """ERRANT's alignment with another way to fill the table."""

    def align(self, lev: bool) -> tuple[list[list[float]], list[list[str]]]:
        """Return the table of costs and that of operations."""
        source, target = self.orig, self.cor
        substitution = _substitution_costs(source, target, self._open_pos)
        words, other = [t.text for t in source], [t.text for t in target]
        low, other_low = [t.lower_ for t in source], [t.lower_ for t in target]
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


def _first_places(words: list[str]) -> dict[str, int]:
    """Return where each word occurs first."""
    places: dict[str, int] = {}
    for place, word in enumerate(words):
        places.setdefault(word, place)
    return places


def _reordered(costs: list[list[float]], low: list[str], other: list[str], i: int, j: int) -> int:
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


def _substitution_costs(
    source: Sentence, target: Sentence, open_pos: set[int]
) -> list[list[float]]:
    """Return the cost of every substitution, as `Alignment.get_sub_cost` gives it."""
    if not source or not target:
        return [[] for _ in source]

    def unlike(left: list[Any], right: list[Any]) -> Any:
        numbers: dict[Any, int] = {}
        a, b = (
            np.array([numbers.setdefault(item, len(numbers)) for item in items])
            for items in (left, right)
        )
        return a[:, None] != b

    lemma = np.where(unlike([t.lemma for t in source], [t.lemma for t in target]), 0.499, 0.0)
    both_open = np.logical_and.outer(
        [t.pos in open_pos for t in source], [t.pos in open_pos for t in target]
    )
    pos = np.where(
        unlike([t.pos for t in source], [t.pos for t in target]),
        np.where(both_open, 0.25, 0.5),
        0.0,
    )
    characters = cdist(
        [t.text for t in source],
        [t.text for t in target],
        scorer=Indel.normalized_distance,
        dtype=np.float64,
    )
    differ = unlike([t.lower_ for t in source], [t.lower_ for t in target])
    costs: list[list[float]] = np.where(differ, lemma + pos + characters, 0.0).tolist()
    return costs
