"""Bootstrap intervals against a plain loop over the resamples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from learnedgec import Resampling
from learnedgec.errors import InputError
from learnedgec.stats.resampling import (
    Bootstrap,
    count_blocks,
    interval_of_share,
    interval_over_sentences,
    intervals_of_shares,
    means_and_intervals,
    multiplicities,
    resample,
    resample_blocks,
    resample_groups,
    widened,
)


def test_ratio_and_mean_as_a_plain_loop() -> None:
    random = np.random.default_rng(5)
    bootstrap = Bootstrap(40, Resampling(50, 0.8, seed=2))
    above, below = random.integers(0, 4, (2, 40)).astype(float)
    quotients = [above[sample].sum() / below[sample].sum() for sample in bootstrap.samples]
    estimate = bootstrap.ratio(above, below)
    expected = (above.sum() / below.sum(), *np.percentile(quotients, [10, 90]))
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx(expected)
    means = [np.mean(above[sample]) for sample in bootstrap.samples]
    estimate = bootstrap.mean(above)
    expected = (np.mean(above), *np.percentile(means, [10, 90]))
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx(expected)
    assert bootstrap.sums(above) == pytest.approx([40 * mean for mean in means])


def test_few_cases_have_wider_intervals_and_fewer_than_six_none() -> None:
    bootstrap = Bootstrap(12, Resampling(500))
    values = np.arange(12.0)
    means = [np.mean(values[sample]) for sample in bootstrap.samples]
    level = widened(0.95, 12)
    estimate = bootstrap.mean(values)
    expected = (5.5, *np.percentile(means, [50 - 50 * level, 50 + 50 * level]))
    assert (estimate.value, estimate.low, estimate.high) == pytest.approx(expected)
    six = Bootstrap(6).mean(values[:6])
    assert six.low < 2.5 < six.high
    for estimate in (Bootstrap(5).mean(values[:5]), bootstrap.mean(np.ones(12))):
        assert np.isnan([estimate.low, estimate.high]).all()


@pytest.mark.parametrize("size", [6, 40])
def test_shares_of_all_and_of_none_have_a_width(size: int) -> None:
    bootstrap, rows = Bootstrap(size, Resampling(50)), np.full(size, 3)
    cases = np.repeat(np.arange(size), 3)
    # Wilson's interval of n of n is [n / (n + t²), 1], and cases are as many as count.
    reach = stats.t.ppf(0.975, size - 1) ** 2 / (size + stats.t.ppf(0.975, size - 1) ** 2)
    for hits in (np.zeros(size), np.ones(size)):
        ends = (0.0, reach) if not hits.any() else (1 - reach, 1.0)
        for estimate in (
            bootstrap.share(hits),
            bootstrap.share(3 * hits, rows),
            bootstrap.mean_share(3 * hits, rows),
            bootstrap.share_of_rows(hits[cases], cases),
        ):
            found = (estimate.value, estimate.low, estimate.high)
            assert found == pytest.approx((hits[0], *ends))


def test_a_share_has_wilsons_interval_of_as_many_rows_as_vary_like_it() -> None:
    random = np.random.default_rng(3)
    bootstrap, rows = Bootstrap(60, Resampling(400)), random.integers(1, 5, 60)
    hits = random.binomial(rows, random.beta(1, 1, 60))
    for estimate, shares in (
        (bootstrap.share(hits, rows), [hits[s].sum() / rows[s].sum() for s in bootstrap.samples]),
        (bootstrap.mean_share(hits, rows), [np.mean(hits[s] / rows[s]) for s in bootstrap.samples]),
    ):
        share, variance = estimate.value, np.var(shares) * 60 / 59
        effective = share * (1 - share) / variance
        assert 60 < effective < rows.sum()
        # The ends are those shares from which the observed one is t standard errors away.
        for end in (estimate.low, estimate.high):
            error = np.sqrt(end * (1 - end) / effective)
            assert abs(share - end) / error == pytest.approx(stats.t.ppf(0.975, 59))
    cases = np.repeat(np.arange(60), rows)
    marks = np.concatenate([np.arange(count) < hit for count, hit in zip(rows, hits, strict=True)])
    assert bootstrap.share_of_rows(marks, cases) == bootstrap.share(hits, rows)


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


def test_blocks_are_counted_before_they_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learnedgec.stats.resampling._DRAWS", 12)
    for resampling in (Resampling(50), Resampling(50, documents=["a", "a", "b", "c"])):
        assert count_blocks(4, resampling) == len(list(resample_blocks(4, resampling)))


def test_nothing_to_divide_by_has_no_value() -> None:
    bootstrap = Bootstrap(2, Resampling(3))
    for estimate in (
        bootstrap.ratio(np.ones(2), np.zeros(2)),
        bootstrap.share(np.zeros(2), np.zeros(2)),
    ):
        assert np.isnan([estimate.value, estimate.low, estimate.high]).all()


def test_resamples_of_groups_keep_the_rows_of_a_group_together() -> None:
    groups = ["a", "b", "a", "c", "b", "a"]
    drawn = [rows.tolist() for rows in resample_groups(groups, Resampling(200, seed=3))]
    assert {rows.count(0) for rows in drawn} == {0, 1, 2, 3}
    for rows in drawn:
        assert rows.count(0) == rows.count(2) == rows.count(5)
        assert rows.count(1) == rows.count(4)
        assert rows.count(0) + rows.count(1) + rows.count(3) == 3


def test_one_case_has_the_whole_level() -> None:
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


@pytest.mark.parametrize(("won", "rare"), [(9, True), (10, False), (30, False), (31, True)])
def test_fewer_than_ten_wins_or_losses_are_rare(won: int, rare: bool) -> None:
    resampled = np.linspace(0.1, 0.9, 101)
    share = won / 40
    (found,) = intervals_of_shares(np.array([share]), resampled[:, None], 40)
    wilson = interval_of_share(share, resampled, 40, 40)
    percentiles = (0.12, 0.88)
    assert tuple(found) == pytest.approx(wilson if rare else percentiles)
    assert wilson != pytest.approx(percentiles, abs=0.01)


def test_a_share_that_hardly_varies_has_no_more_rows_than_there_are() -> None:
    rows, hits = np.full(40, 10), np.where(np.arange(40) < 20, 5, 6)
    found = Bootstrap(40).share(hits, rows)
    for end in (found.low, found.high):
        error = np.sqrt(end * (1 - end) / 400)
        assert abs(found.value - end) / error == pytest.approx(stats.t.ppf(0.975, 39))
