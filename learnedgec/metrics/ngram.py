"""Metrics that count n-grams of the source, the hypothesis and the references."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from learnedgec.errors import ParameterError
from learnedgec.metrics.base import Array, Floats, Metric, Statistics
from learnedgec.references import References
from learnedgec.runtime import Runtime

__all__ = ["Gleu"]

Ngrams = list[Counter[tuple[str, ...]]]


@lru_cache(maxsize=65536)
def _ngrams(text: str, n: int) -> Ngrams:
    """Return the n-gram counts of a text's tokens for the orders 1 to n."""
    tokens = text.split()
    return [
        Counter(zip(*(tokens[start:] for start in range(order)), strict=False))
        for order in range(1, n + 1)
    ]


@lru_cache(maxsize=64)
def _picks(counts: bytes, iterations: int) -> npt.NDArray[np.int64]:
    """Return the reference that each iteration picks for each sentence, int (iterations, N).

    Python's own generator, seeded with 101 times the iteration, as the official script does; the
    global generator is never touched.
    """
    numbers = np.frombuffer(counts, dtype=np.int64).tolist()
    picks = np.empty((iterations, len(numbers)), dtype=np.int64)
    for iteration in range(iterations):
        draw = random.Random(iteration * 101).randint
        picks[iteration] = [draw(0, number - 1) for number in numbers]
    return picks


@dataclass(frozen=True)
class Gleu(Metric):
    """GLEU: n-gram precision that rewards overlap with a reference and penalises kept source n-grams.

    Per order k the numerator is, clipped per sentence, `max(|h ∩ r| − |h ∩ (s ∖ r)|, 0)`, where s ∖ r
    drops every n-gram that occurs in r; the denominator is `max(|h| + 1 − k, 0)`. The corpus score sums
    both over sentences, `exp(min(0, 1 − |r|/|h|) + Σ log(numerator/denominator)/4)`, 0 if any sum is
    0, and is the mean over `iterations` that pick one reference per sentence at random (one iteration
    where no sentence has two). Sentence scores set every zero to 1 and take the mean over references.

    Equal to `gleu.py` of the JFLEG repository (2 May 2016) under Python 3 for n = 4; the divisor 4 in
    the exponent is fixed there and here. Official references are one per line; a sentence may have
    fewer here, and then picks among its own.

    Source: Napoles et al., "Ground Truth for Grammatical Error Correction Metrics" (ACL 2015) and
    "GLEU Without Tuning" (2016).

    Attributes:
        n: the longest n-gram, in tokens.
        iterations: reference samples for the corpus score.

    Example:
        >>> from learnedgec import References, parse_metric
        >>> references = References.from_texts(["She goes to school ."])
        >>> score = parse_metric("gleu").score(["She go to school ."], ["She goes to school ."], references)
        >>> score.value
        1.0
    """

    name: ClassVar[str] = "gleu"
    n: int = 4
    iterations: int = 500

    def __post_init__(self) -> None:
        if self.n < 1 or self.iterations < 1:
            raise ParameterError(f"{self}: n and iterations must be at least 1.")

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return `hypothesis` int (N, 1+n): length and denominators, `reference` int (N, R, 1+n): length and numerators."""
        assert references is not None
        size = len(hypotheses)
        own = np.zeros((size, 1 + self.n), dtype=np.int64)
        against = np.zeros((size, references.most, 1 + self.n), dtype=np.int64)
        orders = np.arange(1, self.n + 1)
        for row, (source, hypothesis, choices) in enumerate(
            zip(sources, hypotheses, references, strict=True)
        ):
            length = len(hypothesis.split())
            own[row, 0] = length
            own[row, 1:] = np.maximum(length + 1 - orders, 0)
            source_grams, grams = _ngrams(source, self.n), _ngrams(hypothesis, self.n)
            for column, reference in enumerate(choices):
                reference_grams = _ngrams(reference.text, self.n)
                against[row, column, 0] = len(reference.text.split())
                for order in range(self.n):
                    kept = 0
                    for gram, count in grams[order].items():
                        if expected := reference_grams[order].get(gram, 0):
                            kept += min(count, expected)
                        elif unwanted := source_grams[order].get(gram, 0):
                            kept -= min(count, unwanted)
                    against[row, column, 1 + order] = max(kept, 0)
        counts = np.array([len(choices) for choices in references], dtype=np.int64)
        return Statistics({"hypothesis": own, "reference": against, "references": counts})

    def aggregate(self, statistics: Statistics) -> float:
        """Return the mean over iterations of the corpus score with sampled references."""
        return float(self._iterations(statistics).mean())

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the standard deviation over iterations, and their number."""
        scores = self._iterations(statistics)
        return {"standard_deviation": float(scores.std()), "iterations": len(scores)}

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the smoothed score of each sentence, the mean over its references."""
        own, against = statistics["hypothesis"], statistics["reference"]
        scores = _gleu(
            np.maximum(np.broadcast_to(own[:, None], against.shape), 1), np.maximum(against, 1)
        )
        counts = statistics["references"]
        real = np.arange(against.shape[1]) < counts[:, None]
        means: Floats = np.where(real, scores, 0.0).sum(axis=1) / counts
        return means

    def _iterations(self, statistics: Statistics) -> Floats:
        """Return the corpus score of each iteration."""
        own, against = statistics["hypothesis"], statistics["reference"]
        counts = statistics["references"]
        if counts.max() == 1:
            totals = against[:, 0].sum(axis=0)[None]
        else:
            picks = _picks(np.ascontiguousarray(counts).tobytes(), self.iterations)
            # Sum of the first reference everywhere, plus the difference where another is picked:
            # integers in float64 are exact, and the product runs at matrix speed.
            totals = np.repeat(against[:, 0].sum(axis=0)[None], self.iterations, axis=0)
            for column in range(1, against.shape[1]):
                chosen = (picks == column).astype(np.float64)
                difference = (against[:, column] - against[:, 0]).astype(np.float64)
                totals = totals + np.rint(chosen @ difference).astype(np.int64)
        return _gleu(np.broadcast_to(own.sum(axis=0), totals.shape), totals)


def _gleu(own: Array, against: Array) -> Floats:
    """Return GLEU from (…, 1+n) lengths with denominators and lengths with numerators."""
    zero = (own == 0).any(axis=-1) | (against == 0).any(axis=-1)
    own, against = np.where(own == 0, 1, own), np.where(against == 0, 1, against)
    brevity = np.minimum(0.0, 1.0 - against[..., 0] / own[..., 0])
    logs = np.log(against[..., 1:] / own[..., 1:]).sum(axis=-1) / 4
    return np.where(zero, 0.0, np.exp(brevity + logs))
