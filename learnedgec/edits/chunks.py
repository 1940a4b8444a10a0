"""Chunks: a sentence and all its corrections, divided at the same positions.

Annotators divide the same correction into edits in different ways, so edits of two annotators are hard to
compare. Chunks are the same for the source, the hypothesis and all references. Edits of any of them that
overlap or touch are in one chunk, and unedited tokens between two of these are another chunk. In each chunk
every target has some tokens, and has either edited the chunk or not.

Source: Ye et al., "CLEME: Debiasing Multi-reference Evaluation for Grammatical Error Correction"
(EMNLP 2023), section 3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from learnedgec.data.m2 import Edit

__all__ = ["CLASSES", "TargetChunk", "ChunkSpan", "chunk_length", "classify", "cut", "shared_spans"]

CLASSES = ("tp", "fp_ne", "fp_un", "fn", "tn")
"""What a chunk of a hypothesis may count as; see `learnedgec.metrics.cleme`."""
_TP, _FP_NE, _FP_UN, _FN, _TN = range(5)


class ChunkSpan(NamedTuple):
    """Source tokens `start` to `end` (none for a place to insert), and whether any target edits them.

    Attributes:
        start: first source token, from 0.
        end: source token after the last.
        edited: whether any target edits the span.
    """

    start: int
    end: int
    edited: bool


class TargetChunk(NamedTuple):
    """The tokens of one target in a span, and whether it edits the span."""

    tokens: tuple[str, ...]
    changed: bool


def shared_spans(length: int, targets: Iterable[Iterable[Edit]]) -> list[ChunkSpan]:
    """Return the spans of a source, from left to right.

    Edits that overlap or touch are joined: an edit belongs to the previous span if it starts at its end or
        earlier. One token between two edits separates them.

    Args:
        length: number of source tokens.
        targets: edits of the hypothesis and of each reference.

    Example:
        >>> shared_spans(5, [[Edit(1, 2, "x")], [Edit(2, 2, "y"), Edit(5, 5, "z")]])
        [ChunkSpan(start=0, end=1, edited=False), ChunkSpan(start=1, end=2, edited=True), \
ChunkSpan(start=2, end=5, edited=False), ChunkSpan(start=5, end=5, edited=True)]
    """
    spans: list[ChunkSpan] = []
    start = end = -1
    covered = 0
    for first, last in sorted({(edit.start, edit.end) for edits in targets for edit in edits}):
        if first <= end:
            end = max(end, last)
            spans[-1] = ChunkSpan(start, end, True)
        else:
            if covered < first:
                spans.append(ChunkSpan(covered, first, False))
            start, end = first, last
            spans.append(ChunkSpan(start, end, True))
        covered = end
    if covered < length:
        spans.append(ChunkSpan(covered, length, False))
    return spans


def cut(
    tokens: tuple[str, ...], edits: Sequence[Edit], spans: Sequence[ChunkSpan]
) -> list[TargetChunk]:
    """Return the chunk of a target for each span.

    Args:
        tokens: tokens of the source.
        edits: edits of the target, sorted by position and without overlaps; the first correction of each is
            applied.
        spans: spans that all targets share, this one included.

    Example:
        >>> edits = [Edit(1, 2, "x y")]
        >>> [chunk.tokens for chunk in cut(("a", "b", "c"), edits, shared_spans(3, [edits]))]
        [('a',), ('x', 'y'), ('c',)]
    """
    chunks: list[TargetChunk] = []
    number = 0
    for start, end, edited in spans:
        if not edited or number == len(edits) or edits[number].end > end:
            chunks.append(TargetChunk(tokens[start:end], False))
            continue
        found: tuple[str, ...] = ()
        position = start
        while number < len(edits) and edits[number].end <= end:
            edit = edits[number]
            found += (*tokens[position : edit.start], *edit.correction.split())
            position = edit.end
            number += 1
        chunks.append(TargetChunk(found + tokens[position:end], True))
    return chunks


def chunk_length(span: ChunkSpan, chunk: TargetChunk) -> int:
    """Return the larger number of tokens, of the source or of the target."""
    return max(span.end - span.start, len(chunk.tokens))


def classify(
    assumption: str, hypothesis: Sequence[TargetChunk], references: Sequence[Sequence[TargetChunk]]
) -> list[list[int]]:
    """Return what each chunk of the hypothesis counts as, for each reference, by its place in `CLASSES`.

    Args:
        assumption: `dependent`: one reference at a time; `independent`: each chunk against all references.
        hypothesis: chunks of the hypothesis.
        references: chunks of each reference, in the same spans.

    Example:
        >>> hypothesis, reference = TargetChunk(("x",), True), TargetChunk(("a",), False)
        >>> [CLASSES[number] for number in classify("dependent", [hypothesis], [[reference]])[0]]
        ['fp_un']
    """
    if assumption == "dependent":
        return [
            [
                _class(chunk, (other,), missed=chunk.tokens != other.tokens)
                for chunk, other in zip(hypothesis, chunks, strict=True)
            ]
            for chunks in references
        ]
    numbers = [
        _class(chunk, others, missed=all(other.changed for other in others))
        for chunk, *others in zip(hypothesis, *references, strict=True)
    ]
    return [numbers] * len(references)


def _class(chunk: TargetChunk, others: Sequence[TargetChunk], *, missed: bool) -> int:
    """Return what a chunk counts as; `missed` says whether it is fn if the hypothesis leaves it alone."""
    if not chunk.changed:
        return _FN if missed else _TN
    if any(chunk.tokens == other.tokens for other in others):
        return _TP
    return _FP_NE if any(other.changed for other in others) else _FP_UN
