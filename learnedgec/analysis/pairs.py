"""Two systems on the same sentences: on which they differ, a permutation test, and intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from learnedgec.analysis.aggregation import Aggregation, system_scores_of_resamples
from learnedgec.metrics.base import Metric, Statistics
from learnedgec.stats.resampling import intervals, widened
from learnedgec.stats.significance import FEW, sentences_needed, sign_flips, swaps
from learnedgec.types import Floats


def paired_permutation(
    metric: Metric,
    statistics: Sequence[Statistics],
    pair: tuple[int, int] = (0, 1),
    *,
    by: Aggregation = "mean",
    count: int = 1000,
    seed: int = 0,
) -> float:
    """Return the two-sided p-value of the difference of two systems' scores by approximate randomisation.

    Each permutation swaps the two systems' outputs on each sentence with probability 1/2 and computes the
    scores again, so the test is valid for scores that are not means. Where at most ten sentences differ, all
    permutations are made and the test is exact.

    Source: Noreen, "Computer-Intensive Methods for Testing Hypotheses" (1989); Riezler and Maxwell,
    "On Some Pitfalls in Automatic Evaluation and Significance Testing for MT" (2005).

    Args:
        metric: the metric that computed the statistics.
        statistics: the statistics of each system, of the same N sentences.
        pair: the numbers of the two systems.
        by: how sentences become one score.
        count: number of permutations.
        seed: the seed of the random generator.
    """
    first, second = (statistics[number] for number in pair)
    size, differ = len(first), np.flatnonzero(differing(first, second))
    swapped = np.zeros((len(drawn := swaps(len(differ), count, seed)), size), dtype=bool)
    swapped[:, differ] = drawn
    # Behind each system's sentences stand those of the system that it is swapped with.
    partners = dict(zip(pair, (second, first), strict=True))
    numbers = pair if by == "mean" else range(len(statistics))
    both = [
        _joined(statistics[number], partners.get(number, statistics[number])) for number in numbers
    ]
    many = system_scores_of_resamples(metric, both, np.arange(size) + size * swapped, by)
    a, b = (list(numbers).index(number) for number in pair)
    return sign_flips(many[:, a] - many[:, b], len(differ))


def differing(first: Statistics, second: Statistics) -> npt.NDArray[np.bool_]:
    """Return bool (N,): on which sentences the statistics of two systems differ."""
    differ = np.zeros(len(first), dtype=bool)
    for name, array in first.arrays.items():
        equal = (array == second[name]) | ((array != array) & (second[name] != second[name]))
        differ |= ~equal.reshape(len(first), -1).all(axis=1)
    return differ


def _joined(first: Statistics, second: Statistics) -> Statistics:
    arrays = first.arrays.items()
    return Statistics({name: np.concatenate([array, second[name]]) for name, array in arrays})


def sentence_intervals(many: Floats, sentences: int, level: float) -> Floats:
    """Return the interval of each of K scores, float64 (K, 2), by bootstrap over sentences.

    Percentiles are `widened` for at most `FEW` sentences, and NaN with so few that no difference could be
    significant (`sentences_needed`): then they say nothing (docs/lab/levels.md).

    Args:
        many: float64 (B, K), the scores on resamples.
        sentences: number of sentences.
        level: the level of the intervals.
    """
    if sentences < sentences_needed(1, level):
        return np.full((many.shape[1], 2), np.nan)
    return intervals(many, widened(level, sentences) if sentences <= FEW else level)
