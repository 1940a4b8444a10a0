"""What the length of a sentence and the number of edits do to a metric's scores, beside the sentinels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from learnedgec.arrays import Floats, Indices
from learnedgec.stats.correlation import spearman

__all__ = ["describe_effects"]

_BINS = 8


def describe_effects(scores: Sequence[Floats], lengths: Floats, edits: Floats) -> dict[str, Any]:
    """Return the mean score by length of the source and by number of edits, and rank correlations with both.

    Args:
        scores: per metric, float64 (S, N).
        lengths: float64 (N,), tokens of each source.
        edits: float64 (S, N), edited tokens of each output: the sentinel `edit-count`.

    Returns:
        `length` and `edits`, each with `labels` (K), `counts` (S, K) and `means` (M, S, K), None where
        there is no sentence; `correlation` (M), each metric's Spearman correlation over all outputs with
        `length` and `edits`, and `systems`, that of the systems' mean scores with their mean number of edits.
    """
    spread = np.broadcast_to(lengths, edits.shape)
    return {
        "length": _by(scores, spread),
        "edits": _by(scores, edits),
        "correlation": [
            {
                "length": _plain(spearman(each.ravel(), spread.ravel())),
                "edits": _plain(spearman(each.ravel(), edits.ravel())),
                "systems": _plain(spearman(each.mean(axis=1), edits.mean(axis=1))),
            }
            for each in scores
        ],
    }


def _by(scores: Sequence[Floats], values: Floats) -> dict[str, Any]:
    """Return counts and mean scores by up to eight ranges, each with about as many outputs."""
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _BINS + 1)[:-1], method="higher"))
    ends = [*(edges[1:] - 1), values.max()]
    place: Indices = np.searchsorted(edges, values, side="right") - 1
    within = place == np.arange(len(edges))[:, None, None]
    return {
        "labels": [
            f"{low:g}" if low == high else f"{low:g}–{high:g}"
            for low, high in zip(edges, ends, strict=True)
        ],
        "counts": within.sum(axis=2).T.tolist(),
        "means": [
            [
                [
                    float(f"{row[mask].mean():.6g}") if mask.any() else None
                    for mask in within[:, system]
                ]
                for system, row in enumerate(each)
            ]
            for each in scores
        ],
    }


def _plain(value: Floats) -> float | None:
    """Return a number, or None where it does not exist."""
    return None if np.isnan(value) else float(value)
