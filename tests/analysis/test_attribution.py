"""Attribution against its definition, written out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import factorial
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from embedded import Sample

from learnedgec.analysis.attribution import Attribution, attribute_edits
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.edits.annotator import extract_edits
from learnedgec.errors import InputError, LengthError
from learnedgec.metrics.contract import Metric
from learnedgec.metrics.registry import load_metric

ANNOTATOR = "en-ewt-sm"

Case: TypeAlias = tuple[str, str, tuple[Edit, ...]]


@pytest.fixture(scope="module")
def cases(sample: Sample) -> list[Case]:
    """Return 200 sources and hypotheses of four systems, with the edits between them."""
    pairs = [
        (source, hypothesis)
        for hypotheses in sample.systems.values()
        for source, hypothesis in zip(sample.sources, hypotheses, strict=True)
    ][-200:]
    edits = extract_edits(pairs, ANNOTATOR)
    return [(*pair, pair_edits) for pair, pair_edits in zip(pairs, edits, strict=True)]


def attribute(metric: Metric, cases: Sequence[Case], **settings: int) -> list[Attribution]:
    sources, hypotheses, edits = zip(*cases, strict=True)
    return attribute_edits(metric, sources, hypotheses, edits=edits, **settings)


def enumerate_literally(
    metric: Metric, source: str, edits: Sequence[Edit]
) -> tuple[list[float], list[float], list[float]]:
    """Return add-one, leave-one-out and Shapley values as the formulas say, scoring each sentence alone."""
    numbers = range(len(edits))
    sets = [frozenset(s) for size in range(len(edits) + 1) for s in combinations(numbers, size)]
    texts = [apply_edits(source, [edits[i] for i in sorted(chosen)]) for chosen in sets]
    scores = metric.score([source] * len(sets), texts).sentences
    value = dict(zip(sets, scores.tolist(), strict=True))
    everything, size = frozenset(numbers), len(edits)
    shapley = [
        sum(
            factorial(len(t))
            * factorial(size - len(t) - 1)
            / factorial(size)
            * (value[t | {e}] - value[t])
            for t in sets
            if e not in t
        )
        for e in numbers
    ]
    return (
        [value[frozenset({e})] - value[frozenset()] for e in numbers],
        [value[everything] - value[everything - {e}] for e in numbers],
        shapley,
    )


@pytest.mark.parametrize(
    ("name", "most", "count"), [("random", 11, 200), ("likelihood", 2, 16), ("some", 3, 30)]
)
def test_equals_a_literal_enumeration(
    name: str, most: int, count: int, cases: list[Case], tiny_causal: Path, tiny_evaluator: Path
) -> None:
    models = {"likelihood": {"model": str(tiny_causal)}, "some": {"model": str(tiny_evaluator)}}
    metric = load_metric(name, **models.get(name, {}))
    # A model runs once for every sentence of the enumeration, so it gets few sentences with few edits.
    chosen = [case for case in cases if len(case[2]) <= most][-count:]
    assert len(chosen) == count
    assert max(len(edits) for _, _, edits in chosen) > 1
    for (source, _, edits), attribution in zip(
        chosen, attribute(metric, chosen, exact_up_to=most), strict=True
    ):
        expected = enumerate_literally(metric, source, edits)
        assert attribution.exact
        assert not attribution.standard_error.any()
        for ours, literal in zip(
            (attribution.add_one, attribution.leave_one_out, attribution.shapley),
            expected,
            strict=True,
        ):
            assert ours == pytest.approx(literal, abs=2e-6)


def test_a_sample_is_as_near_the_exact_values_as_its_error_says(cases: list[Case]) -> None:
    metric = load_metric("random")
    chosen = [case for case in cases if len(case[2]) > 3]
    exact = attribute(metric, chosen, exact_up_to=11)
    deviations, errors = [], []
    for seed in range(4):
        sampled = attribute(metric, chosen, exact_up_to=3, seed=seed)
        assert not any(attribution.exact for attribution in sampled)
        for a, b in zip(exact, sampled, strict=True):
            assert b.shapley.sum() == pytest.approx(b.score - b.source_score)
            assert (b.score, b.source_score) == pytest.approx((a.score, a.source_score))
            deviations.append(b.shapley - a.shapley)
        errors += [attribution.standard_error for attribution in sampled]
    deviation, error = np.concatenate(deviations), np.concatenate(errors)
    assert len(error) > 1600
    assert (deviation**2).mean() / (error**2).mean() == pytest.approx(1, abs=0.15)
    assert np.mean(np.abs(deviation) < 1.96 * error) == pytest.approx(0.94, abs=0.03)


def test_a_sentence_has_the_same_values_in_any_company(cases: list[Case]) -> None:
    metric = load_metric("random")
    together = attribute(metric, cases, exact_up_to=2)
    for number in (3, 70, 199):
        (alone,) = attribute(metric, [cases[number]], exact_up_to=2)
        assert alone.shapley.tolist() == together[number].shapley.tolist()
    other = attribute(metric, cases, exact_up_to=2, seed=1)
    assert any(
        a.shapley.tolist() != b.shapley.tolist() for a, b in zip(together, other, strict=True)
    )


def test_one_call_with_every_distinct_text_once(
    cases: list[Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = load_metric("random")
    calls: list[list[tuple[str, str]]] = []
    real = type(metric).compute

    def compute(
        self: Metric, sources: Sequence[str], texts: Sequence[str], *rest: object
    ) -> object:
        calls.append(list(zip(sources, texts, strict=True)))
        return real(self, sources, texts, *rest)

    monkeypatch.setattr(type(metric), "compute", compute)
    attribute(metric, [*cases, *cases])
    (rows,) = calls
    assert len(rows) == len(set(rows))


def test_references_go_with_their_sentences(sample: Sample) -> None:
    metric = load_metric("gleu(iterations=1)")
    hypotheses = sample.systems["strong"]
    attributions = attribute_edits(
        metric, sample.sources, hypotheses, sample.references, edits=ANNOTATOR
    )
    scores = metric.score(sample.sources, hypotheses, sample.references).sentences
    assert [attribution.score for attribution in attributions] == pytest.approx(scores.tolist())
    for attribution in attributions:
        assert attribution.shapley.sum() == pytest.approx(
            attribution.score - attribution.source_score, abs=1e-9
        )


def test_many_edits_are_sampled() -> None:
    source = " ".join("abcdefghij" * 7)
    edits = tuple(Edit(place, place + 1, "x y") for place in range(70))
    (attribution,) = attribute_edits(
        load_metric("length"), [source], [apply_edits(source, edits)], edits=[edits]
    )
    assert not attribution.exact
    assert attribution.shapley.tolist() == [1.0] * 70
    assert attribution.standard_error.tolist() == [0.0] * 70


def test_bad_input() -> None:
    length = load_metric("length")
    with pytest.raises(InputError, match="the edits of sentence 1 make 'a c' from its source"):
        attribute_edits(length, ["a b"], ["a d"], edits=[[Edit(1, 2, "c")]])
    with pytest.raises(LengthError):
        attribute_edits(length, ["a b"], ["a d", "b"])
    with pytest.raises(InputError, match="exact_up_to is 30"):
        attribute_edits(length, ["a"], ["a"], exact_up_to=30)
