"""Edit overlap in which a correction is weighted by how many systems fail on it.

The gold edits of one annotator divide a sentence into chunks. The chunks are the gold edits, all other source
tokens, and the gaps between tokens where nothing is to be inserted. On a gold edit, a system is right if it
made that edit. On any other chunk, it is right if it changed nothing. The weight of a chunk is the share of
systems that are wrong on it. M2 or ERRANT determines the system's edits and the gold edits.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, TypeAlias

from learnedgec.data.corpus import Corpus
from learnedgec.data.references import References
from learnedgec.metrics.contract import Statistics
from learnedgec.metrics.edit_overlap import EditCounts, EditOverlap, Record, overlap_statistics
from learnedgec.metrics.errant import Errant
from learnedgec.metrics.m2 import M2
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Texts

# A sentence with one annotator's edits: source tokens, and gold edits as (start, end, corrections).
GoldSpans: TypeAlias = tuple[tuple[str, ...], tuple[tuple[int, int, tuple[str, ...]], ...]]
# The weights of the chunks of each annotated sentence.
Difficulties: TypeAlias = Mapping[GoldSpans, tuple[float, ...]]


class GoldChunk(NamedTuple):
    """A part of the source.

    Attributes:
        start: number of its first token.
        end: number of the token after the last; equal to `start` for a gap.
        gold: number of its gold edit, if it is one.
    """

    start: int
    end: int
    gold: int | None = None

    def touched_by(self, edit: Mapping[str, Any]) -> bool:
        """Return whether a system's edit changes this chunk.

        An insertion touches the gap that it fills and the gold edit around it. A replacement touches the
        tokens that it covers and the gold insertions inside it.
        """
        start, end = edit["start"], edit["end"]
        if start != end and self.start != self.end:
            return bool(start < self.end and self.start < end)
        if start == end and self.start == self.end:
            return bool(start == self.start)
        inside = start < self.start < end or self.start < start < self.end
        return self.gold is not None and bool(inside)


@lru_cache(maxsize=65536)
def gold_chunks(annotated: GoldSpans) -> tuple[GoldChunk, ...]:
    """Return the chunks of a sentence: gold edits in their order, then tokens, then gaps.

    Example:
        >>> gold_chunks((("a", "b"), ((1, 2, ("c",)),)))[:2]
        (GoldChunk(start=1, end=2, gold=0), GoldChunk(start=0, end=1, gold=None))
    """
    tokens, gold = annotated
    chunks = [GoldChunk(start, end, number) for number, (start, end, _) in enumerate(gold)]
    covered = {place for start, end, _ in gold for place in range(start, end)}
    closed = {place for start, end, _ in gold for place in range(start + 1, end)}
    closed |= {start for start, end, _ in gold if start == end}
    chunks += [GoldChunk(n, n + 1) for n in range(len(tokens)) if n not in covered]
    chunks += [GoldChunk(n, n) for n in range(len(tokens) + 1) if n not in closed]
    return tuple(chunks)


def _annotated(source: str, record: Record) -> GoldSpans:
    """Return the sentence with the gold edits of the record's annotator."""
    gold = ((edit["start"], edit["end"], tuple(edit["corrections"])) for edit in record["gold"])
    return tuple(source.split()), tuple(gold)


def _outcomes(chunks: Sequence[GoldChunk], record: Record) -> Iterator[tuple[bool, bool]]:
    """Yield, for each chunk, whether the system tried to change it, and whether the system is right."""
    wrong = [edit for edit in record["edits"] if not edit["matched"]]
    for chunk in chunks:
        if chunk.gold is not None and record["gold"][chunk.gold]["matched"]:
            yield True, True
        else:
            tried = any(chunk.touched_by(edit) for edit in wrong)
            yield tried, chunk.gold is None and not tried


def chunk_difficulties(sources: Texts, counted: Mapping[str, Statistics]) -> Difficulties:
    """Return the weights of all chunks, which are the shares of systems that are wrong on them.

    Args:
        sources: N sentences.
        counted: system -> its edit-overlap statistics, with their records.
    """
    outcomes: dict[GoldSpans, list[list[bool]]] = {}
    for statistics in counted.values():
        for source, records in zip(sources, statistics.records, strict=True):
            for record in records:
                annotated = _annotated(source, record)
                right = [right for _, right in _outcomes(gold_chunks(annotated), record)]
                outcomes.setdefault(annotated, []).append(right)
    return {
        annotated: tuple(1 - sum(right) / len(rows) for right in zip(*rows, strict=True))
        for annotated, rows in outcomes.items()
    }


def _weigh(source: str, record: Record, difficulties: Difficulties) -> tuple[EditCounts, Record]:
    """Return the weights of TP, of TP + FP and of TP + FN, and the record with weights."""
    annotated = _annotated(source, record)
    chunks, weights = gold_chunks(annotated), difficulties[annotated]
    tp = fp = fn = 0.0
    for chunk, weight, (tried, right) in zip(
        chunks, weights, _outcomes(chunks, record), strict=True
    ):
        if chunk.gold is not None and right:
            tp += weight
        else:
            fp += weight if tried else 0.0
            fn += weight if chunk.gold is not None else 0.0
    # The chunks of gold edits come first.
    gold = [{**e, "weight": w} for e, w in zip(record["gold"], weights, strict=False)]
    return (tp, tp + fp, tp + fn), {**record, "gold": gold}


@dataclass(frozen=True)
class GotoScorer(EditOverlap):
    """GoToScorer: F over edits, each weighted by the share of systems that fail on it.

    `learnedgec.metrics.gotoscorer` defines the weight of a chunk. TP is the sum of the weights of the gold
    edits that the system made. FP is the sum over the chunks, gold or not, that it changed otherwise. FN is
    the sum over the gold edits that it did not make. P = TP/(TP+FP) and R = TP/(TP+FN), 1 where the
    denominator is 0, and F combines them as in `m2`. A chunk that every system gets right has weight 0, and
    a chunk that no system gets right has weight 1.

    The weights are learned from all systems that are scored together: **scores depend on the other systems**.
    They are meaningless for a single system, which gets a warning.

    By default edits are M2's, without unchanged words inside a system's edit, and plain references are
    aligned; with an `annotator` they are ERRANT's. This is the formula of the paper, but not its tool, which
    uses ERRANT's edits and one reference. With several references, each annotator's chunks have their own
    weights, and the reference with the best F so far is used, as in `m2`. With weights learned from SEEDA's
    15 outputs on CoNLL-14, its first reference and ERRANT, the scores correlate with SEEDA's published scores
    at .999 (Pearson). With M2's edits, they correlate at .979.

    Source: Gotou et al., "Taking the Correction Difficulty into Account in Grammatical Error Correction
    Evaluation" (COLING 2020).

    Attributes:
        annotator: the spaCy pipeline for ERRANT, such as `en-ewt-sm`, or `None` for M2's edits.

    Example:
        >>> from learnedgec import References, load_metric
        >>> references = References.from_texts(["She goes to the school ."])
        >>> systems = {"a": ["She goes to school ."], "b": ["She go to the school ."]}
        >>> scores = load_metric("gotoscorer").score(["She go to school ."], systems, references)
        >>> scores["a"].details["recall"], scores["b"].details["recall"]
        (0.5, 0.5)
    """

    name: ClassVar[str] = "gotoscorer"
    stores_statistics: ClassVar[bool] = False
    annotator: str | None = None

    @property
    def unweighted(self) -> EditOverlap:
        """The metric that finds and matches the edits."""
        if self.annotator is not None:
            return Errant(annotator=self.annotator)
        return M2(max_unchanged_words=0)

    def compute_systems(self, corpus: Corpus, runtime: Runtime) -> dict[str, Statistics]:
        """Return the statistics of several systems, with weights that are learned from all of them."""
        sources, references = corpus.sources, corpus.references
        assert references is not None
        counted = self.unweighted.compute_systems(corpus, runtime)
        if len({tuple(texts) for texts in corpus.systems.values()}) < 2:
            warnings.warn(
                f"{self.label}: the weights are learned from the systems scored together, and one system "
                "alone has weight 0 wherever it is right; score it with others.",
                stacklevel=3,
            )
        difficulties = chunk_difficulties(sources, counted)
        return {
            name: overlap_statistics(
                [
                    [_weigh(source, record, difficulties) for record in records]
                    for source, records in zip(sources, rows.records, strict=True)
                ],
                references,
            )
            for name, rows in counted.items()
        }

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return weighted `tp`, `proposed` (TP+FP) and `gold` (TP+FN); see `overlap_statistics`."""
        return self.compute_systems(Corpus(sources, {"": hypotheses}, references), runtime)[""]

    @property
    def statistics_depend_on_others(self) -> str:
        """Why statistics depend on others: all systems decide the weights."""
        return (
            "it learns its weights from all sentences of all systems; score all of them in one call"
        )

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return what the edits depend on, and where the weights come from."""
        return {**self.unweighted.describe(runtime), "weights": "of all systems scored together"}
