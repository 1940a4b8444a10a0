"""TrueSkill: equal to the package, the same over resamples, and to the published procedure."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
import trueskill

from learnedgec.errors import InputError
from learnedgec.stats.skills import (
    ORDERS,
    rate_judgements,
    rate_orders,
    rate_resamples,
    rate_scores,
)


def play(environment: trueskill.TrueSkill, ratings: list[Any], a: int, b: int, won: int) -> None:
    """Update the ratings of a and b by a game with the package."""
    ranks = {1: (0, 1), -1: (1, 0), 0: (0, 0)}[won]
    (ratings[a],), (ratings[b],) = environment.rate([(ratings[a],), (ratings[b],)], ranks=ranks)


def rate_with_package(games: list[tuple[int, int, int]], players: int) -> np.ndarray:
    """Return mu and sigma of every player."""
    environment = trueskill.TrueSkill(0.0, 0.5, 0.25, 0.0, 0.25)
    ratings = [environment.create_rating() for _ in range(players)]
    for game in games:
        play(environment, ratings, *game)
    return np.array([[rating.mu, rating.sigma] for rating in ratings]).T


def test_scores_are_one_pass_over_sentences_and_pairs() -> None:
    scores = np.random.default_rng(0).integers(0, 3, (5, 40)).astype(float)
    games = [
        (a, b, int(np.sign(scores[a, n] - scores[b, n])))
        for n in range(40)
        for a, b in itertools.combinations(range(5), 2)
    ]
    expected = rate_with_package(games, 5)
    assert np.array(rate_scores(scores)) == pytest.approx(expected, rel=0, abs=1e-9)


def test_ordered_comparisons_play_each_pair_twice() -> None:
    # Goto et al. (2025) write of N(N - 1) comparisons of N systems on a sentence.
    scores = np.random.default_rng(1).integers(0, 3, (4, 30)).astype(float)
    games = [
        (a, b, int(np.sign(scores[a, n] - scores[b, n])))
        for n in range(30)
        for a, b in itertools.permutations(range(4), 2)
    ]
    mu, sigma = rate_scores(scores, "ordered")
    assert np.array([mu, sigma]) == pytest.approx(rate_with_package(games, 4), rel=0, abs=1e-9)
    assert (sigma < rate_scores(scores)[1]).all()
    every = np.arange(30)[None]
    assert rate_resamples(scores, every, "ordered")[0] == pytest.approx(mu, rel=0, abs=1e-6)


def literal_run(wins: np.ndarray, ties: np.ndarray, seed: int) -> list[float]:
    """One run of the published procedure with the package, game by game."""
    chance = random.Random(seed)
    systems = len(wins)
    outcomes = {
        (a, b): [1] * int(wins[a, b]) + [-1] * int(wins[b, a]) + [0] * int(ties[a, b])
        for a, b in itertools.combinations(range(systems), 2)
    }
    games = sum(map(len, outcomes.values())) + 1
    environment = trueskill.TrueSkill(0.0, 0.5, 0.5 * games / 40, 0.0, 0.25)
    ratings = [environment.create_rating() for _ in range(systems)]
    for _ in range(games):
        a = max(range(systems), key=lambda s: (ratings[s].sigma, s))
        others = [s for s in range(systems) if s != a]
        weights = [np.exp(-abs(ratings[a].mu - ratings[s].mu)) for s in others]
        b = chance.choices(others, weights)[0]
        a, b = sorted((a, b))
        play(environment, ratings, a, b, chance.choice(outcomes[a, b]))
    return [rating.mu for rating in ratings]


def test_judgements_agree_with_the_published_procedure() -> None:
    wins = np.array([[0.0, 12.0, 18.0], [6.0, 0.0, 10.0], [2.0, 8.0, 0.0]])
    ties = np.array([[0.0, 4.0, 1.0], [4.0, 0.0, 6.0], [1.0, 6.0, 0.0]])
    expected = np.array([literal_run(wins, ties, seed) for seed in range(60)])
    ratings = rate_judgements(wins, ties, runs=2000)
    # Both are random: means agree within four standard errors, spreads within a third.
    error = expected.std(axis=0) / np.sqrt(len(expected))
    assert (abs(ratings.mean(axis=0) - expected.mean(axis=0)) < 4 * error).all()
    assert ratings.std(axis=0) == pytest.approx(expected.std(axis=0), rel=1 / 3)


def test_a_system_without_judgements_is_refused() -> None:
    wins = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    with pytest.raises(InputError, match="never compared"):
        rate_judgements(wins, np.zeros((3, 3)), runs=2)


def test_neither_names_nor_lines_matter_for_the_mean_over_orders() -> None:
    chance = np.random.default_rng(3)
    scores = chance.integers(0, 4, (5, 60)) + chance.normal(0, 0.01, (5, 1))
    systems, sentences = chance.permutation(5), chance.permutation(60)
    mixed = scores[systems][:, sentences]
    orders = rate_orders(scores)
    assert orders.shape == (ORDERS, 5)
    assert rate_orders(mixed) == pytest.approx(orders[:, systems], rel=0, abs=1e-12)
    # One order as listed depends on both, as much as single orders differ.
    listed = rate_scores(scores)[0]
    assert abs(rate_scores(mixed)[0] - listed[systems]).max() > 0.05
    assert abs(orders.mean(axis=0) - listed).max() < 4 * orders.std(axis=0).max()
    assert orders.std(axis=0).min() > 0.01


def test_an_order_is_one_pass_over_all_games() -> None:
    # With one pair on one sentence there is one order.
    scores = np.array([[0.0], [1.0]])
    expected = rate_scores(scores)[0]
    for mu in rate_orders(scores, 3):
        assert mu == pytest.approx(expected, rel=0, abs=1e-6)
    # Each system has as many games as in one pass: its variance is the same if all games are alike.
    equal = np.zeros((3, 7))
    assert rate_orders(equal, 2) == pytest.approx(np.zeros((2, 3)), abs=1e-9)


def test_orders_shuffle_the_sentences() -> None:
    """Two systems play one game on each sentence, so that the order of sentences is all there is."""
    skills = rate_orders(np.array([[1.0, 1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 1.0]]))
    assert (skills.std(axis=0) > 0.05).all()
