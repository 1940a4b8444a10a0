"""Thin an edit lattice to the edges of its best paths, without listing its transitive arcs.

A lattice of two unrelated sentences of 300 tokens has 90,000 vertices and two billion transitive arcs, but
few best paths. Two dynamic programs find these in time proportional to the number of edges. The first keeps
the edges on paths with the most gold arcs and the fewest edges, the second those on paths with the fewest
edits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeAlias

__all__ = ["Edge", "Into", "best_edges"]

Edge: TypeAlias = tuple[int, int]
# The edges into every vertex, vertices sorted: where from, and how many copies, 0 if it keeps a token.
Into: TypeAlias = Mapping[int, Sequence[tuple[int, int]]]
# A vertex, and how many tokens the arc that a path is inside of has kept so far, or _BETWEEN two arcs.
State: TypeAlias = tuple[int, int]
_BETWEEN = -1
_GOLD = 1 << 40
_NOWHERE = 1 << 60


def best_edges(
    into: Into,
    gold: Mapping[Edge, Collection[Edge]],
    *,
    max_unchanged_words: int,
    single: bool = False,
) -> list[Edge]:
    """Return the edges of the best paths from vertex 0 to the last one, sorted.

    Args:
        into: the lattice: the edges into each vertex.
        gold: the arcs that are gold edits, with the edges of each.
        max_unchanged_words: maximum number of unchanged tokens in an arc.
        single: return the edges of a single best path.
    """
    short, gold_into = _shortest(into, gold)
    none = [_NOWHERE] * (max_unchanged_words + 1)
    between, inside = {0: 0}, {0: none}
    for end, steps in short.items():
        best = min([between[start] for start in gold_into[end]], default=_NOWHERE)
        arcs = none.copy()
        for start, copies in steps:
            kept = int(not copies)
            before_start = inside[start][: len(none) - kept]
            best = min([best, between[start] + copies, *before_start])
            if kept < len(none):
                arcs[kept] = min(arcs[kept], between[start] + 1)
            for unchanged, cost in enumerate(before_start, kept):
                if cost < arcs[unchanged]:
                    arcs[unchanged] = cost
        between[end], inside[end] = best, arcs

    def before(end: int, state: int) -> Iterator[tuple[State, Collection[Edge]]]:
        """Yield the previous states on best paths to a state, and the edges from them."""
        if state == _BETWEEN:
            for start in gold_into[end]:
                if between[start] == between[end]:
                    yield (start, _BETWEEN), gold[start, end]
        for start, copies in short[end]:
            kept = int(not copies)
            if state == _BETWEEN:
                if between[start] + copies == between[end]:
                    yield (start, _BETWEEN), [(start, end)]
                for unchanged, cost in enumerate(inside[start][: len(none) - kept]):
                    if cost == between[end]:
                        yield (start, unchanged), [(start, end)]
            else:
                if state == kept and between[start] + 1 == inside[end][state]:
                    yield (start, _BETWEEN), [(start, end)]
                if state >= kept and inside[start][state - kept] == inside[end][state]:
                    yield (start, state - kept), [(start, end)]

    last: State = (max(into), _BETWEEN)
    reached, waiting = {last}, [last]
    found: set[Edge] = set()
    while waiting:
        end, state = waiting.pop()
        if end == 0:
            continue
        for other, edges_between in before(end, state):
            found.update(edges_between)
            if other not in reached:
                reached.add(other)
                waiting.append(other)
            if single:
                break
    return sorted(found)


def _shortest(
    into: Into, gold: Collection[Edge]
) -> tuple[dict[int, list[tuple[int, int]]], dict[int, list[int]]]:
    """Return the edges and the starts of gold arcs into every vertex that is on a shortest path.

    A shortest path has the most gold arcs and, among those, the fewest edges.
    """
    gold_into: dict[int, list[int]] = defaultdict(list)
    for origin, end in gold:
        gold_into[end].append(origin)
    length = {0: 0}
    for end, steps in into.items():
        best = min([length[start] for start, _ in steps]) + 1
        if end in gold_into:
            best = min([best, *(length[start] - _GOLD for start in gold_into[end])])
        length[end] = best
    short: dict[int, list[tuple[int, int]]] = {}
    alive = {max(into)}
    for end in reversed(list(into)):
        if end in alive:
            short[end] = [step for step in into[end] if length[step[0]] + 1 == length[end]]
            gold_into[end] = [
                start for start in gold_into[end] if length[start] - _GOLD == length[end]
            ]
            alive.update([start for start, _ in short[end]], gold_into[end])
    return dict(reversed(short.items())), gold_into
