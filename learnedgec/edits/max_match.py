"""MaxMatch: the edits of a system that overlap most with an annotator's gold edits.

A hypothesis is a text without edits, and its division into edits decides how many of them match. MaxMatch
chooses the division by the gold edits, in five steps (with the paper's names):

1. **Edit lattice.** A vertex (a, b) says that a source tokens have become b hypothesis tokens. An edge
   deletes, inserts, substitutes or keeps (noop) one token. The lattice consists of all shortest token
   alignments: those with substitutions that cost 1, and those with substitutions that cost 2. An edge
   that belongs to both kinds counts twice.
2. **Transitive arcs.** A path of edges that keeps at most `max_unchanged_words` tokens is merged into
   one arc, one phrase-level edit; its length is its number of edges.
3. **Gold weighting.** An arc weighs its length, plus ε = 0.001 for every copy of it if it changes
   anything. An arc that is a gold edit weighs −|E|, so that no path without it can be shorter.
4. **Search.** The shortest path from (0, 0) to the last vertex is the system's edits. *Theorem: these
   edits have the maximum overlap with the gold edits.* The ε makes one merged arc shorter than
   its parts.
5. **Matching.** System edits from left to right meet the gold edits in file order; two match if their
   spans are equal and the system's correction is one of the gold edit's.

The edits equal the official scorer's (version 3.2). If paths are equally long, it keeps the one that
Bellman–Ford finds first in the order of its edge list, and whether they are equally long can depend on how
sums of 0.001 are rounded. Both are reproduced, with less work:

- Vertices in order are topologically sorted, so Floyd–Warshall over them only ever extends an arc by
  one lattice edge: time and memory are proportional to the number of arcs, not the cube of vertices.
- One sweep over the sorted vertices finds all shortest distances. Arcs on paths that are longer than a
  shortest one by ε/2 cannot change which path is found, so Bellman–Ford runs on the few other arcs.

The lattice of a rewritten paragraph can have millions of arcs, on which the official scorer takes minutes to
days. A lattice of more than `MAX_ARCS` arcs, or `MAX_EDGES` edges, is replaced by a single shortest
alignment of L edges, in which an arc has at most `MAX_ARCS`/L edges. No pair of sentences in CoNLL-2014 and
its rewrites has such a lattice.

Source: Dahlmeier and Ng, "Better Evaluation for Grammatical Error Correction" (NAACL 2012).
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias

from rapidfuzz.distance import Levenshtein

from learnedgec.data.m2 import Edit


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

    They are the shortest path, without gold weights, through the lattice of source and reference, if no edit
    may span an unchanged word. So neighbouring changes form one edit, as in the output of the official
    `edit_creator.py`.

    Example:
        >>> [(e.start, e.end, e.correction) for e in reference_edits("He go to the home", "He goes home")]
        [(1, 4, 'goes')]
    """
    lattice = EditLattice(source.split(), reference.split(), max_unchanged_words=0)
    return tuple(edit for edit in lattice.extract(()) if lattice.original(edit) != edit.correction)


def _squeeze(text: str) -> str:
    return text.replace(" ", "").lower()


EPSILON = 0.001
MAX_ARCS = 300_000
MAX_EDGES = 1_000_000

# The vertex (a, b) is the number a * width + b: numbers sort as the pairs do.
Vertex: TypeAlias = int
Arc: TypeAlias = tuple[Vertex, Vertex]
SourceSpan: TypeAlias = tuple[int, int]
# End vertex -> start vertex -> (length, unchanged words) or the weight of the arc between them.
Lengths: TypeAlias = dict[Vertex, dict[Vertex, tuple[int, int]]]
Weights: TypeAlias = dict[Vertex, dict[Vertex, float]]


class EditLattice:
    """The edit lattice of a sentence pair, from which the edits for any annotator can be extracted.

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
        self._noops: set[Arc] = set()
        self._edges = self._align() if self.source != self.hypothesis else {}
        self._lengths, transitive = self._merge(len(self._edges))
        if len(transitive) > MAX_ARCS:
            self._edges = self._align_once()
            self._lengths, transitive = self._merge(MAX_ARCS // len(self._edges))
        self._order = [*self._edges, *self._drop_noops(transitive)]
        copies = {**Counter(self._order), **self._edges}
        self._size = sum(copies.values())
        self._weights: Weights = defaultdict(dict)
        for (start, end), count in copies.items():
            self._weights[end][start] = self._weight((start, end), count)

    def original(self, edit: Edit) -> str:
        """Return the source text that an edit replaces."""
        return " ".join(self.source[edit.start : edit.end])

    def extract(self, gold: Sequence[Edit]) -> list[Edit]:
        """Return the edits that turn source into hypothesis and overlap most with `gold`, left to right.

        Among those that overlap equally, the edits have the fewest changed tokens, in the fewest pieces.
        """
        if not self._edges:
            return []
        return [self._edit(arc) for arc in self._shortest_path(self._gold_weights(gold))]

    def _edit(self, arc: Arc) -> Edit:
        """Return an arc as an edit."""
        return Edit(arc[0] // self._width, arc[1] // self._width, self._text(arc))

    def _text(self, arc: Arc) -> str:
        """Return the hypothesis tokens that an arc inserts."""
        return " ".join(self.hypothesis[arc[0] % self._width : arc[1] % self._width])

    def _changes(self, arc: Arc) -> bool:
        """Return whether an arc is an edit, because one of its edges is no noop."""
        length, unchanged = self._lengths[arc[1]][arc[0]]
        return length > unchanged

    # -- 1. the edit lattice ------------------------------------------------------------------

    def _align(self) -> dict[Arc, int]:
        """Return the sorted edges of all shortest alignments -> how often each counts, once or twice.

        Edges that keep their token are added to `_noops`.
        """
        edges: dict[Arc, int] = {}
        width = self._width
        for substitution in (1, 2):
            table = _distances(self.source, self.hypothesis, substitution)
            # The columns at which shortest paths, followed backwards, enter the row.
            columns = {len(self.hypothesis)}
            for a in range(len(self.source), -1, -1):
                if len(edges) > MAX_EDGES:
                    return self._align_once()
                row, above = table[a], table[a - 1] if a else None
                columns_above: set[int] = set()
                waiting = list(columns)
                while waiting:
                    b = waiting.pop()
                    distance, end = row[b], a * width + b
                    starts = []
                    if above is not None and b:
                        unchanged = self.source[a - 1] == self.hypothesis[b - 1]
                        if above[b - 1] + (0 if unchanged else substitution) == distance:
                            starts.append(end - width - 1)
                            columns_above.add(b - 1)
                            if unchanged:
                                self._noops.add((end - width - 1, end))
                    if above is not None and above[b] + 1 == distance:
                        starts.append(end - width)
                        columns_above.add(b)
                    if b and row[b - 1] + 1 == distance:
                        starts.append(end - 1)
                        if b - 1 not in columns:
                            columns.add(b - 1)
                            waiting.append(b - 1)
                    for start in starts:
                        edges[start, end] = edges.get((start, end), 0) + 1
                columns = columns_above
        return dict(sorted(edges.items()))

    def _align_once(self) -> dict[Arc, int]:
        """Return the edges of a single shortest alignment."""
        self._noops.clear()
        edges: dict[Arc, int] = {}
        for step in Levenshtein.opcodes(self.source, self.hypothesis):
            down, right = step.src_end - step.src_start, step.dest_end - step.dest_start
            start = step.src_start * self._width + step.dest_start
            for number in range(max(down, right)):
                end = start + self._width * (number < down) + (number < right)
                edges[start, end] = 1
                if step.tag == "equal":
                    self._noops.add((start, end))
                start = end
        return edges

    # -- 2. transitive arcs -------------------------------------------------------------------

    def _merge(self, longest: int) -> tuple[Lengths, list[Arc]]:
        """Merge edges into transitive arcs, as Floyd–Warshall over sorted vertices would.

        When a vertex is processed, all arcs into it are final and only edges leave it. As in the official
        scorer, only the first of the shortest arcs between two vertices is kept, even if another keeps fewer
        tokens and could be extended further.

        Args:
            longest: the largest number of edges in an arc.

        Returns:
            (length, unchanged words) of every arc; and the arcs in the order in which they were found. Both
            stop after the vertex at which there are more than `MAX_ARCS` arcs. An arc is listed again each
            time a shorter one replaces it.
        """
        lengths: Lengths = defaultdict(dict)
        found: list[Arc] = []
        for middle, edges in groupby(self._edges, itemgetter(0)):
            arcs = sorted(lengths[middle].items())
            extensions = []
            for edge in edges:
                is_noop, lengths_to_end = int(edge in self._noops), lengths[edge[1]]
                extensions.append((edge[1], is_noop, lengths_to_end))
                lengths_to_end[middle] = (1, is_noop)
            for start, (length, unchanged) in arcs:
                if length >= longest:
                    continue
                for end, is_noop, lengths_to_end in extensions:
                    if unchanged + is_noop <= self.max_unchanged_words and (
                        start not in lengths_to_end or length + 1 < lengths_to_end[start][0]
                    ):
                        lengths_to_end[start] = (length + 1, unchanged + is_noop)
                        found.append((start, end))
            if len(found) > MAX_ARCS:
                break
        return lengths, found

    def _drop_noops(self, transitive: Iterable[Arc]) -> Iterator[Arc]:
        """Yield the transitive arcs that are edits.

        The official scorer removes noops from the list that it iterates over. So it skips the arc after a
        removed one, even a noop. Such an arc is as long as its edges together, but for rounding.
        """
        removed = False
        for arc in transitive:
            removed = not removed and not self._changes(arc)
            if not removed:
                yield arc

    # -- 3. gold weighting --------------------------------------------------------------------

    def _weight(self, arc: Arc, copies: int) -> float:
        """Return the weight of an arc that is no gold edit."""
        weight: float = self._lengths[arc[1]][arc[0]][0]
        if self._changes(arc):
            # Add one by one: the official scorer rounds after each addition.
            for _ in range(copies):
                weight += EPSILON
        return weight

    def _gold_weights(self, gold: Sequence[Edit]) -> dict[Arc, float]:
        """Return the weights of the arcs at the places of gold edits; the weights of others do not change."""
        edits: dict[SourceSpan, list[Edit]] = defaultdict(list)
        for edit in gold:
            edits[edit.start, edit.end].append(edit)
        arcs: dict[SourceSpan, set[Arc]] = defaultdict(set)
        for arc in self._order if gold else ():
            span = arc[0] // self._width, arc[1] // self._width
            if span in edits:
                arcs[span].add(arc)
        weights: dict[Arc, float] = {}
        for span in edits:
            if span[0] == span[1]:
                weights |= self._insertion_weights(edits[span], sorted(arcs[span]))
            else:
                accepted = {text for edit in edits[span] for text in edit.corrections}
                weights |= {arc: -self._size for arc in arcs[span] if self._text(arc) in accepted}
        return weights

    def _insertion_weights(self, gold: Sequence[Edit], arcs: Sequence[Arc]) -> dict[Arc, float]:
        """Return the weights of arcs that insert at one place where there are gold insertions.

        Insertions at one place can follow one another, so a gold edit must not match twice. Arcs and gold
        edits are visited from the left; each arc without a match changes the side that is visited next.
        """
        weights: dict[Arc, float] = {arc: arc[1] - arc[0] for arc in arcs}
        copies = [arc for arc in arcs for _ in range(self._edges.get(arc, 1))]
        # The arcs copies[left:right] and the edits gold[first:last] remain.
        left, right = 0, len(copies)
        first, last = 0, len(gold)
        from_left = True
        while left < right:
            from_left = from_left or right - left == 1
            arc = copies[left if from_left else right - 1]
            left, right = (left + 1, right) if from_left else (left, right - 1)
            text, numbers = self._text(arc), range(first, last)
            order = numbers if from_left else reversed(numbers)
            match = next((number for number in order if text in gold[number].corrections), None)
            if match is None:
                weights[arc] += EPSILON
                from_left = not from_left
                continue
            weights[arc] = -self._size
            # Skip to the next arc that does not overlap the match: arcs in between cannot match.
            if from_left:
                first = match + 1
                while left < len(copies) and copies[left][0] != arc[1]:
                    weights[copies[left]] += EPSILON
                    left += 1
            else:
                last = match
                while right > 0 and copies[right - 1][1] != arc[0]:
                    right -= 1
                    weights[copies[right]] += EPSILON
        return weights

    # -- 4. search ----------------------------------------------------------------------------

    def _shortest_path(self, gold_weights: Mapping[Arc, float]) -> list[Arc]:
        """Return the edits on the path that Bellman–Ford would find, left to right."""
        weights = self._weights
        if gold_weights:
            weights = weights.copy()
            for (start, end), weight in gold_weights.items():
                weights[end] = weights[end] | {start: weight}
        # Every arc leads to a larger vertex, so that one sweep in ascending order finds every distance.
        distance = {0: 0.0}
        for end in sorted(weights):
            distance[end] = min([distance[start] + more for start, more in weights[end].items()])
        # Path lengths that differ by less than ε are equal but for rounding. So only arcs on paths within ε/2
        # of the shortest can decide which path is found.
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
        predecessors = _bellman_ford([arc for arc in self._order if arc in tight], tight)
        path: list[Arc] = []
        while last in predecessors:
            path.append((predecessors[last], last))
            last = predecessors[last]
        return [arc for arc in reversed(path) if self._changes(arc)]


def _distances(first: Sequence[str], second: Sequence[str], substitution: int) -> list[array[int]]:
    """Return the distance of every prefix of `first` to every prefix of `second` on shortest paths.

    No shortest path leaves a band around the diagonal, because each insertion or deletion costs 1. Cells
    outside the band hold a number above all distances, and cells at its border may be too high (Ukkonen,
    "Algorithms for Approximate String Matching", 1985).
    """
    longer, width = len(second) - len(first), len(second)
    distance = Levenshtein.distance(first, second, weights=(1, 1, substitution))
    margin = (distance - abs(longer)) // 2
    table = [array("i", range(width + 1))]
    outside = array("i", [len(first) + width + 1]) * (width + 1)
    for number, token in enumerate(first, 1):
        above, row = table[-1], outside[:]
        row[0] = number
        begin = max(number + min(longer, 0) - margin, 1)
        diagonal, best = above[begin - 1], row[begin - 1]
        for place in range(begin, min(number + max(longer, 0) + margin, width) + 1):
            up = above[place]
            best = (up if up < best else best) + 1
            if token != second[place - 1]:
                diagonal += substitution
            row[place] = best = diagonal if diagonal < best else best
            diagonal = up
        table.append(row)
    return table


def _bellman_ford(arcs: Sequence[Arc], weights: Mapping[Arc, float]) -> dict[Vertex, Vertex]:
    """Return the predecessors on shortest paths from vertex 0.

    The arcs are relaxed in the given order until a pass changes nothing; of equal paths the first one is
    kept.
    """
    distance = dict.fromkeys((end for _, end in arcs), float("inf"))
    distance[0] = 0
    predecessors: dict[Vertex, Vertex] = {}
    improved = True
    while improved:
        improved = False
        for start, end in arcs:
            length = distance[start] + weights[start, end]
            if length < distance[end]:
                distance[end] = length
                predecessors[end] = start
                improved = True
    return predecessors
