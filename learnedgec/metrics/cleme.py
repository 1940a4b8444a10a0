"""CLEME and CLEME2.0: chunks of a hypothesis against chunks of references, cut at the same places.

The source, the hypothesis and all references of a sentence are cut into chunks together
(`learnedgec.edits.chunks`). Each chunk then counts as one of five things; r is the reference's
chunk in the same place:

    tp      the hypothesis changes the chunk, as r does (the same tokens)
    fp_ne   it changes the chunk, r does too, and otherwise: a wrong correction that was necessary
    fp_un   it changes the chunk, r does not: an unnecessary correction
    fn      it leaves the chunk alone, r does not
    tn      neither changes it

Under the *dependent* assumption a hypothesis is compared with one reference at a time, and the best
is chosen. Under the *independent* one every chunk is compared with all references: tp if any has
the same tokens, fp_ne if any changes the chunk, fn if all do.

A chunk counts 1, or a weight. By **length**, with x the larger number of tokens of the hypothesis'
chunk and its source, L the mean of that over all changed chunks of references, and
σ(z) = 1/(1 + exp(−z)),

    w = α·σ(x − L − ln(α − 1)) for tp and fn,   w = α·σ(L − x − ln(α − 1)) for fp,   clipped to [least, most]

By **similarity** to the reference's text R: w = |BERTScore(S[chunk], R) − BERTScore(S, R)|, where
S[chunk] is the source with this chunk alone changed, as the hypothesis has it (for fn, as r has
it). A tn counts 1.

Sources: Ye et al., "CLEME: Debiasing Multi-reference Evaluation for Grammatical Error Correction"
(EMNLP 2023); Ye et al., "CLEME2.0: Towards Interpretable Evaluation by Disentangling Edits for
Grammatical Error Correction" (ACL 2025).

One file, though long: both metrics are figures of the same counts, and a third of it says how they
differ from the official code.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from learnedgec.arrays import Array, Floats, Indices
from learnedgec.edits.annotator import extract_edits
from learnedgec.edits.chunks import ChunkSpan, TargetChunk, cut, shared_spans
from learnedgec.edits.max_match import reference_edits
from learnedgec.edits.parsing import default_annotator, describe_annotator
from learnedgec.edits.targets import edits_of_targets
from learnedgec.errors import InputError, ParameterError
from learnedgec.execution.pool import parallel_map
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.m2 import Edit, apply_edits, without_overlaps
from learnedgec.formats.references import Reference, References
from learnedgec.metrics.base import Metric
from learnedgec.metrics.edit_counts import EditCounts
from learnedgec.metrics.needs import need_model
from learnedgec.metrics.reference_choice import (
    best_along,
    first_best,
    four_decimals,
    real_references,
    sample_blocks,
)
from learnedgec.metrics.statistics import Statistics
from learnedgec.metrics.units import Unit, characters_apart, references_apart, warn_of_long_words

__all__ = ["CLASSES", "ChunkOverlap", "Cleme", "Cleme2"]


CLASSES = ("tp", "fp_ne", "fp_un", "fn", "tn")
"""What a chunk may count as."""
_TP, _FP_NE, _FP_UN, _FN, _TN = range(5)
# The names of the classes in tables of edits.
_SHOWN = {
    "tp": "matched",
    "fp_ne": "unmatched",
    "fp_un": "unmatched",
    "fn": "missed",
    "tn": "unchanged",
}
# The longest length that is distinguished; weights are at their bounds long before.
_LONGEST = 63


class LengthWeight(NamedTuple):
    """The weight of a chunk by its length: α, and the bounds to which the weight is clipped."""

    alpha: float
    least: float
    most: float


_CORPUS = (LengthWeight(2, 0.75, 1.25),) * 3
# By level and assumption, the weights of tp, fp and fn.
_LENGTH_WEIGHTS = {
    ("corpus", "dependent"): _CORPUS,
    ("corpus", "independent"): _CORPUS,
    ("sentence", "dependent"): (
        LengthWeight(10, 1, 10),
        LengthWeight(10, 0.25, 1),
        LengthWeight(10, 1, 1),
    ),
    ("sentence", "independent"): (
        LengthWeight(10, 2.5, 10),
        LengthWeight(10, 0.25, 1),
        LengthWeight(10, 1, 1),
    ),
}


@dataclass(frozen=True)
class ChunkOverlap(Metric):
    """A metric computed from counts of chunks; a subclass defines its figures and which reference is best.

    At the corpus level, counts are summed over sentences. From the first sentence to the last, each uses
    the reference that `preference` ranks first given the sums so far. At the sentence level, the score is
    the mean of the sentences' own scores, each with the reference that is best for it alone. Sentence
    scores are computed in this way at both levels, with the weights and factors of the level.
    """

    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"level", "mean_length"})
    counted: ClassVar[tuple[str, ...]]

    level: Literal["corpus", "sentence"] = "corpus"
    assumption: Literal["dependent", "independent"] = "dependent"
    weights: Literal["length", "released", "similarity", "none"] = "length"
    mean_length: float | None = None
    edits: Literal["errant", "aligned"] = "errant"
    annotator: str | None = None
    encoder: str = "bert-base-uncased"
    layer: int = 9
    unit: Unit = "word"

    def __post_init__(self) -> None:
        if self.mean_length is not None and not (
            self.mean_length >= 0 and math.isfinite(self.mean_length)
        ):
            raise ParameterError(f"{self}: mean_length must be 0 or a positive number.")
        if self.edits == "errant" and self.annotator is None:
            object.__setattr__(
                self, "annotator", default_annotator() if self.unit == "word" else "plain"
            )
        if self.unit == "char" and (
            self.annotator not in (None, "plain") or self.weights == "similarity"
        ):
            raise ParameterError(
                f"{self}: characters have no parse and no similarity; with unit='char' say edits='aligned' "
                "or annotator='plain', and other weights."
            )

    # -- what differs ------------------------------------------------------------------------

    @abstractmethod
    def figures(self, counts: Floats) -> dict[str, Floats]:
        """Return the figures of counts by name, the score first: float (…) each from (5, …)."""

    @abstractmethod
    def sentence_figures(self, counts: Floats) -> dict[str, Floats]:
        """Return the figures of sentences by themselves."""

    @abstractmethod
    def preference(self, after: Floats, own: Floats) -> tuple[Array, ...]:
        """Return the keys that rank references at the corpus level; larger is better.

        Args:
            after: the sums if each reference were chosen, float (5, …, R).
            own: the sentence's own counts, float (5, …, R).
        """

    @abstractmethod
    def sentence_preference(self, figures: Mapping[str, Floats]) -> tuple[Array, ...]:
        """Return the keys that rank references for a sentence by itself; larger is better."""

    @abstractmethod
    def totals(self, counts: Floats) -> dict[str, Floats]:
        """Return the counts under the names that the metric's paper uses, float (…) each from (5, …)."""

    # -- statistics ---------------------------------------------------------------------------

    @property
    def for_statistics(self) -> Metric:
        """The metric with its `aggregate_parameters` at their defaults; similarity weights need their own."""
        found = super().for_statistics
        assert isinstance(found, ChunkOverlap)
        return found if self.weights == "similarity" else replace(found, weights="length")

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return the counts of chunks of every sentence and reference; see `compare`.

        For chunks of characters, each character is a token.
        """
        assert references is not None
        if self.unit == "char":
            given = (each.text for row in references for each in row)
            warn_of_long_words([*sources, *hypotheses, *given])
            sources, hypotheses = (
                [characters_apart(text) for text in texts] for texts in (sources, hypotheses)
            )
            references = references_apart(references)

        def extract(pairs: Sequence[tuple[str, str]]) -> list[tuple[Edit, ...]]:
            if self.edits == "aligned":
                return parallel_map(_align, pairs, "edits", runtime)
            assert self.annotator is not None
            return extract_edits(pairs, self.annotator, types=False, runtime=runtime)

        edits, annotated = edits_of_targets(sources, hypotheses, references, extract)
        return self.compare(sources, edits, annotated, runtime=runtime)

    def compare(
        self,
        sources: Sequence[str],
        edits: Sequence[Sequence[Edit]],
        references: References,
        *,
        runtime: Runtime = Runtime(),
    ) -> Statistics:
        """Return the statistics of given edits, such as those of an M2 file.

        Args:
            sources: N sentences.
            edits: a system's edits in each sentence.
            references: references with edits.
            runtime: how to run the encoder for similarity weights.

        Returns:
            `lengths`, uint16 (N, R, 4, 64): how many chunks with each reference are tp, fp_ne, fp_un and
            fn, by length; `tn`, int (N, R); `reference_tokens` and `reference_chunks`, int (N,): sum and
            number of the lengths of references' changed chunks; `annotator`, int (N, R), and
            `references`, int (N,). Similarity weights add their sums, `similarity`, float (N, R, 4).
            The records list the chunks of each sentence and what they count as.

        Raises:
            InputError: a reference has no edits.
        """
        kept = References(tuple(map(_not_empty, references)))
        shape = (len(sources), kept.most)
        lengths = np.zeros((*shape, _TN, _LONGEST + 1), dtype=np.uint16)
        tn, annotator = np.zeros((2, *shape), dtype=np.int64)
        gold = np.zeros((2, len(sources)), dtype=np.int64)
        records: list[dict[str, Any]] = []
        for number, (source, made, row) in enumerate(zip(sources, edits, kept, strict=True)):
            tokens = tuple(source.split())
            targets = [without_overlaps(made), *map(_gold_edits, row)]
            spans = shared_spans(len(tokens), targets)
            hypothesis, *others = (cut(tokens, target, spans) for target in targets)
            classes = _classes(self.assumption, hypothesis, others)
            for column, found in enumerate(classes):
                annotator[number, column] = row[column].annotator
                for span, chunk, kind in zip(spans, hypothesis, found, strict=True):
                    if kind == _TN:
                        tn[number, column] += 1
                    else:
                        lengths[number, column, kind, min(_length(span, chunk), _LONGEST)] += 1
            changed = [
                _length(span, chunk)
                for chunks in others
                for span, chunk in zip(spans, chunks, strict=True)
                if chunk.changed
            ]
            gold[:, number] = sum(changed), len(changed)
            records.append(_record(tokens, row, spans, hypothesis, others, classes))
        arrays: dict[str, Array] = {
            "lengths": lengths,
            "tn": tn,
            "reference_tokens": gold[0],
            "reference_chunks": gold[1],
            "annotator": annotator,
            "references": np.array([len(row) for row in kept], dtype=np.int64),
        }
        if self.weights == "similarity":
            arrays["similarity"] = self._weigh(sources, kept, records, runtime)
        return Statistics(arrays, tuple(records))

    def _weigh(
        self,
        sources: Sequence[str],
        references: References,
        records: Sequence[dict[str, Any]],
        runtime: Runtime,
    ) -> Floats:
        """Return the sums of similarity weights, float (N, R, 4); each goes into the records."""
        from learnedgec.metrics.pretrained_overlap import edit_changes

        alone = [
            [
                [_edit_alone(chunk, column) for chunk in record["chunks"]]
                for column in range(len(row))
            ]
            for record, row in zip(records, references, strict=True)
        ]
        edits = [[filter(None, column) for column in row] for row in alone]
        changes = edit_changes(sources, edits, references, self._similarity, runtime)
        sums = np.zeros((len(sources), references.most, _TN))
        for number, (source, record) in enumerate(zip(sources, records, strict=True)):
            for place, chunk in enumerate(record["chunks"]):
                chunk["weights"] = []
                for column, kind in enumerate(chunk["counts"]):
                    edit, weight = alone[number][column][place], 1.0
                    if edit is not None:
                        # An empty text is similar to nothing: a chunk whose edit leaves no text has weight 0.
                        some = bool(apply_edits(source, [edit]))
                        weight = abs(changes[number][column][edit]) if some else 0.0
                        sums[number, column, CLASSES.index(kind)] += weight
                    chunk["weights"].append(weight)
        return sums

    @property
    def _similarity(self) -> Any:
        from learnedgec.metrics.bertscore import BertScore

        return BertScore(encoder=self.encoder, layer=self.layer)

    # -- counts -------------------------------------------------------------------------------

    def _length_table(self, mean_lengths: Floats) -> Floats:
        """Return the weight of each class and length for each of B mean lengths, float (B, 4, 64).

        If no reference changes anything, there is no mean length, and all chunks have weight 1.
        """
        level = "corpus" if self.weights == "released" else self.level
        tp, fp, fn = _LENGTH_WEIGHTS[level, self.assumption]
        excess = np.arange(_LONGEST + 1) - mean_lengths[:, None]
        columns = [
            np.clip(alpha * expit(sign * excess - math.log(alpha - 1)), least, most)
            for sign, (alpha, least, most) in ((1, tp), (-1, fp), (-1, fp), (1, fn))
        ]
        table: Floats = np.nan_to_num(np.stack(columns, axis=1), nan=1.0)
        return table

    def _mean_lengths(self, statistics: Statistics, samples: Indices) -> Floats:
        """Return L of each of B samples, float (B,), NaN where no reference changes anything."""
        if self.mean_length is not None:
            return np.full(1, self.mean_length)
        tokens, chunks = (
            statistics[name][samples].sum(axis=1, dtype=np.float64)
            for name in ("reference_tokens", "reference_chunks")
        )
        means: Floats = np.divide(
            tokens, chunks, out=np.full_like(tokens, np.nan), where=chunks > 0
        )
        return means

    def _counts(self, statistics: Statistics, samples: Indices) -> Floats:
        """Return the counts of all sentences, weighted for each of B samples: float (5, B, N, R).

        Where all samples have the same weights, B is 1.
        """
        if self.weights == "similarity":
            counted = np.moveaxis(statistics["similarity"], -1, 0)[:, None]
        elif self.weights == "none":
            counted = np.moveaxis(statistics["lengths"].sum(axis=-1, dtype=np.float64), -1, 0)
            counted = counted[:, None]
        else:
            lengths = statistics["lengths"]
            used = lengths.any(axis=(0, 1, 2))
            table = self._length_table(self._mean_lengths(statistics, samples))
            counted = np.einsum(
                "nrcl,bcl->cbnr", lengths[..., used].astype(np.float64), table[..., used]
            )
        tn = np.broadcast_to(statistics["tn"].astype(np.float64), counted.shape[1:])
        counts: Floats = np.concatenate([counted, tn[None]])
        return counts

    # -- scores -------------------------------------------------------------------------------

    def chosen(self, statistics: Statistics) -> Indices:
        """Return which of its references each sentence is compared with, int (N,)."""
        everything = np.arange(len(statistics))[None]
        counts = self._counts(statistics, everything)
        if self.level == "sentence":
            best, _ = self._alone(statistics, counts)
        else:
            best, _ = self._along(statistics, counts, everything)
        choices: Indices = best[0]
        return choices

    def _alone(self, statistics: Statistics, counts: Floats) -> tuple[Indices, dict[str, Floats]]:
        """Return the best reference of each sentence by itself, and its figures, (B, N) each."""
        figures = self.sentence_figures(counts)
        real = real_references(statistics)
        best = first_best(
            self.sentence_preference(figures), np.broadcast_to(real, counts.shape[1:])
        )
        return best, {
            name: np.take_along_axis(figure, best[..., None], axis=-1)[..., 0]
            for name, figure in figures.items()
        }

    def _along(
        self,
        statistics: Statistics,
        counts: Floats,
        samples: Indices,
        guess: Indices | None = None,
    ) -> tuple[Indices, Floats]:
        """Return the references chosen along each sample, int (B, M), and the sums, float (5, B)."""
        which = np.arange(len(samples))[:, None] if counts.shape[1] > 1 else 0
        real = real_references(statistics)[samples]
        return best_along(counts[:, which, samples], real, self.preference, guess)

    def aggregate(self, statistics: Statistics) -> float:
        """Return the corpus score of the sentences in their order."""
        return float(self.aggregate_many(statistics, np.arange(len(statistics))[None])[0])

    def aggregate_many(self, statistics: Statistics, samples: npt.NDArray[np.intp]) -> Floats:
        """Return the corpus score of each of B resamples; each has its own weights and choices."""
        # Most choices are the same as for the sentences in their own order.
        usual = self.chosen(statistics)
        scores: list[Floats] = []
        for block in sample_blocks(samples, len(CLASSES) * statistics["tn"].shape[1]):
            counts = self._counts(statistics, block)
            if self.level == "sentence":
                of_sentences = _first(self._alone(statistics, counts)[1])
                wide = np.broadcast_to(of_sentences, (len(block), len(statistics)))
                scores.append(np.take_along_axis(wide, block, axis=1).mean(axis=1))
            else:
                _, sums = self._along(statistics, counts, block, usual[block])
                scores.append(_first(self.figures(sums)))
        return np.concatenate(scores)

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the score of each sentence with its own best reference.

        With weights by length and without `mean_length`, the scores depend on the other sentences through
        L.
        """
        counts = self._counts(statistics, np.arange(len(statistics))[None])
        scores: Floats = _first(self._alone(statistics, counts)[1])[0]
        return scores

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the figures besides the score (means at the sentence level), the counts, and L."""
        everything = np.arange(len(statistics))[None]
        counts = self._counts(statistics, everything)
        if self.level == "sentence":
            best, alone = self._alone(statistics, counts)
            figures = {name: figure.mean(axis=1) for name, figure in alone.items()}
            sums = np.take_along_axis(counts, best[None, ..., None], axis=-1)[..., 0].sum(axis=-1)
        else:
            _, sums = self._along(statistics, counts, everything)
            figures = self.figures(sums)
        _, *others = figures.items()
        found = {name: float(values[0]) for name, values in (*others, *self.totals(sums).items())}
        if self.weights in ("length", "released"):
            found["mean_length"] = float(self._mean_lengths(statistics, everything)[0])
        return found

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return each sentence's annotator, counts and figures.

        At the corpus level, they are computed with the reference chosen for the corpus score. The score may
        then be below the sentence score, which uses the reference that is best for the sentence alone.
        """
        chosen = self.chosen(statistics)
        counts = self._counts(statistics, np.arange(len(statistics))[None])
        own = counts[:, 0, np.arange(len(chosen)), chosen]
        return {
            "annotator": statistics["annotator"][np.arange(len(chosen)), chosen],
            **self.totals(own),
            **self.sentence_figures(own),
        }

    def edit_rows(self, statistics: Statistics) -> list[dict[str, Any]]:
        """Return one row per chunk, for sentences that the system or a reference edits.

        The columns are those of `ShowsEdits.edit_rows`. The correction is the system's or, for a missed
        chunk, that of the chosen reference. Two columns are added: `counts` (`tp`, `fp_ne`, `fp_un`, `fn`
        or `tn`), and `references`, the chunk's text in each of them, joined by `||`.
        """
        rows: list[dict[str, Any]] = []
        everything = np.arange(len(statistics))[None]
        by_length = self.weights in ("length", "released")
        table = self._length_table(self._mean_lengths(statistics, everything))[0]
        for number, (record, choice) in enumerate(
            zip(statistics.records, self.chosen(statistics), strict=True), 1
        ):
            if all(set(chunk["counts"]) == {"tn"} for chunk in record["chunks"]):
                continue
            for chunk in record["chunks"]:
                kind = chunk["counts"][choice]
                made = chunk["references"][choice] if kind == "fn" else chunk["correction"]
                row = {
                    "sentence": number,
                    "annotator": record["annotators"][choice],
                    "edit": _SHOWN[kind],
                    **{key: chunk[key] for key in ("start", "end", "original")},
                    "correction": made,
                    "type": "",
                }
                if by_length and kind != "tn":
                    length = max(chunk["end"] - chunk["start"], len(chunk["correction"].split()))
                    row["weight"] = float(table[CLASSES.index(kind), min(length, _LONGEST)])
                elif self.weights != "none":
                    row["weight"] = 1.0 if by_length else chunk["weights"][choice]
                rows.append({**row, "counts": kind, "references": "||".join(chunk["references"])})
        return rows

    def check_blocks(self, *, sentences: bool) -> None:
        """Raise where a sentence's score depends on the mean length of the whole corpus.

        Raises:
            InputError: it does.
        """
        if sentences and self.weights in ("length", "released") and self.mean_length is None:
            raise InputError(
                f"{self.label}: a sentence's score depends on the mean length of chunks in the whole corpus; "
                "give mean_length, or weights='none'."
            )

    def check(self, runtime: Runtime) -> None:
        """Raise unless the encoder is available, if weights are by similarity."""
        if self.weights == "similarity":
            need_model(self, "encoder", self.encoder, self.layer)

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return what edits and weights depend on."""
        found: dict[str, str | int | float] = {}
        if self.edits == "errant":
            assert self.annotator is not None
            found |= describe_annotator(self.annotator)
        if self.weights == "similarity":
            similarity = self._similarity
            found |= {"similarity": str(similarity), **similarity.describe(runtime)}
        return found

    def signature(
        self, references: References | None = None, *, runtime: Runtime = Runtime()
    ) -> str:
        """Return the signature, which says whether gold edits come from alignment."""
        line = super().signature(references, runtime=runtime)
        known = references is None or (references.annotated and self.unit == "word")
        return line if known else f"{line}|gold:aligned"


def _align(pair: tuple[str, str]) -> tuple[Edit, ...]:
    return reference_edits(*pair)


def _first(figures: Mapping[str, Floats]) -> Floats:
    """Return the score among figures."""
    return next(iter(figures.values()))


def _not_empty(row: Sequence[Reference]) -> tuple[Reference, ...]:
    """Return the references that are not empty, or the first if all are."""
    return tuple(reference for reference in row if reference.text.strip()) or tuple(row[:1])


def _gold_edits(reference: Reference) -> list[Edit]:
    if reference.edits is None:
        raise InputError("a reference without edits was given; give an M2 file's.")
    return without_overlaps(reference.edits)


def _length(span: ChunkSpan, chunk: TargetChunk) -> int:
    """Return the larger number of tokens, of the source or of the target."""
    return max(span.end - span.start, len(chunk.tokens))


def _classes(
    assumption: str, hypothesis: Sequence[TargetChunk], references: Sequence[Sequence[TargetChunk]]
) -> list[list[int]]:
    """Return what each of the hypothesis' chunks counts as, for each reference."""
    if assumption == "dependent":
        return [
            [
                _class(own, (other,), missed=own.tokens != other.tokens)
                for own, other in zip(hypothesis, chunks, strict=True)
            ]
            for chunks in references
        ]
    found = [
        _class(own, others, missed=all(other.changed for other in others))
        for own, *others in zip(hypothesis, *references, strict=True)
    ]
    return [found] * len(references)


def _class(own: TargetChunk, others: Sequence[TargetChunk], *, missed: bool) -> int:
    """Return what a chunk counts as; `missed` says whether it is fn if the hypothesis leaves it alone."""
    if not own.changed:
        return _FN if missed else _TN
    if any(own.tokens == other.tokens for other in others):
        return _TP
    return _FP_NE if any(other.changed for other in others) else _FP_UN


def _record(
    tokens: Sequence[str],
    references: Sequence[Reference],
    spans: Sequence[ChunkSpan],
    hypothesis: Sequence[TargetChunk],
    others: Sequence[Sequence[TargetChunk]],
    classes: Sequence[Sequence[int]],
) -> dict[str, Any]:
    """Return the record that explains the chunks of one sentence, from left to right."""
    return {
        "annotators": [reference.annotator for reference in references],
        "chunks": [
            {
                "start": span.start,
                "end": span.end,
                "original": " ".join(tokens[span.start : span.end]),
                "correction": " ".join(own.tokens),
                "references": [" ".join(chunk.tokens) for chunk in theirs],
                "counts": [CLASSES[kind] for kind in kinds],
            }
            for span, own, theirs, kinds in zip(
                spans,
                hypothesis,
                zip(*others, strict=True),
                zip(*classes, strict=True),
                strict=True,
            )
        ],
    }


def _edit_alone(chunk: Mapping[str, Any], column: int) -> Edit | None:
    """Return the edit whose change of similarity is the weight of a chunk; `None` for tn."""
    kind = chunk["counts"][column]
    if kind == "tn":
        return None
    correction = chunk["references"][column] if kind == "fn" else chunk["correction"]
    return Edit(chunk["start"], chunk["end"], correction)


@dataclass(frozen=True)
class Cleme(ChunkOverlap):
    """CLEME: F over chunks that the hypothesis and all references share.

    With tp, fp = fp_ne + fp_un, fn and tn as in `learnedgec.metrics.cleme`: P = tp/(tp+fp) and R =
    tp/(tp+fn), 1 where the denominator is 0; F = (1+β²)·P·R/(β²·P+R), 0 if P = R = 0; accuracy =
    (tp+tn)/(tp+fp+fn+tn), 0 if there is no chunk. At the corpus level the reference is the one with
    the largest F so far, then the sentence's largest tp, smallest fp, smallest fn, largest tn; for
    a sentence by itself the largest F, P, R, accuracy; then the first. All of F, P, R and accuracy
    are rounded to four decimals for this choice, and in sentence scores. `cleme(level='sentence')`,
    also named `sentcleme`, is the mean of sentence scores.

    Equal to the official code, version 1.1.0, on M2 files; the score of a corpus is not rounded to
    four decimals.

    Deviations:
    - The released code ignores the weights it is given and uses those of the corpus level everywhere:
      `weights='released'`. By default `level='sentence'` has the sentence weights of the paper (AMU's F on
      CoNLL-14 is .3624, not .3464); ties between references follow version 1.1.0 (the larger accuracy).
    - Sentence scores follow `beta`; the official ones are always F0.5.
    - If no reference changes anything, every chunk has weight 1; the official weights are NaN there.
    - A weight of similarity that is 0 counts 0; the official F would count it as 1.
    - Chunks of more than 63 tokens get the weight of 63 tokens: the same to the last digit if L is below 25.
    - An annotator without a line in a block is not a reference; of overlapping edits of one annotator
      the first by position counts, and of alternatives the first. The official reader merges such
      annotators and takes `a||b` literally.
    - Empty sources are scored. As in the official code, references without any token are left out if there
      are others.

    Hypotheses are texts, from which edits are extracted; the official code reads edits from M2 files, and
    `compare` accepts such edits. The edits of plain-text references are extracted likewise; the signature
    then says `gold:aligned`.

    Source: Ye et al., "CLEME: Debiasing Multi-reference Evaluation for Grammatical Error
    Correction" (EMNLP 2023).

    Attributes:
        level: what the corpus score is: `corpus`, of summed counts, or `sentence`, a mean of sentence scores.
        assumption: `dependent`: one reference at a time; `independent`: each chunk against all
            references.
        weights: `length` as in the paper, `released` as in the current official command, `similarity` or
            `none`.
        mean_length: L of the length weights; `None` takes that of the sentences scored together, as the
            official code does, so that a sentence's score depends slightly on the other sentences.
        edits: how edits are extracted from texts: `errant`, or `aligned` for the shortest alignment of words.
        annotator: the spaCy pipeline of ERRANT's edits: see `errant`.
        encoder: hub id, directory or `pkg:module/folder` of the encoder for similarity.
        layer: the layer of the encoder.
        unit: chunks of tokens, or of characters with the spaces between tokens, for languages written
            without spaces between words; edits are then `aligned` or the `plain` annotator's, and gold
            edits are not used.
        beta: the weight of recall against precision; 0.5 counts precision twice as much.

    Example:
        >>> from learnedgec import References, load_metric
        >>> cleme = load_metric("cleme(edits='aligned', weights='none')")
        >>> references = References.from_texts(["He goes to school ."], ["He went to the school ."])
        >>> score = cleme.score(["He go to school ."], ["He went to school ."], references)
        >>> [score.details[name] for name in ("tp", "fp", "fn", "tn")]
        [1.0, 0.0, 1.0, 3.0]
    """

    name: ClassVar[str] = "cleme"
    counted: ClassVar[tuple[str, ...]] = ("tp", "fp", "fn", "tn")
    aggregate_parameters: ClassVar[frozenset[str]] = ChunkOverlap.aggregate_parameters | {"beta"}
    beta: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.beta >= 0 and math.isfinite(self.beta)):
            raise ParameterError(f"{self}: beta must be 0 or a positive number.")

    def figures(self, counts: Floats) -> dict[str, Floats]:
        """Return F, precision, recall and accuracy."""
        tp, fp_ne, fp_un, fn, tn = counts
        edits = EditCounts(tp, tp + fp_ne + fp_un, tp + fn)
        every = counts.sum(axis=0)
        return {
            f"f{self.beta:g}": edits.f(self.beta),
            "precision": edits.precision,
            "recall": edits.recall,
            "accuracy": np.divide(tp + tn, every, out=np.zeros_like(every), where=every > 0),
        }

    def sentence_figures(self, counts: Floats) -> dict[str, Floats]:
        """Return the same, rounded to four decimals."""
        return {name: four_decimals(figure) for name, figure in self.figures(counts).items()}

    def preference(self, after: Floats, own: Floats) -> tuple[Array, ...]:
        """Return F so far, rounded, and the sentence's tp, −fp, −fn and tn."""
        tp, fp_ne, fp_un, fn, tn = own
        return four_decimals(_first(self.figures(after))), tp, -(fp_ne + fp_un), -fn, tn

    def sentence_preference(self, figures: Mapping[str, Floats]) -> tuple[Array, ...]:
        """Return F, precision, recall and accuracy."""
        return tuple(figures.values())

    def totals(self, counts: Floats) -> dict[str, Floats]:
        """Return tp, fp, fn and tn."""
        tp, fp_ne, fp_un, fn, tn = counts
        return {"tp": tp, "fp": fp_ne + fp_un, "fn": fn, "tn": tn}


_FACTORS = {"corpus": (0.45, 0.35, 0.15, 0.05), "sentence": (0.35, 0.25, 0.2, 0.2)}


@dataclass(frozen=True)
class Cleme2(ChunkOverlap):
    """CLEME2.0: a weighted sum of the rates of hit, wrong, under- and over-correction.

    With the counts of `learnedgec.metrics.cleme` and the necessary corrections NE = tp + fp_ne + fn: hit =
    tp/NE, wrong = fp_ne/NE, under = fn/NE, over = fp_un/(tp + fp_ne + fp_un), each 0 if its denominator is
    0; the score is h·hit + w·(1 − wrong) + u·(1 − under) + o·(1 − over) with the `factors` h, w, u, o. At
    the corpus level the reference is the one with the largest score so far, then the sentence's largest tp,
    smallest fp, smallest fn, largest tn; for a sentence by itself the largest score and hit, the smallest
    wrong, under and over; then the first. `cleme2(level='sentence')`, also named `sentcleme2`, is the mean
    of sentence scores.

    A sentence that needs no correction and gets none has the score 1 − h, not 1.

    Equal to the official code, version 1.1.0, on M2 files. Nothing is rounded.

    Deviations:
    - Systems and references without any edit are scored, where the official code stops.
    - Weights by length are those of `cleme`, with its deviations; M2 files are read as by `cleme`.
    - The encoder's fast tokenizer is used, and texts are encoded once; weights agree to about 1e-6.

    Source: Ye et al., "CLEME2.0: Towards Interpretable Evaluation by Disentangling Edits for
    Grammatical Error Correction" (ACL 2025).

    Attributes:
        level: what the corpus score is: `corpus`, of summed counts, or `sentence`, a mean of sentence scores.
        assumption: `dependent`: one reference at a time; `independent`: each chunk against all
            references.
        weights: `similarity` as in the paper, `none`, `length` (see `cleme`) or `released`.
        mean_length: L of weights by length: see `cleme`.
        edits: how edits are extracted from texts: `errant`, or `aligned` for the shortest alignment of words.
        annotator: the spaCy pipeline of ERRANT's edits: see `errant`.
        encoder: hub id, directory or `pkg:module/folder` of the encoder for similarity.
        layer: the layer of the encoder.
        unit: chunks of tokens, or of characters with the spaces between tokens, for languages written
            without spaces between words; edits are then `aligned` or the `plain` annotator's, and gold
            edits are not used.
        factors: the weights of hit, wrong, under and over, which sum to 1; `None` uses those of the
            official command: 0.45, 0.35, 0.15, 0.05 at the corpus level and 0.35, 0.25, 0.2, 0.2 at
            the sentence level.

    Example:
        >>> from learnedgec import References, load_metric
        >>> cleme2 = load_metric("cleme2(edits='aligned', weights='none')")
        >>> references = References.from_texts(["He goes to the school ."])
        >>> score = cleme2.score(["He go to school ."], ["He went to school ."], references)
        >>> score.details["wrong"], score.details["under"], round(score.value, 3)
        (0.5, 0.5, 0.3)
    """

    name: ClassVar[str] = "cleme2"
    counted: ClassVar[tuple[str, ...]] = CLASSES
    aggregate_parameters: ClassVar[frozenset[str]] = ChunkOverlap.aggregate_parameters | {"factors"}
    weights: Literal["length", "released", "similarity", "none"] = "similarity"
    factors: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.factors is not None and not abs(sum(self.factors) - 1) <= 1e-5:
            raise ParameterError(
                f"{self}: the factors sum to {sum(self.factors):g}; give four that sum to 1."
            )

    def figures(self, counts: Floats) -> dict[str, Floats]:
        """Return the score, and hit, wrong, under and over."""
        tp, fp_ne, fp_un, fn, _ = counts
        necessary, proposed = tp + fp_ne + fn, tp + fp_ne + fp_un

        def share(part: Floats, whole: Floats) -> Floats:
            return np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)

        found = {
            "hit": share(tp, necessary),
            "wrong": share(fp_ne, necessary),
            "under": share(fn, necessary),
            "over": share(fp_un, proposed),
        }
        hit, *others = found.values()
        factor, *factors = self.factors or _FACTORS[self.level]
        score = factor * hit
        for weight, part in zip(factors, others, strict=True):
            score = score + weight * (1 - part)
        return {"score": score, **found}

    def sentence_figures(self, counts: Floats) -> dict[str, Floats]:
        """Return the same: nothing is rounded."""
        return self.figures(counts)

    def preference(self, after: Floats, own: Floats) -> tuple[Array, ...]:
        """Return the score so far, and the sentence's tp, −fp, −fn and tn."""
        tp, fp_ne, fp_un, fn, tn = own
        return _first(self.figures(after)), tp, -(fp_ne + fp_un), -fn, tn

    def sentence_preference(self, figures: Mapping[str, Floats]) -> tuple[Array, ...]:
        """Return the score, hit, −wrong, −under and −over."""
        score, hit, *others = figures.values()
        return score, hit, *(-part for part in others)

    def totals(self, counts: Floats) -> dict[str, Floats]:
        """Return tp, fp_ne, fp_un, fn and tn."""
        return dict(zip(CLASSES, counts, strict=True))
