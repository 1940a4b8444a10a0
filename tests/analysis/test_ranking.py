"""Aggregations, significance, clusters and rankings of systems."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from embedded import Sample
from scipy import stats

from learnedgec import Resampling, rank
from learnedgec.analysis.aggregation import (
    differences_after_swaps,
    expected_wins,
    resampled_system_scores,
    sentence_intervals,
    system_scores,
    system_scores_of_resamples,
)
from learnedgec.analysis.conclusions import used_tests
from learnedgec.analysis.ranking import SystemRanking, clusters, describe_p_value, rank_systems
from learnedgec.errors import InputError, UnknownNameError
from learnedgec.metrics.contract import Metric, Statistics
from learnedgec.metrics.registry import load_metric
from learnedgec.scoring import bind_one
from learnedgec.stats.resampling import intervals, resample, widened
from learnedgec.stats.significance import (
    far_p_value,
    paired_bootstrap,
    permutation_test,
    sign_flips,
)


def of_sample(metric: Metric, sample: Sample) -> dict[str, Statistics]:
    references = sample.references if metric.needs_references else None
    return bind_one(metric).statistics(sample.sources, sample.systems, references)


@pytest.mark.parametrize(
    ("wins", "expected"),
    [
        # a: 2/2 against b, 1/2 against c; b: 0, 0; c: 1/2, 2/2.
        ([[0, 2, 1], [0, 0, 0], [1, 2, 0]], [0.75, 0.0, 0.75]),
        # An opponent that was neither beaten nor lost to counts 0.
        ([[0, 0, 4], [0, 0, 1], [0, 3, 0]], [0.5, 0.125, 0.375]),
    ],
)
def test_expected_wins_by_hand(wins: list[list[float]], expected: list[float]) -> None:
    assert expected_wins(np.array(wins, float)) == pytest.approx(expected)


@pytest.mark.parametrize("by", ["mean", "expected-wins", "trueskill-as-listed"])
def test_resamples_equal_scores_of_the_resampled_sentences(by: str, sample: Sample) -> None:
    metric = load_metric("edit-count")
    statistics = list(of_sample(metric, sample).values())
    samples = resample(len(sample.sources), Resampling(5, seed=2))
    many = system_scores_of_resamples(metric, statistics, samples, by)  # type: ignore[arg-type]
    assert many.shape == (5, len(statistics))
    for row, drawn in zip(many, samples, strict=True):
        taken = [arrays.take(drawn) for arrays in statistics]
        expected = system_scores(metric, taken, by)  # type: ignore[arg-type]
        assert row == pytest.approx(expected, abs=1e-6)


def test_unknown_aggregation_and_single_system_are_refused(sample: Sample) -> None:
    metric = load_metric("length")
    statistics = list(of_sample(metric, sample).values())
    with pytest.raises(UnknownNameError, match="did you mean 'mean'"):
        system_scores(metric, statistics, "median")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="only 1 was given"):
        system_scores(metric, statistics[:1], "trueskill")


@pytest.mark.parametrize("by", ["mean", "expected-wins"])
def test_blocks_of_resamples_change_nothing(
    by: str, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = load_metric("gleu")
    rows, resampling = list(of_sample(metric, sample).values()), Resampling(40, seed=2)
    whole = resampled_system_scores(metric, rows, resampling, by)  # type: ignore[arg-type]
    samples = resample(72, resampling)
    assert (whole == system_scores_of_resamples(metric, rows, samples, by)).all()  # type: ignore[arg-type]
    monkeypatch.setattr("learnedgec.stats.resampling._DRAWS", 7 * 72)
    assert (whole == resampled_system_scores(metric, rows, resampling, by)).all()  # type: ignore[arg-type]


def test_paired_bootstrap_by_hand() -> None:
    # Centred: -0.2, 0.0, 0.2, 0.1, -0.1 against an observed 0.15: two of five are as far out.
    differences = np.array([0.0, 0.2, 0.4, 0.3, 0.1])
    assert paired_bootstrap(0.15, differences) == pytest.approx((2 + 1) / (5 + 1))
    assert paired_bootstrap(0.0, differences) == 1.0


def exact_permutation(first: np.ndarray, second: np.ndarray) -> float:
    """Two-sided p-value over all 2^N swaps."""
    observed = abs(first.mean() - second.mean())
    extreme = 0
    for signs in itertools.product((1, -1), repeat=len(first)):
        extreme += abs((np.array(signs) * (first - second)).mean()) >= observed - 1e-12
    return extreme / 2 ** len(first)


@pytest.mark.parametrize("size", [4, 10, 12])
def test_paired_permutation_is_exact_for_few_sentences_and_close_for_more(size: int) -> None:
    generator = np.random.default_rng(5)
    first, second = generator.normal(0.4, 1, size), generator.normal(0, 1, size)
    # Sentences that do not differ change nothing.
    first, second = (np.append(scores, np.ones(90)) for scores in (first, second))
    both = [Statistics({"score": first}), Statistics({"score": second})]
    swapped = differences_after_swaps(load_metric("length"), both, resampling=Resampling(4000))
    p_value, test = permutation_test(swapped, size, enough=True)
    assert test == ("exact-permutation" if size <= 10 else "paired-permutation")
    exact = exact_permutation(first[:size], second[:size])
    assert p_value == pytest.approx(exact, abs=1e-12 if size <= 10 else 0.03)


def test_paired_permutation_recomputes_corpus_scores(sample: Sample) -> None:
    metric = load_metric("gleu(iterations=1)")
    statistics = of_sample(metric, sample)
    strong, weak = statistics["strong"], statistics["weak"]
    apart, same = (
        differences_after_swaps(metric, [strong, other], resampling=Resampling(99))
        for other in (weak, strong)
    )
    assert sign_flips(apart, 72) == pytest.approx(1 / 100)
    assert sign_flips(same, 0) == 1.0


@pytest.mark.parametrize("by", ["expected-wins", "trueskill"])
def test_few_sentences_are_permuted_whatever_the_aggregation(by: str) -> None:
    scores = {"a": np.full(4, 3.0), "b": np.full(4, 2.0), "c": np.full(4, 1.0)}
    statistics = {name: Statistics({"score": values}) for name, values in scores.items()}
    ranking = rank_systems(load_metric("length"), statistics, by=by)  # type: ignore[arg-type]
    assert ranking.p == pytest.approx(np.where(np.eye(3), 1.0, 2 / 2**4))
    assert used_tests([ranking]) == "exact paired permutation"
    assert ranking.too_few == [
        "4 sentences are too few for any difference to be significant: give 7 or more."
    ]


def test_equal_systems_of_few_sentences_seldom_differ() -> None:
    random = np.random.default_rng(6)
    found = []
    for seed in range(200):
        scores = random.normal(size=(2, 8))
        statistics = {f"s{n}": Statistics({"score": row}) for n, row in enumerate(scores)}
        ranking = rank_systems(
            load_metric("length"), statistics, resampling=Resampling(100, seed=seed)
        )
        found.append(ranking.better.any())
    assert np.mean(found) <= 0.08


def test_sentences_without_a_score_are_left_out_of_all_systems() -> None:
    random = np.random.default_rng(7)
    scores = random.normal(size=(2, 60)) + np.array([[0.5], [0.0]])
    holed = scores.copy()
    holed[0, :5], holed[1, 3:9] = np.nan, np.nan
    metric = load_metric("length")

    def ranked(rows: np.ndarray) -> SystemRanking:
        names = ("a", "b", "c")[: len(rows)]
        statistics = {n: Statistics({"score": row}) for n, row in zip(names, rows, strict=True)}
        return rank_systems(metric, statistics, resampling=Resampling(200))

    expected = ranked(scores[:, 9:])
    with pytest.warns(UserWarning, match="9 of 60 sentences have no score for some system"):
        ranking = ranked(holed)
    assert ranking.sentences == 51
    assert ranking.scores == pytest.approx(expected.scores)
    assert ranking.p == pytest.approx(expected.p)
    # A system without any score has no result, and takes nothing from the others.
    ranking = ranked(np.vstack([scores[:, 9:], np.full(51, np.nan)]))
    assert ranking.scores == pytest.approx([*expected.scores, np.nan], nan_ok=True)
    assert ranking.p[0, 1] == pytest.approx(expected.p[0, 1])
    assert np.isnan(ranking.p[2, :2]).all()
    assert ranking.order[-1] == 2
    assert not ranking.better[:, 2].any()
    assert not ranking.better[2].any()
    with pytest.raises(InputError, match="no sentence a score for every system"):
        ranked(np.array([[1.0, np.nan], [np.nan, 1.0]]))


def test_clusters_break_where_all_above_are_better_than_all_below() -> None:
    scores = np.array([1.0, 5.0, 4.0, 0.5])
    better = np.zeros((4, 4), dtype=bool)
    better[1, [0, 3]] = better[2, [0, 3]] = True
    assert clusters(scores, better).tolist() == [2, 1, 1, 2]
    # One pair that cannot be told apart keeps all together.
    better[2, 0] = False
    assert clusters(scores, better).tolist() == [1, 1, 1, 1]
    better[1, 2] = True
    assert clusters(scores, better).tolist() == [2, 1, 2, 2]


def test_clusters_ranks_and_beats_follow_from_the_same_tests() -> None:
    # Neighbours differ by a sixth of a deviation: with 400 sentences uncorrected tests would part them.
    random = np.random.default_rng(1)
    noise = random.normal(size=(8, 400))
    scores = {f"s{n}": Statistics({"score": n / 6 + noise[n]}) for n in range(8)}
    ranking = rank_systems(load_metric("length"), scores)
    assert 1 < ranking.cluster.max() < 8
    assert ranking.ranges[ranking.order[0], 0] == 1
    assert ranking.ranges[ranking.order[-1], 1] == 8
    for first, other in itertools.permutations(range(8), 2):
        beaten = ranking.systems[other] in ranking.beaten(first)
        assert beaten or ranking.cluster[first] >= ranking.cluster[other]
        assert beaten or ranking.ranges[first, 1] >= ranking.ranges[other, 0]


def test_far_pairs_of_many_systems_are_tested_in_closed_form() -> None:
    random = np.random.default_rng(8)
    noise = random.normal(size=(12, 100))
    scores = {f"s{n}": Statistics({"score": n / 6 + row}) for n, row in enumerate(noise)}
    few, many = (
        rank_systems(load_metric("length"), scores, resampling=Resampling(resamples))
        for resamples in (300, 66 * 100 + 100)
    )
    assert used_tests([many]) == "paired bootstrap"
    assert set(few.tests_run) == {"paired-bootstrap", "paired-bootstrap-tail"}
    assert "|test:paired-bootstrap+paired-bootstrap-tail|resamples:300|" in few.signature
    for first, other in itertools.combinations(range(12), 2):
        observed = few.scores[first] - few.scores[other]
        drawn = few.resampled[:, first] - few.resampled[:, other]
        share = paired_bootstrap(observed, drawn)
        if few.tests[first, other] == "paired-bootstrap":
            assert few.p[first, other] == share > 10 / 301
        else:
            # The deviation after swaps is that of the mean of the terms with random signs.
            swapped = (
                np.sqrt(((noise[first] - noise[other] + (first - other) / 6) ** 2).sum()) / 100
            )
            by_normal = 2 * stats.norm.sf(abs(observed) / swapped)
            assert share <= 10 / 301
            assert np.log(few.p[first, other]) == pytest.approx(np.log(by_normal), rel=0.25)
    # The share of 300 resamples can prove no difference among 66 pairs, and the closed form does.
    assert few.better[11, 0]
    assert few.better.sum() == pytest.approx(many.better.sum(), abs=3)


@pytest.mark.parametrize("size", [12, 16])
def test_the_tail_of_few_sentences_is_no_lower_than_all_swaps(size: int) -> None:
    random = np.random.default_rng(9)
    for _ in range(5):
        differences = np.abs(random.normal(size=size)) * np.append(-1, np.ones(size - 1))
        flips = 1 - 2.0 * ((np.arange(2**size)[:, None] >> np.arange(size)) % 2)
        every = flips @ differences
        exact = (np.abs(every) >= abs(every[0]) - 1e-12).mean()
        drawn = random.choice(every, 300)
        p, test = permutation_test(np.append(every[0], drawn), size, enough=False)
        if test == "paired-permutation-tail":
            assert 0.7 * exact < p < 10 * exact + 0.005
    assert test == "paired-permutation-tail"


def test_no_p_value_of_swaps_is_below_that_of_two_swaps() -> None:
    # Nothing is as far out as no swap of 11 equal differences, except for the swap of all of them.
    never = np.append(11.0, np.full(1000, 11**0.5))
    assert far_p_value(11.0, never[1:]) < 2**-10
    assert permutation_test(never, 11, enough=False) == (2**-10, "paired-permutation-tail")
    assert sign_flips(np.append(12.0, np.zeros(5000)), 12) == 2**-11


def test_intervals_of_few_sentences_are_widened() -> None:
    drawn = np.random.default_rng(0).normal(size=(500, 2))
    assert (sentence_intervals(drawn, 20, 0.95) == intervals(drawn, widened(0.95, 20))).all()
    assert (sentence_intervals(drawn, 31, 0.95) == intervals(drawn, 0.95)).all()


def test_only_the_lowest_share_of_draws_is_a_bound() -> None:
    draws = Resampling(1000)
    assert describe_p_value(1 / 1001, 1 / 1001, "paired-bootstrap", draws) == "p ≤ .001"
    assert describe_p_value(2 / 1001, 2 / 1001, "paired-bootstrap", draws) == "p = .002"
    assert describe_p_value(1 / 1001, 1 / 1001, "paired-bootstrap-tail", draws) == "p = .001"


def test_a_difference_that_all_sentences_share_has_a_tail() -> None:
    assert far_p_value(0.5, np.full(1000, 0.5), 36) == pytest.approx(2 * stats.t.sf(6, 999))
    assert far_p_value(0.0, np.zeros(10), 36) == 1.0


@pytest.mark.parametrize("by", ["mean", "expected-wins", "trueskill"])
def test_ranking_of_the_sample(by: str, sample: Sample) -> None:
    metric = load_metric("gleu")
    ranking = rank_systems(
        metric, of_sample(metric, sample), by=by, resampling=Resampling(200), signature="s"
    )  # type: ignore[arg-type]
    assert [ranking.systems[number] for number in ranking.order][:2] == ["strong", "careful"]
    assert (ranking.intervals[:, 0] <= ranking.scores).all()
    assert (ranking.scores <= ranking.intervals[:, 1]).all()
    assert (ranking.p == ranking.p.T).all()
    assert (ranking.p_adjusted >= ranking.p).all()
    assert (np.diag(ranking.p) == 1).all()
    assert ranking.cluster[ranking.order[0]] == 1
    assert ranking.signature.startswith(f"s|by:{by}|")
    assert ("orders:20" in ranking.signature) == (by == "trueskill")
    assert (ranking.spread is not None) == (by == "trueskill")


def test_permutation_needs_corpus_scores(sample: Sample) -> None:
    metric = load_metric("length")
    statistics = of_sample(metric, sample)
    with pytest.raises(InputError, match="use paired-bootstrap"):
        rank_systems(
            metric, statistics, by="trueskill", resampling=Resampling(test="paired-permutation")
        )
    ranking = rank_systems(
        metric, statistics, resampling=Resampling(600, test="paired-permutation")
    )
    assert ranking.p.min() >= 1 / 601


def test_documents_are_swapped_and_resampled_as_wholes() -> None:
    """With the better sentences in one document of four, hardly anything is known about other documents."""
    documents = [f"d{n // 10}" for n in range(40)]
    systems = {
        "base": ["a"] * 40,
        "better": ["a b"] * 10 + ["a"] * 30,
        "everywhere": ["a b"] * 40,
    }
    drawn = Resampling(200, documents=documents)
    ranking = rank("length", ["a"] * 40, systems, resampling=drawn)
    # One document differs, and p is at least 2/2^1; with four it is at least 2/2^4.
    assert ranking.differing[0].tolist() == [0, 1, 4]
    assert ranking.p[0] == pytest.approx([1, 1, 2 / 2**4])
    assert ranking.sentences == 40
    assert ranking.too_few == [
        "4 documents are too few for any difference to be significant: give 7 or more."
    ]
    assert ranking.signature.endswith("|seed:0|documents:4")
    # A document is drawn with all of its sentences, so every mean is 1 plus a quarter of a count.
    assert set((4 * (ranking.resampled[:, 1] - 1)).round(9)) <= {0.0, 1.0, 2.0, 3.0, 4.0}
    alone = rank("length", ["a"] * 40, systems, resampling=Resampling(200))
    assert alone.p[0, 1] == pytest.approx(2 / 2**10)
    with pytest.raises(InputError, match="documents has 2 items, and there are 40 sentences"):
        rank("length", ["a"] * 40, systems, resampling=Resampling(documents=["a", "b"]))


def test_documents_of_one_sentence_are_sentences() -> None:
    systems = {"a": ["x", "x y", "x y z"] * 20, "b": ["x y", "x", "x"] * 20}
    one, other = (
        rank("length", ["x"] * 60, systems, resampling=Resampling(50, documents=documents))
        for documents in ([], range(60))
    )
    assert other.resampled == pytest.approx(one.resampled)
    assert other.p == pytest.approx(one.p, nan_ok=True)
    assert other.intervals == pytest.approx(one.intervals)
