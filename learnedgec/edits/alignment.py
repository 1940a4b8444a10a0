"""ERRANT's linguistic alignment with a faster table; `errant` merges and types the edits.

It is separate from `learnedgec.edits.annotator`, which imports it only for sentences, because `errant` loads
spaCy.

An alignment is a cheapest path (`learnedgec.edits.token_alignment`), on which a substitution costs up to 2,
depending on lemma, part of speech and characters. Two things make it faster: the costs of all substitutions
are computed at once, and reordering is searched for only where it is possible. Tokens that both sentences
share at their ends are aligned directly. Unlike in ERRANT, no edit joins more than 600 neighbouring changes
or 100 substitutions.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from errant.alignment import Alignment
from errant.en.classifier import classify
from errant.en.merger import get_rule_edits
from rapidfuzz.distance import Indel
from rapidfuzz.process import cdist

from learnedgec.data.m2 import Edit
from learnedgec.edits.token_alignment import alignment_tables, break_long_runs

if TYPE_CHECKING:
    from learnedgec.edits.parsing import Sentence


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
    alignment = _Alignment(source, target)
    alignment.align_seq = list(break_long_runs(alignment.align_seq))
    edits = []
    for edit in get_rule_edits(alignment):
        if types:
            classify(edit)
        edits.append(Edit(edit.o_start, edit.o_end, edit.c_str, edit.type if types else ""))
    return tuple(edits)


class _Alignment(Alignment):  # type: ignore[misc]
    """ERRANT's alignment with a faster way to fill the table."""

    def align(self, lev: bool) -> tuple[list[array[float]], list[list[str]]]:
        """Return the table of costs and that of operations."""
        source, target = self.orig, self.cor
        return alignment_tables(
            [token.text for token in source],
            [token.text for token in target],
            [token.lower_ for token in source],
            [token.lower_ for token in target],
            _substitution_costs(source, target, self._open_pos),
        )


def _substitution_costs(
    source: Sentence, target: Sentence, open_pos: set[int]
) -> npt.NDArray[np.float64]:
    """Return the cost of every substitution, equal to that of `Alignment.get_sub_cost`."""

    def unlike(attribute: str) -> npt.NDArray[np.bool_]:
        """Return which tokens differ in an attribute."""
        numbers: dict[object, int] = {}  # faster to compare than strings
        left, right = (
            np.array([numbers.setdefault(getattr(t, attribute), len(numbers)) for t in tokens], int)
            for tokens in (source, target)
        )
        different: npt.NDArray[np.bool_] = left[:, None] != right
        return different

    both_open = np.logical_and.outer(
        *(np.array([t.pos in open_pos for t in tokens], bool) for tokens in (source, target))
    )
    lemma = 0.499 * unlike("lemma")
    pos = np.where(both_open, 0.25, 0.5) * unlike("pos")
    characters = cdist(
        [t.text for t in source],
        [t.text for t in target],
        scorer=Indel.normalized_distance,
        dtype=np.float64,
    )
    costs: npt.NDArray[np.float64] = np.where(unlike("lower_"), lemma + pos + characters, 0.0)
    return costs
