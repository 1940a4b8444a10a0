"""Explanation of a metric's scores with a released reference distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from learnedgec.analysis.explanation import ScoreReference, explain_score
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.sentences import changed_sentences
from learnedgec.metrics.scores import Score
from learnedgec.types import Floats

__all__ = ["describe_meaning"]


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
