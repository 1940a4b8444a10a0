"""Metrics that count the edits of a system that an annotator also made.

All of them compare edits with the gold edits of each reference, and differ in three places: how the
edits of a system are found (`compute`), what an edit counts (1, or a weight), and which reference a
sentence is compared with (`preference`). `EditOverlap` holds the rest: choice, precision, recall, F.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from learnedgec.arrays import Array, Floats, Indices
from learnedgec.errors import ParameterError
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.references import References
from learnedgec.metrics.base import Metric, Statistics
from learnedgec.metrics.reference_choice import (
    best_along,
    first_best,
    real_references,
    sample_blocks,
)

__all__ = [
    "TIERS",
    "EditOverlap",
    "Tier",
    "at_tier",
    "f_measure",
    "four_decimals",
    "overlap_statistics",
    "precision_recall",
]

Tier: TypeAlias = Literal["type", "category", "operation"]

"""How finely error types are told apart: `R:VERB:SVA`, `VERB:SVA` or `R`."""

TIERS: tuple[Tier, ...] = ("type", "category", "operation")


@dataclass(frozen=True)
class EditOverlap(Metric):
    """F-score over edits, each sentence compared with one of its references.

    With tp the gold edits that the system made, e the edits that it proposed and g the gold edits,
    P = tp/e (1 if e = 0), R = tp/g (1 if g = 0) and F = (1+β²)·P·R/(β²·P+R) (0 if P = R = 0).

    At the corpus level tp, e and g are summed over sentences, and from the first sentence to the last
    the reference is chosen that `preference` ranks first given the sums so far: the score depends a
    little on the order of sentences. At the sentence level the score is the mean of the sentences' own F,
    each with the reference that is best for it alone; these are also the sentence scores of both levels.

    Attributes:
        beta: the weight of recall against precision; 0.5 counts precision twice as much.
        level: `corpus` or `sentence`, what the corpus score is.
    """

    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"beta", "level"})

    beta: float = 0.5
    level: Literal["corpus", "sentence"] = "corpus"

    def __post_init__(self) -> None:
        if not (self.beta >= 0 and math.isfinite(self.beta)):
            raise ParameterError(f"{self}: beta must be 0 or a positive number.")

    # -- what differs ------------------------------------------------------------------------

    @abstractmethod
    def preference(self, tp: Array, proposed: Array, gold: Array) -> tuple[Array, ...]:
        """Return what decides between references, the most important first; larger is better.

        The first reference wins if all are equal.

        Args:
            tp: what tp would be if the reference were chosen, at the corpus level with the sums of
                the sentences before it; float (…, R).
            proposed: the same for e.
            gold: the same for g.
        """

    # -- choice -------------------------------------------------------------------------------

    def chosen(self, statistics: Statistics) -> Indices:
        """Return which of its references each sentence is compared with, int (N,)."""
        if self.level == "sentence":
            return self._alone(statistics)
        choices: Indices = self._cumulative(statistics, np.arange(len(statistics))[None])[0][0]
        return choices

    def _alone(self, statistics: Statistics) -> Indices:
        """Return the best reference of each sentence by itself, int (N,)."""
        return first_best(self.preference(*_counts(statistics)), real_references(statistics))

    def _cumulative(self, statistics: Statistics, samples: Indices) -> tuple[Indices, Floats]:
        """Choose references along each of B samples of M sentences.

        Returns:
            The choices, int (B, M), and the sums of tp, e and g, float (3, B).
        """
        counts, real = _counts(statistics), real_references(statistics)

        def prefer(after: Floats, _: Floats) -> tuple[Array, ...]:
            return self.preference(*after)

        # Samples choose much as the sentences in their own order do.
        usual = best_along(counts[:, None], real[None], prefer)[0][0]
        found = [
            best_along(counts[:, block], real[block], prefer, usual[block])
            for block in sample_blocks(samples, counts.shape[0] * counts.shape[2])
        ]
        choices, sums = zip(*found, strict=True)
        return np.concatenate(choices), np.concatenate(sums, axis=1)

    # -- scores -------------------------------------------------------------------------------

    def aggregate(self, statistics: Statistics) -> float:
        """Return the corpus score of the sentences in their order."""
        return float(self.aggregate_many(statistics, np.arange(len(statistics))[None])[0])

    def aggregate_many(self, statistics: Statistics, samples: npt.NDArray[np.intp]) -> Floats:
        """Return the corpus score of each of B resamples, choosing references anew along each."""
        return self.figures_many(statistics, samples)[2]

    def figures_many(
        self, statistics: Statistics, samples: npt.NDArray[np.intp]
    ) -> tuple[Floats, Floats, Floats]:
        """Return precision, recall and F (means at the sentence level) of each of B resamples, (B,)."""
        if self.level == "sentence":
            counts = _take(statistics, self._alone(statistics))
            alone = [*precision_recall(*counts), self.sentence_scores(statistics)]
            precision, recall, f = (each[samples].mean(axis=1) for each in alone)
            return precision, recall, f
        _, sums = self._cumulative(statistics, samples)
        precision, recall = precision_recall(*sums)
        return precision, recall, self._f(precision, recall)

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the F of each sentence with its own best reference."""
        return self._f(*precision_recall(*_take(statistics, self._alone(statistics))))

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return precision and recall (means at the sentence level) and the sums that were counted."""
        counts = _take(statistics, self.chosen(statistics))
        sums = counts.sum(axis=1)
        over = counts if self.level == "sentence" else sums
        precision, recall = precision_recall(*over)
        return {
            "precision": float(np.mean(precision)),
            "recall": float(np.mean(recall)),
            **dict(zip(_COUNTS, sums.tolist(), strict=True)),
        }

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return what each sentence counted for: annotator, counts, precision, recall and F.

        At the corpus level this is with the reference that the corpus score has chosen; the F then may
        be below the sentence score, whose reference is best for the sentence alone.
        """
        chosen = self.chosen(statistics)
        counts = _take(statistics, chosen)
        precision, recall = precision_recall(*counts)
        return {
            "annotator": statistics["annotator"][np.arange(len(chosen)), chosen],
            **dict(zip(_COUNTS, counts, strict=True)),
            "precision": precision,
            "recall": recall,
            f"f{self.beta:g}": self._f(precision, recall),
        }

    def signature(
        self, references: References | None = None, *, runtime: Runtime = Runtime()
    ) -> str:
        """Return the signature, which says where gold edits were made by alignment."""
        line = super().signature(references, runtime=runtime)
        return line if references is None or references.annotated else f"{line}|gold:aligned"

    def by_type(self, statistics: Statistics, tier: Tier = "type") -> dict[str, dict[str, float]]:
        """Return tp, gold and recall by gold error type, over the chosen references.

        Each gold edit counts 1, whatever its weight. The most frequent type comes first. Types that are
        not ERRANT's are the same in every tier.

        Example:
            >>> from learnedgec import AnnotatedSentence, Edit, References, load_metric
            >>> block = AnnotatedSentence("He go home", {0: (Edit(1, 2, "goes", "R:VERB:SVA"),)})
            >>> m2 = load_metric("m2")
            >>> score = m2.score(["He go home"], ["He goes home"], References.from_annotated([block]))
            >>> m2.by_type(score.statistics)
            {'R:VERB:SVA': {'tp': 1, 'gold': 1, 'recall': 1.0}}
        """
        gold: Counter[str] = Counter()
        tp: Counter[str] = Counter()
        for record, choice in zip(statistics.records, self.chosen(statistics), strict=True):
            for edit in record[choice]["gold"]:
                kind = at_tier(edit["type"], tier)
                gold[kind] += 1
                tp[kind] += bool(edit["matched"])
        return {
            kind: {"tp": tp[kind], "gold": count, "recall": tp[kind] / count}
            for kind, count in sorted(gold.items(), key=lambda item: (-item[1], item[0]))
        }

    def _f(self, precision: Array, recall: Array) -> Floats:
        """Return the F of precision and recall."""
        return f_measure(precision, recall, self.beta)


_COUNTS = ("tp", "proposed", "gold")


def overlap_statistics(
    counts: Sequence[Sequence[tuple[float, float, float]]],
    references: References,
    records: Sequence[Any] = (),
) -> Statistics:
    """Return the statistics of an `EditOverlap` metric.

    Args:
        counts: (tp, proposed, gold) of each sentence and reference.
        references: of the same N sentences.
        records: of each sentence, for each reference `{"annotator": …, "edits": […], "gold": […]}`, where
            an edit has `start`, `end`, `original`, `correction` and `matched`, and a gold edit
            `corrections` instead, and `type`.

    Returns:
        `tp`, `proposed` and `gold`, float (N, R), `annotator` int (N, R), `references` int (N,).
    """
    size, most = len(counts), references.most
    values = np.zeros((3, size, most))
    annotator = np.zeros((size, most), dtype=np.int64)
    for number, (row, choices) in enumerate(zip(counts, references, strict=True)):
        values[:, number, : len(row)] = np.array(row, dtype=np.float64).T
        annotator[number, : len(row)] = [reference.annotator for reference in choices]
    return Statistics(
        {
            **dict(zip(_COUNTS, values, strict=True)),
            "annotator": annotator,
            "references": np.array([len(row) for row in references], dtype=np.int64),
        },
        tuple(records),
    )


def _counts(statistics: Statistics) -> Floats:
    """Return tp, proposed and gold, float (3, N, R)."""
    return np.stack([statistics[name] for name in _COUNTS]).astype(np.float64, copy=False)


def _take(statistics: Statistics, chosen: Indices) -> Floats:
    """Return tp, proposed and gold of the chosen references, float (3, N)."""
    counts: Floats = _counts(statistics)[:, np.arange(len(chosen)), chosen]
    return counts


def at_tier(kind: str, tier: Tier) -> str:
    """Return what an error type is called in a tier."""
    operation, colon, category = kind.partition(":")
    if tier == "type" or not colon or operation not in ("M", "R", "U"):
        return kind
    return category if tier == "category" else operation


def precision_recall(tp: Array, proposed: Array, gold: Array) -> tuple[Floats, Floats]:
    """Return tp/proposed and tp/gold, 1 where the denominator is 0."""
    tp = np.asarray(tp, dtype=np.float64)
    one = np.ones_like(tp)
    return (
        np.divide(tp, proposed, out=one.copy(), where=np.asarray(proposed) > 0),
        np.divide(tp, gold, out=one, where=np.asarray(gold) > 0),
    )


def f_measure(precision: Array, recall: Array, beta: float) -> Floats:
    """Return (1+β²)·P·R/(β²·P+R), 0 where both are 0."""
    square = beta * beta
    below = square * precision + recall
    above = (1 + square) * precision * recall
    scores: Floats = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
    return scores


def four_decimals(values: Floats) -> Floats:
    """Return the numbers as Python's `round` rounds them, which NumPy's does not where it is close."""
    rounded: Floats = np.round(values, 4)
    close = np.abs(values * 1e4 % 1 - 0.5) < 1e-6
    if close.any():
        rounded[close] = [round(value, 4) for value in values[close].tolist()]
    return rounded
