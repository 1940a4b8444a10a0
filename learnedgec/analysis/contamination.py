"""Warnings about metrics that were trained or tuned on the data on which they are tested."""

from __future__ import annotations

from collections.abc import Collection

from learnedgec.data.catalog.leakage import fingerprint, hashes_of, share_text
from learnedgec.metrics.bound import BoundMetric, NamedMetric
from learnedgec.metrics.tuned import tuned_on
from learnedgec.types import Texts


def count_tuned_on(metric: NamedMetric, sources: Texts) -> int:
    """Return the number of sources on which a metric, or a member of an ensemble, was tuned.

    Example:
        >>> from learnedgec.scoring import bind_one
        >>> count_tuned_on(bind_one("gleu"), ["It was made for all of them ."])
        0
    """
    return count_shared(tuned_on(metric.tuned_names), sources)


def count_shared(seen: Collection[bytes], sources: Texts) -> int:
    """Return the number of sources whose hashes are among those that were seen."""
    return sum(fingerprint(source) in seen for source in sources) if seen else 0


def contamination(metric: BoundMetric, tested: str, sources: Texts = ()) -> tuple[str, ...]:
    """Return a warning for each evaluator of a metric that was trained on the test data.

    Datasets are compared by name, and the sources with the hashes in the evaluator's package.

    Args:
        metric: the metric that is tested.
        tested: name of a benchmark or a set of cases, such as `gmeg:fce` or `robustgec:bea19`; empty for
            other texts. A dataset without a part includes all of its parts, and datasets of the same
            sentences are treated as one.
        sources: the sentences on which it is tested.

    Example:
        >>> from learnedgec.scoring import bind_one
        >>> contamination(bind_one("gleu"), "gmeg:fce")
        ()
    """
    warnings = []
    for package in metric.packages:
        shared = [
            data
            for data in package.datasets
            if tested and share_text(_dataset(data), _dataset(tested))
        ]
        if shared:
            warnings.append(
                f"{package.name} was trained on {', '.join(shared)}; its results here are no evidence of how "
                "it judges other texts."
            )
        elif seen := count_shared(hashes_of(package.hashes), sources):
            warnings.append(
                f"{package.name} was trained on {seen:,} of the {len(sources):,} sentences; its results on "
                "them are no evidence of how it judges other texts."
            )
    return tuple(warnings)


def _dataset(name: str) -> str:
    """Return the dataset of a benchmark: all of GMEG for `gmeg:dev`, JFLEG's dev part for `jfleg:FOLDER`."""
    dataset, _, part = name.partition(":")
    if dataset == "gmeg" and part == "dev":
        return dataset
    if dataset == "jfleg" and part not in ("", "dev", "test"):
        return "jfleg:dev"
    return name
