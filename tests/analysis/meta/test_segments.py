"""Correlation with ratings of segments: scipy as the oracle."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from learnedgec.analysis.meta.segments import segment_correlation, segment_correlations_of_resamples
from learnedgec.errors import InputError

ORACLES = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def rated(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scores and ratings with ties, of 5 systems on 30 sources, some of them not rated."""
    generator = np.random.default_rng(seed)
    ratings = generator.integers(1, 5, (5, 30)).astype(float)
    scores = ratings + generator.normal(0, 2, ratings.shape).round()
    ratings[generator.random(ratings.shape) < 0.3] = np.nan
    ratings[:, 3] = np.nan
    ratings[1:, 4] = np.nan
    ratings[:, 5] = 2.0
    scores[:, 6] = 1.0
    return scores, ratings


def literal_grouped(kind: str, scores: np.ndarray, ratings: np.ndarray) -> tuple[float, int]:
    found = []
    for score, rating in zip(scores.T, ratings.T, strict=True):
        kept = ~np.isnan(rating)
        if kept.sum() > 1 and np.ptp(rating[kept]) > 0:
            tied = np.ptp(score[kept]) == 0
            found.append(0.0 if tied else ORACLES[kind](score[kept], rating[kept]).statistic)
    return float(np.mean(found)), len(found)


@pytest.mark.parametrize("kind", ORACLES)
def test_pooled_and_grouped_equal_scipy(kind: str) -> None:
    scores, ratings = rated()
    kept = ~np.isnan(ratings)
    value, count = segment_correlation(kind, scores, ratings)  # type: ignore[arg-type]
    assert value == pytest.approx(ORACLES[kind](scores[kept], ratings[kept]).statistic)
    assert count == kept.sum()
    value, count = segment_correlation(kind, scores, ratings, "grouped")  # type: ignore[arg-type]
    assert (value, count) == pytest.approx(literal_grouped(kind, scores, ratings))


@pytest.mark.parametrize("grouping", ["pooled", "grouped"])
@pytest.mark.parametrize("kind", ORACLES)
def test_resamples_equal_the_resampled_sources(kind: str, grouping: str) -> None:
    scores, ratings = rated(1)
    samples = np.random.default_rng(2).integers(0, 30, (6, 30))
    found = segment_correlations_of_resamples(kind, scores, ratings, samples, grouping)  # type: ignore[arg-type]
    expected = [
        segment_correlation(kind, scores[:, sample], ratings[:, sample], grouping)[0]  # type: ignore[arg-type]
        for sample in samples
    ]
    assert found == pytest.approx(expected)


def test_grouping_ignores_how_easy_sources_are() -> None:
    # Within each source the metric is exactly wrong; across sources it knows which is easy.
    ratings = np.array([[1.0, 11.0, 21.0], [2.0, 12.0, 22.0]])
    scores = np.array([[2.0, 12.0, 22.0], [1.0, 11.0, 21.0]])
    assert segment_correlation("pearson", scores, ratings)[0] > 0.9
    assert segment_correlation("pearson", scores, ratings, "grouped") == pytest.approx((-1.0, 3))


def test_a_metric_that_scores_all_alike_is_at_chance_on_every_source() -> None:
    ratings = np.array([[1.0, 11.0, 2.0], [2.0, 12.0, 2.0]])
    found = segment_correlation("kendall", np.ones((2, 3)), ratings, "grouped")
    assert found == pytest.approx((0.0, 2))


def test_nothing_rated_is_nan() -> None:
    scores, ratings = np.zeros((2, 3)), np.full((2, 3), np.nan)
    for grouping in ("pooled", "grouped"):
        value, count = segment_correlation("kendall", scores, ratings, grouping)  # type: ignore[arg-type]
        assert np.isnan(value)
        assert count == 0


def test_unknown_kinds_are_refused() -> None:
    scores, ratings = rated()
    with pytest.raises(InputError, match="choose pearson, spearman, kendall"):
        segment_correlation("r", scores, ratings)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pooled or grouped"):
        segment_correlation("pearson", scores, ratings, "by-source")  # type: ignore[arg-type]
