"""Distances by bands are those of the whole table."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from learnedgec import load_metric
from learnedgec.edits import distances
from learnedgec.edits.distances import levenshtein_distance
from learnedgec.edits.pieces import LongSentenceWarning

words = st.lists(st.sampled_from("abc"), max_size=40)


@given(words, words)
def test_distances_of_sentences(first: list[str], second: list[str]) -> None:
    assert levenshtein_distance(first, second) == Levenshtein.distance(first, second)


@pytest.mark.parametrize("changed", [0, 1, 63, 64, 65, 500, 3000])
def test_distances_of_long_texts(changed: int) -> None:
    generator = random.Random(changed)
    first = generator.choices("abcdefgh", k=3000)
    second = list(first)
    for place in generator.sample(range(len(second)), changed):
        second[place] = generator.choice(["", "x", "ab"])
    assert levenshtein_distance(first, second) == Levenshtein.distance(first, second)


@pytest.mark.parametrize("name", ["hter(unit='char')", "edit-count(unit='char')"])
def test_what_may_take_long_is_said(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances, "_SLOW", 9)
    metric = load_metric(name)
    assert metric.score(["He go ."], ["He went ."], [["He goes ."]]).value > 0
    with pytest.warns(LongSentenceWarning, match="of which there are 1, up to 12, take time"):
        metric.score(["He go .", "a"], ["He go home .", "b"], [["He goes ."], ["c"]])
