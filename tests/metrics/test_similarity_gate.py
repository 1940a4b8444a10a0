"""The gate of learned metrics: similarity of characters, and what a rejected text scores."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import tiny
from embedded import SAMPLE_FOLDER
from hypothesis import given
from hypothesis import strategies as st

from learnedgec.data.text import read_lines
from learnedgec.evaluators.evaluator import Gate, HeadConfig
from learnedgec.metrics.contract import Gated, Metric, Statistics
from learnedgec.metrics.gate import GATE, OPEN, character_similarities
from learnedgec.metrics.impara import Impara
from learnedgec.metrics.preference import Preference
from learnedgec.metrics.quality import Quality
from learnedgec.metrics.registry import load_metric
from learnedgec.metrics.some import Some
from learnedgec.scoring import bind_one

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
    similarities = character_similarities([source, hypothesis], [hypothesis, source])
    expected = literal_dice(source, hypothesis)
    assert similarities == pytest.approx([expected, expected], abs=1e-12)


def test_short_corrections_and_free_rewritings_pass_and_unrelated_texts_do_not() -> None:
    sources = read_lines(SAMPLE_FOLDER / "source.txt")
    rewritten = read_lines(SAMPLE_FOLDER / "systems" / "eager.txt")
    assert character_similarities(sources, rewritten).min() > GATE
    pairs = [("u", "you"), ("im", "I'm"), ("Ok", "OK ."), ("2 .", "Two .")]
    assert character_similarities(*zip(*pairs, strict=True)).min() > GATE
    texts = ["The weather is mild ."] * len(sources)
    assert (character_similarities(sources, texts) <= GATE).mean() > 0.9
    assert character_similarities(sources, [""] * len(sources)).max() <= GATE


METRICS: dict[type[Some | Quality | Impara | Preference], tuple[str, ...]] = {
    Some: ("grammaticality", "fluency", "meaning"),
    Quality: ("quality",),
    Impara: ("quality",),
    Preference: ("preference",),
}
VALUES = st.lists(st.tuples(st.floats(-50, 50), st.floats(0, 1)), min_size=2, max_size=8)


def statistics_of(
    metric: Some | Quality | Impara | Preference, values: list[float], similarity: list[float]
) -> Statistics:
    """Return statistics with the same value for every output that the metric reads."""
    arrays = dict.fromkeys(METRICS[type(metric)], np.array(values))
    arrays |= {"characters": np.full(len(values), True), "threshold": np.full(len(values), GATE)}
    return Statistics({**arrays, "similarity": np.array(similarity)})


@pytest.mark.parametrize(
    ("metric", "rejected"),
    [
        (Some(), 0.0),
        (Quality(), 0.0),
        (Quality(activation="none"), -10.0),
        (Impara(), 0.0),
        (Impara(activation="none"), -10.0),
        (Preference(), -5.0),
    ],
    ids=str,
)
def test_a_rejected_text_gets_the_lowest_score(
    metric: Some | Quality | Impara | Preference, rejected: float
) -> None:
    assert isinstance(metric, Gated)
    statistics = statistics_of(metric, [0.5] * 3, [0.25, 0.26, 1.0])
    sigmoid = isinstance(metric, Quality | Impara) and metric.activation == "sigmoid"
    accepted = 1 / (1 + math.exp(-0.5)) if sigmoid else 0.5
    assert metric.sentence_scores(statistics) == pytest.approx([rejected, accepted, accepted])
    assert metric.accepted(statistics).tolist() == [False, True, True]
    assert metric.details(statistics)["rejected"] == pytest.approx(1 / 3)
    opened = replace(metric, threshold=-1)
    assert opened.sentence_scores(statistics) == pytest.approx([accepted] * 3)


@pytest.mark.parametrize(
    "metric",
    [Some(), Quality(), Quality(activation="none"), Impara(activation="none"), Preference()],
    ids=str,
)
@given(VALUES)
def test_no_rejected_text_beats_an_accepted_one(
    metric: Some | Quality | Impara | Preference, rows: list[tuple[float, float]]
) -> None:
    statistics = statistics_of(metric, *map(list, zip(*rows, strict=True)))  # type: ignore[arg-type]
    scores, accepted = metric.sentence_scores(statistics), metric.accepted(statistics)
    assert max(scores[~accepted], default=-np.inf) <= min(scores[accepted], default=np.inf)


@pytest.mark.parametrize("activation", ["sigmoid", "none"])
@given(VALUES)
def test_quality_is_what_impara_gave_to_the_last_bit(
    activation: Literal["sigmoid", "none"], rows: list[tuple[float, float]]
) -> None:
    statistics = statistics_of(Quality(), *map(list, zip(*rows, strict=True)))  # type: ignore[arg-type]
    former = Impara(activation=activation).sentence_scores(statistics)
    assert Quality(activation=activation).sentence_scores(statistics).tolist() == former.tolist()


def test_texts_on_one_side_of_the_bound_keep_their_order() -> None:
    statistics = Statistics(
        {"preference": np.array([-7.0, -9.0, -7.0]), "similarity": np.array([0.1, 0.1, 1.0])}
    )
    assert Preference().sentence_scores(statistics) == pytest.approx([-7.0, -9.0, -5.0])
    assert Preference(threshold=-1).sentence_scores(statistics)[2] == -7.0


def test_three_classifiers_have_no_gate_as_in_the_paper() -> None:
    names = ("grammaticality", "fluency", "meaning")
    arrays = dict.fromkeys(names, np.array([0.5, -0.5]))
    arrays |= {"similarity": np.array([0.0, 1.0]), "threshold": np.full(2, OPEN)}
    assert Some().sentence_scores(Statistics(arrays)) == pytest.approx([0.5, -0.5])
    assert Some(threshold=0.3).sentence_scores(Statistics(arrays)) == pytest.approx([0.0, 0.0])


def test_a_package_has_the_gate_that_it_was_trained_for(tiny_encoder: Path, tmp_path: Path) -> None:
    heads = tiny.SOME_HEADS | {"quality": HeadConfig(), "impara": HeadConfig()}
    sources, hypotheses = ["he go home ."] * 2, ["he goes home .", "it rains ."]

    def both(gate: Gate, **parameters: object) -> tuple[Metric, Metric]:
        folder = str(tmp_path / gate)
        if not Path(folder).exists():
            tiny.save_evaluator(Path(folder), heads=heads, encoder=str(tiny_encoder), gate=gate)
        return Some(folder), Impara(folder, **parameters)  # type: ignore[arg-type]

    # SOME's paper has no gate.
    for metric in both("none"):
        assert metric.score(sources, hypotheses).details["rejected"] == 0
        assert "|gate:" not in bind_one(metric).signature()
    # IMPARA's has the similarity by the encoder that training started from.
    some, impara = both("cosine")
    assert Quality(str(tmp_path / "cosine")).score(sources, hypotheses).details["rejected"] == 0
    _, named = both("none", similarity=str(tiny_encoder))
    assert some.score(sources, hypotheses).details["rejected"] == 0
    assert f"|gate:cosine>0.9|encoder:{tiny_encoder}|" in bind_one(impara).signature()
    score, expected = (metric.score(sources, hypotheses) for metric in (impara, named))
    assert score.sentences == pytest.approx(expected.sentences)
    assert score.details == pytest.approx(expected.details)
    for metric in (*both("characters"), Quality(str(tmp_path / "characters"))):
        assert metric.score(sources, hypotheses).details["rejected"] == 0.5
        assert "|gate:characters>0.25|" in bind_one(metric).signature()


@pytest.mark.parametrize("metric", ["some[mine]", "quality[mine]", "preference[mine]"])
def test_the_same_statistics_give_the_same_scores_in_any_folder(
    metric: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = tiny.SOME_HEADS | {"quality": HeadConfig(), "preference": HeadConfig("pair")}
    tiny.save_evaluator(tmp_path / "checkpoints" / "mine", heads=heads)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LEARNEDGEC_EVALUATORS", raising=False)
    learned = load_metric(metric)
    statistics = learned.statistics(["He go home ."] * 2, ["He goes home .", "It rains ."])
    scores = learned.sentence_scores(statistics)
    assert learned.accepted(statistics).tolist() == [True, False]  # type: ignore[attr-defined]
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert learned.sentence_scores(statistics).tolist() == scores.tolist()
