"""Chunks against a slow oracle."""

from __future__ import annotations

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
