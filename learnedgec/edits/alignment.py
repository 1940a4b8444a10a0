"""ERRANT's linguistic alignment with a faster table; `errant` merges and types the edits.

It is separate from `learnedgec.edits.annotator`, which imports it only for sentences, because `errant` loads
spaCy.

An alignment is a cheapest path (`learnedgec.edits.cheapest`), on which a substitution costs up to 2,
depending on lemma, part of speech and characters. Two things make it faster: the costs of all substitutions
are computed at once, and reordering is searched for only where it is possible. Tokens that both sentences
share at their ends are aligned directly. Long sentences are aligned in pieces (`learnedgec.edits.pieces`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from errant.alignment import Alignment
from errant.en.classifier import classify
from errant.en.merger import get_rule_edits
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from learnedgec.edits.cheapest import Step, cheapest_table
from learnedgec.edits.pieces import LONG, cut
from learnedgec.formats.m2 import Edit

if TYPE_CHECKING:
    from learnedgec.edits.parsing import Sentence

__all__ = ["annotate"]

# Of a long sentence, as many neighbouring changes as are joined into edits at once.
_MOST_CHANGES = 30


def annotate(source: Sentence, target: Sentence, types: bool) -> tuple[Edit, ...]:
    """Return the edits from one parsed sentence to another, with or without types.

    Args:
        source: parsed source.
        target: parsed target.
        types: whether edits have types.
    """
    # Every cell of the table depends on those before it, so that equal ends change nothing before them.
    # (Equal beginnings do: they decide at which of two equal tokens one is inserted.)
    common = 0
    for left, right in zip(reversed(source), reversed(target), strict=False):
        if left.text != right.text:
            break
        common += 1
    source, target = source[: len(source) - common], target[: len(target) - common]
    found = []
    for alignment in _alignments(source, target):
        for edit in get_rule_edits(alignment):
            if types:
                classify(edit)
            found.append(Edit(edit.o_start, edit.o_end, edit.c_str, edit.type if types else ""))
    return tuple(found)


def _alignments(source: Sentence, target: Sentence) -> Iterator[_Alignment | _Steps]:
    """Yield the alignment; for long sentences, yield those of their pieces."""
    if max(len(source), len(target)) <= LONG:
        yield _Alignment(source, target)
        return
    steps: list[Step] = []
    texts = [token.text for token in source], [token.text for token in target]
    for start, end, left, right in cut(*texts):
        part = _Alignment(source[start:end], target[left:right])
        for kind, i, j, k, m in part.align_seq:
            # Neighbouring changes may be one edit, also across a cut; but what joins them takes time that
            # grows with the square of their number, or worse.
            if (kind == "M" and steps) or len(steps) >= _MOST_CHANGES:
                yield _Steps(source, target, steps)
                steps = []
            if kind != "M":
                steps.append((kind, start + i, start + j, left + k, left + m))
    yield _Steps(source, target, steps)


class _Steps(NamedTuple):
    """The attributes of an alignment that ERRANT's merging reads."""

    orig: Sentence
    cor: Sentence
    align_seq: list[Step]


class _Alignment(Alignment):  # type: ignore[misc]
    """ERRANT's alignment with a faster way to fill the table."""

    def align(self, lev: bool) -> tuple[list[list[float]], list[list[str]]]:
        """Return the table of costs and that of operations."""
        source, target = self.orig, self.cor
        return cheapest_table(
            [token.text for token in source],
            [token.text for token in target],
            [token.lower_ for token in source],
            [token.lower_ for token in target],
            _substitution_costs(source, target, self._open_pos),
        )


def _substitution_costs(
    source: Sentence, target: Sentence, open_pos: set[int]
) -> list[list[float]]:
    """Return the cost of every substitution, equal to that of `Alignment.get_sub_cost`."""
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
