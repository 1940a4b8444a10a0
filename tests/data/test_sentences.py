"""Texts out of whatever holds them, and one sentence about what does not."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from text_containers import CONTAINERS

from learnedgec import score
from learnedgec.applications.rerank import rerank, vote
from learnedgec.data.references import Reference, References, as_references
from learnedgec.data.sentences import as_sentences, as_systems
from learnedgec.errors import InputError, LengthError

LONG = "b " * 3001
NO_SEQUENCE = "; a sequence of texts was expected"
TEXTS = ["He go home .", "", " ", "Œuvre 😀 !"]


@pytest.mark.parametrize("holder", CONTAINERS)
def test_any_sequence_of_texts_is_a_list_of_plain_texts(holder: str) -> None:
    sentences = as_sentences(CONTAINERS[holder](TEXTS), "sources")
    assert sentences == TEXTS
    assert type(sentences) is list
    assert {type(text) for text in sentences} == {str}


@given(st.lists(st.text()))
def test_a_list_of_texts_is_returned_as_it_is(texts: list[str]) -> None:
    assert as_sentences(texts, "sources") is texts
    assert as_sentences(tuple(texts), "sources") == texts


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
    references = as_references(rows, TEXTS[:3])
    assert references == References.from_texts(["A b .", "C .", None], ["A c .", None, None])
    assert references is not None
    assert references.texts() == ROWS
    assert as_references(references, TEXTS[:3]) is references


def test_references_of_equal_number_may_be_a_table() -> None:
    references = as_references(np.array([["a b", "a d"], ["e c", "e f"]]), ["a", "e"])
    assert references == References.from_texts(["a b", "e c"], ["a d", "e f"])
    assert as_references(None, ["a"]) is None


@pytest.mark.parametrize("rows", [["A b .", "C ."], np.array(["A b .", "C ."]), ("A b .", "C .")])
def test_texts_alone_are_one_reference_each(rows: Any) -> None:
    assert as_references(rows, ["a", "c"]) == References.from_texts(["A b .", "C ."])


SQUARE = ["He go home .", "She like tea ."]
BY_SENTENCE = [["He goes home .", "He went home ."], ["She likes tea .", "She liked tea ."]]
BY_ANNOTATOR = [list(column) for column in zip(*BY_SENTENCE, strict=True)]


def test_a_square_of_texts_is_read_by_sentence_only_where_that_is_clear() -> None:
    expected = References.from_rows(BY_SENTENCE)
    assert as_references(BY_SENTENCE, SQUARE) == expected
    with pytest.raises(InputError, match="it seems that each row is an annotator's; if each row"):
        as_references(BY_ANNOTATOR, SQUARE)
    assert References.from_texts(*BY_ANNOTATOR) == expected
    # Equal sources do not tell, except where rows and columns are the same.
    twice, rows = [SQUARE[0]] * 2, [BY_SENTENCE[0]] * 2
    with pytest.raises(InputError, match=r"2 × 2 texts, .* and it is not clear which; if each row"):
        as_references(rows, twice)
    assert as_references(References.from_rows(rows), twice) == References.from_rows(rows)
    assert as_references([["a", "b"], ["b", "a"]], twice) is not None
    assert as_references([["He goes ."]], ["He go ."]) == References.from_texts(["He goes ."])


def test_other_numbers_of_annotators_are_refused() -> None:
    three = ["a", "b", "c"]
    with pytest.raises(
        LengthError, match=r"2 × 3 texts, .* pass References.from_texts\(\*references\)"
    ):
        as_references([three, three], three)


def test_annotators_may_have_no_text_for_a_sentence() -> None:
    references = References.from_texts(pd.Series(["a", "b"]), pd.Series([None, "d"]))
    assert references.texts() == [["a"], ["b", "d"]]
    assert references == References.from_texts(["a", "b"], [None, "d"])
    with pytest.raises(InputError, match=r"^annotators\[0\] is the text 'a b'"):
        References.from_texts("a b")
    with pytest.raises(InputError, match=r"^annotators\[1\]\[0\] is 3; a text was expected"):
        References.from_texts(["a"], [3])  # type: ignore[list-item]


def test_a_data_frame_has_a_system_in_each_column() -> None:
    frame = pd.DataFrame({"ours": ["a", "b"], "theirs": ["a", "c"]})
    assert as_systems(frame) == {"ours": ["a", "b"], "theirs": ["a", "c"]}
    assert score("length", frame["ours"], frame)["theirs"].value == 1.0
    assert vote(["a", "b"], frame, annotator="plain") == ["a", "b"]
    ranked = rerank("length", ["a", "b"], frame)
    assert (ranked.systems, ranked.texts) == (("ours", "theirs"), ("a", "b"))
    with pytest.raises(InputError, match=r"^systems\['theirs'\]\[1\] is NaN; a text"):
        as_systems(pd.DataFrame({"theirs": ["a", float("nan")]}))


def sentences_of(value: Any) -> object:
    return as_sentences(value, "x")


def references_of(value: Any) -> object:
    return as_references(value, ["a", "b"])


@pytest.mark.parametrize(
    ("convert", "value", "message"),
    [
        (sentences_of, None, f"x is None{NO_SEQUENCE}."),
        (sentences_of, float("nan"), f"x is NaN{NO_SEQUENCE}."),
        (sentences_of, "He go .", f"x is the text 'He go .'{NO_SEQUENCE}: put it into a list."),
        (sentences_of, {"a": "b"}, f"x is of type dict{NO_SEQUENCE}."),
        (sentences_of, pd.DataFrame({"a": ["b"]}), f"x is of type DataFrame{NO_SEQUENCE}."),
        (sentences_of, map(str, [1]), f"x is of type map{NO_SEQUENCE}."),
        (sentences_of, ["a", None], "x[1] is None; a text was expected."),
        (sentences_of, pd.Series(["a", float("nan")]), "x[1] is NaN; a text was expected."),
        (sentences_of, np.array([1.5]), "x[0] is 1.5; a text was expected."),
        (
            sentences_of,
            [LONG],
            "x[0] has 3,001 tokens, and at most 3,000 are scored; split this line.",
        ),
        (
            as_systems,
            ["a"],
            "systems is of type list; a mapping from each system's name to its hyp",
        ),
        (as_systems, {}, "systems is empty; give at least one system."),
        (as_systems, {"ours": ["a", None]}, "systems['ours'][1] is None; a text was expected."),
        (references_of, "A b .", "references is the text 'A b .'; a sequence of each sentence's"),
        (references_of, ["A b .", ["C"]], "references[0] is the text 'A b .'; a sequence of texts"),
        (references_of, [["A b ."], None], f"references[1] is None{NO_SEQUENCE}."),
        (references_of, [["a"], ["b", LONG]], "references[1][1] has 3,001 tokens, and at most"),
        (references_of, References(((), (Reference(LONG),))), "references[1] has 3,001 tokens,"),
        (references_of, [["a", "b"]], "references has 1 × 2 texts, and a row for each of 2"),
    ],
)
def test_anything_else_is_one_sentence(
    convert: Callable[[Any], object], value: Any, message: str
) -> None:
    error = LengthError if "×" in message else InputError
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        convert(value)
