"""The score of a system, aggregated from a metric's statistics of its sentences.

- `mean`: the metric's own corpus score (the mean sentence score, unless the metric says otherwise);
- `expected-wins`: the share of sentences on which a system beats an opponent, as the mean over opponents;
- `trueskill`: a rating from every sentence's pairs of systems, the mean over 20 random orders of these games;
- `trueskill-as-listed`: one pass in the order of sentences and systems, as published (Goto et al. 2025);
- `trueskill-ordered`: the same over ordered pairs, so that each pair meets twice (`rate_scores` describes the
  difference).

Everything starts from `Statistics`, so no metric runs twice, and every resample keeps a system's
sentences paired with the others'. `differences_after_swaps` is for tests of two systems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from learnedgec.errors import InputError, UnknownNameError
from learnedgec.metrics.contract import Metric, Statistics
from learnedgec.runtime.runtime import track
from learnedgec.stats.resampling import (
    FEW,
    Resampling,
    count_blocks,
    intervals,
    intervals_of_shares,
    multiplicities,
    resample_blocks,
    widened,
)
from learnedgec.stats.significance import outcomes, sentences_needed, swaps, win_counts
from learnedgec.stats.skills import ORDERS, Games, rate_orders, rate_resamples, rate_scores
from learnedgec.types import Floats, Indices

Aggregation = Literal[
    "mean", "expected-wins", "trueskill", "trueskill-as-listed", "trueskill-ordered"
]

_GAMES: Mapping[str, Games] = {
    "trueskill": "unordered",
    "trueskill-as-listed": "unordered",
    "trueskill-ordered": "ordered",
}

ABOUT_ORDER: Mapping[str, str] = {
    "trueskill": f"orders:{ORDERS}",
    "trueskill-as-listed": "order:sentences, then pairs of systems as listed",
    "trueskill-ordered": "order:sentences, then ordered pairs of systems as listed",
}
"""In which order the games of each aggregation by TrueSkill are played, for signatures."""


def expected_wins(wins: Floats) -> Floats:
    """Return the expected wins of each system, float64 (…, S).

    It is the mean over opponents of wins/(wins + losses). Ties are left out, and an opponent that was
    neither beaten nor lost to counts as 0.

    Source: Bojar et al., "Findings of the 2013 Workshop on Statistical Machine Translation" (2013);
    equal to the 13 published values of Grundkiewicz et al. (2015).

    Args:
        wins: (…, S, S), the number of times that the row's system beat the column's.

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
        statistics: the statistics of the same N sentences, for each system.
        by: the aggregation; `trueskill-as-listed` and `trueskill-ordered` depend on the order of systems and
            sentences.

    Raises:
        UnknownNameError: there is no such aggregation.
        InputError: the aggregation needs at least two systems.
    """
    check_aggregation(by, len(statistics))
    if by == "mean":
        return np.array([metric.aggregate(rows) for rows in statistics])
    scores = sentence_scores(metric, statistics)
    if by == "trueskill":
        means: Floats = rate_orders(scores).mean(axis=0)
        return means
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
        statistics: the statistics of the same N sentences, for each system.
        samples: int (B, M), each row the sentence numbers of one resample; all systems share it.
        by: the aggregation; by TrueSkill, the games of a resample are played once, in the order of its draws.
    """
    check_aggregation(by, len(statistics))
    if by == "mean":
        columns = [metric.aggregate_many(rows, samples) for rows in statistics]
        return np.stack(columns, axis=1)
    scores = sentence_scores(metric, statistics)
    if by in _GAMES:
        return rate_resamples(scores, samples, _GAMES[by])
    draws = multiplicities(samples, scores.shape[1])
    return np.stack([_expected_wins_of_one(draws, row, scores) for row in scores], axis=1)


def resampled_system_scores(
    metric: Metric,
    statistics: Sequence[Statistics],
    resampling: Resampling,
    by: Aggregation = "mean",
    *,
    description: str = "",
) -> Floats:
    """Return the score of each system on each resample of the sentences, float64 (B, S).

    All systems share each block of draws (`resample_blocks`), so that memory does not grow with the number of
    resamples times the number of sentences.

    Args:
        metric: the metric that computed the statistics.
        statistics: the statistics of the same N sentences, for each system.
        resampling: the number of resamples, and their seed.
        by: the aggregation.
        description: name of the work, if its progress is to be shown.
    """
    size, count = len(statistics[0]), count_blocks(len(statistics[0]), resampling)
    blocks = resample_blocks(size, resampling)
    if by == "mean":
        # The work takes as long for each system, and a block may be all of it.
        steps = ((block, rows) for block in blocks for rows in statistics)
        total = count * len(statistics)
        parts = [
            metric.aggregate_many(rows, block)
            for block, rows in track(steps, description, total=total, show=bool(description))
        ]
        columns = [
            np.concatenate(parts[place :: len(statistics)]) for place in range(len(statistics))
        ]
        return np.stack(columns, axis=1)
    return np.concatenate(
        [
            system_scores_of_resamples(metric, statistics, block, by)
            for block in track(blocks, description, total=count, show=bool(description))
        ]
    )


def _expected_wins_of_one(draws: Floats, own: Floats, scores: Floats) -> Floats:
    """Return the expected wins of one system on each resample, float64 (B,).

    Args:
        draws: (B, N), the number of draws of each sentence.
        own: (N,), the system's scores.
        scores: (S, N), the scores of all systems.
    """
    results = outcomes(own, scores).T
    won, lost = draws @ (results > 0), draws @ (results < 0)
    shares = np.divide(won, won + lost, out=np.zeros_like(won), where=won + lost > 0)
    means: Floats = shares.sum(axis=1) / max(len(scores) - 1, 1)
    return means


def sentence_scores(metric: Metric, statistics: Sequence[Statistics]) -> Floats:
    """Return each system's score of each sentence by itself, float64 (S, N)."""
    return np.array([metric.sentence_scores(rows) for rows in statistics], np.float64)


def check_aggregation(by: str, systems: int) -> None:
    """Raise `UnknownNameError` if there is no such aggregation, `InputError` if it needs more systems."""
    if by not in get_args(Aggregation):
        raise UnknownNameError("aggregation", by, get_args(Aggregation))
    if by != "mean" and systems < 2:
        raise InputError(f"{by} compares systems, and only {systems} was given; give two.")


# -- two systems on the same sentences --------------------------------------------------------------


def differences_after_swaps(
    metric: Metric,
    statistics: Sequence[Statistics],
    pair: tuple[int, int] = (0, 1),
    by: Aggregation = "mean",
    resampling: Resampling = Resampling(),
) -> Floats:
    """Return the difference of two systems' scores after each of `swaps`, for a test by randomisation.

    Each swap exchanges the two systems' outputs on each sentence with probability 1/2. Then the scores are
    computed again, so a test is valid for scores that are not means. If at most ten sentences differ, these
    are all swaps, and the test is exact. With documents in the resampling, outputs are exchanged on whole
    documents.

    Source: Noreen, "Computer-Intensive Methods for Testing Hypotheses" (1989); Riezler and Maxwell,
    "On Some Pitfalls in Automatic Evaluation and Significance Testing for MT" (2005).

    Args:
        metric: the metric that computed the statistics.
        statistics: the statistics of each system, of the same N sentences.
        pair: the numbers of the two systems.
        by: the aggregation.
        resampling: the number of random swaps, and their seed.

    Returns:
        float64 (swaps,); the first swap exchanges nothing.
    """
    first, second = (statistics[number] for number in pair)
    size, units = len(first), resampling.units(len(first))
    differ = np.unique(units[differing(first, second)])
    swaps_of_differing = swaps(len(differ), resampling)
    swapped_units = np.zeros((len(swaps_of_differing), resampling.size(size)), dtype=bool)
    swapped_units[:, differ] = swaps_of_differing
    swapped = swapped_units[:, units]
    # The sentences of the other system of the pair follow the sentences of each system.
    partners = dict(zip(pair, (second, first), strict=True))
    numbers = pair if by == "mean" else range(len(statistics))
    both = [
        _joined(statistics[number], partners.get(number, statistics[number])) for number in numbers
    ]
    resampled = system_scores_of_resamples(metric, both, np.arange(size) + size * swapped, by)
    a, b = (list(numbers).index(number) for number in pair)
    return resampled[:, a] - resampled[:, b]


def differing(first: Statistics, second: Statistics) -> npt.NDArray[np.bool_]:
    """Return whether the statistics of two systems differ on each sentence, bool (N,)."""
    differ = np.zeros(len(first), dtype=bool)
    for name, array in first.arrays.items():
        equal = (array == second[name]) | ((array != array) & (second[name] != second[name]))
        differ |= ~equal.reshape(len(first), -1).all(axis=1)
    return differ


def _joined(first: Statistics, second: Statistics) -> Statistics:
    arrays = first.arrays.items()
    return Statistics({name: np.concatenate([array, second[name]]) for name, array in arrays})


def sentence_intervals(
    resampled: Floats, sentences: int, level: float, *, shares: Floats | None = None
) -> Floats:
    """Return the interval of each of K scores, float64 (K, 2), by bootstrap over sentences.

    Percentiles are `widened` for at most `FEW` sentences. With so few sentences that no difference could be
    significant (`sentences_needed`), they are NaN, because they would say nothing (docs/lab/levels.md).

    Args:
        resampled: float64 (B, K), the scores on resamples.
        sentences: number of sentences.
        level: the level of the intervals.
        shares: (K,), the scores themselves, if they are shares of wins (`intervals_of_shares`).
    """
    if sentences < sentences_needed(1, level):
        return np.full((resampled.shape[1], 2), np.nan)
    if shares is not None:
        return intervals_of_shares(shares, resampled, sentences, level)
    return intervals(resampled, widened(level, sentences) if sentences <= FEW else level)
