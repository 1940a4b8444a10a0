"""Agreement of sentence scores with human comparisons of two outputs and human ratings of outputs.

Comparisons are counted per sentence first, so a bootstrap over sentences is one matrix product. Ratings are
correlated in two ways. `pooled` correlates all rated outputs at once, and so also rewards a metric that knows
which *sentences* are easy. `grouped` is the mean correlation of the outputs of one source, so only the choice
of the better output counts.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from learnedgec.data.benchmarks.base import Comparisons
from learnedgec.errors import UnknownNameError
from learnedgec.stats.correlation import correlate
from learnedgec.stats.significance import outcomes, quotient
from learnedgec.types import Floats, Indices

Ties = Literal["symmetric", "official"]
Grouping = Literal["pooled", "grouped"]
Segments = Literal["pearson", "spearman", "kendall"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Counts, per sentence, of comparisons that a metric orders as the annotator did or otherwise.

    Human ties do not count. Each attribute is float64 (N,).

    Attributes:
        concordant: the number of comparisons in which the metric prefers the same output.
        discordant: the number in which it prefers the other output.
        tied: the number in which it scores both equally.
    """

    concordant: Floats
    discordant: Floats
    tied: Floats

    @property
    def count(self) -> int:
        """The number of comparisons."""
        return int((self.concordant + self.discordant + self.tied).sum())

    @property
    def sentences(self) -> int:
        """The number of sentences that have comparisons."""
        return int((self._all > 0).sum())

    @property
    def accuracy(self) -> float:
        """The share of comparisons with the same preference, concordant/all; a tie is wrong."""
        return float(self.accuracies(np.ones((1, len(self.tied))))[0])

    @property
    def kendall(self) -> float:
        """Kendall's τ over comparisons: (concordant − discordant)/all; a constant metric has 0."""
        return float(self.kendalls(np.ones((1, len(self.tied))))[0])

    def accuracies(self, drawn: Floats) -> Floats:
        """Return the accuracy on each resample, (B,), from the number of draws of each sentence, (B, N)."""
        return quotient(drawn @ self.concordant, drawn @ self._all)

    def kendalls(self, drawn: Floats) -> Floats:
        """Return τ on each resample, like `accuracies`."""
        return quotient(drawn @ (self.concordant - self.discordant), drawn @ self._all)

    @property
    def _all(self) -> Floats:
        return self.concordant + self.discordant + self.tied


def agreement(scores: Floats, comparisons: Comparisons, ties: Ties = "symmetric") -> Agreement:
    """Return how a metric's sentence scores agree with human comparisons.

    A metric's tie is neither concordant nor discordant with `symmetric` ties. With `official` ties it
    means that the system listed first loses, as in SEEDA's script, so that the result depends on the
    order of the systems and a constant metric has τ = .096 there.

    Source: Kobayashi et al., "Revisiting Meta-evaluation for Grammatical Error Correction" (TACL 2024).

    Args:
        scores: (S, N), the score of each sentence of each system, in the order of
            `comparisons.systems`.
        comparisons: the human comparisons; each annotation counts.
        ties: the treatment of the metric's ties.

    Example:
        >>> judged = Comparisons(("a", "b"), *np.array([[0, 1], [0, 0], [1, 1], [1, -1], [0, 1]]))
        >>> agreement(np.array([[0.9, 0.5], [0.1, 0.5]]), judged).accuracy
        0.5
    """
    comparisons = decided(comparisons)
    product = preferences(scores, comparisons, ties) * comparisons.outcome
    return Agreement(
        *(_per_sentence(comparisons, product == value, scores) for value in (1, -1, 0))
    )


def preferences(scores: Floats, comparisons: Comparisons, ties: Ties = "symmetric") -> Floats:
    """Return which output of each comparison the metric prefers: 1 the first, -1 the second, 0 none.

    Args:
        scores: (…, S, N).
        comparisons: C comparisons.
        ties: as for `agreement`.

    Returns:
        float64 (…, C).

    Raises:
        UnknownNameError: there is no such treatment of ties.
    """
    if ties not in get_args(Ties):
        raise UnknownNameError("treatment of ties", ties, get_args(Ties))
    preference = outcomes(*_compared(scores, comparisons))
    if ties == "official":
        listed_first = np.where(comparisons.first < comparisons.second, -1.0, 1.0)
        preference = np.where(preference == 0, listed_first, preference)
    return preference


def decided(comparisons: Comparisons) -> Comparisons:
    """Return only the comparisons that are not ties."""
    return chosen(comparisons, comparisons.outcome != 0)


def at_equal_counts(comparisons: Comparisons, counts: Floats) -> Comparisons:
    """Return only the comparisons of outputs with equal counts, such as numbers of edits.

    A metric that only counts edits is right no more often than by chance on these.

    Args:
        comparisons: the human comparisons.
        counts: (S, N), in the order of `comparisons.systems`.
    """
    return chosen(comparisons, outcomes(*_compared(counts, comparisons)) == 0)


def tie_threshold(scores: Floats, comparisons: Comparisons) -> float:
    """Return ε, the difference of scores up to which ties agree most often with the human comparisons.

    It is the smallest of several best values, and NaN if there are no comparisons.

    Args:
        scores: (S, N), in the order of `comparisons.systems`.
        comparisons: the human comparisons, ties included.
    """
    if not len(comparisons):
        return float("nan")
    difference = _differences(scores, comparisons)
    distance = np.abs(difference)
    tied = np.sort(distance[comparisons.outcome == 0])
    concordant = np.sort(distance[np.sign(difference) * comparisons.outcome > 0])
    candidates = np.unique(np.append(distance, 0.0))
    # A larger ε gains human ties and loses concordant comparisons.
    gained = np.searchsorted(tied, candidates, side="right")
    lost = np.searchsorted(concordant, candidates, side="right")
    return float(candidates[np.argmax(gained - lost)])


def agreement_with_ties(scores: Floats, comparisons: Comparisons, threshold: float) -> Agreement:
    """Return the agreement on better, worse *and tied* outputs, with ties of the metric up to a threshold.

    With the threshold of `tie_threshold` its accuracy is the tie-calibrated one. Unlike the plain accuracy,
    it rewards a metric for recognising equally good outputs, and does not favour metrics whose scores are
    never equal. Every comparison is concordant or discordant here.

    Source: Deutsch et al., "Ties Matter: Meta-Evaluating Modern Metrics with Pairwise Accuracy and
    Tie Calibration" (EMNLP 2023). Systems with the same output count as a human tie.

    Args:
        scores: (S, N), in the order of `comparisons.systems`.
        comparisons: the human comparisons, ties included.
        threshold: ε.
    """
    difference = _differences(scores, comparisons)
    preference = np.where(np.abs(difference) <= threshold, 0, np.sign(difference))
    right = preference == comparisons.outcome
    return Agreement(
        _per_sentence(comparisons, right, scores),
        _per_sentence(comparisons, ~right, scores),
        np.zeros(scores.shape[1]),
    )


def _per_sentence(
    comparisons: Comparisons, marked: npt.NDArray[np.bool_], scores: Floats
) -> Floats:
    """Return the number of marked comparisons of each sentence, float64 (N,)."""
    counts = np.bincount(comparisons.sentence[marked], minlength=scores.shape[1])
    return counts.astype(np.float64)


def _differences(scores: Floats, comparisons: Comparisons) -> Floats:
    """Return, per comparison, the score of the first output minus that of the second; 0 where they tie."""
    first, second = _compared(scores, comparisons)
    differences: Floats = np.where(outcomes(first, second) == 0, 0.0, first - second)
    return differences


def _compared(scores: Floats, comparisons: Comparisons) -> tuple[Floats, Floats]:
    """Return, per comparison, the scores of the first output and of the second."""
    return (
        scores[..., comparisons.first, comparisons.sentence],
        scores[..., comparisons.second, comparisons.sentence],
    )


def chosen(comparisons: Comparisons, marked: npt.NDArray[np.bool_]) -> Comparisons:
    """Return the marked comparisons."""
    _, *columns = dataclasses.fields(comparisons)
    marked_columns = {column.name: getattr(comparisons, column.name)[marked] for column in columns}
    return dataclasses.replace(comparisons, **marked_columns)


def human_wins(comparisons: Comparisons, sentences: int) -> tuple[Floats, Floats]:
    """Return wins and ties per sentence, each float64 (N, S, S).

    `wins[n, a, b]` is the number of annotators who preferred a to b on sentence n; `ties` is symmetric.
    """
    size = len(comparisons.systems)
    wins, ties = np.zeros((2, sentences, size, size))
    for counts, outcome in ((wins, 1), (wins.swapaxes(1, 2), -1), (ties, 0)):
        among = chosen(comparisons, comparisons.outcome == outcome)
        np.add.at(counts, (among.sentence, among.first, among.second), 1)
    return wins, ties + ties.swapaxes(1, 2)


# -- ratings of outputs ----------------------------------------------------------------------------


def segment_correlation(
    kind: Segments, scores: Floats, ratings: Floats, grouping: Grouping = "pooled"
) -> tuple[float, int]:
    """Return the correlation of a metric's sentence scores with ratings, and its sample size.

    Args:
        kind: Pearson's r, Spearman's ρ or Kendall's τ-b.
        scores: (S, N), the metric's score of each sentence of each system.
        ratings: (S, N), the human ratings, NaN where missing.
        grouping: `pooled` over all rated outputs, or `grouped`: the mean over sources of the
            correlation among that source's outputs, leaving out sources without two outputs that are rated
            differently. A source whose outputs the metric scores alike counts as 0, so that all metrics are
            judged on the same sources and none gains by abstaining.

    Returns:
        The correlation, and the number of rated outputs (pooled) or sources (grouped).
    """
    if grouping == "grouped":
        values = _of_each_source(kind, scores, ratings)
        values = values[~np.isnan(values)]
        return (float(values.mean()) if values.size else float("nan")), values.size
    rated = ~np.isnan(ratings)
    return _pooled(kind, scores[rated], ratings[rated]), int(rated.sum())


def segment_correlations_of_resamples(
    kind: Segments,
    scores: Floats,
    ratings: Floats,
    samples: Indices,
    grouping: Grouping,
) -> Floats:
    """Return the correlation on each of B resamples of the sources, float64 (B,).

    Args:
        kind: the correlation, as for `segment_correlation`.
        scores: (S, N).
        ratings: (S, N).
        samples: int (B, M), each row the source numbers of one resample.
        grouping: `pooled` or `grouped`.
    """
    if grouping == "grouped":
        drawn = _of_each_source(kind, scores, ratings)[samples]
        return quotient(np.nansum(drawn, axis=1), (~np.isnan(drawn)).sum(axis=1))
    return np.array(
        [segment_correlation(kind, scores[:, rows], ratings[:, rows])[0] for rows in samples]
    )


def _pooled(kind: Segments, scores: Floats, ratings: Floats) -> float:
    """Return the correlation of two long vectors, for which scipy computes Kendall's τ in O(n log n)."""
    if kind != "kendall":
        return float(correlate(kind, scores, ratings))
    from scipy.stats import kendalltau

    if len(scores) < 2:
        return float("nan")
    return float(kendalltau(scores, ratings).statistic)


def _of_each_source(kind: Segments, scores: Floats, ratings: Floats) -> Floats:
    """Return the correlation among each source's outputs, (N,); it is NaN where all are rated alike."""
    correlations = np.full(scores.shape[1], np.nan)
    rated = ~np.isnan(ratings)
    # Sources with the same number of rated outputs are computed together.
    counts = rated.sum(axis=0)
    for count in np.unique(counts[counts > 1]):
        sources = np.flatnonzero(counts == count)
        score, rating = (
            values[:, sources].T[rated[:, sources].T].reshape(-1, count)
            for values in (scores, ratings)
        )
        abstains = (np.ptp(score, axis=1) == 0) & (np.ptp(rating, axis=1) > 0)
        correlations[sources] = np.where(abstains, 0.0, correlate(kind, score, rating))
    return correlations
