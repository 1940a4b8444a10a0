"""Long sentences in pieces: all of both, in order, cut where they agree; edits still make the target."""

from __future__ import annotations

import random

import pytest
from embedded import Sample
from hypothesis import given
from hypothesis import strategies as st

from learnedgec.edits import alignment, pieces, plain
from learnedgec.edits.annotator import extract_edits
from learnedgec.edits.pieces import LongSentenceWarning, cut
from learnedgec.formats.m2 import apply_edits

words = st.lists(st.sampled_from("abcdef"), max_size=30)


@given(words, words, st.integers(1, 12))
def test_pieces_are_all_of_both_in_order(source: list[str], target: list[str], most: int) -> None:
    found = cut(source, target, most)
    assert [word for start, end, *_ in found for word in source[start:end]] == source
    assert [word for *_, left, right in found for word in target[left:right]] == target
    ends = [(0, 0), *((end, right) for _, end, _, right in found)]
    assert [(start, left) for start, _, left, _ in found] == ends[:-1]
    assert all(0 < max(end - start, right - left) <= most for start, end, left, right in found)


def test_pieces_end_in_the_middle_of_the_longest_run() -> None:
    source = ["a", "b", "X", "c", "d", "e", "f", "g", "h", "Y", "i"]
    target = ["a", "b", "x", "c", "d", "e", "f", "g", "h", "y", "i"]
    assert cut(source, target, 8) == [(0, 6, 0, 6), (6, 11, 6, 11)]


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sentences of more than eight tokens be long ones."""
    for module in (alignment, pieces, plain):
        monkeypatch.setattr(module, "LONG", 8)
    monkeypatch.setattr(alignment, "cut", lambda *texts: cut(*texts, 8))
    monkeypatch.setattr(plain, "cut", lambda *texts: cut(*texts, 8))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("annotator", ["en-ewt-sm", "plain"])
def test_edits_of_long_sentences_make_the_target(sample: Sample, annotator: str) -> None:
    generator = random.Random(3)
    pairs = []
    for source, target in zip(sample.sources, sample.systems["eager"], strict=True):
        scrambled = target.split()
        generator.shuffle(scrambled)
        pairs += [(source, target), (source, " ".join(scrambled)), (source, ""), ("", target)]
    with pytest.warns(LongSentenceWarning, match=r"texts of more than 8 tokens \(here "):
        found = extract_edits(pairs, annotator)
    for (source, target), edits in zip(pairs, found, strict=True):
        assert apply_edits(source, edits) == target
        assert all(edit.type for edit in edits)


@pytest.mark.parametrize("annotator", ["en-ewt-sm", "plain"])
def test_pieces_change_few_edits(
    sample: Sample, annotator: str, request: pytest.FixtureRequest
) -> None:
    pairs = [
        (source, target)
        for targets in sample.systems.values()
        for source, target in zip(sample.sources, targets, strict=True)
    ]
    whole = extract_edits(pairs, annotator)
    request.getfixturevalue("short")
    with pytest.warns(LongSentenceWarning):
        cut_up = extract_edits(pairs, annotator)
    equal = sum(edits == others for edits, others in zip(whole, cut_up, strict=True))
    assert equal >= 0.9 * len(pairs)


@pytest.mark.parametrize("annotator", ["en-ewt-sm", "plain"])
def test_two_long_texts_with_nothing_in_common(annotator: str) -> None:
    source, target = " ".join(["go"] * 1001), " ".join(["home"] * 1100)
    with pytest.warns(LongSentenceWarning, match="up to 1,100 tokens"):
        (edits,) = extract_edits([(source, target)], annotator)
    assert apply_edits(source, edits) == target


@pytest.mark.parametrize("annotator", ["en-ewt-sm", "plain"])
def test_a_token_of_a_million_characters_comes_back_whole(annotator: str) -> None:
    long, other = "a" * 10**6, "a" * (10**6 - 1) + "b"
    pairs = [(f"He {long} home .", f"He {other} home ."), (f"He {long} .", f"She {long} .")]
    first, second = extract_edits(pairs, annotator)
    assert [(edit.start, edit.end, edit.correction) for edit in first] == [(1, 2, other)]
    assert [(edit.start, edit.end, edit.correction) for edit in second] == [(0, 1, "She")]
