"""Edit voting: shares, thresholds, conflicts, and the threshold that development data prefer."""

from __future__ import annotations

import pytest
from embedded import Sample
from hypothesis import given, settings
from hypothesis import strategies as st

from learnedgec import load_metric
from learnedgec.applications.candidates import candidates_of_systems
from learnedgec.applications.voting import Votes, count_votes, tune_threshold, vote
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.edits.annotator import extract_edits
from learnedgec.errors import ConfigError, InputError

ANNOTATOR = "en-ewt-sm"
SOURCE = "He go to the school yesterday"
ROW = [
    "He went to the school yesterday",
    "He went to school yesterday",
    "He goes to school yesterday .",
]

spans = st.tuples(st.integers(0, 5), st.integers(0, 2), st.sampled_from(["", "x", "y z"]))


def edit(start: int, length: int, correction: str) -> Edit:
    return Edit(start, min(start + length, 6), correction)


@pytest.mark.parametrize(
    ("threshold", "text"),
    [
        (0.9, "He go to the school yesterday"),
        (0.5, "He went to school yesterday"),
        (0.0, "He went to school yesterday ."),
    ],
)
def test_an_edit_needs_more_than_its_share(threshold: float, text: str) -> None:
    assert vote([SOURCE], [ROW], annotator=ANNOTATOR, threshold=threshold) == [text]


def test_weights_decide() -> None:
    texts = vote([SOURCE], [ROW], annotator=ANNOTATOR, weights=[[1.0, 0.0, 3.0]])
    assert texts == ["He goes to school yesterday ."]


def test_half_of_the_votes_is_not_more_than_half() -> None:
    candidates = [[ROW[0]] * 3 + [ROW[2]] * 3]
    assert vote([SOURCE], candidates, annotator=ANNOTATOR) == [SOURCE]


def test_one_system_is_its_own_vote(sample: Sample) -> None:
    outputs = sample.systems["strong"]
    pairs = list(zip(sample.sources, outputs, strict=True))
    expected = [
        apply_edits(source, edits)
        for source, edits in zip(sample.sources, extract_edits(pairs, ANNOTATOR), strict=True)
    ]
    assert vote(sample.sources, [[text] for text in outputs], annotator=ANNOTATOR) == expected


@given(
    st.lists(st.tuples(spans, st.floats(0, 1)), max_size=6),
    st.floats(0, 0.99),
)
@settings(max_examples=200, deadline=None)
def test_kept_edits_can_be_applied_and_no_edit_that_fits_is_left_out(
    drawn: list[tuple[tuple[int, int, str], float]], threshold: float
) -> None:
    edits = tuple({edit(*span): share for span, share in drawn}.items())
    votes = Votes(("a b c d e f",), (edits,))
    text = votes.texts(threshold)[0]
    enough = [(edit, share) for edit, share in edits if share > threshold + 1e-9]
    if not enough:
        assert text == "a b c d e f"
    elif len(enough) == 1:
        assert text == apply_edits("a b c d e f", [enough[0][0]])


def test_of_overlapping_edits_the_one_with_more_votes_stays() -> None:
    votes = Votes(("a b c",), (((Edit(0, 2, "x"), 0.3), (Edit(1, 3, "y"), 0.4)),))
    assert votes.texts(0.2) == ["a y"]
    assert votes.texts(0.35) == ["a y"]
    assert votes.texts(0.4) == ["a b c"]


def test_the_tuned_threshold_is_the_best_of_all(sample: Sample) -> None:
    votes = count_votes(sample.sources, candidates_of_systems(sample.systems), annotator=ANNOTATOR)
    gleu = load_metric("gleu")
    search = tune_threshold(votes, sample.references, gleu)
    assert sorted(search.scores) == pytest.approx([0.0, 0.25, 0.5, 0.75])
    for threshold, score in search.scores.items():
        voted = gleu.score(sample.sources, votes.texts(threshold), sample.references)
        assert score == pytest.approx(voted.value)
    assert search.scores[search.best] == max(search.scores.values())
    single = [
        gleu.score(sample.sources, texts, sample.references).value
        for texts in sample.systems.values()
    ]
    assert search.scores[search.best] > sum(single) / len(single)


def test_lists_of_different_lengths() -> None:
    votes = count_votes([SOURCE, SOURCE], [ROW, ROW[:1]], annotator=ANNOTATOR)
    assert votes.texts(0.5) == ["He went to school yesterday", ROW[0]]


def test_bad_input() -> None:
    with pytest.raises(InputError, match="no candidate"):
        count_votes([SOURCE], [[]], annotator=ANNOTATOR)
    with pytest.raises(InputError, match="not all 0"):
        count_votes([SOURCE], [ROW], annotator=ANNOTATOR, weights=[[0.0, 0.0, 0.0]])
    with pytest.raises(ConfigError, match="share of votes"):
        vote([SOURCE], [ROW], annotator=ANNOTATOR, threshold=1.0)
