"""A whole meta-evaluation: measures beside their oracles, human scores, sentinels, published values."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from learnedgec import Resampling
from learnedgec.analysis.aggregation import sentence_scores
from learnedgec.analysis.meta.agreement import agreement, default_human, human_scores, judged
from learnedgec.analysis.meta.evaluation import (
    Scored,
    benchmark_statistics,
    compare_metrics,
    evaluate,
    evaluate_metrics,
    with_sentinels,
)
from learnedgec.analysis.meta.measures import Protocol
from learnedgec.analysis.meta.results import Evaluation, MetricEvaluation, MetricTest
from learnedgec.data.benchmarks import load_benchmark
from learnedgec.data.benchmarks.base import Benchmark, Ranking
from learnedgec.errors import InputError
from learnedgec.metrics.registry import load_metric
from learnedgec.metrics.sentinels import Length, random_numbers
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import bind_one
from learnedgec.stats.correlation import correlate, pearson
from learnedgec.stats.resampling import multiplicities, resample

QUICK = Protocol(resampling=Resampling(60), window=3)


@pytest.fixture(scope="module")
def benchmark_() -> Benchmark:
    return load_benchmark("sample")


@pytest.fixture(scope="module")
def rated(benchmark_: Benchmark) -> Evaluation:
    return evaluate(
        [load_metric("gleu(iterations=1)")],
        benchmark_,
        dataclasses.replace(QUICK, tests=True),
        human="fluency",
    )


@pytest.fixture(scope="module")
def ranked(benchmark_: Benchmark) -> Evaluation:
    return evaluate([load_metric("gleu(iterations=1)")], benchmark_, QUICK, human="EW")


def entry(evaluation: Evaluation, name: str) -> MetricEvaluation:
    return next(result for result in evaluation.metrics if result.metric.startswith(name))


def test_sentinels_come_last_and_once(benchmark_: Benchmark) -> None:
    metrics = evaluate("length", benchmark_, QUICK).metrics
    assert [entry.metric for entry in metrics] == ["length", "edit-count", "constant", "random"]
    assert all(entry.sentinel for entry in metrics)


def test_measures_between_systems_equal_scipy(ranked: Evaluation) -> None:
    for result in ranked.metrics:
        if result.metric == "random":
            continue
        if result.metric == "constant":
            assert np.isnan(result.estimates["pearson"].value)
            continue
        for name, oracle in (
            ("pearson", stats.pearsonr),
            ("spearman", stats.spearmanr),
            ("kendall", stats.kendalltau),
        ):
            estimate = result.estimates[name]
            assert estimate.value == pytest.approx(
                oracle(ranked.human_scores, result.scores).statistic
            )
            assert (estimate.count, estimate.unit) == (4, "systems")


def test_random_is_the_mean_over_seeds(benchmark_: Benchmark) -> None:
    protocol = Protocol(resampling=Resampling(20), window=3)
    others = [f"random(seed={seed})" for seed in range(1, 20)]
    singles = evaluate(others, benchmark_, protocol, sentinels=False)
    evaluation = evaluate("random", benchmark_, protocol, sentinels=False)
    (mean,) = evaluation.metrics
    # Scores are those of seed 0, which `random` alone stands for.
    first = agreement(mean.sentences, judged(benchmark_, "EW").comparisons()).accuracy
    accuracies = [first] + [each.estimates["sentence_accuracy"].value for each in singles.metrics]
    accuracy = mean.estimates["sentence_accuracy"]
    assert accuracy.value == pytest.approx(np.mean(accuracies))
    spread = accuracy.value * (1 - accuracy.value) / np.var(accuracies, ddof=1) - 1
    of_one = stats.beta(accuracy.value * spread, (1 - accuracy.value) * spread)
    expected = of_one.ppf([0.025, 0.975])
    assert accuracy.over_sentences == pytest.approx(expected)
    first = float(pearson(evaluation.human_scores, mean.scores))
    values = [first] + [each.estimates["pearson"].value for each in singles.metrics]
    assert mean.estimates["pearson"].value == pytest.approx(np.mean(values))
    assert mean.signature.endswith("|seeds:20")


def test_texts_are_scored_once_for_several_human_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    compute = Length.compute
    monkeypatch.setattr(Length, "compute", lambda *given: (calls.append(given), compute(*given))[1])
    drawn: list[object] = []
    monkeypatch.setattr(
        "learnedgec.analysis.meta.evaluation.random_numbers",
        lambda *given: (drawn.append(given), random_numbers(*given))[1],
    )
    outputs = {"x": ("a", "b b"), "y": ("b", "b")}
    ratings = {
        human: {"x": np.array([1.0, value]), "y": np.array([3.0, 2.0])}
        for human, value in (("p", 2.0), ("q", 5.0))
    }
    benchmark = Benchmark("two", ("a", "b"), outputs, ratings=ratings)
    alone = [evaluate("length", benchmark, QUICK, human=human) for human in ("p", "q")]
    assert len(calls) == len(drawn) == 2
    scored, metrics = Scored(), with_sentinels([bind_one("length")], Runtime())
    together = [
        evaluate_metrics(metrics, benchmark, QUICK, human, scored, Runtime())
        for human in ("p", "q")
    ]
    assert len(calls) == len(drawn) == 3
    np.testing.assert_equal(
        [each.to_dict() for each in together], [each.to_dict() for each in alone]
    )
    evaluate_metrics(metrics, benchmark.select(["x"]), QUICK, "p", scored, Runtime())
    assert len(calls) == 4


def test_outputs_without_a_score_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    count = Length.count
    monkeypatch.setattr(
        Length, "count", lambda *texts: (np.nan,) if texts[2] == "b" else count(*texts)
    )
    outputs = {"x": ("a", "b b"), "y": ("b", "b")}
    ratings = {"q": {"x": np.array([1.0, 2.0]), "y": np.array([3.0, 2.0])}}
    benchmark = Benchmark("holes", ("a", "b"), outputs, ratings=ratings)
    evaluation = evaluate("length", benchmark, QUICK, sentinels=False)
    assert any("length has no score for 2 of 4 outputs" in text for text in evaluation.notices)
    assert np.isnan(evaluation.metrics[0].estimates["pearson"].value)


def test_one_rated_output_is_too_few_for_any_measure() -> None:
    benchmark = Benchmark(
        "one", ("a", "b"), {"x": ("a", "b")}, ratings={"q": {"x": np.array([1.0, np.nan])}}
    )
    evaluation = evaluate("length", benchmark, QUICK)
    assert any("too few ratings for any measure" in notice for notice in evaluation.notices)
    assert all(np.isnan(each.value) for each in evaluation.metrics[0].estimates.values())


def test_nothing_is_known_of_other_systems_from_two(benchmark_: Benchmark) -> None:
    two = benchmark_.select(["careful", "weak"])
    estimates = evaluate("length", two, QUICK, human="EW", sentinels=False).metrics[0].estimates
    for name in ("pearson", "spearman", "kendall"):
        assert np.isnan([estimates[name].value, *estimates[name].over_systems]).all()
    for name in ("pairwise_accuracy", "soft_pairwise_accuracy"):
        assert estimates[name].over_systems == (0.0, 1.0)


def test_ratings_give_segment_measures(rated: Evaluation, benchmark_: Benchmark) -> None:
    assert rated.systems == tuple(benchmark_.systems)
    ratings = np.stack([benchmark_.ratings["fluency"][name] for name in rated.systems])
    assert rated.human_scores == pytest.approx(np.nanmean(ratings, axis=1))
    lengths = np.array(
        [[len(t.split()) for t in benchmark_.systems[name]] for name in rated.systems]
    )
    has_rating = ~np.isnan(ratings)
    estimate = entry(rated, "length").estimates["segment_kendall"]
    assert estimate.value == pytest.approx(
        stats.kendalltau(lengths[has_rating], ratings[has_rating]).statistic
    )
    assert (estimate.count, estimate.unit) == (has_rating.sum(), "outputs")


def test_edit_count_has_no_agreement_at_equal_edits(ranked: Evaluation) -> None:
    edits = entry(ranked, "edit-count").estimates
    # It ties them all: it has compared nothing there.
    assert np.isnan(edits["sentence_accuracy_equal_edits"].value)
    assert edits["sentence_accuracy_equal_edits"].count > 0
    assert np.isnan(edits["partial_pearson"].value)
    assert entry(ranked, "gleu").estimates["sentence_accuracy_equal_edits"].value > 0.5


def test_curves_are_of_the_best_systems_first(ranked: Evaluation) -> None:
    gleu = entry(ranked, "gleu")
    top = ranked.order[:3]
    expected = stats.pearsonr(ranked.human_scores[top], gleu.scores[top]).statistic
    assert gleu.windows["pearson"].values[0] == pytest.approx(expected)
    # The best four are all.
    assert gleu.best["spearman"].values == pytest.approx([gleu.estimates["spearman"].value])
    shapes = [gleu.windows["pearson"].intervals.shape, gleu.best["spearman"].intervals.shape]
    assert [*shapes, gleu.without["spearman"].shape] == [(2, 2), (1, 2), (4,)]


def test_tests_compare_metrics_and_the_edit_count(rated: Evaluation) -> None:
    assert [test.measure for test in rated.tests] == [
        "pearson",
        "sentence_accuracy",
        "segment_pearson",
    ]
    for test in rated.tests:
        assert {test.better, test.worse} == {"gleu(iterations=1)", "edit-count"}
        assert test.difference >= 0
        for p_value in (test.perm_both, test.perm_systems):
            assert 0 < p_value <= 1
        assert np.isnan(test.williams) == (test.measure != "pearson")
        # One pair: nothing to correct for.
        assert test.perm_both_adjusted == test.perm_both


@pytest.mark.parametrize("aggregation", ["expected-wins", "trueskill"])
def test_other_aggregations(aggregation: str, benchmark_: Benchmark) -> None:
    protocol = dataclasses.replace(QUICK, aggregation=aggregation)
    evaluation = evaluate([load_metric("gleu(iterations=1)")], benchmark_, protocol, human="EW")
    gleu = entry(evaluation, "gleu")
    # Sentence by sentence the strong system wins most, as in the corpus score.
    assert evaluation.systems[int(gleu.scores.argmax())] == "strong"
    assert f"aggregation:{aggregation}" in gleu.signature
    assert entry(evaluation, "constant").scores == pytest.approx([0.0] * 4)


def test_official_ties_reach_the_sentence_measures(benchmark_: Benchmark) -> None:
    official = dataclasses.replace(QUICK, ties="official")
    estimates = entry(evaluate([], benchmark_, official, human="EW"), "constant").estimates
    assert estimates["sentence_accuracy"].value > 0
    assert estimates["sentence_kendall"].value == pytest.approx(
        2 * estimates["sentence_accuracy"].value - 1
    )


def test_default_human_scores(benchmark_: Benchmark) -> None:
    assert default_human(benchmark_) == ["EW"]
    ratings = dataclasses.replace(benchmark_, rankings=())
    assert default_human(ratings) == ["grammaticality", "fluency", "meaning"]
    published = dataclasses.replace(ratings, ratings={}, official={"x": {"weak": 1.0}})
    assert default_human(published) == ["x"]


def test_published_scores_alone_have_no_interval_of_their_own() -> None:
    texts = ("a b", "c d e")
    systems = {"x": texts, "y": ("a", "c d"), "z": ("a b c", "c")}
    benchmark = Benchmark("mine", texts, systems, official={"s": {"x": 3.0, "y": 1.0, "z": 2.0}})
    evaluation = evaluate([], benchmark, QUICK, human="s")
    assert evaluation.human_scores == pytest.approx([3.0, 1.0, 2.0])
    assert evaluation.human_intervals == pytest.approx(
        np.array([[3.0, 3.0], [1.0, 1.0], [2.0, 2.0]])
    )
    assert np.isnan(evaluation.human_p_values).all()
    assert "sentence_accuracy" not in evaluation.metrics[0].estimates
    with pytest.raises(InputError, match="no system of mine has a human score t"):
        judged(dataclasses.replace(benchmark, official={"t": {"w": 1.0}}), "t")


def test_people_tell_their_best_from_the_others_by_permutation() -> None:
    texts = tuple("abcdefghijkl")
    # x is better than y everywhere, and than z on every second sentence.
    rankings = tuple(Ranking(n, {"x": 1 + n % 2, "y": 3, "z": 2 - n % 2}) for n in range(12))
    benchmark = Benchmark("mine", texts, dict.fromkeys("yxz", texts), rankings=rankings)
    benchmark = dataclasses.replace(benchmark, rankings=(*rankings, Ranking(0, {"x": 1, "z": 2})))
    evaluation = evaluate([], benchmark, Protocol(resampling=Resampling(999)), human="EW")
    assert evaluation.order[0] == 1
    of_y, of_x, of_z = evaluation.human_p_values
    # Of 999 permutations, none is expected to be as extreme; Holm's correction is for two comparisons.
    assert of_y == pytest.approx(2 * 2 / 1000, abs=0.004)
    assert np.isnan(of_x)
    assert of_z > 0.5


def test_published_scores_win_over_computed_ones() -> None:
    texts = ("a", "b", "c", "d")
    rankings = tuple(Ranking(number, {"x": 1, "y": 2}) for number in range(4))
    benchmark = Benchmark(
        "mine",
        texts,
        {"x": texts, "y": texts},
        rankings=rankings,
        official={"EW": {"x": 0.9, "y": 0.2}},
    )
    drawn = multiplicities(resample(4, Resampling(10)), 4)
    human = human_scores(benchmark, "EW", drawn)
    assert human.scores == pytest.approx([0.9, 0.2])
    assert human.resampled == pytest.approx(np.tile([1.0, 0.0], (10, 1)))
    computed = human_scores(dataclasses.replace(benchmark, official={}), "EW", drawn)
    assert computed.scores == pytest.approx([1.0, 0.0])


def test_trueskill_of_people_is_stored(
    tmp_path: Path, benchmark_: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = judged(benchmark_, "TS")
    drawn = multiplicities(resample(72, Resampling(20)), 72)
    first = human_scores(benchmark, "TS", drawn, runtime=Runtime(cache_dir=str(tmp_path)))
    monkeypatch.setattr("learnedgec.analysis.meta.agreement.rate_judgements", None)
    second = human_scores(benchmark, "TS", drawn, runtime=Runtime(cache_dir=str(tmp_path)))
    assert second.scores == pytest.approx(first.scores)
    assert second.resampled == pytest.approx(first.resampled)


def test_a_resample_without_judgements_does_not_count() -> None:
    texts = ("a", "b")
    rankings = (Ranking(0, {"x": 1, "y": 2}),)
    benchmark = Benchmark("mine", texts, {"x": texts, "y": texts}, rankings=rankings)
    for name in ("EW", "TS"):
        human = human_scores(benchmark, name, np.array([[1.0, 1.0], [0.0, 2.0]]))
        assert np.isnan(human.resampled).all(axis=1).tolist() == [False, True]


def test_bad_protocols_are_refused() -> None:
    with pytest.raises(InputError, match="; give "):
        Protocol(window=1)


# -- tests between metrics: how often they find a difference where there is none ------------------


def equally_good(seed: int) -> list[MetricTest]:
    """Return the tests between four metrics whose scores are ratings plus noise of one size."""
    random = np.random.default_rng(seed)
    ratings = random.normal(size=(6, 12))
    shared: Any = SimpleNamespace(
        protocol=Protocol(resampling=Resampling(59, seed=seed)),
        benchmark=SimpleNamespace(anonymous=False),
        human=SimpleNamespace(scores=ratings.mean(axis=1), ratings=ratings),
        comparisons=None,
    )
    metrics = []
    for number in range(4):
        sentences = ratings + random.normal(size=ratings.shape)
        scores = sentences.mean(axis=1)
        values = {
            "pearson": float(pearson(shared.human.scores, scores)),
            "segment_pearson": float(pearson(ratings.ravel(), sentences.ravel())),
        }
        estimates = {name: SimpleNamespace(value=value) for name, value in values.items()}
        entry: Any = SimpleNamespace(
            metric=f"metric {number}", scores=scores, sentences=sentences, estimates=estimates
        )
        metrics.append(entry)
    return compare_metrics(shared, metrics)


def test_equally_good_metrics_seldom_differ() -> None:
    families = [equally_good(seed) for seed in range(100)]
    for measure in ("pearson", "segment_pearson"):
        of_measure = [[test for test in tests if test.measure == measure] for tests in families]
        assert all(len(tests) == 6 for tests in of_measure)
        for name in ("perm_both", "perm_systems", "williams"):
            p_values, corrected = (
                np.array([[getattr(test, each) for test in tests] for tests in of_measure])
                for each in (name, f"{name}_adjusted")
            )
            if name == "williams" and measure != "pearson":
                assert np.isnan(p_values).all()
                continue
            # Each test finds a difference in 5 %, one of six does more often, and none after the correction.
            assert 0 < (p_values <= 0.05).mean() < 0.08, (name, measure)
            assert (corrected.min(axis=1) <= 0.05).mean() <= 0.08, (name, measure)
            assert (p_values.min(axis=1) <= 0.05).mean() > 0.1, (name, measure)


# -- published values ------------------------------------------------------------------------------


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "human", "r", "rho", "accuracy"),
    [
        ("seeda-s", "TS", 0.772, 0.823, 0.705),
        ("seeda-s:+fluency", "TS", 0.937, 0.889, 0.735),
        ("seeda-e", "TS", 0.559, 0.658, 0.678),
        ("gjg15", "EW", 0.460, 0.522, 0.456),
    ],
)
def test_what_the_edit_count_reaches(
    name: str, human: str, r: float, rho: float, accuracy: float
) -> None:
    benchmark = load_benchmark(name)
    metric = load_metric("edit-count")
    sentences = sentence_scores(metric, benchmark_statistics(bind_one(metric), benchmark))
    people = np.array([benchmark.official[human][system] for system in benchmark.systems])
    means = sentences.mean(axis=1)
    assert correlate("pearson", people, means) == pytest.approx(r, abs=2e-3)
    assert correlate("spearman", people, means) == pytest.approx(rho, abs=2e-3)
    result = agreement(sentences, benchmark.comparisons())
    assert result.accuracy == pytest.approx(accuracy, abs=2e-3)


@pytest.mark.realdata
def test_gjg15_as_a_whole() -> None:
    evaluation = evaluate(
        [load_metric("gleu")],
        load_benchmark("gjg15"),
        Protocol(resampling=Resampling(20)),
        human="EW",
    )
    gleu = entry(evaluation, "gleu").estimates
    # Published for GLEU: .701/.467.
    assert gleu["pearson"].value == pytest.approx(0.701, abs=5e-3)
    assert gleu["spearman"].value == pytest.approx(0.467, abs=5e-4)
    assert gleu["sentence_accuracy"].count == 49_981
    assert entry(evaluation, "gleu").windows["pearson"].values.shape == (6,)


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "tolerance"), [("gjg15", 5e-4), ("seeda-s:all", 1e-3), ("seeda-e:all", 1e-3)]
)
def test_published_expected_wins_follow_from_the_judgements(name: str, tolerance: float) -> None:
    benchmark = load_benchmark(name)
    computed = dataclasses.replace(benchmark, official={})
    drawn = np.ones((1, len(benchmark.sources)))
    scores = human_scores(computed, "EW", drawn).scores
    published = [benchmark.official["EW"][system] for system in benchmark.systems]
    assert scores == pytest.approx(published, abs=tolerance)


def test_no_interval_of_agreement_has_the_width_0_or_leaves_its_range() -> None:
    # Length prefers the longer output, and people always the shorter one.
    outputs = {"x": ("a",) * 40, "y": ("a b",) * 40}
    rankings = tuple(Ranking(number, {"x": 1, "y": 2}) for number in range(40))
    sources = [f"c {number}" for number in range(40)]
    judged_ = Benchmark("always", sources, outputs, rankings=rankings)
    evaluation = evaluate("length", judged_, Protocol(resampling=Resampling(50)))
    for result in evaluation.metrics:
        for name, each in result.estimates.items():
            low, high = each.over_sentences
            if name.startswith("sentence_") and not np.isnan(low):
                assert (0 if "accuracy" in name else -1) <= low < high <= 1, (result.metric, name)
    accuracy = entry(evaluation, "length").estimates["sentence_accuracy"]
    assert accuracy.over_sentences[0] in (0.0, accuracy.value)
    assert accuracy.over_sentences[0] < accuracy.over_sentences[1]


def test_systems_that_were_rated_on_different_sentences_are_shown_on_common_ones() -> None:
    texts = ("a b c", "d e f", "g h i", "j k l")
    nan = float("nan")
    ratings = {
        "x": np.array([4.0, 4.0, nan, nan]),
        "y": np.array([5.0, 5.0, 1.0, 1.0]),
        "z": np.array([3.0, 2.0, 1.0, 1.0]),
    }
    benchmark = Benchmark("b", texts, dict.fromkeys(ratings, texts), ratings={"quality": ratings})
    protocol = Protocol(resampling=Resampling(9))
    evaluation = evaluate("length", benchmark, protocol, sentinels=False)
    assert evaluation.human_scores.tolist() == pytest.approx([4, 3, 1.75])
    assert evaluation.human_common is not None
    assert evaluation.human_common.tolist() == pytest.approx([4, 5, 2.5])
    [notice] = [text for text in evaluation.notices if "different sentences" in text]
    assert "on the 2 sentences that all have in common: y 5.000, x 4.000, z 2.500." in notice
    assert evaluation.to_dict()["human_common"] == pytest.approx({"x": 4, "y": 5, "z": 2.5})
    # Sentences that nobody rated do not matter.
    same = {name: column * [1, 1, nan, 1] for name, column in ratings.items() if name != "x"}
    rated = Benchmark("b", texts, dict.fromkeys(same, texts), ratings={"quality": same})
    evaluation = evaluate("length", rated, protocol, sentinels=False)
    assert evaluation.human_common is None
    assert not [text for text in evaluation.notices if "different sentences" in text]
    assert "human_common" not in evaluation.to_dict()


@pytest.mark.realdata
@pytest.mark.parametrize("name", ["seeda-s", "seeda-e:+fluency", "gjg15:12"])
def test_runs_on_public_judgements_are_shipped(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learnedgec.analysis.meta.agreement.rate_judgements", None)
    benchmark = judged(load_benchmark(name), "TS")
    size = len(benchmark.sources)
    human = human_scores(benchmark, "TS", multiplicities(resample(size, Resampling()), size))
    # A run for each resample, around the published means.
    assert human.resampled.shape == (1000, len(benchmark.systems))
    assert human.resampled.mean(axis=0) == pytest.approx(human.scores, abs=0.03)
