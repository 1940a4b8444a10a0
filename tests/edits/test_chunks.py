"""Chunks against a slow oracle, and the cases that the rules were made for."""

from __future__ import annotations

import pytest
from chunk_oracle import pieces, sentences
from hypothesis import given, settings

from learnedgec.data.m2 import Edit
from learnedgec.edits.chunks import cut, shared_spans


@given(sentences())
@settings(max_examples=500, deadline=None)
def test_equal_to_the_oracle(sentence: tuple[list[str], list[tuple[Edit, ...]]]) -> None:
    tokens, targets = sentence
    expected = pieces(tokens, targets)
    spans = shared_spans(len(tokens), targets)
    assert [(span.start, span.end) for span in spans] == [(p.start, p.end) for p in expected]
    for column, edits in enumerate(targets):
        in_chunks = [(chunk.tokens, chunk.changed) for chunk in cut(tuple(tokens), edits, spans)]
        assert in_chunks == [piece.targets[column] for piece in expected]


@pytest.mark.parametrize(
    ("edits", "spans"),
    [
        # What touches is joined, whichever is the insertion.
        ([(1, 2), (2, 3)], [(0, 1), (1, 3), (3, 5)]),
        ([(2, 2), (2, 3)], [(0, 2), (2, 3), (3, 5)]),
        ([(1, 2), (2, 2)], [(0, 1), (1, 2), (2, 5)]),
        # One token keeps edits apart, and an insertion cuts what nobody edits.
        ([(1, 2), (3, 4)], [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]),
        ([(3, 3)], [(0, 3), (3, 3), (3, 5)]),
        ([(0, 0), (5, 5)], [(0, 0), (0, 5), (5, 5)]),
        ([(0, 5), (1, 2)], [(0, 5)]),
        ([], [(0, 5)]),
    ],
)
def test_where_a_source_is_cut(edits: list[tuple[int, int]], spans: list[tuple[int, int]]) -> None:
    # Each edit is another target's.
    shared = shared_spans(5, [[Edit(start, end, "x")] for start, end in edits])
    assert [(span.start, span.end) for span in shared] == spans
