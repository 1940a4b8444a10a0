"""GREEN: F-score over the n-grams that were rightly kept, deleted and inserted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from learnedgec.data.references import References
from learnedgec.data.tokenisation import Unit
from learnedgec.errors import ParameterError
from learnedgec.metrics.contract import ResampledMetric, Statistics
from learnedgec.metrics.ngrams import ngram_counts, resampled_totals
from learnedgec.metrics.reference_choice import count_references, first_best, real_references
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Indices, Ints, Texts

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Green(ResampledMetric):
    """GREEN: F-score over the n-grams that were rightly kept, deleted and inserted.

    An n-gram occurs s times in the source, r times in the reference and h times in the hypothesis. TP counts
    how often it is rightly kept, `min(s, r, h)`, deleted, `max(s − max(r, h), 0)`, and inserted,
    `max(min(r, h) − s, 0)`. FP counts how often it is wrongly deleted, `max(min(s, r) − h, 0)`, and inserted,
    `max(h − max(s, r), 0)`. FN counts how often it is not deleted, `max(min(s, h) − r, 0)`, and not inserted,
    `max(r − max(s, h), 0)`. All are summed over the n-grams of an order. P = TP/(TP+FP), and 1 if both are 0;
    R = TP/(TP+FN), and 0 if both are 0. The score is `F = 1/(α/P̄ + (1−α)/R̄)`, α = 1/(β²+1), with the
    geometric means P̄ and R̄ over the orders 1 to n.

    Each sentence uses the reference with the best own F over orders 1 to n. F over orders 1 to n−1, and so
    on, decides between equals, and then the first wins. The corpus score sums the counts of these references.

    Equal to the official `green` and `sgreen`, which print percentages and use β = 1 by default; the default
    here is 2, as in meta-evaluations on SEEDA.

    Source: Koyama et al., "n-gram F-score for Evaluating Grammatical Error Correction" (INLG 2024).

    Attributes:
        n: the longest n-gram.
        beta: weight of recall.
        unit: whether n-grams consist of tokens, or of characters with the spaces between tokens.

    Example:
        >>> from learnedgec import References, load_metric
        >>> references = References.from_texts(["She goes to school ."])
        >>> score = load_metric("green").score(["She go to school ."], ["She goes to school ."], references)
        >>> score.value
        1.0
    """

    name: ClassVar[str] = "green"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"beta"})
    n: int = 4
    beta: float = 2.0
    unit: Unit = "word"

    def __post_init__(self) -> None:
        if self.n < 1 or not self.beta >= 0:
            raise ParameterError(f"{self}: n must be at least 1 and beta at least 0.")

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return `counts`, int (N, R, n, 3): TP, FP and FN by reference and order."""
        counts = np.zeros((len(hypotheses), references.most, self.n, 3), dtype=np.int64)
        for rows, columns, orders in ngram_counts(
            sources, hypotheses, references, self.unit, self.n
        ):
            for number, (source, reference, hypothesis) in enumerate(orders):
                in_both = source.minimum(reference)
                s, r, h, sr, sh, rh, srh = (
                    table.sum(axis=1)
                    for table in (
                        *(source, reference, hypothesis, in_both),
                        source.minimum(hypothesis),
                        reference.minimum(hypothesis),
                        in_both.minimum(hypothesis),
                    )
                )
                # The regions of the docstring, by inclusion and exclusion.
                counts[rows, columns, number] = np.stack(
                    [s - sr - sh + rh + srh, h + sr - sh - rh, r + sh - sr - rh], axis=1
                )
        return Statistics({"counts": counts, "references": count_references(references)})

    def aggregate_many(self, statistics: Statistics, samples: Indices) -> Floats:
        """Return F of each resample, over the summed counts of each sentence's best reference."""
        totals = resampled_totals(self._chosen(statistics), samples)
        return self._scores(totals)[2][:, -1]

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the geometric means of precision and recall."""
        precision, recall, _ = self._scores(self._chosen(statistics).sum(axis=0))
        return {"precision": float(precision[-1]), "recall": float(recall[-1])}

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return F of each sentence's best reference."""
        return self._scores(self._chosen(statistics))[2][:, -1]

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return precision, recall and the number of the reference in use."""
        precision, recall, _ = self._scores(self._chosen(statistics))
        return {
            "precision": precision[:, -1],
            "recall": recall[:, -1],
            "reference": self._choice(statistics),
        }

    def _scores(self, counts: Ints) -> tuple[Floats, Floats, Floats]:
        """Return the means of P and R, and F, over the orders up to each order, (…, n) from (…, n, 3)."""
        right, over, under = (counts[..., region].astype(np.float64) for region in range(3))
        precision = np.where(right + over > 0, right / np.maximum(right + over, 1), 1.0)
        recall = np.where(right + under > 0, right / np.maximum(right + under, 1), 0.0)
        orders = np.arange(1, self.n + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            precision, recall = (
                np.exp(np.log(values).cumsum(axis=-1) / orders) for values in (precision, recall)
            )
            alpha = 1 / (self.beta**2 + 1)
            scores = 1 / (alpha / precision + (1 - alpha) / recall)
        return precision, recall, np.where((precision == 0) | (recall == 0), 0.0, scores)

    def _choice(self, statistics: Statistics) -> Indices:
        """Return the number of each sentence's best reference."""
        scores = self._scores(statistics["counts"])[2]
        # F over all orders decides, then over fewer; the first of equal references wins.
        return first_best(
            list(np.moveaxis(scores, -1, 0))[::-1], real_references(statistics, "counts")
        )

    def _chosen(self, statistics: Statistics) -> Ints:
        """Return the counts against each sentence's best reference, int (N, n, 3)."""
        counts: Ints = statistics["counts"]
        return counts[np.arange(len(counts)), self._choice(statistics)]
