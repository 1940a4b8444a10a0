"""Whether an evaluator has learned from the very data that it is tested on."""

from __future__ import annotations

from learnedgec.metrics.base import Metric
from learnedgec.models.packages import learned_from

__all__ = ["contamination"]


def contamination(metric: Metric, tested: str) -> tuple[str, ...]:
    """Return a sentence for each evaluator of a metric that has learned from what it is tested on.

    Args:
        metric: what is tested.
        tested: name of a benchmark or a set of cases, such as `gmeg:fce` or `robustgec:bea19`. `DATASET` and
            `DATASET:dev` stand for all of its parts.

    Example:
        >>> from learnedgec import load_metric
        >>> contamination(load_metric("gleu"), "gmeg:fce")
        ()
    """
    found = []
    for name in metric.evaluators():
        met = [each for each in learned_from(name) if _meet(each, tested)]
        if met:
            found.append(
                f"{name} has learned from {', '.join(met)}; what it reaches here says nothing."
            )
    return tuple(found)


def _meet(one: str, other: str) -> bool:
    """Return whether two names of datasets may stand for the same texts."""
    (dataset, _, part), (same, _, its) = one.partition(":"), other.partition(":")
    return dataset == same and (part == its or not {part, its}.isdisjoint({"", "dev"}))
