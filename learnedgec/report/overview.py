"""The overview of scores in numbers and words: systems × metrics, the meaning of a score and its causes.

- systems × metrics: scores with intervals, significant differences, and pairs on which metrics disagree
- the meaning of a score, by a released reference
- the effect of a sentence's length and of the number of edits on a metric's scores
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from learnedgec.analysis.explanation import explain_score, find_reference
from learnedgec.analysis.ranking import SystemRanking
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.rows import plain
from learnedgec.data.sentences import changed_sentences
from learnedgec.metrics.scores import Score
from learnedgec.scoring import BoundMetric
from learnedgec.stats.correlation import kendall, spearman
from learnedgec.types import Floats, Indices

# The largest number of ranges of lengths, and of numbers of edits.
_BINS = 8


def describe_ranking(ranking: SystemRanking) -> dict[str, Any]:
    """Return the fields of a ranking for JSON; the systems keep their given order.

    `against` says in a word how each system compares with the baseline; it is None without one.
    """
    against = None
    if ranking.baseline:
        base = ranking.systems.index(ranking.baseline)
        higher, lower = ranking.better[:, base], ranking.better[base]
        words = np.select([higher, lower], ["higher", "lower"], "not told apart")
        against = ["" if n == base else str(word) for n, word in enumerate(words)]
    described: dict[str, Any] = plain(asdict(ranking))
    # Scores on each resample would fill the page.
    del described["many"]
    for name in ("ranges", "cluster", "order"):
        described[name] = plain(getattr(ranking, name))
    return described | {"against": against}


def rank_agreement(rankings: Sequence[SystemRanking]) -> list[list[float | None]]:
    """Return Kendall's τ-b between the metrics' scores of the systems, (M, M); None where undefined."""
    scores: Floats = np.array([ranking.scores for ranking in rankings])
    table: list[list[float | None]] = plain(kendall(scores[:, None], scores[None]))
    return table


# -- the meaning of a score --------------------------------------------------------------------------


def describe_meaning(
    metric: BoundMetric, scores: Sequence[Score], benchmark: Benchmark
) -> dict[str, Any] | None:
    """Return the explanation of the score of every system, and the percentile of every output.

    Args:
        metric: the metric.
        scores: its scores of each system.
        benchmark: the texts of the systems.

    Returns:
        `None` if the metric has no released reference, else
        `sentences` (S), `percentiles` (S, N), and the reference's `benchmark`, `outputs`, `pairs`,
        `accuracy` and `bins` (as `reliability`).
    """
    reference = find_reference(metric)
    if reference is None:
        return None
    of_sources = metric.metric.sentence_scores(
        metric.statistics(benchmark.sources, {"": benchmark.sources})[""]
    )
    sentences = [
        explain_score(
            reference,
            score.value,
            score.sentences,
            of_sources,
            changed_sentences(benchmark.sources, texts),
        )
        for score, texts in zip(scores, benchmark.systems.values(), strict=True)
    ]
    percentiles = [reference.percentiles(score.sentences) for score in scores]
    return {
        "benchmark": reference.benchmark,
        "outputs": reference.outputs,
        "pairs": reference.pairs,
        "accuracy": reference.accuracy,
        "reliability": [asdict(bin_) for bin_ in reference.bins],
        "sentences": sentences,
        "percentiles": np.rint(percentiles).astype(int).tolist(),
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
                    for mask in within[:, system] & ~np.isnan(row)
                ]
                for system, row in enumerate(by_system)
            ]
            for by_system in scores
        ],
    }
