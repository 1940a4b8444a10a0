"""Correlation of sentence scores with human ratings of single outputs.

`pooled` correlates all rated outputs at once, and so also rewards knowing which *sentences* are easy;
`grouped` correlates the outputs of each source and takes the mean, which asks only which output is
better.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from learnedgec.errors import InputError
from learnedgec.stats.correlation import kendall, pearson, spearman
from learnedgec.types import Floats

__all__ = ["Grouping", "Segments", "segment_correlation", "segment_correlations_of_resamples"]

Grouping = Literal["pooled", "grouped"]
Segments = Literal["pearson", "spearman", "kendall"]

_OF_A_GROUP = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


def segment_correlation(
    kind: Segments, scores: Floats, ratings: Floats, grouping: Grouping = "pooled"
) -> tuple[float, int]:
    """Return the correlation of a metric's sentence scores with ratings, and its sample size.

    Args:
        kind: Pearson's r, Spearman's ρ or Kendall's τ-b.
        scores: (S, N), the metric's score of each sentence of each system.
        ratings: (S, N), the human ratings, NaN where missing.
        grouping: `pooled` over all rated outputs, or `grouped`: the mean over sources of the
            correlation among that source's outputs, leaving out sources without two outputs that are rated
            differently. A source whose outputs the metric scores alike counts as 0, so that all metrics are
            judged on the same sources and none gains by abstaining.

    Returns:
        The correlation, and the number of rated outputs (pooled) or sources (grouped).
    """
    _check(kind, grouping)
    if grouping == "grouped":
        each = _of_each_source(kind, scores, ratings)
        known = each[~np.isnan(each)]
        return (float(known.mean()) if known.size else float("nan")), known.size
    rated = ~np.isnan(ratings)
    return _pooled(kind, scores[rated], ratings[rated]), int(rated.sum())


def segment_correlations_of_resamples(
    kind: Segments,
    scores: Floats,
    ratings: Floats,
    samples: npt.NDArray[np.intp],
    grouping: Grouping,
) -> Floats:
    """Return the correlation on each of B resamples of the sources, float64 (B,).

    Args:
        kind: the correlation, as for `segment_correlation`.
        scores: (S, N).
        ratings: (S, N).
        samples: int (B, M), each row the source numbers of one resample.
        grouping: `pooled` or `grouped`.
    """
    _check(kind, grouping)
    if grouping == "grouped":
        drawn = _of_each_source(kind, scores, ratings)[samples]
        known = ~np.isnan(drawn)
        total = np.where(known, drawn, 0.0).sum(axis=1)
        means: Floats = np.divide(
            total, known.sum(axis=1), out=np.full(len(total), np.nan), where=known.any(axis=1)
        )
        return means
    found = []
    for sample in samples:
        score, rating = scores[:, sample], ratings[:, sample]
        rated = ~np.isnan(rating)
        found.append(_pooled(kind, score[rated], rating[rated]))
    return np.array(found)


def _pooled(kind: Segments, scores: Floats, ratings: Floats) -> float:
    """Return the correlation of two long vectors; Kendall's needs scipy's O(n log n)."""
    if kind != "kendall":
        return float(_OF_A_GROUP[kind](scores, ratings))
    from scipy.stats import kendalltau

    if len(scores) < 2:
        return float("nan")
    return float(kendalltau(scores, ratings).statistic)


def _of_each_source(kind: Segments, scores: Floats, ratings: Floats) -> Floats:
    """Return (N,) the correlation among each source's outputs, NaN where all are rated alike."""
    found = np.full(scores.shape[1], np.nan)
    rated = ~np.isnan(ratings)
    # Sources with the same number of rated outputs are computed together.
    counts = rated.sum(axis=0)
    for count in np.unique(counts[counts > 1]):
        sources = np.flatnonzero(counts == count)
        kept = rated[:, sources].T
        score, rating = (
            values[:, sources].T[kept].reshape(-1, count) for values in (scores, ratings)
        )
        abstains = (np.ptp(score, axis=1) == 0) & (np.ptp(rating, axis=1) > 0)
        found[sources] = np.where(abstains, 0.0, _OF_A_GROUP[kind](score, rating))
    return found


def _check(kind: str, grouping: str) -> None:
    if kind not in get_args(Segments) or grouping not in get_args(Grouping):
        raise InputError(
            f"no {grouping} {kind} correlation of segments; choose {', '.join(get_args(Segments))}, "
            f"and {' or '.join(get_args(Grouping))}."
        )
