"""Robustness of metrics' preferences, worked out by hand and against a slow computation."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from embedded import SAMPLE_FOLDER

from learnedgec import References, Resampling, load_metric
from learnedgec.data.catalog import Case, Pair
from learnedgec.data.catalog.cases import read_cases
from learnedgec.errors import InputError
from learnedgec.metrics.contract import Metric
from learnedgec.robustness.metrics import PreferenceRobustness, evaluate_preferences

LENGTH = load_metric("length")


def case(*pairs: tuple[str, str]) -> Case:
    original, *variants = (Pair(*pair) for pair in pairs)
    return Case(original, tuple(variants))


def evaluate(cases: list[Case], metric: Metric = LENGTH) -> PreferenceRobustness:
    (result,) = evaluate_preferences([metric], {"mine": cases}, resampling=Resampling(30))
    return result


def test_worked_out_by_hand() -> None:
    # With the metric `length`, a margin is how many tokens the target has more.
    #
    #   case  margins    mean  variance           consistent  right
    #   1     1  1       1     0                  1/1         2/2
    #   2     2  0  -2   0     8/3                0/2         1/3
    #   3     0  0       0     0                  1/1         0/2
    cases = [
        case(("a", "a b"), ("c", "c d")),
        case(("a", "a b c"), ("a b", "b a"), ("a b c", "c")),
        case(("a", "b"), ("a c", "b c")),
    ]
    unchanged = case(("a", "b c"), ("d", "d"))
    result = evaluate([*cases, unchanged])
    assert (result.count, result.left_out, result.metric) == (3, 1, "length")
    assert result.accuracy.value == pytest.approx(3 / 7)
    assert result.ties.value == pytest.approx(3 / 7)
    assert result.always.value == pytest.approx(1 / 3)
    assert result.crs.value == pytest.approx(2 / 3)
    assert result.p_crs.value == pytest.approx(2 / 4)
    margins = [1, 1, 2, 0, -2, 0, 0]
    assert result.margin.value == pytest.approx(2 / 7)
    assert result.spread.value == pytest.approx((8 / 3) ** 0.5 / 3)
    assert result.within.value == pytest.approx(8 / 7 / statistics.pvariance(margins))
    for name in ("accuracy", "ties", "always", "crs", "p_crs"):
        estimate = getattr(result, name)
        assert 0 <= estimate.low < estimate.value < estimate.high <= 1
    # Three cases are too few for intervals of means.
    for estimate in (result.margin, result.spread, result.within):
        assert np.isnan([estimate.low, estimate.high]).all()


def test_context_that_decides_alone_and_context_that_does_nothing() -> None:
    moved = case(("a", "a b"), ("a", "a b c"), ("a b c", "c"))
    assert evaluate([moved, moved]).within.value == pytest.approx(1)
    still = [case(("a", "a b"), ("c", "c d")), case(("a", "a b c"), ("c", "c d e"))]
    assert evaluate(still).within.value == pytest.approx(0)
    constant = evaluate(still, load_metric("constant"))
    assert np.isnan(constant.within.value)
    assert (constant.crs.value, constant.accuracy.value, constant.ties.value) == (1, 0, 1)


def test_total_and_sets_with_different_numbers_of_variants() -> None:
    single = [case(("a", "a b"), ("c", "c d"))]
    two = [case(("a", "a b c"), ("a b", "b a"), ("a b c", "c"))]
    results = evaluate_preferences([LENGTH], {"one": single, "two": two}, resampling=Resampling(5))
    assert [result.cases for result in results] == ["one", "two", "total"]
    assert results[2].accuracy.value == pytest.approx(3 / 5)
    # One variant of the first set is consistent, none of two of the second.
    assert results[2].p_crs.value == pytest.approx(1 / 3)


def test_sample_with_and_without_references() -> None:
    cases = read_cases(SAMPLE_FOLDER / "robust" / "para.txt")
    pairs = [pair for case in cases for pair in case.pairs]
    pairs = [pair for n, pair in enumerate(pairs) if n // 6 != 4]  # case 5 has no error
    sources, targets = [p.source for p in pairs], [p.target for p in pairs]
    metrics = [load_metric(name) for name in ("gleu", "random", "m2", "sentm2")]
    results = evaluate_preferences(metrics, {"sample": cases}, resampling=Resampling(5))
    for metric, result in zip(metrics, results, strict=True):
        references = References.from_texts(targets)
        better = metric.score(sources, targets, references).sentences
        worse = metric.score(sources, sources, references).sentences
        assert (result.metric, result.count, result.left_out) == (metric.label, 5, 1)
        assert result.accuracy.value == pytest.approx(np.mean(better > worse))
        assert result.margin.value == pytest.approx(np.mean(better - worse))
        spreads = [np.std(row) for row in (better - worse).reshape(5, 6)]
        assert result.spread.value == pytest.approx(np.mean(spreads))
        assert sum(g.count for g in result.groups if g.dimension == "action") == 25
        for group in result.groups:
            assert 0 <= group.consistent.value <= 1
    assert results[0].accuracy.value == 1
    # The target is the reference: right by construction, and M2's margin is always 1.
    assert results[2].margin.value == 1


def test_nothing_to_prefer() -> None:
    with pytest.raises(InputError, match="mine has no case to evaluate"):
        evaluate([case(("a", "a"), ("b", "c"))])
