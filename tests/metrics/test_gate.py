"""The gate of learned metrics: similarity of characters, and what a rejected text scores."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from embedded import SAMPLE_FOLDER
from hypothesis import given
from hypothesis import strategies as st

from learnedgec.formats.text import read_lines
from learnedgec.metrics.abilities import Gated
from learnedgec.metrics.gate import GATE, character_similarities
from learnedgec.metrics.impara import Impara
from learnedgec.metrics.preference import Preference
from learnedgec.metrics.some import Some
from learnedgec.metrics.statistics import Statistics

TEXTS = st.text("ab C\t", max_size=12)


def literal_dice(source: str, hypothesis: str) -> float:
    """Pair each trigram of the one text with one of the other that nothing is paired with."""
    first, second = (
        [padded[place : place + 3] for place in range(len(padded) - 2)]
        for text in (source, hypothesis)
        for padded in [" " + " ".join(text.lower().split()) + " "]
    )
    rest, common = list(second), 1
    for trigram in first:
        if trigram in rest:
            rest.remove(trigram)
            common += 1
    return 2 * common / (len(first) + len(second) + 2)


@given(TEXTS, TEXTS)
def test_similarity_equals_pairing_trigrams_one_by_one(source: str, hypothesis: str) -> None:
    found = character_similarities([source, hypothesis], [hypothesis, source])
    expected = literal_dice(source, hypothesis)
    assert found == pytest.approx([expected, expected], abs=1e-12)


def test_short_corrections_and_free_rewritings_pass_and_unrelated_texts_do_not() -> None:
    sources = read_lines(SAMPLE_FOLDER / "source.txt")
    rewritten = read_lines(SAMPLE_FOLDER / "systems" / "eager.txt")
    assert character_similarities(sources, rewritten).min() > GATE
    pairs = [("u", "you"), ("im", "I'm"), ("Ok", "OK ."), ("2 .", "Two .")]
    assert character_similarities(*zip(*pairs, strict=True)).min() > GATE
    texts = ["The weather is mild ."] * len(sources)
    assert (character_similarities(sources, texts) <= GATE).mean() > 0.9
    assert character_similarities(sources, [""] * len(sources)).max() <= GATE


def test_only_the_first_ten_thousand_characters_count() -> None:
    one, other = "a" * 10_000 + "b" * 10_000, "a" * 10_000 + "c" * 10_000
    assert character_similarities([one], [other]) == pytest.approx([1.0])


@pytest.mark.parametrize(
    ("metric", "names", "value", "rejected"),
    [
        (Some(), ("grammaticality", "fluency", "meaning"), 0.5, 0.0),
        (Impara(), ("quality",), 0.5, 0.0),
        (Preference(), ("preference",), 0.5, -5.0),
    ],
)
def test_a_rejected_text_gets_the_lowest_score(
    metric: Some | Impara | Preference, names: tuple[str, ...], value: float, rejected: float
) -> None:
    assert isinstance(metric, Gated)
    arrays = {name: np.full(3, value) for name in names}
    statistics = Statistics({**arrays, "similarity": np.array([0.25, 0.26, 1.0])})
    accepted = 1 / (1 + math.exp(-value)) if isinstance(metric, Impara) else value
    assert metric.sentence_scores(statistics) == pytest.approx([rejected, accepted, accepted])
    assert metric.accepted(statistics).tolist() == [False, True, True]
    assert metric.details(statistics)["rejected"] == pytest.approx(1 / 3)
    opened = type(metric)(threshold=-1)
    assert opened.sentence_scores(statistics) == pytest.approx([accepted] * 3)


def test_a_preference_below_that_of_a_rejected_text_stays() -> None:
    statistics = Statistics(
        {"preference": np.array([-7.0, -7.0]), "similarity": np.array([0.1, 1.0])}
    )
    assert Preference().sentence_scores(statistics) == pytest.approx([-7.0, -7.0])


def test_three_classifiers_have_no_gate_as_in_the_paper(tmp_path: Path) -> None:
    folders = {name: str(tmp_path / name) for name in ("grammaticality", "fluency", "meaning")}
    statistics = Statistics(
        {**{name: np.full(2, 0.5) for name in folders}, "similarity": np.array([0.0, 1.0])}
    )
    assert Some(**folders).sentence_scores(statistics) == pytest.approx([0.5, 0.5])
    assert Some(**folders, threshold=0.3).sentence_scores(statistics) == pytest.approx([0.0, 0.5])
