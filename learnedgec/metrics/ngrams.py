"""Words, characters and n-grams of the source, the hypothesis and the references, as metrics count them.

All counts are integers and come from one table of every distinct text's n-grams, so the systems of one
run share the work on the sources and references. With s, r and h the multisets of n-grams of source,
reference and hypothesis, every metric here follows from the sizes of s, r, h, s∩r, s∩h, r∩h and
s∩r∩h, where ∩ takes the smaller count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np
import numpy.typing as npt

from learnedgec.data.references import Reference, References
from learnedgec.data.sentences import check_length
from learnedgec.stats.resampling import multiplicities
from learnedgec.types import Ints, Texts

Unit = Literal["word", "char"]
"""The unit that metrics count; characters suit texts without spaces between words."""

# Replaces a space where characters are tokens.
_SPACE = "\u2423"

# The numbers of sentences counted, and of resamples summed, at a time keep memory below a few hundred MiB.
SENTENCES_AT_ONCE = 20_000

RESAMPLES_AT_ONCE = 500

# Numbers that are below their count times this are counted in a table; others are sorted.
_SPARSE = 4


def units(text: str, unit: Unit) -> list[str]:
    """Return the tokens of a text, or its characters with the spaces between tokens.

    Example:
        >>> units("He go", "char")
        ['H', 'e', ' ', 'g', 'o']
    """
    return text.split() if unit == "word" else list(text)


def characters_apart(text: str) -> str:
    """Return a text in which each character is a token; `␣` replaces white space.

    Raises:
        InputError: there are more characters than a sentence may have tokens.

    Example:
        >>> characters_apart("He go")
        'H e ␣ g o'
    """
    apart = " ".join(_SPACE if character.isspace() else character for character in text)
    check_length(apart, "a sentence, of characters,")
    return apart


def references_apart(references: References) -> References:
    """Return the texts of references with each character as a token, without gold edits, which have words."""
    return References(
        tuple(
            tuple(Reference(characters_apart(r.text), annotator=r.annotator) for r in row)
            for row in references
        )
    )


class NgramCounts:
    """The n-gram counts of some texts.

    For each order, an n-gram is a number below `size`, and `keys` holds `text · size + n-gram` for every
    n-gram that a text has, sorted, so that a text's n-grams are neighbours and a count is found by
    bisection; `counts` says how often it occurs there.

    Args:
        texts: the texts.
        unit: whether n-grams consist of words or of characters.
        n: the longest order.
    """

    def __init__(self, texts: Texts, unit: Unit, n: int) -> None:
        flat, self.lengths = _numbered_units(texts, unit)
        vocabulary = int(flat.max(initial=0)) + 1
        owner = np.repeat(np.arange(len(texts)), self.lengths)
        left = np.repeat(np.cumsum(self.lengths), self.lengths) - np.arange(len(flat))
        grams, places = flat, np.arange(len(flat))
        self._orders: list[tuple[Ints, Ints, Ints, int]] = []
        for order in range(1, n + 1):
            if order > 1:
                # An n-gram is its first n − 1 tokens, which have a number already, and its last one.
                inside = left[places] >= order
                grams, places = grams[inside], places[inside]
                pairs = grams * vocabulary + flat[places + order - 1]
                grams = _ranks(pairs, (int(grams.max(initial=0)) + 1) * vocabulary)
            size = int(grams.max(initial=0)) + 1
            keys, counts = _counted(owner[places] * size + grams, len(texts) * size)
            starts = np.searchsorted(keys, np.arange(len(texts) + 1) * size)
            self._orders.append((keys, counts, starts, size))

    def sizes(self, texts: Ints, order: int) -> Ints:
        """Return how many n-grams of this order each text has, repeats included."""
        return np.maximum(self.lengths[texts] + 1 - order, 0)

    def counts(self, order: int, texts: Ints, *others: Ints) -> tuple[Ints, Ints, list[Ints]]:
        """Look up the n-grams of P texts in each of the texts paired with them.

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
        counts_of_others = []
        for other in others:
            key = other[position] * size + gram
            place = np.minimum(np.searchsorted(keys, key), max(len(keys) - 1, 0))
            counts_of_others.append(np.where(keys[place] == key, counts[place], 0))
        return position, counts[entry], counts_of_others


def _numbered_units(texts: Texts, unit: Unit) -> tuple[Ints, Ints]:
    """Return the numbers of all tokens, one text after the other, and how many each text has."""
    if unit == "char":
        encoded = "".join(texts).encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(encoded, dtype="<u4").astype(np.int64)
        sizes = np.array([len(text) for text in texts], dtype=np.int64)
        return _ranks(codes, int(codes.max(initial=0)) + 1), sizes
    tokens = [text.split() for text in texts]
    numbers: dict[str, int] = {}
    flat = [numbers.setdefault(token, len(numbers)) for words in tokens for token in words]
    sizes = np.array([len(words) for words in tokens], dtype=np.int64)
    return np.array(flat, dtype=np.int64), sizes


def _ranks(values: Ints, bound: int) -> Ints:
    """Return the place of each value among the distinct ones; all are at least 0 and below `bound`."""
    if bound > _SPARSE * len(values):
        return np.unique(values, return_inverse=True)[1]
    # A table of what there is takes less time than sorting.
    present = np.zeros(bound, dtype=np.int64)
    present[values] = 1
    return np.cumsum(present)[values] - 1


def _counted(values: Ints, bound: int) -> tuple[Ints, Ints]:
    """Return the distinct values, all at least 0 and below `bound`, and how often each occurs."""
    if bound > _SPARSE * len(values):
        return np.unique(values, return_counts=True)
    counts = np.bincount(values, minlength=bound)
    distinct = np.flatnonzero(counts)
    return distinct, counts[distinct]


@dataclass(frozen=True)
class SharedCounts:
    """Every (source, reference, hypothesis) of some sentences, as int arrays of shape (P,).

    Attributes:
        ngrams: the n-grams of all texts.
        rows: row in the statistics.
        columns: column in the statistics.
        source: index of the source in `ngrams`.
        reference: index of the reference in `ngrams`.
        hypothesis: index of the hypothesis in `ngrams`.
    """

    ngrams: NgramCounts
    rows: Ints
    columns: Ints
    source: Ints
    reference: Ints
    hypothesis: Ints

    def sum(self, position: Ints, values: Ints) -> Ints:
        """Sum values by triple; integers in float64 are exact."""
        sums = np.bincount(position, weights=values, minlength=len(self.rows))
        return np.rint(sums).astype(np.int64)


def shared_counts(
    sources: Texts, hypotheses: Texts, references: References, unit: Unit, n: int
) -> Iterator[SharedCounts]:
    """Number the distinct texts and count their n-grams, for some sentences at a time; see `NgramCounts`."""
    rows = enumerate(zip(sources, hypotheses, references, strict=True))
    while sentences := list(islice(rows, SENTENCES_AT_ONCE)):
        numbers: dict[str, int] = {}
        triples = [
            (
                row,
                column,
                numbers.setdefault(source, len(numbers)),
                numbers.setdefault(reference.text, len(numbers)),
                numbers.setdefault(hypothesis, len(numbers)),
            )
            for row, (source, hypothesis, choices) in sentences
            for column, reference in enumerate(choices)
        ]
        ngrams = NgramCounts(list(numbers), unit, n)
        yield SharedCounts(ngrams, *np.array(triples, dtype=np.int64).T)


def resampled_totals(values: Ints, samples: npt.NDArray[np.intp]) -> Ints:
    """Return the sums of int (N, …) over each row of int (B, M) sentence numbers, int (B, …)."""
    flat = values.reshape(len(values), -1).astype(np.float64)
    totals = []
    for start in range(0, len(samples), RESAMPLES_AT_ONCE):
        part = samples[start : start + RESAMPLES_AT_ONCE]
        totals.append(multiplicities(part, len(values)) @ flat)
    stacked = np.rint(np.concatenate(totals)).astype(np.int64)
    return stacked.reshape(len(samples), *values.shape[1:])
