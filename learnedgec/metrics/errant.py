"""ERRANT: F over the typed edits that a linguistic alignment finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from learnedgec.data.corpus import Corpus
from learnedgec.data.m2 import Edit
from learnedgec.data.references import Reference, References
from learnedgec.edits.annotator import default_annotator, extract_edits
from learnedgec.metrics.contract import Statistics
from learnedgec.metrics.edit_overlap import (
    EditCounts,
    EditRows,
    Record,
    TypedOverlap,
    edit_record,
    gold_edits,
    overlap_statistics,
)
from learnedgec.metrics.reference_choice import four_decimals
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Texts

# Up to this share of gold edits may differ from the annotator's own without a notice, because another version
# of the pipeline may have made them.
_MAX_FOREIGN = 0.05
# At most this many sentences are searched for gold edits that differ from the annotator's own.
_MAX_SEARCHED = 300


@dataclass(frozen=True)
class Errant(TypedOverlap):
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

    Deviations: if a reference has the same edit more often than the hypothesis, tp counts the hypothesis'
    edits. `errant_compare` counts the reference's edits then, and so does token detection here. Any
    of several corrections of a gold edit is correct. A sentence whose source is empty is scored too.

    Source: Bryant, Felice and Briscoe, "Automatic Annotation and Evaluation of Error Types for
    Grammatical Error Correction" (ACL 2017).

    Attributes:
        mode: what makes an edit correct: the same span and correction (`span-correction`), also the same
            type (`type-correction`), the same span (`span-detection`), or each token by itself
            (`token-detection`).
        annotator: the spaCy pipeline: `en-ewt-sm` (included in learnedgec), an installed package or a
            directory; or `plain`, which is language-independent: it extracts edits by tokens and
            characters, with the types `M`, `R` and `U` (it finds 94.6 % of ERRANT's 1,209 edits in 437
            pairs of BEA-19 dev; see `learnedgec.edits.alignment`); or an annotator of another package (entry
            points `learnedgec.annotators`). The default is `en_core_web_sm` if it is installed, else
            `en-ewt-sm`.
        tokens: `single` leaves out edits with two or more tokens on a side, `multi` the others.
        ignore: error types that are left out on both sides, such as `('R:ORTH', 'R:SPELL')`.
        types: classify a system's edits even if the score does not need their types, for `by_type`.
        reannotate: ignore the gold edits of references, and extract edits from their texts. Published
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
    def has_types(self) -> bool:
        """Whether a system's edits get types."""
        return self.types or self.mode == "type-correction" or bool(self.ignore)

    def notices(self, corpus: Corpus, runtime: Runtime) -> list[str]:
        """Return whether no gold edit can be right, or many are not the annotator's own of the same texts."""
        references = corpus.references
        if references is None or self.reannotate:
            return []
        types = {
            edit.type for row in references for reference in row for edit in reference.edits or ()
        }
        if types == {"UNK"} and self.mode in ("span-correction", "type-correction"):
            return [
                f"{self.name}: every gold edit has the type UNK, which counts in detection only, so no "
                "correction can be right; extract the references' edits again with "
                f"{self.name}(reannotate=True)."
            ]
        return self._about_gold(corpus.sources, references, runtime)

    def _about_gold(self, sources: Texts, references: References, runtime: Runtime) -> list[str]:
        """Return how many gold edits differ from the annotator's own edits of the same texts, if many do."""
        # A sample is enough; parsing all references may take half as long as scoring.
        chosen = range(0, len(sources), len(sources) // _MAX_SEARCHED + 1)
        rows = [
            (sources[number], reference)
            for number in chosen
            for reference in references[number]
            if reference.edits
        ]
        own = extract_edits(
            [(source, reference.text) for source, reference in rows],
            self.annotator,
            types=self.has_types,
            runtime=runtime,
        )
        # annotator -> the numbers of edits that differ, and of all
        counts: dict[int, list[int]] = {}
        for (_, reference), edits in zip(rows, own, strict=True):
            units = {unit for e in edits for unit in _units(e, e.correction, self.mode)}
            count = counts.setdefault(reference.annotator, [0, 0])
            for gold in self._evaluated(gold_edits(reference)):
                same = any(units.issuperset(_units(gold, c, self.mode)) for c in gold.corrections)
                count[0] += not same
                count[1] += 1
        differing, total = map(sum, zip(*counts.values(), strict=True)) if counts else (0, 0)
        if differing <= _MAX_FOREIGN * total:
            return []
        number, (foreign, all_edits) = min(counts.items())
        one = f" (of annotator {number}: {foreign:,} of {all_edits:,})" if len(counts) > 1 else ""
        if len(chosen) < len(sources):
            one += f" in {len(chosen)} of {len(sources):,} sentences"
        return [
            f"{self.name}: {differing:,} of {total:,} gold edits{one} are not those that {self.annotator} "
            "extracts from the same texts, so a system that writes these texts gets them wrong, and systems "
            f"may change places; --reannotate (in Python {self.name}(reannotate=True)) extracts them again."
        ]

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return the counts of every sentence and reference, with the edits as records."""
        if self.reannotate:
            references = references.without_edits()
        return super().compute(sources, hypotheses, references, runtime)

    def compare(
        self, sources: Texts, edits: EditRows, references: References, runtime: Runtime = Runtime()
    ) -> Statistics:
        """Return the statistics of given edits; see `TypedOverlap.compare`."""
        rows = []
        for source, sentence_edits, row in zip(sources, edits, references, strict=True):
            proposed = self._evaluated(sentence_edits)
            rows.append([self._compared(source, proposed, reference) for reference in row])
        return overlap_statistics(rows, references)

    def _compared(
        self, source: str, proposed: Sequence[Edit], reference: Reference
    ) -> tuple[EditCounts, Record]:
        """Return the counts of a system's edits and a reference's, and the record that explains them."""
        gold = self._evaluated(gold_edits(reference))
        corrections = {(edit.start, edit.end, edit.correction) for edit in proposed}

        def by_unit(edits: Sequence[Edit]) -> dict[tuple[Any, ...], list[int]]:
            """Return for each unit of comparison the numbers of the edits that have it."""
            numbers: dict[tuple[Any, ...], list[int]] = {}
            for number, edit in enumerate(edits):
                # Compare the correction that the system made, or else the first of several.
                texts = (t for t in edit.corrections if (edit.start, edit.end, t) in corrections)
                for unit in _units(edit, next(texts, edit.correction), self.mode):
                    numbers.setdefault(unit, []).append(number)
            return numbers

        by_token = self.mode == "token-detection"
        proposed_by_unit, gold_by_unit = by_unit(proposed), by_unit(gold)
        # Each list has the number of an edit once for each of its units: gold edits that are right or missed,
        # and proposed edits that match, are wrong or repeat a match.
        right, missed, matched, wrong, repeated = (list[int]() for _ in range(5))
        for unit in {**proposed_by_unit, **gold_by_unit}:
            numbers, gold_numbers = proposed_by_unit.get(unit, []), gold_by_unit.get(unit, [])
            both = min(len(numbers), len(gold_numbers))
            correct = len(gold_numbers) if numbers and by_token else both
            right += gold_numbers[:correct]
            missed += gold_numbers[correct:]
            matched += numbers[:correct]
            if not gold_numbers:
                wrong += numbers
            elif not by_token:
                # The official tool does not notice that a correct edit is made twice.
                repeated += numbers[correct:]
        by_type: dict[str, list[int]] = {}
        for column, edits, numbers in ((0, gold, right), (1, proposed, wrong), (2, gold, missed)):
            for number in numbers:
                by_type.setdefault(edits[number].type, [0, 0, 0])[column] += 1
        record = edit_record(
            source,
            reference,
            [(edit, n in matched) for n, edit in enumerate(proposed) if n not in repeated],
            [(edit, n in right) for n, edit in enumerate(gold)],
        )
        tp, fp, fn = map(len, (right, wrong, missed))
        return (tp, tp + fp, tp + fn), {**record, "types": by_type}

    def _evaluated(self, edits: Iterable[Edit]) -> list[Edit]:
        """Return the edits that pass the filters."""
        detection = self.mode in ("span-detection", "token-detection")

        def passes(edit: Edit) -> bool:
            multi = edit.end - edit.start > 1 or len(edit.correction.split()) > 1
            return (
                (detection or edit.type != "UNK")
                and (self.tokens == "any" or multi == (self.tokens == "multi"))
                and edit.type not in self.ignore
            )

        return [edit for edit in edits if passes(edit)]

    def preference(self, after: Floats, counts: Floats) -> tuple[Array, ...]:
        """Return F rounded to four decimals, tp, −fp and −fn."""
        f, *others = super().preference(after, counts)
        return four_decimals(f), *others

    def type_counts(self, record: Record) -> Iterable[tuple[str, Sequence[float]]]:
        """Return tp, fp and fn by type; a wrong edit has its own type, every other edit the reference's."""
        counts: Mapping[str, Sequence[float]] = record["types"]
        return counts.items()

    def describe_references(self, references: References) -> dict[str, str]:
        """Return whether gold edits come from alignment, which ERRANT makes."""
        return {"gold": "aligned"} if self.reannotate else super().describe_references(references)

    def reannotated(self) -> Errant:
        """Return the metric that extracts the edits of references again."""
        return replace(self, reannotate=True)


def _units(edit: Edit, correction: str, mode: str) -> list[tuple[Any, ...]]:
    """Return the parts of an edit that are compared; an insertion is at the token after it."""
    if mode == "token-detection":
        return [(token,) for token in range(edit.start, max(edit.end, edit.start + 1))]
    if mode == "span-detection":
        return [(edit.start, edit.end)]
    if mode == "type-correction":
        return [(edit.start, edit.end, correction, edit.type)]
    return [(edit.start, edit.end, correction)]
