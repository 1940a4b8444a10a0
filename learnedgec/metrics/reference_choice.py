"""The choice of a reference for each sentence: the best for the sentence, or for the corpus so far.

`ChoosingMetric` is the base of all metrics that sum counts over a corpus and compare each sentence with one
of its references. A subclass defines what is counted, and which reference is better.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np

from learnedgec.data.references import References
from learnedgec.metrics.contract import ResampledMetric, Statistics
from learnedgec.types import Array, Floats, Indices, Ints, Mask

# The largest number of counts in one block of samples, which take 2 MiB.
_BLOCK = 2**18


class Choice(NamedTuple):
    """References chosen along B samples of M sentences.

    Attributes:
        references: the number of the reference that each sentence is compared with, int (B, M).
        figures: the score and other figures by name, float (B,) each; means at the sentence level.
        sums: the sums of the chosen counts, float (C, B).
    """

    references: Indices
    figures: Mapping[str, Floats]
    sums: Floats


class ChoosingMetric(ResampledMetric):
    """A metric of C counts, in which each sentence is compared with one of its references.

    At the corpus level, counts are summed over sentences. From the first sentence to the last, each uses
    the reference that `preference` ranks first given the sums so far, so the score depends slightly on the
    order of sentences. At the sentence level, the score is the mean of the sentences' own scores, each with
    the reference that is best for it alone; these are also the sentence scores of both levels.

    Its statistics have the arrays of `reference_arrays`. A subclass has the field `level`.
    """

    counted: ClassVar[tuple[str, ...]]
    if TYPE_CHECKING:
        level: Literal["corpus", "sentence"]

    @property
    def directions(self) -> tuple[int, ...]:
        """For each count, whether a larger (1) or a smaller one (-1) is better; empty if that depends.

        A reference that is at least as good in every count, and better in one, must be ranked higher.
        """
        return ()

    @property
    @abstractmethod
    def score_name(self) -> str:
        """The name of the score among the figures."""

    @abstractmethod
    def counts(
        self, statistics: Statistics, samples: Indices | None = None, *, alone: bool = False
    ) -> Floats:
        """Return the counts of each sentence with each reference, float (C, B, N, R).

        Args:
            statistics: statistics of N sentences.
            samples: B samples, int (B, M), on which weights may depend; by default all sentences in their
                order. If all samples have the same counts, B is 1.
            alone: return the counts for the sentences' own scores, whatever the level.
        """

    @abstractmethod
    def figures(self, counts: Floats) -> dict[str, Floats]:
        """Return the score and other figures of counts by name: float (…) each from (C, …)."""

    @abstractmethod
    def preference(self, after: Floats, counts: Floats) -> tuple[Array, ...]:
        """Return the keys that rank references at the corpus level, the most important first.

        Larger is better. The first reference wins if all are equal.

        Args:
            after: the sums that result from choosing each reference, float (C, …, R).
            counts: the counts of the sentence itself, float (C, …, R).
        """

    def sentence_preference(self, counts: Floats) -> tuple[Array, ...]:
        """Return the keys that rank references for a sentence by itself."""
        return self.preference(counts, counts)

    def sentence_figures(self, counts: Floats) -> dict[str, Floats]:
        """Return the figures of sentences by themselves."""
        return self.figures(counts)

    def totals(self, counts: Floats) -> dict[str, Floats]:
        """Return the counts under the names that tables show, float (…) each from (C, …)."""
        return dict(zip(self.counted, counts, strict=True))

    def choose(
        self,
        counts: Floats,
        real: Mask,
        samples: Indices | None = None,
        guess: Indices | None = None,
        *,
        worst: bool = False,
    ) -> Choice:
        """Choose one of R alternatives, such as references, for each sentence of each sample.

        Args:
            counts: the counts of N sentences, float (C, B, N, R), or (C, 1, N, R) if they are the same for
                all samples.
            real: which alternatives a sentence has, bool (N, R).
            samples: sentence numbers, int (B, M); by default all sentences in their order.
            guess: see `best_along`.
            worst: choose the alternative that is ranked last instead of first.
        """
        samples = np.arange(len(real))[None] if samples is None else samples
        which = np.arange(len(samples))[:, None] if counts.shape[1] > 1 else 0
        sign = -1 if worst else 1
        if self.level == "corpus":

            def prefer(after: Floats, own: Floats) -> Sequence[Array]:
                return [sign * key for key in self.preference(after, own)]

            whole = counts.shape[1] == 1 and bool((counts == np.rint(counts)).all())
            if self.directions and whole and not worst:
                best, sums = self._choose_unsettled(counts[:, 0], real, samples, prefer)
            else:
                best, sums = best_along(counts[:, which, samples], real[samples], prefer, guess)
            return Choice(best, self.figures(sums), sums)
        keys = [sign * key for key in self.sentence_preference(counts)]
        alone = first_best(keys, np.broadcast_to(real, counts.shape[1:]))
        chosen = take_references(counts, alone[None])
        means = {
            name: figure[which, samples].mean(axis=1)
            for name, figure in self.sentence_figures(chosen).items()
        }
        return Choice(alone[which, samples], means, _sums(chosen[:, which, samples])[..., -1])

    def _choose_unsettled(
        self,
        counts: Floats,
        real: Mask,
        samples: Indices,
        prefer: Callable[[Floats, Floats], Sequence[Array]],
    ) -> tuple[Indices, Floats]:
        """Return the result of `best_along`, which is called for sentences whose choice depends on others.

        Most sentences have one reference that is at least as good in every count, and so the best whatever
        the sums are. Whole numbers have the same sums in any order.

        Args:
            counts: the counts of N sentences, float (C, N, R).
            real: bool (N, R).
            samples: int (B, M).
            prefer: see `best_along`.
        """
        signed = counts * np.reshape(self.directions, (-1, 1, 1))
        no_worse = (signed[..., :, None] >= signed[..., None, :]).all(axis=0) | ~real[:, None]
        best_of_all = no_worse.all(axis=-1) & real
        settled = best_of_all.any(axis=-1)
        usual = best_of_all.argmax(axis=-1)
        best, unsettled = usual.take(samples), ~settled.take(samples)
        size = max(int(unsettled.sum(axis=1).max(initial=0)), 1)
        # The places of the unsettled sentences of each sample, in their order, and then some others.
        places = np.argsort(~unsettled, axis=1, kind="stable")[:, :size]
        rows = np.take_along_axis(samples, places, axis=1)
        valid = np.take_along_axis(unsettled, places, axis=1)
        # Unsettled sentences add nothing, so these are also the sums before them.
        settled_counts = np.where(settled, take_references(counts, usual[None]), 0)
        sums = np.cumsum(settled_counts.take(samples, axis=1), axis=-1)
        left = np.where(valid[..., None], counts.take(rows, axis=1), 0)
        before = np.take_along_axis(sums, places[None], axis=-1)
        choices, more = best_along(left, real[rows], prefer, others=before)
        kept = np.take_along_axis(best, places, axis=1)
        np.put_along_axis(best, places, np.where(valid, choices, kept), axis=1)
        return best, sums[..., -1] + more

    def resample(
        self,
        counts: Callable[[Indices], Floats],
        real: Mask,
        samples: Indices,
        *,
        worst: bool = False,
    ) -> dict[str, Floats]:
        """Return the figures of each of B samples by name, float (B,) each; choices are made anew for each.

        Args:
            counts: a function from samples to their counts, as `choose` takes them.
            real: see `choose`.
            samples: int (B, M), the sentences of each sample.
            worst: see `choose`.
        """
        in_order = counts(np.arange(len(real))[None])
        usual = np.zeros(len(real), dtype=np.intp)
        if self.level == "corpus":
            # Most sentences have the same choice in a sample as in their own order.
            usual = self.choose(in_order, real, worst=worst).references[0]
        parts = [
            self.choose(counts(block), real, block, usual[block], worst=worst).figures
            for block in sample_blocks(samples, len(in_order) * in_order.shape[-1])
        ]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def aggregate_many(self, statistics: Statistics, samples: Indices) -> Floats:
        """Return the corpus score of each of B resamples; each has its own weights and choices."""
        counts = partial(self.counts, statistics)
        return self.resample(counts, real_references(statistics), samples)[self.score_name]

    def chosen(self, statistics: Statistics) -> Indices:
        """Return the number of the reference that each sentence is compared with, int (N,)."""
        choice = self.choose(self.counts(statistics), real_references(statistics))
        chosen: Indices = choice.references[0]
        return chosen

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the score of each sentence with its own best reference."""
        counts = self.counts(statistics, alone=True)[:, 0]
        best = first_best(self.sentence_preference(counts), real_references(statistics))
        return self.sentence_figures(take_references(counts, best[None]))[self.score_name]

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the figures besides the score (means at the sentence level), and the summed counts."""
        choice = self.choose(self.counts(statistics), real_references(statistics))
        details = {**choice.figures, **self.totals(choice.sums)}
        del details[self.score_name]
        return {name: float(values[0]) for name, values in details.items()}

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return each sentence's annotator, counts and figures.

        At the corpus level, they are computed with the reference chosen for the corpus score. The score may
        then be below the sentence score, which uses the reference that is best for the sentence alone.
        """
        chosen = self.chosen(statistics)
        counts = take_references(self.counts(statistics)[:, 0], chosen[None])
        return {
            "annotator": take_references(statistics["annotator"], chosen),
            **self.totals(counts),
            **self.sentence_figures(counts),
        }


def count_references(references: References) -> Ints:
    """Return how many references each sentence has, int (N,)."""
    return np.array([len(row) for row in references], dtype=np.int64)


def reference_arrays(references: References) -> dict[str, Array]:
    """Return `annotator`, int (N, R), of each reference, and `references`, int (N,), their number."""
    annotator = np.zeros((len(references), references.most), dtype=np.int64)
    for numbers, row in zip(annotator, references, strict=True):
        numbers[: len(row)] = [reference.annotator for reference in row]
    return {"annotator": annotator, "references": count_references(references)}


def real_references(statistics: Statistics, array: str = "annotator") -> Mask:
    """Return which of the R reference slots of an array (N, R, …) each sentence fills, bool (N, R)."""
    places = np.arange(statistics[array].shape[1])
    return places < statistics["references"][:, None]


def first_best(keys: Sequence[Array], real: Mask) -> Indices:
    """Return the index along the last axis of the first real entry whose keys are largest, in order.

    Example:
        >>> real = np.ones((1, 3), dtype=bool)
        >>> int(first_best([np.array([[1, 2, 2]]), np.array([[9, 3, 4]])], real)[0])
        2
    """
    # A maximum over so short an axis takes longer than to compare one reference after the other.
    has_best, indices = real[..., 0], np.zeros(real.shape[:-1], dtype=np.intp)
    largest = [key[..., 0] for key in keys]
    for number in range(1, real.shape[-1]):
        better, equal = ~has_best, has_best
        for key, most in zip(keys, largest, strict=True):
            better = better | (equal & (key[..., number] > most))
            equal = equal & (key[..., number] == most)
        better = better & real[..., number]
        largest = [
            np.where(better, key[..., number], most)
            for key, most in zip(keys, largest, strict=True)
        ]
        indices[better] = number
        has_best = has_best | real[..., number]
    return indices


def sample_blocks(samples: Indices, width: int) -> Iterator[Indices]:
    """Cut B samples of M sentences, int (B, M), into blocks whose counts fit into a processor's cache.

    Args:
        samples: sentence numbers.
        width: the number of counts of each sentence.
    """
    size = max(_BLOCK // max(samples.shape[1] * width, 1), 1)
    for start in range(0, len(samples), size):
        yield samples[start : start + size]


def best_along(
    counts: Floats,
    real: Mask,
    preference: Callable[[Floats, Floats], Sequence[Array]],
    guess: Indices | None = None,
    others: Floats | None = None,
) -> tuple[Indices, Floats]:
    """Choose references along B samples of M sentences.

    Choices are guessed for all sentences and then made again with the resulting sums, until none changes.
    Each round settles at least one more choice from the left, so the result is the same as if choices
    were made sentence by sentence. Few choices depend on the sums, so two or three rounds are usual.

    Args:
        counts: the counts of each sentence with each reference, float (C, B, M, R).
        real: which references exist, bool (B, M, R).
        preference: a function from the sums with each reference chosen, float (C, B, M, R), and the counts
            themselves to the ranking keys, the most important first; larger is better, and the first
            reference wins if all are equal.
        guess: choices to start from, int (B, M), such as the choices in another order. Better guesses take
            fewer rounds.
        others: the sums of other sentences before each, float (C, B, M).

    Returns:
        The choices, int (B, M), and the sums of the chosen counts, float (C, B).
    """
    choices = np.zeros(real.shape[:2], dtype=np.intp) if guess is None else guess.copy()
    changing = np.arange(len(real))
    left, left_real = counts, real
    earlier = np.zeros_like(counts[..., 0]) if others is None else others
    while len(changing):
        before = _sums(take_references(left, choices[None, changing]))[..., :-1] + earlier
        best = first_best(preference(before[..., None] + left, left), left_real)
        moved = (best != choices[changing]).any(axis=1)
        choices[changing] = best
        changing, left, left_real = changing[moved], left[:, moved], left_real[moved]
        earlier = earlier[:, moved]
    sums: Floats = _sums(take_references(counts, choices[None]))[..., -1]
    return choices, sums


def _sums(chosen: Floats) -> Floats:
    """Return the sums before the first sentence, 0, and after each of M, float (C, B, 1 + M)."""
    sums: Floats = np.concatenate([np.zeros_like(chosen[..., :1]), chosen], axis=-1)
    return np.cumsum(sums, axis=-1, out=sums)


def take_references(values: Array, choices: Indices) -> Array:
    """Return the values of the chosen references, (…, M) from (…, M, R)."""
    return np.take_along_axis(values, choices[..., None], axis=-1)[..., 0]


def four_decimals(values: Floats) -> Floats:
    """Return numbers rounded to four decimals, as by Python's `round`.

    Some official tools choose by rounded figures. NumPy's `round` differs from Python's in close cases.
    """
    rounded: Floats = np.round(values, 4)
    close = np.abs(values * 1e4 % 1 - 0.5) < 1e-6
    if close.any():
        rounded[close] = [round(value, 4) for value in values[close].tolist()]
    return rounded
