"""Metrics that count n-grams of the source, the hypothesis and the references.

All counts are integers and come from one table of every distinct text's n-grams, so the systems of one
run share the work on the sources and references. With s, r and h the multisets of n-grams of source,
reference and hypothesis, every metric here follows from the sizes of s, r, h, s∩r, s∩h, r∩h and
s∩r∩h, where ∩ takes the smaller count.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from learnedgec.errors import ParameterError
from learnedgec.metrics.base import Array, Floats, Metric, Statistics
from learnedgec.references import References
from learnedgec.runtime import Runtime

__all__ = ["Gleu", "Green"]

Unit = Literal["word", "char"]
Ints = npt.NDArray[np.int64]

# Sentences counted, and resamples summed, at a time: bounds memory at a few hundred MiB.
_ROWS = 20_000
_RESAMPLES = 500
# The quantile of the standard normal distribution that leaves 2.5 % above it.
_NORMAL_975 = 1.959963984540054


class _Ngrams:
    """The n-gram counts of some texts.

    For each order, an n-gram is a number below `size`, and `keys` holds `text · size + n-gram` for every
    n-gram that a text has, sorted, so that a text's n-grams are neighbours and a count is found by
    bisection; `counts` says how often it occurs there.
    """

    def __init__(self, texts: Sequence[str], unit: Unit, n: int) -> None:
        tokens = [text.split() if unit == "word" else list(text) for text in texts]
        self.lengths = np.array([len(sentence) for sentence in tokens], dtype=np.int64)
        vocabulary: dict[str, int] = {}
        flat = np.array(
            [vocabulary.setdefault(t, len(vocabulary)) for sentence in tokens for t in sentence],
            dtype=np.int64,
        )
        owner = np.repeat(np.arange(len(texts)), self.lengths)
        left = np.repeat(np.cumsum(self.lengths), self.lengths) - np.arange(len(flat))
        grams, places = flat, np.arange(len(flat))
        self._orders: list[tuple[Ints, Ints, Ints, int]] = []
        for order in range(1, n + 1):
            if order > 1:
                # An n-gram is its first n − 1 tokens, which have a number already, and its last one.
                inside = left[places] >= order
                grams, places = grams[inside], places[inside]
                pairs = grams * len(vocabulary) + flat[places + order - 1]
                grams = np.unique(pairs, return_inverse=True)[1]
            size = int(grams.max(initial=0)) + 1
            keys, counts = np.unique(owner[places] * size + grams, return_counts=True)
            starts = np.searchsorted(keys, np.arange(len(texts) + 1) * size)
            self._orders.append((keys, counts, starts, size))

    def sizes(self, texts: Ints, order: int) -> Ints:
        """Return how many n-grams of this order each text has, repeats included."""
        sizes: Ints = np.maximum(self.lengths[texts] + 1 - order, 0)
        return sizes

    def counts(self, order: int, texts: Ints, *others: Ints) -> tuple[Ints, Ints, list[Ints]]:
        """Look up the n-grams of P texts in each of the texts that stand beside them.

        Args:
            order: the n-grams' length.
            texts: numbers of texts, int (P,).
            others: for each text, the numbers of the texts to look in, int (P,) each.

        Returns:
            For every distinct n-gram of every text in turn: its position in `texts`, its count
            there, and its count in each of the others.
        """
        keys, counts, starts, size = self._orders[order - 1]
        many = starts[texts + 1] - starts[texts]
        position = np.repeat(np.arange(len(texts)), many)
        offset = np.arange(len(position)) - np.repeat(np.cumsum(many) - many, many)
        entry = starts[texts][position] + offset
        gram = keys[entry] - texts[position] * size
        found = []
        for other in others:
            key = other[position] * size + gram
            place = np.minimum(np.searchsorted(keys, key), max(len(keys) - 1, 0))
            found.append(np.where(keys[place] == key, counts[place], 0))
        return position, counts[entry], found


@dataclass(frozen=True)
class _Triples:
    """Every (source, reference, hypothesis) of some sentences: row and column in the statistics, and
    the numbers of the texts in the table of n-grams, int (P,) each."""  # noqa: D205, D209

    ngrams: _Ngrams
    rows: Ints
    columns: Ints
    source: Ints
    reference: Ints
    hypothesis: Ints

    @classmethod
    def number(
        cls,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References,
        unit: Unit,
        n: int,
    ) -> _Triples:
        """Number the distinct texts and count their n-grams."""
        numbers: dict[str, int] = {}
        triples = [
            (
                row,
                column,
                numbers.setdefault(source, len(numbers)),
                numbers.setdefault(reference.text, len(numbers)),
                numbers.setdefault(hypothesis, len(numbers)),
            )
            for row, (source, hypothesis, choices) in enumerate(
                zip(sources, hypotheses, references, strict=True)
            )
            for column, reference in enumerate(choices)
        ]
        return cls(_Ngrams(list(numbers), unit, n), *np.array(triples, dtype=np.int64).T)

    def sum(self, position: Ints, values: Ints) -> Ints:
        """Sum values by triple; integers in float64 are exact."""
        sums = np.bincount(position, weights=values, minlength=len(self.rows))
        return np.rint(sums).astype(np.int64)


def _parts(count: int) -> Iterator[slice]:
    """Yield slices that cover `count` sentences."""
    for start in range(0, count, _ROWS):
        yield slice(start, min(start + _ROWS, count))


def _resampled_totals(values: Ints, samples: npt.NDArray[np.intp]) -> Ints:
    """Return the sums of int (N, …) over each row of int (B, M) sentence numbers, int (B, …)."""
    flat = values.reshape(len(values), -1).astype(np.float64)
    totals = []
    for start in range(0, len(samples), _RESAMPLES):
        part = samples[start : start + _RESAMPLES]
        cells = part + len(values) * np.arange(len(part))[:, None]
        times = np.bincount(cells.ravel(), minlength=len(part) * len(values))
        totals.append(times.reshape(len(part), len(values)) @ flat)
    stacked = np.rint(np.concatenate(totals)).astype(np.int64)
    return stacked.reshape(len(samples), *values.shape[1:])


@lru_cache(maxsize=16)
def _picks(count: int, size: int, iterations: int) -> npt.NDArray[np.int32]:
    """Return which of `count` references each iteration picks for each of `size` sentences.

    The official script seeds Python's generator with 101 times the iteration and calls
    `randint(0, count − 1)` for each sentence. That is the top bits of the next 32-bit number of the
    Mersenne Twister, drawn again while too large; numpy makes the same numbers much faster. The global
    generator is never touched. int32 (iterations, size).
    """
    bits = count.bit_length()
    picks = np.empty((iterations, size), dtype=np.int32)
    generator = np.random.MT19937()
    for iteration in range(iterations):
        *key, place = random.Random(iteration * 101).getstate()[1]
        generator.state = {
            "bit_generator": "MT19937",
            "state": {"key": np.array(key, dtype=np.uint32), "pos": place},
        }
        fitting = np.empty(0, dtype=np.uint64)
        while len(fitting) < size:
            drawn = generator.random_raw(2 * size + 16) >> np.uint64(32 - bits)
            fitting = np.concatenate([fitting, drawn[drawn < count]])
        picks[iteration] = fitting[:size]
    return picks


@dataclass(frozen=True)
class Gleu(Metric):
    """GLEU: n-gram precision that rewards overlap with a reference and penalises kept source n-grams.

    Per order k the numerator is, clipped per sentence, `max(|h ∩ r| − |h ∩ (s ∖ r)|, 0)`, where s ∖ r
    drops every n-gram that occurs in r; the denominator is `max(|h| + 1 − k, 0)`. The corpus score sums
    both over sentences, `exp(min(0, 1 − |r|/|h|) + Σ log(numerator/denominator)/4)`, 0 if any sum is
    0, and is the mean over `iterations` that pick one reference per sentence at random (one iteration
    where no sentence has two). Sentence scores set every zero to 1 and take the mean over references.

    Equal to `gleu.py` of the JFLEG repository (2 May 2016) under Python 3 for words and n = 4; the
    divisor 4 in the exponent is fixed there and here. Official references are one per line; where
    sentences differ in their number of references, a sentence takes the draw at its position that the
    official script would make if all had as many. Details give the mean's standard deviation over
    iterations and, as the script prints it, `mean ± 1.96 · standard deviation`.

    With `form='reformulated'` the numerator is `|h ∩ r| − |(h ∩ s) ∖ r|`, where ∖ subtracts counts, and
    is not clipped; sentence scores are not smoothed: an order without n-grams counts as 1, and a
    numerator of 0 or less makes the score 0. Koyama et al. (2024) restate GLEU like this, and the GLEU
    of Goto et al., "Rethinking Evaluation Metrics for Grammatical Error Correction" (ACL 2025), is this.

    Source: Napoles et al., "Ground Truth for Grammatical Error Correction Metrics" (ACL 2015) and
    "GLEU Without Tuning" (2016).

    Attributes:
        n: the longest n-gram.
        unit: n-grams of tokens, or of characters with the spaces between tokens.
        iterations: reference samples for the corpus score.
        form: how kept source n-grams are subtracted.

    Example:
        >>> from learnedgec import References, parse_metric
        >>> references = References.from_texts(["She goes to school ."])
        >>> score = parse_metric("gleu").score(["She go to school ."], ["She goes to school ."], references)
        >>> score.value
        1.0
    """

    name: ClassVar[str] = "gleu"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"iterations"})
    n: int = 4
    unit: Unit = "word"
    iterations: int = 500
    form: Literal["official", "reformulated"] = "official"

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
        own = np.zeros((len(hypotheses), 1 + self.n), dtype=np.int64)
        against = np.zeros((len(hypotheses), references.most, 1 + self.n), dtype=np.int64)
        for part in _parts(len(hypotheses)):
            choices = References(references.rows[part])
            found = _Triples.number(sources[part], hypotheses[part], choices, self.unit, self.n)
            rows, ngrams = found.rows + part.start, found.ngrams
            own[rows, 0] = ngrams.lengths[found.hypothesis]
            against[rows, found.columns, 0] = ngrams.lengths[found.reference]
            for order in range(1, self.n + 1):
                own[rows, order] = ngrams.sizes(found.hypothesis, order)
                position, count, (expected, unwanted) = ngrams.counts(
                    order, found.hypothesis, found.reference, found.source
                )
                right, wrong = np.minimum(count, expected), np.minimum(count, unwanted)
                if self.form == "official":
                    kept = found.sum(position, right - np.where(expected > 0, 0, wrong))
                    kept = np.maximum(kept, 0)
                else:
                    kept = found.sum(position, right - np.maximum(wrong - expected, 0))
                against[rows, found.columns, order] = kept
        counts = np.array([len(choices) for choices in references], dtype=np.int64)
        return Statistics({"hypothesis": own, "reference": against, "references": counts})

    def aggregate(self, statistics: Statistics) -> float:
        """Return the mean over iterations of the corpus score with sampled references."""
        return float(self._iterations(statistics, np.arange(len(statistics))[None])[0].mean())

    def aggregate_many(self, statistics: Statistics, samples: npt.NDArray[np.intp]) -> Floats:
        """Return the corpus score of each resample; its references are sampled anew by position."""
        means: Floats = self._iterations(statistics, samples).mean(axis=1)
        return means

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return standard deviation and 95 % interval over iterations, and their number."""
        scores = self._iterations(statistics, np.arange(len(statistics))[None])[0]
        mean, deviation = float(scores.mean()), float(scores.std())
        return {
            "standard_deviation": deviation,
            "interval_low": mean - _NORMAL_975 * deviation,
            "interval_high": mean + _NORMAL_975 * deviation,
            "iterations": len(scores),
        }

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the score of each sentence, the mean over its references."""
        against = statistics["reference"]
        own = np.broadcast_to(statistics["hypothesis"][:, None], against.shape)
        if self.form == "official":
            own, against = np.maximum(own, 1), np.maximum(against, 1)
        else:
            without = (own == 0) & (np.arange(own.shape[-1]) > 0)
            own, against = np.where(without, 1, own), np.where(without, 1, against)
        scores = _gleu(own, against)
        counts = statistics["references"]
        real = np.arange(against.shape[1]) < counts[:, None]
        means: Floats = np.where(real, scores, 0.0).sum(axis=1) / counts
        return means

    def _iterations(self, statistics: Statistics, samples: npt.NDArray[np.intp]) -> Floats:
        """Return the corpus score of each resample and iteration, float64 (B, iterations)."""
        own, against = statistics["hypothesis"], statistics["reference"]
        counts = statistics["references"]
        most = int(counts.max())
        iterations = 1 if most == 1 else self.iterations
        totals = np.repeat(_resampled_totals(against[:, 0], samples)[:, None], iterations, axis=1)
        # Sum of the first reference everywhere, plus the difference where another is picked: the
        # product runs at matrix speed, and integers in float64 are exact.
        for count in range(2, most + 1):
            if not (counts == count).any():
                continue
            picks = _picks(count, samples.shape[1], iterations)
            for column in range(1, count):
                chosen = (picks == column).astype(np.float64)
                difference = against[:, column] - against[:, 0]
                difference = np.where((counts == count)[:, None], difference, 0).astype(np.float64)
                for start in range(0, len(samples), _RESAMPLES):
                    part = slice(start, start + _RESAMPLES)
                    steps = difference[samples[part]].transpose(1, 0, 2)
                    sums = chosen @ steps.reshape(len(steps), -1)
                    sums = np.rint(sums).astype(np.int64).reshape(iterations, -1, 1 + self.n)
                    totals[part] += sums.transpose(1, 0, 2)
        lengths = _resampled_totals(own, samples)[:, None]
        return _gleu(np.broadcast_to(lengths, totals.shape), totals)


def _gleu(own: Array, against: Array) -> Floats:
    """Return GLEU from (…, 1+n) lengths with denominators and lengths with numerators."""
    zero = (own == 0).any(axis=-1) | (against <= 0).any(axis=-1)
    own, against = np.maximum(own, 1), np.maximum(against, 1)
    brevity = np.minimum(0.0, 1.0 - against[..., 0] / own[..., 0])
    logs = np.log(against[..., 1:] / own[..., 1:]).sum(axis=-1) / 4
    return np.where(zero, 0.0, np.exp(brevity + logs))


@dataclass(frozen=True)
class Green(Metric):
    """GREEN: F-score over the n-grams that were rightly kept, deleted and inserted.

    Per order, with the counts of an n-gram in source s, reference r and hypothesis h, it is rightly kept
    `min(s, r, h)` times, deleted `max(s − max(r, h), 0)`, inserted `max(min(r, h) − s, 0)` (TP); wrongly
    deleted `max(min(s, r) − h, 0)`, inserted `max(h − max(s, r), 0)` (FP); and not deleted
    `max(min(s, h) − r, 0)`, not inserted `max(r − max(s, h), 0)` (FN), each summed over n-grams.
    P = TP/(TP+FP), 1 if both are 0; R = TP/(TP+FN), 0 if both are 0. The score is
    `F = 1/(α/P̄ + (1−α)/R̄)`, α = 1/(β²+1), with the geometric means P̄ and R̄ over the orders 1 to n.

    Each sentence uses the reference with the best own F over orders 1 to n, ties decided by F over 1 to
    n−1, and so on, then the first; the corpus score sums the counts of these references.

    Equal to the official `green` and `sgreen`, which print percent and use β = 1 unless told otherwise;
    the default here is 2, as in meta-evaluations on SEEDA.

    Source: Koyama et al., "n-gram F-score for Evaluating Grammatical Error Correction" (INLG 2024).

    Attributes:
        n: the longest n-gram.
        beta: weight of recall.
        unit: n-grams of tokens, or of characters with the spaces between tokens.

    Example:
        >>> from learnedgec import References, parse_metric
        >>> references = References.from_texts(["She goes to school ."])
        >>> score = parse_metric("green").score(["She go to school ."], ["She goes to school ."], references)
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
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return `counts`, int (N, R, n, 3): TP, FP and FN by reference and order."""
        assert references is not None
        counts = np.zeros((len(hypotheses), references.most, self.n, 3), dtype=np.int64)
        for part in _parts(len(hypotheses)):
            choices = References(references.rows[part])
            found = _Triples.number(sources[part], hypotheses[part], choices, self.unit, self.n)
            source, reference, hypothesis = found.source, found.reference, found.hypothesis
            _, first, same = np.unique(
                source * (reference.max() + 1) + reference, return_index=True, return_inverse=True
            )
            for order in range(1, self.n + 1):
                s, r, h = (
                    found.ngrams.sizes(texts, order) for texts in (source, reference, hypothesis)
                )
                position, count, (in_source,) = found.ngrams.counts(
                    order, reference[first], source[first]
                )
                sr = found.sum(position, np.minimum(count, in_source))[same]
                position, count, (in_source, in_reference) = found.ngrams.counts(
                    order, hypothesis, source, reference
                )
                sh = found.sum(position, np.minimum(count, in_source))
                rh = found.sum(position, np.minimum(count, in_reference))
                srh = found.sum(position, np.minimum(count, np.minimum(in_source, in_reference)))
                # The regions of the docstring, by inclusion and exclusion.
                counts[found.rows + part.start, found.columns, order - 1] = np.stack(
                    [s - sr - sh + rh + srh, h + sr - sh - rh, r + sh - sr - rh], axis=1
                )
        return Statistics(
            {
                "counts": counts,
                "references": np.array([len(choices) for choices in references], dtype=np.int64),
            }
        )

    def aggregate(self, statistics: Statistics) -> float:
        """Return F over the summed counts of each sentence's best reference."""
        return float(self._scores(self._chosen(statistics).sum(axis=0))[2][-1])

    def aggregate_many(self, statistics: Statistics, samples: npt.NDArray[np.intp]) -> Floats:
        """Return the corpus score of each resample."""
        totals = _resampled_totals(self._chosen(statistics), samples)
        scores: Floats = self._scores(totals)[2][:, -1]
        return scores

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the geometric means of precision and recall."""
        precision, recall, _ = self._scores(self._chosen(statistics).sum(axis=0))
        return {"precision": float(precision[-1]), "recall": float(recall[-1])}

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return F of each sentence's best reference."""
        scores: Floats = self._scores(self._chosen(statistics))[2][:, -1]
        return scores

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return precision, recall and the number of the reference in use."""
        precision, recall, _ = self._scores(self._chosen(statistics))
        return {
            "precision": precision[:, -1],
            "recall": recall[:, -1],
            "reference": self._choice(statistics),
        }

    def _scores(self, counts: Ints) -> tuple[Floats, Floats, Floats]:
        """Return geometric means of P and R, and F, over the orders up to each; (…, n) from (…, n, 3)."""
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

    def _choice(self, statistics: Statistics) -> Ints:
        """Return the number of each sentence's best reference."""
        scores = self._scores(statistics["counts"])[2]
        absent = np.arange(scores.shape[1]) >= statistics["references"][:, None]
        scores[absent] = -1.0
        # Sort by the first key last: F over all orders decides, the position breaks full ties.
        position = -np.broadcast_to(np.arange(scores.shape[1]), absent.shape)
        keys = (position, *np.moveaxis(scores, -1, 0))
        choice: Ints = np.lexsort(keys, axis=1)[:, -1]
        return choice

    def _chosen(self, statistics: Statistics) -> Ints:
        """Return the counts against each sentence's best reference, int (N, n, 3)."""
        counts: Ints = statistics["counts"]
        return counts[np.arange(len(counts)), self._choice(statistics)]
