"""IMPARA against a literal reading of its definition, one sentence at a time."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import tiny
import torch
from embedded import Sample
from transformers import AutoModel, AutoModelForSequenceClassification

from learnedgec.errors import InputWarning, ModelError
from learnedgec.evaluators.evaluator import Evaluator, HeadConfig
from learnedgec.evaluators.inference import TruncationWarning
from learnedgec.evaluators.loading import checkpoint_digest, load_tokenizer
from learnedgec.metrics.bound import BoundMetric
from learnedgec.metrics.contract import Statistics
from learnedgec.metrics.impara import Impara
from learnedgec.metrics.registry import load_metric
from learnedgec.metrics.some import Some
from learnedgec.runtime.runtime import PROFILE, Runtime
from learnedgec.scoring import bind_one, score


@pytest.fixture(scope="module")
def metric(tiny_regressor: Path, tiny_encoder: Path) -> Impara:
    return Impara(quality=str(tiny_regressor), similarity=str(tiny_encoder))


def literal_quality(folder: Path, hypotheses: Sequence[str]) -> list[float]:
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = load_tokenizer(str(folder))
    with torch.inference_mode():
        return [model(**tokenizer(text, return_tensors="pt")).logits.item() for text in hypotheses]


def literal_similarity(
    folder: Path, sources: Sequence[str], hypotheses: Sequence[str]
) -> list[float]:
    model = AutoModel.from_pretrained(folder).eval()
    tokenizer = load_tokenizer(str(folder))

    def vector(text: str) -> list[float]:
        with torch.inference_mode():
            states = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        return [math.fsum(column) / len(states) for column in states.T.tolist()]

    def cosine(first: Sequence[float], other: Sequence[float]) -> float:
        product = math.fsum(a * b for a, b in zip(first, other, strict=True))
        return product / (math.hypot(*first) * math.hypot(*other))

    return [cosine(vector(s), vector(h)) for s, h in zip(sources, hypotheses, strict=True)]


@pytest.mark.parametrize("activation", ["sigmoid", "none"])
@pytest.mark.parametrize("threshold", [-1.0, 0.9, 0.95])
def test_equals_one_by_one(
    tiny_regressor: Path, tiny_encoder: Path, sample: Sample, threshold: float, activation: str
) -> None:
    hypotheses = sample.systems["eager"]
    quality = literal_quality(tiny_regressor, hypotheses)
    similarity = literal_similarity(tiny_encoder, sample.sources, hypotheses)

    def activated(value: float) -> float:
        return 1 / (1 + math.exp(-value)) if activation == "sigmoid" else value

    expected = [
        activated(value) if cosine > threshold else 0.0
        for value, cosine in zip(quality, similarity, strict=True)
    ]
    models = str(tiny_regressor), str(tiny_encoder)
    metric = Impara(*models, threshold, activation)  # type: ignore[arg-type]
    score = metric.score(sample.sources, hypotheses)
    assert score.sentences == pytest.approx(expected, abs=1e-6)
    assert score.value == pytest.approx(np.mean(expected), abs=1e-6)
    assert score.sentence_details["quality"] == pytest.approx(quality, abs=1e-6)
    assert score.sentence_details["similarity"] == pytest.approx(similarity, abs=1e-6)
    assert score.details["similarity"] == pytest.approx(np.mean(similarity), abs=1e-6)
    rejected = sum(cosine <= threshold for cosine in similarity) / len(similarity)
    assert score.details["rejected"] == pytest.approx(rejected)


def test_the_gate_is_closed_at_the_threshold() -> None:
    arrays = {"quality": np.array([2.0, 2.0, -2.0, -12.0])}
    arrays["similarity"] = np.array([0.9, 0.91, 0.9, 1.0])
    of_encoder, of_characters = (
        Statistics(arrays | {"characters": np.full(4, own), "threshold": np.full(4, threshold)})
        for own, threshold in ((False, 0.9), (True, 0.25))
    )
    raw = Impara(threshold=0.9, activation="none")
    # As in the authors' code: a rejected hypothesis gets 0, even where that is not the lowest.
    assert raw.sentence_scores(of_encoder) == pytest.approx([0, 2, 0, -12])
    assert raw.sentence_scores(of_characters) == pytest.approx([-10, 2, -10, -10])
    assert raw.details(of_encoder) == pytest.approx({"similarity": 0.9275, "rejected": 0.5})
    # The default is the one of the similarity that was measured.
    assert Impara().accepted(of_encoder).tolist() == [False, True, False, True]
    assert Impara().accepted(of_characters).all()


def test_long_texts_are_cut_at_128_tokens(metric: Impara) -> None:
    short = " ".join(["the"] * 126)
    with pytest.warns(TruncationWarning, match="were longer than 128 tokens"):
        score = metric.score([short], [f"{short} dog"])
    assert score.sentence_details["similarity"] == pytest.approx([1.0], abs=1e-6)
    expected = metric.score([short], [short])
    assert score.sentences == pytest.approx(expected.sentences, abs=1e-6)


def test_what_was_cut_is_said_again_of_statistics_from_the_cache(
    tiny_evaluator: Path, tmp_path: Path
) -> None:
    metric, runtime = Some(model=str(tiny_evaluator)), Runtime(cache_dir=str(tmp_path))
    long, short = ["the " * 300], ["He go ."]

    def warned(**systems: list[str]) -> set[str]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            metric.score(short, systems, runtime=runtime)
        assert all(issubclass(warning.category, InputWarning) for warning in caught)
        return {str(warning.message) for warning in caught}

    text = "1 of 2 inputs were longer than 256 tokens and were truncated."
    assert warned(a=long, b=short) == {text}
    assert warned(a=long) == {f"when cached statistics were computed, {text}"}
    # What was computed without a warning stays without.
    assert [warned(a=["He goes ."]) for _ in range(2)] == [set(), set()]


def test_the_signature_names_both_models(
    metric: Impara, tiny_regressor: Path, tiny_encoder: Path
) -> None:
    encoder = f"|encoder:{tiny_encoder}|encoder-sha256:{checkpoint_digest(str(tiny_encoder))}|"
    signature = bind_one(metric, Runtime(dtype="bfloat16")).signature()
    assert signature.startswith(f"{metric}|sha256:{checkpoint_digest(str(tiny_regressor))}|")
    assert f"|gate:cosine>0.9{encoder}dtype:bfloat16|" in signature
    # The paper's encoder beside a bare classifier; its weights are named where they are at hand.
    bare = BoundMetric(Impara(quality=str(tiny_regressor))).signature()
    assert "|encoder:bert-base-cased|" in bare


def test_thresholds_and_activations_share_the_models_work(
    metric: Impara, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = [metric, replace(metric, threshold=0.95), replace(metric, activation="none")]
    compute = Mock(side_effect=Impara.compute, autospec=True)
    monkeypatch.setattr(Impara, "compute", lambda *arguments: compute(*arguments))
    scores = score(metrics, sample.sources, sample.systems["eager"])
    assert compute.call_count == 1
    alone = [other.score(sample.sources, sample.systems["eager"]).value for other in metrics]
    assert [of.value for of in scores.values()] == pytest.approx(alone, abs=1e-6)
    assert len({round(value, 3) for value in alone}) == 3


def test_preference_is_the_head_s_value_over_that_of_the_source(tiny_preference: Path) -> None:
    from learnedgec.metrics.preference import Preference

    sources, hypotheses = ["he go .", "a cat"], ["he goes .", "a cat"]
    evaluator = Evaluator.load(str(tiny_preference))

    def value(source: str, text: str) -> float:
        return float(evaluator.predict([source], [text])["preference"][0])

    expected = [value(s, h) - value(s, s) for s, h in zip(sources, hypotheses, strict=True)]
    score = Preference(model=str(tiny_preference)).score(sources, hypotheses)
    assert score.sentences == pytest.approx(expected, abs=1e-5)
    assert score.sentences[1] == pytest.approx(0.0, abs=1e-6)
    assert abs(score.sentences[0]) > 1e-3
    assert score.value == pytest.approx(np.mean(expected), abs=1e-5)
    assert f"sha256:{evaluator.digest}" in score.signature


def test_what_is_as_the_source_was_is_not_encoded(
    tiny_preference: Path, tiny_regressor: Path, tiny_encoder: Path
) -> None:
    sources = ["he walk to a house .", "a quiet cat", "two quiet cats"]
    hypotheses = ["he walks to a house .", *sources[1:]]
    metric = load_metric(f"preference(model={str(tiny_preference)!r})")
    before = PROFILE.encoded
    score = metric.score(sources, hypotheses)
    # (source, hypothesis) and (source, source) of the first.
    assert PROFILE.encoded - before == 2
    assert score.sentences[1:].tolist() == [0, 0]
    assert metric.score(sources[1:], sources[1:]).sentences.tolist() == [0, 0]
    assert PROFILE.encoded - before == 2
    gated = Impara(quality=str(tiny_regressor), similarity=str(tiny_encoder))
    before = PROFILE.encoded
    similarity = gated.score(sources, hypotheses).sentence_details["similarity"]
    # The quality of three hypotheses, and the vectors of the first and its source.
    assert PROFILE.encoded - before == 5
    assert similarity[1:].tolist() == [1, 1]
    assert similarity[0] == pytest.approx(
        literal_similarity(tiny_encoder, sources, hypotheses)[0], abs=1e-6
    )
    before = PROFILE.encoded
    assert gated.score(sources[1:], sources[1:]).details["similarity"] == pytest.approx(1)
    assert PROFILE.encoded - before == 2


def test_metrics_of_one_package_share_its_passes(tmp_path: Path) -> None:
    heads = tiny.SOME_HEADS | {
        "quality": HeadConfig("hypothesis"),
        "preference": HeadConfig("pair"),
    }
    package = str(tiny.save_evaluator(tmp_path / "joint", heads=heads))
    sources = ["he go home .", "a cat", "who is it ?"]
    systems = {
        "one": ["he goes home .", "a cat", "who is it ?"],
        "other": ["he went home .", "a cat", "who was it ?"],
    }
    metrics = [load_metric(name, model=package) for name in ("some", "quality", "preference")]
    before = PROFILE.encoded
    score(metrics, sources, systems)
    # Five outputs, each alone and with its source, and a source with itself that no system left alone.
    assert PROFILE.encoded - before == 5 + 6


def test_impara_reads_the_estimator_of_a_package(tmp_path: Path) -> None:
    other = tiny.save_evaluator(tmp_path / "other", heads={"quality": HeadConfig()})
    metric = load_metric("impara", quality=str(other))
    with pytest.raises(ModelError) as missing:
        bind_one(metric)
    assert str(missing.value) == (
        f"{metric.label}: the evaluator {other} has no output impara, IMPARA's estimator; use "
        f"{load_metric('quality', model=str(other)).label}, which reads its output quality, or a package "
        "whose head impara was trained with configs/impara.yaml."
    )
    package = tiny.save_evaluator(tmp_path / "mine", heads={"impara": HeadConfig()})
    score = load_metric("impara", quality=str(package)).score(["he go ."], ["he goes ."])
    raw = load_metric("head", model=str(package), name="impara").score(["he go ."], ["he goes ."])
    assert score.sentences == pytest.approx(1 / (1 + np.exp(-raw.sentences)))
