from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from learnedgec.stats.correlation import rater_agreement


def test_kappa_is_that_of_scikit_learn() -> None:
    ratings = np.random.default_rng(0).integers(1, 5, (40, 2))
    ratings[:20, 1] = ratings[:20, 0]
    result = rater_agreement(ratings.astype(float))
    assert result.kappa == pytest.approx(cohen_kappa_score(*ratings.T, weights="quadratic"))
    assert result.equal == pytest.approx((ratings[:, 0] == ratings[:, 1]).mean())
    assert result.leave_one_out == pytest.approx(result.pearson)


def test_kappa_of_equal_ratings_is_undefined() -> None:
    # The mean of these is not exactly 0.1.
    result = rater_agreement(np.full((7, 2), 0.1))
    assert result.equal == 1
    assert math.isnan(result.kappa)


def test_items_of_one_rater_do_not_count() -> None:
    ratings = np.array(
        [[1.0, 2.0, 1.0], [3.0, 3.0, math.nan], [4.0, math.nan, math.nan], [2.0, 1.0, 2.0]]
    )
    result = rater_agreement(ratings)
    assert result.count == 3
    # One of three items for the first pair, both for the second, none for the third.
    assert result.equal == pytest.approx((1 / 3 + 1 + 0) / 3)


def test_the_ceiling_is_what_simulated_raters_allow() -> None:
    random = np.random.default_rng(1)
    truth = random.normal(size=20_000)
    ratings = truth[:, None] + random.normal(size=(20_000, 3))
    result = rater_agreement(ratings)
    for raters in (1, 3):
        reached = np.corrcoef(truth, ratings[:, :raters].mean(axis=1))[0, 1]
        assert result.ceiling(raters) == pytest.approx(reached, abs=0.01)


def test_without_two_raters_there_is_no_agreement() -> None:
    result = rater_agreement(np.array([[1.0, math.nan], [math.nan, 2.0]]))
    assert result.count == 0
    assert math.isnan(result.equal)
    assert math.isnan(result.ceiling(2))
