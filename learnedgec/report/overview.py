"""Systems × metrics: scores with intervals, significant differences, and pairs on which metrics disagree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from learnedgec.analysis.comparison import format_p_value
from learnedgec.analysis.ranking import SystemRanking
from learnedgec.stats.correlation import kendall
from learnedgec.stats.significance import is_significant
from learnedgec.types import Floats

__all__ = ["conclusions", "conflicts", "describe_ranking", "rank_agreement"]

# The conclusions name every pair of neighbours among at most so many systems; of more, only the best.
_ALL_NEIGHBOURS = 4


def describe_ranking(ranking: SystemRanking) -> dict[str, Any]:
    """Return a ranking as lists; the systems keep their given order."""
    return {
        "metric": ranking.metric,
        "signature": ranking.signature,
        "scores": ranking.scores.tolist(),
        "intervals": ranking.intervals.tolist(),
        "ranges": ranking.ranges.tolist(),
        "cluster": ranking.cluster.tolist(),
        "order": ranking.order,
        "wins": ranking.wins.tolist(),
        "p_values": ranking.p_values.tolist(),
        "adjusted": ranking.adjusted.tolist(),
    }


def conclusions(
    ranking: SystemRanking, level: float, resamples: int, *, sentinel: bool = False
) -> list[str]:
    """Return the result of a ranking as sentences.

    Two systems differ if the p-value of their difference, after Holm's correction for all pairs, is below 1 −
    `level`. For up to four systems, each pair of neighbours in the order has a sentence, and so has any other
    pair for which these would suggest the opposite. For more systems, the sentences say which systems the
    first is better than, and from which it does not differ significantly.

    Args:
        ranking: ranking of the systems by one metric.
        level: confidence level.
        resamples: number of resamples; no p-value is below 1/(resamples + 1).
        sentinel: whether the metric is a sentinel; then no system is called better.
    """
    better = "scores higher than" if sentinel else "is better than"
    names, order = ranking.systems, ranking.order
    if len(order) == 1:
        low, high = ranking.intervals[0]
        return [
            f"{names[0]} scores {ranking.scores[0]:.4f}, {level:.0%} CI [{low:.4f}, {high:.4f}]."
        ]
    if ranking.scores.max() == ranking.scores.min():
        return [
            f"{_listed([names[number] for number in order])} all score {ranking.scores[0]:.4f}."
        ]

    def p_value(one: int, other: int) -> str:
        floor = 1 / (resamples + 1) + 1e-12
        return format_p_value(
            float(ranking.adjusted[one, other]), bound=bool(ranking.p_values[one, other] <= floor)
        )

    def differs(one: int, other: int) -> bool:
        return is_significant(ranking.adjusted[one, other], level)

    if len(order) <= _ALL_NEIGHBOURS:
        steps = [differs(one, other) for one, other in pairwise(order)]
        # Readers conclude from the steps that two systems differ if a step between them does. Pairs for
        # which that is wrong get a sentence of their own.
        surprising = [
            (order[i], order[j])
            for i, j in combinations(range(len(order)), 2)
            if j > i + 1 and differs(order[i], order[j]) != any(steps[i:j])
        ]
        return [
            f"{names[one]} {better} {names[other]} ({p_value(one, other)})."
            if differs(one, other)
            else f"{names[one]} and {names[other]} cannot be told apart ({p_value(one, other)})."
            for one, other in [*pairwise(order), *surprising]
        ]
    best, *others = order
    beaten = [other for other in others if differs(best, other)]
    alike = [other for other in others if other not in beaten]
    if not alike:
        worst = max(beaten, key=lambda other: float(ranking.adjusted[best, other]))
        return [
            f"{names[best]} {better} each of the {len(others)} others ({p_value(best, worst)})."
        ]
    sentences = [f"{names[best]} has the highest score."]
    if beaten:
        sentences.append(f"It {better} {len(beaten)} of the {len(others)} others.")
    sentences.append(f"It cannot be told apart from {_listed([names[other] for other in alike])}.")
    return sentences


def rank_agreement(rankings: Sequence[SystemRanking]) -> list[list[float | None]]:
    """Return Kendall's τ-b between the metrics' scores of the systems, (M, M); None where undefined."""
    scores: Floats = np.array([ranking.scores for ranking in rankings])
    agreement = kendall(scores[:, None], scores[None])
    return [[None if np.isnan(value) else float(value) for value in row] for row in agreement]


def conflicts(rankings: Sequence[SystemRanking], level: float) -> list[dict[str, Any]]:
    """Return every pair of systems that two metrics order in opposite ways, the clearest first.

    Returns:
        Mappings with `metrics`, the indices of two metrics; `systems`, the index of the system that the first
        metric prefers, and that of the other; `p_values` by each metric, after Holm's correction; and
        `significant`, whether both are below 1 − `level`.
    """
    pairs = []
    for (first, one), (second, other) in combinations(enumerate(rankings), 2):
        for a, b in combinations(range(len(one.systems)), 2):
            gap, its = one.scores[a] - one.scores[b], other.scores[a] - other.scores[b]
            if gap * its >= 0:
                continue
            better, worse = (a, b) if gap > 0 else (b, a)
            p_values = [float(one.adjusted[a, b]), float(other.adjusted[a, b])]
            pairs.append(
                {
                    "metrics": [first, second],
                    "systems": [better, worse],
                    "p_values": p_values,
                    "significant": is_significant(max(p_values), level),
                }
            )
    return sorted(pairs, key=lambda pair: max(pair["p_values"]))


def _listed(names: Sequence[str]) -> str:
    """Return names as prose: `A`, `A and B`, `A, B and C`."""
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
