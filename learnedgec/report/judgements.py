"""A benchmark's meta-evaluation as lists, and the sentences on which a metric disagrees most with people."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from learnedgec.analysis.meta.evaluation import Evaluation
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.rows import plain
from learnedgec.types import Floats

_MOST = 50


def describe_evaluation(evaluation: Evaluation) -> dict[str, Any]:
    """Return the fields of an evaluation, without sentence scores, for JSON."""
    described: dict[str, Any] = plain(asdict(evaluation))
    for entry in described["metrics"]:
        del entry["sentences"]
    return described | {"protocol": str(evaluation.protocol), "window": evaluation.protocol.window}


def describe_misjudged(scores: Floats, benchmark: Benchmark, human: str) -> dict[str, Any]:
    """Return the outputs on which a metric disagrees most with people's comparisons or ratings.

    Args:
        scores: float64 (S, N), in the order of the benchmark's systems.
        benchmark: the benchmark.
        human: name of the human score.
    """
    if human in benchmark.ratings:
        columns = benchmark.ratings[human]
        empty = np.full(len(benchmark.sources), np.nan)
        ratings = np.stack([columns.get(system, empty) for system in benchmark.systems])
        return {"kind": "ratings", "entries": misjudged_outputs(scores, ratings)}
    if benchmark.rankings:
        return {"kind": "comparisons", "entries": misjudged_pairs(scores, benchmark)}
    return {"kind": "none", "entries": []}


def misjudged_pairs(scores: Floats, benchmark: Benchmark) -> list[dict[str, Any]]:
    """Return pairs of outputs that a metric and people order differently, one per sentence, clearest first.

    The clearness of a pair is the product of two numbers: the difference between the numbers of judges who
    preferred one and the other, and the metric's difference, in percentiles of all its sentence scores.

    Args:
        scores: float64 (S, N), in the order of the benchmark's systems.
        benchmark: a benchmark with rankings.
    """
    comparisons = benchmark.comparisons()
    votes: dict[tuple[int, int, int], list[int]] = {}
    columns = (comparisons.sentence, comparisons.first, comparisons.second, comparisons.outcome)
    for sentence, first, second, outcome in np.stack(columns, axis=1).tolist():
        a, b, winner = (first, second, outcome) if first < second else (second, first, -outcome)
        count = votes.setdefault((sentence, a, b), [0, 0, 0])
        count[1 - winner] += 1  # for a, tied, for b
    rank = _percentiles(scores)
    # A sentence with several pairs is listed with its clearest pair and their number.
    clearest: dict[int, dict[str, Any]] = {}
    for (sentence, a, b), (for_a, tied, for_b) in votes.items():
        net, gap = for_a - for_b, rank[a, sentence] - rank[b, sentence]
        if not net * gap < 0:  # a score may also be NaN
            continue
        listed = clearest.setdefault(sentence, {"weight": 0.0, "pairs": 0})
        listed["pairs"] += 1
        if -net * gap > listed["weight"]:
            listed |= {
                "sentence": sentence,
                "systems": [a, b] if net > 0 else [b, a],
                "votes": [max(for_a, for_b), tied, min(for_a, for_b)],
                "gap": float(f"{abs(gap):.4g}"),
                "weight": -net * gap,
            }
    return _clearest(list(clearest.values()))


def misjudged_outputs(scores: Floats, ratings: Floats) -> list[dict[str, Any]]:
    """Return the outputs whose score and rating differ most, in percentiles of both.

    Args:
        scores: float64 (S, N).
        ratings: float64 (S, N), NaN where there is no rating.
    """
    rated = ~np.isnan(ratings)
    rank = np.full(scores.shape, np.nan)
    rank[rated] = _percentiles(scores[rated]) - _percentiles(ratings[rated])
    outputs = [
        {
            "sentence": sentence,
            "system": system,
            "rating": float(ratings[system, sentence]),
            "gap": float(f"{rank[system, sentence]:.4g}"),
            "weight": abs(float(rank[system, sentence])),
        }
        for system, sentence in np.argwhere(rated).tolist()
    ]
    return _clearest(outputs)


def _clearest(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries with the largest weights, without the weights."""
    entries.sort(key=lambda entry: -entry["weight"])
    return [{k: v for k, v in entry.items() if k != "weight"} for entry in entries[:_MOST]]


def _percentiles(values: Floats) -> Floats:
    """Return the percentile of each value among all, above 0 and up to 100; equal values share the mean."""
    from scipy.stats import rankdata

    ranks: Floats = rankdata(values, axis=None).reshape(values.shape) * 100 / values.size
    return ranks
