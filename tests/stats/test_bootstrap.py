"""Bootstrap intervals against a plain loop over the resamples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from learnedgec import Resampling
from learnedgec.errors import InputError
from learnedgec.stats.resampling import (
    Bootstrap,
    interval_over_groups,
    interval_over_sentences,
    intervals_of_shares,
    means_and_intervals,
    multiplicities,
    resample,
    resample_blocks,
    resample_groups,
    widened,
)


def test_ratio_mean_and_share_as_a_plain_loop() -> None:
    bootstrap = Bootstrap(4, Resampling(50, 0.8, seed=2))
    above, below = np.array([1.0, 0.0, 2.0, 3.0]), np.array([1.0, 2.0, 0.0, 4.0])
    quotients = [
        sum(above[n] for n in sample) / sum(below[n] for n in sample)
        for sample in bootstrap.samples
        if any(below[n] for n in sample)
    ]
    estimate = bootstrap.ratio(above, below)
    assert estimate.value == pytest.approx(6 / 7)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(np.percentile(quotients, [10, 90])))
    means = [np.mean(above[sample]) for sample in bootstrap.samples]
    estimate = bootstrap.mean(above)
    expected = (1.5, *np.percentile(means, [10, 90]))
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx(expected)
    assert bootstrap.sums(above) == pytest.approx([4 * mean for mean in means])
    values, cases = np.array([True, False, True, True]), np.array([0, 0, 3, 3])
    shares = bootstrap.share(values, cases)
    expected = bootstrap.ratio(np.array([1.0, 0, 0, 2]), np.array([2.0, 0, 0, 2]))
    assert (shares.value, shares.low, shares.high) == pytest.approx(
        (3 / 4, expected.low, expected.high)
    )


@pytest.mark.parametrize("bad", [{"resamples": 0}, {"level": 1.0}, {"level": 0.0}])
def test_bad_resampling_is_refused(bad: dict[str, float]) -> None:
    with pytest.raises(InputError, match="; give "):
        Resampling(**bad)  # type: ignore[arg-type]


def test_blocks_are_the_rows_of_all_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = resample(7, Resampling(50, seed=3))
    assert whole.shape == (50, 7)
    assert set(np.unique(whole)) == set(range(7))
    monkeypatch.setattr("learnedgec.stats.resampling._DRAWS", 40)
    blocks = list(resample_blocks(7, Resampling(50, seed=3)))
    assert [len(block) for block in blocks] == [5] * 10
    assert (np.concatenate(blocks) == whole).all()


def test_nothing_to_divide_by_has_no_value() -> None:
    estimate = Bootstrap(2, Resampling(3)).ratio(np.ones(2), np.zeros(2))
    assert np.isnan([estimate.value, estimate.low, estimate.high]).all()


def test_resamples_of_groups_keep_the_rows_of_a_group_together() -> None:
    groups = ["a", "b", "a", "c", "b", "a"]
    drawn = [rows.tolist() for rows in resample_groups(groups, Resampling(200, seed=3))]
    assert {rows.count(0) for rows in drawn} == {0, 1, 2, 3}
    for rows in drawn:
        assert rows.count(0) == rows.count(2) == rows.count(5)
        assert rows.count(1) == rows.count(4)
        assert rows.count(0) + rows.count(1) + rows.count(3) == 3


def test_interval_over_groups_holds_where_rows_of_a_group_are_alike() -> None:
    random = np.random.default_rng(0)
    groups = np.repeat(np.arange(13), 20).tolist()
    held = {"groups": 0, "rows": 0}
    for _ in range(200):
        values = np.repeat(random.normal(size=13), 20) + random.normal(0, 0.5, 260)
        for name, of in (("groups", groups), ("rows", list(range(260)))):
            low, high = interval_over_groups(
                lambda rows, values=values: values[rows].mean(), of, Resampling(100)
            )
            held[name] += low <= 0 <= high
    assert held["groups"] >= 180
    assert held["rows"] < 120


def test_one_group_has_no_interval() -> None:
    assert np.isnan(interval_over_groups(lambda rows: 1.0, ["a", "a"])).all()
    assert widened(0.95, 1) == 1.0


def test_few_sentences_and_equal_resamples_have_no_interval() -> None:
    values = np.linspace(0.1, 0.3, 101)
    assert np.isnan(interval_over_sentences(values, [5])).all()
    assert np.isnan(interval_over_sentences(np.full(101, 0.1919), [40])).all()
    assert interval_over_sentences(values, [40]) == pytest.approx((0.105, 0.295))


def test_parts_of_few_sentences_widen_the_level() -> None:
    # Student's quantile for 10 degrees of freedom, and √(3/2) for three sentences in each part.
    reach = stats.t.ppf(0.975, 10) * np.sqrt(1.5)
    assert widened(0.95, 3, 3, 3, 3, 3) == pytest.approx(1 - 2 * stats.norm.sf(reach))
    assert widened(0.95, 1, 1, 1) == 1


def test_reach_of_an_accuracy_stays_within_0_and_1() -> None:
    _, bounds = means_and_intervals(np.array([[0.0], [0.2], [0.5]]), lowest=0.0)
    share, total = 0.7 / 3, 0.7 / 3 * (1 - 0.7 / 3) / np.var([0.0, 0.2, 0.5], ddof=1) - 1
    expected = stats.beta.ppf([0.025, 0.975], share * total, (1 - share) * total)
    assert bounds[0] == pytest.approx(expected)
    assert 0 <= bounds[0, 0] < bounds[0, 1] <= 1


@pytest.mark.parametrize("sentences", [6, 18, 40])
def test_intervals_of_shares_hold_every_true_share(sentences: int) -> None:
    draws = multiplicities(resample(sentences, Resampling(500)), sentences)
    won = np.arange(sentences)[:, None] < np.arange(sentences + 1)
    shares, resampled = won.mean(axis=0), draws @ won / sentences
    low, high = intervals_of_shares(shares, resampled, sentences).T
    # Where nothing or all was won, the end is near the exact one, .025 = (1 - end)^sentences.
    exact = 1 - 0.025 ** (1 / sentences)
    assert (low[0], high[-1]) == pytest.approx((0, 1))
    assert exact < high[0] < 1.2 * exact
    assert low[-1] == pytest.approx(1 - high[0])
    for truth in (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.9, 0.99):
        chances = stats.binom.pmf(np.arange(sentences + 1), sentences, truth)
        assert chances[(low <= truth) & (truth <= high)].sum() > 0.92


def test_intervals_of_shares_are_percentiles_where_wins_and_losses_are_many() -> None:
    resampled = np.linspace(0.3, 0.7, 101)[:, None]
    ends = intervals_of_shares(np.array([0.5]), resampled, 40)
    assert ends[0] == pytest.approx((0.31, 0.69))
    # At most 30 sentences widen the level.
    few = intervals_of_shares(np.array([0.5]), resampled, 30)
    assert few[0] == pytest.approx(
        np.quantile(resampled, [(1 - widened(0.95, 30)) / 2, (1 + widened(0.95, 30)) / 2])
    )
