"""Tests between metrics: how often they find a difference where there is none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from learnedgec.analysis.meta.metric_tests import Candidate, MetricTest, compare_metrics
from learnedgec.analysis.meta.protocol import Protocol
from learnedgec.stats.correlation import pearson


def equally_good(seed: int, count: int) -> list[MetricTest]:
    """Return the tests between metrics whose scores are ratings plus noise of one size."""
    random = np.random.default_rng(seed)
    ratings = random.normal(size=(6, 12))
    shared: Any = SimpleNamespace(
        protocol=Protocol(resamples=59, seed=seed),
        human=SimpleNamespace(scores=ratings.mean(axis=1), ratings=ratings),
        comparisons=None,
    )
    metrics = []
    for number in range(count):
        sentences = ratings + random.normal(size=ratings.shape)
        scores = sentences.mean(axis=1)
        values = {
            "pearson": float(pearson(shared.human.scores, scores)),
            "segment_pearson": float(pearson(ratings.ravel(), sentences.ravel())),
        }
        metrics.append(Candidate(f"metric {number}", scores, sentences, values))
    return compare_metrics(shared, metrics)


def test_equally_good_metrics_seldom_differ() -> None:
    # Two metrics: no test has anything to correct for, and each finds a difference in 5 % of 400 pairs.
    tests = [test for seed in range(400) for test in equally_good(seed, 2)]
    for name in ("perm_both", "perm_systems"):
        for measure in ("pearson", "segment_pearson"):
            p_values = [getattr(test, name) for test in tests if test.measure == measure]
            assert 0.01 < np.mean(np.array(p_values) <= 0.05) < 0.08, (name, measure)
    p_values = [test.williams for test in tests if test.measure == "pearson"]
    assert 0 < np.mean(np.array(p_values) <= 0.05) < 0.08


def test_no_difference_among_equally_good_metrics_is_found_more_often_than_one() -> None:
    families = [
        [test for test in equally_good(seed, 4) if test.measure == "pearson"] for seed in range(100)
    ]
    assert all(len(tests) == 6 for tests in families)
    alone, corrected = (
        np.mean([min(getattr(test, name) for test in tests) <= 0.05 for tests in families])
        for name in ("perm_both", "perm_both_adjusted")
    )
    assert alone > 0.12
    assert corrected <= 0.08
