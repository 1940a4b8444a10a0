from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from learnedgec.stats.raters import rater_agreement


def test_kappa_is_that_of_scikit_learn() -> None:
    ratings = np.random.default_rng(0).integers(1, 5, (40, 2))
    ratings[:20, 1] = ratings[:20, 0]
    found = rater_agreement(ratings.astype(float))
    assert found.kappa == pytest.approx(cohen_kappa_score(*ratings.T, weights="quadratic"))
    assert found.equal == pytest.approx((ratings[:, 0] == ratings[:, 1]).mean())
    assert found.leave_one_out == pytest.approx(found.pearson)


def test_kappa_of_equal_ratings_is_undefined() -> None:
    # The mean of these is not exactly 0.1.
    found = rater_agreement(np.full((7, 2), 0.1))
    assert found.equal == 1
    assert math.isnan(found.kappa)


def test_items_of_one_rater_do_not_count() -> None:
    ratings = np.array(
        [[1.0, 2.0, 1.0], [3.0, 3.0, math.nan], [4.0, math.nan, math.nan], [2.0, 1.0, 2.0]]
    )
    found = rater_agreement(ratings)
    assert found.count == 3
    # One of three items for the first pair, both for the second, none for the third.
    assert found.equal == pytest.approx((1 / 3 + 1 + 0) / 3)


def test_the_ceiling_is_what_simulated_raters_allow() -> None:
    random = np.random.default_rng(1)
    truth = random.normal(size=20_000)
    ratings = truth[:, None] + random.normal(size=(20_000, 3))
    found = rater_agreement(ratings)
    for raters in (1, 3):
        reached = np.corrcoef(truth, ratings[:, :raters].mean(axis=1))[0, 1]
        assert found.ceiling(raters) == pytest.approx(reached, abs=0.01)


def test_without_two_raters_there_is_no_agreement() -> None:
    found = rater_agreement(np.array([[1.0, math.nan], [math.nan, 2.0]]))
    assert found.count == 0
    assert math.isnan(found.equal)
    assert math.isnan(found.ceiling(2))
