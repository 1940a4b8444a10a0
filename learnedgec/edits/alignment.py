"""Alignment of two sentences in ERRANT's way, and its edits without a parse: the annotator `plain`.

An alignment is a cheapest path through a table of costs. `learnedgec.edits.parsing` uses the functions here
with costs that depend on lemma and part of speech.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from itertools import combinations, groupby
from typing import TypeAlias

import numpy as np

from learnedgec.data.m2 import Edit
from learnedgec.types import Floats

Step: TypeAlias = tuple[str, int, int, int, int]
"""An operation (`M`, `S`, `D`, `I` or `Tk`) with its span of tokens in the source and in the target."""

# The time to join neighbouring changes grows with the square of their number, and faster with the number of
# substitutions. With these numbers, it is seconds.
_MAX_CHANGES, _MAX_SUBSTITUTIONS = 600, 100


def alignment_tables(
    words: Sequence[str],
    other: Sequence[str],
    low: Sequence[str],
    other_low: Sequence[str],
    substitution: Floats,
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
        elif changes == _MAX_CHANGES or substitutions == _MAX_SUBSTITUTIONS:
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
    """Return the smallest k such that the k+1 words up to i and up to j are the same in another order, or 0.

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


# A substitution costs 0.5 to 1.7, which is less than a deletion and an insertion. With these costs, edits are
# similar to ERRANT's on BEA-19.
_UNLIKE, _CHARACTERS = 0.5, 1.2
# Substituted tokens with a higher similarity than this are an edit of their own.
_ALIKE = 0.75


class PlainAnnotator:
    """ERRANT's alignment and merging without a parse, with the types `M`, `R` and `U`.

    Tokens are aligned at the smallest cost. A substitution costs
    `0.5 + 1.2·d`, where d is the share of characters that differ (normalised insertions and deletions), and 0
    if only the case differs. Neighbouring steps that are not matches become edits as in ERRANT. Tokens that
    differ only in spaces, hyphens and apostrophes form one edit. So does a change of case with the
    punctuation or word before it. Two neighbouring substitutions are two edits, and a substitution of similar
    tokens is always an edit of its own. All other neighbouring steps form one edit.
    ERRANT's rules that need a part of speech are left out.

    Agreement with ERRANT (`en-ewt-sm`) on English in span, correction and type `M`, `R` or `U`: recall 94.6 %
    and precision 96.3 % for ERRANT's 1,209 edits in 437 pairs of BEA-19 dev (`pillars:dev`); 90.7 % and 91.6
    % for its 6,157 edits in the first 1,500 pairs of JFLEG test. The two constants were chosen on
    `pillars:train`.
    """

    version = "1"

    def annotate(self, pairs: Sequence[tuple[str, str]], *, types: bool) -> list[tuple[Edit, ...]]:
        """Return the edits between each source and target.

        Example:
            >>> PlainAnnotator().annotate([("Hon gå hem nu", "Hon går hem .")], types=True)[0][0]
            Edit(start=1, end=2, correction='går', type='R', alternatives=())
        """
        return [tuple(_edits(source.split(), target.split(), types)) for source, target in pairs]


def _edits(source: list[str], target: list[str], types: bool) -> Iterator[Edit]:
    for _, start, end, left, right in _Merge(source, target).steps():
        old, new = source[start:end], target[left:right]
        yield Edit(start, end, " ".join(new), _type(old, new) if types else "")


def _type(old: list[str], new: list[str]) -> str:
    """Return the type of an edit; as in ERRANT, a last token that differs only in case does not count."""
    if old and new and len(old) + len(new) > 2 and old[-1].lower() == new[-1].lower():
        old, new = old[:-1], new[:-1]
    return "R" if old and new else "U" if old else "M"


class _Merge:
    """Merges the steps from one sentence to another into edits."""

    def __init__(self, source: list[str], target: list[str]) -> None:
        self.source, self.target = source, target
        self.low, self.other_low = ([w.lower() for w in words] for words in (source, target))

    def steps(self) -> list[Step]:
        """Return the edits, from left to right."""
        edits: list[Step] = []
        aligned = break_long_runs(self._aligned())
        for changed, group in groupby(aligned, lambda step: step[0][0] not in "MT"):
            run = list(group)
            edits += self._merged(run) if changed else [step for step in run if step[0] != "M"]
        return edits

    def _aligned(self) -> list[Step]:
        """Return the cheapest alignment."""
        from rapidfuzz.distance import Indel
        from rapidfuzz.process import cdist

        unlike = cdist(self.source, self.target, scorer=Indel.normalized_distance, dtype=np.float64)
        same = np.array(self.low, str)[:, None] == np.array(self.other_low, str)
        substitution = np.where(same, 0.0, _UNLIKE + _CHARACTERS * unlike)
        tables = alignment_tables(self.source, self.target, self.low, self.other_low, substitution)
        return trace_back(tables[1])

    def _merged(self, steps: list[Step]) -> list[Step]:
        """Return neighbouring deletions, insertions and substitutions as edits, by ERRANT's rules."""
        kinds = [step[0] for step in steps]
        if len(steps) < 2:
            return steps
        if len(set(kinds)) == 1 and "S" not in kinds:
            return [_joined(steps)]
        spans = combinations(range(len(steps)), 2)
        for first, last in sorted(spans, key=lambda span: span[0] - span[1]):
            if "S" not in kinds[first : last + 1]:
                continue
            _, start, end, left, right = _joined(steps[first : last + 1])
            low, other_low = self.low[start:end], self.other_low[left:right]
            before, after = steps[:first], steps[last + 1 :]
            if low[-1] == other_low[-1]:
                capital = len(low) == 1 and self.target[left][0].isupper()
                capital |= len(other_low) == 1 and self.source[start][0].isupper()
                if first == 0 and capital:
                    return [_joined(steps[: last + 1]), *self._merged(after)]
                if any(len(words) > 1 and _is_punctuation(words[-2]) for words in (low, other_low)):
                    pair = _joined(steps[last - 1 : last + 1])
                    return [*self._merged(steps[: last - 1]), pair, *self._merged(after)]
            if _spelling(low) == _spelling(other_low):
                joined = _joined(steps[first : last + 1])
                return [*self._merged(before), joined, *self._merged(after)]
            if last == first + 1 and (
                len(low) == len(other_low) == 2
                or (kinds[first] == "S" and _are_alike(low[0], other_low[0]))
                or (kinds[last] == "S" and _are_alike(low[-1], other_low[-1]))
            ):
                return [*self._merged(steps[:last]), *self._merged(steps[last:])]
        return [_joined(steps)]


def _joined(steps: Sequence[Step]) -> Step:
    """Return neighbouring steps as one step."""
    return "X", steps[0][1], steps[-1][2], steps[0][3], steps[-1][4]


def _spelling(words: Sequence[str]) -> str:
    return re.sub("['’-]", "", "".join(words))


def _is_punctuation(word: str) -> bool:
    return all(unicodedata.category(sign)[0] in "PS" for sign in word)


def _are_alike(word: str, other: str) -> bool:
    from rapidfuzz.distance import Indel

    return bool(Indel.normalized_similarity(word, other) > _ALIKE)
