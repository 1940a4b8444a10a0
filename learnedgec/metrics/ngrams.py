"""Counts of the n-grams of sources, references and hypotheses, from which GLEU and GREEN score."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from learnedgec.data.references import References
from learnedgec.data.tokenisation import Unit, units
from learnedgec.stats.resampling import multiplicities
from learnedgec.types import Indices, Ints, Texts

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# The numbers of sentences counted or picked, and of resamples summed, at a time bound memory.
SENTENCES_AT_ONCE = 10_000

RESAMPLES_AT_ONCE = 500


class NgramCounts(NamedTuple):
    """The n-gram counts of P pairs of a sentence and one of its references.

    Row p of the matrices belongs to pair p, and each column to an n-gram. For texts a and b, `a.minimum(b)`
    counts the n-grams that both have.

    Attributes:
        rows: the sentence of each pair, int (P,).
        columns: the number of the reference in its sentence, int (P,).
        orders: for each order, the counts in source, reference and hypothesis, int (P, n-grams) each.
    """

    rows: Ints
    columns: Ints
    orders: Iterator[tuple[csr_array, csr_array, csr_array]]


def ngram_counts(
    sources: Texts, hypotheses: Texts, references: References, unit: Unit, n: int
) -> Iterator[NgramCounts]:
    """Count the n-grams of the orders 1 to n, for some sentences at a time.

    Args:
        sources: N sources.
        hypotheses: N hypotheses.
        references: the references of each sentence.
        unit: what an n-gram consists of, words or characters.
        n: the highest order.
    """
    sentences = enumerate(zip(sources, hypotheses, references, strict=True))
    while some := list(islice(sentences, SENTENCES_AT_ONCE)):
        numbers: dict[str, int] = {}
        pairs = [
            (row, column, *(numbers.setdefault(text, len(numbers)) for text in texts))
            for row, (source, hypothesis, choices) in some
            for column, choice in enumerate(choices)
            for texts in [(source, choice.text, hypothesis)]
        ]
        rows, columns, s, r, h = np.array(pairs, dtype=np.int64).T
        tables = _tables(list(numbers), unit, n)
        yield NgramCounts(rows, columns, ((table[s], table[r], table[h]) for table in tables))


def _tables(texts: Texts, unit: Unit, n: int) -> Iterator[csr_array]:
    """Yield, for each order, the number of times that each text has each n-gram, int (texts, n-grams)."""
    from scipy.sparse import csr_array

    tokens = [units(text, unit) for text in texts]
    numbers: dict[str, int] = {}
    flat = np.array(
        [numbers.setdefault(token, len(numbers)) for words in tokens for token in words], dtype=int
    )
    sizes = np.array([len(words) for words in tokens], dtype=int)
    owner = np.repeat(np.arange(len(texts)), sizes)
    # The number of tokens of the same text from each token on.
    left = np.repeat(np.cumsum(sizes), sizes) - np.arange(len(flat))
    grams, places = flat, np.arange(len(flat))
    for order in range(1, n + 1):
        if order > 1:
            # An n-gram is its first n − 1 tokens, which have a number already, and its last one.
            inside = left[places] >= order
            grams, places = grams[inside], places[inside]
            pairs = grams * len(numbers) + flat[places + order - 1]
            grams = np.unique(pairs, return_inverse=True)[1]
        ones = np.ones(len(grams), dtype=np.int64)
        shape = len(texts), int(grams.max(initial=0)) + 1
        yield csr_array((ones, (owner[places], grams)), shape=shape)


def resampled_totals(values: Ints, samples: Indices) -> Ints:
    """Return the sums of int (N, …) over each row of int (B, M) sentence numbers, int (B, …)."""
    flat = values.reshape(len(values), -1).astype(np.float64)
    totals = []
    for start in range(0, len(samples), RESAMPLES_AT_ONCE):
        part = samples[start : start + RESAMPLES_AT_ONCE]
        totals.append(multiplicities(part, len(values)) @ flat)
    stacked = np.rint(np.concatenate(totals)).astype(np.int64)
    return stacked.reshape(len(samples), *values.shape[1:])
