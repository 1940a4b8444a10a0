"""GLEU: n-gram overlap with references, which penalises n-grams that are wrongly kept from the source."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from learnedgec.data.references import References
from learnedgec.data.tokenisation import Unit
from learnedgec.errors import ParameterError
from learnedgec.metrics.contract import ResampledMetric, Statistics
from learnedgec.metrics.ngrams import (
    RESAMPLES_AT_ONCE,
    SENTENCES_AT_ONCE,
    ngram_counts,
    resampled_totals,
)
from learnedgec.metrics.reference_choice import count_references, real_references
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Indices, Texts

# The quantile of the standard normal distribution that leaves 2.5 % above it.
_NORMAL_975 = 1.959963984540054


# Sentences differ in their number of references. The cache keeps the picks for up to 64 such numbers.
@lru_cache(maxsize=64)
def _picks(count: int, sentences: int, iterations: int) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Return which of `count` references each iteration picks for each sentence, (iterations, sentences).

    The official script seeds Python's generator with 101 times the iteration and calls
    `randint(0, count − 1)` for each sentence. That is the top bits of the next 32-bit number of the
    Mersenne Twister, drawn again while too large; here, many are drawn at once. The global generator is
    never touched.
    """
    words, surplus = 2 * sentences + 16, np.uint32(32 - count.bit_length())
    picks = np.empty((iterations, sentences), dtype=np.min_scalar_type(count))
    for iteration, row in enumerate(picks):
        generator = random.Random(iteration * 101)
        fitting = np.empty(0, dtype=np.uint32)
        while len(fitting) < sentences:
            numbers = generator.getrandbits(32 * words).to_bytes(4 * words, "little")
            drawn = np.frombuffer(numbers, dtype="<u4") >> surplus
            fitting = np.concatenate([fitting, drawn[drawn < count]])
        row[:] = fitting[:sentences]
    return picks


@dataclass(frozen=True)
class Gleu(ResampledMetric):
    """GLEU: n-gram precision that rewards overlap with a reference and penalises kept source n-grams.

    Per order k the numerator is, clipped per sentence, `max(|h ∩ r| − |h ∩ (s ∖ r)|, 0)`, where s ∖ r
    drops every n-gram that occurs in r; the denominator is `max(|h| + 1 − k, 0)`. The corpus score sums
    both over sentences, `exp(min(0, 1 − |r|/|h|) + Σ log(numerator/denominator)/4)`, 0 if any sum is
    0, and is the mean over `iterations` that pick one reference per sentence at random (one iteration
    where no sentence has two). Sentence scores set every zero to 1 and take the mean over references.

    Equal to `gleu.py` of the JFLEG repository (2 May 2016) under Python 3 for words and n = 4; the
    divisor 4 in the exponent is fixed there and here. If sentences differ in their number of references, a
    sentence with R references gets the reference that the official script draws at its position where all
    sentences have R. Details give the mean's standard
    deviation over iterations and, as the script prints it, `mean ± 1.96 · standard deviation`.

    With `form='reformulated'` the numerator is `|h ∩ r| − |(h ∩ s) ∖ r|`, where ∖ subtracts counts, and
    is not clipped; sentence scores are not smoothed: an order without n-grams counts as 1, and a
    numerator of 0 or less makes the score 0. Koyama et al. (2024) restate GLEU like this, and Goto et al.,
    "Rethinking Evaluation Metrics for Grammatical Error Correction" (ACL 2025), use this form.

    Source: Napoles et al., "Ground Truth for Grammatical Error Correction Metrics" (ACL 2015) and
    "GLEU Without Tuning" (2016).

    Attributes:
        n: the longest n-gram.
        unit: whether n-grams consist of tokens, or of characters with the spaces between tokens.
        iterations: number of samples of references for the corpus score.
        form: the way in which kept source n-grams are subtracted.
        level: `corpus` scores the summed counts of all sentences, `sentence` takes the mean of sentence
            scores.
        smooth: whether zeros count 1 in sentence scores of the official form, as in the official script.
            SentGLEU of Gong et al. (2022) is `gleu(level='sentence', smooth=False)`.

    Example:
        >>> from learnedgec import References, load_metric
        >>> references = References.from_texts(["She goes to school ."])
        >>> score = load_metric("gleu").score(["She go to school ."], ["She goes to school ."], references)
        >>> score.value
        1.0
    """

    name: ClassVar[str] = "gleu"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"iterations", "level", "smooth"})
    side_details: ClassVar[frozenset[str]] = frozenset(
        {"reference_deviation", "reference_low", "reference_high", "iterations"}
    )
    n: int = 4
    unit: Unit = "word"
    iterations: int = 500
    form: Literal["official", "reformulated"] = "official"
    level: Literal["corpus", "sentence"] = "corpus"
    smooth: bool = True

    def __post_init__(self) -> None:
        if self.n < 1 or self.iterations < 1:
            raise ParameterError(f"{self}: n and iterations must be at least 1.")

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return int arrays: `hypothesis` (N, 1+n), `reference` (N, R, 1+n), `references` (N,): their number.

        A row of the first two has a length, then the precisions' denominators (hypothesis) or numerators
        (reference).
        """
        denominators = np.zeros((len(hypotheses), 1 + self.n), dtype=np.int64)
        numerators = np.zeros((len(hypotheses), references.most, 1 + self.n), dtype=np.int64)
        for rows, columns, orders in ngram_counts(
            sources, hypotheses, references, self.unit, self.n
        ):
            for order, (source, reference, hypothesis) in enumerate(orders, 1):
                sizes = hypothesis.sum(axis=1)
                if order == 1:
                    denominators[rows, 0] = sizes
                    numerators[rows, columns, 0] = reference.sum(axis=1)
                denominators[rows, order] = sizes
                right, kept = hypothesis.minimum(reference), hypothesis.minimum(source)
                if self.form == "official":
                    rightly_kept = kept.multiply(reference.sign())
                else:
                    rightly_kept = kept.minimum(reference)
                numerator = right.sum(axis=1) + rightly_kept.sum(axis=1) - kept.sum(axis=1)
                if self.form == "official":
                    numerator = np.maximum(numerator, 0)
                numerators[rows, columns, order] = numerator
        return Statistics(
            {
                "hypothesis": denominators,
                "reference": numerators,
                "references": count_references(references),
            }
        )

    def aggregate_many(self, statistics: Statistics, samples: Indices) -> Floats:
        """Return the mean over iterations of each resample's score; references are sampled by position."""
        if self.level == "sentence":
            resampled: Floats = self.sentence_scores(statistics)[samples].mean(axis=1)
            return resampled
        means: Floats = self._iterations(statistics, samples).mean(axis=1)
        return means

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the deviation of the score between samples of references, and the number of iterations.

        `reference_deviation` is the standard deviation of the score over iterations, and about 95 % of them
        lie between `reference_low` and `reference_high`. This is not a confidence interval of the score
        (`rank` has one). Sentence scores do not depend on sampled references.
        """
        if self.level == "sentence":
            return {}
        scores = self._iterations(statistics, np.arange(len(statistics))[None])[0]
        mean, deviation = float(scores.mean()), float(scores.std())
        return {
            "reference_deviation": deviation,
            "reference_low": mean - _NORMAL_975 * deviation,
            "reference_high": mean + _NORMAL_975 * deviation,
            "iterations": len(scores),
        }

    def doubts(self, statistics: Statistics) -> list[str]:
        """Return why the corpus score is 0, if no text has an n-gram of some order, or none is right."""
        if self.level == "sentence":
            return []
        present = np.asarray(statistics["hypothesis"].any(axis=0))
        right = np.asarray((statistics["reference"] > 0).any(axis=(0, 1)))
        for having, which in ((present, ""), (right, " that counts as right")):
            if not having[1:].all():
                return [
                    f"{self.name}: texts without any {having[1:].argmin() + 1}-gram{which} have the corpus "
                    f"score 0; score more text, or use {self.name}(level='sentence'), the mean of sentence "
                    "scores."
                ]
        return []

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the score of each sentence, the mean over its references."""
        numerators = statistics["reference"]
        denominators = np.broadcast_to(statistics["hypothesis"][:, None], numerators.shape)
        if self.form == "official" and self.smooth:
            denominators, numerators = np.maximum(denominators, 1), np.maximum(numerators, 1)
        elif self.form == "reformulated":
            no_ngrams = (denominators == 0) & (np.arange(denominators.shape[-1]) > 0)
            denominators = np.where(no_ngrams, 1, denominators)
            numerators = np.where(no_ngrams, 1, numerators)
        scores = _gleu(np.moveaxis(denominators, -1, 0), np.moveaxis(numerators, -1, 0))
        real = real_references(statistics, "reference")
        means: Floats = np.where(real, scores, 0.0).sum(axis=1) / statistics["references"]
        return means

    def _iterations(self, statistics: Statistics, samples: Indices) -> Floats:
        """Return the corpus score of each resample and iteration, float64 (B, iterations)."""
        denominators, numerators = statistics["hypothesis"], statistics["reference"]
        counts = statistics["references"]
        most = int(counts.max())
        iterations = 1 if most == 1 else self.iterations
        # The length and the orders are the first axis, so that numbers to add are neighbours: (1+n, …, B).
        both = resampled_totals(np.stack([denominators, numerators[:, 0]], axis=1), samples)
        lengths, first = both.transpose(1, 2, 0).astype(np.float64)
        totals = np.repeat(first[:, None], iterations, axis=1)
        # To the totals with the first reference of every sentence, a product of matrices adds the differences
        # that other picks make. Integers below 2^24 are exact in float32, which takes half as long.
        largest = samples.shape[1] * int(np.abs(numerators - numerators[:, :1]).max(initial=0))
        dtype: type[np.floating[Any]] = np.float32 if largest < 1 << 24 else np.float64
        for count in range(2, most + 1):
            if not (counts == count).any():
                continue
            picks = _picks(count, samples.shape[1], iterations)
            for column in range(1, count):
                # The difference that this reference makes, 0 for sentences without such a reference.
                difference = numerators[:, column] - numerators[:, 0]
                difference = np.where((counts == count)[:, None], difference, 0).astype(dtype)
                difference = np.ascontiguousarray(difference.T)
                for begin in range(0, samples.shape[1], SENTENCES_AT_ONCE):
                    sentences = slice(begin, begin + SENTENCES_AT_ONCE)
                    chosen = (picks[:, sentences] == column).astype(dtype)
                    for start in range(0, len(samples), RESAMPLES_AT_ONCE):
                        resamples = slice(start, start + RESAMPLES_AT_ONCE)
                        changes = difference.take(samples[resamples, sentences].T, axis=1)
                        totals[:, :, resamples] += chosen @ changes
        # Few iterations at once stay in the processor's cache.
        parts = [totals[:, begin : begin + 16] for begin in range(0, iterations, 16)]
        scores: Floats = np.concatenate([_gleu(lengths[:, None], part) for part in parts]).T
        return scores


def _gleu(denominators: Array, numerators: Array) -> Floats:
    """Return GLEU from (1+n, …) arrays: a length, then the denominators or numerators of each order."""
    zero = (denominators == 0).any(axis=0) | (numerators <= 0).any(axis=0)
    shares = np.maximum(numerators, 1) / np.maximum(denominators, 1)
    # Two square roots take less time than four logarithms.
    precision = np.sqrt(np.sqrt(np.prod(shares[1:], axis=0)))
    return np.where(zero, 0.0, np.exp(np.minimum(0.0, 1.0 - shares[0])) * precision)
