"""Texts out of whatever holds them, and one sentence about what does not."""

from __future__ import annotations

import re
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pytest
from holders import HOLDERS
from hypothesis import given
from hypothesis import strategies as st

from learnedgec.data.references import Reference, References, as_references
from learnedgec.data.sentences import as_sentences, as_systems
from learnedgec.errors import InputError, LengthError

TEXTS = ["He go home .", "", " ", "Œuvre 😀 !"]


@pytest.mark.parametrize("holder", HOLDERS)
def test_any_sequence_of_texts_is_a_list_of_plain_texts(holder: str) -> None:
    found = as_sentences(HOLDERS[holder](TEXTS), "sources")
    assert found == TEXTS
    assert type(found) is list
    assert {type(text) for text in found} == {str}


@given(st.lists(st.text()))
def test_a_list_of_texts_is_returned_as_it_is(texts: list[str]) -> None:
    assert as_sentences(texts, "sources") is texts
    assert as_sentences(tuple(texts), "sources") == texts


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        (None, "x is None; a sequence of texts was expected."),
        (
            ["a", "b \ud800"],
            r"x[1] is 'b \ud800', which contains half a character (a lone surrogate).",
        ),
        (3.5, "x is 3.5; a sequence of texts was expected."),
        (float("nan"), "x is NaN; a sequence of texts was expected."),
        (
            "He go .",
            "x is the text 'He go .'; a sequence of texts was expected: put it into a list.",
        ),
        (b"He go .", "x is of type bytes; a sequence of texts was expected."),
        ({"a": "b"}, "x is of type dict; a sequence of texts was expected."),
        ({"a", "b"}, "x is of type set; a sequence of texts was expected."),
        (
            (text for text in "ab"),
            "x is of type generator, which can be read only once; make it a list.",
        ),
        (map(str, [1]), "x is of type map, which can be read only once; make it a list."),
        (pd.DataFrame({"a": ["b"]}), "x is of type DataFrame; a sequence of texts was expected."),
        (np.array("a"), "x is of type ndarray; a sequence of texts was expected."),
        (["a", None], "x[1] is None; a text was expected."),
        (["a", "b", 3], "x[2] is 3; a text was expected."),
        (["a", b"b"], "x[1] is b'b'; a text was expected."),
        ([float("nan")], "x[0] is NaN; a text was expected."),
        ([["a"], "b"], "x[0] is ['a']; a text was expected."),
        (pd.Series(["a", float("nan")]), "x[1] is NaN; a text was expected."),
        (pd.Series(["a", None], dtype="string"), "x[1] is NaN; a text was expected."),
        (np.array([1.5]), "x[0] is 1.5; a text was expected."),
        (np.array([["a"]]), "x[0] is ['a']; a text was expected."),
        (
            ["a", "a " * 3001],
            "x[1] has 3,001 tokens, and at most 3,000 are scored; split this line.",
        ),
        (
            ["a" * 10_001],
            "x[0] has a token of 10,001 characters, and at most 10,000 are scored; split this line.",
        ),
    ],
)
def test_anything_else_is_one_sentence(given_: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        as_sentences(given_, "x")


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        (["a"], "systems is of type list; a mapping from each system's name to its hypotheses"),
        ({}, "systems is empty; give at least one system."),
        ({3: ["a"]}, "systems has the key 3; a system's name is a text."),
        ({"ours": "a"}, "systems['ours'] is the text 'a'"),
        ({"ours": ["a", None]}, "systems['ours'][1] is None; a text was expected."),
    ],
)
def test_systems_are_texts_by_name(given_: Any, message: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        as_systems(given_)


ROWS = [["A b .", "A c ."], ["C ."], []]


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        tuple(map(tuple, ROWS)),
        [np.array(row, dtype=np.str_) for row in ROWS],
        pd.Series(ROWS),
        np.array([*map(list, ROWS), None], dtype=object)[:3],
        datasets.Dataset.from_dict({"references": ROWS})["references"],
    ],
)
def test_rows_of_references_of_varying_number(rows: Any) -> None:
    found = as_references(rows, 3)
    assert found is not None
    assert found.texts() == ROWS
    assert found == References.from_texts(["A b .", "C .", None], ["A c .", None, None])


def test_references_of_equal_number_may_be_a_table() -> None:
    found = as_references(np.array([["a", "b"], ["c", "d"]]), 2)
    assert found is not None
    assert found.texts() == [["a", "b"], ["c", "d"]]


def test_references_and_none_pass_through() -> None:
    references = References.from_rows(ROWS)
    assert as_references(references, 3) is references
    assert as_references(None, 3) is None


@pytest.mark.parametrize(
    ("given_", "error", "message"),
    [
        ("A b .", InputError, "references is the text 'A b .'; a sequence of each sentence's"),
        (
            ["A b .", "C ."],
            InputError,
            "references[0] is the text 'A b .'; a sequence of texts was",
        ),
        ([["A b ."], None], InputError, "references[1] is None; a sequence of texts was expected."),
        ([["A b ."], ["C .", None]], InputError, "references[1][1] is None; a text was expected."),
        (pd.DataFrame({"a": ["b"]}), InputError, "references is of type DataFrame; a sequence of"),
        ((row for row in ROWS), InputError, "references is of type generator, which can be read"),
        (
            [["a", "b"]],
            LengthError,
            "references has 1 × 2 texts, and a row for each of 2 sentences was",
        ),
        (
            References(((Reference("a"),), (Reference("b " * 3001),))),
            InputError,
            "references[1] has 3,001 tokens,",
        ),
        ([["a"], ["b", "b " * 3001]], InputError, "references[1][1] has 3,001 tokens, and at most"),
    ],
)
def test_unusable_references_are_one_sentence(
    given_: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        as_references(given_, 2)


def test_annotators_may_have_no_text_for_a_sentence() -> None:
    found = References.from_texts(pd.Series(["a", "b"]), pd.Series([None, "d"]))
    assert found.texts() == [["a"], ["b", "d"]]
    assert found == References.from_texts(["a", "b"], [None, "d"])
    with pytest.raises(InputError, match=r"^annotators\[0\] is the text 'a b'"):
        References.from_texts("a b")
    with pytest.raises(InputError, match=r"^annotators\[1\]\[0\] is 3; a text was expected"):
        References.from_texts(["a"], [3])  # type: ignore[list-item]
