"""The chunks of CLEME and CLEME2.0, with their counts and weights.

Annotators divide the same correction into edits in different ways, so edits of two annotators are hard to
compare. Chunks are the same for the source, the hypothesis and all references. Edits of any of them that
overlap or touch are in one chunk, and unedited tokens between two of these are another chunk. In each chunk
every target has some tokens, and has either edited the chunk or not. `learnedgec.metrics.cleme` describes the
counts and weights.

Source: Ye et al., "CLEME: Debiasing Multi-reference Evaluation for Grammatical Error Correction"
(EMNLP 2023), section 3.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from scipy.special import expit

from learnedgec.data.m2 import Edit, apply_edits, without_overlaps
from learnedgec.data.references import Reference, References
from learnedgec.data.tokenisation import Unit, characters_apart
from learnedgec.edits.annotator import (
    default_annotator,
    describe_annotator,
    edits_of_targets,
    extract_edits,
)
from learnedgec.edits.max_match import reference_edits
from learnedgec.errors import ParameterError
from learnedgec.metrics.contract import Statistics, need_model
from learnedgec.metrics.edit_overlap import EditRows, gold_edits
from learnedgec.metrics.reference_choice import ChoosingMetric, four_decimals, reference_arrays
from learnedgec.runtime.runtime import Runtime, parallel_map
from learnedgec.types import Array, Floats, Indices, Texts

if TYPE_CHECKING:
    from learnedgec.metrics.bertscore import BertScore

# -- chunks -----------------------------------------------------------------------------------------


CLASSES = ("tp", "fp_ne", "fp_un", "fn", "tn")
"""The classes of chunks of a hypothesis; see `learnedgec.metrics.cleme`."""


class Chunk(NamedTuple):
    """A span of source tokens, which is empty at a place to insert, with its correction in each target.

    Attributes:
        start: number of the first source token, from 0.
        end: number of the token after the last.
        texts: the tokens of each target.
        changed: whether each target edits the chunk.
    """

    start: int
    end: int
    texts: list[list[str]]
    changed: list[bool]

    @property
    def lengths(self) -> list[int]:
        """The larger number of tokens, of the source or the target, for each target."""
        return [max(self.end - self.start, len(text)) for text in self.texts]

    def record(self, tokens: Sequence[str], classes: Sequence[str]) -> dict[str, Any]:
        """Return the chunk as records list it, with its class for each reference."""
        correction, *corrections = map(" ".join, self.texts)
        return {
            "start": self.start,
            "end": self.end,
            "original": " ".join(tokens[self.start : self.end]),
            "correction": correction,
            "references": corrections,
            "counts": classes,
        }


def shared_chunks(tokens: Sequence[str], targets: Sequence[Sequence[Edit]]) -> Iterator[Chunk]:
    """Yield the chunks of a source and its targets, from left to right.

    Edits that overlap or touch are joined: an edit belongs to the previous chunk if it starts at its end or
    earlier. One token between two edits separates them.

    Args:
        tokens: source tokens.
        targets: edits of the hypothesis and of each reference, each sorted by position and without overlaps;
            the first correction of each edit is applied.

    Example:
        >>> targets = [Edit(1, 2, "x y")], [Edit(2, 2, "z")]
        >>> [chunk.texts for chunk in shared_chunks(["a", "b", "c"], targets)]
        [[['a'], ['a']], [['x', 'y'], ['b', 'z']], [['c'], ['c']]]
    """
    for start, end, edited in _spans(len(tokens), targets):
        texts, changed = [], []
        for edits in targets:
            within = (edit for edit in edits if start <= edit.start and edit.end <= end)
            inside = list(within) if edited else []
            text: list[str] = []
            position = start
            for edit in inside:
                text += [*tokens[position : edit.start], *edit.correction.split()]
                position = edit.end
            texts.append([*text, *tokens[position:end]])
            changed.append(bool(inside))
        yield Chunk(start, end, texts, changed)


def _spans(length: int, targets: Iterable[Iterable[Edit]]) -> list[tuple[int, int, bool]]:
    """Return the spans of the chunks of a source of `length` tokens, and whether any target edits them."""
    spans: list[tuple[int, int, bool]] = []
    start = end = -1
    covered = 0
    for first, last in sorted({(edit.start, edit.end) for edits in targets for edit in edits}):
        if first <= end:
            end = max(end, last)
            spans[-1] = start, end, True
        else:
            if covered < first:
                spans.append((covered, first, False))
            start, end = first, last
            spans.append((start, end, True))
        covered = end
    if covered < length:
        spans.append((covered, length, False))
    return spans


def classify(assumption: str, chunk: Chunk) -> list[str]:
    """Return the class of a chunk of the hypothesis, the first target, against each reference.

    Args:
        assumption: `dependent` to compare with one reference at a time, `independent` with all of them.
        chunk: the chunk of the hypothesis and the references.

    Example:
        >>> classify("dependent", Chunk(0, 1, [["x"], ["a"]], [True, False]))
        ['fp_un']
    """
    (text, *references), (changed, *edited) = chunk.texts, chunk.changed
    same = [text == reference for reference in references]
    if assumption == "independent":
        cases = [(any(same), any(edited), all(edited))] * len(references)
    else:
        cases = [(one, other, not one) for one, other in zip(same, edited, strict=True)]
    if changed:
        return ["tp" if right else "fp_ne" if needed else "fp_un" for right, needed, _ in cases]
    return ["fn" if missed else "tn" for _, _, missed in cases]


# -- counts and weights of chunks -------------------------------------------------------------------


_Overlap = TypeVar("_Overlap", bound="ChunkOverlap")

# Longer chunks count as this length, because weights are at their bounds long before.
_MAX_LENGTH = 63

# (level, assumption) -> (α, least, most) of the weights of tp, fp and fn.
_LENGTH_WEIGHTS = {
    ("corpus", "dependent"): ((2, 0.75, 1.25),) * 3,
    ("corpus", "independent"): ((2, 0.75, 1.25),) * 3,
    ("sentence", "dependent"): ((10, 1, 10), (10, 0.25, 1), (10, 1, 1)),
    ("sentence", "independent"): ((10, 2.5, 10), (10, 0.25, 1), (10, 1, 1)),
}

# The names of the classes in tables of edits.
_SHOWN = dict(
    zip(CLASSES, ("matched", "unmatched", "unmatched", "missed", "unchanged"), strict=True)
)


@dataclass(frozen=True)
class ChunkOverlap(ChoosingMetric):
    """A metric computed from counts of chunks; a subclass defines its figures and which reference is best.

    `ChoosingMetric` says with which reference each sentence is compared. Sentence scores have the weights and
    factors of the level.

    Attributes:
        level: what the corpus score is: `corpus`, of summed counts, or `sentence`, a mean of sentence scores.
        assumption: `dependent`: one reference at a time; `independent`: each chunk against all references.
        weights: what a chunk counts; see `learnedgec.metrics.cleme`.
        mean_length: L of the length weights. `None` takes the mean length in the sentences scored together,
            as the official code does. A sentence's score then depends slightly on the other sentences.
        edits: how edits are extracted from texts: `errant`, or `aligned` for the shortest alignment of words.
        annotator: the spaCy pipeline of ERRANT's edits: see `errant`.
        encoder: hub id, directory or `pkg:module/folder` of the encoder for similarity.
        layer: the layer of the encoder.
        unit: chunks of tokens, or of characters with the spaces between tokens, for languages written
            without spaces between words; edits are then `aligned` or the `plain` annotator's, and gold
            edits are not used.
    """

    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"level", "mean_length"})
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
            annotator = default_annotator() if self.unit == "word" else "plain"
            object.__setattr__(self, "annotator", annotator)
        parsed = self.annotator not in (None, "plain")
        if self.unit == "char" and (parsed or self.weights == "similarity"):
            raise ParameterError(
                f"{self}: characters have no parse and no similarity; with unit='char' say edits='aligned' "
                "or annotator='plain', and other weights."
            )

    def sentence_figures(self, counts: Floats) -> dict[str, Floats]:
        """Return the figures of sentences by themselves, rounded where the official code rounds them."""
        figures = self.figures(counts)
        if self.rounded:
            return {name: four_decimals(figure) for name, figure in figures.items()}
        return figures

    def preference(self, after: Floats, counts: Floats) -> tuple[Array, ...]:
        """Return the score of the sums, and the sentence's own tp, −fp, −fn and tn."""
        tp, fp_ne, fp_un, fn, tn = counts
        score = self.figures(after)[self.score_name]
        return four_decimals(score) if self.rounded else score, tp, -(fp_ne + fp_un), -fn, tn

    # -- statistics ---------------------------------------------------------------------------

    @property
    def for_statistics(self: _Overlap) -> _Overlap:
        """The metric with its `aggregate_parameters` at their defaults; similarity weights need their own."""
        metric: _Overlap = super().for_statistics
        return metric if self.weights == "similarity" else replace(metric, weights="length")

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return the counts of chunks of every sentence and reference; see `compare`.

        For chunks of characters, each character is a token.
        """
        if self.unit == "char":
            # Gold edits have numbers of words.
            references = references.map(
                lambda _, r: Reference(characters_apart(r.text), annotator=r.annotator), sources
            )
            sources = [characters_apart(text) for text in sources]
            hypotheses = [characters_apart(text) for text in hypotheses]

        def extract(pairs: Sequence[tuple[str, str]]) -> list[tuple[Edit, ...]]:
            if self.edits == "aligned":
                return parallel_map(_align, pairs, "edits", runtime)
            assert self.annotator is not None
            return extract_edits(pairs, self.annotator, types=False, runtime=runtime)

        edits, annotated = edits_of_targets(sources, hypotheses, references, extract)
        return self.compare(sources, edits, annotated, runtime=runtime)

    def compare(
        self, sources: Texts, edits: EditRows, references: References, runtime: Runtime = Runtime()
    ) -> Statistics:
        """Return the statistics of given edits, such as the gold edits of an M2 file.

        Args:
            sources: N sentences.
            edits: a system's edits in each sentence.
            references: references with edits.
            runtime: how to run the encoder for similarity weights.

        Returns:
            `lengths`, uint16 (N, R, 5, 64): the number of chunks of each class and length for each
            reference; `reference_tokens` and `reference_chunks`, int (N,): the sum and the number of the
            lengths of references' changed chunks; `annotator`, int (N, R), and `references`, int (N,).
            Similarity weights add their sums, `similarity`, float (N, R, 5). The records list the chunks of
            each sentence with their classes.

        Raises:
            InputError: a reference has no edits.
        """
        references = References(tuple(map(_with_text, references)))
        shape = (len(sources), references.most, len(CLASSES), _MAX_LENGTH + 1)
        lengths = np.zeros(shape, dtype=np.uint16)
        gold = np.zeros((2, len(sources)), dtype=np.int64)
        records: list[dict[str, Any]] = []
        for number, (source, proposed, row) in enumerate(
            zip(sources, edits, references, strict=True)
        ):
            targets = [without_overlaps(target) for target in (proposed, *map(gold_edits, row))]
            tokens, chunks = source.split(), []
            for chunk in shared_chunks(tokens, targets):
                kinds, (length, *others) = classify(self.assumption, chunk), chunk.lengths
                for column, kind in enumerate(kinds):
                    lengths[number, column, CLASSES.index(kind), min(length, _MAX_LENGTH)] += 1
                changed = [
                    other for other, edited in zip(others, chunk.changed[1:], strict=True) if edited
                ]
                gold[:, number] += sum(changed), len(changed)
                chunks.append(chunk.record(tokens, kinds))
            annotators = [reference.annotator for reference in row]
            records.append({"annotators": annotators, "chunks": chunks})
        arrays: dict[str, Array] = {
            "lengths": lengths,
            "reference_tokens": gold[0],
            "reference_chunks": gold[1],
            **reference_arrays(references),
        }
        if self.weights == "similarity":
            arrays["similarity"] = self._similarity_sums(sources, references, records, runtime)
        return Statistics(arrays, tuple(records))

    @property
    def _similarity(self) -> BertScore:
        from learnedgec.metrics.bertscore import BertScore

        return BertScore(encoder=self.encoder, layer=self.layer)

    def _similarity_sums(
        self, sources: Texts, references: References, records: Sequence[Any], runtime: Runtime
    ) -> Floats:
        """Return the sums of similarity weights, float (N, R, 5); each weight goes into the records.

        A chunk whose edit leaves no text has weight 0, since an empty text is similar to nothing.
        """
        from learnedgec.metrics.pretrained_overlap import edit_changes

        def edit(chunk: Mapping[str, Any], column: int) -> Edit:
            return Edit(chunk["start"], chunk["end"], _corrected(chunk, column))

        edits = [
            [[edit(chunk, column) for chunk in record["chunks"]] for column in range(len(row))]
            for record, row in zip(records, references, strict=True)
        ]
        changes = edit_changes(sources, edits, references, self._similarity, runtime)
        sums = np.zeros((len(sources), references.most, len(CLASSES)))
        for number, (source, record) in enumerate(zip(sources, records, strict=True)):
            for chunk in record["chunks"]:
                chunk["weights"] = []
                for column, kind in enumerate(chunk["counts"]):
                    alone, weight = edit(chunk, column), 1.0
                    if kind != "tn":
                        some = bool(apply_edits(source, [alone]))
                        weight = abs(changes[number][column][alone]) if some else 0.0
                    sums[number, column, CLASSES.index(kind)] += weight
                    chunk["weights"].append(weight)
        return sums

    # -- counts -------------------------------------------------------------------------------

    @property
    def _by_length(self) -> bool:
        return self.weights in ("length", "released")

    def _mean_lengths(self, statistics: Statistics, samples: Indices) -> Floats:
        """Return L of each of B samples, float (B,); it is NaN if no reference changes anything."""
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
        """Return the weight of each class and length in each of B samples, float (B, 5, 64).

        If no reference changes anything, there is no mean length, and all chunks have weight 1.
        """
        level = "corpus" if self.weights == "released" else self.level
        tp, fp, fn = _LENGTH_WEIGHTS[level, self.assumption]
        excess = np.arange(_MAX_LENGTH + 1) - self._mean_lengths(statistics, samples)[:, None]
        weights = [
            np.clip(alpha * expit(sign * excess - math.log(alpha - 1)), least, most)
            for sign, (alpha, least, most) in ((1, tp), (-1, fp), (-1, fp), (1, fn))
        ]
        table: Floats = np.nan_to_num(np.stack([*weights, np.ones_like(excess)], axis=1), nan=1.0)
        return table

    def counts(
        self, statistics: Statistics, samples: Indices | None = None, *, alone: bool = False
    ) -> Floats:
        """Return the weights of the chunks of each class, float (5, B, N, R)."""
        lengths = statistics["lengths"]
        if self._by_length:
            samples = _everything(statistics) if samples is None else samples
            used = lengths.any(axis=(0, 1, 2))
            table = self._length_weights(statistics, samples)[..., used]
            weighted: Floats = np.einsum("nrcl,bcl->cbnr", lengths[..., used].astype(float), table)
            return weighted
        sums = statistics["similarity"] if self.weights == "similarity" else lengths.sum(axis=-1)
        return np.moveaxis(sums, -1, 0)[:, None].astype(np.float64)

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the figures besides the score (means at the sentence level), the counts, and L."""
        details = super().details(statistics)
        if self._by_length:
            mean_lengths = self._mean_lengths(statistics, _everything(statistics))
            details["mean_length"] = float(mean_lengths[0])
        return details

    def edit_rows(self, statistics: Statistics) -> list[dict[str, Any]]:
        """Return one row per chunk, for sentences that the system or a reference edits.

        `ShowsEdits.edit_rows` describes the columns. The correction is the system's, or the chosen
        reference's for a missed chunk. Two columns are added: `counts` (`tp`, `fp_ne`, `fp_un`, `fn`
        or `tn`), and `references`, the chunk's text in each of them, joined by `||`.
        """
        rows: list[dict[str, Any]] = []
        weights = self._length_weights(statistics, _everything(statistics))[0]
        for number, (record, choice) in enumerate(
            zip(statistics.records, self.chosen(statistics), strict=True), 1
        ):
            if all(set(chunk["counts"]) == {"tn"} for chunk in record["chunks"]):
                continue
            for chunk in record["chunks"]:
                kind = chunk["counts"][choice]
                row = {
                    "sentence": number,
                    "annotator": record["annotators"][choice],
                    "edit": _SHOWN[kind],
                    **{key: chunk[key] for key in ("start", "end", "original")},
                    "correction": _corrected(chunk, choice),
                    "type": "",
                }
                if self._by_length:
                    length = max(chunk["end"] - chunk["start"], len(chunk["correction"].split()))
                    row["weight"] = float(weights[CLASSES.index(kind), min(length, _MAX_LENGTH)])
                elif self.weights == "similarity":
                    row["weight"] = chunk["weights"][choice]
                rows.append({**row, "counts": kind, "references": "||".join(chunk["references"])})
        return rows

    @property
    def sentence_scores_depend_on_others(self) -> str:
        """Why sentence scores depend on others: the mean length of chunks is taken over the whole corpus."""
        if not self._by_length or self.mean_length is not None:
            return ""
        return (
            "a sentence's score depends on the mean length of chunks in the whole corpus; give mean_length, "
            "or weights='none'"
        )

    def check(self, runtime: Runtime) -> None:
        """Raise unless the annotator, and the encoder if weights are by similarity, are available."""
        super().check(runtime)
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


def _everything(statistics: Statistics) -> Indices:
    """Return one sample that has all sentences in their order, int (1, N)."""
    return np.arange(len(statistics))[None]


def _with_text(row: Sequence[Reference]) -> tuple[Reference, ...]:
    """Return the references that are not empty, or the first one if all are empty."""
    return tuple(reference for reference in row if reference.text.strip()) or tuple(row[:1])


def _corrected(chunk: Mapping[str, Any], column: int) -> str:
    """Return the text of the hypothesis in a chunk or, for fn, the text of the reference."""
    text: str = chunk["correction"]
    return chunk["references"][column] if chunk["counts"][column] == "fn" else text
