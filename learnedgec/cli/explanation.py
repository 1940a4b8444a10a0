"""Output of `learnedgec score --explain`: each score in words, for metrics with a released reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from learnedgec.analysis.explanation import explain_score, find_reference
from learnedgec.cli.scoring import Scoring
from learnedgec.data.catalog.registry import DATASETS, dataset
from learnedgec.data.sentences import changed_sentences
from learnedgec.metrics.base import Metric
from learnedgec.metrics.scores import Score

__all__ = ["explain_scores"]


def explain_scores(scores: Mapping[Metric, Mapping[str, Score]], scoring: Scoring) -> Iterator[str]:
    """Yield a sentence per metric and system, and one about each benchmark that scores are compared with."""
    inputs = scoring.inputs
    described: set[str] = set()
    for metric, systems in scores.items():
        reference = find_reference(metric)
        if reference is None:
            yield f"{metric.label}: no reference is released for this metric with these parameters."
            continue
        sources = metric.score(
            inputs.sources, inputs.sources, inputs.references, runtime=scoring.runtime
        )
        for system, score in systems.items():
            explanation = explain_score(
                reference,
                score.value,
                score.sentences,
                sources.sentences,
                changed_sentences(inputs.sources, inputs.systems[system]),
            )
            yield f"{system}: {metric.label} {explanation.sentence}"
        name = reference.benchmark.partition(":")[0]
        if reference.benchmark not in described and name in DATASETS:
            yield f"{reference.benchmark}: {dataset(name).about}."
        described.add(reference.benchmark)
