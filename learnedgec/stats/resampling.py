"""Resamples of sentences or cases, and intervals of a number from its values on the resamples."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from learnedgec.errors import ConfigError, InputError, UnknownNameError
from learnedgec.types import Array, Floats, Indices

FEW = 30
"""Up to this many sentences, a percentile bootstrap finds too many differences (docs/lab/levels.md)."""

# Fewer sentences have no interval: with five, the interval of a mean holds .76 instead of .95.
MIN_SENTENCES = 6

# The number of draws (resamples × sentences) that `resample_blocks` holds at a time: 16 MB.
_DRAWS = 2_000_000


PairTest = Literal["paired-bootstrap", "paired-permutation"]


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals and tests are made: one value for everything that draws sentences, cases or systems.

    Attributes:
        resamples: the number of bootstrap resamples for an interval, and of random permutations for a test.
        level: the confidence level of intervals. A difference is significant if its p-value, corrected for
            the number of comparisons, is below 1 − `level`.
        seed: the seed of the random generator. Equal seeds make equal draws on every machine.
        test: the test of two systems that differ on more than 30 sentences (`FEW`); other pairs are tested by
            permutation. For more sentences, permutation needs corpus scores.
        documents: the document of each sentence. Sentences of a document depend on each other, so resamples
            and swaps take whole documents. By default, each sentence is one of its own.

    Raises:
        InputError: there is no resample, or the level is not between 0 and 1.
        UnknownNameError: there is no such test.

    Example:
        >>> print(Resampling(2000, seed=1))
        resamples:2000|level:0.95|seed:1
    """

    resamples: int = 1000
    level: float = 0.95
    seed: int = 0
    test: PairTest = "paired-bootstrap"
    documents: Sequence[Hashable] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "documents", tuple(self.documents))
        if self.test not in get_args(PairTest):
            raise UnknownNameError("significance test", self.test, get_args(PairTest))
        if self.resamples < 1:
            raise InputError(f"resamples is {self.resamples}; give 1 or more.")
        if not 0 < self.level < 1:
            raise InputError(
                f"level is {self.level:g}; give a number between 0 and 1, such as 0.95."
            )

    def __str__(self) -> str:
        of = f"|documents:{len(set(self.documents))}" if self.documents else ""
        return f"resamples:{self.resamples}|level:{self.level:g}|seed:{self.seed}{of}"

    def other(self, number: int) -> Resampling:
        """Return the resampling with other draws: each number is added to the seed."""
        return replace(self, seed=self.seed + number)

    def units(self, sentences: int) -> Indices:
        """Return the number of the unit that each sentence is drawn with, int (N,), from 0.

        Raises:
            InputError: there are documents of another number of sentences.

        Example:
            >>> Resampling().units(3).tolist(), Resampling(documents=["b", "a", "b"]).units(3).tolist()
            ([0, 1, 2], [0, 1, 0])
        """
        if not self.documents:
            return np.arange(sentences, dtype=np.intp)
        if len(self.documents) != sentences:
            raise InputError(
                f"documents has {len(self.documents)} items, and there are {sentences} sentences; give the "
                "document of each sentence."
            )
        numbers: dict[Hashable, int] = {}
        return np.array(
            [numbers.setdefault(each, len(numbers)) for each in self.documents], np.intp
        )

    def size(self, sentences: int) -> int:
        """Return the number of units: of documents, or else of sentences."""
        return len(set(self.documents)) or sentences

    @property
    def unit(self) -> str:
        """What is drawn, in words."""
        return "document" if self.documents else "sentence"

    def counted(self, sentences: int) -> str:
        """Return the number of units in words.

        Example:
            >>> Resampling().counted(1200), Resampling(documents=["a", "a"]).counted(2)
            ('1,200 sentences', '1 document')
        """
        size = self.size(sentences)
        return f"{size:,} {self.unit}{'s' if size > 1 else ''}"


def quotient(numerators: npt.ArrayLike, denominators: npt.ArrayLike) -> Floats:
    """Return numerators / denominators, or NaN where a denominator is not above 0.

    Example:
        >>> quotient([1, 1], [2, 0]).tolist()
        [0.5, nan]
    """
    above, below = np.broadcast_arrays(
        np.asarray(numerators, float), np.asarray(denominators, float)
    )
    quotients: Floats = np.divide(above, below, out=np.full(below.shape, np.nan), where=below > 0)
    return quotients


def interval(
    values: Floats, level: float = 0.95, *, possible: tuple[float, float] | None = None
) -> tuple[float, float]:
    """Return the central `level` of a bootstrap distribution.

    A resample on which the number does not exist (NaN) says nothing about it. With `possible`, the resample
    counts as the lowest possible value for the lower end and as the highest for the upper end. Without, it is
    left out.

    Args:
        values: (B,), the number on each resample.
        level: level of the interval.
        possible: lowest and highest possible value.

    Returns:
        The interval; NaN if no value exists and `possible` is unknown.

    Example:
        >>> interval(np.array([1.0, np.nan, 1.0, 1.0]), level=1.0, possible=(-1.0, 1.0))
        (-1.0, 1.0)
    """
    undefined = np.isnan(values)
    lower = upper = values[~undefined]
    if possible is not None:
        lower, upper = (np.where(undefined, end, values) for end in possible)
    if not lower.size:
        return float("nan"), float("nan")
    tail = 50 * (1 - level)
    return float(np.percentile(lower, tail)), float(np.percentile(upper, 100 - tail))


def intervals(resampled: Floats, level: float = 0.95) -> Floats:
    """Return the interval of each of K numbers, float64 (K, 2), from their values on B resamples, (B, K)."""
    return np.array([interval(column, level) for column in resampled.T]).reshape(-1, 2)


def interval_of_correlation(
    value: float, resampled: Floats, level: float = 0.95, *, lowest: float = -1.0
) -> tuple[float, float]:
    """Return the interval of a correlation or an accuracy of systems, by bootstrap over sentences.

    The systems' scores have the noise of the sample of sentences, and resampling adds as much noise again.
    The values on the resamples therefore lie below the observed one, and for a high correlation all
    percentiles may lie below it. On the side of the observed value, the percentile interval is extended by
    the distance from the median of the resamples to that value. The interval holds for the correlation in
    other samples of as many sentences (docs/lab/levels.md).

    Args:
        value: the observed correlation, at most 1.
        resampled: (B,), the correlation on each resample; if it does not exist (NaN), it may have every
            possible value.
        level: level of the interval.
        lowest: the lowest possible value: −1 for a correlation, 0 for an accuracy.

    Example:
        >>> low, high = interval_of_correlation(0.99, np.linspace(0.9, 0.98, 101))
        >>> round(low, 3), round(high, 3)
        (0.902, 1.0)
    """
    if np.isnan(value):
        return float("nan"), float("nan")
    low, high = interval(resampled, level, possible=(lowest, 1.0))
    if np.isnan(resampled).all():
        return low, high
    shift = value - float(np.nanmedian(resampled))
    return max(low + min(shift, 0.0), lowest), min(high + max(shift, 0.0), 1.0)


def interval_over_sentences(
    values: Floats,
    sentences: Sequence[int],
    level: float = 0.95,
    *,
    possible: tuple[float, float] | None = None,
) -> tuple[float, float]:
    """Return the interval of a number by bootstrap over sentences, which may be few.

    Percentiles are `widened` for at most 30 sentences (`FEW`).

    Args:
        values: (B,), the number on each resample.
        sentences: the number of sentences whose judgements count; one number for each part, such as a fold,
            if sentences are drawn within parts.
        level: level of the interval.
        possible: as for `interval`.

    Returns:
        The interval; NaN with fewer than six sentences, and if all resamples have the same value, which does
        not mean that other sentences have it.

    Example:
        >>> interval_over_sentences(np.array([0.1, 0.1, 0.1]), [40])
        (nan, nan)
    """
    count = sum(sentences)
    level = widened(level, *sentences) if count <= FEW else level
    low, high = interval(values, level, possible=possible)
    return (low, high) if count >= MIN_SENTENCES and low < high else (float("nan"), float("nan"))


def means_and_intervals(
    values: Floats, level: float = 0.95, *, lowest: float = -1.0
) -> tuple[Floats, Floats]:
    """Return the means over the first axis, (K,), and intervals of single values, (K, 2).

    The interval is the central part of the beta distribution with this mean and deviation between the lowest
    value and 1. It is NaN if all values are equal.

    Args:
        values: (R, K), the values of each repetition; NaN is left out.
        level: level of the intervals.
        lowest: the lowest possible value: −1 for a correlation, 0 for an accuracy.

    Example:
        >>> mean, bounds = means_and_intervals(np.array([[0.1], [0.3]]))
        >>> mean.round(2).tolist(), bounds.round(2).tolist()
        ([0.2], [[-0.08, 0.47]])
    """
    from scipy.special import betaincinv

    count = (~np.isnan(values)).sum(axis=0)
    mean = quotient(np.nansum(values, axis=0), count)
    width = 1 - lowest
    variance = quotient(np.nansum((values - mean) ** 2, axis=0), count - 1) / width**2
    share = (mean - lowest) / width
    # With the largest possible variance, all values are the lowest or 1.
    total = np.maximum(quotient(share * (1 - share), variance) - 1, 1e-6)
    tails = np.array([1 - level, 1 + level]) / 2
    ends = betaincinv((share * total)[:, None], ((1 - share) * total)[:, None], tails)
    return mean, lowest + width * ends


def resample(size: int, resampling: Resampling = Resampling()) -> Indices:
    """Return int (resamples, size): each row draws `size` numbers below `size` with replacement.

    Raises:
        ConfigError: the resamples do not fit into memory.
        InputError: the resampling is of documents, whose draws differ in size (`resample_blocks`).

    Example:
        >>> resample(5, Resampling(2)).tolist()
        [[4, 3, 2, 1, 1], [0, 0, 0, 0, 4]]
    """
    if resampling.documents:
        raise InputError(
            "the resampling is of documents, which only scores of systems have; leave documents out."
        )
    try:
        shape = resampling.resamples, size
        return np.random.default_rng(resampling.seed).integers(0, size, shape, dtype=np.intp)
    except (MemoryError, OverflowError, ValueError):
        raise ConfigError(
            f"{resampling.resamples:.3g} resamples of {size} sentences do not fit into memory; ask for fewer."
        ) from None


def resample_blocks(size: int, resampling: Resampling = Resampling()) -> Iterator[Indices]:
    """Yield the rows of `resample`, as many at a time as take 16 MB; of documents, one at a time."""
    if resampling.documents:
        units = resampling.units(size).tolist()
        yield from (row[None] for row in resample_groups(units, replace(resampling, documents=())))
        return
    random = np.random.default_rng(resampling.seed)
    rows = block_rows(size)
    for start in range(0, resampling.resamples, rows):
        shape = min(rows, resampling.resamples - start), size
        yield random.integers(0, size, shape, dtype=np.intp)


def count_blocks(size: int, resampling: Resampling) -> int:
    """Return the number of blocks that `resample_blocks` yields."""
    rows = 1 if resampling.documents else block_rows(size)
    return -(-resampling.resamples // rows)


def block_rows(size: int) -> int:
    """Return how many resamples of so many sentences are held at a time."""
    return max(_DRAWS // max(size, 1), 1)


def resample_groups(
    groups: Sequence[Hashable], resampling: Resampling = Resampling()
) -> Iterator[Indices]:
    """Yield resamples of rows that are dependent within groups, such as the outputs of one source.

    Each resample draws as many groups as there are, with replacement, and has all rows of each drawn group.

    Args:
        groups: the group of each row.
        resampling: the number of resamples, and their seed.

    Example:
        >>> [rows.tolist() for rows in resample_groups(["a", "b", "a"], Resampling(2, seed=1))]
        [[0, 2, 1], [1, 1]]
    """
    members: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    group_rows = [np.array(rows, dtype=np.intp) for rows in members.values()]
    for block in resample_blocks(len(group_rows), resampling) if group_rows else ():
        for drawn in block:
            yield np.concatenate([group_rows[number] for number in drawn])


def widened(level: float, *sizes: int) -> float:
    """Return the level whose percentiles of a bootstrap over few cases hold `level`.

    A bootstrap over n cases is too narrow by about √((n − 1)/n) and by the difference between the normal and
    Student's distribution. The returned level makes up for both: with q Student's quantile of `level` for
    n − 1 degrees of freedom, each of its two tails is Φ(−q √(n/(n − 1))). If n cases are drawn within each of
    several parts, whose mean is estimated, there are Σ(n − 1) degrees of freedom, and n/(n − 1) becomes
    Σ 1/n / Σ (n − 1)/n². With one case in each part the level is 1.

    Source: Hesterberg, "What Teachers Should Know About the Bootstrap" (The American Statistician, 2015).

    Example:
        >>> round(widened(0.95, 13), 3), round(widened(0.95, 1000), 3)
        (0.977, 0.95)
    """
    from scipy.special import ndtr, stdtrit

    size = np.array([count for count in sizes if count], dtype=float)
    freedom = int((size - 1).sum())
    if freedom < 1:
        return 1.0
    narrow = ((size - 1) / size**2).sum() / (1 / size).sum()
    reach = stdtrit(freedom, (1 + level) / 2) / np.sqrt(narrow)
    return float(1 - 2 * ndtr(-reach))


def share_over_groups(hits: Floats, groups: Sequence[Hashable]) -> tuple[float, float]:
    """Return the 95 % interval of a share of rows that are dependent within groups, from 0 to 1.

    It is Wilson's interval with the effective number of rows, which is the number of independent rows whose
    share would vary as much as the share varies between resamples of the groups. If the share does not vary,
    as with no miss at all, it is the number of groups. Student's quantile replaces the normal one. Unlike an
    interval of percentiles, it never has the width 0, and it holds its level from two groups on
    (docs/lab/levels.md).

    Source: Dean and Pagano, "Evaluating Confidence Interval Methods for Binomial Proportions in Clustered
    Surveys" (Journal of Survey Statistics and Methodology, 2015).

    Args:
        hits: (N,), 1 if a row counts, else 0.
        groups: the group of each row, such as its source.

    Example:
        >>> low, high = share_over_groups(np.ones(260), [row // 20 for row in range(260)])
        >>> round(low, 3), high  # 13 groups of 20 rows each
        (0.733, 1.0)
    """
    shares = np.array([hits[rows].mean() for rows in resample_groups(groups)])
    share, count = float(hits.mean()), len(set(groups))
    return interval_of_share(share, shares, count, len(hits))


def interval_of_share(
    share: float, resampled: Floats, groups: int, rows: float, level: float = 0.95
) -> tuple[float, float]:
    """Return the interval of `share_over_groups` from the shares on resamples of the groups.

    Args:
        share: the observed share.
        resampled: (B,), the share on each resample; NaN is left out.
        groups: number of groups that have rows.
        rows: number of rows.
        level: level of the interval.

    Example:
        >>> low, high = interval_of_share(0.0, np.zeros(100), groups=40, rows=40)
        >>> low, round(high, 3)
        (0.0, 0.093)
    """
    from scipy.special import stdtrit

    if groups < 2:
        return 0.0, 1.0
    defined = resampled[~np.isnan(resampled)]
    variance = float(np.var(defined)) * groups / (groups - 1) if defined.size else 0.0
    effective = min(share * (1 - share) / variance, rows) if variance > 0 else groups
    excess = float(stdtrit(groups - 1, (1 + level) / 2)) ** 2 / effective
    middle = (share + excess / 2) / (1 + excess)
    reach = float(np.sqrt(excess * (share * (1 - share) + excess / 4))) / (1 + excess)
    return max(middle - reach, 0.0), min(middle + reach, 1.0)


# With less than this sum of wins, or of losses, resamples show too little of what other sentences would.
_RARE = 10


def are_rare(share: float, cases: float) -> bool:
    """Return whether a share of cases amounts to fewer than ten wins, or fewer than ten losses."""
    return min(share, 1 - share) * cases < _RARE


def intervals_of_shares(
    shares: Floats, resampled: Floats, sentences: Indices | int, level: float = 0.95
) -> Floats:
    """Return the interval of each of K shares of wins, or of other means from 0 to 1, float64 (K, 2).

    The intervals are percentiles of the bootstrap over sentences, `widened` for at most 30 sentences. Where
    wins or losses amount to less than ten sentences, resamples hardly vary, and the interval is Wilson's
    (`interval_of_share`), with no more effective rows than sentences. A system that wins none of 18 sentences
    has [0, 0.198] instead of [0, 0]. For binary outcomes the coverage of nominal 95 % is .90 to 1
    (docs/lab/levels.md).

    Source: Brown, Cai and DasGupta, "Interval Estimation for a Binomial Proportion" (Statistical Science,
    2001).

    Args:
        shares: (K,), the observed shares.
        resampled: (B, K), the shares on each resample of the sentences; NaN is left out.
        sentences: number of sentences with outcomes, int or (K,).
        level: level of the intervals.

    Example:
        >>> intervals_of_shares(np.array([0.0]), np.zeros((100, 1)), 18).round(3).tolist()
        [[0.0, 0.198]]
    """
    ends = np.empty((len(shares), 2))
    counts = np.broadcast_to(sentences, len(shares)).tolist()
    for number, (share, count) in enumerate(zip(shares.tolist(), counts, strict=True)):
        values = resampled[:, number]
        if are_rare(share, count):
            ends[number] = interval_of_share(share, values, count, count, level)
        else:
            ends[number] = interval(values, widened(level, count) if count <= FEW else level)
    return ends


def multiplicities(samples: Indices, size: int) -> Floats:
    """Return the number of times that each resample has drawn each sentence, float64 (B, size)."""
    offsets = samples + np.arange(len(samples))[:, None] * size
    counts = np.bincount(offsets.ravel(), minlength=len(samples) * size)
    return counts.reshape(len(samples), size).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval; NaN if it does not exist.

    Attributes:
        value: the estimate.
        low: lower bound of the interval.
        high: upper bound of the interval.
    """

    value: float
    low: float
    high: float


class Bootstrap:
    """Resamples of N cases (or sentences), shared by all estimates.

    Args:
        size: N.
        resampling: the number of resamples, the level of the intervals and the seed.
    """

    def __init__(self, size: int, resampling: Resampling = Resampling()) -> None:
        self.level = resampling.level
        self.samples = resample(size, resampling)
        self._draws = multiplicities(self.samples, size)

    def estimate(self, value: float, resampled: Floats) -> Estimate:
        """Return a number with the interval of its values on the resamples (`interval_over_sentences`)."""
        count = self._draws.shape[1]
        return Estimate(value, *interval_over_sentences(resampled, [count], self.level))

    def ratio(self, numerators: Array, denominators: Array) -> Estimate:
        """Return Σ numerators / Σ denominators over the cases, each (N,); NaN if the latter is 0."""
        return self.estimate(*self._quotients(numerators, denominators))

    def mean(self, values: Array) -> Estimate:
        """Return the mean of the values of all cases, (N,)."""
        return self.ratio(values, np.ones(len(values)))

    def share(self, hits: Array, rows: Array | None = None) -> Estimate:
        """Return the share of rows that count, Σ hits / Σ rows over the cases, each (N,); NaN without rows.

        Its interval is Wilson's (`interval_of_share`), which has a width even if all rows count, or none.

        Args:
            hits: number of each case's rows that count.
            rows: number of each case's rows; 1 by default.
        """
        rows = np.ones(len(hits)) if rows is None else rows
        return self._share(hits, rows, rows)

    def share_of_rows(self, hits: Array, cases: Indices) -> Estimate:
        """Return the share of M rows that count, such as variants that are kept, each of which has a case."""
        size = self._draws.shape[1]
        return self.share(np.bincount(cases, hits, size), np.bincount(cases, minlength=size))

    def mean_share(self, hits: Array, rows: Array) -> Estimate:
        """Return the mean of the cases' shares, hits / rows, which weighs cases alike; see `share`."""
        return self._share(hits / rows, np.ones(len(rows)), rows)

    def _share(self, numerators: Array, denominators: Array, rows: Array) -> Estimate:
        value, resampled = self._quotients(numerators, denominators)
        if np.isnan(value):
            return Estimate(value, value, value)
        groups = int(np.count_nonzero(rows))
        return Estimate(value, *interval_of_share(value, resampled, groups, rows.sum(), self.level))

    def _quotients(self, numerators: Array, denominators: Array) -> tuple[float, Floats]:
        """Return Σ numerators / Σ denominators over the cases, and over each resample, (B,)."""
        values = quotient(self._draws @ numerators, self._draws @ denominators)
        return float(quotient(numerators.sum(), denominators.sum())), values

    def sums(self, values: Floats) -> Floats:
        """Return Σ values over each resample, float64 (B,)."""
        return self._draws @ values
