"""ERRANT: F over the typed edits that a linguistic alignment finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from learnedgec.data.m2 import Edit
from learnedgec.data.references import References
from learnedgec.edits.annotator import extract_edits
from learnedgec.edits.error_types import Tier, at_tier, check_types, foreign_types
from learnedgec.edits.parsing import default_annotator, describe_annotator
from learnedgec.edits.targets import edits_of_targets
from learnedgec.errors import InputError
from learnedgec.metrics.edit_counts import EditCounts
from learnedgec.metrics.edit_overlap import EditOverlap, overlap_statistics
from learnedgec.metrics.m2 import edit_record
from learnedgec.metrics.reference_choice import four_decimals
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array

__all__ = [
    "Errant",
]


@dataclass(frozen=True)
class Errant(EditOverlap):
    """ERRANT: F of the edits of the system, extracted by linguistic rules, against gold edits.

    The hypothesis is aligned with the source by words, lemmas and parts of speech; see
    `learnedgec.edits.annotator`. An edit is correct if the reference has it too; `mode` says what must be
    the same:

        span-correction    the same span and correction
        type-correction    the same span, correction and error type
        span-detection     the same span
        token-detection    each token in an edit, or after an insertion, by itself

    The reference is the one with the largest F so far, rounded to four decimals, then the largest tp,
    then the smallest e−tp, then the smallest g−tp, then the first. Edits of type `UNK`, found but
    not corrected, count in detection only. `errant(level='sentence')`, also named `senterrant`, is the
    mean of sentence scores.

    References that are plain texts are annotated like hypotheses; the signature then says `gold:aligned`.
    Equal to `errant_parallel` and `errant_compare`, version 3.0, with the same spaCy pipeline.

    Deviations: if a reference has the same edit more often than the hypothesis, tp counts the edits of the
    hypothesis (`errant_compare` counts those of the reference; token detection follows `errant_compare`). Any
    of several corrections of a gold edit is correct. A sentence whose source is empty is scored too.

    Source: Bryant, Felice and Briscoe, "Automatic Annotation and Evaluation of Error Types for
    Grammatical Error Correction" (ACL 2017).

    Attributes:
        beta: the weight of recall against precision; 0.5 counts precision twice as much.
        level: what the corpus score is: `corpus`, of summed counts, or `sentence`, a mean of sentence scores.
        mode: what makes an edit correct: the same span and correction (`span-correction`), also the same
            type (`type-correction`), the same span (`span-detection`), or each token by itself
            (`token-detection`).
        annotator: the spaCy pipeline: `en-ewt-sm` (included in learnedgec), an installed package or a
            directory; or `plain`, which is language-independent: it extracts edits by tokens and
            characters, with the types `M`, `R` and `U` (it finds 94.6 % of ERRANT's 1,209 edits in 437
            pairs of BEA-19 dev; see `learnedgec.edits.plain`); or an annotator of another package (entry
            points `learnedgec.annotators`). The default is `en_core_web_sm` if it is installed, else
            `en-ewt-sm`.
        tokens: `single` leaves out edits with two or more tokens on a side, `multi` the others.
        ignore: error types that are left out on both sides, such as `('R:ORTH', 'R:SPELL')`.
        types: classify a system's edits even if the score does not need their types, for `by_type`.
        reannotate: ignore the gold edits of references and extract their edits as for hypotheses. Published
            ERRANT scores on CoNLL-2014 are computed in this way, since its M2 file has edits marked by
            hand.

    Example:
        >>> from learnedgec import References, load_metric
        >>> errant = load_metric("errant(annotator='en-ewt-sm')")
        >>> references = References.from_texts(["She goes to school ."])
        >>> score = errant.score(["She go to the school ."], ["She goes to the school ."], references)
        >>> score.details["tp"], score.details["proposed"], score.details["gold"]
        (1, 1, 2)
    """

    name: ClassVar[str] = "errant"
    mode: Literal["span-correction", "span-detection", "token-detection", "type-correction"] = (
        "span-correction"
    )
    annotator: str = field(default_factory=default_annotator)
    tokens: Literal["any", "single", "multi"] = "any"
    ignore: tuple[str, ...] = ()
    types: bool = False
    reannotate: bool = False

    @property
    def _typed(self) -> bool:
        """Whether a system's edits get types."""
        return self.types or self.mode == "type-correction" or bool(self.ignore)

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return the counts of every sentence and reference, with the edits as records."""
        assert references is not None
        if self.reannotate:
            references = references.without_edits()
        extract = partial(
            extract_edits, annotator=self.annotator, types=self._typed, runtime=runtime
        )
        edits, annotated = edits_of_targets(sources, hypotheses, references, extract)
        if self.types:
            check_types(edits, references, "extract them again with errant(reannotate=True)")
        return self.compare(sources, edits, annotated)

    def compare(
        self, sources: Sequence[str], edits: Sequence[Sequence[Edit]], references: References
    ) -> Statistics:
        """Return the statistics of given edits, such as those of an M2 file.

        Args:
            sources: N sentences.
            edits: a system's edits in each sentence.
            references: references with edits.

        Raises:
            InputError: a reference has no edits.
        """
        counts: list[list[EditCounts]] = []
        records: list[list[Mapping[str, Any]]] = []
        for source, made, row in zip(sources, edits, references, strict=True):
            counts.append([])
            records.append([])
            proposed = self._evaluated(made)
            for reference in row:
                if reference.edits is None:
                    raise InputError("a reference without edits was given; give an M2 file's.")
                comparison = _Comparison(proposed, self._evaluated(reference.edits), self.mode)
                by_type = comparison.by_type
                tp, fp, fn = (sum(each[column] for each in by_type.values()) for column in range(3))
                counts[-1].append(EditCounts(tp, tp + fp, tp + fn))
                records[-1].append(
                    {
                        **edit_record(
                            source,
                            reference,
                            comparison.proposed,
                            comparison.gold,
                            comparison.matched_edits,
                            comparison.matched_gold,
                        ),
                        "types": by_type,
                    }
                )
        return overlap_statistics(counts, references, records)

    def _evaluated(self, edits: Iterable[Edit]) -> list[Edit]:
        """Return the edits that pass the filters."""
        detection = self.mode in ("span-detection", "token-detection")

        def kept(edit: Edit) -> bool:
            long = edit.end - edit.start > 1 or len(edit.correction.split()) > 1
            return (
                (detection or edit.type != "UNK")
                and (self.tokens == "any" or long == (self.tokens == "multi"))
                and edit.type not in self.ignore
            )

        return [edit for edit in edits if kept(edit)]

    def preference(self, counts: EditCounts) -> tuple[Array, ...]:
        """Return F rounded to four decimals, tp, −fp and −fn."""
        tp, fp, fn = map(np.asarray, (counts.tp, counts.fp, counts.fn))
        return four_decimals(counts.f(self.beta)), tp, -fp, -fn

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the version and SHA-256 of the annotator, and the versions of the tools."""
        return {**describe_annotator(self.annotator)}

    def caveats(self, references: References) -> list[str]:
        """Return a caveat on gold edits that ERRANT did not extract: their boundaries follow other rules."""
        if self.reannotate:
            return []
        types = {edit.type for row in references for each in row for edit in each.edits or ()}
        foreign = foreign_types(types)
        if types == {"UNK"} and self.mode in ("span-correction", "type-correction"):
            return [
                f"{self.name}: every gold edit has the type UNK, which counts in detection only, so no "
                "correction can be right; extract the references' edits again with "
                f"{self.name}(reannotate=True)."
            ]
        # With `types`, foreign ones are an error.
        if foreign and types != {"UNK"} and not self.types:
            return [
                f"{self.name}: the gold edits are not ERRANT's ({foreign[0]!r} is not one of "
                "its types), so scores differ from published ones, for which the references' edits are "
                f"extracted again: use {self.name}(reannotate=True)."
            ]
        return []

    def describe_references(self, references: References) -> dict[str, str]:
        """Return whether gold edits come from alignment, which ERRANT makes."""
        return {"gold": "aligned"} if self.reannotate else super().describe_references(references)

    def reannotated(self) -> Errant:
        """Return the metric that extracts the edits of references again."""
        return replace(self, reannotate=True).named_like(self)

    def typed(self) -> Errant:
        """Return the metric with types for the edits of systems."""
        return replace(self, types=True).named_like(self)

    def by_type(self, statistics: Statistics, tier: Tier = "type") -> dict[str, dict[str, float]]:
        """Return tp, fp, fn, precision, recall and F by error type, over the chosen references.

        Correct and missed edits have the type of the reference, wrong edits their own. The type with the
        most gold edits comes first.

        Raises:
            InputError: the edits of systems have no types; use `errant(types=True)`.
        """
        if not self._typed:
            raise InputError(
                f"the edits of {self.label} have no types; score with {self.name}(types=True)."
            )
        columns: dict[str, list[tuple[int, int, int]]] = {}
        for record, choice in zip(statistics.records, self.chosen(statistics), strict=True):
            for kind, found in record[choice]["types"].items():
                columns.setdefault(at_tier(kind, tier), []).append(found)
        table: dict[str, dict[str, float]] = {}
        for kind, rows in columns.items():
            tp, fp, fn = map(sum, zip(*rows, strict=True))
            counts = EditCounts(tp, tp + fp, tp + fn)
            table[kind] = {
                "tp": tp,
                "fp": fp,
                "fn": fn,
                "precision": float(counts.precision),
                "recall": float(counts.recall),
                f"f{self.beta:g}": float(counts.f(self.beta)),
            }
        return dict(sorted(table.items(), key=lambda row: (-row[1]["tp"] - row[1]["fn"], row[0])))


class _Comparison:
    """A system's edits against those of one reference.

    Attributes:
        proposed: the system's edits that are counted.
        gold: the reference's.
        matched_edits: numbers of the system's edits that are correct, at least in part.
        matched_gold: numbers of the gold edits that were found, at least in part.
        by_type: (tp, fp, fn) of each error type.
    """

    def __init__(self, proposed: Sequence[Edit], gold: Sequence[Edit], mode: str) -> None:
        tokens = mode == "token-detection"
        ours: dict[tuple[Any, ...], list[int]] = {}
        for number, edit in enumerate(proposed):
            for unit in _units(edit, edit.correction, mode):
                ours.setdefault(unit, []).append(number)
        corrections = {(edit.start, edit.end, edit.correction) for edit in proposed}
        theirs: dict[tuple[Any, ...], list[int]] = {}
        for number, edit in enumerate(gold):
            # Of several corrections, compare the one that the system made, else the first.
            made = (
                text for text in edit.corrections if (edit.start, edit.end, text) in corrections
            )
            for unit in _units(edit, next(made, edit.correction), mode):
                theirs.setdefault(unit, []).append(number)
        self.gold = gold
        self.matched_edits: set[int] = set()
        self.matched_gold: set[int] = set()
        self.by_type: dict[str, list[int]] = {}
        repeated: set[int] = set()
        for unit, numbers in ours.items():
            wanted = theirs.get(unit, [])
            if not wanted:
                self._count(proposed, numbers, 1)
                continue
            found = len(wanted) if tokens else min(len(numbers), len(wanted))
            self._count(gold, wanted[:found], 0)
            self._count(gold, wanted[found:], 2)
            self.matched_gold.update(wanted[:found])
            self.matched_edits.update(numbers[:found])
            # The official tool does not notice that a correct edit is made twice.
            repeated.update(() if tokens else numbers[found:])
        for unit, numbers in theirs.items():
            if unit not in ours:
                self._count(gold, numbers, 2)
        self.proposed = proposed
        if repeated:
            kept = [number for number in range(len(proposed)) if number not in repeated]
            self.proposed = [proposed[number] for number in kept]
            self.matched_edits = {
                place for place, number in enumerate(kept) if number in self.matched_edits
            }

    def _count(self, edits: Sequence[Edit], numbers: Iterable[int], column: int) -> None:
        """Add the edits of these numbers to a column, by type."""
        for number in numbers:
            self.by_type.setdefault(edits[number].type, [0, 0, 0])[column] += 1


def _units(edit: Edit, correction: str, mode: str) -> list[tuple[Any, ...]]:
    """Return the parts of an edit that are compared; an insertion is at the token after it."""
    if mode == "token-detection":
        return [(token,) for token in range(edit.start, max(edit.end, edit.start + 1))]
    if mode == "span-detection":
        return [(edit.start, edit.end)]
    if mode == "type-correction":
        return [(edit.start, edit.end, correction, edit.type)]
    return [(edit.start, edit.end, correction)]
