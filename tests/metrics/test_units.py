"""Characters as units: one meaning in every metric that counts n-grams, edits or chunks."""

from __future__ import annotations

import pytest
from annotated import references_of
from hypothesis import given
from hypothesis import strategies as st

from learnedgec import Edit, load_metric
from learnedgec.data.tokenisation import characters_apart, units
from learnedgec.scoring import bind_one

# Metrics that have the parameter, without what is not for characters.
NAMES = [
    "gleu(iterations=5, {})",
    "green({})",
    "hter({})",
    "edit-count({})",
    "length({})",
    "cleme(edits='aligned', {})",
    "cleme2(edits='aligned', weights='none', {})",
    "cleme(annotator='plain', {})",
]

TEXTS = st.text(alphabet="ab 猫", min_size=1, max_size=8).map(
    lambda text: " ".join(text.split()) or "a"
)


@pytest.mark.parametrize("name", NAMES)
@given(source=TEXTS, hypothesis=TEXTS, references=st.lists(TEXTS, min_size=1, max_size=3))
def test_characters_are_the_words_of_texts_with_spaces_between(
    name: str, source: str, hypothesis: str, references: list[str]
) -> None:
    score = load_metric(name.format("unit='char'")).score([source], [hypothesis], [references])
    apart = load_metric(name.format("unit='word'")).score(
        [characters_apart(source)],
        [characters_apart(hypothesis)],
        [[characters_apart(text) for text in references]],
    )
    assert score.value == pytest.approx(apart.value, nan_ok=True)


def test_units_of_a_text() -> None:
    assert units("a  bc ", "word") == ["a", "bc"]
    assert units("a bc", "char") == ["a", " ", "b", "c"]
    assert characters_apart("猫\u3000は").split() == ["猫", "\u2423", "は"]


def test_gold_edits_are_of_words_and_not_used() -> None:
    gold = references_of("猫か", [Edit(0, 1, "猫が")])
    cleme = load_metric("cleme(edits='aligned', unit='char')")
    assert cleme.score(["猫か"], ["猫が"], gold).value == pytest.approx(1.0)
    assert bind_one(cleme).signature(gold).endswith("|gold:aligned")
    assert (
        not bind_one(load_metric("cleme(edits='aligned')"))
        .signature(gold)
        .endswith("|gold:aligned")
    )
