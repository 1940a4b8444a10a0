"""Agreement with people's comparisons of two systems' outputs for one sentence.

Everything is counted per sentence first, so a bootstrap over sentences is one matrix product.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from learnedgec.benchmarks.base import Comparisons
from learnedgec.errors import InputError

__all__ = [
    "Agreement",
    "Ties",
    "agreement",
    "at_equal_counts",
    "human_wins",
    "tie_calibrated_accuracy",
]

Floats = npt.NDArray[np.float64]
Ties = Literal["symmetric", "official"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How often a metric orders two outputs of a sentence as a person did, counted per sentence.

    Comparisons that the person left tied do not count. Each attribute is float64 (N,).

    Attributes:
        concordant: the metric prefers the same output.
        discordant: the metric prefers the other one.
        tied: the metric scores both equally.
    """

    concordant: Floats
    discordant: Floats
    tied: Floats

    @property
    def count(self) -> int:
        """The number of comparisons."""
        return int((self.concordant + self.discordant + self.tied).sum())

    @property
    def accuracy(self) -> float:
        """The share of comparisons with the same preference: concordant/all; a tie is wrong."""
        return float(self.accuracies(np.ones((1, len(self.tied))))[0])

    @property
    def kendall(self) -> float:
        """Kendall's τ over comparisons: (concordant − discordant)/all; a constant metric has 0."""
        return float(self.kendalls(np.ones((1, len(self.tied))))[0])

    def accuracies(self, drawn: Floats) -> Floats:
        """Return the accuracy of each resample that has drawn sentences so many times, (B, N) → (B,)."""
        return _share(drawn @ self.concordant, drawn @ self._all)

    def kendalls(self, drawn: Floats) -> Floats:
        """Return τ of each resample, as `accuracies`."""
        return _share(drawn @ (self.concordant - self.discordant), drawn @ self._all)

    @property
    def _all(self) -> Floats:
        return self.concordant + self.discordant + self.tied


def agreement(scores: Floats, comparisons: Comparisons, ties: Ties = "symmetric") -> Agreement:
    """Return how a metric's sentence scores agree with human comparisons.

    A metric's tie is neither concordant nor discordant with `symmetric` ties. With `official` ties it
    means that the system listed first loses, as in SEEDA's script, so that the result depends on the
    order of the systems and a constant metric reaches τ = .096 there.

    Source: Kobayashi et al., "Revisiting Meta-evaluation for Grammatical Error Correction" (TACL 2024).

    Args:
        scores: (S, N), the score of each sentence of each system, in the order of
            `comparisons.systems`.
        comparisons: what people said; each annotation counts.
        ties: what a tie of the metric means.

    Example:
        >>> told = Comparisons(("a", "b"), *np.array([[0, 1], [0, 0], [1, 1], [1, -1], [0, 1]]))
        >>> agreement(np.array([[0.9, 0.5], [0.1, 0.5]]), told).accuracy
        0.5
    """
    if ties not in get_args(Ties):
        raise InputError(f"no treatment of ties {ties!r}; choose {' or '.join(get_args(Ties))}.")
    decided = comparisons.outcome != 0
    sentence, outcome = comparisons.sentence[decided], comparisons.outcome[decided]
    first, second = comparisons.first[decided], comparisons.second[decided]
    preference = np.sign(scores[first, sentence] - scores[second, sentence])
    if ties == "official":
        preference = np.where(preference == 0, np.where(first < second, -1, 1), preference)
    product = preference * outcome

    def per_sentence(chosen: npt.NDArray[np.bool_]) -> Floats:
        return np.bincount(sentence[chosen], minlength=scores.shape[1]).astype(np.float64)

    return Agreement(
        per_sentence(product > 0), per_sentence(product < 0), per_sentence(product == 0)
    )


def at_equal_counts(comparisons: Comparisons, counts: Floats) -> Comparisons:
    """Return only the comparisons of outputs with equal counts, such as numbers of edits.

    A metric that is right because it counts edits is right here no more often than by chance.

    Args:
        comparisons: what people said.
        counts: (S, N), in the order of `comparisons.systems`.
    """
    equal = (
        counts[comparisons.first, comparisons.sentence]
        == counts[comparisons.second, comparisons.sentence]
    )
    return dataclasses.replace(
        comparisons,
        **{
            field.name: getattr(comparisons, field.name)[equal]
            for field in dataclasses.fields(comparisons)
            if field.name != "systems"
        },
    )


def tie_calibrated_accuracy(scores: Floats, comparisons: Comparisons) -> tuple[float, float]:
    """Return the best accuracy on better, worse *and tied*, and the threshold that reaches it.

    A metric whose scores differ by at most ε says "tied"; ε is chosen on the same comparisons, the
    smallest where several are best. Unlike the plain accuracy this rewards knowing when two outputs
    are as good as each other, and does not punish metrics for scores that are never equal.

    Source: Deutsch et al., "Ties Matter: Meta-Evaluating Modern Metrics with Pairwise Accuracy and
    Tie Calibration" (EMNLP 2023). Systems with the same output count as a human tie here.

    Args:
        scores: (S, N), in the order of `comparisons.systems`.
        comparisons: what people said, ties included.

    Returns:
        (accuracy, ε); NaN for both where there is no comparison.
    """
    if not len(comparisons):
        return float("nan"), float("nan")
    difference = (
        scores[comparisons.first, comparisons.sentence]
        - scores[comparisons.second, comparisons.sentence]
    )
    distance = np.abs(difference)
    order = np.argsort(distance, kind="stable")
    distance = distance[order]
    concordant = (np.sign(difference) * comparisons.outcome > 0)[order]
    tied = (comparisons.outcome == 0)[order]
    # With ε at the k-th smallest distance, the first k pairs are called ties and the others are not.
    right = np.cumsum(tied) + concordant.sum() - np.cumsum(concordant)
    last = np.append(distance[1:] != distance[:-1], True)
    candidates, gains = distance[last], right[last]
    if distance[0] > 0:
        candidates = np.insert(candidates, 0, 0.0)
        gains = np.insert(gains, 0, concordant.sum())
    best = int(np.argmax(gains))
    return float(gains[best] / len(distance)), float(candidates[best])


def human_wins(comparisons: Comparisons, sentences: int) -> tuple[Floats, Floats]:
    """Return wins and ties per sentence, each float64 (N, S, S).

    `wins[n, a, b]`: how often somebody preferred a to b on sentence n; `ties` is symmetric.
    """
    size = len(comparisons.systems)
    wins, ties = np.zeros((2, sentences, size, size))
    winner = np.where(comparisons.outcome > 0, comparisons.first, comparisons.second)
    loser = np.where(comparisons.outcome > 0, comparisons.second, comparisons.first)
    decided = comparisons.outcome != 0
    np.add.at(wins, (comparisons.sentence[decided], winner[decided], loser[decided]), 1)
    for a, b in ((winner, loser), (loser, winner)):
        np.add.at(ties, (comparisons.sentence[~decided], a[~decided], b[~decided]), 1)
    return wins, ties


def _share(part: Floats, whole: Floats) -> Floats:
    """Return the quotient, NaN where there is nothing to share."""
    shares: Floats = np.divide(part, whole, out=np.full(whole.shape, np.nan), where=whole > 0)
    return shares
