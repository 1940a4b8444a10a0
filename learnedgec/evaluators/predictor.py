"""What a metric predicts with: a trained package or a published classifier.

predict(find_predictor("open-mpnet"), sources, hypotheses, ["quality"], runtime)["quality"]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from learnedgec.evaluators.classifier import PublishedClassifier, Reads
from learnedgec.evaluators.locations import find_package
from learnedgec.evaluators.package import Package
from learnedgec.evaluators.precision import Precision, evaluator_precision
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Texts

Predictor: TypeAlias = Package | PublishedClassifier


def find_predictor(name: str, reads: Reads = "hypothesis") -> Predictor:
    """Return the predictor that a name denotes: a package if one has this name, else a classifier.

    Args:
        name: name, directory or hub ID.
        reads: the input of a classifier; a package records its own.

    Raises:
        UnknownNameError: no model has this name.
        PackageError: the package is damaged.
    """
    return find_package(name) or PublishedClassifier(name, reads)


def predict(
    predictor: Predictor,
    sources: Texts,
    hypotheses: Texts,
    outputs: Sequence[str],
    runtime: Runtime,
) -> dict[str, Floats]:
    """Return the value of each output for N (source, hypothesis) rows, float64 (N,).

    Args:
        predictor: an evaluator or a published classifier.
        sources: N sources.
        hypotheses: N hypotheses.
        outputs: names of heads or outputs.
        runtime: how to run.

    Raises:
        ModelError: the predictor lacks one of the outputs, or cannot be loaded.
    """
    if isinstance(predictor, PublishedClassifier):
        return predictor.predict(sources, hypotheses, outputs, runtime)
    # Transformers takes a second to import.
    from learnedgec.evaluators.evaluator import Evaluator

    predictor.check(outputs)
    return Evaluator.of(predictor, runtime).predict(sources, hypotheses, outputs, runtime=runtime)


def predictor_precision(predictor: Predictor, runtime: Runtime) -> Precision:
    """Return the precision in which a predictor computes."""
    if isinstance(predictor, PublishedClassifier):
        return predictor.precision(runtime)
    return evaluator_precision(runtime)
