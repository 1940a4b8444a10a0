"""A metric of chunks: counts, weights and choices of references that CLEME and CLEME2.0 share.

`learnedgec.metrics.cleme` says what the counts and weights are.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from learnedgec.data.m2 import Edit, without_overlaps
from learnedgec.data.references import Reference, References
from learnedgec.edits.annotator import extract_edits
from learnedgec.edits.chunks import (
    CLASSES,
    ChunkSpan,
    TargetChunk,
    chunk_length,
    classify,
    cut,
    shared_spans,
)
from learnedgec.edits.max_match import reference_edits
from learnedgec.edits.parsing import default_annotator, describe_annotator
from learnedgec.edits.targets import edits_of_targets
from learnedgec.errors import InputError, ParameterError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.chunk_weights import LONGEST, length_weights, similarity_weights
from learnedgec.metrics.needs import need_model
from learnedgec.metrics.reference_choice import (
    best_along,
    first_best,
    four_decimals,
    real_references,
    sample_blocks,
)
from learnedgec.metrics.statistics import Statistics
from learnedgec.metrics.units import Unit, characters_apart, references_apart
from learnedgec.runtime.pool import parallel_map
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Indices

__all__ = ["ChunkOverlap"]

_Overlap = TypeVar("_Overlap", bound="ChunkOverlap")


_TN = CLASSES.index("tn")
# The names of the classes in tables of edits.
_SHOWN = {
    "tp": "matched",
    "fp_ne": "unmatched",
    "fp_un": "unmatched",
    "fn": "missed",
    "tn": "unchanged",
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
    rounded: ClassVar[bool] = False
    """Whether figures are rounded to four decimals where references are chosen and for sentences."""

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
        if self.mean_length is not None and not 0 <= self.mean_length < math.inf:
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

    @abstractmethod
    def figures(self, counts: Floats) -> dict[str, Floats]:
        """Return the figures of counts by name, the score first: float (…) each from (5, …)."""

    def sentence_figures(self, counts: Floats) -> dict[str, Floats]:
        """Return the figures of sentences by themselves, rounded where the official code rounds them."""
        figures = self.figures(counts)
        if self.rounded:
            return {name: four_decimals(figure) for name, figure in figures.items()}
        return figures

    def preference(self, after: Floats, counts: Floats) -> tuple[Array, ...]:
        """Return the keys that rank references at the corpus level; larger is better.

        Args:
            after: the sums if each reference were chosen, float (5, …, R).
            counts: the sentence's own, float (5, …, R).
        """
        tp, fp_ne, fp_un, fn, tn = counts
        score = first_figure(self.figures(after))
        return four_decimals(score) if self.rounded else score, tp, -(fp_ne + fp_un), -fn, tn

    @abstractmethod
    def sentence_preference(self, figures: Mapping[str, Floats]) -> tuple[Array, ...]:
        """Return the keys that rank references for a sentence by itself; larger is better."""

    @abstractmethod
    def totals(self, counts: Floats) -> dict[str, Floats]:
        """Return the counts under the names that the metric's paper uses, float (…) each from (5, …)."""

    # -- statistics ---------------------------------------------------------------------------

    @property
    def for_statistics(self: _Overlap) -> _Overlap:
        """The metric with its `aggregate_parameters` at their defaults; similarity weights need their own."""
        metric: _Overlap = super().for_statistics
        return metric if self.weights == "similarity" else replace(metric, weights="length")

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
        references = References(tuple(map(_not_empty, references)))
        shape = (len(sources), references.most)
        lengths = np.zeros((*shape, _TN, LONGEST + 1), dtype=np.uint16)
        tn, annotator = np.zeros((2, *shape), dtype=np.int64)
        gold = np.zeros((2, len(sources)), dtype=np.int64)
        records: list[dict[str, Any]] = []
        for number, (source, proposed, row) in enumerate(
            zip(sources, edits, references, strict=True)
        ):
            tokens = tuple(source.split())
            targets = [without_overlaps(proposed), *map(_gold_edits, row)]
            spans = shared_spans(len(tokens), targets)
            hypothesis, *others = (cut(tokens, target, spans) for target in targets)
            classes = classify(self.assumption, hypothesis, others)
            for column, kinds in enumerate(classes):
                annotator[number, column] = row[column].annotator
                for span, chunk, kind in zip(spans, hypothesis, kinds, strict=True):
                    if kind == _TN:
                        tn[number, column] += 1
                    else:
                        lengths[number, column, kind, min(chunk_length(span, chunk), LONGEST)] += 1
            changed = [
                chunk_length(span, chunk)
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
            "references": np.array([len(row) for row in references], dtype=np.int64),
        }
        if self.weights == "similarity":
            arrays["similarity"] = similarity_weights(
                sources, references, records, self._similarity, runtime
            )
        return Statistics(arrays, tuple(records))

    @property
    def _similarity(self) -> Any:
        from learnedgec.metrics.bertscore import BertScore

        return BertScore(encoder=self.encoder, layer=self.layer)

    # -- counts -------------------------------------------------------------------------------

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

    def _length_weights(self, statistics: Statistics, samples: Indices) -> Floats:
        """Return the weight of each class and length in each of B samples, float (B, 4, 64)."""
        level = "corpus" if self.weights == "released" else self.level
        return length_weights(level, self.assumption, self._mean_lengths(statistics, samples))

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
            table = self._length_weights(statistics, samples)
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
                of_sentences = first_figure(self._alone(statistics, counts)[1])
                wide = np.broadcast_to(of_sentences, (len(block), len(statistics)))
                scores.append(np.take_along_axis(wide, block, axis=1).mean(axis=1))
            else:
                _, sums = self._along(statistics, counts, block, usual[block])
                scores.append(first_figure(self.figures(sums)))
        return np.concatenate(scores)

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the score of each sentence with its own best reference.

        With weights by length and without `mean_length`, the scores depend on the other sentences through
        L.
        """
        counts = self._counts(statistics, np.arange(len(statistics))[None])
        scores: Floats = first_figure(self._alone(statistics, counts)[1])[0]
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
        details = {name: float(values[0]) for name, values in (*others, *self.totals(sums).items())}
        if self.weights in ("length", "released"):
            details["mean_length"] = float(self._mean_lengths(statistics, everything)[0])
        return details

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return each sentence's annotator, counts and figures.

        At the corpus level, they are computed with the reference chosen for the corpus score. The score may
        then be below the sentence score, which uses the reference that is best for the sentence alone.
        """
        chosen = self.chosen(statistics)
        counts = self._counts(statistics, np.arange(len(statistics))[None])
        counts = counts[:, 0, np.arange(len(chosen)), chosen]
        return {
            "annotator": statistics["annotator"][np.arange(len(chosen)), chosen],
            **self.totals(counts),
            **self.sentence_figures(counts),
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
        table = self._length_weights(statistics, everything)[0]
        for number, (record, choice) in enumerate(
            zip(statistics.records, self.chosen(statistics), strict=True), 1
        ):
            if all(set(chunk["counts"]) == {"tn"} for chunk in record["chunks"]):
                continue
            for chunk in record["chunks"]:
                kind = chunk["counts"][choice]
                missed = kind == "fn"
                row = {
                    "sentence": number,
                    "annotator": record["annotators"][choice],
                    "edit": _SHOWN[kind],
                    **{key: chunk[key] for key in ("start", "end", "original")},
                    "correction": chunk["references"][choice] if missed else chunk["correction"],
                    "type": "",
                }
                if by_length and kind != "tn":
                    length = max(chunk["end"] - chunk["start"], len(chunk["correction"].split()))
                    row["weight"] = float(table[CLASSES.index(kind), min(length, LONGEST)])
                elif self.weights != "none":
                    row["weight"] = 1.0 if by_length else chunk["weights"][choice]
                rows.append({**row, "counts": kind, "references": "||".join(chunk["references"])})
        return rows

    @property
    def sentence_scores_depend_on_others(self) -> str:
        """The mean length of chunks, which is of the whole corpus unless `mean_length` gives it."""
        if self.weights not in ("length", "released") or self.mean_length is not None:
            return ""
        return (
            "a sentence's score depends on the mean length of chunks in the whole corpus; give mean_length, "
            "or weights='none'"
        )

    def check(self, runtime: Runtime) -> None:
        """Raise unless the encoder is available, if weights are by similarity."""
        if self.weights == "similarity":
            need_model(self, "encoder", self.encoder, self.layer)

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return what edits and weights depend on."""
        parts: dict[str, str | int | float] = {}
        if self.edits == "errant":
            assert self.annotator is not None
            parts |= describe_annotator(self.annotator)
        if self.weights == "similarity":
            parts |= {"similarity": str(self._similarity), **self._similarity.describe(runtime)}
        return parts

    def describe_references(self, references: References) -> dict[str, str]:
        """Return whether gold edits come from alignment."""
        gold = references.annotated and self.unit == "word"
        return {} if gold else {"gold": "aligned"}


def _align(pair: tuple[str, str]) -> tuple[Edit, ...]:
    return reference_edits(*pair)


def first_figure(figures: Mapping[str, Floats]) -> Floats:
    """Return the score among figures."""
    return next(iter(figures.values()))


def _not_empty(row: Sequence[Reference]) -> tuple[Reference, ...]:
    """Return the references that are not empty, or the first if all are."""
    return tuple(reference for reference in row if reference.text.strip()) or tuple(row[:1])


def _gold_edits(reference: Reference) -> list[Edit]:
    if reference.edits is None:
        raise InputError("a reference without edits was given; give an M2 file's.")
    return without_overlaps(reference.edits)


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
                "correction": " ".join(chunk.tokens),
                "references": [" ".join(other.tokens) for other in theirs],
                "counts": [CLASSES[kind] for kind in kinds],
            }
            for span, chunk, theirs, kinds in zip(
                spans,
                hypothesis,
                zip(*others, strict=True),
                zip(*classes, strict=True),
                strict=True,
            )
        ],
    }
