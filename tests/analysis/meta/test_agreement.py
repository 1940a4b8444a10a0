"""Agreement with people, against literal loops over the rankings and scipy's correlations."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from learnedgec import Resampling
from learnedgec.analysis.meta.agreement import (
    agreement,
    agreement_with_ties,
    at_equal_counts,
    human_wins,
    segment_correlation,
    segment_correlations_of_resamples,
    tie_threshold,
)
from learnedgec.data.benchmarks import load_benchmark
from learnedgec.data.benchmarks.base import Benchmark, Ranking
from learnedgec.stats.resampling import multiplicities, resample

NAMES = ("a", "b", "c", "d")


def random_benchmark(seed: int, sentences: int = 12) -> tuple[Benchmark, np.ndarray]:
    """Rankings of some systems each, listed in random order, and a metric's scores with ties."""
    generator = np.random.default_rng(seed)
    rankings = []
    for _ in range(30):
        chosen = generator.permutation(NAMES)[: generator.integers(2, 5)]
        ranks = {str(name): int(generator.integers(1, 4)) for name in chosen}
        rankings.append(Ranking(int(generator.integers(sentences)), ranks))
    texts = tuple(str(number) for number in range(sentences))
    benchmark = Benchmark("b", texts, dict.fromkeys(NAMES, texts), rankings=tuple(rankings))
    return benchmark, generator.integers(0, 3, (len(NAMES), sentences)).astype(float)


def literal_agreement(
    rankings: Sequence[Ranking], systems: Sequence[str], scores: np.ndarray, ties: str = "symmetric"
) -> tuple[float, float, int]:
    """Accuracy, τ and number of comparisons; in SEEDA's script, a tie of the metric counts as -1.

    Excluded ties do not count.
    """
    products = []
    for ranking in rankings:
        for first, second in itertools.combinations(range(len(systems)), 2):
            names = systems[first], systems[second]
            if all(name in ranking.ranks for name in names):
                human = ranking.ranks[names[1]] - ranking.ranks[names[0]]
                metric = np.sign(scores[first, ranking.sentence] - scores[second, ranking.sentence])
                if not metric and ties == "official":
                    metric = -1
                if human and (metric or ties != "excluded"):
                    products.append(np.sign(human) * metric)
    values = np.array(products)
    return float((values > 0).mean()), float(values.mean()), len(values)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ties", ["symmetric", "official", "excluded"])
def test_ties_count_as_neither_or_as_in_the_script_or_not_at_all(ties: Any, seed: int) -> None:
    benchmark, scores = random_benchmark(seed)
    result = agreement(scores, benchmark.comparisons(), ties)
    expected = literal_agreement(benchmark.rankings, NAMES, scores, ties)
    assert (result.accuracy, result.kendall, result.count) == pytest.approx(expected)


def test_resamples_equal_the_resampled_benchmark() -> None:
    benchmark, scores = random_benchmark(3)
    samples = resample(12, Resampling(6, seed=1))
    drawn = multiplicities(samples, 12)
    result = agreement(scores, benchmark.comparisons())
    values = zip(result.accuracies(drawn), result.kendalls(drawn), strict=True)
    for sample, found in zip(samples, values, strict=True):
        repeated = [r for number in sample for r in benchmark.rankings if r.sentence == number]
        assert found == pytest.approx(literal_agreement(repeated, NAMES, scores)[:2])


def test_equal_counts_keep_only_pairs_with_as_many_edits() -> None:
    benchmark, scores = random_benchmark(1)
    counts = np.random.default_rng(9).integers(0, 2, scores.shape).astype(float)
    comparable = at_equal_counts(benchmark.comparisons(), counts)
    assert 0 < len(comparable) < len(benchmark.comparisons())
    assert (
        counts[comparable.first, comparable.sentence]
        == counts[comparable.second, comparable.sentence]
    ).all()
    # The counts themselves decide nothing there.
    assert agreement(counts, comparable).accuracy == 0.0
    assert agreement(counts, comparable).kendall == 0.0


@pytest.mark.parametrize("seed", range(5))
def test_tie_calibration_finds_the_best_threshold(seed: int) -> None:
    benchmark, _ = random_benchmark(seed)
    comparisons = benchmark.comparisons()
    scores = np.random.default_rng(seed).normal(size=(4, 12)).round(1)
    # Differences that are equal but for their last bits are one.
    differences = np.round(
        scores[comparisons.first, comparisons.sentence]
        - scores[comparisons.second, comparisons.sentence],
        6,
    )

    def accuracy(threshold: float) -> float:
        predicted = np.where(abs(differences) <= threshold, 0, np.sign(differences))
        return float((predicted == comparisons.outcome).mean())

    candidates = [0.0, *sorted(set(abs(differences)))]
    best = max(map(accuracy, candidates))
    threshold = tie_threshold(scores, comparisons)
    least = next(candidate for candidate in candidates if accuracy(candidate) == best)
    assert threshold == pytest.approx(least, abs=1e-9)
    result = agreement_with_ties(scores, comparisons, threshold)
    assert result.accuracy == pytest.approx(best)
    assert result.count == len(comparisons)


@pytest.mark.parametrize("unit", [1e-3, 1 / 3, 7, 1e6])
def test_the_unit_of_scores_does_not_matter_for_ties(unit: float) -> None:
    for seed in range(20):
        benchmark, scores = random_benchmark(seed)
        comparisons = benchmark.comparisons()
        # Tenths are not exact, so that equal differences differ in their last bits.
        scores = scores / 10 + np.arange(len(scores))[:, None] / 7
        in_unit = scores * unit
        expected, result = (
            agreement_with_ties(values, comparisons, tie_threshold(values, comparisons))
            for values in (scores, in_unit)
        )
        assert result.concordant.tolist() == expected.concordant.tolist()
        threshold = tie_threshold(in_unit, comparisons)
        assert threshold == pytest.approx(unit * tie_threshold(scores, comparisons))


def test_human_wins_count_both_directions() -> None:
    texts = ("x", "y")
    rankings = (
        Ranking(0, {"b": 2, "a": 1, "c": 1}),
        Ranking(0, {"a": 1, "b": 3}),
        Ranking(1, {"c": 2, "b": 1}),
    )
    benchmark = Benchmark("b", texts, dict.fromkeys("abc", texts), rankings=rankings)
    wins, ties = human_wins(benchmark.comparisons(), 2)
    assert wins.tolist() == [
        [[0, 2, 0], [0, 0, 0], [0, 1, 0]],
        [[0, 0, 0], [0, 0, 1], [0, 0, 0]],
    ]
    assert ties.tolist() == [
        [[0, 0, 1], [0, 0, 0], [1, 0, 0]],
        [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
    ]


def test_nothing_to_compare_is_nan() -> None:
    texts = ("x",)
    benchmark = Benchmark(
        "b", texts, {"a": texts, "b": texts}, rankings=(Ranking(0, {"a": 1, "b": 1}),)
    )
    comparisons = benchmark.comparisons()
    assert np.isnan(agreement(np.zeros((2, 1)), comparisons).accuracy)
    assert tie_threshold(np.array([[1.0], [0.5]]), comparisons) == 0.5
    assert np.isnan(tie_threshold(np.zeros((2, 1)), at_equal_counts(comparisons, np.eye(2)[:, :1])))


# -- ratings of outputs ----------------------------------------------------------------------------

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
    values = []
    for score, rating in zip(scores.T, ratings.T, strict=True):
        has_rating = ~np.isnan(rating)
        if has_rating.sum() > 1 and np.ptp(rating[has_rating]) > 0:
            tied = np.ptp(score[has_rating]) == 0
            values.append(
                0.0 if tied else ORACLES[kind](score[has_rating], rating[has_rating]).statistic
            )
    return float(np.mean(values)), len(values)


@pytest.mark.parametrize("kind", ORACLES)
def test_pooled_and_grouped_equal_scipy(kind: str) -> None:
    scores, ratings = rated()
    has_rating = ~np.isnan(ratings)
    value, count = segment_correlation(kind, scores, ratings)  # type: ignore[arg-type]
    assert value == pytest.approx(ORACLES[kind](scores[has_rating], ratings[has_rating]).statistic)
    assert count == has_rating.sum()
    value, count = segment_correlation(kind, scores, ratings, "grouped")  # type: ignore[arg-type]
    assert (value, count) == pytest.approx(literal_grouped(kind, scores, ratings))


@pytest.mark.parametrize("grouping", ["pooled", "grouped"])
@pytest.mark.parametrize("kind", ORACLES)
def test_resamples_equal_the_resampled_sources(kind: str, grouping: str) -> None:
    scores, ratings = rated(1)
    samples = np.random.default_rng(2).integers(0, 30, (6, 30))
    values = segment_correlations_of_resamples(kind, scores, ratings, samples, grouping)  # type: ignore[arg-type]
    expected = [
        segment_correlation(kind, scores[:, sample], ratings[:, sample], grouping)[0]  # type: ignore[arg-type]
        for sample in samples
    ]
    assert values == pytest.approx(expected)


def test_grouping_ignores_how_easy_sources_are() -> None:
    # Within each source the metric is exactly wrong; across sources it knows which is easy.
    ratings = np.array([[1.0, 11.0, 21.0], [2.0, 12.0, 22.0]])
    scores = np.array([[2.0, 12.0, 22.0], [1.0, 11.0, 21.0]])
    assert segment_correlation("pearson", scores, ratings)[0] > 0.9
    assert segment_correlation("pearson", scores, ratings, "grouped") == pytest.approx((-1.0, 3))


def test_nothing_rated_is_nan() -> None:
    scores, ratings = np.zeros((2, 3)), np.full((2, 3), np.nan)
    for grouping in ("pooled", "grouped"):
        value, count = segment_correlation("kendall", scores, ratings, grouping)  # type: ignore[arg-type]
        assert np.isnan(value)
        assert count == 0


@pytest.mark.realdata
def test_a_constant_agrees_a_little_by_the_ties_of_the_script() -> None:
    benchmark = load_benchmark("seeda-e")
    scores = np.zeros((len(benchmark.systems), len(benchmark.sources)))
    result = agreement(scores, benchmark.comparisons(), "official")
    assert result.kendall == pytest.approx(0.096, abs=5e-4)
