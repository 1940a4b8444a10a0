"""MaxMatch as published, step by step and slowly: what the fast algorithm has to equal.

Floyd–Warshall runs over all triples of vertices and Bellman–Ford over all arcs until nothing changes; an
arc carries its edit as texts. Behaviours that the paper leaves open are those of the official scorer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from learnedgec.data.m2 import Edit

Vertex = tuple[int, int]
Arc = tuple[Vertex, Vertex]


@dataclass(frozen=True)
class Phrase:
    """The edit of an arc; `parts` are the kinds of the edges merged into it."""

    start: int
    end: int
    original: tuple[str, ...]
    correction: tuple[str, ...]
    parts: tuple[str, ...]

    @property
    def is_noop(self) -> bool:
        return set(self.parts) == {"keep"}

    @property
    def unchanged(self) -> int:
        return self.parts.count("keep")

    def then(self, other: Phrase) -> Phrase:
        return Phrase(
            self.start,
            other.end,
            self.original + other.original,
            self.correction + other.correction,
            self.parts + other.parts,
        )

    def equals(self, gold: Edit) -> bool:
        return (self.start, self.end) == (gold.start, gold.end) and " ".join(
            self.correction
        ) in gold.corrections


def alignment_graph(
    source: Sequence[str], hypothesis: Sequence[str], substitution: int
) -> dict[Arc, Phrase]:
    """Return the edges of all shortest alignments."""
    n, m = len(source), len(hypothesis)
    distance: dict[Vertex, int] = {(0, 0): 0}
    steps: dict[Vertex, list[tuple[Vertex, Phrase]]] = {(0, 0): []}
    for a in range(n + 1):
        for b in range(m + 1):
            options: list[tuple[int, Vertex, Phrase]] = []
            if a and b:
                old, new = source[a - 1], hypothesis[b - 1]
                kind, cost = ("keep", 0) if old == new else ("substitute", substitution)
                phrase = Phrase(a - 1, a, (old,), (new,), (kind,))
                options.append((distance[a - 1, b - 1] + cost, (a - 1, b - 1), phrase))
            if a:
                phrase = Phrase(a - 1, a, (source[a - 1],), (), ("delete",))
                options.append((distance[a - 1, b] + 1, (a - 1, b), phrase))
            if b:
                phrase = Phrase(a, a, (), (hypothesis[b - 1],), ("insert",))
                options.append((distance[a, b - 1] + 1, (a, b - 1), phrase))
            if options:
                least = min(cost for cost, _, _ in options)
                distance[a, b] = least
                steps[a, b] = [
                    (before, phrase) for cost, before, phrase in options if cost == least
                ]
    graph: dict[Arc, Phrase] = {}
    waiting = [(n, m)]
    while waiting:
        vertex = waiting.pop()
        for before, phrase in steps[vertex]:
            graph[before, vertex] = phrase
            waiting.append(before)
    return graph


def oracle_edits(
    source: Sequence[str],
    hypothesis: Sequence[str],
    gold: Sequence[Edit],
    max_unchanged_words: int = 2,
) -> list[Phrase]:
    """Return the system's edits, left to right."""
    first = alignment_graph(source, hypothesis, 1)
    second = alignment_graph(source, hypothesis, 2)
    phrases = first | second
    arcs = sorted([*first, *second])
    vertices = sorted(
        {(0, 0), (len(source), len(hypothesis)), *(v for arc in phrases for v in arc)}
    )
    length: dict[Arc, float] = dict.fromkeys(phrases, 1)

    # Transitive arcs: Floyd–Warshall.
    for k in vertices:
        for i in vertices:
            for j in vertices:
                if (i, k) in phrases and (k, j) in phrases:
                    through = length[i, k] + length[k, j]
                    merged = phrases[i, k].then(phrases[k, j])
                    if through < length.get((i, j), float("inf")) and (
                        merged.unchanged <= max_unchanged_words
                    ):
                        arcs.append((i, j))
                        length[i, j] = through
                        phrases[i, j] = merged
    position = 0
    while position < len(arcs):
        if phrases[arcs[position]].is_noop and length[arcs[position]] > 1:
            del arcs[position]
        # What has moved up to this position is not looked at.
        position += 1

    weights = gold_weights(arcs, length, phrases, gold)

    # Bellman–Ford.
    distance = dict.fromkeys(vertices, float("inf"))
    distance[0, 0] = 0
    before: dict[Vertex, Vertex] = {}
    for _ in vertices[1:]:
        for start, end in arcs:
            if distance[start] + weights[start, end] < distance[end]:
                distance[end] = distance[start] + weights[start, end]
                before[end] = start
    path = []
    vertex = vertices[-1]
    while vertex in before:
        path.append(phrases[before[vertex], vertex])
        vertex = before[vertex]
    return [phrase for phrase in reversed(path) if not phrase.is_noop]


def gold_weights(
    arcs: Sequence[Arc],
    length: dict[Arc, float],
    phrases: dict[Arc, Phrase],
    gold: Sequence[Edit],
) -> dict[Arc, float]:
    """Return the weights: −|E| for gold edits, the length and ε per copy for other edits."""
    weights = {arc: length[arc] for arc in arcs}
    spans = {(phrases[arc].start, phrases[arc].end) for arc in arcs}
    for start, end in sorted(spans):
        here = sorted(arc for arc in arcs if (phrases[arc].start, phrases[arc].end) == (start, end))
        candidates = [edit for edit in gold if (edit.start, edit.end) == (start, end)]
        if start < end:
            for arc in here:
                if any(phrases[arc].equals(edit) for edit in candidates):
                    weights[arc] = -len(arcs)
                elif not phrases[arc].is_noop:
                    weights[arc] += 0.001
            continue
        left, right, low, high = 0, len(here) - 1, 0, len(candidates) - 1
        at_left = True
        while left <= right:
            at_left = at_left or left == right
            arc = here[left if at_left else right]
            numbers = list(range(low, high + 1))
            matches = [n for n in numbers if phrases[arc].equals(candidates[n])]
            if not matches:
                weights[arc] += 0.001
                if at_left:
                    left += 1
                else:
                    right -= 1
                at_left = not at_left
            elif at_left:
                weights[arc] = -len(arcs)
                low = matches[0] + 1
                left += 1
                while left < len(here) and here[left][0] != arc[1]:
                    weights[here[left]] += 0.001
                    left += 1
            else:
                weights[arc] = -len(arcs)
                high = matches[-1] - 1
                right -= 1
                while right >= 0 and here[right][1] != arc[0]:
                    weights[here[right]] += 0.001
                    right -= 1
    return weights


def oracle_tp(edits: Sequence[Phrase], gold: Sequence[Edit]) -> int:
    """Return how many gold edits are matched, in order."""
    tp = position = 0
    for edit in edits:
        for number in range(position, len(gold)):
            if edit.equals(gold[number]):
                tp += 1
                position = number + 1
    return tp


def f_score(tp: float, proposed: float, gold: float, beta: float) -> float:
    precision = tp / proposed if proposed else 1.0
    recall = tp / gold if gold else 1.0
    below = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / below if below else 0.0


def oracle_choice(
    rows: Sequence[Sequence[tuple[float, float, float]]], beta: float
) -> tuple[list[int], tuple[float, float, float]]:
    """Return each sentence's annotator and the sums of tp, e and g, chosen by cumulative F."""
    sums = (0.0, 0.0, 0.0)
    chosen = []
    for row in rows:
        best: tuple[tuple[float, float, float], int, tuple[float, float, float]] | None = None
        for number, (tp, e, g) in enumerate(row):
            c, p, r = sums[0] + tp, sums[1] + e, sums[2] + g
            below = beta**2 * r + p
            f = (1 + beta**2) * c / below if below else 1.0
            key = (f, c, -below)
            if best is None or key > best[0]:
                best = key, number, (c, p, r)
        assert best is not None
        chosen.append(best[1])
        sums = best[2]
    return chosen, sums
