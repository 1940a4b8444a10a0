"""Correlations: scipy as the oracle, hand-made cases where it has none."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy import stats

from learnedgec import Resampling
from learnedgec.stats.correlation import (
    _mean_ranks,
    among_best,
    correlate,
    fisher_interval,
    kendall,
    leave_one_out,
    one_sided_p_values,
    pairwise_accuracy,
    partial,
    pearson,
    ranks,
    soft_pairwise_accuracy,
    spearman,
    windows,
)


def scores(rows: int, systems: int, *, ties: bool = False, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    if ties:
        return generator.integers(0, 4, (rows, systems)).astype(float)
    return generator.normal(size=(rows, systems))


@pytest.mark.parametrize("ties", [False, True])
def test_equal_scipy_for_many_at_once(ties: bool) -> None:
    x, y = scores(40, 9, ties=ties), scores(40, 9, ties=ties, seed=1)
    for ours, oracle in (
        (pearson, stats.pearsonr),
        (spearman, stats.spearmanr),
        (kendall, stats.kendalltau),
    ):
        expected = [oracle(a, b).statistic for a, b in zip(x, y, strict=True)]
        assert ours(x, y) == pytest.approx(expected, abs=1e-12)
        assert ours(x[0], y) == pytest.approx([oracle(x[0], b).statistic for b in y], abs=1e-12)


@pytest.mark.parametrize("shape", [(0,), (1,), (9,), (7, 4), (3, 2, 9)])
def test_ranks_are_those_of_scipy(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).integers(0, 4, shape).astype(float)
    assert _mean_ranks(values) == pytest.approx(stats.rankdata(values, axis=-1), abs=0)
    if values.size > 1:
        values.flat[0] = np.nan
        values.flat[1] = np.inf
        expected = stats.rankdata(values, axis=-1)
        np.testing.assert_array_equal(_mean_ranks(values), expected)


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_a_correlation_that_does_not_exist_is_nan(kind: Any) -> None:
    x = np.array([0.1, 0.1, 0.1, 0.1])
    assert np.isnan(correlate(kind, x, np.array([1.0, 2.0, 3.0, 4.0])))
    assert np.isnan(correlate(kind, np.array([1.0]), np.array([2.0])))
    human = np.array([[1.0, 2.0, np.nan], [1.0, 2.0, 3.0]])
    values = correlate(kind, human, np.array([1.0, 3.0, 2.0]))
    assert np.isnan(values).tolist() == [True, False]


def test_pairwise_accuracy_by_hand() -> None:
    # Pairs people decide: ab, ac, ad, bd, cd (bc is a tie). The metric has ab and cd right, ac tied.
    human = np.array([1.0, 2.0, 2.0, 3.0])
    metric = np.array([1.0, 2.0, 1.0, 0.5])
    decided = [(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)]
    right = sum((human[a] - human[b]) * (metric[a] - metric[b]) > 0 for a, b in decided)
    assert right == 1
    assert pairwise_accuracy(human, metric) == pytest.approx(right / len(decided))


def test_partial_is_the_correlation_of_residuals() -> None:
    human, metric, control = scores(3, 30, seed=4)
    metric, human = metric + control, human + 2 * control

    def residuals(y: np.ndarray) -> np.ndarray:
        slope, intercept = np.polyfit(control, y, 1)
        return y - slope * control - intercept

    expected = stats.pearsonr(residuals(human), residuals(metric)).statistic
    assert partial("pearson", human, metric, control) == pytest.approx(expected)
    ranks = [stats.rankdata(column) for column in (human, metric, control)]
    assert partial("spearman", human, metric, control) == pytest.approx(partial("pearson", *ranks))
    # Nothing is left of a metric that is the control.
    assert np.isnan(partial("pearson", human, metric, metric))
    assert np.isnan(partial("kendall", human, metric, 2 * metric + 1))


def exact_one_sided(differences: np.ndarray) -> float:
    """The p-value over all 2^N sign flips, ties half."""
    observed = differences.sum()
    above = 0.0
    for signs in itertools.product((1, -1), repeat=len(differences)):
        value = (np.array(signs) * differences).sum()
        above += 0.5 if abs(value - observed) < 1e-9 else value > observed
    return above / 2 ** len(differences)


def test_one_sided_p_values_approach_the_exact_test() -> None:
    differences = np.random.default_rng(2).integers(-2, 4, (11, 4)).astype(float)
    p_values = one_sided_p_values(differences, Resampling(20000))
    expected = [exact_one_sided(column) for column in differences.T]
    assert p_values == pytest.approx(expected, abs=0.015)


def test_soft_pairwise_accuracy_by_hand() -> None:
    assert soft_pairwise_accuracy(np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.5, 0.4])) == (
        pytest.approx(1 - (0.1 + 0.0 + 0.6) / 3)
    )


def test_windows_and_leave_one_out_equal_scipy() -> None:
    human, metric = scores(2, 12, seed=6)
    order = np.random.default_rng(0).permutation(12)
    expected = [
        stats.spearmanr(human[order][start : start + 8], metric[order][start : start + 8]).statistic
        for start in range(5)
    ]
    assert windows("spearman", np.stack([-human, human]), metric, 8, order)[1] == (
        pytest.approx(expected)
    )
    without = [
        stats.pearsonr(np.delete(human, out), np.delete(metric, out)).statistic for out in range(12)
    ]
    assert leave_one_out("pearson", human, metric) == pytest.approx(without)
    # Without one of three systems, two are left, which correlate with 1 or -1.
    for few in (1, 3):
        assert (
            np.isnan(leave_one_out("pearson", human[:few], metric[:few])).tolist() == [True] * few
        )


def test_correlation_among_the_best_equals_scipy() -> None:
    human, metric = scores(2, 12, seed=6)
    order = np.argsort(-human)
    expected = [
        stats.pearsonr(human[order][:count], metric[order][:count]).statistic
        for count in range(4, 13)
    ]
    assert among_best("pearson", human, metric, order) == pytest.approx(expected)
    assert among_best("pearson", np.stack([human] * 2), metric, order).shape == (2, 9)
    assert among_best("pearson", human[:3], metric[:3], np.argsort(-human[:3])).shape == (0,)


def test_ranks_give_a_tie_its_best_rank() -> None:
    assert ranks(np.array([0.2, 0.9, 0.2, 0.1])).tolist() == [2, 1, 2, 4]


@pytest.mark.parametrize(
    ("kind", "variance"),
    [
        ("pearson", lambda _: 1 / 9),
        ("spearman", lambda moved: (1 + moved**2 / 2) / 9),
        ("kendall", lambda _: 0.437 / 8),
    ],
)
def test_intervals_of_correlations_as_their_sources_give_them(kind: Any, variance: Any) -> None:
    # One pair of twelve systems changes a rank correlation by 4/132 (Bonett and Wright 2000).
    step = 0.0 if kind == "pearson" else 4 / 132
    expected = [
        np.tanh(np.arctanh(moved) + sign * 1.959964 * np.sqrt(variance(moved)))
        for sign in (-1, 1)
        for moved in [0.7 + sign * step]
    ]
    assert fisher_interval(0.7, 12, kind=kind) == pytest.approx(expected, abs=1e-6)
