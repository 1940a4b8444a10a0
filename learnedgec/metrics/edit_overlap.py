"""Metrics that count the edits of a system that an annotator also made.

All of them compare edits with the gold edits of each reference, and differ in three places: how the
edits of a system are found (`compute`), what an edit counts (1, or a weight), and which reference a
sentence is compared with (`preference`). `EditOverlap` implements the rest: choice, precision, recall, F.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from learnedgec.data.m2 import Edit
from learnedgec.data.references import Reference, References
from learnedgec.edits.error_types import Tier, at_tier
from learnedgec.errors import InputError, ParameterError
from learnedgec.metrics.base import Metric, ResampledMetric
from learnedgec.metrics.reference_choice import (
    Mask,
    best_along,
    first_best,
    real_references,
    reference_arrays,
    sample_blocks,
)
from learnedgec.metrics.statistics import Statistics
from learnedgec.types import Array, Floats, Indices

Record: TypeAlias = Mapping[str, Any]
"""What explains the comparison of a sentence with one reference; see `edit_record`."""

EditRows: TypeAlias = Sequence[Sequence[Edit]]
"""A system's edits in each sentence."""

_COUNTS = ("tp", "proposed", "gold")
# The columns of a row of edits, in order; further columns of a metric's records follow.
_COLUMNS = ("edit", "start", "end", "original", "correction", "type", "weight", "change")
_LEFT_OUT = ("matched", "corrections")

Count: TypeAlias = Array | float


@dataclass(frozen=True, slots=True)
class EditCounts:
    """Numbers of correct, proposed and gold edits: scalars, or arrays of one shape.

    For weighted edits, these are sums of weights. Precision is tp/proposed and recall tp/gold, 1
    where the denominator is 0.

    Attributes:
        tp: the gold edits that the system made.
        proposed: the edits that it made.
        gold: the edits that it should have made.

    Example:
        >>> counts = EditCounts(np.array([1, 0]), np.array([2, 0]), np.array([2, 2]))
        >>> counts.precision
        array([0.5, 1. ])
        >>> total = counts.sum()
        >>> int(total.fp), int(total.fn), round(float(total.f(beta=1)), 3)
        (1, 3, 0.333)
    """

    tp: Count
    proposed: Count
    gold: Count

    @property
    def fp(self) -> Count:
        """The edits that the system made and should not have made."""
        return self.proposed - self.tp

    @property
    def fn(self) -> Count:
        """The gold edits that it did not make."""
        return self.gold - self.tp

    @property
    def precision(self) -> Floats:
        """The share of the proposed edits that are correct, 1 where none is proposed."""
        return _share(self.tp, self.proposed)

    @property
    def recall(self) -> Floats:
        """The share of the gold edits that were made, 1 where there are no gold edits."""
        return _share(self.tp, self.gold)

    def f(self, beta: float) -> Floats:
        """Return (1+β²)·P·R/(β²·P+R), 0 where precision and recall are both 0."""
        precision, recall, square = self.precision, self.recall, beta * beta
        below = square * precision + recall
        above = (1 + square) * precision * recall
        scores: Floats = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
        return scores

    def figures(self, beta: float) -> dict[str, Floats]:
        """Return precision, recall and F under the names that tables show."""
        figures = (self.precision, self.recall, self.f(beta))
        return dict(zip(("precision", "recall", f"f{beta:g}"), figures, strict=True))

    def sum(self) -> EditCounts:
        """Return the sums over the last axis, which is not empty.

        They are added in order, as when references are chosen by running sums: another order would change
        the last digits.
        """
        return EditCounts(*(np.add.accumulate(counts, axis=-1)[..., -1] for counts in self))

    def stack(self) -> Floats:
        """Return tp, proposed and gold in one array, float64 (3, …)."""
        return np.stack([np.asarray(counts, dtype=np.float64) for counts in self])

    def __getitem__(self, index: Any) -> EditCounts:
        """Return the counts at one or several indices, as NumPy indexes arrays."""
        return EditCounts(*(np.asarray(counts)[index] for counts in self))

    def __iter__(self) -> Iterator[Count]:
        """Yield tp, proposed and gold."""
        return iter((self.tp, self.proposed, self.gold))


def _share(part: Count, whole: Count) -> Floats:
    """Return part/whole, 1 where the whole is 0."""
    part = np.asarray(part, dtype=np.float64)
    shares: Floats = np.divide(part, whole, out=np.ones_like(part), where=np.asarray(whole) > 0)
    return shares


@dataclass(frozen=True)
class EditOverlap(ResampledMetric):
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

    def chosen_records(self, statistics: Statistics) -> list[Record]:
        """Return the record of each sentence with the reference that it is compared with."""
        choices = self.chosen(statistics)
        return [row[choice] for row, choice in zip(statistics.records, choices, strict=True)]

    def choose(self, counts: EditCounts, real: Mask, *, worst: bool = False) -> Indices:
        """Return which of its alternatives each sentence uses, int (N,).

        Args:
            counts: of N sentences with each of R alternatives, such as references, float (N, R).
            real: which alternatives a sentence has, bool (N, R).
            worst: choose what `preference` ranks last, not first.
        """
        if self.level == "sentence":
            return first_best(self._keys(counts, worst), real)
        choices: Indices = self._along(counts, real, np.arange(len(real))[None], worst)[0][0]
        return choices

    def _along(
        self, counts: EditCounts, real: Mask, samples: Indices, worst: bool
    ) -> tuple[Indices, EditCounts]:
        """Choose along each of B samples of M sentences: the choices, int (B, M), and the sums, (B,)."""
        stacked = counts.stack()

        def prefer(after: Floats, _: Floats) -> tuple[Array, ...]:
            return self._keys(EditCounts(*after), worst)

        # Most choices are the same as for the sentences in their own order.
        usual = best_along(stacked[:, None], real[None], prefer)[0][0]
        blocks = [
            best_along(stacked[:, block], real[block], prefer, usual[block])
            for block in sample_blocks(samples, stacked.shape[0] * stacked.shape[2])
        ]
        choices, sums = zip(*blocks, strict=True)
        return np.concatenate(choices), EditCounts(*np.concatenate(sums, axis=1))

    def _keys(self, counts: EditCounts, worst: bool) -> tuple[Array, ...]:
        """Return the keys of `preference`, or those of its reverse."""
        keys = self.preference(counts)
        return tuple(-key for key in keys) if worst else keys

    # -- scores -------------------------------------------------------------------------------

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
        figures = alone.figures(self.beta).values()
        precision, recall, f = (figure[samples].mean(axis=1) for figure in figures)
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
        totals = {name: float(total) for name, total in zip(_COUNTS, sums, strict=True)}
        return {
            "precision": float(np.mean(over.precision)),
            "recall": float(np.mean(over.recall)),
            # Whole numbers where edits are not weighted.
            **{name: int(x) if x.is_integer() else x for name, x in totals.items()},
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
            **dict(zip(_COUNTS, map(np.asarray, counts), strict=True)),
            **counts.figures(self.beta),
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
        for record in self.chosen_records(statistics):
            for edit in record["gold"]:
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
        for number, compared in enumerate(self.chosen_records(statistics), 1):
            types = {
                (edit["start"], edit["end"], text): edit["type"]
                for edit in compared["gold"]
                for text in edit["corrections"]
            }
            edits = [
                {"type": types.get((edit["start"], edit["end"], edit["correction"]), "")}
                | {**edit, "edit": "matched" if edit["matched"] else "unmatched"}
                for edit in compared["edits"]
            ]
            edits += [
                {**edit, "edit": "missed", "correction": "||".join(edit["corrections"])}
                for edit in compared["gold"]
                if not edit["matched"]
            ]
            for edit in sorted(edits, key=lambda edit: (edit["start"], edit["end"])):
                further = (key for key in edit if key not in (*_COLUMNS, *_LEFT_OUT))
                columns = {key: edit[key] for key in (*_COLUMNS, *further) if key in edit}
                rows.append({"sentence": number, "annotator": compared["annotator"], **columns})
        return rows


def gold_edits(reference: Reference) -> Sequence[Edit]:
    """Return the edits of a reference.

    Raises:
        InputError: it is a text without edits.
    """
    if reference.edits is None:
        raise InputError("a reference without edits was given; give an M2 file's.")
    return reference.edits


def edit_record(
    source: str,
    reference: Reference,
    edits: Sequence[tuple[Edit, bool]],
    gold: Sequence[tuple[Edit, bool]],
) -> dict[str, Any]:
    """Return the record that explains the comparison of one sentence with one reference.

    Args:
        source: the sentence.
        reference: the reference.
        edits: the system's edits, and whether each matches a gold edit.
        gold: the gold edits, and whether each matches an edit of the system.

    Returns:
        `annotator`, `edits` and `gold`. An edit has `start`, `end`, `original`, `correction`, `matched` and,
        where it is known, `type`. A gold edit has `corrections` in place of `correction`, and always `type`.
    """
    tokens = source.split()

    def place(edit: Edit) -> dict[str, Any]:
        original = " ".join(tokens[edit.start : edit.end])
        return {"start": edit.start, "end": edit.end, "original": original}

    return {
        "annotator": reference.annotator,
        "edits": [
            {**place(edit), "correction": edit.correction, "matched": matched}
            | ({"type": edit.type} if edit.type else {})
            for edit, matched in edits
        ],
        "gold": [
            {**place(edit), "corrections": list(edit.corrections), "type": edit.type}
            | {"matched": matched}
            for edit, matched in gold
        ],
    }


def overlap_statistics(
    rows: Sequence[Sequence[tuple[EditCounts, Record]]], references: References
) -> Statistics:
    """Return the statistics of an `EditOverlap` metric.

    Args:
        rows: the counts of each sentence with each reference, and the record that explains them.
        references: the references of the same N sentences.

    Returns:
        `tp`, `proposed` and `gold`, float (N, R), `annotator` int (N, R), `references` int (N,).
    """
    counts = np.zeros((3, len(rows), references.most))
    for number, row in enumerate(rows):
        counts[:, number, : len(row)] = np.array([tuple(compared) for compared, _ in row]).T
    return Statistics(
        dict(zip(_COUNTS, counts, strict=True)) | reference_arrays(references),
        tuple([record for _, record in row] for row in rows),
    )


def _take(counts: EditCounts, chosen: Indices) -> EditCounts:
    """Return each sentence's counts with its chosen reference, float (N,)."""
    return counts[np.arange(len(chosen)), chosen]
