"""Texts as they come are cut like texts in tokens, and once is enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnedgec import Edit, Reference, References, Runtime, score, tokenise
from learnedgec.data.tokenisation import tokenise_references

WORDS = st.text("abZ.,'’\"-()!?$€%/:;&0123456789 \u00a0\u2028\tü漢", max_size=30)


@given(st.lists(WORDS, max_size=3))
def test_once_is_enough_and_nothing_is_lost(texts: list[str]) -> None:
    tokenised = tokenise(texts)
    assert tokenise(tokenised) == tokenised
    assert ["".join(text.split()) for text in tokenised] == [
        "".join(text.split()) for text in texts
    ]
    assert tokenised == [" ".join(text.split()) for text in tokenised]


def test_words_are_cut_as_spacy_cuts_sentences() -> None:
    spacy = pytest.importorskip("spacy")
    text = 'He didn\'t say "no" (e.g. at 10 a.m.), but it cost $5.50, i.e. a lot!'
    assert tokenise([text])[0].split() == [token.text for token in spacy.blank("en")(text)]


def test_gold_edits_stay_where_the_tokens_do() -> None:
    edit = (Edit(1, 2, "goes"),)
    texts = ("He goes .", "He  goes .", "He goes home.")
    rows = tuple((Reference(text, edit, 3),) for text in texts)
    sources = ["He go .", "He  go .", "He go home."]
    unchanged, spaced, cut = tokenise_references(References(rows), sources)
    assert unchanged == spaced == rows[0]
    assert cut == (Reference("He goes home .", None, 3),)


@pytest.mark.parametrize("metric", ["gleu", "m2", "errant(annotator='plain')", "length"])
def test_a_score_is_that_of_the_tokens(metric: str) -> None:
    sources, hypotheses = ["He go to school.", "Fine."], ["He goes to school.", "Fine ."]
    references = [["He goes to school ."], ["Fine."]]
    result = score(metric, sources, hypotheses, references, runtime=Runtime(tokenise="spacy"))
    expected = score(
        metric, *map(tokenise, (sources, hypotheses)), [tokenise(row) for row in references]
    )
    assert result.value == pytest.approx(expected.value)
    assert "|tokens:spacy-en-" in result.signature
    assert "|tokens:" not in expected.signature
    if metric != "length":
        assert result.value == pytest.approx(1.0)
        assert score(metric, sources, hypotheses, references).value < 1


def test_metrics_scored_together_share_the_tokens() -> None:
    references = References(((Reference("He goes home.", (Edit(1, 2, "goes"),)),),))
    inputs = (["He go home."], {"a": ["He goes home."]}, references)
    scores = score(["length", "m2"], *inputs, runtime=Runtime(tokenise="spacy"))
    assert (scores["length"]["a"].value, scores["m2"]["a"].value) == (4, 1)
