"""The effect of a sentence's length and of the number of edits on a metric's scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from learnedgec.stats.correlation import spearman
from learnedgec.types import Floats, Indices

__all__ = ["describe_effects"]

_BINS = 8


def describe_effects(scores: Sequence[Floats], lengths: Floats, edits: Floats) -> dict[str, Any]:
    """Return the mean score by length of the source and by number of edits, and rank correlations with both.

    Args:
        scores: sentence scores by metric, float64 (S, N) each.
        lengths: float64 (N,), number of tokens of each source.
        edits: float64 (S, N), number of edited tokens of each output, as the sentinel `edit-count` counts
            them.

    Returns:
        `length` and `edits`, each with `labels` (K), `counts` (S, K) and `means` (M, S, K), which is None
        where there is no sentence; and `correlation` (M), with each metric's Spearman correlation over all
        outputs with `length` and `edits`, and that of the systems' mean scores with their mean number of
        edits, `systems`.
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
    """Return counts and mean scores in up to eight ranges of about equal numbers of outputs."""
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
    """Return a number, or None if it is not finite."""
    return None if np.isnan(value) else float(value)
