"""What scores say in numbers and words: systems × metrics, the meaning of a score, and what affects it.

- systems × metrics: scores with intervals, significant differences, and pairs on which metrics disagree
- the meaning of a score, by a released reference
- the effect of a sentence's length and of the number of edits on a metric's scores
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from learnedgec.analysis.comparison import format_p_value
from learnedgec.analysis.explanation import ScoreReference, explain_score
from learnedgec.analysis.ranking import SystemRanking
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.rows import plain
from learnedgec.data.sentences import changed_sentences
from learnedgec.metrics.scores import Score
from learnedgec.stats.correlation import kendall, spearman
from learnedgec.stats.significance import is_significant
from learnedgec.types import Floats, Indices

# Ranges of lengths and of numbers of edits, at most.
_BINS = 8

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


def conclusions(ranking: SystemRanking, *, sentinel: bool = False) -> list[str]:
    """Return the result of a ranking as sentences.

    Two systems differ if the p-value of their difference, after Holm's correction for all pairs, is below 1 −
    the ranking's level. For up to four systems, each pair of neighbours in the order has a sentence, and so
    has any other pair for which these would suggest the opposite. For more systems, the sentences say which
    systems the first is better than, and from which it does not differ significantly.

    Args:
        ranking: ranking of the systems by one metric.
        sentinel: whether the metric is a sentinel; then no system is called better.
    """
    better = "scores higher than" if sentinel else "is better than"
    names, order = ranking.systems, ranking.order
    if len(order) == 1:
        low, high = ranking.intervals[0]
        return [
            f"{names[0]} scores {ranking.scores[0]:.4f}, {ranking.level:.0%} CI [{low:.4f}, {high:.4f}]."
        ]
    if ranking.scores.max() == ranking.scores.min():
        return [
            f"{_listed([names[number] for number in order])} all score {ranking.scores[0]:.4f}."
        ]

    def p_value(first: int, other: int) -> str:
        floor = 1 / (ranking.resamples + 1) + 1e-12
        return format_p_value(
            float(ranking.adjusted[first, other]),
            bound=bool(ranking.p_values[first, other] <= floor),
        )

    def differs(first: int, other: int) -> bool:
        return is_significant(ranking.adjusted[first, other], ranking.level)

    if len(order) <= _ALL_NEIGHBOURS:
        steps = [differs(first, other) for first, other in pairwise(order)]
        # Readers conclude from the steps that two systems differ if a step between them does. Pairs for
        # which that is wrong get a sentence of their own.
        surprising = [
            (order[i], order[j])
            for i, j in combinations(range(len(order)), 2)
            if j > i + 1 and differs(order[i], order[j]) != any(steps[i:j])
        ]
        return [
            f"{names[first]} {better} {names[other]} ({p_value(first, other)})."
            if differs(first, other)
            else f"{names[first]} and {names[other]} cannot be told apart ({p_value(first, other)})."
            for first, other in [*pairwise(order), *surprising]
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
    table: list[list[float | None]] = plain(kendall(scores[:, None], scores[None]))
    return table


def conflicts(rankings: Sequence[SystemRanking], level: float) -> list[dict[str, Any]]:
    """Return every pair of systems that two metrics order in opposite ways, the clearest first.

    Returns:
        Mappings with `metrics`, the indices of two metrics; `systems`, the index of the system that the first
        metric prefers, and that of the other; `p_values` by each metric, after Holm's correction; and
        `significant`, whether both are below 1 − `level`.
    """
    pairs = []
    for (first, ranking), (second, other) in combinations(enumerate(rankings), 2):
        for a, b in combinations(range(len(ranking.systems)), 2):
            gap = ranking.scores[a] - ranking.scores[b]
            if gap * (other.scores[a] - other.scores[b]) >= 0:
                continue
            better, worse = (a, b) if gap > 0 else (b, a)
            p_values = [float(ranking.adjusted[a, b]), float(other.adjusted[a, b])]
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


# -- the meaning of a score --------------------------------------------------------------------------


def describe_meaning(
    reference: ScoreReference, scores: Sequence[Score], source_scores: Floats, benchmark: Benchmark
) -> dict[str, Any]:
    """Return the explanation of the score of every system and every output.

    Args:
        reference: released reference of the metric.
        scores: scores of each system.
        source_scores: float64 (N,), the metric's scores of the unchanged sources.
        benchmark: the texts of the systems.

    Returns:
        `sentences` (S), `percentiles` and `preferred` (S, N), the latter None if the source is unchanged; and
        the reference's `benchmark`, `outputs`, `pairs`, `accuracy`, `systems` and `bins` (as `reliability`).
    """
    explanations = [
        explain_score(
            reference,
            score.value,
            score.sentences,
            source_scores,
            changed_sentences(benchmark.sources, texts),
        )
        for score, texts in zip(scores, benchmark.systems.values(), strict=True)
    ]
    return {
        "benchmark": reference.benchmark,
        "outputs": reference.outputs,
        "pairs": reference.pairs,
        "accuracy": reference.accuracy,
        "systems": dict(reference.systems),
        "reliability": [asdict(bin_) for bin_ in reference.bins],
        "sentences": [explanation.sentence for explanation in explanations],
        "percentiles": [
            np.rint(explanation.percentiles).astype(int).tolist() for explanation in explanations
        ],
        "preferred": [
            [None if np.isnan(value) else round(float(value), 3) for value in explanation.preferred]
            for explanation in explanations
        ],
    }


# -- effects of length and edits ---------------------------------------------------------------------


def describe_effects(scores: Sequence[Floats], lengths: Floats, edits: Floats) -> dict[str, Any]:
    """Return the mean score by length of the source and by number of edits, and rank correlations with both.

    Args:
        scores: sentence scores by metric, float64 (S, N) each.
        lengths: float64 (N,), number of tokens of each source.
        edits: float64 (S, N), number of edited tokens of each output, as the sentinel `edit-count` counts
            them.

    Returns:
        `length` and `edits`, each with `labels` (K), `counts` (S, K) and `means` (M, S, K), which is None
        where there is no sentence; and `correlation` (M), with each metric's Spearman correlation over all
        outputs with `length` and `edits`, and that of the systems' mean scores with their mean number of
        edits, `systems`.
    """
    spread = np.broadcast_to(lengths, edits.shape)
    return {
        "length": _by(scores, spread),
        "edits": _by(scores, edits),
        "correlation": [
            {
                "length": plain(float(spearman(by_system.ravel(), spread.ravel()))),
                "edits": plain(float(spearman(by_system.ravel(), edits.ravel()))),
                "systems": plain(float(spearman(by_system.mean(axis=1), edits.mean(axis=1)))),
            }
            for by_system in scores
        ],
    }


def _by(scores: Sequence[Floats], values: Floats) -> dict[str, Any]:
    """Return counts and mean scores in up to eight ranges of about equal numbers of outputs."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _BINS + 1)[:-1], method="higher"))
    ends = [*(edges[1:] - 1), values.max()]
    place: Indices = np.searchsorted(edges, values, side="right") - 1
    within = place == np.arange(len(edges))[:, None, None]
    return {
        "labels": [
            f"{low:g}" if low == high else f"{low:g}–{high:g}"
            for low, high in zip(edges, ends, strict=True)
        ],
        "counts": within.sum(axis=2).T.tolist(),
        "means": [
            [
                [
                    float(f"{row[mask].mean():.6g}") if mask.any() else None
                    for mask in within[:, system]
                ]
                for system, row in enumerate(by_system)
            ]
            for by_system in scores
        ],
    }
