"""Which question comes next: probabilities, counts, and samples that keep every kind of sentence."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from learnedgec.judging.sampling import Cells, count_wins, pair_information, spread
from learnedgec.stats.skills import bradley_terry, expected_win_rates


def test_the_skills_are_where_the_posterior_is_highest() -> None:
    wins = np.random.default_rng(0).integers(0, 9, (4, 4)).astype(float)
    np.fill_diagonal(wins, 0)
    skills, covariance = bradley_terry(wins, deviation=0.7)

    def posterior(values: np.ndarray) -> float:
        chance = 1 / (1 + np.exp(values - values[:, None]))
        return float((wins * np.log(chance)).sum() - (values**2).sum() / (2 * 0.7**2))

    for number in range(4):
        step = np.eye(4)[number] * 1e-3
        assert posterior(skills) > max(posterior(skills + step), posterior(skills - step))
        second = (
            posterior(skills + step) - 2 * posterior(skills) + posterior(skills - step)
        ) / 1e-6
        assert -second == pytest.approx(np.linalg.inv(covariance)[number, number], rel=1e-3)


def test_skills_of_many_tables_at_once_equal_those_of_each() -> None:
    wins = np.random.default_rng(1).integers(0, 9, (5, 3, 3)).astype(float)
    together = bradley_terry(wins)
    for number, table in enumerate(wins):
        for whole, alone in zip(together, bradley_terry(table), strict=True):
            assert whole[number] == pytest.approx(alone, abs=1e-6)


def test_a_system_that_met_only_weak_opponents_gains_nothing_by_it() -> None:
    # a and b are equal; a met c, which loses to everyone, and b met d, which wins as often as it loses.
    wins = np.zeros((4, 4))
    wins[0, 2], wins[2, 0] = 36, 4
    wins[1, 2], wins[2, 1] = 36, 4
    wins[1, 3] = wins[3, 1] = 20
    rates = expected_win_rates(bradley_terry(wins, deviation=10)[0])
    assert rates[0] == pytest.approx(rates[1], abs=0.01)


def test_close_and_uncertain_pairs_are_worth_most() -> None:
    wins = np.array([[0.0, 15, 28], [15, 0, 28], [2, 2, 0]])
    worth = pair_information(wins)
    assert worth[0, 1] > 10 * worth[0, 2]
    fewer = pair_information(np.array([[0.0, 15, 1], [15, 0, 1], [1, 1, 0]]))
    assert fewer[0, 2] > fewer[0, 1]


def test_probabilities_are_of_open_cells_and_prefer_what_tells_much() -> None:
    cells = Cells([[(0, 1), (2,)], [(0,), (1,), (2,)], [(0,), (1, 2)]], systems=3)
    assert cells.sentence.tolist() == [0, 1, 1, 1, 2]
    wins = np.array([[0.0, 15, 28], [15, 0, 28], [2, 2, 0]])
    cells.close(1, [(0,), (1,)])
    plain = cells.probabilities(wins, informative=False)
    assert plain.tolist() == [0.25, 0, 0.25, 0.25, 0.25]
    shares = cells.probabilities(wins, informative=True)
    assert shares.sum() == pytest.approx(1)
    assert shares[1] == 0
    # Of the open cells, the last one alone compares the two systems that are close.
    assert shares[4] > 0.7
    assert shares[[0, 2, 3]].min() >= 0.3 / 4


def test_the_weight_of_a_draw_is_that_of_a_plain_sample() -> None:
    cells = Cells([[(0,), (1,)], [(0,), (2,)]], systems=3)
    wins = np.array([[0.0, 15, 28], [15, 0, 28], [2, 2, 0]])
    random = np.random.default_rng(0)
    shares = cells.probabilities(wins, informative=True)
    drawn = [cells.draw(wins, random, informative=True) or (0, 0.0) for _ in range(400)]
    assert np.mean([cell == 0 for cell, _ in drawn]) == pytest.approx(shares[0], abs=0.06)
    for cell, weight in drawn:
        assert weight == pytest.approx((0.5 / shares[cell]) ** 0.5)
    plain = cells.draw(wins, random, informative=False)
    assert plain is not None
    assert plain[1] == 1
    for sentence, groups in ((0, [(0,), (1,)]), (1, [(0,), (2,)])):
        cells.close(sentence, groups)
    assert cells.draw(wins, random, informative=True) is None


def test_wins_are_counted_for_all_systems_of_a_text() -> None:
    wins = count_wins([((0, 1), (2,), 1, 1.0), ((0,), (1,), 0, 2.0), ((2,), (1,), -1, 0.5)], 3)
    assert wins.tolist() == [[0, 1, 1], [1, 0, 1.5], [0, 0, 0]]


def test_a_spread_sample_keeps_shares_and_gives_all_the_same_chance() -> None:
    kinds = {number: "rare" if number < 10 else "common" for number in range(100)}
    drawn: Counter[int] = Counter()
    for seed in range(2000):
        chosen = spread(kinds, 20, np.random.default_rng(seed))
        assert len(set(chosen)) == 20
        assert sum(kinds[number] == "rare" for number in chosen) == 2
        drawn.update(chosen)
    assert min(drawn.values()) > 320
    assert max(drawn.values()) < 480
