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

**Equal to the official scorer, faster.** Among paths of equal length the official scorer (version 3.2) keeps
the one that Bellman–Ford meets first in the order of its edge list, and sums of 0.001 decide by their
rounding. Both are reproduced, with less work:

- Vertices in order are topologically sorted, so Floyd–Warshall over them only ever extends an arc by
  one lattice edge: time and memory are proportional to the number of arcs, not the cube of vertices.
- One sweep over the sorted vertices finds all shortest distances. Arcs that are longer than a shortest
  path by ε/2 cannot change which path is found, so Bellman–Ford runs on the few that are left.

Some pairs (a rewritten paragraph, say) have lattices with millions of arcs. Where there are more than
`MOST_ARCS`, `learnedgec.edits.thinning` first thins the lattice to the edges of its best paths, in time
proportional to the product of the lengths, and the arcs of what is left are listed. The path then still has
the most gold arcs and the fewest edges. But copies of arcs and the rounding of sums are not the official
ones, so another of several equally good paths may be chosen. (When small lattices are thinned, one in a
hundred has a different number of edits, and one in five hundred a different number of matches.) The official
scorer takes minutes to days for such a pair.

One file, though long: lattice, arcs and search share how they number vertices and break ties.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Indel, Levenshtein

from learnedgec.edits.thinning import best_edges
from learnedgec.formats.m2 import Edit

__all__ = ["MOST_ARCS", "EditLattice", "Overlap", "match_edits", "max_match", "reference_edits"]

EPSILON = 0.001
MOST_ARCS = 300_000
# Up to so many cells, the table of an alignment is made in plain Python, and held.
_HELD_CELLS = 1 << 16
# More than any distance, and far from the largest number there is.
_FAR = 1 << 29

# The vertex (a, b) is the number a * width + b: numbers sort as the pairs do.
Vertex: TypeAlias = int
Arc: TypeAlias = tuple[Vertex, Vertex]
SourceSpan: TypeAlias = tuple[int, int]
# Something about the arcs into a vertex, by the vertex that they come from.
Lengths: TypeAlias = dict[Vertex, dict[Vertex, tuple[int, int]]]
Weights: TypeAlias = dict[Vertex, dict[Vertex, float]]


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
            if _is_gold(edit.start, edit.end, edit.correction, gold[candidate]):
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


def _is_gold(start: int, end: int, correction: str, gold: Edit) -> bool:
    return gold.start == start and gold.end == end and correction in gold.corrections


class EditLattice:
    """The edit lattice of a sentence pair; answers for any annotator's gold edits.

    Args:
        source: the source tokens.
        hypothesis: the hypothesis tokens.
        max_unchanged_words: maximum number of unchanged tokens in a transitive arc.
    """

    def __init__(
        self, source: Sequence[str], hypothesis: Sequence[str], max_unchanged_words: int = 2
    ) -> None:
        self.source, self.hypothesis = list(source), list(hypothesis)
        self.max_unchanged_words = max_unchanged_words
        self._width = len(self.hypothesis) + 1
        self._kept: set[Arc] = set()
        self._edges = self._align() if self.source != self.hypothesis else {}
        self._arcs = self._list_arcs(self._edges, MOST_ARCS)

    def original(self, edit: Edit) -> str:
        """Return the source text that an edit replaces."""
        return " ".join(self.source[edit.start : edit.end])

    def extract(self, gold: Sequence[Edit]) -> list[Edit]:
        """Return the edits that turn source into hypothesis and overlap most with `gold`, left to right.

        Among those that overlap equally, the edits have the fewest changed tokens, in the fewest pieces.
        """
        if not self._edges:
            return []
        arcs = self._arcs or self._list_best_arcs(gold)
        spans = arcs.over({(edit.start, edit.end) for edit in gold}, self._width)
        path = arcs.shortest_path(self._gold_weights(gold, spans, arcs.size))
        return [Edit(*self._span(arc), self._text(arc)) for arc in path]

    def _span(self, arc: Arc) -> SourceSpan:
        """Return the source tokens that an arc replaces."""
        return arc[0] // self._width, arc[1] // self._width

    def _text(self, arc: Arc) -> str:
        """Return the hypothesis tokens that an arc puts there."""
        return " ".join(self.hypothesis[arc[0] % self._width : arc[1] % self._width])

    # -- 1. the edit lattice ------------------------------------------------------------------

    def _align(self) -> dict[Arc, int]:
        """Return the sorted edges of all shortest alignments, with the number of kinds of path they lie on.

        Edges that keep their token are noted.
        """
        edges: dict[Arc, int] = {}
        width = self._width
        for substitution in (1, 2):
            rows = _rows_from_last(self.source, self.hypothesis, substitution)
            row = next(rows)
            # Where shortest paths cross this row of the table, and the one above it.
            reached = {len(self.hypothesis)}
            for a in range(len(self.source), -1, -1):
                above = next(rows, None)
                entered: set[int] = set()
                waiting = list(reached)
                while waiting:
                    b = waiting.pop()
                    here, end = row[b], a * width + b
                    before = []
                    if above is not None and b:
                        kept = self.source[a - 1] == self.hypothesis[b - 1]
                        if above[b - 1] + (0 if kept else substitution) == here:
                            before.append(end - width - 1)
                            entered.add(b - 1)
                            if kept:
                                self._kept.add((end - width - 1, end))
                    if above is not None and above[b] + 1 == here:
                        before.append(end - width)
                        entered.add(b)
                    if b and row[b - 1] + 1 == here:
                        before.append(end - 1)
                        if b - 1 not in reached:
                            reached.add(b - 1)
                            waiting.append(b - 1)
                    for start in before:
                        edges[start, end] = edges.get((start, end), 0) + 1
                if above is not None:
                    row, reached = above, entered
        return dict(sorted(edges.items()))

    # -- 2. transitive arcs -------------------------------------------------------------------

    def _list_arcs(self, edges: Mapping[Arc, int], most: float) -> _Arcs | None:
        """Return the arcs that `edges` make, or `None` if there are more than `most`."""
        lengths, found = self._merge(edges, most)
        return None if len(found) > most else _Arcs(edges, lengths, found)

    def _merge(
        self, edges: Iterable[Arc], most: float, origin: Vertex | None = None
    ) -> tuple[Lengths, list[Arc]]:
        """Merge edges into transitive arcs, as Floyd–Warshall over sorted vertices would.

        When a vertex is processed, all arcs into it are final and only edges leave it. As in the official
        scorer, only the first of the shortest arcs between two vertices is kept, even if another keeps fewer
        tokens and could be extended further.

        Args:
            edges: sorted.
            most: stop when more arcs than this have been found.
            origin: find only the arcs out of this vertex.

        Returns:
            (length, unchanged words) of every arc; and the arcs in the order in which they were found. An arc
            is listed again each time a shorter one replaces it.
        """
        into: Lengths = defaultdict(dict)
        found: list[Arc] = []
        for middle, steps in groupby(edges, itemgetter(0)):
            arcs = sorted(into[middle].items())
            nexts = []
            for edge in steps:
                unchanged, known = int(edge in self._kept), into[edge[1]]
                nexts.append((edge[1], unchanged, known))
                if origin is None or middle == origin:
                    known[middle] = (1, unchanged)
            for start, (length, unchanged) in arcs:
                for end, more, known in nexts:
                    if unchanged + more <= self.max_unchanged_words and (
                        start not in known or length + 1 < known[start][0]
                    ):
                        known[start] = (length + 1, unchanged + more)
                        found.append((start, end))
            if len(found) > most:
                break
        return into, found

    # -- 3. gold weighting --------------------------------------------------------------------

    def _gold_weights(
        self, gold: Sequence[Edit], spans: Mapping[SourceSpan, Sequence[Arc]], size: int
    ) -> dict[Arc, float]:
        """Return the weights of the arcs that gold edits change.

        Args:
            gold: the gold edits.
            spans: the arcs over each source span, sorted.
            size: |E|.
        """
        weights: dict[Arc, float] = {}
        by_span: dict[SourceSpan, list[Edit]] = defaultdict(list)
        for edit in gold:
            by_span[edit.start, edit.end].append(edit)
        for span, edits in by_span.items():
            arcs = spans.get(span, ())
            if span[0] == span[1]:
                weights |= self._insertion_weights(edits, arcs, size)
            else:
                accepted = {text for edit in edits for text in edit.corrections}
                weights |= {arc: -size for arc in arcs if self._text(arc) in accepted}
        return weights

    def _insertion_weights(
        self, gold: Sequence[Edit], arcs: Sequence[Arc], size: int
    ) -> dict[Arc, float]:
        """Return the weights of arcs that insert at one place where there are gold insertions.

        Insertions at one place can follow one another, so a gold edit must not be used twice. Arcs and gold
        edits are visited from one end, and after an arc without a match from the other end.
        """
        weights: dict[Arc, float] = {arc: arc[1] - arc[0] for arc in arcs}
        copies = [arc for arc in arcs for _ in range(self._edges.get(arc, 1))]
        left, right = 0, len(copies) - 1
        first, last = 0, len(gold) - 1
        here = left
        while left <= right:
            arc = copies[here]
            text, from_left = self._text(arc), here == left
            order = range(first, last + 1) if from_left else range(last, first - 1, -1)
            match = next((number for number in order if text in gold[number].corrections), None)
            if match is None:
                weights[arc] += EPSILON
                if from_left:
                    left += 1
                    here = right
                else:
                    right -= 1
                    here = left
                continue
            weights[arc] = -size
            # On to the next arc that can stand beside the match; those in between can not match.
            if from_left:
                first = match + 1
                left += 1
                while left < len(copies) and copies[left][0] != arc[1]:
                    weights[copies[left]] += EPSILON
                    left += 1
                here = left
            else:
                last = match - 1
                right -= 1
                while right >= 0 and copies[right][1] != arc[0]:
                    weights[copies[right]] += EPSILON
                    right -= 1
                here = right
        return weights

    # -- lattices with too many arcs ----------------------------------------------------------

    def _list_best_arcs(self, gold: Sequence[Edit]) -> _Arcs:
        """Return only the arcs of the best paths; if there are still too many, those of one best path."""
        weights = self._gold_weights(gold, self._gold_spans(gold), 1)
        paths = {arc: self._arc_path(arc) for arc, weight in weights.items() if weight < 0}

        def find(*, single: bool) -> dict[Arc, int]:
            edges = best_edges(
                self._into, paths, max_unchanged_words=self.max_unchanged_words, single=single
            )
            return {edge: self._edges[edge] for edge in edges}

        arcs = self._list_arcs(find(single=False), MOST_ARCS // 8)
        if arcs is None:
            edges = find(single=True)
            arcs = _Arcs(edges, *self._merge(edges, math.inf))
        return arcs

    @cached_property
    def _into(self) -> dict[Vertex, list[tuple[Vertex, int]]]:
        """Return the sorted edges into every vertex: its start, and its copies, 0 if it keeps a token."""
        into: dict[Vertex, list[tuple[Vertex, int]]] = defaultdict(list)
        for (start, end), copies in self._edges.items():
            into[end].append((start, 0 if (start, end) in self._kept else copies))
        return dict(sorted(into.items()))

    def _gold_spans(self, gold: Sequence[Edit]) -> dict[SourceSpan, list[Arc]]:
        """Return, by span, the arcs whose weight gold edits can change, without listing all arcs."""
        spans: dict[SourceSpan, set[Arc]] = defaultdict(set)
        for edit in gold:
            first, last = edit.start * self._width, edit.end * self._width
            if edit.start == edit.end:
                for start in range(first, first + self._width):
                    end = start
                    while (end, end + 1) in self._edges and end + 1 < first + self._width:
                        end += 1
                        spans[edit.start, edit.end].add((start, end))
                continue
            for correction in edit.corrections:
                tokens = correction.split()
                for b in range(self._width - len(tokens)):
                    arc = first + b, last + b + len(tokens)
                    if self.hypothesis[b : b + len(tokens)] == tokens and self._arc_path(arc):
                        spans[edit.start, edit.end].add(arc)
        return {span: sorted(arcs) for span, arcs in spans.items()}

    def _arc_path(self, arc: Arc) -> list[Arc]:
        """Return the edges of an arc; empty if there is no such arc."""
        start, end = arc
        (a, b), (c, d) = divmod(start, self._width), divmod(end, self._width)
        steps = (1, self._width, self._width + 1)
        box = [row * self._width + column for row in range(a, c + 1) for column in range(b, d + 1)]
        inside = set(box)
        edges = [
            (vertex, vertex + step)
            for vertex in box
            for step in steps
            if vertex + step in inside and (vertex, vertex + step) in self._edges
        ]
        lengths, _ = self._merge(edges, math.inf, start)
        path: list[Arc] = []
        while end != start:
            if start not in lengths[end]:
                return []
            length, unchanged = lengths[end][start]
            for middle in (end - self._width - 1, end - self._width, end - 1):
                kept = int((middle, end) in self._kept)
                known = (0, 0) if middle == start else lengths[middle].get(start)
                if (middle, end) in self._edges and known == (length - 1, unchanged - kept):
                    break
            path.append((middle, end))
            end = middle
        return path[::-1]


class _Arcs:
    """Listed arcs and their weights.

    Args:
        edges: the edges, sorted, with their copies.
        lengths: (length, unchanged words) of every arc.
        found: the transitive arcs in the order in which they were found.
    """

    def __init__(self, edges: Mapping[Arc, int], lengths: Lengths, found: Sequence[Arc]) -> None:
        self._lengths = lengths
        self._order = [*edges, *self._drop_noops(found)]
        copies = {**Counter(self._order), **edges}
        self.size = sum(copies.values())
        self._weights: Weights = {}
        for (start, end), count in copies.items():
            weight: float = lengths[end][start][0]
            if self._changes((start, end)):
                # One by one, for the official rounding.
                for _ in range(count):
                    weight += EPSILON
            self._weights.setdefault(end, {})[start] = weight

    def over(self, spans: Collection[SourceSpan], width: int) -> dict[SourceSpan, list[Arc]]:
        """Return the arcs over each of the given source spans, sorted."""
        found: dict[SourceSpan, set[Arc]] = defaultdict(set)
        if spans:
            for arc in self._order:
                span = arc[0] // width, arc[1] // width
                if span in spans:
                    found[span].add(arc)
        return {span: sorted(arcs) for span, arcs in found.items()}

    def _changes(self, arc: Arc) -> bool:
        """Return whether an arc is an edit: not all its edges keep their token."""
        length, unchanged = self._lengths[arc[1]][arc[0]]
        return length > unchanged

    def _drop_noops(self, found: Iterable[Arc]) -> Iterator[Arc]:
        """Yield the transitive arcs that are edits.

        The official scorer removes noops from the list over which it iterates, so it skips the arc after a
        removed one, and a noop there is kept. It is as long as its edges, but sums are rounded differently.
        """
        removed = False
        for arc in found:
            removed = not removed and not self._changes(arc)
            if not removed:
                yield arc

    # -- 4. search ----------------------------------------------------------------------------

    def shortest_path(self, gold_weights: Mapping[Arc, float]) -> list[Arc]:
        """Return the edits on the path that Bellman–Ford would find, left to right."""
        weights = self._weights
        if gold_weights:
            weights = weights.copy()
            for (start, end), weight in gold_weights.items():
                weights[end] = weights[end] | {start: weight}
        # Vertices in order come after all that lead to them, so that one sweep finds every distance.
        distance = {0: 0.0}
        for end in sorted(weights):
            distance[end] = min([distance[start] + more for start, more in weights[end].items()])
        # Lengths of paths differ by ε or more, or not at all but for rounding. Only arcs on paths that are
        # shortest up to ε/2 can decide which one is found.
        last = max(weights)
        reached, waiting = {last}, [last]
        tight: dict[Arc, float] = {}
        while waiting:
            end = waiting.pop()
            for start, weight in weights.get(end, {}).items():
                if distance[start] + weight < distance[end] + EPSILON / 2:
                    tight[start, end] = weight
                    if start not in reached:
                        reached.add(start)
                        waiting.append(start)
        before = _bellman_ford([arc for arc in self._order if arc in tight], tight)
        path: list[Arc] = []
        while last in before:
            path.append((before[last], last))
            last = before[last]
        return [arc for arc in reversed(path) if self._changes(arc)]


def _rows_from_last(
    first: Sequence[str], second: Sequence[str], substitution: int
) -> Iterator[Sequence[int] | npt.NDArray[np.int32]]:
    """Yield the distances of every prefix of `first` to every prefix of `second`, the last row first.

    Insertions and deletions cost 1. Of a large table only every √N-th row is stored, and the rows between two
    of them are computed again when they are needed, so memory grows with N·√N and not with N². Only cells
    that a shortest path may cross are computed: a path through (a, b) has at least |b − a| edits before it
    and |(W − b) − (H − a)| after it, and in total no more than the distance.
    """
    if len(first) * len(second) <= _HELD_CELLS:
        table = [list(range(len(second) + 1))]
        for token in first:
            table.append(_next_row(table[-1], token, second, substitution))
        yield from reversed(table)
        return
    numbers = {token: number for number, token in enumerate(dict.fromkeys((*first, *second)))}
    tokens, others = ([numbers[token] for token in side] for side in (first, second))
    of_second = np.array(others, dtype=np.int32)
    distance = (Levenshtein if substitution == 1 else Indel).distance(tokens, others)
    longer = len(second) - len(first)
    low, high = -((distance - longer) // 2), (distance + longer) // 2

    def below(above: npt.NDArray[np.int32], place: int) -> npt.NDArray[np.int32]:
        """Return the row after the token at a position."""
        band = max(place + 1 + low, 0), min(place + 2 + high, len(second) + 1)
        return _next_row_of_many(above, tokens[place], of_second, substitution, band)

    row = np.arange(len(second) + 1, dtype=np.int32)
    step = math.isqrt(len(first))
    held = [row]
    for place in range((len(first) // step) * step):
        row = below(row, place)
        if (place + 1) % step == 0:
            held.append(row)
    for block in range(len(held) - 1, -1, -1):
        rows = [held[block]]
        for place in range(block * step, min((block + 1) * step - 1, len(first))):
            rows.append(below(rows[-1], place))
        yield from reversed(rows)


def _next_row(
    above: Sequence[int], token: str, second: Sequence[str], substitution: int
) -> list[int]:
    """Return the row of the table after one more token."""
    best = above[0] + 1
    row = [best]
    diagonal = above[0]
    for other, up in zip(second, above[1:], strict=True):
        best = (up if up < best else best) + 1
        if token != other:
            diagonal += substitution
        if diagonal < best:
            best = diagonal
        row.append(best)
        diagonal = up
    return row


def _next_row_of_many(
    above: npt.NDArray[np.int32],
    token: int,
    second: npt.NDArray[np.int32],
    substitution: int,
    band: tuple[int, int],
) -> npt.NDArray[np.int32]:
    """Return the same row with array operations, for a range of columns; the others are unreachable."""
    first, end = band
    row = np.full(len(above), _FAR, dtype=np.int32)
    part = above[first:end] + 1
    start = max(first, 1)
    replaced = above[start - 1 : end - 1] + np.int32(substitution) * (
        second[start - 1 : end - 1] != token
    )
    np.minimum(part[start - first :], replaced, out=part[start - first :])
    # An insertion costs 1, so that a cell less its column is the least such number up to there.
    columns = np.arange(len(part), dtype=np.int32)
    row[first:end] = np.minimum.accumulate(part - columns) + columns
    return row


def _bellman_ford(arcs: Sequence[Arc], weights: Mapping[Arc, float]) -> dict[Vertex, Vertex]:
    """Return the predecessors on shortest paths from vertex 0.

    The arcs are relaxed in the given order until a pass changes nothing; of equal paths the first one is
    kept.
    """
    distance = dict.fromkeys((end for _, end in arcs), float("inf"))
    distance[0] = 0
    before: dict[Vertex, Vertex] = {}
    improved = True
    while improved:
        improved = False
        for start, end in arcs:
            length = distance[start] + weights[start, end]
            if length < distance[end]:
                distance[end] = length
                before[end] = start
                improved = True
    return before
