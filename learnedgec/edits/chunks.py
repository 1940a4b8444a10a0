"""Chunks: a sentence and all its corrections, cut at the same places.

Annotators cut the same correction into edits in different ways, so edits of two people are hard to
compare. Chunks are cut once for the source, the hypothesis and all references together: edits that
overlap or touch, whoever made them, lie in one chunk, and what nobody edits between two of those is
one chunk too. In each chunk every target then has some tokens, and either has edited it or not.

Source: Ye et al., "CLEME: Debiasing Multi-reference Evaluation for Grammatical Error Correction"
(EMNLP 2023), section 3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from learnedgec.formats.m2 import Edit

__all__ = ["TargetChunk", "ChunkSpan", "cut", "shared_spans"]


class ChunkSpan(NamedTuple):
    """Source tokens `start` to `end` (none if equal: a place to insert), and whether a target edits them."""

    start: int
    end: int
    edited: bool


class TargetChunk(NamedTuple):
    """What one target has in place of a span: its tokens, and whether it has edited the span at all."""

    tokens: tuple[str, ...]
    changed: bool


def shared_spans(length: int, targets: Iterable[Iterable[Edit]]) -> list[ChunkSpan]:
    """Return where a source is cut, from left to right.

    Edits that overlap or touch are joined: an edit belongs to the span before it if it starts where
    that ends, or earlier. One token between two edits keeps them apart.

    Args:
        length: the number of source tokens.
        targets: the edits of the hypothesis and of each reference.

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
    """Return what a target has in each span.

    Args:
        tokens: of the source.
        edits: of the target, by position and without overlaps; the first correction of each is applied.
        spans: shared by all targets, this one included.

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
