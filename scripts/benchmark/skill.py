"""Time TrueSkill over pairwise games: learnedgec against the package `trueskill`, same games, same order.

    python scripts/benchmark/skill.py

Also checks that the ratings are equal, and times the same rating on many bootstrap resamples at once,
which the package would have to repeat for each.
"""

from __future__ import annotations

import itertools

import numpy as np
import trueskill
from measuring import Stopwatch

from learnedgec.stats.resampling import Resampling, resample
from learnedgec.stats.skills import rate_resamples, rate_scores

GAMES, SYSTEMS, RESAMPLES = 60_000, 12, 1000

Game = tuple[int, int, int]


def make_scores(systems: int, games: int, seed: int) -> np.ndarray:
    """Return sentence scores with ties of systems of different strength, enough for so many games."""
    sentences = -(-games // (systems * (systems - 1) // 2))
    generator = np.random.default_rng(seed)
    strength = np.linspace(-0.5, 0.5, systems)[:, None]
    scores: np.ndarray = np.round(strength + generator.normal(0, 1, (systems, sentences)), 1)
    return scores


def games_of(scores: np.ndarray) -> list[Game]:
    return [
        (a, b, int(np.sign(row[a] - row[b])))
        for row in scores.T
        for a, b in itertools.combinations(range(len(scores)), 2)
    ]


def rate_with_package(games: list[Game], systems: int) -> np.ndarray:
    environment = trueskill.TrueSkill(0.0, 0.5, 0.25, 0.0, 0.25)
    ratings = [environment.create_rating() for _ in range(systems)]
    for a, b, outcome in games:
        ranks = {1: (0, 1), -1: (1, 0), 0: (0, 0)}[outcome]
        (ratings[a],), (ratings[b],) = environment.rate([(ratings[a],), (ratings[b],)], ranks=ranks)
    return np.array([(rating.mu, rating.sigma) for rating in ratings])


def main() -> None:
    scores = make_scores(SYSTEMS, GAMES, seed=0)
    games = games_of(scores)

    watch = Stopwatch()
    expected = rate_with_package(games, SYSTEMS)
    package = watch.wall
    watch = Stopwatch()
    ratings = np.stack(rate_scores(scores), axis=1)
    ours = watch.wall
    print(f"{len(games):,} games of {SYSTEMS} systems, one thread")
    print(f"trueskill {trueskill.__version__}: {package:8.2f} s")
    print(f"learnedgec:     {ours:8.2f} s, {package / ours:.0f} times as fast")
    print(f"largest difference of mu or sigma: {np.abs(ratings - expected).max():.1e}")

    samples = resample(scores.shape[1], Resampling(RESAMPLES))
    watch = Stopwatch()
    rate_resamples(scores, samples)
    many = watch.wall
    times = RESAMPLES * package / many
    print(f"{RESAMPLES:,} resamples at once: {many:.1f} s, {times:,.0f} times as fast on each")


if __name__ == "__main__":
    main()
