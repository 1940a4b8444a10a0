"""Whether a metric was trained or tuned on the data that it is tested on."""

from __future__ import annotations

from collections.abc import Sequence

from learnedgec.data.catalog.leakage import fingerprint, share_text
from learnedgec.evaluators.packages import learned_from
from learnedgec.metrics.base import Metric
from learnedgec.metrics.tuned import tuned_on

__all__ = ["contamination", "tuned_here"]


def tuned_here(metric: Metric, sources: Sequence[str]) -> int:
    """Return how many of the sources a metric, or a member of an ensemble, was tuned on.

    Example:
        >>> from learnedgec import load_metric
        >>> tuned_here(load_metric("gleu"), ["It was made for all of them ."])
        0
    """
    seen = tuned_on(metric.tuned_names)
    prints = map(fingerprint, sources) if seen else ()
    return sum(value is not None and value.hex() in seen for value in prints)


def contamination(metric: Metric, tested: str) -> tuple[str, ...]:
    """Return a warning for each evaluator of a metric that was trained on the data it is tested on.

    Args:
        metric: the metric that is tested.
        tested: name of a benchmark or a set of cases, such as `gmeg:fce` or `robustgec:bea19`. A dataset
            without a part includes all of its parts, and datasets of the same sentences are treated as one.

    Example:
        >>> from learnedgec import load_metric
        >>> contamination(load_metric("gleu"), "gmeg:fce")
        ()
    """
    warnings = []
    for name in metric.evaluators():
        shared = [data for data in learned_from(name) if share_text(_data(data), _data(tested))]
        if shared:
            warnings.append(
                f"{name} was trained on {', '.join(shared)}; its results here are meaningless."
            )
    return tuple(warnings)


def _data(name: str) -> str:
    """Return the dataset of a benchmark: gmeg:dev is both domains, jfleg:FOLDER is dev."""
    dataset, _, part = name.partition(":")
    if dataset == "gmeg" and part == "dev":
        return dataset
    if dataset == "jfleg" and part not in ("", "dev", "test"):
        return "jfleg:dev"
    return name
