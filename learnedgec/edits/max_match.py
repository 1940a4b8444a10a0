"""MaxMatch: the edits of a system that overlap most with an annotator's gold edits.

A hypothesis is a text without edits, and the way it is divided into edits decides how many of them match.
MaxMatch chooses the division by the gold edits, in five steps (with the paper's names):

1. **Edit lattice.** A vertex (a, b) says that a source tokens have become b hypothesis tokens. An edge
   deletes, inserts, substitutes or keeps (noop) one token. The lattice holds every path that is a
   shortest token alignment, once with substitutions that cost 1 and once with substitutions that cost
   2; an edge that lies on both kinds of path is there twice.
2. **Transitive arcs.** A path of edges that keeps at most `max_unchanged_words` tokens is merged into
   one arc, one phrase-level edit; its length is its number of edges.
3. **Gold weighting.** An arc weighs its length, plus ε = 0.001 for every copy of it if it changes
   anything; an arc that is a gold edit weighs −|E|, less than any path without it can make up for.
4. **Search.** The shortest path from (0, 0) to the last vertex is the system's edits. *Theorem: these
   edits have the maximum overlap with the gold edits.* The ε makes one merged arc shorter than
   its parts.
5. **Matching.** System edits from left to right meet the gold edits in file order; two match where the
   spans are equal and the system's correction is one of the gold edit's.

Source: Dahlmeier and Ng, "Better Evaluation for Grammatical Error Correction" (NAACL 2012).

`learnedgec.edits.edit_lattice` has the first four steps; equal to the official scorer's, they take less work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from learnedgec.data.m2 import Edit
from learnedgec.edits.edit_lattice import EditLattice


@dataclass(frozen=True, slots=True)
class Overlap:
    """A system's edits for one sentence and one annotator, and which of them are gold edits.

    Attributes:
        edits: the system's edits, left to right.
        gold: the annotator's edits, in file order.
        pairs: (number of a system edit, number of a gold edit that it matches), in order of both.
    """

    edits: tuple[Edit, ...]
    gold: tuple[Edit, ...]
    pairs: tuple[tuple[int, int], ...]


def max_match(
    source: str,
    hypothesis: str,
    annotations: Iterable[Sequence[Edit]],
    *,
    max_unchanged_words: int = 2,
    ignore_whitespace_casing: bool = False,
) -> list[Overlap]:
    """Return the edits of a hypothesis that overlap most with each annotator's gold edits.

    Args:
        source: the source sentence, tokens separated by white space.
        hypothesis: the system's correction of it.
        annotations: the gold edits of each annotator.
        max_unchanged_words: maximum number of unchanged tokens in an edit.
        ignore_whitespace_casing: drop system edits that change nothing but spaces and case.

    Example:
        >>> overlap, = max_match("This are a sentences", "This is a sentence", [
        ...     [Edit(1, 2, "is"), Edit(2, 4, "a sentence", alternatives=("sentences",))]])
        >>> [(edit.start, edit.end, edit.correction) for edit in overlap.edits]
        [(1, 2, 'is'), (2, 4, 'a sentence')]
        >>> overlap.pairs
        ((0, 0), (1, 1))
    """
    lattice = EditLattice(source.split(), hypothesis.split(), max_unchanged_words)
    overlaps = []
    for gold in annotations:
        edits = lattice.extract(gold)
        if ignore_whitespace_casing:
            edits = [
                edit
                for edit in edits
                if _squeeze(lattice.original(edit)) != _squeeze(edit.correction)
            ]
        overlaps.append(Overlap(tuple(edits), tuple(gold), match_edits(edits, gold)))
    return overlaps


def match_edits(edits: Sequence[Edit], gold: Sequence[Edit]) -> tuple[tuple[int, int], ...]:
    """Return the pairs (system edit, gold edit) that match, in order of both.

    As in the official scorer, gold edits before one that has matched are not considered again, so gold edits
    out of order can be missed. A system edit also matches each of several equal gold edits, so there may be
    more pairs than system edits.
    """
    pairs = []
    start = 0
    for number, edit in enumerate(edits):
        for candidate in range(start, len(gold)):
            other = gold[candidate]
            span_is_equal = (edit.start, edit.end) == (other.start, other.end)
            if span_is_equal and edit.correction in other.corrections:
                pairs.append((number, candidate))
                start = candidate + 1
    return tuple(pairs)


@lru_cache(maxsize=16384)
def reference_edits(source: str, reference: str) -> tuple[Edit, ...]:
    """Return gold edits for a reference that is a text without edits.

    They are the shortest path through the lattice of source and reference without gold weights, on which no
    edit spans an unchanged word. So neighbouring changes form one edit, as in the output of the official
    `edit_creator.py`.

    Example:
        >>> [(e.start, e.end, e.correction) for e in reference_edits("He go to the home", "He goes home")]
        [(1, 4, 'goes')]
    """
    lattice = EditLattice(source.split(), reference.split(), max_unchanged_words=0)
    return tuple(edit for edit in lattice.extract(()) if lattice.original(edit) != edit.correction)


def _squeeze(text: str) -> str:
    return text.replace(" ", "").lower()
