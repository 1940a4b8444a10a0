"""Chunks against a slow oracle."""

from __future__ import annotations

from chunk_oracle import pieces, sentences
from hypothesis import given, settings

from learnedgec.data.m2 import Edit
from learnedgec.metrics.chunk_overlap import shared_chunks


@given(sentences())
@settings(max_examples=200, deadline=None)
def test_equal_to_the_oracle(sentence: tuple[list[str], list[tuple[Edit, ...]]]) -> None:
    tokens, targets = sentence
    expected = pieces(tokens, targets)
    chunks = list(shared_chunks(tokens, targets))
    assert [(chunk.start, chunk.end) for chunk in chunks] == [(p.start, p.end) for p in expected]
    for chunk, piece in zip(chunks, expected, strict=True):
        texts = map(tuple, chunk.texts)
        assert list(zip(texts, chunk.changed, strict=True)) == piece.targets
