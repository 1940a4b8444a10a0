"""Edit voting: shares, thresholds and conflicts."""

from __future__ import annotations

from typing import Any

import pytest
from embedded import Sample
from hypothesis import given, settings
from hypothesis import strategies as st

from learnedgec.applications.rerank import _compatible, vote
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
    ("row", "options", "text"),
    [
        (ROW, {"threshold": 0.9}, SOURCE),
        (ROW, {}, "He went to school yesterday"),
        (ROW, {"threshold": 0.0}, "He went to school yesterday ."),
        # Half of the votes is not more than half.
        ([ROW[0]] * 3 + [ROW[2]] * 3, {}, SOURCE),
    ],
)
def test_an_edit_needs_more_than_its_share(row: list[str], options: Any, text: str) -> None:
    # The second source has fewer candidates.
    texts = vote([SOURCE, SOURCE], [row, ROW[:1]], annotator=ANNOTATOR, **options)
    assert texts == [text, ROW[0]]


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
    shares = {edit(*span): share for span, share in drawn}
    chosen = _compatible(shares, threshold)
    assert apply_edits("a b c d e f", chosen)
    enough = [edit for edit, share in shares.items() if share > threshold]
    assert len(chosen) == len(enough) if len(enough) < 2 else chosen


def test_of_overlapping_edits_the_one_with_more_votes_stays() -> None:
    shares = {Edit(0, 2, "x"): 0.3, Edit(1, 3, "y"): 0.4}
    for threshold, chosen in ((0.2, ["y"]), (0.35, ["y"]), (0.4, [])):
        assert [edit.correction for edit in _compatible(shares, threshold)] == chosen


def test_bad_input() -> None:
    with pytest.raises(InputError, match=r"candidates\[0\] is empty"):
        vote([SOURCE], [[]], annotator=ANNOTATOR)
    with pytest.raises(InputError, match=r"candidates\[0\]\[1\] is None; a text was expected"):
        vote([SOURCE], [[SOURCE, None]], annotator=ANNOTATOR)  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"sources\[0\] is None; a text was expected"):
        vote([None], [ROW], annotator=ANNOTATOR)  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="share of votes"):
        vote([SOURCE], [ROW], annotator=ANNOTATOR, threshold=1.0)
