"""One rule for ties: by hand, against a literal loop, and the same wherever wins are counted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnedgec.analysis.meta.agreement import agreement, at_equal_counts, tie_threshold
from learnedgec.data.benchmarks.base import Comparisons
from learnedgec.stats.significance import (
    is_significant,
    outcomes,
    resamples_needed,
    win_counts,
    win_shares,
)
from learnedgec.stats.skills import rate_scores

SCORES = st.floats(-1e6, 1e6)


def literal(first: float, second: float) -> float:
    """Return who is ahead as a person would say it."""
    if math.isclose(first, second, rel_tol=1e-12, abs_tol=1e-12):
        return 0.0
    return 1.0 if first > second else -1.0


@given(SCORES, SCORES, st.sampled_from([0.0, 1e-16, 1e-13, 1e-9, 0.1]))
def test_outcomes_are_those_of_a_literal_loop(first: float, second: float, step: float) -> None:
    for a, b in ((first, second), (first, first + step)):
        outcome = float(outcomes(np.array(a), np.array(b)))
        assert outcome == literal(a, b)
        assert float(outcomes(np.array(b), np.array(a))) == -outcome


def test_infinity_and_what_is_no_number() -> None:
    first = np.array([np.inf, np.inf, -np.inf, np.nan])
    second = np.array([np.inf, 1.0, 1.0, 1.0])
    assert outcomes(first, second).tolist() == [0.0, 1.0, -1.0, 0.0]


def test_rounding_is_a_tie_everywhere() -> None:
    scores = np.array([[0.1 + 0.2, 0.5], [0.3, 0.4]])
    assert scores[0, 0] != scores[1, 0]
    wins = win_counts(scores)
    assert wins.tolist() == [[0.0, 1.0], [0.0, 0.0]]
    assert win_shares(wins, 2 - wins - wins.T).tolist() == [[0.0, 0.5], [0.0, 0.0]]
    comparisons = Comparisons(("a", "b"), *np.array([[0, 1], [0, 0], [1, 1], [1, -1]]))
    result = agreement(scores, comparisons)
    assert result.tied.tolist() == [1.0, 0.0]
    assert (
        tie_threshold(scores[:, :1], Comparisons(("a", "b"), *np.array([[0], [0], [1], [0]]))) == 0
    )
    assert len(at_equal_counts(comparisons, scores)) == 1
    equal = np.array([[0.3, 0.5], [0.3, 0.4]])
    assert [x.tolist() for x in rate_scores(scores)] == [x.tolist() for x in rate_scores(equal)]


@pytest.mark.parametrize("comparisons", [1, 3, 78, 1000])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_resamples_needed_are_the_fewest(comparisons: int, level: float) -> None:
    needed = resamples_needed(comparisons, level)
    assert is_significant(comparisons / (needed + 1), level)
    assert not is_significant(comparisons / needed, level)
