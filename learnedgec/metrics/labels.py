"""Short names of metrics, for tables and sentences; the full names belong in a legend."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["short_labels"]


def short_labels(labels: Sequence[str]) -> dict[str, str]:
    """Return a short name for each metric: without parameters, and numbered where two would be the same.

    Args:
        labels: names of metrics, each once.

    Example:
        >>> short_labels(["gleu(n=2)", "m2", "m2(beta=1.0)"])
        {'gleu(n=2)': 'gleu', 'm2': 'm2', 'm2(beta=1.0)': 'm2#2'}
    """
    found: dict[str, str] = {}
    stems = [label.partition("(")[0] for label in labels]
    for place, (label, stem) in enumerate(zip(labels, stems, strict=True)):
        before = stems[:place].count(stem)
        found[label] = f"{stem}#{before + 1}" if before else stem
    return found
