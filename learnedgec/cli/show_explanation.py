"""Output of `learnedgec score --explain`: each score in words, for metrics with a released reference."""

from __future__ import annotations

from collections.abc import Mapping

from jsonargparse import ArgumentParser

from learnedgec.calibration.explanation import explain_score
from learnedgec.calibration.released import find_reference
from learnedgec.catalog.registry import DATASETS, dataset
from learnedgec.cli.inputs import Inputs
from learnedgec.cli.output import notice
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.sentences import changed_sentences
from learnedgec.metrics.base import Metric
from learnedgec.metrics.scores import Score

__all__ = ["add_explanation_argument", "explain_scores"]


def add_explanation_argument(parser: ArgumentParser) -> None:
    """Add `--explain`."""
    parser.add_argument(
        "--explain",
        action="store_true",
        help="also explain each score on stderr: its place among rated outputs, and the share of similar "
        "changes that human raters preferred (some, impara and preference with the released evaluator)",
    )


def explain_scores(
    scores: Mapping[Metric, Mapping[str, Score]], inputs: Inputs, runtime: Runtime
) -> None:
    """Print one sentence per metric and system; a metric without a reference says so once."""
    told: set[str] = set()
    for metric, systems in scores.items():
        reference = find_reference(metric)
        if reference is None:
            notice(
                f"{metric.label}: no reference is released for this metric with these parameters."
            )
            continue
        sources = metric.score(inputs.sources, inputs.sources, inputs.references, runtime=runtime)
        for system, score in systems.items():
            found = explain_score(
                reference,
                score.value,
                score.sentences,
                sources.sentences,
                changed_sentences(inputs.sources, inputs.systems[system]),
            )
            notice(f"{system}: {metric.label} {found.sentence}")
        if reference.benchmark not in told:
            told.add(reference.benchmark)
            for message in _about(reference.benchmark):
                notice(message)


def _about(benchmark: str) -> list[str]:
    """Return a one-sentence description of a benchmark, if its dataset is in the catalog."""
    name = benchmark.partition(":")[0]
    return [f"{benchmark}: {dataset(name).about}."] if name in DATASETS else []
