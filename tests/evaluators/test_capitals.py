"""Capitals as an uncased encoder's head sees them, beside a slow oracle."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import tiny
import torch
from hypothesis import given
from hypothesis import strategies as st

from learnedgec import Runtime
from learnedgec.errors import InputError
from learnedgec.evaluators.evaluator import Evaluator, HeadConfig, capitals_likelihood
from learnedgec.evaluators.inference import (
    CAPITAL,
    SMALL,
    UNMARKED,
    mark_capitals,
    tokenise,
)

WORDS = st.lists(
    st.sampled_from(["He", "he", "goes", "Goes", "9th", ".", "Éva", "日本"]), max_size=6
)


@given(WORDS)
def test_marks_are_those_of_the_words(words: list[str]) -> None:
    text = " ".join(words)
    places = tiny.tokenizer()(text, return_offsets_mapping=True)["offset_mapping"]
    marks = [
        (text[start], mark)
        for (start, end), mark in zip(places, mark_capitals(text, places), strict=True)
        if end > start and (start == 0 or text[start - 1] == " ")
    ]
    expected = [
        (word[0], UNMARKED if word[0] in "9.日" else CAPITAL if word[0] in "HGÉ" else SMALL)
        for word in words
    ]
    assert marks == expected
    # Of a word that the tokenizer splits, only the first token is marked.
    marked = [mark for mark in mark_capitals(text, places) if mark != UNMARKED]
    assert marked == [mark for _, mark in expected if mark != UNMARKED]


def test_likelihood_is_the_sum_over_words() -> None:
    logits = torch.tensor([[5.0, -1.0, 2.0, 0.5], [0.0, 30.0, 0.0, 0.0]])
    marks = torch.tensor([[0, 1, 2, 2], [0, 1, 0, 0]])
    expected = [
        math.log(1 / (1 + math.exp(-1))) - math.log1p(math.exp(-2)) - math.log1p(math.exp(-0.5)),
        -4.0,
    ]
    assert capitals_likelihood(logits, marks).tolist() == pytest.approx(expected)
    # A long text in another style costs no more than ten words.
    logits, marks = torch.full((2, 50), 9.0), torch.full((2, 50), SMALL)
    marks[1, 9:] = UNMARKED
    assert capitals_likelihood(logits, marks).tolist() == pytest.approx([-40.0, -36.0])


@pytest.fixture
def package(tmp_path: Path) -> Path:
    heads = {
        "quality": HeadConfig("hypothesis"),
        "capitals": HeadConfig("hypothesis", reads="capitals", layer=1),
    }
    sums = {"quality": {"quality": 1.0, "capitals": 0.5}, "both": {"quality": 2.0, "capitals": 1.0}}
    return tiny.save_evaluator(tmp_path / "cased", heads=heads, sums=sums)


def test_capitals_change_scores_and_sums_may_replace_heads(package: Path) -> None:
    evaluator = Evaluator.load(str(package), runtime=Runtime(device="cpu"))
    assert sorted(evaluator.outputs) == ["both", "capitals", "quality"]
    texts = ["He goes .", "he goes .", "He goes ."]
    predicted = evaluator.predict(texts, texts)
    assert predicted["capitals"][0] == predicted["capitals"][2] != predicted["capitals"][1]
    states = torch.tensor(tokenise(evaluator.tokenizer, texts[:1])["input_ids"])
    mask = torch.ones_like(states)
    with torch.inference_mode():
        output = evaluator.model.encoder(states, mask, output_hidden_states=True)
        bare = evaluator.model.heads["quality"](output.last_hidden_state.mean(dim=1)).item()
        logits = evaluator.model.heads["capitals"](output.hidden_states[1])[0, 1:3, 0].tolist()
    capitals = -math.log1p(math.exp(-logits[0])) - math.log1p(math.exp(logits[1]))
    assert predicted["capitals"][0] == pytest.approx(capitals, abs=1e-5)
    assert predicted["quality"][0] == pytest.approx(bare + 0.5 * capitals, abs=1e-5)
    assert predicted["both"][0] == pytest.approx(2 * bare + capitals, abs=1e-5)
    assert evaluator.predict(texts, texts, ["both"])["both"].tolist() == pytest.approx(
        predicted["both"].tolist()
    )


def test_a_space_before_a_word_may_belong_to_its_token() -> None:
    places = [(0, 2), (2, 7), (7, 9), (9, 12), (0, 0)]
    assert mark_capitals("He Goes 9 am", places) == [CAPITAL, CAPITAL, UNMARKED, SMALL, UNMARKED]


def test_a_batch_without_marks(package: Path) -> None:
    evaluator = Evaluator.load(str(package), runtime=Runtime(device="cpu"))
    batch = evaluator.tokenizer(["He goes ."], return_tensors="pt")
    assert set(evaluator.model(batch, heads=["quality"])) == {"quality"}
    with pytest.raises(InputError, match="the head capitals reads the marks 'capitals'"):
        evaluator.model(batch)


def test_a_layer_is_read_beside_a_head_of_another_input(tmp_path: Path) -> None:
    heads = {
        "meaning": HeadConfig("pair"),
        "capitals": HeadConfig("hypothesis", reads="capitals", layer=1),
    }
    model = Evaluator.load(str(tiny.save_evaluator(tmp_path / "mixed", heads=heads))).model
    batch = {"input_ids": torch.tensor([[2, 5, 3]]), "attention_mask": torch.ones(1, 3).long()}
    batch["capitals"] = torch.tensor([[UNMARKED, CAPITAL, UNMARKED]])
    together = model(batch)
    for name in heads:
        assert together[name].tolist() == pytest.approx(model(batch, heads=[name])[name].tolist())
