"""One score per system out of what a metric knows about each sentence.

- `mean`: the metric's own corpus score (the mean sentence score, unless the metric says otherwise);
- `expected-wins`: how often a system's sentence score beats an opponent's, mean over opponents;
- `trueskill`: a rating from one pass over every sentence's pairs of systems (Goto et al. 2025);
- `trueskill-ordered`: the same over ordered pairs, so that each pair meets twice (`rate_scores` describes the
  difference).

Everything starts from `Statistics`, so no metric runs twice, and every resample keeps a system's
sentences paired with the others'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np

from learnedgec.errors import InputError, UnknownNameError
from learnedgec.metrics.base import Metric, Statistics
from learnedgec.stats.outcomes import outcomes, win_counts
from learnedgec.stats.resampling import multiplicities
from learnedgec.stats.skills import Games, rate_resamples, rate_scores
from learnedgec.types import Floats, Indices

Aggregation = Literal["mean", "expected-wins", "trueskill", "trueskill-ordered"]

_GAMES: Mapping[str, Games] = {"trueskill": "unordered", "trueskill-ordered": "ordered"}


def expected_wins(wins: Floats) -> Floats:
    """Return the expected wins of each system, float64 (…, S).

    The mean over opponents of wins/(wins + losses); ties are left out, and an opponent that was
    neither beaten nor lost to counts 0.

    Source: Bojar et al., "Findings of the 2013 Workshop on Statistical Machine Translation" (2013);
    equal to the 13 published values of Grundkiewicz et al. (2015).

    Args:
        wins: (…, S, S), how often the row's system beat the column's.

    Example:
        >>> expected_wins(np.array([[0.0, 3.0], [1.0, 0.0]])).tolist()
        [0.75, 0.25]
    """
    games = wins + wins.swapaxes(-1, -2)
    shares = np.divide(wins, games, out=np.zeros_like(games), where=games > 0)
    means: Floats = shares.sum(axis=-1) / max(wins.shape[-1] - 1, 1)
    return means


def system_scores(
    metric: Metric,
    statistics: Sequence[Statistics],
    by: Aggregation = "mean",
) -> Floats:
    """Return the score of each of S systems, float64 (S,).

    Args:
        metric: the metric that computed the statistics.
        statistics: one per system, all of the same N sentences.
        by: how sentences become one score; TrueSkill depends on the order of systems and sentences.

    Raises:
        UnknownNameError: there is no such aggregation.
        InputError: it needs at least two systems.
    """
    _check(statistics, by)
    if by == "mean":
        return np.array([metric.aggregate(of_system) for of_system in statistics])
    scores = sentence_scores(metric, statistics)
    if by in _GAMES:
        return rate_scores(scores, _GAMES[by])[0]
    return expected_wins(win_counts(scores))


def system_scores_of_resamples(
    metric: Metric,
    statistics: Sequence[Statistics],
    samples: Indices,
    by: Aggregation = "mean",
) -> Floats:
    """Return the score of each system on each of B resamples of the sentences, float64 (B, S).

    Args:
        metric: the metric that computed the statistics.
        statistics: one per system, all of the same N sentences.
        samples: int (B, M), each row the sentence numbers of one resample; all systems share it.
        by: how sentences become one score.
    """
    _check(statistics, by)
    if by == "mean":
        columns = [metric.aggregate_many(of_system, samples) for of_system in statistics]
        return np.stack(columns, axis=1)
    scores = sentence_scores(metric, statistics)
    if by in _GAMES:
        return rate_resamples(scores, samples, _GAMES[by])
    # How often each sentence was drawn, times which systems win on it: (B, N) · (N, S·S).
    wins = (outcomes(scores[:, None], scores[None]) > 0).transpose(2, 0, 1).astype(np.float64)
    drawn = multiplicities(samples, scores.shape[1])
    return expected_wins(np.tensordot(drawn, wins, axes=1))


def sentence_scores(metric: Metric, statistics: Sequence[Statistics]) -> Floats:
    """Return float64 (S, N): each system's score of each sentence by itself."""
    return np.array([metric.sentence_scores(of_system) for of_system in statistics], np.float64)


def _check(statistics: Sequence[Statistics], by: str) -> None:
    if by not in get_args(Aggregation):
        raise UnknownNameError("aggregation", by, get_args(Aggregation))
    if by != "mean" and len(statistics) < 2:
        raise InputError(f"{by} compares systems, and only {len(statistics)} was given; give two.")
