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

CLASSES = ("tp", "fp_ne", "fp_un", "fn", "tn")
"""What a chunk of a hypothesis may count as; see `learnedgec.metrics.cleme`."""


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
        changed: tuple[str, ...] = ()
        position = start
        while number < len(edits) and edits[number].end <= end:
            edit = edits[number]
            changed += (*tokens[position : edit.start], *edit.correction.split())
            position = edit.end
            number += 1
        chunks.append(TargetChunk(changed + tokens[position:end], True))
    return chunks


def chunk_length(span: ChunkSpan, chunk: TargetChunk) -> int:
    """Return the larger number of tokens, of the source or of the target."""
    return max(span.end - span.start, len(chunk.tokens))


def classify(assumption: str, chunk: TargetChunk, references: Sequence[TargetChunk]) -> list[str]:
    """Return what a chunk of the hypothesis counts as with each reference; see `CLASSES`.

    Args:
        assumption: `dependent`: one reference at a time; `independent`: the chunk against all references.
        chunk: the chunk of the hypothesis.
        references: the chunks of the references in the same span.

    Example:
        >>> classify("dependent", TargetChunk(("x",), True), [TargetChunk(("a",), False)])
        ['fp_un']
    """
    if assumption == "dependent":
        return [
            _class(chunk, [reference], missed=chunk.tokens != reference.tokens)
            for reference in references
        ]
    missed = all(reference.changed for reference in references)
    return [_class(chunk, references, missed)] * len(references)


def _class(chunk: TargetChunk, references: Sequence[TargetChunk], missed: bool) -> str:
    """Return what a chunk counts as; `missed` says whether it is fn if the hypothesis leaves it alone."""
    if not chunk.changed:
        return "fn" if missed else "tn"
    if any(chunk.tokens == reference.tokens for reference in references):
        return "tp"
    return "fp_ne" if any(reference.changed for reference in references) else "fp_un"
