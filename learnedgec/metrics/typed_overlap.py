"""Edit overlap for which an annotator extracts the edits of systems, with types where they are needed."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from learnedgec.data.references import References
from learnedgec.edits.annotator import edits_of_targets, extract_edits
from learnedgec.edits.error_types import Tier, at_tier, check_types
from learnedgec.edits.parsing import describe_annotator
from learnedgec.errors import InputError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.edit_overlap import EditCounts, EditOverlap, EditRows, Record
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Texts


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
        """Return the statistics of given edits, such as those of an M2 file.

        Args:
            sources: N sentences.
            edits: a system's edits in each sentence.
            references: references with edits.
            runtime: how to run a model, if the metric reads one.

        Raises:
            InputError: a reference has no edits.
        """

    @abstractmethod
    def type_counts(self, record: Record) -> Iterable[tuple[str, Sequence[float]]]:
        """Yield types with their tp, fp and fn in a sentence and reference; a type may come repeatedly."""

    @property
    def has_types(self) -> bool:
        """Whether a system's edits get types."""
        return self.types

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References | None, runtime: Runtime
    ) -> Statistics:
        """Return the counts of every sentence and reference, with the edits as records."""
        assert references is not None
        extract = partial(
            extract_edits, annotator=self.annotator, types=self.has_types, runtime=runtime
        )
        edits, annotated = edits_of_targets(sources, hypotheses, references, extract)
        if self.types:
            check_types(edits, references)
        return self.compare(sources, edits, annotated, runtime=runtime)

    def preference(self, counts: EditCounts) -> tuple[Array, ...]:
        """Return F, tp, −fp and −fn."""
        tp, fp, fn = map(np.asarray, (counts.tp, counts.fp, counts.fn))
        return counts.f(self.beta), tp, -fp, -fn

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the version and SHA-256 of the annotator, and the versions of the tools."""
        return {**describe_annotator(self.annotator)}

    def typed(self) -> Metric:
        """Return the metric with types for the edits of systems."""
        # Its subclasses have the field.
        return replace(self, types=True).named_like(self)  # type: ignore[call-arg]

    def by_type(self, statistics: Statistics, tier: Tier = "type") -> dict[str, dict[str, float]]:
        """Return tp, fp, fn, precision, recall and F by error type, over the chosen references.

        What the system did wrong has the type of its own edit, all else that of the reference's. The type
        with the most gold edits comes first.

        Raises:
            InputError: the edits of systems have no types; use `types=True`.
        """
        if not self.has_types:
            raise InputError(
                f"the edits of {self.label} have no types; score with {self.name}(types=True)."
            )
        sums: dict[str, list[float]] = {}
        for record in self.chosen_records(statistics):
            for kind, counts in self.type_counts(record):
                total = sums.setdefault(at_tier(kind, tier), [0, 0, 0])
                total[:] = map(sum, zip(total, counts, strict=True))
        table: dict[str, dict[str, float]] = {}
        for kind, (tp, fp, fn) in sorted(
            sums.items(), key=lambda row: (-row[1][0] - row[1][2], row[0])
        ):
            figures = EditCounts(tp, tp + fp, tp + fn).figures(self.beta)
            rates = {name: float(figure) for name, figure in figures.items()}
            table[kind] = {"tp": tp, "fp": fp, "fn": fn, **rates}
        return table
