"""The contract that every metric keeps, whatever it measures."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from embedded import Sample

from learnedgec.errors import InputError, LengthError, ParameterError
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.references import References
from learnedgec.metrics.base import Metric
from learnedgec.metrics.blocks import StatisticsBlocks
from learnedgec.metrics.registry import METRICS, load_metric

# Encoders batch differently; float32 then agrees to this.
TOLERANCE = 1e-5


def local_language_model(request: pytest.FixtureRequest) -> Mapping[str, object]:
    # In groups of one, as the contract demands; answers are kept for all tests, away from the user's.
    kept = request.getfixturevalue("tmp_path_factory").getbasetemp() / "cache"
    request.getfixturevalue("monkeypatch").setenv("LEARNEDGEC_CACHE", str(kept))
    model = str(request.getfixturevalue("tiny_causal"))
    return {"model": model, "endpoint": None, "group_size": 1}


# Metrics that need a model or a file get a tiny one: name -> parameters from the fixtures.
PARAMETERS: Mapping[str, Callable[[pytest.FixtureRequest], Mapping[str, object]]] = {
    "some": lambda request: {"model": str(request.getfixturevalue("tiny_evaluator"))},
    "impara": lambda request: {
        "quality": str(request.getfixturevalue("tiny_regressor")),
        "similarity": str(request.getfixturevalue("tiny_encoder")),
    },
    "head": lambda request: {
        "model": str(request.getfixturevalue("tiny_evaluator")),
        "weights": {"fluency": 0.7, "meaning": 0.3},
    },
    "preference": lambda request: {"model": str(request.getfixturevalue("tiny_preference"))},
    "classifier": lambda request: {
        "model": str(request.getfixturevalue("tiny_regressor")),
        "reads": "pair",
        "detokenised": True,
    },
    "errant": lambda request: {"annotator": "en-ewt-sm"},
    "senterrant": lambda request: {"annotator": "en-ewt-sm"},
    "bertscore": lambda request: {
        "encoder": str(request.getfixturevalue("tiny_encoder")),
        "layer": 2,
    },
    "bartscore": lambda request: {"model": str(request.getfixturevalue("tiny_sequence_model"))},
    "pt-m2": lambda request: {
        "encoder": str(request.getfixturevalue("tiny_encoder")),
        "layer": 2,
    },
    "pt-errant": lambda request: {
        "encoder": str(request.getfixturevalue("tiny_encoder")),
        "layer": 2,
        "annotator": "en-ewt-sm",
    },
    "uot-errant": lambda request: {
        "encoder": str(request.getfixturevalue("tiny_encoder")),
        "annotator": "en-ewt-sm",
    },
    # With a mean length of its own each corpus would weigh the same sentence otherwise.
    "cleme": lambda request: {"annotator": "en-ewt-sm", "mean_length": 1.8},
    "sentcleme": lambda request: {"edits": "aligned", "mean_length": 1.8},
    "cleme2": lambda request: {
        "annotator": "en-ewt-sm",
        "encoder": str(request.getfixturevalue("tiny_encoder")),
        "layer": 2,
    },
    "sentcleme2": lambda request: {"edits": "aligned", "weights": "none"},
    "gotoscorer": lambda request: {"weights": str(request.getfixturevalue("difficulties"))},
    "scribendi": lambda request: {"model": str(request.getfixturevalue("tiny_causal"))},
    "likelihood": lambda request: {"model": str(request.getfixturevalue("tiny_causal"))},
    "asano": lambda request: {
        "model": str(request.getfixturevalue("tiny_causal")),
        "ratings": str(request.getfixturevalue("sample").folder),
    },
    "llm-s": lambda request: local_language_model(request),
    "llm-e": lambda request: local_language_model(request),
    "ensemble": lambda request: {"members": {"gleu": 0.75, "edit-count": 0.25}},
}


BLANK_SOURCES = ["He go home .", "", "He go home .", " ", "He go home ."]
BLANK_REFERENCES = References.from_texts(
    ["He goes home .", "", "He goes home .", "", ""], [None, None, "He went home .", "A .", "A"]
)


@pytest.fixture(scope="session")
def difficulties(sample: Sample, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of weights that knows all sentences and references in here."""
    from learnedgec.metrics.gotoscorer import Difficulties, GotoScorer

    first = References(tuple(row[:1] for row in sample.references))
    learn = GotoScorer().learn
    learned = [
        learn(sample.sources, sample.systems, sample.references),
        learn(sample.sources, sample.systems, first),
        learn(BLANK_SOURCES, {"copy": BLANK_SOURCES}, BLANK_REFERENCES),
    ]
    weights = {key: value for each in learned for key, value in each.weights.items()}
    path = tmp_path_factory.mktemp("difficulties") / "weights.json"
    Difficulties(weights, tuple(sample.systems)).save(path)
    return path


@pytest.fixture(params=METRICS)
def metric(request: pytest.FixtureRequest) -> Metric:
    make = PARAMETERS.get(request.param, lambda request: {})
    return load_metric(request.param, **make(request))


def references_for(metric: Metric, references: References) -> References | None:
    return references if metric.needs_references else None


def test_name_parses_back_to_the_metric(metric: Metric) -> None:
    assert load_metric(str(metric)) == metric
    assert load_metric(metric.label) == metric
    assert hash(load_metric(str(metric))) == hash(metric)


def test_survives_pickling(metric: Metric) -> None:
    assert pickle.loads(pickle.dumps(metric)) == metric


def test_unknown_parameter_is_refused(metric: Metric) -> None:
    with pytest.raises(ParameterError, match="no parameter of"):
        load_metric(metric.name, no_such_parameter=1)


def test_scores_are_finite_and_details_parallel(metric: Metric, sample: Sample) -> None:
    scores = metric.score_systems(
        sample.sources, sample.systems, references_for(metric, sample.references)
    )
    for score in scores.values():
        assert np.isfinite(score.value)
        assert np.isfinite(score.sentences).all()
        assert score.sentences.shape == (len(sample.sources),)
        assert score.sentences.dtype == np.float64
        assert len(score.statistics) == len(sample.sources)
        assert score.metric == str(metric)
        assert score.signature.startswith(str(metric))
        for column in score.sentence_details.values():
            assert len(column) == len(sample.sources)


def test_systems_together_score_as_alone(metric: Metric, sample: Sample) -> None:
    references = references_for(metric, sample.references)
    together = metric.score_systems(sample.sources, sample.systems, references)
    for system in ("eager", "weak"):
        alone = metric.score(sample.sources, sample.systems[system], references)
        assert together[system].value == pytest.approx(alone.value, abs=TOLERANCE)
        assert together[system].sentences == pytest.approx(alone.sentences, abs=TOLERANCE)


def test_sentences_do_not_depend_on_order_or_batch_size(metric: Metric, sample: Sample) -> None:
    references = references_for(metric, sample.references)
    hypotheses = sample.systems["eager"]
    score = metric.score(sample.sources, hypotheses, references)
    order = list(reversed(range(len(hypotheses))))
    turned = metric.score(
        [sample.sources[i] for i in order],
        [hypotheses[i] for i in order],
        None if references is None else references.select(order),
        runtime=Runtime(batch_tokens=64),
    )
    assert turned.sentences[::-1] == pytest.approx(score.sentences, abs=TOLERANCE)


def test_one_sentence_alone_scores_as_among_others(metric: Metric, sample: Sample) -> None:
    references = references_for(metric, sample.references)
    hypotheses = sample.systems["strong"]
    score = metric.score(sample.sources, hypotheses, references)
    for i in (0, 17, 40):
        alone = metric.score(
            [sample.sources[i]],
            [hypotheses[i]],
            None if references is None else references.select([i]),
        )
        assert alone.sentences[0] == pytest.approx(score.sentences[i], abs=TOLERANCE)


def test_aggregate_follows_from_statistics(metric: Metric, sample: Sample) -> None:
    references = references_for(metric, sample.references)
    score = metric.score(sample.sources, sample.systems["careful"], references)
    assert metric.aggregate(score.statistics) == score.value
    samples = np.stack([np.arange(len(sample.sources)), np.arange(len(sample.sources))])
    assert metric.aggregate_many(score.statistics, samples) == pytest.approx(
        [score.value, score.value], abs=1e-9
    )


def test_blocks_fold_to_the_score_of_all_sentences(metric: Metric, sample: Sample) -> None:
    references = references_for(metric, sample.references)
    statistics = metric.statistics(sample.sources, sample.systems["weak"], references)
    # Enough for NumPy to add up in another order than from left to right.
    many = statistics.take(np.tile(np.arange(len(statistics)), 30))
    cuts = [0, 1, 130, 131, 700, len(many)]
    parts = [many.take(np.arange(start, stop)) for start, stop in pairwise(cuts)]
    blocks = StatisticsBlocks(lambda: iter(parts))
    assert metric.fold(blocks) == (metric.aggregate(many), metric.details(many))
    assert metric.fold(blocks.map(metric.condense)) == metric.fold(blocks)


def test_resample_is_the_score_of_the_resampled_sentences(metric: Metric, sample: Sample) -> None:
    references = references_for(metric, sample.references)
    # One reference each, so that no metric samples references by position.
    if references is not None:
        references = References(tuple(row[:1] for row in references))
    score = metric.score(sample.sources, sample.systems["weak"], references)
    draws = np.random.default_rng(0).integers(0, len(sample.sources), (3, len(sample.sources)))
    expected = [metric.aggregate(score.statistics.take(draw)) for draw in draws]
    assert metric.aggregate_many(score.statistics, draws) == pytest.approx(expected, abs=1e-9)


def test_empty_and_blank_sentences_have_a_score(metric: Metric) -> None:
    hypotheses = ["", "", "He goes home .", "  ", " . "]
    score = metric.score(BLANK_SOURCES, hypotheses, references_for(metric, BLANK_REFERENCES))
    assert np.isfinite(score.value)
    assert np.isfinite(score.sentences).all()


def test_a_copy_of_the_source_has_a_score(metric: Metric, sample: Sample) -> None:
    score = metric.score(sample.sources, sample.sources, references_for(metric, sample.references))
    assert np.isfinite(score.value)


def test_varying_numbers_of_references(metric: Metric, sample: Sample) -> None:
    if not metric.needs_references:
        pytest.skip("needs no references")
    rows = tuple(row[: 1 + i % 2] for i, row in enumerate(sample.references))
    score = metric.score(sample.sources, sample.systems["strong"], References(rows))
    full = metric.score(sample.sources, sample.systems["strong"], sample.references)
    both = [i for i in range(len(rows)) if i % 2]
    assert score.sentences[both] == pytest.approx(full.sentences[both], abs=TOLERANCE)


def test_wrong_lengths_are_refused(metric: Metric) -> None:
    references = References.from_texts(["a", "b"])
    with pytest.raises(LengthError, match=r"hypotheses has 1"):
        metric.score(["a", "b"], ["a"], references)
    with pytest.raises(InputError, match="no sentence"):
        metric.score([], [], References(()))
    if metric.needs_references:
        with pytest.raises(LengthError, match="references has 2"):
            metric.score(["a"], ["a"], references)
        with pytest.raises(InputError, match="needs references"):
            metric.score(["a"], ["a"])
        with pytest.raises(InputError, match="sentence 2 has no reference"):
            metric.score(["a", "b"], ["a", "b"], References((references[0], ())))


def test_does_not_touch_global_random_state(metric: Metric, sample: Sample) -> None:
    import random

    import torch

    def states() -> tuple[object, ...]:
        numpy_state = np.random.get_state()  # noqa: NPY002 - the global state is the point
        return random.getstate(), numpy_state[1].tobytes(), bytes(torch.get_rng_state())

    before = states()
    metric.score(sample.sources, sample.systems["weak"], references_for(metric, sample.references))
    assert states() == before


def test_statistics_are_pure_arrays(metric: Metric, sample: Sample, tmp_path: Path) -> None:
    references = references_for(metric, sample.references)
    statistics = metric.statistics(sample.sources, sample.systems["weak"], references)
    np.savez(tmp_path / "s.npz", **statistics.arrays)
    with np.load(tmp_path / "s.npz", allow_pickle=False) as loaded:
        assert set(loaded) == set(statistics.arrays)
