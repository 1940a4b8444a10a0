"""Metrics that count the edits of a system that an annotator also made.

All of them compare edits with the gold edits of each reference, and differ in three places: how the
edits of a system are found (`compute`), what an edit counts (1, or a weight), and which reference a
sentence is compared with (`preference`). `EditOverlap` implements the rest: choice, precision, recall, F.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np

from learnedgec.data.m2 import Edit
from learnedgec.data.references import Reference, References
from learnedgec.edits.annotator import (
    Tier,
    at_tier,
    check_types,
    describe_annotator,
    edits_of_targets,
    extract_edits,
)
from learnedgec.errors import InputError, ParameterError
from learnedgec.metrics.contract import Metric, Statistics
from learnedgec.metrics.reference_choice import ChoosingMetric, reference_arrays
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Indices, Texts

Record: TypeAlias = Mapping[str, Any]
"""The record that explains the comparison of a sentence with one reference; see `edit_record`."""

EditRows: TypeAlias = Sequence[Sequence[Edit]]
"""A system's edits in each sentence."""

# The first columns of a row of edits, in order; a metric's own columns follow.
_COLUMNS = ("edit", "start", "end", "original", "correction", "type", "weight", "change")
# The keys of a record that are not columns.
_NO_COLUMNS = ("matched", "corrections")

EditCounts: TypeAlias = tuple[float, float, float]
"""The numbers of correct, proposed and gold edits, or the sums of their weights."""


def rates(counts: Floats, beta: float) -> dict[str, Floats]:
    """Return precision, recall and F of the counts tp, proposed and gold, float (…) each from (3, …).

    Precision is tp/proposed and recall is tp/gold, each 1 if its denominator is 0. F is
    (1+β²)·P·R/(β²·P+R), and 0 if both are 0.

    Example:
        >>> {name: values.tolist() for name, values in rates(np.array([[1, 0], [2, 0], [2, 2]]), 1).items()}
        {'precision': [0.5, 1.0], 'recall': [0.5, 0.0], 'f1': [0.5, 0.0]}
    """
    tp, proposed, gold = np.asarray(counts, dtype=np.float64)
    precision, recall = (
        np.divide(tp, count, out=np.ones_like(tp), where=count > 0) for count in (proposed, gold)
    )
    square = beta * beta
    numerator = (1 + square) * precision * recall
    denominator = square * precision + recall
    f = np.divide(numerator, denominator, out=np.zeros_like(tp), where=denominator > 0)
    return {"precision": precision, "recall": recall, f"f{beta:g}": f}


@dataclass(frozen=True)
class EditOverlap(ChoosingMetric):
    """F-score over edits, each sentence compared with one of its references.

    With tp the gold edits that the system made, e the edits that it proposed and g the gold edits,
    P = tp/e (1 if e = 0), R = tp/g (1 if g = 0) and F = (1+β²)·P·R/(β²·P+R) (0 if P = R = 0).

    `ChoosingMetric` says with which reference each sentence is compared.

    Attributes:
        beta: the weight of recall against precision; 0.5 counts precision twice as much.
        level: `corpus` scores the summed counts of all sentences, `sentence` takes the mean of sentence
            scores.
    """

    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"beta", "level"})
    counted: ClassVar[tuple[str, ...]] = ("tp", "proposed", "gold")

    beta: float = 0.5
    level: Literal["corpus", "sentence"] = "corpus"

    def __post_init__(self) -> None:
        if not (self.beta >= 0 and math.isfinite(self.beta)):
            raise ParameterError(f"{self}: beta must be 0 or a positive number.")

    @property
    def score_name(self) -> str:
        """F."""
        return f"f{self.beta:g}"

    @property
    def directions(self) -> tuple[int, ...]:
        """More correct edits are better, and fewer proposed and gold ones, which do not count for β = 0."""
        return (1, -1, -1) if self.beta else ()

    def counts(
        self, statistics: Statistics, samples: Indices | None = None, *, alone: bool = False
    ) -> Floats:
        """Return tp, proposed and gold of each sentence with each reference, float (3, 1, N, R)."""
        counts = np.stack([statistics[name] for name in self.counted])
        return counts[:, None].astype(np.float64, copy=False)

    def figures(self, counts: Floats) -> dict[str, Floats]:
        """Return precision, recall and F."""
        return rates(counts, self.beta)

    def preference(self, after: Floats, counts: Floats) -> tuple[Array, ...]:
        """Return F from P and R, tp and −(e+β²·g)."""
        tp, proposed, gold = after
        f = self.figures(after)[self.score_name]
        return f, tp, -(proposed + self.beta * self.beta * gold)

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return precision and recall (means at the sentence level) and the summed counts."""
        details = super().details(statistics)
        # Counts of edits without weights are shown as whole numbers.
        whole = {name: int(details[name]) for name in self.counted if details[name].is_integer()}
        return details | whole

    def chosen_records(self, statistics: Statistics) -> list[Record]:
        """Return the record of each sentence with the reference that it is compared with."""
        choices = self.chosen(statistics)
        return [row[choice] for row, choice in zip(statistics.records, choices, strict=True)]

    def describe_references(self, references: References) -> dict[str, str]:
        """Return `gold: aligned` if some gold edits come from an alignment."""
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
        sums: dict[str, list[float]] = {}
        for record in self.chosen_records(statistics):
            for kind, counts in self.type_counts(record):
                total = sums.setdefault(at_tier(kind, tier), [0, 0, 0])
                total[:] = map(sum, zip(total, counts, strict=True))
        frequent = sorted(sums.items(), key=lambda row: (-row[1][0] - row[1][2], row[0]))
        return {kind: self.type_figures(*counts) for kind, counts in frequent}

    def type_counts(self, record: Record) -> Iterable[tuple[str, Sequence[float]]]:
        """Yield types with their tp, fp and fn in a sentence and reference; a type may come repeatedly."""
        for edit in record["gold"]:
            yield edit["type"], (1, 0, 0) if edit["matched"] else (0, 0, 1)

    def type_figures(self, tp: float, fp: float, fn: float) -> dict[str, float]:
        """Return the figures that a table shows of a type."""
        return {"tp": tp, "gold": tp + fn, "recall": tp / (tp + fn)}

    def edit_rows(self, statistics: Statistics) -> list[dict[str, Any]]:
        """Return one row per edit, with the gold edits of the chosen annotator.

        `ShowsEdits.edit_rows` describes the columns. Alternatives of a gold edit are joined by `||`. The
        column `change` is the amount by which the edit alone makes the source more similar to the reference.
        """
        rows = []
        for number, record in enumerate(self.chosen_records(statistics), 1):
            types = {
                (edit["start"], edit["end"], text): edit["type"]
                for edit in record["gold"]
                for text in edit["corrections"]
            }
            edits = [
                {"type": types.get((edit["start"], edit["end"], edit["correction"]), "")}
                | {**edit, "edit": "matched" if edit["matched"] else "unmatched"}
                for edit in record["edits"]
            ]
            edits += [
                {**edit, "edit": "missed", "correction": "||".join(edit["corrections"])}
                for edit in record["gold"]
                if not edit["matched"]
            ]
            for edit in sorted(edits, key=lambda edit: (edit["start"], edit["end"])):
                further = (key for key in edit if key not in (*_COLUMNS, *_NO_COLUMNS))
                columns = {key: edit[key] for key in (*_COLUMNS, *further) if key in edit}
                rows.append({"sentence": number, "annotator": record["annotator"], **columns})
        return rows


class TypedOverlap(EditOverlap):
    """Edit overlap for which an annotator extracts the edits of systems, with types where they are needed.

    A subclass has the fields `annotator` and `types`.
    """

    if TYPE_CHECKING:
        annotator: str
        types: bool

    @abstractmethod
    def compare(
        self, sources: Texts, edits: EditRows, references: References, runtime: Runtime = Runtime()
    ) -> Statistics:
        """Return the statistics of given edits, such as the gold edits of an M2 file.

        Args:
            sources: N sentences.
            edits: a system's edits in each sentence.
            references: references with edits.
            runtime: how to run a model, if the metric reads one.

        Raises:
            InputError: a reference has no edits.
        """

    @property
    def has_types(self) -> bool:
        """Whether a system's edits get types."""
        return self.types

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return the counts of every sentence and reference, with the edits as records."""
        extract = partial(
            extract_edits, annotator=self.annotator, types=self.has_types, runtime=runtime
        )
        edits, annotated = edits_of_targets(sources, hypotheses, references, extract)
        if self.types:
            check_types(edits, references)
        return self.compare(sources, edits, annotated, runtime=runtime)

    def preference(self, after: Floats, counts: Floats) -> tuple[Array, ...]:
        """Return F, tp, −fp and −fn."""
        tp, proposed, gold = after
        return self.figures(after)[self.score_name], tp, tp - proposed, tp - gold

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the version and SHA-256 of the annotator, and the versions of the tools."""
        return {**describe_annotator(self.annotator)}

    def typed(self) -> Metric:
        """Return the metric with types for the edits of systems."""
        # Every subclass has the field `types`.
        return replace(self, types=True)  # type: ignore[call-arg]

    def by_type(self, statistics: Statistics, tier: Tier = "type") -> dict[str, dict[str, float]]:
        """Return tp, fp, fn, precision, recall and F by error type, over the chosen references.

        A wrong edit counts under its own type, and all others under the type of the reference's edit. The
        type with the most gold edits comes first.

        Raises:
            InputError: the edits of systems have no types; use `types=True`.
        """
        if not self.has_types:
            raise InputError(
                f"the edits of {self.label} have no types; score with {self.name}(types=True)."
            )
        return super().by_type(statistics, tier)

    def type_figures(self, tp: float, fp: float, fn: float) -> dict[str, float]:
        """Return tp, fp, fn, precision, recall and F."""
        figures = self.figures(np.array([tp, tp + fp, tp + fn]))
        shares = {name: float(figure) for name, figure in figures.items()}
        return {"tp": tp, "fp": fp, "fn": fn, **shares}


def gold_edits(reference: Reference) -> Sequence[Edit]:
    """Return the edits of a reference.

    Raises:
        InputError: the reference is a text without edits.
    """
    if reference.edits is None:
        raise InputError(
            "a reference without edits was given; give references with gold edits, as in an M2 file."
        )
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
        counts[:, number, : len(row)] = np.array([compared for compared, _ in row]).T
    return Statistics(
        dict(zip(EditOverlap.counted, counts, strict=True)) | reference_arrays(references),
        tuple([record for _, record in row] for row in rows),
    )
