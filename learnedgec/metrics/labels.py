"""What a metric's name shows in tables and sentences: a short name, and whether it is a sentinel."""

from __future__ import annotations

import re
from collections.abc import Sequence

SENTINELS = ("edit-count", "length", "constant", "random")
"""Names of the sentinels (`learnedgec.metrics.sentinels`), in the order of tables."""


def is_sentinel(metric: str) -> bool:
    """Return whether a metric is a sentinel, so that its highest score is not the best.

    Args:
        metric: the metric's name or label.

    Example:
        >>> is_sentinel("length(unit='char')"), is_sentinel("gleu")
        (True, False)
    """
    return metric.partition("(")[0] in SENTINELS


def short_labels(labels: Sequence[str]) -> dict[str, str]:
    """Return a short name for each metric: without parameters, and numbered where two would be the same.

    Args:
        labels: names of metrics, each once.

    Example:
        >>> short_labels(["gleu(n=2)", "m2", "m2(beta=1.0)"])
        {'gleu(n=2)': 'gleu', 'm2': 'm2', 'm2(beta=1.0)': 'm2#2'}
        >>> short_labels(["head(model='mine', name='fluency')"])
        {"head(model='mine', name='fluency')": 'head[mine]'}
    """
    names: dict[str, str] = {}
    # Of a head, the package says more than the word.
    named = [re.sub(r"^head\(model='(?:[^']*/)?([^'/]+)'.*", r"head[\1]", text) for text in labels]
    stems = [label.partition("(")[0] for label in named]
    for place, (label, stem) in enumerate(zip(labels, stems, strict=True)):
        before = stems[:place].count(stem)
        names[label] = f"{stem}#{before + 1}" if before else stem
    return names
