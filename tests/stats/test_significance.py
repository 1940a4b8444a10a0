"""Tests between metrics: known values, exact enumeration, and their error under the null."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from learnedgec import Resampling
from learnedgec.stats.correlation import (
    Correlation,
    correlate,
    fisher_interval,
    partial,
    pearson,
)
from learnedgec.stats.resampling import interval, interval_of_correlation
from learnedgec.stats.significance import standardise, swap_test, williams


def test_williams_known_value() -> None:
    # The example of `r.test(103, .4, .5, .1)` in R's psych package: t = -0.89, two-sided p < .37.
    assert williams(0.5, 0.4, 0.1, 103) == pytest.approx(0.375, abs=5e-4)


def test_williams_is_two_sided() -> None:
    assert williams(0.9, 0.7, 0.6, 12) == pytest.approx(williams(0.7, 0.9, 0.6, 12))
    assert williams(0.9, 0.7, 0.6, 40) < williams(0.9, 0.7, 0.6, 12) < 1
    assert williams(0.8, 0.8, 0.5, 12) == williams(0.8, 0.8, 1.0, 12) == pytest.approx(1.0)
    assert np.isnan(williams(0.8, 0.7, 0.5, 3))
    assert np.isnan(williams(float("nan"), 0.7, 0.5, 12))


def quality(human: np.ndarray):  # type: ignore[no-untyped-def]
    return lambda scores: pearson(human, scores.mean(axis=-1))


def exact_swap_test(human: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    """The p-value over all 2^(S·N) swaps of cells."""
    first, second = standardise(first), standardise(second)
    measure = quality(human)
    observed = abs(measure(first[None])[0] - measure(second[None])[0])
    ahead = total = 0
    for bits in itertools.product((False, True), repeat=first.size):
        swap = np.array(bits).reshape(first.shape)
        mixed = np.where(swap, second, first), np.where(swap, first, second)
        ahead += abs(measure(mixed[0][None])[0] - measure(mixed[1][None])[0]) >= observed - 1e-12
        total += 1
    return ahead / total


def test_perm_both_approaches_the_exact_test() -> None:
    generator = np.random.default_rng(4)
    human = np.array([0.0, 1.0, 2.0, 3.0])
    first = human[:, None] + generator.normal(0, 1.0, (4, 3))
    second = human[:, None] + generator.normal(0, 2.5, (4, 3))
    p_value = swap_test(quality(human), first, second, resampling=Resampling(6000))
    assert p_value == pytest.approx(exact_swap_test(human, first, second), abs=0.025)


def test_perm_both_does_not_depend_on_scale() -> None:
    generator = np.random.default_rng(6)
    human = generator.normal(size=8)
    first, second = (human[:, None] + generator.normal(0, 3, (8, 20)) for _ in range(2))
    p_value = swap_test(quality(human), first, second, resampling=Resampling(500))
    assert p_value == swap_test(
        quality(human), 100 * first + 7, second / 50 - 3, resampling=Resampling(500)
    )


def test_a_constant_has_no_test() -> None:
    human = np.arange(4.0)
    scores = np.random.default_rng(0).normal(size=(4, 5))
    assert np.isnan(swap_test(quality(human), scores, np.ones((4, 5)), resampling=Resampling(10)))


def test_swapping_whole_systems_holds_where_metrics_favour_systems() -> None:
    # Two equally good metrics, each of which likes some systems: PERM-BOTH takes that for a difference.
    generator = np.random.default_rng(2)
    p_values = []
    for number in range(150):
        human = generator.normal(size=10)
        first, second = (
            human[:, None] + generator.normal(size=(10, 1)) + generator.normal(size=(10, 12))
            for _ in range(2)
        )
        tests = (
            swap_test(
                quality(human),
                first,
                second,
                swapped=swapped,
                resampling=Resampling(99, seed=number),
            )
            for swapped in ("outputs", "systems")
        )
        p_values.append([*tests])
    of_outputs, of_systems = np.mean(np.array(p_values) <= 0.05, axis=0)
    assert of_outputs > 0.3
    assert of_systems <= 0.08


def test_fisher_interval_equals_scipy() -> None:
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2, 9))
    expected = stats.pearsonr(x, y).confidence_interval(0.9)
    assert fisher_interval(float(pearson(x, y)), 9, 0.9) == pytest.approx(tuple(expected))
    assert fisher_interval(0.9, 4, controls=1) == (-1.0, 1.0)
    assert fisher_interval(1.0, 9) == (1.0, 1.0)
    assert np.isnan(fisher_interval(float("nan"), 9)).all()


def test_intervals_of_rank_correlations_by_hand() -> None:
    # One pair of 12 systems changes τ by 4/132.
    for kind, value, known in (("spearman", 0.8, 9), ("kendall", 0.5, 8)):
        low, high = fisher_interval(value, 12, kind=kind)  # type: ignore[arg-type]
        for end, sign in ((low, -1), (high, 1)):
            moved = value + sign * 4 / 132
            error = np.sqrt((1 + moved**2 / 2 if kind == "spearman" else 0.437) / known)
            assert end == pytest.approx(np.tanh(np.arctanh(moved) + sign * 1.959964 * error))
    low, high = fisher_interval(0.5, 12, kind="kendall")
    expected = ((1 + low) / 2, (1 + high) / 2)
    assert fisher_interval(0.75, 12, kind="pairwise-accuracy") == pytest.approx(expected)
    low, high = fisher_interval(1.0, 6, kind="kendall")
    assert -0.1 < low < 0.8
    assert high == 1.0


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
@pytest.mark.parametrize("controls", [0, 1])
def test_intervals_over_few_systems_hold(kind: Correlation, controls: int) -> None:
    assert fisher_interval(1.0, 2, kind=kind, controls=controls) == (-1.0, 1.0)
    assert fisher_interval(0.5, 3, kind=kind, controls=controls) == (-1.0, 1.0)
    random = np.random.default_rng(1)
    truth = {"pearson": 0.8, "spearman": 0.7859, "kendall": 0.5903}[kind]
    for size in (4, 6, 12):
        human = random.normal(size=(400, size))
        metric = 0.8 * human + 0.6 * random.normal(size=(400, size))
        # The control is not related to either, so that it changes nothing.
        unrelated = random.normal(size=(400, size))
        values = (
            partial(kind, human, metric, unrelated) if controls else correlate(kind, human, metric)
        )
        bounds = [fisher_interval(v, size, kind=kind, controls=controls) for v in values.tolist()]
        held = [low <= truth <= high for low, high in bounds if not np.isnan(low)]
        assert np.mean(held) >= 0.925


def test_a_resample_without_a_value_says_nothing() -> None:
    values = np.append(np.ones(95), [np.nan] * 5)
    assert interval(values, possible=(-1.0, 1.0)) == (-1.0, 1.0)
    assert interval(values[:-4], possible=(-1.0, 1.0)) == (1.0, 1.0)
    assert interval_of_correlation(1.0, values) == (-1.0, 1.0)
    assert interval_of_correlation(1.0, values, lowest=0.0) == (0.0, 1.0)
    assert interval_of_correlation(0.3, np.full(9, np.nan)) == (-1.0, 1.0)
    assert np.isnan(interval_of_correlation(np.nan, values)).all()


def test_interval_of_a_high_correlation_contains_it_and_holds() -> None:
    # A perfect metric: on samples of 100 sentences, r is about .95; resampled, it is lower.
    generator = np.random.default_rng(3)
    systems = generator.normal(size=12)
    scores = systems[:, None] + generator.normal(0, 3, (80, 2, 12, 100))
    observed = pearson(*np.moveaxis(scores.mean(axis=-1), 1, 0))
    usual = float(np.median(observed))
    held = {"percentiles": 0, "extended": 0}
    for (human, metric), value in zip(scores, observed, strict=True):
        drawn = generator.integers(0, 100, (200, 100))
        many = pearson(human[:, drawn].mean(axis=-1).T, metric[:, drawn].mean(axis=-1).T)
        low, high = interval_of_correlation(float(value), many)
        assert low <= value <= high <= 1
        held["extended"] += low <= usual <= high
        low, high = interval(many)
        held["percentiles"] += low <= usual <= high
    assert held["percentiles"] < 70
    assert held["extended"] >= 76


def test_interval_leaves_out_what_does_not_exist() -> None:
    values = np.append(np.arange(101.0), np.nan)
    assert interval(values, 0.9) == pytest.approx((5.0, 95.0))
    assert np.isnan(interval(np.array([np.nan]))).all()
