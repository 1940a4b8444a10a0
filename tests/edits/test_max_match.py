"""MaxMatch against a slow oracle, and the cases that its rules were made for."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from max_match_oracle import oracle_edits, oracle_tp

from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.edits import max_match as module
from learnedgec.edits.max_match import EditLattice, match_edits, max_match, reference_edits

tokens = st.lists(st.sampled_from("abc"), max_size=8)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Return two unrelated sentences, or one and an edited copy of it."""
    source = draw(tokens)
    if draw(st.booleans()):
        return source, draw(tokens)
    hypothesis = list(source)
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(hypothesis)))
        hypothesis[place : place + draw(st.integers(0, 2))] = draw(
            st.lists(st.sampled_from("abc"), max_size=2)
        )
    return source, hypothesis


@st.composite
def golds(draw: st.DrawFn, length: int) -> tuple[Edit, ...]:
    """Return gold edits of a sentence, some with alternatives, not always in order or apart."""
    edits = []
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, length))
        end = min(length, start + draw(st.integers(0, 3)))
        first, *others = draw(
            st.lists(
                st.lists(st.sampled_from("abc"), max_size=3).map(" ".join), min_size=1, max_size=3
            )
        )
        edits.append(Edit(start, end, first, alternatives=tuple(others)))
    if draw(st.booleans()):
        edits.sort(key=lambda edit: (edit.start, edit.end))
    return tuple(edits)


@st.composite
def annotated(draw: st.DrawFn) -> tuple[list[str], list[str], list[tuple[Edit, ...]]]:
    source, hypothesis = draw(pairs())
    return source, hypothesis, [draw(golds(len(source))), draw(golds(len(source)))]


def triples(edits: object) -> list[tuple[int, int, str]]:
    return [(e.start, e.end, e.correction) for e in edits]  # type: ignore[attr-defined]


@given(annotated(), st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_equals_the_oracle(
    case: tuple[list[str], list[str], list[tuple[Edit, ...]]], max_unchanged_words: int
) -> None:
    source, hypothesis, annotations = case
    overlaps = max_match(
        " ".join(source),
        " ".join(hypothesis),
        annotations,
        max_unchanged_words=max_unchanged_words,
    )
    for overlap, gold in zip(overlaps, annotations, strict=True):
        expected = oracle_edits(source, hypothesis, gold, max_unchanged_words)
        assert triples(overlap.edits) == [
            (edit.start, edit.end, " ".join(edit.correction)) for edit in expected
        ]
        assert len(overlap.pairs) == oracle_tp(expected, gold)


@given(annotated(), st.integers(0, 20))
@settings(max_examples=150, deadline=None)
def test_a_lattice_with_too_many_arcs_becomes_one_alignment(
    case: tuple[list[str], list[str], list[tuple[Edit, ...]]], most: int
) -> None:
    source, hypothesis, annotations = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_ARCS", most)
        lattice = EditLattice(source, hypothesis)
        for gold in annotations:
            edits = lattice.extract(gold)
            assert apply_edits(" ".join(source), edits) == " ".join(hypothesis)


def test_a_rewritten_paragraph_is_aligned_once() -> None:
    source = [f"a{i}" for i in range(900)]
    hypothesis = [*(f"b{i}" for i in range(899)), "a899"]
    lattice = EditLattice(source, hypothesis)
    # 899 substitutions and a match: an edit has at most 300,000 // 900 tokens.
    gold = (Edit(10, 12, "b10 b11"), Edit(0, 1, "elsewhere"))
    edits = lattice.extract(gold)
    assert match_edits(edits, gold) == ((1, 0),)
    assert [(edit.start, edit.end) for edit in edits[:2]] == [(0, 10), (10, 12)]
    assert max(edit.end - edit.start for edit in edits) <= 333
    assert apply_edits(" ".join(source), edits) == " ".join(hypothesis)


@pytest.mark.parametrize("ignore", [False, True])
def test_ignore_whitespace_and_casing(ignore: bool) -> None:
    (overlap,) = max_match(
        "The ice cream is Cold", "the icecream is warm", [()], ignore_whitespace_casing=ignore
    )
    assert triples(overlap.edits) == [(0, 5, "the icecream is warm")]
    (overlap,) = max_match(
        "the ice cream is too cold here",
        "the icecream is too cold there",
        [()],
        ignore_whitespace_casing=ignore,
        max_unchanged_words=0,
    )
    changed = [(6, 7, "there")]
    assert triples(overlap.edits) == (changed if ignore else [(1, 3, "icecream"), *changed])


def test_gold_edits_of_a_text_join_neighbours_and_hold_no_unchanged_word() -> None:
    edits = reference_edits(
        "He go to the school by a bus today", "He went to school by bus , today"
    )
    assert triples(edits) == [(1, 2, "went"), (3, 4, ""), (6, 8, "bus ,")]
    assert reference_edits("a b", "a b") == ()


def test_two_hundred_unrelated_words() -> None:
    source = [f"a{i}" for i in range(110)]
    hypothesis = [f"b{i}" for i in range(100)]
    gold = (Edit(10, 12, "b10 b11"), Edit(50, 51, "b45"), Edit(0, 1, "elsewhere"))
    (overlap,) = max_match(" ".join(source), " ".join(hypothesis), [gold])
    # They are aligned once, as substitutions from left to right, on which only the first gold edit lies.
    assert overlap.pairs == ((1, 0),)
    assert [(edit.start, edit.end) for edit in overlap.edits] == [(0, 10), (10, 12), (12, 110)]
    assert apply_edits(" ".join(source), overlap.edits) == " ".join(hypothesis)
