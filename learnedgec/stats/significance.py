"""Significance tests of the difference between two systems or two metrics, and counts of wins and ties.

`williams` and `swap_test` compare two metrics on the same systems; the other tests compare two systems.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from learnedgec.stats.resampling import Resampling, quotient
from learnedgec.types import Floats, Mask

# Scores that differ by no more than this are equal. The difference is absolute below 1, and relative above.
_EQUAL = 1e-12


def outcomes(first: Floats, second: Floats) -> Floats:
    """Return 1 where the first score is higher, -1 where the second is higher, and 0 where they tie.

    Scores tie if |a - b| <= 1e-12 * max(1, |a|, |b|). Infinite scores tie with their equals. NaN, which is
    neither higher nor lower, ties with everything.

    Args:
        first: scores of any shape.
        second: scores that broadcast against them.

    Returns:
        float64 of their common shape.

    Example:
        >>> outcomes(np.array([0.1 + 0.2, 0.5, 1.0]), np.array([0.3, 0.25, 2.0])).tolist()
        [0.0, 1.0, -1.0]
    """
    with np.errstate(invalid="ignore"):
        difference = np.subtract(first, second, dtype=np.float64)
    size = np.maximum(np.maximum(np.abs(first), np.abs(second)), 1.0)
    near = np.abs(difference) <= _EQUAL * np.where(np.isfinite(size), size, 1.0)
    return np.where(near | np.isnan(difference), 0.0, np.sign(difference))


def win_counts(scores: Floats) -> Floats:
    """Return the number of sentences on which the row's system beats the column's, float64 (S, S).

    Two systems tie on all other sentences: N - wins - wins.T.

    Args:
        scores: (S, N), each system's score of each sentence.

    Example:
        >>> win_counts(np.array([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]])).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    return np.array([(outcomes(row, scores) > 0).sum(axis=1) for row in scores], dtype=np.float64)


def win_shares(wins: Floats, ties: Floats) -> Floats:
    """Return the share of all games, including ties, that the row's system won, float64 (S, S).

    A tie is a game without a winner: the shares of two systems and of their ties sum to 1.

    Args:
        wins: (S, S), the number of times that the row's system beat the column's.
        ties: (S, S), symmetric, the number of times that they tied.

    Returns:
        The shares, NaN for systems that never met.

    Example:
        >>> win_shares(np.array([[0.0, 3.0], [1.0, 0.0]]), np.array([[0.0, 4.0], [4.0, 0.0]])).tolist()
        [[nan, 0.375], [0.125, nan]]
    """
    return quotient(wins, wins + wins.T + ties)


Swapped = Literal["outputs", "sentences", "systems"]

# The number of cells (permutations × systems × sentences) that `swap_test` holds at a time.
_CELLS = 4_000_000

_ROUNDING = 1e-12

EXACT = 10
"""Up to this many sentences, permutation tests try all swaps and are exact."""


def williams(human_first: float, human_second: float, between: float, systems: int) -> float:
    """Return the two-sided p-value of the difference of two metrics' correlations with human scores.

    It is Williams' test for two Pearson correlations that share a variable. The statistic t has n − 3 degrees
    of freedom:

        t = (r1 − r2) sqrt((n − 1)(1 + r12)) / sqrt(2 K (n − 1)/(n − 3) + (r1 + r2)²/4 · (1 − r12)³)
        K = 1 − r1² − r2² − r12² + 2 r1 r2 r12

    Source: Williams, "Regression Analysis" (1959); Graham and Baldwin, "Testing for Significance of
    Increased Correlation with Human Judgment" (EMNLP 2014), who report one-sided values.

    Args:
        human_first: r1, the correlation of the human scores with the first metric's.
        human_second: r2, the correlation of the human scores with the second metric's.
        between: r12, the correlation of the two metrics.
        systems: n.

    Returns:
        The p-value: NaN if n < 4 or a correlation does not exist, and 1 for the same metric twice.

    Example:
        >>> round(williams(0.95, 0.85, 0.8, 12), 4)
        0.1328
    """
    from scipy.stats import t as student

    if systems < 4 or np.isnan([human_first, human_second, between]).any():
        return float("nan")
    n = systems
    determinant = (
        1 - human_first**2 - human_second**2 - between**2 + 2 * human_first * human_second * between
    )
    mean = (human_first + human_second) / 2
    spread = 2 * max(determinant, 0.0) * (n - 1) / (n - 3) + mean**2 * (1 - between) ** 3
    if spread <= 0:
        return float(human_first == human_second)
    t = (human_first - human_second) * np.sqrt((n - 1) * (1 + between) / spread)
    return float(2 * student.sf(abs(t), n - 3))


def standardise(scores: Floats) -> Floats:
    """Return scores with mean 0 and deviation 1 over all cells, so that two metrics can be mixed."""
    deviation = scores.std()
    centred: Floats = (scores - scores.mean()) / (deviation if deviation > 0 else 1.0)
    return centred


def swap_test(
    quality: Callable[[Floats], Floats],
    first: Floats,
    second: Floats,
    *,
    swapped: Swapped = "outputs",
    resampling: Resampling = Resampling(),
) -> float:
    """Return the two-sided p-value of the difference in quality between two metrics, by permutation.

    Each permutation swaps the two metrics' standardised scores with probability 1/2: of each output
    (PERM-BOTH), of all outputs of a sentence together (PERM-INPUT) or of a system (PERM-SYS). p is the share
    of permutations whose difference is at least as large as the observed one, with one added to both counts.
    The tests are for qualities of sentence scores and of their means. For a corpus score that is not a mean,
    they test the mean of its sentence scores.

    PERM-BOTH asks whether the two metrics are interchangeable on every output. If the question is which
    metric is better on other systems, and each metric favours some systems, it rejects too often
    (docs/lab/levels.md). PERM-SYS is for that question; with S systems its p is at least 2/2^S.

    Source: Deutsch et al., "A Statistical Analysis of Summarization Evaluation Metrics Using Resampling
    Methods" (TACL 2021).

    Args:
        quality: function from scores (B, S, N) to the quality of each, (B,), such as the correlation of their
            means over sentences with human scores.
        first: (S, N), a metric's score of each sentence of each system.
        second: (S, N), the other metric's scores.
        swapped: `outputs`, `sentences` or `systems`.
        resampling: the number of permutations, and their seed.
    """
    first, second = standardise(first), standardise(second)
    pair = quality(np.stack([first, second]))
    observed = abs(pair[0] - pair[1])
    if np.isnan(observed):
        return float("nan")
    random, count = np.random.default_rng(resampling.seed), resampling.resamples
    systems, sentences = first.shape
    shapes = {"outputs": first.shape, "sentences": (1, sentences), "systems": (systems, 1)}
    shape = shapes[swapped]
    extreme = 0
    step = max(1, _CELLS // first.size)
    for start in range(0, count, step):
        swap = random.random((min(step, count - start), *shape), dtype=np.float32) < 0.5
        difference = quality(np.where(swap, second, first)) - quality(np.where(swap, first, second))
        extreme += int((np.abs(difference) >= observed - _ROUNDING).sum())
    return (extreme + 1) / (count + 1)


# -- significance between two systems --------------------------------------------------------------


Test = Literal[
    "paired-bootstrap",
    "paired-bootstrap-tail",
    "paired-permutation",
    "paired-permutation-tail",
    "exact-permutation",
]
"""The test of one pair of systems. A tail is the closed form of `far_p_value`."""

_IN_WORDS: Mapping[str, str] = {
    "paired-bootstrap": "paired bootstrap",
    "paired-bootstrap-tail": "paired bootstrap with a Student tail",
    "paired-permutation": "paired permutation",
    "paired-permutation-tail": "paired permutation with a Student tail",
    "exact-permutation": "exact paired permutation",
}


def far_p_value(observed: float, differences: Floats, sentences: int | None = None) -> float:
    """Return the two-sided p-value of a difference that hardly any draw reaches, in closed form.

    The p-value is P(|T| ≥ z), where T has Student's distribution with B − 1 degrees of freedom. If the
    differences follow random swaps, z is the observed difference divided by their root mean square. The
    difference of two means after random swaps is a sum of terms with random signs, whose tails are lighter
    than the tails of the normal distribution with the same variance.

    The differences of N resampled sentences vary around the observed difference d, and so by d²/N less than
    after swaps: z = |d|/√(s² + d²/N) with their standard deviation s. docs/lab/levels.md has simulations.

    Args:
        observed: the difference of the two systems' scores.
        differences: (B,), the difference after each swap, or on each resample.
        sentences: N, if the differences are of resamples.

    Example:
        >>> resampled = 0.1 + 0.02 * np.random.default_rng(0).normal(size=1000)
        >>> round(far_p_value(0.1, resampled, 500), 7)
        7e-07
    """
    from scipy.special import stdtr

    freedom = len(differences) - 1
    centre, more = (
        (0.0, 0.0) if sentences is None else (differences.mean(), observed**2 / sentences)
    )
    variance = ((differences - centre) ** 2).sum() / max(freedom, 1) + more
    return float(2 * stdtr(freedom, -abs(observed) / np.sqrt(variance))) if variance else 1.0


def paired_bootstrap(observed: float, differences: Floats) -> float:
    """Return the two-sided p-value of a difference from its bootstrap distribution, NaN for NaN.

    The p-value is the share of resamples whose difference lies at least as far from the mean of all resamples
    as the observed one lies from 0, with one added to both counts.

    Source: Koehn, "Statistical Significance Tests for Machine Translation Evaluation" (EMNLP 2004), in
    the centred form of Riezler and Maxwell (2005).

    Args:
        observed: the difference of the two systems' scores.
        differences: (B,), the difference on each resample.
    """
    if np.isnan(observed):
        return float("nan")
    extreme = np.abs(differences - differences.mean()) >= abs(observed) - _ROUNDING
    return float((extreme.sum() + 1) / (len(differences) + 1))


def swaps(size: int, resampling: Resampling = Resampling()) -> Mask:
    """Return the sentences on which each swap exchanges two systems' outputs, bool (swaps, size).

    The first swap exchanges none. For up to ten sentences, all 2^size swaps are returned, which make a test
    exact. For more sentences, random swaps follow the first.

    Args:
        size: number of sentences.
        resampling: the number of random swaps for many sentences, and their seed.

    Example:
        >>> swaps(2).tolist()
        [[False, False], [True, False], [False, True], [True, True]]
    """
    if size <= EXACT:
        return (np.arange(2**size)[:, None] >> np.arange(size)) % 2 > 0
    random = np.random.default_rng(resampling.seed)
    swapped: Mask = random.random((resampling.resamples + 1, size)) < 0.5
    swapped[0] = False
    return swapped


def sign_flips(differences: Floats, size: int) -> float:
    """Return the two-sided p-value of a difference from the differences after `swaps` of `size` sentences.

    The p-value is the share of swaps whose difference is at least as large as without a swap. It is at least
    2/2^size, because the difference is always as large if all sentences are swapped, or none.

    Args:
        differences: (swaps,), the difference of the two systems' scores after each swap; the first swap
            exchanges nothing.
        size: number of sentences on which the two systems differ.

    Example:
        >>> sign_flips(np.array([0.5, 0.1, -0.1, -0.5]), 2)
        0.5
    """
    if np.isnan(differences[0]):
        return float("nan")
    extreme = np.abs(differences) >= abs(differences[0]) - _ROUNDING
    return max(float(extreme.mean()), min(2.0 ** (1 - size), 1.0))


# With fewer draws beyond the observed difference, their share may be too coarse for a correction.
_BEYOND = 10


def bootstrap_test(
    observed: float, differences: Floats, sentences: int, *, enough: bool
) -> tuple[float, Test]:
    """Return the p-value of a difference from its bootstrap distribution, and which test it is.

    Args:
        observed: the difference of the two systems' scores.
        differences: (B,), the difference on each resample of the sentences.
        sentences: number of sentences.
        enough: whether B resamples are enough for any difference (`are_enough`). If not, a difference that
            fewer than ten resamples reach is tested in closed form.
    """
    p = paired_bootstrap(observed, differences)
    if enough or not p * (len(differences) + 1) <= _BEYOND:
        return p, "paired-bootstrap"
    return far_p_value(observed, differences, sentences), "paired-bootstrap-tail"


def permutation_test(differences: Floats, size: int, *, enough: bool) -> tuple[float, Test]:
    """Return the p-value of a difference from the differences after `swaps`, and which test it is.

    Args:
        differences: (swaps,), as for `sign_flips`.
        size: number of sentences on which the two systems differ.
        enough: whether there are enough swaps for any difference, as for `bootstrap_test`.
    """
    p = sign_flips(differences, size)
    if size <= EXACT:
        return p, "exact-permutation"
    if enough or not p * len(differences) <= _BEYOND:
        return p, "paired-permutation"
    tail = far_p_value(differences[0], differences[1:])
    return max(tail, 2.0 ** (1 - size)), "paired-permutation-tail"


def holm(p_values: Floats) -> Floats:
    """Return the p-values adjusted for their number by Holm's step-down method, in the same order.

    NaN marks a test that does not exist; it stays NaN and does not count.

    Example:
        >>> holm(np.array([0.01, np.nan, 0.04, 0.03])).round(2).tolist()
        [0.03, nan, 0.06, 0.06]
    """
    adjusted = np.full(len(p_values), np.nan)
    order = np.argsort(p_values, kind="stable")
    order = order[: np.count_nonzero(~np.isnan(p_values))]
    steps = p_values[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def is_significant(p_value: float, level: float) -> bool:
    """Return whether a p-value, corrected if there are several, is below 1 − `level`.

    Example:
        >>> is_significant(0.049, 0.95), is_significant(0.05, 0.95)
        (True, False)
    """
    return bool(significant(np.asarray(p_value), level))


def significant(p_values: Floats, level: float) -> Mask:
    """Return whether each p-value, corrected if there are several, is below 1 − `level`."""
    # In floating point, 1 − 0.95 is a little more than 0.05.
    return p_values < 1 - level - _ROUNDING


def format_p_value(p_value: float, level: float = 0.95, *, bound: bool = False) -> str:
    """Return a p-value as papers write it, with enough digits to show its side of 1 − `level`.

    Args:
        p_value: the p-value.
        level: differences are tested at 1 − `level`.
        bound: whether the p-value is an upper bound.

    Example:
        >>> format_p_value(0.00099, bound=True), format_p_value(0.0314), format_p_value(1.0)
        ('p ≤ .001', 'p = .031', 'p = 1')
        >>> format_p_value(0.04995), format_p_value(0.0504), format_p_value(0.0003)
        ('p = .04995', 'p = .050', 'p = .0003')
        >>> format_p_value(0.00002, bound=True), format_p_value(float("nan"))
        ('p < .0001', 'p –')
    """
    if np.isnan(p_value):
        return "p –"
    if p_value >= 0.9995:
        return "p = 1"
    if p_value < 0.0001:
        return "p < .0001"
    digits = 3 if p_value >= 0.0005 else 4
    verdict = is_significant(p_value, level)
    while digits < 9 and is_significant(float(f"{p_value:.{digits}f}"), level) != verdict:
        digits += 1
    return f"p {'≤' if bound else '='} {f'{p_value:.{digits}f}'.lstrip('0')}"


def describe_tests(tests: Sequence[str], *, counted: bool = True) -> str:
    """Name in words the tests that were run.

    Args:
        tests: the `Test` of each pair.
        counted: whether to give each of several tests its number of pairs of systems.

    Example:
        >>> describe_tests(["paired-bootstrap"] * 2)
        'paired bootstrap'
        >>> describe_tests(["paired-bootstrap", "exact-permutation", "paired-bootstrap"])
        'paired bootstrap of 2 pairs and exact paired permutation of 1'
    """
    counts = [(_IN_WORDS[test], tests.count(test)) for test in _IN_WORDS if test in tests]
    if len(counts) < 2:
        return counts[0][0] if counts else "no test"
    first, *others, last = [
        f"{words} of {count:,}" if counted else words for words, count in counts
    ]
    if counted:
        first += f" pair{'s' if counts[0][1] > 1 else ''}"
    return f"{', '.join([first, *others])} and {last}"


def describe_correction(comparisons: int, baseline: str | None = None) -> str:
    """Describe in words the comparisons for which p-values are corrected, if there are several.

    Args:
        comparisons: number of comparisons.
        baseline: the system with which the others are compared; `None` if all pairs are compared.

    Example:
        >>> describe_correction(3), describe_correction(1)
        (" after Holm's correction for all 3 pairs", '')
        >>> describe_correction(2, "base")
        " after Holm's correction for 2 comparisons with base"
    """
    if comparisons < 2:
        return ""
    family = (
        f"{comparisons} comparisons with {baseline}" if baseline else f"all {comparisons} pairs"
    )
    return f" after Holm's correction for {family}"


def sentences_needed(comparisons: int, level: float) -> int:
    """Return the smallest number of differing sentences with which a comparison can be significant.

    With n differing sentences, a p-value is at least 2/2^n (`sign_flips`), and Holm's correction multiplies
    the smallest of m p-values by m.

    Example:
        >>> sentences_needed(1, 0.95), sentences_needed(78, 0.95)
        (6, 12)
    """
    fewest = 1
    while not is_significant(max(comparisons, 1) * 2.0 ** (1 - fewest), level):
        fewest += 1
    return fewest


def too_few_sentences(
    comparisons: int, sentences: int, level: float, *, unit: str = "sentence"
) -> list[str]:
    """Return a warning if there are so few sentences that comparisons say little or nothing.

    Args:
        comparisons: number of comparisons that Holm's method corrects for.
        sentences: number of sentences.
        level: confidence level; differences are tested at 1 − `level`.
        unit: what is counted, such as documents.

    Example:
        >>> too_few_sentences(1, 8, 0.95), too_few_sentences(1, 10, 0.95)
        (['8 sentences are very few: test on more before you conclude anything.'], [])
    """
    needed = sentences_needed(comparisons, level)
    count = f"{sentences} {unit}{'s are' if sentences > 1 else ' is'}"
    if comparisons and sentences < needed:
        return [f"{count} too few for any difference to be significant: give {needed} or more."]
    if sentences < 10:
        return [f"{count} very few: test on more before you conclude anything."]
    return []


def resamples_needed(comparisons: int, level: float) -> int:
    """Return the smallest number of resamples with which one of several comparisons can be significant.

    A p-value from B resamples is at least 1/(B + 1), and Holm's correction multiplies the smallest of m
    p-values by m. If m/(B + 1) ≥ 1 − `level`, no difference can be significant.

    Example:
        >>> resamples_needed(78, 0.95), is_significant(78 / 1561, 0.95), is_significant(78 / 1560, 0.95)
        (1560, True, False)
    """
    fewest = max(1, math.floor(comparisons / (1 - level)) - 1)
    while not is_significant(comparisons / (fewest + 1), level):
        fewest += 1
    return fewest


def are_enough(resampling: Resampling, comparisons: int) -> bool:
    """Return whether the share of resamples beyond a difference is a p-value that can become significant.

    They are enough if the lowest p-value, 1/(resamples + 1), is at most a fifth of 1 − `level` after Holm's
    correction. With fewer, far differences need `far_p_value`.

    Example:
        >>> are_enough(Resampling(999), 10), are_enough(Resampling(999), 11)
        (True, False)
    """
    lowest = comparisons / (resampling.resamples + 1)
    return lowest <= (1 - resampling.level) / 5 + _ROUNDING


def too_few_resamples(comparisons: int, resampling: Resampling) -> list[str]:
    """Return a warning if no comparison can be significant by the share of so few permutations.

    Args:
        comparisons: number of comparisons that Holm's method corrects for.
        resampling: the number of permutations, and the level.

    Example:
        >>> too_few_resamples(6, Resampling(120))
        []
    """
    resamples, needed = resampling.resamples, resamples_needed(comparisons, resampling.level)
    if resamples >= needed:
        return []
    lowest = comparisons / (resamples + 1)
    tests = f"{comparisons:,} comparisons" if comparisons > 1 else "the comparison"
    return [
        f"With {resamples:,} resamples, no p-value of {tests} can be below {min(lowest, 1):.2g} after Holm's "
        f"correction, so no difference can be significant: give {needed:,} or more."
    ]
