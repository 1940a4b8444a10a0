"""Tests between metrics: known values, exact enumeration, and their error under the null."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from learnedgec.errors import InputError
from learnedgec.stats.correlation import pearson
from learnedgec.stats.resampling import interval
from learnedgec.stats.significance import perm_both, standardise, williams


def test_williams_known_value() -> None:
    # The example of `r.test(103, .4, .5, .1)` in R's psych package: t = -0.89, two-sided p < .37.
    assert 2 * williams(0.5, 0.4, 0.1, 103) == pytest.approx(0.375, abs=5e-4)


def test_williams_is_one_sided_and_symmetric() -> None:
    assert williams(0.9, 0.7, 0.6, 12) + williams(0.7, 0.9, 0.6, 12) == pytest.approx(1.0)
    assert williams(0.8, 0.8, 0.5, 12) == pytest.approx(0.5)
    assert williams(0.9, 0.7, 0.6, 40) < williams(0.9, 0.7, 0.6, 12) < 0.5


def test_williams_of_one_metric_twice_and_of_nothing() -> None:
    assert williams(0.8, 0.8, 1.0, 12) == pytest.approx(0.5)
    assert np.isnan(williams(0.8, 0.7, 0.5, 3))
    assert np.isnan(williams(float("nan"), 0.7, 0.5, 12))


def test_williams_keeps_its_level() -> None:
    # Two equally good metrics: p is uniform, so a share of .1 lies below .1.
    generator = np.random.default_rng(1)
    human = generator.normal(size=(3000, 12))
    first, second = (human + generator.normal(size=human.shape) for _ in range(2))
    r_first, r_second, between = (
        pearson(human, first),
        pearson(human, second),
        pearson(first, second),
    )
    p_values = [williams(*each, 12) for each in zip(r_first, r_second, between, strict=True)]
    assert np.mean(np.array(p_values) < 0.1) == pytest.approx(0.1, abs=0.03)


def quality(human: np.ndarray):  # type: ignore[no-untyped-def]
    return lambda scores: pearson(human, scores.mean(axis=-1))


def exact_perm_both(human: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    """The p-value over all 2^(S·N) swaps of cells."""
    first, second = standardise(first), standardise(second)
    measure = quality(human)
    observed = measure(first[None])[0] - measure(second[None])[0]
    ahead = total = 0
    for bits in itertools.product((False, True), repeat=first.size):
        swap = np.array(bits).reshape(first.shape)
        mixed = np.where(swap, second, first), np.where(swap, first, second)
        ahead += measure(mixed[0][None])[0] - measure(mixed[1][None])[0] >= observed - 1e-12
        total += 1
    return ahead / total


def test_perm_both_approaches_the_exact_test() -> None:
    generator = np.random.default_rng(4)
    human = np.array([0.0, 1.0, 2.0, 3.0])
    first = human[:, None] + generator.normal(0, 1.0, (4, 3))
    second = human[:, None] + generator.normal(0, 2.5, (4, 3))
    found = perm_both(quality(human), first, second, count=6000)
    assert found == pytest.approx(exact_perm_both(human, first, second), abs=0.025)


def test_perm_both_tells_a_good_metric_from_noise() -> None:
    generator = np.random.default_rng(5)
    human = generator.normal(size=10)
    good = human[:, None] + generator.normal(0, 1, (10, 60))
    noise = generator.normal(0, 1, (10, 60))
    assert perm_both(quality(human), good, noise, count=199) == pytest.approx(1 / 200)
    assert perm_both(quality(human), noise, good, count=199) == 1.0
    assert perm_both(quality(human), good, good, count=199) == 1.0


def test_perm_both_does_not_depend_on_scale() -> None:
    generator = np.random.default_rng(6)
    human = generator.normal(size=8)
    first, second = (human[:, None] + generator.normal(0, 3, (8, 20)) for _ in range(2))
    found = perm_both(quality(human), first, second, count=500)
    assert found == perm_both(quality(human), 100 * first + 7, second / 50 - 3, count=500)


def test_perm_both_needs_the_same_outputs() -> None:
    with pytest.raises(InputError, match="same outputs"):
        perm_both(quality(np.arange(2.0)), np.zeros((2, 3)), np.zeros((2, 4)))


def test_a_constant_has_no_test() -> None:
    human = np.arange(4.0)
    scores = np.random.default_rng(0).normal(size=(4, 5))
    assert np.isnan(perm_both(quality(human), scores, np.ones((4, 5)), count=10))


def test_interval_leaves_out_what_does_not_exist() -> None:
    values = np.append(np.arange(101.0), np.nan)
    assert interval(values, 0.9) == pytest.approx((5.0, 95.0))
    assert np.isnan(interval(np.array([np.nan]))).all()
