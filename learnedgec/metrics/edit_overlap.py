"""Metrics that count the edits of a system that an annotator also made.

All of them compare edits with the gold edits of each reference, and differ in three places: how the
edits of a system are found (`compute`), what an edit counts (1, or a weight), and which reference a
sentence is compared with (`preference`). `EditOverlap` implements the rest: choice, precision, recall, F.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from learnedgec.data.references import References
from learnedgec.edits.error_types import Tier, at_tier
from learnedgec.errors import ParameterError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.edit_counts import EditCounts
from learnedgec.metrics.reference_choice import (
    Mask,
    best_along,
    first_best,
    real_references,
    sample_blocks,
)
from learnedgec.metrics.statistics import Statistics
from learnedgec.types import Array, Floats, Indices

__all__ = ["EditOverlap", "Record", "overlap_statistics"]

Record: TypeAlias = Mapping[str, Any]
"""What explains the comparison of a sentence with one reference; see `overlap_statistics`."""

_COUNTS = ("tp", "proposed", "gold")
# The columns of a row of edits, in order; further columns of a metric's records follow.
_COLUMNS = ("edit", "start", "end", "original", "correction", "type", "weight", "change")
_LEFT_OUT = ("matched", "corrections")


@dataclass(frozen=True)
class EditOverlap(Metric):
    """F-score over edits, each sentence compared with one of its references.

    With tp the gold edits that the system made, e the edits that it proposed and g the gold edits,
    P = tp/e (1 if e = 0), R = tp/g (1 if g = 0) and F = (1+β²)·P·R/(β²·P+R) (0 if P = R = 0).

    At the corpus level, tp, e and g are summed over sentences. From the first sentence to the last, each
    uses the reference that `preference` ranks first given the sums so far, so the score depends slightly on
    the order of sentences. At the sentence level, the score is the mean of the sentences' own F, each with
    the reference that is best for it alone; these are also the sentence scores of both levels.

    Attributes:
        beta: the weight of recall against precision; 0.5 counts precision twice as much.
        level: what the corpus score is: `corpus`, of summed counts, or `sentence`, a mean of sentence scores.
    """

    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"beta", "level"})
    counted: ClassVar[tuple[str, ...]] = _COUNTS

    beta: float = 0.5
    level: Literal["corpus", "sentence"] = "corpus"

    def __post_init__(self) -> None:
        if not (self.beta >= 0 and math.isfinite(self.beta)):
            raise ParameterError(f"{self}: beta must be 0 or a positive number.")

    # -- what differs ------------------------------------------------------------------------

    @abstractmethod
    def preference(self, counts: EditCounts) -> tuple[Array, ...]:
        """Return the keys that rank references, the most important first; larger is better.

        The first reference wins if all are equal.

        Args:
            counts: the counts if the reference were chosen, float (…, R); at the corpus level, they include
                the sums of the sentences before.
        """

    def counts(self, statistics: Statistics) -> EditCounts:
        """Return the counts of each sentence with each reference at the metric's level, float (N, R)."""
        return EditCounts(*(statistics[name].astype(np.float64, copy=False) for name in _COUNTS))

    def counts_alone(self, statistics: Statistics) -> EditCounts:
        """Return the counts of each sentence by itself with each reference, float (N, R)."""
        return self.counts(statistics)

    # -- choice -------------------------------------------------------------------------------

    def chosen(self, statistics: Statistics) -> Indices:
        """Return which of its references each sentence is compared with, int (N,)."""
        return self.choose(self.counts(statistics), real_references(statistics))

    def choose(self, counts: EditCounts, real: Mask, *, worst: bool = False) -> Indices:
        """Return which of its alternatives each sentence uses, int (N,).

        Args:
            counts: of N sentences with each of R alternatives, such as references, float (N, R).
            real: which alternatives a sentence has, bool (N, R).
            worst: choose what `preference` ranks last, not first.
        """
        if self.level == "sentence":
            return first_best(self._order(worst)(counts), real)
        choices: Indices = self._along(counts, real, np.arange(len(real))[None], worst)[0][0]
        return choices

    def _along(
        self, counts: EditCounts, real: Mask, samples: Indices, worst: bool
    ) -> tuple[Indices, EditCounts]:
        """Choose along each of B samples of M sentences: the choices, int (B, M), and the sums, (B,)."""
        stacked, order = counts.stack(), self._order(worst)

        def prefer(after: Floats, _: Floats) -> tuple[Array, ...]:
            return order(EditCounts(*after))

        # Most choices are the same as for the sentences in their own order.
        usual = best_along(stacked[:, None], real[None], prefer)[0][0]
        found = [
            best_along(stacked[:, block], real[block], prefer, usual[block])
            for block in sample_blocks(samples, stacked.shape[0] * stacked.shape[2])
        ]
        choices, sums = zip(*found, strict=True)
        return np.concatenate(choices), EditCounts(*np.concatenate(sums, axis=1))

    def _order(self, worst: bool) -> Callable[[EditCounts], tuple[Array, ...]]:
        """Return `preference`, or its reverse."""
        if not worst:
            return self.preference
        return lambda counts: tuple(-key for key in self.preference(counts))

    # -- scores -------------------------------------------------------------------------------

    def aggregate(self, statistics: Statistics) -> float:
        """Return the corpus score of the sentences in their order."""
        return float(self.aggregate_many(statistics, np.arange(len(statistics))[None])[0])

    def aggregate_many(self, statistics: Statistics, samples: npt.NDArray[np.intp]) -> Floats:
        """Return the corpus score of each of B resamples, choosing references again for each."""
        return self.figures(self.counts(statistics), real_references(statistics), samples)[2]

    def figures(
        self, counts: EditCounts, real: Mask, samples: Indices, *, worst: bool = False
    ) -> tuple[Floats, Floats, Floats]:
        """Return precision, recall and F (means at the sentence level) of each of B samples, (B,).

        Args:
            counts: of N sentences with each of R alternatives, such as references, float (N, R).
            real: which alternatives a sentence has, bool (N, R).
            samples: int (B, M), the sentences of each sample.
            worst: choose what `preference` ranks last, not first.
        """
        if self.level == "corpus":
            sums = self._along(counts, real, samples, worst)[1]
            return sums.precision, sums.recall, sums.f(self.beta)
        alone = _take(counts, self.choose(counts, real, worst=worst))
        precision, recall, f = (
            each[samples].mean(axis=1)
            for each in (alone.precision, alone.recall, alone.f(self.beta))
        )
        return precision, recall, f

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the F of each sentence with its own best reference."""
        counts = self.counts_alone(statistics)
        alone = first_best(self.preference(counts), real_references(statistics))
        return _take(counts, alone).f(self.beta)

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return precision and recall (means at the sentence level) and the summed counts."""
        counts = _take(self.counts(statistics), self.chosen(statistics))
        sums = counts.sum()
        over = counts if self.level == "sentence" else sums
        return {
            "precision": float(np.mean(over.precision)),
            "recall": float(np.mean(over.recall)),
            **{name: _number(count) for name, count in zip(_COUNTS, sums, strict=True)},
        }

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return the annotator, counts, precision, recall and F of each sentence.

        At the corpus level, they are computed with the reference chosen for the corpus score. F may then be
        below the sentence score, which uses the reference that is best for the sentence alone.
        """
        chosen = self.chosen(statistics)
        counts = _take(self.counts(statistics), chosen)
        return {
            "annotator": statistics["annotator"][np.arange(len(chosen)), chosen],
            **{name: np.asarray(each) for name, each in zip(_COUNTS, counts, strict=True)},
            "precision": counts.precision,
            "recall": counts.recall,
            f"f{self.beta:g}": counts.f(self.beta),
        }

    def describe_references(self, references: References) -> dict[str, str]:
        """Return whether gold edits come from alignment."""
        return {} if references.annotated else {"gold": "aligned"}

    def typed(self) -> Metric:
        """Return the metric itself: its gold edits already have types."""
        return self

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

    def edit_rows(self, statistics: Statistics) -> list[dict[str, Any]]:
        """Return one row per edit; gold edits are those of the chosen annotator.

        The columns are those of `ShowsEdits.edit_rows`; alternatives of a gold edit are joined by `||`, and
        `change` is the amount by which the edit alone makes the source more similar to the reference.
        """
        rows = []
        for number, (record, choice) in enumerate(
            zip(statistics.records, self.chosen(statistics), strict=True), 1
        ):
            compared = record[choice]
            gold = {
                (edit["start"], edit["end"], text): edit["type"]
                for edit in compared["gold"]
                for text in edit["corrections"]
            }
            found = [
                {
                    **edit,
                    "edit": "matched" if edit["matched"] else "unmatched",
                    "type": edit.get("type")
                    or gold.get((edit["start"], edit["end"], edit["correction"]), ""),
                }
                for edit in compared["edits"]
            ] + [
                {**edit, "edit": "missed", "correction": "||".join(edit["corrections"])}
                for edit in compared["gold"]
                if not edit["matched"]
            ]
            found.sort(key=lambda row: (row["start"], row["end"]))
            for row in found:
                own = [key for key in row if key not in (*_COLUMNS, *_LEFT_OUT)]
                columns = {key: row[key] for key in (*_COLUMNS, *own) if key in row}
                rows.append({"sentence": number, "annotator": compared["annotator"], **columns})
        return rows


def overlap_statistics(
    counts: Sequence[Sequence[EditCounts]],
    references: References,
    records: Sequence[Sequence[Record]] = (),
) -> Statistics:
    """Return the statistics of an `EditOverlap` metric.

    Args:
        counts: the counts of each sentence with each reference.
        references: the references of the same N sentences.
        records: for each sentence and reference `{"annotator": …, "edits": […], "gold": […]}`, where
            an edit has `start`, `end`, `original`, `correction` and `matched`, and a gold edit
            `corrections` instead, and `type`.

    Returns:
        `tp`, `proposed` and `gold`, float (N, R), `annotator` int (N, R), `references` int (N,).
    """
    size, most = len(counts), references.most
    values = np.zeros((3, size, most))
    annotator = np.zeros((size, most), dtype=np.int64)
    for number, (row, choices) in enumerate(zip(counts, references, strict=True)):
        values[:, number, : len(row)] = np.array([tuple(each) for each in row]).T
        annotator[number, : len(row)] = [reference.annotator for reference in choices]
    return Statistics(
        {
            **dict(zip(_COUNTS, values, strict=True)),
            "annotator": annotator,
            "references": np.array([len(row) for row in references], dtype=np.int64),
        },
        tuple(records),
    )


def _number(count: Array | float) -> float:
    """Return a count as a whole number, and a sum of weights as it is."""
    value = float(count)
    return int(value) if value.is_integer() else value


def _take(counts: EditCounts, chosen: Indices) -> EditCounts:
    """Return each sentence's counts with its chosen reference, float (N,)."""
    return counts[np.arange(len(chosen)), chosen]
