"""The edit lattice of MaxMatch: all shortest alignments of two sentences, and the paths through them.

**Equal to the official scorer, faster.** Among paths of equal length the official scorer (version 3.2) keeps
the one that Bellman–Ford meets first in the order of its edge list, and sums of 0.001 decide by their
rounding. Both are reproduced, with less work:

- Vertices in order are topologically sorted, so Floyd–Warshall over them only ever extends an arc by
  one lattice edge: time and memory are proportional to the number of arcs, not the cube of vertices.
- One sweep over the sorted vertices finds all shortest distances. Arcs that are longer than a shortest
  path by ε/2 cannot change which path is found, so Bellman–Ford runs on the few that are left.

Some pairs (a rewritten paragraph, say) have lattices with millions of arcs. Where there are more than
`MOST_ARCS`, they are not listed: one pass over the edges finds a path with the most gold arcs, among these
one with the fewest edges, and among these one with the fewest edits. Copies of arcs and the rounding of sums
take no part, so another of several equally good paths may be chosen than by the official scorer, which takes
minutes to days for such a pair. Where even the edges are more than `MOST_EDGES`, the lattice is a single
shortest alignment.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import TypeAlias

from rapidfuzz.distance import Levenshtein

from learnedgec.data.m2 import Edit

EPSILON = 0.001
MOST_ARCS = 300_000
MOST_EDGES = 1_000_000

# The vertex (a, b) is the number a * width + b: numbers sort as the pairs do.
Vertex: TypeAlias = int
Arc: TypeAlias = tuple[Vertex, Vertex]
SourceSpan: TypeAlias = tuple[int, int]
# Parts of the cost of a path: an edge weighs more than all edits, a gold arc more than all edges.
_EDGE, _GOLD, _FAR = 1 << 20, 1 << 50, 1 << 62

# Something about the arcs into a vertex, by the vertex that they come from.
Lengths: TypeAlias = dict[Vertex, dict[Vertex, tuple[int, int]]]
Weights: TypeAlias = dict[Vertex, dict[Vertex, float]]


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
        lengths, transitive = self._merge(self._edges, MOST_ARCS)
        # `None` if there are too many.
        self._arcs = (
            None if len(transitive) > MOST_ARCS else _Arcs(self._edges, lengths, transitive)
        )

    def original(self, edit: Edit) -> str:
        """Return the source text that an edit replaces."""
        return " ".join(self.source[edit.start : edit.end])

    def extract(self, gold: Sequence[Edit]) -> list[Edit]:
        """Return the edits that turn source into hypothesis and overlap most with `gold`, left to right.

        Among those that overlap equally, the edits have the fewest changed tokens, in the fewest pieces.
        """
        if not self._edges:
            return []
        if self._arcs is None:
            edits = map(self._edit, self._best_path(gold))
            return [edit for edit in edits if self.original(edit) != edit.correction]
        spans = self._arcs.over({(edit.start, edit.end) for edit in gold}, self._width)
        path = self._arcs.shortest_path(self._gold_weights(gold, spans, self._arcs.size))
        return [self._edit(arc) for arc in path]

    def _edit(self, arc: Arc) -> Edit:
        """Return an arc as an edit."""
        return Edit(arc[0] // self._width, arc[1] // self._width, self._text(arc))

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
            table = _distances(self.source, self.hypothesis, substitution)
            # Where shortest paths cross a row of the table.
            reached = {len(self.hypothesis)}
            for a in range(len(self.source), -1, -1):
                if len(edges) > MOST_EDGES:
                    return self._align_once()
                row, above = table[a], table[a - 1] if a else None
                entered: set[int] = set()
                waiting = list(reached)
                while waiting:
                    b = waiting.pop()
                    here, end = row[b], a * width + b
                    before = []
                    if above is not None and b:
                        unchanged = self.source[a - 1] == self.hypothesis[b - 1]
                        if above[b - 1] + (0 if unchanged else substitution) == here:
                            before.append(end - width - 1)
                            entered.add(b - 1)
                            if unchanged:
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
                reached = entered
        return dict(sorted(edges.items()))

    def _align_once(self) -> dict[Arc, int]:
        """Return the edges of a single shortest alignment."""
        self._kept.clear()
        edges: dict[Arc, int] = {}
        for step in Levenshtein.opcodes(self.source, self.hypothesis):
            down, right = step.src_end - step.src_start, step.dest_end - step.dest_start
            start = step.src_start * self._width + step.dest_start
            for number in range(max(down, right)):
                end = start + self._width * (number < down) + (number < right)
                edges[start, end] = 1
                if step.tag == "equal":
                    self._kept.add((start, end))
                start = end
        return edges

    # -- 2. transitive arcs -------------------------------------------------------------------

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
        listed: list[Arc] = []
        for middle, steps in groupby(edges, itemgetter(0)):
            arcs = sorted(into[middle].items())
            nexts = []
            for edge in steps:
                unchanged, arcs_in = int(edge in self._kept), into[edge[1]]
                nexts.append((edge[1], unchanged, arcs_in))
                if origin is None or middle == origin:
                    arcs_in[middle] = (1, unchanged)
            for start, (length, unchanged) in arcs:
                for end, more, arcs_in in nexts:
                    if unchanged + more <= self.max_unchanged_words and (
                        start not in arcs_in or length + 1 < arcs_in[start][0]
                    ):
                        arcs_in[start] = (length + 1, unchanged + more)
                        listed.append((start, end))
            if len(listed) > most:
                break
        return into, listed

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
        # The copies and the gold edits that are left begin at the first number and end before the second.
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
            weights[arc] = -size
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

    # -- lattices with too many arcs ----------------------------------------------------------

    def _best_path(self, gold: Sequence[Edit]) -> list[Arc]:
        """Return the arcs of a path with the most gold arcs, the fewest edges and the fewest edits.

        A state is a vertex, and whether it lies between two arcs or inside one that has kept so many tokens.
        Every state has the smallest cost of a path to it, and where the path's last arc begins.
        """
        gold_into: dict[Vertex, list[Vertex]] = defaultdict(list)
        for (start, end), weight in self._gold_weights(gold, self._gold_spans(gold), 1).items():
            if weight < 0:
                gold_into[end].append(start)
        nowhere = [(_FAR, 0)] * (self.max_unchanged_words + 1)
        between, inside = {0: (0, 0)}, {0: nowhere}
        for end, steps in self._into.items():
            arcs = nowhere.copy()
            options = [(between[start][0] - _GOLD, start) for start in gold_into[end]]
            for start in steps:
                keeps_token = int((start, end) in self._kept)
                opened = between[start][0] + _EDGE
                if keeps_token:
                    options.append((opened, start))
                else:
                    arcs[0] = min(arcs[0], (opened + 1, start))
                for unchanged, (cost, origin) in enumerate(
                    inside[start][: len(arcs) - keeps_token], keeps_token
                ):
                    arcs[unchanged] = min(arcs[unchanged], (cost + _EDGE, origin))
            between[end], inside[end] = min(options + arcs), arcs
        path: list[Arc] = []
        end = max(between)
        while end:
            start = between[end][1]
            path.append((start, end))
            end = start
        return path[::-1]

    @cached_property
    def _into(self) -> dict[Vertex, list[Vertex]]:
        """The sorted vertices that edges come from, by the vertex that they lead to, sorted."""
        into: dict[Vertex, list[Vertex]] = defaultdict(list)
        for start, end in self._edges:
            into[end].append(start)
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
                    if self.hypothesis[b : b + len(tokens)] == tokens and self._is_arc(arc):
                        spans[edit.start, edit.end].add(arc)
        return {span: sorted(arcs) for span, arcs in spans.items()}

    def _is_arc(self, arc: Arc) -> bool:
        """Return whether edges make an arc between two vertices."""
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
        return start in lengths[end]


class _Arcs:
    """Listed arcs and their weights.

    Args:
        edges: the edges, sorted, with their copies.
        lengths: (length, unchanged words) of every arc.
        transitive: the transitive arcs in the order in which they were found.
    """

    def __init__(
        self, edges: Mapping[Arc, int], lengths: Lengths, transitive: Sequence[Arc]
    ) -> None:
        self._lengths = lengths
        self._order = [*edges, *self._drop_noops(transitive)]
        copies = {**Counter(self._order), **edges}
        self.size = sum(copies.values())
        self._weights: Weights = {}
        for (start, end), count in copies.items():
            weight: float = lengths[end][start][0]
            if self._changes((start, end)):
                # Add one by one: the official scorer rounds after each addition.
                for _ in range(count):
                    weight += EPSILON
            self._weights.setdefault(end, {})[start] = weight

    def over(self, spans: Collection[SourceSpan], width: int) -> dict[SourceSpan, list[Arc]]:
        """Return the arcs over each of the given source spans, sorted."""
        arcs: dict[SourceSpan, set[Arc]] = defaultdict(set)
        if spans:
            for arc in self._order:
                span = arc[0] // width, arc[1] // width
                if span in spans:
                    arcs[span].add(arc)
        return {span: sorted(over) for span, over in arcs.items()}

    def _changes(self, arc: Arc) -> bool:
        """Return whether an arc is an edit: not all its edges keep their token."""
        length, unchanged = self._lengths[arc[1]][arc[0]]
        return length > unchanged

    def _drop_noops(self, transitive: Iterable[Arc]) -> Iterator[Arc]:
        """Yield the transitive arcs that are edits.

        The official scorer removes noops from the list over which it iterates, so it skips the arc after a
        removed one, and a noop there is kept. It is as long as its edges, but sums are rounded differently.
        """
        removed = False
        for arc in transitive:
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


def _distances(first: Sequence[str], second: Sequence[str], substitution: int) -> list[array[int]]:
    """Return the distance of every prefix of `first` to every prefix of `second`.

    Insertions and deletions cost 1.
    """
    row = list(range(len(second) + 1))
    table = [array("i", row)]
    for token in first:
        diagonal, *above = row
        best = diagonal + 1
        row = [best]
        for other, up in zip(second, above, strict=True):
            best = (up if up < best else best) + 1
            if token != other:
                diagonal += substitution
            if diagonal < best:
                best = diagonal
            row.append(best)
            diagonal = up
        table.append(array("i", row))
    return table


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
