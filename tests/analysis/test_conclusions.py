"""What rankings say in words: the largest difference, the baseline, and guidance where metrics disagree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learnedgec import Resampling, load_benchmark, load_metric
from learnedgec.analysis.comparison import comparisons_with
from learnedgec.analysis.conclusions import (
    about_people,
    compared,
    conflicts,
    guidance,
    leaders,
    used_tests,
    verdict,
)
from learnedgec.analysis.meta.evaluation import evaluate
from learnedgec.analysis.meta.measures import Protocol
from learnedgec.analysis.ranking import SystemRanking, rank_systems
from learnedgec.metrics.contract import Statistics
from learnedgec.report.overview import rank_agreement
from learnedgec.scoring import bind


def ranked(
    *scores: float,
    sentences: int = 200,
    baseline: str | None = None,
    resampling: Resampling = Resampling(400),
) -> SystemRanking:
    """Return a ranking of systems that differ by little or much."""
    random = np.random.default_rng(0)
    noise = random.normal(size=(len(scores), sentences))
    statistics = {
        f"s{number}": Statistics({"score": score + noise[number]})
        for number, score in enumerate(scores)
    }
    return rank_systems(load_metric("length"), statistics, baseline=baseline, resampling=resampling)


def test_metrics_that_disagree() -> None:
    first, other = ranked(9.0, 5.0, 1.0), ranked(1.0, 5.0, 9.0)
    assert rank_agreement([first, other]) == [[1.0, -1.0], [-1.0, 1.0]]
    pairs = conflicts([first, other])
    assert [pair["systems"] for pair in pairs if pair["significant"]] == [[0, 1], [0, 2], [1, 2]]
    assert conflicts([first, first]) == []
    to_baseline = [ranked(*s, baseline="s0") for s in ((9.0, 5.0, 1.0), (1.0, 5.0, 9.0))]
    assert [pair["systems"] for pair in conflicts(to_baseline)] == [[0, 1], [0, 2]]


def advice(edits: tuple[float, ...] = (1.0, 1.0, 1.0), **scores: tuple[float, ...]) -> list[str]:
    """Return the guidance for metrics that give systems these scores."""
    names = [name.replace("_", "-") for name in scores]
    metrics = dict(zip(bind(names), (ranked(*of) for of in scores.values()), strict=True))
    return guidance(metrics, np.array(edits))


def test_guidance() -> None:
    up, down = (9.0, 5.0, 1.0), (1.0, 5.0, 9.0)
    (mixed,) = advice(gleu=up, m2=up, some=down)
    assert mixed.startswith(
        "gleu and m2 put s0 above s1, and some[joint-mpnet-3] puts s1 above s0, all significantly. This "
        "holds for 2 more pairs of systems. Metrics with references punish good rewrites that the "
    )
    (alike,) = advice(gleu=up, m2=down)
    assert "references" not in alike
    assert "read the sentences on which the metrics disagree" in alike
    # A sentinel disagrees with no metric.
    assert advice(gleu=up, edit_count=down) == []
    assert advice((3.0, 2.0, 1.0), some=up, m2=up, edit_count=up) == [
        "some[joint-mpnet-3] and m2 order the 3 systems exactly as the number of edited tokens does "
        "(edit-count). This order says little about correctness: check it with a metric of another kind, or "
        "with people."
    ]
    # Of two systems, every second metric has this order.
    assert advice((3.0, 2.0), some=(9.0, 1.0)) == []


def test_leaders_are_named_in_one_sentence() -> None:
    def said(*scores: float, baseline: str | None = None) -> str:
        return leaders([replace(ranked(*scores, baseline=baseline), metric="gleu")])

    test = "(paired bootstrap, p < 0.05 after Holm's correction for"
    assert said(9.0, 5.0, 5.0) == f"By gleu, s0 is best {test} all 3 pairs)."
    assert said(5.0, 5.0, 1.0).startswith("By gleu, s0 is not significantly better than s1 (")
    equal = ranked(5.0, 5.0, 1.0)
    equal.scores[:2] = 5.0
    assert leaders([replace(equal, metric="gleu")]) == (
        f"By gleu, s0 and s1 have the same score, which is the best {test} all 3 pairs)."
    )
    many = ranked(5.0, 5.01, 4.99, 5.0, 5.0, 5.01, 1.0, resampling=Resampling(600))
    assert leaders([replace(many, metric="gleu")]).startswith(
        "By gleu, s5 is not significantly better than s0, s2, s3 and 2 more ("
    )
    apart = "200 sentences do not tell the 3 systems apart"
    assert said(5.0, 5.0, 5.0) == f"By gleu, {apart} {test} all 3 pairs)."
    assert said(5.0, 5.0).startswith("By gleu, 200 sentences do not tell s0 and s1 apart (")
    assert said(5.0, 5.0, 5.0, baseline="s1").startswith(
        "By gleu, 200 sentences do not tell s0 and s2 from s1 ("
    )
    assert said(9.0, 5.0, 1.0, baseline="s1") == (
        f"By gleu, s0 is significantly better than s1 {test} 2 comparisons with s1)."
    )
    assert said(1.0, 5.0, baseline="s1").startswith(
        "By gleu, no system is significantly better than s1"
    )
    assert said(5.0) == "s0 scores 5.0153, 95% CI [4.8741, 5.1433]."
    assert leaders([ranked(9.0, 5.0)]) == ""
    assert "99.9% CI" in leaders(
        [replace(ranked(5.0, resampling=Resampling(400, 0.999)), metric="gleu")]
    )
    assert said(np.nan) == "s0 has no score."
    assert said(np.nan, np.nan) == "By gleu, no system has a score."


def test_the_tests_are_those_of_all_metrics() -> None:
    many, few = ranked(9.0, 1.0), replace(ranked(9.0, 1.0, sentences=20), metric="gleu")
    # The correction is for the pairs of each metric, so a sum over metrics would contradict it.
    mixed = "paired bootstrap and paired permutation"
    assert used_tests([many, few]) == mixed
    assert leaders([few, replace(many, metric="m2(beta=1.0)")]) == (
        f"By gleu and m2, s0 is best ({mixed}, p < 0.05)."
    )
    both = [replace(many, metric=metric) for metric in ("m2", "m2(beta=1.0)")]
    assert leaders(both).startswith("By m2 and m2(beta=1.0), s0 is best (")


def test_people_decide_first() -> None:
    benchmark = load_benchmark("sample")
    evaluation = evaluate(["gleu", "m2"], benchmark, Protocol(resampling=Resampling(50)))
    gleu, m2, *_ = evaluation.metrics
    order = [evaluation.systems[number] for number in evaluation.order]
    scores = np.arange(4.0)[np.argsort(np.argsort(evaluation.human_scores))]
    worst_second = scores.copy()
    worst_second[evaluation.order[1:]] = [1.0, 0.0, 2.0]
    metrics = [
        replace(gleu, scores=scores),
        replace(m2, scores=worst_second),
        replace(m2, metric="green", scores=worst_second),
        replace(m2, metric="length", scores=-scores, sentinel=True),
        replace(m2, metric="none", scores=scores * np.nan),
    ]
    decided = np.array([np.nan, 0.01, 0.01, 0.01])[np.argsort(evaluation.order)]
    changed = replace(evaluation, metrics=tuple(metrics), human_p_values=decided)
    names = {name: name for name in ("gleu", "m2", "green", "none")}
    said = about_people(changed, names)
    best = evaluation.human_scores[evaluation.order[0]]
    low, high = evaluation.human_intervals[evaluation.order[0]]
    assert said.startswith(
        f"People (EW) put the systems in the order {order[0]} ({best:.3f} [{low:.2f}, {high:.2f}]), "
    )
    assert said.endswith(
        f". By gleu, the order is the same; by m2 and green, {order[3]} is on rank 2, by people on 4."
    )
    assert "Their judgements" not in said  # 50 resamples are too few
    many = replace(changed, protocol=Protocol(resampling=Resampling(1000)))
    assert "). Their judgements tell the first from all others. By gleu" in about_people(
        many, names
    )
    decided[evaluation.order[2]] = 0.05
    said = about_people(many, names)
    assert f"). Their judgements do not tell the first from {order[2]}. By gleu" in said
    published = replace(many, human_p_values=decided * np.nan)
    assert "Their judgements" not in about_people(published, names)


def test_comparisons_are_joined_by_their_result() -> None:
    noise = np.random.default_rng(0).normal(size=(5, 200))
    means = {"base": 5.0, "high": 9.0, "low": 1.0, "near": 5.0, "none": np.nan}
    statistics = {
        name: Statistics({"score": mean + row})
        for (name, mean), row in zip(means.items(), noise, strict=True)
    }
    ranking = rank_systems(
        load_metric("length"), statistics, baseline="base", resampling=Resampling(400)
    )
    rows = comparisons_with("base", ranking)
    said = compared(rows, "gleu")
    assert said.startswith("By gleu, high (+")
    for part in (
        ") has a higher value than base; low (-",
        ") has a lower value than base; near (",
        "none cannot be",
    ):
        assert part in said
    assert "paired bootstrap over 200 sentences with 400 resamples)." in said
    # The metric is a sentinel.
    assert "resamples). Neither direction of gleu is better." in said
    failures = {row.system: row.failure("gleu") for row in rows}
    assert failures["none"] == "none has no score by gleu."
    assert failures["low"].startswith("low is significantly worse than base by gleu (-4.")
    assert failures["high"] == failures["near"] == ""
    low = next(row for row in rows if row.system == "low")
    assert low.failure("gleu", margin=3.0).endswith("; the margin is 3).")
    assert low.failure("gleu", margin=5.0) == ""
    assert replace(low, difference=-3.0).failure("gleu", margin=3.0) == ""


def test_failures_are_joined_by_their_kind() -> None:
    noise = np.random.default_rng(0).normal(size=(8, 200))
    means = {"base": 5.0, "high": 9.0, "none": np.nan, **{f"low{n}": 1.0 for n in range(5)}}
    statistics = {
        name: Statistics({"score": mean + row})
        for (name, mean), row in zip(means.items(), noise, strict=True)
    }
    ranking = rank_systems(
        load_metric("length"), statistics, baseline="base", resampling=Resampling(400)
    )
    rows = comparisons_with("base", ranking)
    names = {"length": "gleu", "m2": "m2"}
    *_, low = rows
    both = [*rows, replace(low, metric="m2")]
    after = "(p < 0.05 after Holm's correction for 7 comparisons with base)"
    assert verdict(both, names) == (
        "failed: low4 is significantly worse than base by gleu and m2; low0, low1, low2 and low3 by gleu "
        f"{after}; none has no score by gleu."
    )
    assert verdict([low], names) == f"failed: {low.failure('gleu')}"
    passed = "passed: no system is significantly worse than base"
    assert verdict([row for row in rows if row.system == "high"], names) == f"{passed}."
    assert verdict([low], names, 9) == f"{passed} by more than the margin of 9."
