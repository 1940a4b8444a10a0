"""Comparisons with a baseline: equal to what ranking computes, and the sentence that a paper takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from embedded import Sample

from learnedgec import Resampling, Statistics, load_metric
from learnedgec.analysis.comparison import BaselineComparison, compare, comparisons_with
from learnedgec.analysis.ranking import rank, rank_systems
from learnedgec.errors import InputError, UnknownNameError
from learnedgec.scoring import bind_one
from learnedgec.stats.significance import holm


def compare_systems(
    metric: Any, statistics: Any, baseline: str, **settings: Any
) -> list[BaselineComparison]:
    """Return the comparisons of systems whose statistics are known with a baseline."""
    ranking = rank_systems(metric, statistics, baseline=baseline, **settings)
    return comparisons_with(baseline, ranking)


@pytest.mark.parametrize("all_pairs", [False, True])
def test_differences_and_tests_are_those_of_a_ranking(all_pairs: bool, sample: Sample) -> None:
    inputs = ("gleu", sample.sources, sample.systems, sample.references)
    settings: dict[str, Any] = {"resampling": Resampling(200, seed=3)}
    ranking = rank(*inputs, baseline=None if all_pairs else "weak", **settings)
    rows = comparisons_with("weak", ranking)
    if not all_pairs:
        assert compare(*inputs, baseline="weak", **settings) == rows
    names = list(ranking.systems)
    base, size = names.index("weak"), len(sample.sources)
    assert [row.system for row in rows] == [name for name in names if name != "weak"]
    for row in rows:
        place = names.index(row.system)
        assert row.score == ranking.scores[place]
        assert row.difference == ranking.scores[place] - ranking.scores[base]
        assert row.bounds == tuple(ranking.intervals[place])
        assert row.p_adjusted == ranking.p_adjusted[place, base]
        assert row.p_in_words == ranking.p_in_words(place, base)
        assert row.correction == ranking.correction
        wins, losses = ranking.wins[place, base] * size, ranking.wins[base, place] * size
        assert (row.wins, row.losses) == pytest.approx((wins, losses))
        assert row.wins + row.ties + row.losses == size
        assert row.difference_bounds[0] <= row.difference <= row.difference_bounds[1]
    if not all_pairs:
        # The correction is for these comparisons alone, and nothing else is compared.
        raw = np.array([row.p for row in rows])
        assert [row.p_adjusted for row in rows] == pytest.approx(holm(raw).tolist())
        apart = np.delete(np.delete(ranking.p_adjusted, base, 0), base, 1)
        assert np.isnan(apart[~np.eye(len(apart), dtype=bool)]).all()


def test_the_sentence_says_what_was_found() -> None:
    metric = load_metric("length")
    systems = {"A": ["a"] * 40, "B": ["a b"] * 40, "C": ["a"] * 39 + ["a b"], "D": ["a"] * 40}
    statistics = bind_one(metric).statistics(["a"] * 40, systems)
    better, same, equal = compare_systems(metric, statistics, "A", resampling=Resampling(500))
    assert better.significant
    assert better.sentence == (
        "B has a higher value than A by length (2.0000 against 1.0000; difference +1.0000, uncorrected 95% "
        "CI [+1.0000, +1.0000], p ≤ .006 after Holm's correction for 3 comparisons with A, paired bootstrap "
        "over 40 sentences with 500 resamples)."
    )
    assert same.sentence.startswith(
        "C and A cannot be told apart by length, because they differ on only 1 of 40 sentences, and a "
        "significant difference needs 6 (1.0250 and 1.0000; "
    )
    assert same.difference_bounds[0] == 0.0
    assert not same.significant
    assert equal.sentence == "D and A score the same by length (1.0000)."
    worse = compare_systems(metric, statistics, "B", resampling=Resampling(500))[0]
    assert worse.sentence.startswith(
        "A has a lower value than B by length (1.0000 against 2.0000; "
    )
    # The name has no parameters, unless the caller says so.
    long = replace(worse, metric="length(unit='char')")
    assert long.sentence == worse.sentence
    assert " by length#2 (" in long.sentence_about("length#2")


@pytest.mark.parametrize("size", [1, 2, 5, 6, 10])
def test_p_values_from_few_sentences_are_those_of_all_swaps(size: int) -> None:
    # The better system wins on every sentence: only no swap and all swaps are as far apart.
    metric = load_metric("length")
    statistics = bind_one(metric).statistics(
        ["a"] * size, {"base": ["a"] * size, "ours": ["a b"] * size}
    )
    (row,) = compare_systems(metric, statistics, "base")
    assert row.p == pytest.approx(2 / 2**size if size > 1 else np.nan, nan_ok=True)
    assert row.significant == (size > 5)
    assert np.isnan([*row.bounds, *row.difference_bounds]).all() == (size < 6)
    needs = f"only {size} of {size} sentence{'s' if size > 1 else ''}, and a significant difference needs 6"
    assert (needs in row.sentence) == (size < 6)
    assert row.sentence.endswith(
        "(2.0000 and 1.0000; difference +1.0000)."
        if size == 1
        else f"exact paired permutation over {size} sentences)."
    )


def test_an_interval_holds_0_where_few_sentences_differ_and_the_test_says_so() -> None:
    metric = load_metric("length")
    systems = {"base": ["a"] * 200, "ours": ["a b"] * 5 + ["a"] * 195}
    (row,) = compare_systems(metric, bind_one(metric).statistics(["a"] * 200, systems), "base")
    assert (row.differing, row.p) == (5, 2 / 2**5)
    assert row.difference_bounds == pytest.approx((0.0, 0.05), abs=0.01)
    assert row.difference_bounds[0] == 0.0


def test_a_system_without_scores_has_no_result() -> None:
    statistics = {
        "base": Statistics({"score": np.zeros(40)}),
        "ours": Statistics({"score": np.full(40, np.nan)}),
    }
    (row,) = compare_systems(load_metric("length"), statistics, "base")
    assert row.sentence == "ours has no score by length."
    assert not row.significant
    assert np.isnan([row.p, row.p_adjusted, row.difference, *row.difference_bounds]).all()


def test_bad_input() -> None:
    metric = load_metric("length")
    statistics = bind_one(metric).statistics(["a"], {"A": ["a"], "B": ["b"]})
    with pytest.raises(UnknownNameError, match="'C'"):
        compare_systems(metric, statistics, "C")
    with pytest.raises(InputError, match="no system beside"):
        compare_systems(metric, {"A": statistics["A"]}, "A")
    with pytest.raises(InputError, match="resamples is 0; give 1 or more"):
        compare_systems(metric, statistics, "A", resampling=Resampling(0))


def test_too_few_sentences_have_no_interval() -> None:
    (row,) = compare("length", ["a"] * 3, {"A": ["a"] * 3, "B": ["a b"] * 3}, baseline="A")
    assert repr(row) == "BaselineComparison(length: B 2.0000, A 1.0000, +1.0000, p = .250)"
