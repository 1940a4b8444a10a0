"""Correlation between two scores of a few systems, for one pair of vectors or many at once.

Every function takes arrays whose last axis is the system and whose other axes broadcast, so that a
thousand resamples cost one call. A correlation that does not exist (fewer than two systems, or one
side constant) is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from learnedgec.stats.resampling import Resampling, block_rows, quotient
from learnedgec.types import Floats, Indices

Correlation = Literal["pearson", "spearman", "kendall", "pairwise-accuracy"]


def pearson(x: Floats, y: Floats) -> Floats:
    """Return Pearson's r over the last axis.

    Example:
        >>> pearson(np.array([1.0, 2.0, 3.0]), np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]])).tolist()
        [1.0, -1.0]
    """
    if not x.shape[-1]:
        return np.full(np.broadcast_shapes(x.shape, y.shape)[:-1], np.nan)
    # Equal numbers must deviate by exactly 0, which the mean of 0.1, 0.1, 0.1 does not guarantee.
    x, y = x - x[..., :1], y - y[..., :1]
    x = x - x.mean(axis=-1, keepdims=True)
    y = y - y.mean(axis=-1, keepdims=True)
    norm = np.sqrt((x**2).sum(axis=-1) * (y**2).sum(axis=-1))
    return quotient((x * y).sum(axis=-1), norm)


def spearman(x: Floats, y: Floats) -> Floats:
    """Return Spearman's ρ over the last axis; equal values share their mean rank."""
    return pearson(_mean_ranks(x), _mean_ranks(y))


def _mean_ranks(values: Floats) -> Floats:
    """Return ranks from 1 over the last axis, equal values with their mean rank; all NaN if one value is.

    It is `scipy.stats.rankdata`, whose import takes longer than a meta-evaluation by a fast metric.
    """
    order = values.argsort(axis=-1, kind="stable")
    in_order = np.take_along_axis(values, order, axis=-1)
    place = np.broadcast_to(np.arange(values.shape[-1]), values.shape)
    changes = in_order[..., 1:] != in_order[..., :-1]
    ends = np.ones((*values.shape[:-1], min(values.shape[-1], 1)), dtype=bool)
    first = np.where(np.concatenate([ends, changes], axis=-1), place, 0)
    last = np.where(np.concatenate([changes, ends], axis=-1), place, values.shape[-1])
    first = np.maximum.accumulate(first, axis=-1)
    last = np.minimum.accumulate(last[..., ::-1], axis=-1)[..., ::-1]
    ranks: Floats = np.empty(values.shape)
    np.put_along_axis(ranks, order, (first + last) / 2 + 1, axis=-1)
    return np.where(np.isnan(values).any(axis=-1, keepdims=True), np.nan, ranks)


def kendall(x: Floats, y: Floats) -> Floats:
    """Return Kendall's τ-b over the last axis, which corrects for ties on either side.

    Compares every pair of systems: meant for tens of systems, not for thousands of segments.
    """
    x_signs, y_signs = _pair_signs(x), _pair_signs(y)
    norm = np.sqrt(np.abs(x_signs).sum(axis=-1) * np.abs(y_signs).sum(axis=-1))
    return quotient((x_signs * y_signs).sum(axis=-1), norm)


def pairwise_accuracy(human: Floats, metric: Floats) -> Floats:
    """Return the share of system pairs that the metric orders as the human scores do, over the last axis.

    Pairs with equal human scores are left out; a tie of the metric alone counts as wrong.

    Source: Kocmi et al., "To Ship or Not to Ship" (WMT 2021).
    """
    human_signs, metric_signs = _pair_signs(human), _pair_signs(metric)
    decided = human_signs != 0
    return quotient(
        (decided & (human_signs == metric_signs)).sum(axis=-1, dtype=np.float64),
        decided.sum(axis=-1, dtype=np.float64),
    )


_CORRELATIONS: dict[str, Callable[[Floats, Floats], Floats]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
    "pairwise-accuracy": pairwise_accuracy,
}


def correlate(kind: Correlation, human: Floats, metric: Floats) -> Floats:
    """Return the named correlation, over the last axis.

    Args:
        kind: the name of the correlation.
        human: (…, S), the human scores.
        metric: (…, S), the metric's scores of the same systems.
    """
    complete = ~(np.isnan(human).any(axis=-1) | np.isnan(metric).any(axis=-1))
    return np.where(complete, _CORRELATIONS[kind](human, metric), np.nan)


def partial(kind: Correlation, human: Floats, metric: Floats, control: Floats) -> Floats:
    """Return the correlation of two scores given a third, such as the edit count, over the last axis.

    The value is (r_hm − r_hc·r_mc) / sqrt((1 − r_hc²)(1 − r_mc²)): the agreement that is left after what the
    control explains is removed from both sides. It is NaN if the control explains a side completely.

    Args:
        kind: the name of the correlation.
        human: (…, S), the human scores.
        metric: (…, S), the metric's scores of the same systems.
        control: (…, S), the scores of the control.

    Example:
        >>> human = np.array([1.0, 2.0, 3.0, 4.0])
        >>> partial("pearson", human, np.array([1.0, 3.0, 2.0, 4.0]), np.array([0.0, 1.0, 1.0, 0.0]))
        array(0.8)
    """
    human_metric = correlate(kind, human, metric)
    human_control = correlate(kind, human, control)
    metric_control = correlate(kind, metric, control)
    left = (1 - human_control**2) * (1 - metric_control**2)
    return quotient(
        human_metric - human_control * metric_control, np.sqrt(np.where(left > 1e-12, left, 0.0))
    )


def fisher_interval(
    correlation: float,
    systems: int,
    level: float = 0.95,
    *,
    kind: Correlation = "pearson",
    controls: int = 0,
) -> tuple[float, float]:
    """Return the interval of a correlation between systems by Fisher's z.

    The interval is tanh(artanh r ± z·s), with s² = 1/(n − 3 − c) for Pearson's r, (1 + ρ²/2)/(n − 3 − c) for
    Spearman's ρ and .437/(n − 4 − c) for Kendall's τ, where c scores are held constant. A rank correlation
    has few possible values and is often 1 by chance. Each end is therefore that of a ρ or τ that differs by
    4/(n(n − 1)), the amount by which one pair of systems changes τ. The interval of a pairwise accuracy a is
    that of τ = 2a − 1. Unlike percentiles of a bootstrap over a dozen systems, these intervals hold their
    level (docs/lab/levels.md).

    Sources: Fisher, "On the 'Probable Error' of a Coefficient of Correlation" (1921); Bonett and Wright,
    "Sample Size Requirements for Estimating Pearson, Kendall and Spearman Correlations" (2000); Fieller,
    Hartley and Pearson, "Tests for Rank Correlation Coefficients" (1957).

    Args:
        correlation: the correlation, or a partial one; the interval of NaN is NaN.
        systems: n; with too few systems, the interval holds all possible values.
        level: confidence level of the interval.
        kind: the name of the correlation.
        controls: c.

    Example:
        >>> low, high = fisher_interval(0.89, 12)
        >>> round(low, 2), round(high, 2)
        (0.65, 0.97)
        >>> fisher_interval(1.0, 2, kind="spearman")
        (-1.0, 1.0)
    """
    from scipy.special import ndtri

    if np.isnan(correlation):
        return float("nan"), float("nan")
    if kind == "pairwise-accuracy":
        low, high = fisher_interval(2 * correlation - 1, systems, level, kind="kendall")
        return (1 + low) / 2, (1 + high) / 2
    known = systems - (4 if kind == "kendall" else 3) - controls
    if known < 1:
        return -1.0, 1.0
    step = 0.0 if kind == "pearson" else 4 / (systems * (systems - 1))

    def end(sign: int) -> float:
        moved = correlation + sign * step
        if abs(moved) >= 1:
            return float(np.sign(moved))
        variance = {"spearman": 1 + moved**2 / 2, "kendall": 0.437}.get(kind, 1.0) / known
        reach = sign * ndtri((1 + level) / 2) * np.sqrt(variance)
        return float(np.tanh(np.arctanh(moved) + reach))

    return end(-1), end(1)


def one_sided_p_values(differences: Floats, resampling: Resampling = Resampling()) -> Floats:
    """Return, per pair of systems, the p-value of "the first is better", by paired permutation.

    Each permutation flips the sign of each sentence's difference with probability 1/2; p is the share
    of permutations whose sum exceeds the observed one, those that equal it counting half, so that
    p(a, b) + p(b, a) = 1 and equal systems have .5.

    Args:
        differences: (N, P), per sentence the first system's score minus the second's, for P pairs.
        resampling: the number of permutations, and their seed.

    Returns:
        float64 (P,).
    """
    random, count = np.random.default_rng(resampling.seed), resampling.resamples
    observed = differences.sum(axis=0)
    slack = 1e-9 * np.abs(differences).sum(axis=0)
    above, equal = np.zeros((2, len(observed)))
    rows = block_rows(max(differences.shape))
    for start in range(0, count, rows):
        signs = random.integers(0, 2, (min(rows, count - start), len(differences))) * 2.0 - 1.0
        sums = signs @ differences
        above += (sums > observed + slack).sum(axis=0)
        equal += (np.abs(sums - observed) <= slack).sum(axis=0)
    values: Floats = above / count + equal / count / 2
    return values


def soft_pairwise_accuracy(human: Floats, metric: Floats) -> Floats:
    """Return soft pairwise accuracy, 1 − the mean over pairs of |p_human − p_metric|, over the last axis.

    Unlike pairwise accuracy, it requires the same confidence, not only the same sign.

    Source: Thompson et al., "Improving Statistical Significance in Human Evaluation of Automatic
    Metrics via Soft Pairwise Accuracy" (WMT 2024).

    Args:
        human: (…, P), one-sided p-values of the pairs from human judgements.
        metric: (…, P), one-sided p-values of the pairs from the metric's sentence scores.
    """
    agreement: Floats = 1 - np.abs(human - metric).mean(axis=-1)
    return agreement


def windows(kind: Correlation, human: Floats, metric: Floats, width: int, order: Indices) -> Floats:
    """Return the correlation within each window of neighbouring systems, (…, S − width + 1).

    Source: Kobayashi et al., "Revisiting Meta-evaluation for Grammatical Error Correction" (TACL 2024).

    Args:
        kind: the correlation.
        human: (…, S).
        metric: (…, S).
        width: systems in a window, 2 to S; 8 in the paper.
        order: int (S,), the systems from best to worst.
    """
    slide = np.lib.stride_tricks.sliding_window_view
    return correlate(
        kind,
        slide(human.take(order, axis=-1), width, axis=-1),
        slide(metric.take(order, axis=-1), width, axis=-1),
    )


def among_best(kind: Correlation, human: Floats, metric: Floats, order: Indices) -> Floats:
    """Return the correlation among the K best systems, (…, S − 3) for K from 4 to S.

    Source: Gong et al., "Revisiting Grammatical Error Correction Evaluation and Beyond" (EMNLP 2022),
    Figure 2.

    Args:
        kind: the correlation.
        human: (…, S).
        metric: (…, S).
        order: int (S,), the systems from best to worst.
    """
    columns = [
        correlate(kind, human.take(order[:count], axis=-1), metric.take(order[:count], axis=-1))
        for count in range(4, len(order) + 1)
    ]
    return np.stack(columns, axis=-1) if columns else np.empty((*metric.shape[:-1], 0))


def ranks(scores: Floats) -> Indices:
    """Return the rank of each system, int (S,): 1 for the highest score, and the best rank for a tie."""
    above: Indices = (scores[:, None] < scores[None]).sum(axis=1)
    return above + 1


def rank_distance(scores: Floats, human: Sequence[Floats]) -> int:
    """Return the sum over systems of the distance of a metric's rank to the nearest human rank.

    Source: the last row of Table 6 of Gong et al., "Revisiting Grammatical Error Correction Evaluation and
    Beyond" (EMNLP 2022), whose human ranks are by expected wins and by TrueSkill.

    Args:
        scores: (S,), the metric's scores.
        human: one or more human scores, (S,) each.

    Example:
        >>> rank_distance(np.array([3.0, 2.0, 1.0]), [np.array([2.0, 3.0, 1.0]), np.array([3.0, 1.0, 2.0])])
        1
    """
    distances = [np.abs(ranks(scores) - ranks(people)) for people in human]
    return int(np.min(distances, axis=0).sum())


def leave_one_out(kind: Correlation, human: Floats, metric: Floats) -> Floats:
    """Return the correlation without each system in turn, float64 (…, S); NaN for fewer than four.

    Args:
        kind: the name of the correlation.
        human: (S,), the human scores.
        metric: (…, S), the metric's scores.
    """
    size = len(human)
    if size < 4:
        return np.full(metric.shape, np.nan)
    others = np.array([[other for other in range(size) if other != out] for out in range(size)])
    return correlate(kind, human[others], metric.take(others, axis=-1))


def _pair_signs(scores: Floats) -> Floats:
    """Return (…, pairs): the sign of the difference of each pair of systems i < j."""
    first, second = np.triu_indices(scores.shape[-1], 1)
    return np.sign(scores[..., first] - scores[..., second])
