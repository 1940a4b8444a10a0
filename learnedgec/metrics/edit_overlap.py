"""Metrics that count the edits of a system that an annotator also made.

All of them compare edits with the gold edits of each reference, and differ in three places: how the
edits of a system are found (`compute`), what an edit counts (1, or a weight), and which reference a
sentence is compared with (`preference`). `EditOverlap` holds the rest: choice, precision, recall, F.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from learnedgec.edits.annotator import default_annotator, describe_annotator, extract_edits
from learnedgec.edits.max_match import max_match, reference_edits
from learnedgec.errors import InputError, ParameterError
from learnedgec.m2 import Edit
from learnedgec.metrics.base import Array, Floats, Metric, Statistics
from learnedgec.parallel import parallel_map
from learnedgec.references import Reference, References
from learnedgec.runtime import Runtime

__all__ = ["M2", "TIERS", "EditOverlap", "Errant", "Tier", "overlap_statistics", "precision_recall"]

Indices = npt.NDArray[np.intp]

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
        return _first_best(self.preference(*_counts(statistics)), _real(statistics))

    def _cumulative(self, statistics: Statistics, samples: Indices) -> tuple[Indices, Floats]:
        """Choose references along each of B samples of M sentences.

        Returns:
            The choices, int (B, M), and the sums of tp, e and g, float (3, B).
        """
        counts, real = _counts(statistics), _real(statistics)
        # Where all references count the same, there is no choice.
        open_ = ((counts != counts[..., :1]) & real).any(axis=(0, 2))
        choices = np.zeros(samples.shape, dtype=np.intp)
        sums = np.zeros((3, len(samples)))
        every = np.arange(len(samples))
        for position, rows in enumerate(samples.T):
            if open_[rows].any():
                after = sums[..., None] + counts[:, rows]
                best = _first_best(self.preference(*after), real[rows])
                choices[:, position] = best
                sums = after[:, every, best]
            else:
                sums = sums + counts[:, rows, 0]
        return choices, sums

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
        aligned = references is not None and any(
            reference.edits is None for row in references for reference in row
        )
        return f"{line}|gold:aligned" if aligned else line

    def by_type(self, statistics: Statistics, tier: Tier = "type") -> dict[str, dict[str, float]]:
        """Return tp, gold and recall by gold error type, over the chosen references.

        Each gold edit counts 1, whatever its weight. The most frequent type comes first. Types that are
        not ERRANT's are the same in every tier.

        Example:
            >>> from learnedgec import AnnotatedSentence, Edit, References, parse_metric
            >>> block = AnnotatedSentence("He go home", {0: (Edit(1, 2, "goes", "R:VERB:SVA"),)})
            >>> m2 = parse_metric("m2")
            >>> score = m2.score(["He go home"], ["He goes home"], References.from_annotated([block]))
            >>> m2.by_type(score.statistics)
            {'R:VERB:SVA': {'tp': 1, 'gold': 1, 'recall': 1.0}}
        """
        gold: Counter[str] = Counter()
        tp: Counter[str] = Counter()
        for record, choice in zip(statistics.records, self.chosen(statistics), strict=True):
            for edit in record[choice]["gold"]:
                kind = _at_tier(edit["type"], tier)
                gold[kind] += 1
                tp[kind] += bool(edit["matched"])
        return {
            kind: {"tp": tp[kind], "gold": count, "recall": tp[kind] / count}
            for kind, count in sorted(gold.items(), key=lambda item: (-item[1], item[0]))
        }

    def _f(self, precision: Array, recall: Array) -> Floats:
        """Return the F of precision and recall, 0 where both are 0."""
        square = self.beta * self.beta
        below = square * precision + recall
        above = (1 + square) * precision * recall
        scores: Floats = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
        return scores


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


def _real(statistics: Statistics) -> npt.NDArray[np.bool_]:
    """Return which references a sentence has, bool (N, R)."""
    real: npt.NDArray[np.bool_] = (
        np.arange(statistics["tp"].shape[1]) < statistics["references"][:, None]
    )
    return real


def _take(statistics: Statistics, chosen: Indices) -> Floats:
    """Return tp, proposed and gold of the chosen references, float (3, N)."""
    counts: Floats = _counts(statistics)[:, np.arange(len(chosen)), chosen]
    return counts


def _first_best(keys: Sequence[Array], real: npt.NDArray[np.bool_]) -> Indices:
    """Return the index along the last axis of the first real entry whose keys are largest, in order."""
    best = real
    for key in keys:
        best = best & (key == np.where(best, key, -np.inf).max(axis=-1, keepdims=True))
    indices: Indices = best.argmax(axis=-1)
    return indices


def _at_tier(kind: str, tier: Tier) -> str:
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


@dataclass(frozen=True)
class M2(EditOverlap):
    """M²: F over the edits of the system that overlap most with the gold edits (MaxMatch).

    For each annotator the hypothesis is cut into the edits that match most of that annotator's gold
    edits; see `learnedgec.edits.max_match` for the algorithm. The reference is the one with
    the largest F = (1+β²)·tp/(β²·g+e) (1 if 0/0) so far, then the largest tp, then the smallest e+β²·g,
    then the first. `m2(level='sentence')`, also named `sentm2`, is the mean of sentence scores.

    Equal to the official scorer, version 3.2, on M2 files. An annotator without any line in a
    block that has others is no reference for that sentence; a block without lines has one annotator
    without edits. A system edit that matches several equal gold edits counts for each, so that P can
    exceed 1.

    References that are plain texts get their gold edits from an alignment with the source, each as
    the official `edit_creator.py` makes them: the shortest path through the edit lattice, neighbouring
    changes joined, no unchanged token inside an edit. The signature then says `gold:aligned`.

    Deviations: a pair of sentences whose lattice has more than 300,000 arcs (a paragraph written anew; the
    official scorer takes minutes to days for it) has edits that match as many gold edits and change
    as few tokens, but may be cut in another way. Runs of spaces inside a gold correction are one space.

    Source: Dahlmeier and Ng, "Better Evaluation for Grammatical Error Correction" (NAACL 2012).

    Attributes:
        beta: the weight of recall against precision; 0.5 counts precision twice as much.
        level: `corpus` or `sentence`, what the corpus score is.
        max_unchanged_words: how many unchanged tokens a system's edit may span.
        ignore_whitespace_casing: drop system edits that change nothing but spaces and case.

    Example:
        >>> from learnedgec import AnnotatedSentence, Edit, References, parse_metric
        >>> gold = (Edit(1, 2, "is"), Edit(2, 3, "a"))
        >>> references = References.from_annotated([AnnotatedSentence("This are an book", {0: gold})])
        >>> score = parse_metric("m2").score(["This are an book"], ["This is an book"], references)
        >>> score.details["precision"], score.details["recall"], round(score.value, 4)
        (1.0, 0.5, 0.8333)
    """

    name: ClassVar[str] = "m2"
    max_unchanged_words: int = 2
    ignore_whitespace_casing: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_unchanged_words < 0:
            raise ParameterError(f"{self}: max_unchanged_words must be at least 0.")

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return the counts of every sentence and annotator, with the edits as records."""
        assert references is not None
        work = partial(_max_match_row, self.max_unchanged_words, self.ignore_whitespace_casing)
        rows = list(zip(sources, hypotheses, references, strict=True))
        results = parallel_map(work, rows, "m2", runtime)
        return overlap_statistics(
            [counts for counts, _ in results], references, [record for _, record in results]
        )

    def preference(self, tp: Array, proposed: Array, gold: Array) -> tuple[Array, ...]:
        """Return F (1 if 0/0), tp and −(e+β²·g)."""
        square = self.beta * self.beta
        below = square * gold + proposed
        f = np.divide((1 + square) * tp, below, out=np.ones_like(below), where=below > 0)
        return f, tp, -(proposed + square * gold)


def _max_match_row(
    max_unchanged_words: int,
    ignore_whitespace_casing: bool,
    row: tuple[str, str, Sequence[Reference]],
) -> tuple[list[tuple[float, float, float]], list[Mapping[str, Any]]]:
    """Return the counts and the record of one sentence."""
    source, hypothesis, references = row
    annotations = [
        reference_edits(source, reference.text) if reference.edits is None else reference.edits
        for reference in references
    ]
    overlaps = max_match(
        source,
        hypothesis,
        annotations,
        max_unchanged_words=max_unchanged_words,
        ignore_whitespace_casing=ignore_whitespace_casing,
    )
    counts: list[tuple[float, float, float]] = []
    record: list[Mapping[str, Any]] = []
    for reference, overlap in zip(references, overlaps, strict=True):
        matched_edits = {edit for edit, _ in overlap.pairs}
        matched_gold = {gold for _, gold in overlap.pairs}
        counts.append((len(overlap.pairs), len(overlap.edits), len(overlap.gold)))
        record.append(
            _record(source, reference, overlap.edits, overlap.gold, matched_edits, matched_gold)
        )
    return counts, record


def _record(
    source: str,
    reference: Reference,
    edits: Sequence[Edit],
    gold: Sequence[Edit],
    matched_edits: set[int],
    matched_gold: set[int],
) -> dict[str, Any]:
    """Return what explains the comparison of one sentence with one reference."""
    tokens = source.split()

    def place(edit: Edit) -> dict[str, Any]:
        original = " ".join(tokens[edit.start : edit.end])
        return {"start": edit.start, "end": edit.end, "original": original}

    return {
        "annotator": reference.annotator,
        "edits": [
            {
                **place(edit),
                "correction": edit.correction,
                "matched": number in matched_edits,
                **({"type": edit.type} if edit.type else {}),
            }
            for number, edit in enumerate(edits)
        ],
        "gold": [
            {
                **place(edit),
                "corrections": list(edit.corrections),
                "type": edit.type,
                "matched": number in matched_gold,
            }
            for number, edit in enumerate(gold)
        ],
    }


@dataclass(frozen=True)
class Errant(EditOverlap):
    """ERRANT: F over the edits of the system, cut by rules of language, that are gold edits.

    The hypothesis is aligned with the source by words, lemmas and parts of speech; see
    `learnedgec.edits.annotator`. An edit is right if the reference has it too, by `mode`:

        span-correction    the same span and correction
        type-correction    the same span, correction and error type
        span-detection     the same span
        token-detection    counted by token: each one in an edit, or after an insertion, that the reference edits

    The reference is the one with the largest F so far, rounded to four decimals, then the largest tp,
    then the smallest e−tp, then the smallest g−tp, then the first. Edits of type `UNK`, found but
    not corrected, count in detection only. `errant(level='sentence')`, also named `senterrant`, is the
    mean of sentence scores.

    References that are plain texts are annotated like hypotheses; the signature then says `gold:aligned`.
    Equal to `errant_parallel` and `errant_compare`, version 3.0, with the same spaCy pipeline.

    Deviations: where a reference has the same edit several times and the hypothesis less often, tp counts
    what the hypothesis has (`errant_compare` counts all of the reference's; tokens are counted as there).
    Each of several corrections of a gold edit is right. A sentence whose source is empty is scored too.

    Source: Bryant, Felice and Briscoe, "Automatic Annotation and Evaluation of Error Types for
    Grammatical Error Correction" (ACL 2017).

    Attributes:
        beta: the weight of recall against precision; 0.5 counts precision twice as much.
        level: `corpus` or `sentence`, what the corpus score is.
        mode: what makes an edit right.
        annotator: the spaCy pipeline: `en-ewt-sm` (comes with learnedgec), an installed package or a
            directory; if none is named `en_core_web_sm` where it is installed, else `en-ewt-sm`.
        tokens: `single` leaves out edits with two or more tokens on a side, `multi` the others.
        ignore: error types that are left out on both sides, such as `('R:ORTH', 'R:SPELL')`.
        types: find error types of a system's edits also where the score does not need them, for `by_type`.

    Example:
        >>> from learnedgec import References, parse_metric
        >>> errant = parse_metric("errant(annotator='en-ewt-sm')")
        >>> references = References.from_texts(["She goes to school ."])
        >>> score = errant.score(["She go to the school ."], ["She goes to the school ."], references)
        >>> score.details["tp"], score.details["proposed"], score.details["gold"]
        (1.0, 1.0, 2.0)
    """

    name: ClassVar[str] = "errant"
    mode: Literal["span-correction", "span-detection", "token-detection", "type-correction"] = (
        "span-correction"
    )
    annotator: str = field(default_factory=default_annotator)
    tokens: Literal["any", "single", "multi"] = "any"
    ignore: tuple[str, ...] = ()
    types: bool = False

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
        pairs = list(zip(sources, hypotheses, strict=True))
        for source, row in zip(sources, references, strict=True):
            pairs += [(source, reference.text) for reference in row if reference.edits is None]
        edits = extract_edits(pairs, self.annotator, types=self._typed, runtime=runtime)
        found = dict(zip(pairs, edits, strict=True))
        annotated = References(
            tuple(
                tuple(
                    reference
                    if reference.edits is not None
                    else replace(reference, edits=found[source, reference.text])
                    for reference in row
                )
                for source, row in zip(sources, references, strict=True)
            )
        )
        return self.compare(sources, edits[: len(hypotheses)], annotated)

    def compare(
        self, sources: Sequence[str], edits: Sequence[Sequence[Edit]], references: References
    ) -> Statistics:
        """Return the statistics of edits that are already there, such as those of an M2 file.

        Args:
            sources: N sentences.
            edits: of a system, in each.
            references: with edits.

        Raises:
            InputError: a reference has no edits.
        """
        counts: list[list[tuple[float, float, float]]] = []
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
                counts[-1].append((tp, tp + fp, tp + fn))
                records[-1].append(
                    {
                        **_record(
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
        """Return the edits that are left when filters have been applied."""
        detection = self.mode in ("span-detection", "token-detection")

        def kept(edit: Edit) -> bool:
            long = edit.end - edit.start > 1 or len(edit.correction.split()) > 1
            return (
                (detection or edit.type != "UNK")
                and (self.tokens == "any" or long == (self.tokens == "multi"))
                and edit.type not in self.ignore
            )

        return [edit for edit in edits if kept(edit)]

    def preference(self, tp: Array, proposed: Array, gold: Array) -> tuple[Array, ...]:
        """Return F rounded to four decimals, tp, −(e−tp) and −(g−tp)."""
        f = _four_decimals(self._f(*precision_recall(tp, proposed, gold)))
        return f, tp, tp - proposed, tp - gold

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the version and SHA-256 of the annotator, and the versions of the tools."""
        return {**describe_annotator(self.annotator)}

    def by_type(self, statistics: Statistics, tier: Tier = "type") -> dict[str, dict[str, float]]:
        """Return tp, fp, fn, precision, recall and F by error type, over the chosen references.

        What is right or missing has the type that the reference gives, what is wrong its own. The type
        with most gold edits comes first.

        Raises:
            InputError: the edits of systems have no types; use `errant(types=True)`.
        """
        if not self._typed:
            raise InputError(
                f"the edits of {self.label} have no types; score with {self.name}(types=True)."
            )
        sums: dict[str, list[int]] = {}
        for record, choice in zip(statistics.records, self.chosen(statistics), strict=True):
            for kind, counts in record[choice]["types"].items():
                total = sums.setdefault(_at_tier(kind, tier), [0, 0, 0])
                for position, count in enumerate(counts):
                    total[position] += count
        table: dict[str, dict[str, float]] = {}
        for kind, (tp, fp, fn) in sorted(
            sums.items(), key=lambda item: (-item[1][0] - item[1][2], item[0])
        ):
            precision, recall = precision_recall(*np.array([[tp], [tp + fp], [tp + fn]]))
            table[kind] = {
                "tp": tp,
                "fp": fp,
                "fn": fn,
                "precision": float(precision[0]),
                "recall": float(recall[0]),
                f"f{self.beta:g}": float(self._f(precision, recall)[0]),
            }
        return table


class _Comparison:
    """A system's edits against those of one reference.

    Attributes:
        proposed: the system's edits that are counted.
        gold: the reference's.
        matched_edits: numbers of the system's edits that are right, at least in part.
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
            # Of several corrections the one that the system made, else the first, stands for the edit.
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
            # The official tool does not see that an edit which is right is made twice.
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
    """Return what of an edit is compared; an insertion is at the token after it."""
    if mode == "token-detection":
        return [(token,) for token in range(edit.start, max(edit.end, edit.start + 1))]
    if mode == "span-detection":
        return [(edit.start, edit.end)]
    if mode == "type-correction":
        return [(edit.start, edit.end, correction, edit.type)]
    return [(edit.start, edit.end, correction)]


def _four_decimals(values: Floats) -> Floats:
    """Return the numbers as Python's `round` rounds them, which NumPy's does not where it is close."""
    rounded: Floats = np.round(values, 4)
    close = np.abs(values * 1e4 % 1 - 0.5) < 1e-6
    if close.any():
        rounded[close] = [round(value, 4) for value in values[close].tolist()]
    return rounded
