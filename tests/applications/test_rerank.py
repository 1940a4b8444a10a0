"""Best of n and minimum Bayes risk against literal loops; what guards let through."""

from __future__ import annotations

import math

import numpy as np
import pytest
from embedded import Sample
from hypothesis import given, settings
from hypothesis import strategies as st

from learnedgec import References, load_metric
from learnedgec.applications.candidates import as_candidates
from learnedgec.applications.rerank import (
    Guards,
    MinimumBayesRisk,
    as_selector,
    candidate_scores,
    rerank,
)
from learnedgec.errors import BadNameError, ConfigError, InputError, LengthError, UnknownNameError

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
@given(case=cases, seed=st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_minimum_bayes_risk_is_the_expected_utility(
    name: str, case: list[tuple[str, list[str]]], seed: int
) -> None:
    sources, candidates = [source for source, _ in case], [row for _, row in case]
    metric = load_metric(name)
    random = np.random.default_rng(seed)
    weights = [random.uniform(0.1, 1, len(row)).tolist() for row in candidates]
    scores = candidate_scores(MinimumBayesRisk(metric), sources, candidates, weights=weights)
    for number, row in enumerate(candidates):
        for place, hypothesis in enumerate(row):
            utilities = [
                metric.score(
                    [sources[number]], [hypothesis], References.from_texts([reference])
                ).sentences[0]
                for reference in row
            ]
            expected = np.average(utilities, weights=weights[number])
            assert scores[number][place] == pytest.approx(expected)


def test_a_text_that_systems_agree_on_has_the_sum_of_their_weights() -> None:
    twice = candidate_scores(as_selector("mbr(gleu)"), [SOURCE], [["a", "b", "b"]])
    weighted = candidate_scores(
        as_selector("mbr(gleu)"), [SOURCE], [["a", "b"]], weights=[[1.0, 2.0]]
    )
    assert twice[0][:2] == pytest.approx(weighted[0])


def test_a_result_can_be_looked_at(sample: Sample) -> None:
    pandas = pytest.importorskip("pandas")
    sources = ["He go home", "Yes"]
    systems = {
        "A": ["He go home", "Yes"],
        "B": ["He goes home", "No"],
        "C": ["He goes home", "Yes"],
    }
    result = rerank("mbr(gleu)", sources, systems)
    assert repr(result) == "Reranking(by='mbr(gleu)', chosen={'B': 1, 'A': 1})"
    assert [row["chosen"] for row in result.to_dict()["sentences"]] == ["B", "A"]
    frame = result.to_frame()
    assert list(frame) == ["sentence", "text", "chosen", "margin", "score A", "score B", "score C"]
    assert frame["text"].tolist() == ["He goes home", "Yes"]
    assert frame["score B"].tolist() == pytest.approx([scores[1] for scores in result.scores])
    assert isinstance(frame, pandas.DataFrame)
    assert "<td" in result._repr_html_()
    # The same candidates as lists have numbers instead of names.
    lists = rerank("mbr(gleu)", sources, as_candidates(systems))
    assert [row["chosen"] for row in lists.to_dict()["sentences"]] == [2, 1]
    assert lists.texts == result.texts
    gated = rerank(
        "length", sources, systems, guards=Guards("source", gate="length", gate_minimum=9)
    )
    assert repr(gated) == "Reranking(by='length', chosen={'source': 2})"
    with pytest.raises(InputError, match="a metric's name such as 'gleu'"):
        rerank(sources, systems, "mbr(gleu)")  # type: ignore[arg-type]


def test_the_system_that_agrees_with_the_others_wins(sample: Sample) -> None:
    candidates = as_candidates(sample.systems)
    result = rerank("mbr(gleu)", sample.sources, candidates)
    gleu = load_metric("gleu")
    single = {
        name: gleu.score(sample.sources, texts, sample.references).value
        for name, texts in sample.systems.items()
    }
    combined = gleu.score(sample.sources, result.texts, sample.references).value
    assert combined > np.mean(list(single.values()))
    oracle = rerank("gleu", sample.sources, candidates, sample.references)
    best = [max(values) for values in oracle.scores]
    reached = gleu.score(sample.sources, oracle.texts, sample.references).sentences
    assert reached == pytest.approx(best)


def test_a_candidate_below_its_source_is_not_chosen() -> None:
    guards = Guards(fallback="source")
    result = rerank("length", ["a b c", "a"], [["a", "a b"], ["a b", "a"]], guards=guards)
    assert result.texts == ("a b c", "a b")
    assert result.chosen.tolist() == [-1, 0]
    assert result.margins.tolist() == pytest.approx([1.0, 1.0])


def test_a_minimum_gain_is_needed_over_the_first_candidate() -> None:
    rows = [["a", "a b"], ["a", "a b c"]]
    guards = Guards(fallback="first", minimum_gain=2.0)
    result = rerank("length", ["a", "a"], rows, guards=guards)
    assert result.chosen.tolist() == [0, 1]
    assert result.margins.tolist() == pytest.approx([-1.0, 2.0])


def test_the_source_is_nobodys_reference_in_a_minimum_bayes_risk() -> None:
    selector = as_selector("mbr(gleu)")
    plain = rerank(selector, [SOURCE], [ROW])
    guarded = rerank(selector, [SOURCE], [ROW], guards=Guards(fallback="source"))
    assert guarded.scores[0] == pytest.approx(plain.scores[0])
    assert guarded.texts == plain.texts == ("He goes to school",)


def test_long_edits_give_way_to_the_next_candidate() -> None:
    rows = [["They walked to a very big school", "He goes to the school"]]
    result = rerank("length", [SOURCE], rows, guards=Guards(longest_edit=1))
    assert result.texts == ("He goes to the school",)
    assert result.margins[0] == pytest.approx(-2.0)
    everything = rerank("length", [SOURCE], rows)
    assert everything.chosen.tolist() == [0]


def test_a_gate_rejects_and_without_a_fallback_the_best_stays() -> None:
    gate = load_metric("length")
    rows = [["a", "a b c"]]
    shorter = load_metric("constant")
    result = rerank(shorter, ["a"], rows, guards=Guards(gate=gate, gate_minimum=2.0))
    assert result.chosen.tolist() == [1]
    none = rerank(shorter, ["a"], rows, guards=Guards(gate=gate, gate_minimum=9.0))
    assert none.chosen.tolist() == [0]
    source = rerank(shorter, ["x"], rows, guards=Guards("source", gate=gate, gate_minimum=9.0))
    assert source.texts == ("x",)


def test_a_learned_metric_scores_each_distinct_candidate_once(
    tiny_evaluator: object, sample: Sample
) -> None:
    metric = load_metric(f"some(model={str(tiny_evaluator)!r})")
    systems = {name: sample.systems[name][:6] for name in ("strong", "weak")}
    candidates = as_candidates(systems)
    result = rerank(metric, sample.sources[:6], candidates)
    scores = metric.score_systems(sample.sources[:6], systems)
    table = np.stack([scores[name].sentences for name in systems], axis=1)
    assert np.stack(result.scores) == pytest.approx(table, abs=1e-6)
    assert result.chosen == pytest.approx(table.argmax(axis=1))


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("mbr(gleuu)", UnknownNameError),
        ("mbr()", BadNameError),
        ("nothing", UnknownNameError),
    ],
)
def test_names_that_choose_nothing(name: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        as_selector(name)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"minimum_gain": 1.0}, "no fallback"),
        ({"gate": load_metric("gleu")}, "needs references"),
    ],
)
def test_guards_that_cannot_be_used(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Guards(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("candidates", "weights", "message"),
    [
        ([["a"]], None, "2 sources have 1 lists"),
        ([["a"], "b"], None, "a text in place of a list"),
        ([["a"], ["b"]], [[1.0], [1.0, 2.0]], "1 candidates and the weights"),
        ([["a"], ["b"]], [[1.0], [0.0]], "not all 0"),
        ([["a"], ["b"]], [[1.0], [math.inf]], "from 0 up"),
    ],
)
def test_candidates_that_cannot_be_used(
    candidates: list[list[str]], weights: list[list[float]] | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        rerank("mbr(gleu)", ["x", "y"], candidates, weights=weights)


def test_systems_of_different_lengths() -> None:
    with pytest.raises(LengthError, match="B"):
        as_candidates({"A": ["a", "b"], "B": ["a"]})
