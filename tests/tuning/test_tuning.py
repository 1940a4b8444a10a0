"""Tuning: planted weights come back, held-out folds are honest, test data are refused or marked."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from learnedgec import Resampling
from learnedgec.analysis.aggregation import Aggregation, system_scores
from learnedgec.data.benchmarks import load_benchmark
from learnedgec.data.benchmarks.base import Benchmark, Ranking
from learnedgec.data.references import References
from learnedgec.errors import ConfigError, InputError, LeakageError, UnknownNameError
from learnedgec.metrics.contract import Metric, Statistics
from learnedgec.metrics.registry import load_metric
from learnedgec.metrics.tuned import TunedMetric, tuned_name, write_tuned
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import as_named, bind_one
from learnedgec.stats.resampling import resample
from learnedgec.tuning.objective import OBJECTIVES, Goal, Target, check_tuning_data
from learnedgec.tuning.search import SearchPlan, _splits, check_tuning, compare
from learnedgec.tuning.task import TuningResult, run_task
from learnedgec.types import Floats

PLANTED = (0.2, 0.5, 0.3)
FAST = SearchPlan(trials=12, validation="none")


@dataclass(frozen=True)
class Parts(Metric):
    """Three random numbers per hypothesis, weighed; `size` is a parameter of the statistics."""

    name: ClassVar[str] = "parts"
    needs_references: ClassVar[bool] = False
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"weights"})
    computed: ClassVar[list[int]] = []
    weights: tuple[float, float, float] = (0.6, 0.2, 0.2)
    size: float = 1.0

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References,
        runtime: Runtime,
    ) -> Statistics:
        self.computed.append(len(hypotheses))
        rows = [
            np.random.default_rng(list(f"{source}|{text}".encode())).random(3)
            for source, text in zip(sources, hypotheses, strict=True)
        ]
        return Statistics({"parts": self.size * np.array(rows)})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        scores: Floats = statistics["parts"] @ np.array(self.weights)
        return scores


@pytest.fixture(scope="module")
def planted() -> Benchmark:
    """Return five systems on 80 sentences, rated and ranked by the planted weights."""
    sources = tuple(f"sentence {number}" for number in range(80))
    systems = {name: tuple(f"{source} {name}" for source in sources) for name in "abcde"}
    metric = Parts(PLANTED)
    scores = {name: metric.score(sources, texts).sentences for name, texts in systems.items()}
    rankings = tuple(
        Ranking(
            number,
            {
                name: 1 + int(sum(scores[o][number] > scores[name][number] for o in "abcde"))
                for name in "abcde"
            },
        )
        for number in range(80)
    )
    return Benchmark("planted", sources, systems, ratings={"quality": scores}, rankings=rankings)


def tune(
    metric: Metric,
    benchmark: Benchmark | list[Benchmark],
    *settings: Any,
    resampling: Resampling = Resampling(),
    **options: Any,
) -> TuningResult:
    """Return the result of a search with a goal and a plan, without a file."""
    benchmarks = [benchmark] if isinstance(benchmark, Benchmark) else benchmark
    task = check_tuning(as_named(metric), benchmarks, *settings, **options).saved_as(None)
    return run_task(task, bind_one(metric), resampling)


def weights_of(tuning: TuningResult) -> tuple[float, ...]:
    weights: tuple[float, ...] = tuning.best.parameters["weights"]
    return weights


@pytest.mark.parametrize("objective", ["segment-pearson", "grouped-kendall", "sentence-accuracy"])
def test_planted_weights_are_recovered(planted: Benchmark, objective: str) -> None:
    goal = Goal(objective, human="quality")  # type: ignore[arg-type]
    tuning = tune(Parts(), planted, goal, SearchPlan(trials=150, validation="none"))
    assert weights_of(tuning) == pytest.approx(PLANTED, abs=0.03)
    assert tuning.best.value > tuning.candidates["given"].value


def test_several_benchmarks_count_alike(planted: Benchmark) -> None:
    # The second benchmark has ranks alone, by other weights, and half of the sentences.
    other_weights = (0.6, 0.1, 0.3)
    ranked = []
    for number in range(40):
        scores = {
            name: Parts(other_weights).score([source], [texts[number]]).sentences[0]
            for source in [planted.sources[number]]
            for name, texts in planted.systems.items()
        }
        order = sorted(scores, key=lambda name: -scores[name])
        ranked.append(Ranking(number, {name: 1 + order.index(name) for name in order}))
    other = dataclasses.replace(
        planted.select(sentences=range(40)), name="other", ratings={}, rankings=tuple(ranked)
    )
    rated = dataclasses.replace(planted, rankings=())
    goal, plan = Goal("segment-pearson", human="quality"), SearchPlan(trials=60, folds=2)
    tuning = tune(Parts(), [rated, other], goal, plan, resampling=Resampling(50))
    metric = tuning.metric
    expected = [
        Target(goal, rated).values(metric, statistics_of(rated, metric)),
        Target(Goal("sentence-accuracy"), other).values(metric, statistics_of(other, metric)),
    ]
    assert tuning.best.value == pytest.approx(float(np.mean(expected)), abs=1e-12)
    # A compromise is better on both together than the best metric of either.
    for weights in (PLANTED, other_weights):
        alone = [
            Target(each, data).values(Parts(weights), statistics_of(data, Parts(weights)))
            for each, data in ((goal, rated), (Goal("sentence-accuracy"), other))
        ]
        assert tuning.best.value >= float(np.mean(alone)) - 0.005
    assert tuning.name == "parts@planted+other+segment-pearson"
    assert tuning.judgements.count(" and ") == 1
    assert len(tuning.folds) == 2
    assert tuning.held_out_sentences == 120
    assert tuning.gain.low < tuning.gain.value < tuning.gain.high
    with pytest.raises(ConfigError, match="systems of several benchmarks differ"):
        tune(Parts(), [rated, other], goal, SearchPlan(trials=2, validation="systems"))


def test_statistics_are_computed_once_unless_they_change(planted: Benchmark) -> None:
    Parts.computed.clear()
    tune(Parts(), planted, Goal("sentence-accuracy"), SearchPlan(trials=20, folds=2))
    assert Parts.computed == [400]
    Parts.computed.clear()
    space = {"size": [1.0, 2.0]}
    tune(Parts(), planted, Goal("sentence-accuracy"), dataclasses.replace(FAST, space=space))
    assert Parts.computed == [400, 400]


def statistics_of(benchmark: Benchmark, metric: Metric) -> list[Statistics]:
    return [metric.statistics(benchmark.sources, texts) for texts in benchmark.systems.values()]


def values(goal: Goal, benchmark: Benchmark, metric: Metric) -> Floats:
    return Target(goal, benchmark).values(metric, statistics_of(benchmark, metric))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_an_objective_is_one_for_the_planted_metric_and_a_constant_has_none(
    planted: Benchmark, objective: str
) -> None:
    goal = Goal(objective, human="quality")  # type: ignore[arg-type]
    assert values(goal, planted, Parts(PLANTED)) == pytest.approx([1.0])
    assert np.isnan(values(goal, planted, load_metric("constant"))).all()


@pytest.mark.parametrize("aggregation", ["trueskill-as-listed", "expected-wins"])
def test_aggregation_makes_the_systems_scores(planted: Benchmark, aggregation: str) -> None:
    metric = Parts((0.1, 0.1, 0.8))
    by: Aggregation = aggregation  # type: ignore[assignment]
    people = [float(np.mean(column)) for column in planted.ratings["quality"].values()]
    scores = system_scores(metric, statistics_of(planted, metric), by)
    expected = np.corrcoef(people, scores)[0, 1]
    assert values(Goal("pearson", by, human="quality"), planted, metric) == pytest.approx(
        [expected]
    )


def test_samples_are_valued_by_their_own_judgements(planted: Benchmark) -> None:
    metric = Parts((0.1, 0.8, 0.1))
    samples = np.array([np.arange(40), np.repeat(np.arange(20), 2)])
    for goal in (
        Goal("sentence-accuracy"),
        Goal("segment-spearman", human="quality"),
        Goal("pearson", human="quality"),
        Goal("pearson", human="EW"),
    ):
        computed = Target(goal, planted, samples).values(metric, statistics_of(planted, metric))
        # A sentence drawn twice counts twice, and all of them twice are all of them once.
        for value, size in zip(computed, (40, 20), strict=True):
            part = planted.select(sentences=range(size))
            assert value == pytest.approx(values(goal, part, metric)[0])


def test_folds_value_the_choice_on_sentences_it_did_not_see(planted: Benchmark) -> None:
    # Judgements by chance: what tuning gains on its own data is not there on the others.
    random = np.random.default_rng(5)
    noise = {name: random.random(80) for name in planted.systems}
    chance = dataclasses.replace(planted, rankings=(), ratings={"noise": noise})
    plan = SearchPlan(trials=15, folds=3)
    tuning = tune(Parts(), chance, Goal("segment-pearson"), plan)
    assert len(tuning.folds) == 3
    mean, deviation = tuning.held_out
    held_out = np.array([fold.held_out for fold in tuning.folds])
    assert (mean, deviation) == pytest.approx((held_out.mean(), held_out.std()))
    assert mean < np.mean([fold.value for fold in tuning.folds])
    assert mean < tuning.best.value
    # The numbers are those of the choice on the parts.
    metric = Parts()
    for fold, (_, seen, held) in zip(tuning.folds, _splits(chance, plan), strict=True):
        chosen = dataclasses.replace(metric, **fold.parameters)
        scores = np.stack(
            [chosen.score(chance.sources, t).sentences for t in chance.systems.values()]
        )
        people = np.stack(list(noise.values()))
        for part, value in ((seen, fold.value), (held, fold.held_out)):
            expected = np.corrcoef(scores[:, part].ravel(), people[:, part].ravel())[0, 1]
            assert value == pytest.approx(expected)


@pytest.mark.parametrize("objective", ["sentence-accuracy", "segment-pearson"])
def test_folds_over_systems_hold_out_all_judgements_of_one(
    planted: Benchmark, objective: str
) -> None:
    goal = Goal(objective, human="quality")  # type: ignore[arg-type]
    plan = SearchPlan(trials=8, validation="systems")
    tuning = tune(Parts(), planted, goal, plan, resampling=Resampling(30))
    assert [fold.system for fold in tuning.folds] == list("abcde")
    for fold in tuning.folds:
        others = planted.select(name for name in planted.systems if name != fold.system)
        chosen = Parts(**fold.parameters)
        assert fold.value == pytest.approx(float(values(goal, others, chosen)[0]))
        if objective == "segment-pearson":
            alone = planted.select([fold.system])
            assert fold.held_out == pytest.approx(float(values(goal, alone, chosen)[0]))
        else:
            # The comparisons of all systems are those of the others and those with this one.
            everything, seen = (float(values(goal, b, chosen)[0]) for b in (planted, others))
            assert (6 * seen + 4 * fold.held_out) / 10 == pytest.approx(everything)


def test_interval_over_systems_covers_their_differences(planted: Benchmark) -> None:
    # All sentences are the same one, so that resampling sentences alone changes nothing.
    plan = SearchPlan(trials=6, validation="systems")
    ranks = next(each.ranks for each in planted.rankings if each.sentence == 0)
    same = dataclasses.replace(
        planted,
        sources=planted.sources[:1] * 8,
        systems={name: texts[:1] * 8 for name, texts in planted.systems.items()},
        rankings=tuple(Ranking(number, ranks) for number in range(8)),
        ratings={},
    )
    tuning = tune(Parts(), same, Goal("sentence-accuracy"), plan, resampling=Resampling(200))
    gains = [fold.held_out - fold.given for fold in tuning.folds]
    assert min(gains) < max(gains)
    assert tuning.gain.value == pytest.approx(np.mean(gains))
    assert min(gains) <= tuning.gain.low < tuning.gain.value < tuning.gain.high <= max(gains)


@pytest.mark.parametrize(("validation", "different"), [("k-fold", 5), ("systems", 1)])
def test_folds_have_draws_of_their_own_and_systems_share_their_sentences(
    validation: Any, different: int, planted: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = []

    def recorded(size: int, resampling: Resampling) -> Any:
        drawn.append(resample(size, resampling))
        return drawn[-1]

    monkeypatch.setattr("learnedgec.tuning.search.resample", recorded)
    plan = SearchPlan(trials=2, validation=validation, folds=5)
    tune(Parts(), planted, Goal("sentence-accuracy"), plan, resampling=Resampling(20))
    assert len({draws.tobytes() for draws in drawn[:5]}) == different


def test_gain_is_paired(planted: Benchmark) -> None:
    # The given weights are perfect, so no resample has a gain, whatever the values there are.
    tuning = tune(Parts(PLANTED), planted, Goal("sentence-accuracy"), SearchPlan(trials=6))
    assert tuning.gain.value == 0
    assert np.isnan([tuning.gain.low, tuning.gain.high]).all()
    tuning = tune(
        Parts((0.8, 0.1, 0.1)),
        planted,
        Goal("sentence-kendall"),
        SearchPlan(trials=40),
        resampling=Resampling(50),
    )
    assert 0 < tuning.gain.low < tuning.gain.value < tuning.gain.high
    assert tuning.record.study["gain"]["low"] == tuning.gain.low


def test_one_judged_sentence_in_each_fold_is_too_few_for_an_interval(planted: Benchmark) -> None:
    plan = SearchPlan(trials=6)
    judged = {int(held_out[n]) for n, (_, _, held_out) in enumerate(_splits(planted, plan))}
    few = tuple(ranking for ranking in planted.rankings if ranking.sentence in judged)
    benchmark = dataclasses.replace(planted, rankings=few)
    goal = Goal("sentence-accuracy")
    tuning = tune(Parts((0.1, 0.1, 0.8)), benchmark, goal, plan, resampling=Resampling(200))
    gains = [fold.held_out - fold.given for fold in tuning.folds]
    assert tuning.gain.value == pytest.approx(np.mean(gains))
    assert np.isnan([tuning.gain.low, tuning.gain.high]).all()
    assert (tuning.held_out_sentences, plan.sentences_needed) == (5, 15)


def test_parts_do_not_overlap(planted: Benchmark) -> None:
    parts = _splits(planted.select(sentences=range(23)), SearchPlan(folds=4))
    assert sorted(np.concatenate([held for _, _, held in parts]).tolist()) == list(range(23))
    for _, seen, held in parts:
        assert sorted([*seen.tolist(), *held.tolist()]) == list(range(23))


def test_a_metric_that_is_constant_says_so(planted: Benchmark) -> None:
    # One output for everything: no metric can prefer anything.
    outputs = ("a", "a")
    ranking = Ranking(0, {"x": 1, "y": 2})
    same = Benchmark("same", outputs, {"x": outputs, "y": outputs}, rankings=(ranking,))
    goal = Goal("sentence-accuracy")
    message = "random has no sentence-accuracy on same with any of the parameters tried"
    with pytest.raises(InputError, match=message):
        tune(load_metric("random"), same, goal, dataclasses.replace(FAST, space={"seed": [1, 2]}))
    with pytest.raises(InputError, match="constant gives every sentence the same score"):
        tune(load_metric("ensemble(constant=0.5, random=0.5)"), planted, Goal("pearson"), FAST)


def test_given_parameters_win_a_tie(planted: Benchmark) -> None:
    tuning = tune(Parts(PLANTED), planted, Goal("sentence-accuracy"), FAST)
    assert weights_of(tuning) == PLANTED
    assert tuning.best.number == 0


def test_ensembles_are_scaled_on_the_benchmark() -> None:
    sample = load_benchmark("sample")
    metric = load_metric("ensemble(length=0.5, random=0.5)")
    tuning = tune(metric, sample, Goal("sentence-accuracy"), FAST)
    assert "scales=((" in str(tuning.best.metric)
    assert load_metric(str(tuning.best.metric)) == tuning.best.metric
    assert "scales=((" in str(tuning.candidates["given"].metric)


def test_comparison_is_on_the_same_resamples(planted: Benchmark) -> None:
    goal = Goal("sentence-accuracy")
    tuning = tune(Parts(), planted, goal, SearchPlan(trials=40, validation="none"))
    metrics = {label: candidate.metric for label, candidate in tuning.candidates.items()}
    rows = compare(bind_one(Parts()), metrics, goal, planted, resampling=Resampling(50))
    assert [row.label for row in rows] == ["tuned", "given", "uniform"]
    assert rows[0].value.value == tuning.best.value
    assert rows[0].gain.value == 0
    assert np.isnan([rows[0].gain.low, rows[0].gain.high]).all()
    for row in rows[1:]:
        assert row.value.value == tuning.candidates[row.label].value
        assert row.gain.value == pytest.approx(rows[0].value.value - row.value.value)
        assert row.value.low <= row.value.value <= row.value.high
        assert row.gain.low <= row.gain.value <= row.gain.high


def test_goals_that_a_benchmark_cannot_serve(planted: Benchmark) -> None:
    with pytest.raises(InputError, match="no objective 'kendal'"):
        Goal("kendal")  # type: ignore[arg-type]
    unranked = dataclasses.replace(planted, rankings=())
    with pytest.raises(InputError, match="planted has no comparisons of outputs"):
        Target(Goal("sentence-accuracy"), unranked)
    unrated = dataclasses.replace(planted, ratings={})
    with pytest.raises(InputError, match="planted has no ratings of outputs"):
        Target(Goal("segment-pearson"), unrated)
    with pytest.raises(InputError, match="planted has 2 systems; kendall between systems"):
        Target(Goal("kendall"), planted.select("ab"))


@pytest.mark.parametrize(
    ("benchmark", "output", "test", "expected"),
    [
        ("gjg15:dev10", "", False, "gleu@gjg15-dev10"),
        ("jfleg:./my/outputs", "", False, "gleu@jfleg"),
        ("./my/own data/", "", False, "gleu@own-data"),
        (".", "", False, "gleu@mine"),
        ("./判定", "", False, "gleu@folder"),
        ("seeda-s:+fluency", "", True, "gleu@seeda-s-+fluency+test"),
        ("seeda-s", "gleu@mine", True, "gleu@mine+seeda-s+test"),
        ("seeda-s:dev", "gleu@my-seeda-s", False, "gleu@my-seeda-s"),
        ("gmeg:fce", "mine", False, "gleu@mine+gmeg-fce"),
        ("gmeg:fce", "gleu@mine", False, "gleu@mine+gmeg-fce"),
        ("data/choices.csv", "", False, "gleu@choices"),
        ("choices.jsonl.gz:dev", "mine", False, "gleu@mine+choices-dev"),
    ],
)
def test_names_of_tuned_metrics(
    benchmark: str,
    output: str,
    test: bool,
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    name = tuned_name("gleu", benchmark, output, on_test=test)
    assert name == expected


def test_the_words_of_a_tuned_metric_suggest_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", str(tmp_path))
    write_tuned(tmp_path, "random@mine+long", TunedMetric("random(seed=3)", {}))
    for words in ("mine+long", "Mine"):
        with pytest.raises(UnknownNameError, match=r"did you mean 'random@mine\+long'\?"):
            load_metric(words)
    with pytest.raises(UnknownNameError, match="did you mean 'gleu'"):
        load_metric("glue")


def test_a_metric_that_is_tuned_again_keeps_what_it_was_tuned_on(
    planted: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", str(tmp_path))
    first = bytes(8)
    write_tuned(tmp_path, "random@x", TunedMetric("random(seed=3)", {"sentences": [first.hex()]}))
    mixed = load_metric("ensemble(random@x=0.5, length=0.5)")
    sample = load_benchmark("sample")
    tuning = tune(mixed, sample, Goal("sentence-accuracy"), FAST)
    assert tuning.sentences > {first}
    assert tuning.record.study["sentences"] == sorted(map(bytes.hex, tuning.sentences))
    assert len(tuning.sentences) == 71


# -- leakage ---------------------------------------------------------------------------------------


@pytest.mark.realdata
def test_only_development_parts_may_be_tuned_on(mirror: Path, planted: Benchmark) -> None:
    assert check_tuning_data(planted, Goal("kendall")) == ""
    dev10 = load_benchmark("gjg15:12:dev10")
    assert check_tuning_data(dev10, Goal("sentence-accuracy")) == ""
    for name in ("seeda-s", "seeda-e"):
        notice = check_tuning_data(load_benchmark(f"{name}:+fluency:dev"), Goal("kendall"))
        assert f"held-out folds and {name}:test are sound evidence" in notice
    with pytest.raises(LeakageError, match="tune kendall on gmeg:dev, tmu-gfm"):
        check_tuning_data(dev10, Goal("kendall"))
    with pytest.raises(LeakageError, match="tune grouped-kendall on gmeg:dev or tmu-gfm, or mark"):
        check_tuning_data(dev10, Goal("grouped-kendall"))
    of_sentences = (
        "tune sentence-accuracy on seeda-s:dev, seeda-e:dev, jfleg:FOLDER or gjg15:dev10, or"
    )
    with pytest.raises(LeakageError, match=of_sentences):
        check_tuning_data(load_benchmark("gjg15"), Goal("sentence-accuracy"))


@pytest.mark.realdata
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_benchmarks_that_are_recommended_serve_the_goal(mirror: Path, objective: Any) -> None:
    goal = Goal(objective)
    for name in goal.benchmarks:
        # The judgements of JFLEG are in a folder of the user.
        if name != "jfleg:FOLDER":
            benchmark = goal.judged(load_benchmark(name))
            check_tuning_data(benchmark, goal)
            Target(goal, benchmark, np.arange(2)[None])


@pytest.mark.realdata
def test_test_data_may_not_be_tuned_on(mirror: Path) -> None:
    for name in ("gjg15:12:test90", "gjg15", "seeda-s", "seeda-s:test"):
        with pytest.raises(LeakageError, match="sentences of CoNLL-2014, on which metrics"):
            check_tuning_data(load_benchmark(name), Goal("sentence-accuracy"))


@pytest.mark.realdata
def test_tuned_on_test_is_marked(mirror: Path) -> None:
    seeda = load_benchmark("seeda-s")
    metric = load_metric("ensemble(length=0.5, random=0.5)")
    with pytest.raises(LeakageError, match="tuned_on_test=True"):
        tune(metric, seeda, Goal("sentence-accuracy"), FAST)
    tuning = tune(
        metric, seeda, Goal("sentence-accuracy"), dataclasses.replace(FAST, tuned_on_test=True)
    )
    assert tuning.record.tuned_on_test
    # The flag marks only what deserves it.
    sample = load_benchmark("sample")
    tuning = tune(
        metric, sample, Goal("sentence-accuracy"), dataclasses.replace(FAST, tuned_on_test=True)
    )
    assert not tuning.record.tuned_on_test
