"""Best of n and minimum Bayes risk against literal loops; what guards let through."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from embedded import Sample
from hypothesis import given, settings
from hypothesis import strategies as st

from learnedgec import References, load_metric
from learnedgec.applications.rerank import (
    Guards,
    MinimumBayesRisk,
    as_candidates,
    as_selector,
    rerank,
)
from learnedgec.errors import ConfigError, InputError

SOURCE = "He go to the school"
ROW = ["He go to the school", "He goes to school", "He goes to the school", "He goes to school"]

words = st.lists(st.sampled_from(["a", "b", "c", "d", "."]), max_size=5).map(" ".join)
cases = st.lists(st.tuples(words, st.lists(words, min_size=1, max_size=4)), min_size=1, max_size=4)


@given(cases)
@settings(max_examples=50, deadline=None)
def test_the_best_is_the_first_with_the_largest_score(case: list[tuple[str, list[str]]]) -> None:
    sources, candidates = [source for source, _ in case], [row for _, row in case]
    metric = load_metric("length")
    result = rerank(metric, sources, candidates)
    for number, row in enumerate(candidates):
        scores = [metric.score([sources[number]], [text]).sentences[0] for text in row]
        assert result.scores[number].tolist() == pytest.approx(scores)
        assert result.chosen[number] == scores.index(max(scores))
        assert result.texts[number] == row[result.chosen[number]]
        others = [s for s, text in zip(scores, row, strict=True) if text != result.texts[number]]
        expected = max(scores) - max(others) if others else math.nan
        assert result.margins[number] == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("name", ["gleu", "m2", "green"])
@given(case=cases)
@settings(max_examples=25, deadline=None)
def test_minimum_bayes_risk_is_the_expected_utility(
    name: str, case: list[tuple[str, list[str]]]
) -> None:
    sources, candidates = [source for source, _ in case], [row for _, row in case]
    metric = load_metric(name)
    scores = rerank(MinimumBayesRisk(metric), sources, candidates).scores
    for number, row in enumerate(candidates):
        for place, hypothesis in enumerate(row):
            utilities = [
                metric.score(
                    [sources[number]], [hypothesis], References.from_texts([reference])
                ).sentences[0]
                for reference in row
            ]
            assert scores[number][place] == pytest.approx(np.mean(utilities))


def test_a_result_can_be_looked_at() -> None:
    pandas = pytest.importorskip("pandas")
    sources = ["He go home", "Yes"]
    systems = {
        "A": ["He go home", "Yes"],
        "B": ["He goes home", "No"],
        "C": ["He goes home", "Yes"],
    }
    result = rerank("mbr(gleu)", sources, systems)
    assert repr(result) == "Reranking(by='mbr(gleu)', chosen={'B': 1, 'A': 1})"
    assert [row["chosen"] for row in result.table().records()] == ["B", "A"]
    frame = result.to_frame()
    assert list(frame) == ["sentence", "text", "chosen", "margin", "score_A", "score_B", "score_C"]
    assert frame["text"].tolist() == ["He goes home", "Yes"]
    assert frame["score_B"].tolist() == pytest.approx([scores[1] for scores in result.scores])
    assert isinstance(frame, pandas.DataFrame)
    assert "<td" in result._repr_html_()
    # The same candidates as lists have numbers instead of names.
    lists = rerank("mbr(gleu)", sources, as_candidates(systems, sources))
    assert [row["chosen"] for row in lists.table().records()] == [2, 1]
    assert lists.texts == result.texts
    assert repr(rerank("length", sources, systems)).startswith("Reranking(by='length', chosen={")
    with pytest.raises(InputError, match="or its name such as 'gleu'"):
        rerank(sources, systems, "mbr(gleu)")  # type: ignore[arg-type]


def test_with_references_the_choice_is_an_oracle(sample: Sample) -> None:
    gleu = load_metric("gleu")
    oracle = rerank(gleu, sample.sources, sample.systems, sample.references)
    best = [max(values) for values in oracle.scores]
    reached = gleu.score(sample.sources, oracle.texts, sample.references).sentences
    assert reached == pytest.approx(best)


def test_the_source_is_nobodys_reference_in_a_minimum_bayes_risk() -> None:
    selector = as_selector("mbr(gleu)")
    plain = rerank(selector, [SOURCE], [ROW])
    guarded = rerank(selector, [SOURCE], [ROW], guards=Guards(fallback="source"))
    assert guarded.scores[0] == pytest.approx(plain.scores[0])
    assert guarded.texts == plain.texts == ("He goes to school",)


LONG_EDIT = ["They walked to a very big school", "He goes to the school"]


@pytest.mark.parametrize(
    ("by", "source", "row", "guards", "chosen", "margin"),
    [
        ("length", "a b c", ["a", "a b"], Guards("source"), -1, 1.0),
        ("length", "a", ["a b", "a"], Guards("source"), 0, 1.0),
        ("length", "a", ["a", "a b c"], Guards("first"), 1, 2.0),
        ("length", SOURCE, LONG_EDIT, Guards(longest_edit=1), 1, -2.0),
        ("length", SOURCE, LONG_EDIT, Guards(), 0, 2.0),
        # If none passes, the best stays where there is no fallback.
        ("length", SOURCE, LONG_EDIT[:1] * 2, Guards(longest_edit=1), 0, math.nan),
        ("constant", SOURCE, LONG_EDIT[:1], Guards("source", longest_edit=1), -1, 0.0),
    ],
)
def test_guards_reject_candidates(
    by: str, source: str, row: list[str], guards: Guards, chosen: int, margin: float
) -> None:
    result = rerank(by, [source], [row], guards=guards)
    assert result.chosen.tolist() == [chosen]
    assert result.texts == (source if chosen < 0 else row[chosen],)
    assert result.margins.tolist() == pytest.approx([margin], nan_ok=True)


def test_a_fallback_that_there_is_not() -> None:
    with pytest.raises(ConfigError, match="fallback is 'sources'; one of none, source, first"):
        Guards(fallback="sources")  # type: ignore[arg-type]


def test_candidates_may_be_arrays() -> None:
    rows = [np.array(["He goes .", "He ."]), np.array(["A b ."])]
    assert rerank("length", ["He go .", "A ."], rows).texts == ("He goes .", "A b .")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([["a"]], "2 sources have 1 lists"),
        ([["a"], "b"], r"candidates\[1\] is the text 'b'; a sequence of texts was expected"),
        ([["a"], [None]], r"candidates\[1\]\[0\] is None; a text was expected"),
        (None, "candidates is None; a list of candidates for each source was expected"),
        ({"A": ["a", "b"], "B": ["a"]}, "sources has 2 sentences but B has 1"),
    ],
)
def test_candidates_that_cannot_be_used(candidates: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rerank("mbr(gleu)", ["x", "y"], candidates)
