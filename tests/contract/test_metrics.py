"""The contract that every metric keeps, whatever it measures."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from chat_server import Call, ChatServer
from embedded import SAMPLE_FOLDER, Sample

from learnedgec.applications.corpus import joined_statistics
from learnedgec.data.references import References
from learnedgec.errors import InputError, LengthError
from learnedgec.metrics.contract import Metric, Statistics
from learnedgec.metrics.registry import METRICS, load_metric
from learnedgec.testing import CHECKS, sample_texts

# What some metrics warn of: a system alone, blank outputs.
pytestmark = pytest.mark.filterwarnings("ignore:gotoscorer", "ignore:(sent)?cleme2.*blank outputs")

# Encoders batch differently; float32 then agrees to this.
TOLERANCE = 1e-5


class Fixture(NamedTuple):
    """What a fixture returns, as a text."""

    name: str


ENCODER, CAUSAL = Fixture("tiny_encoder"), Fixture("tiny_causal")
# In groups of one, as the contract demands.
LANGUAGE_MODEL = {"model": "tiny", "endpoint": Fixture("chat_endpoint"), "group_size": 1}

# Metrics that need a model or a file get a tiny one.
PARAMETERS: Mapping[str, Mapping[str, object]] = {
    "some": {"model": Fixture("tiny_evaluator")},
    "quality": {"model": Fixture("tiny_preference")},
    "impara": {"quality": Fixture("tiny_regressor"), "similarity": ENCODER},
    "head": {"model": Fixture("tiny_evaluator"), "weights": {"fluency": 0.7, "meaning": 0.3}},
    "preference": {"model": Fixture("tiny_preference")},
    "classifier": {"model": Fixture("tiny_regressor"), "reads": "pair", "detokenised": True},
    "errant": {"annotator": "en-ewt-sm"},
    "senterrant": {"annotator": "en-ewt-sm"},
    "bertscore": {"encoder": ENCODER, "layer": 2},
    "bartscore": {"model": Fixture("tiny_sequence_model")},
    "pt-m2": {"encoder": ENCODER, "layer": 2},
    "pt-errant": {"encoder": ENCODER, "layer": 2, "annotator": "en-ewt-sm"},
    "uot-errant": {"encoder": ENCODER, "annotator": "en-ewt-sm"},
    # With a mean length of its own each corpus would weigh the same sentence otherwise.
    "cleme": {"annotator": "en-ewt-sm", "mean_length": 1.8},
    "sentcleme": {"edits": "aligned", "mean_length": 1.8},
    "cleme2": {"annotator": "en-ewt-sm", "encoder": ENCODER, "layer": 2},
    "sentcleme2": {"edits": "aligned", "weights": "none"},
    "scribendi": {"model": CAUSAL},
    "likelihood": {"model": CAUSAL},
    "asano": {"model": CAUSAL, "ratings": str(SAMPLE_FOLDER)},
    "llm-s": LANGUAGE_MODEL,
    "llm-e": LANGUAGE_MODEL,
    "ensemble": {"members": {"gleu": 0.75, "edit-count": 0.25}},
}


@pytest.fixture(scope="session")
def chat_endpoint() -> Iterator[str]:
    """Return the address of a model that rates a correction by its length."""

    def rate(call: Call) -> None:
        (correction,) = re.findall(r"^1\. (.*)$", call.prompt, re.MULTILINE)
        call.complete(json.dumps({"correction1": 1 + len(correction) % 5}))

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("no_proxy", "127.0.0.1")
        server = ChatServer(rate)
        yield server.url
        server.close()


@pytest.fixture(params=METRICS)
def metric(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Metric:
    if request.param == "ter":
        pytest.importorskip("sacrebleu")
    # Answers of language models are kept for all tests, away from the user's.
    monkeypatch.setenv("LEARNEDGEC_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    parameters = {
        name: str(request.getfixturevalue(value.name)) if isinstance(value, Fixture) else value
        for name, value in PARAMETERS.get(request.param, {}).items()
    }
    return load_metric(request.param, **parameters)


def references_for(metric: Metric, references: References) -> References | None:
    return references if metric.needs_references else None


@cache
def statistics_of_weak(metric: Metric) -> Statistics:
    return metric.statistics(*sample_texts().of(metric, sample_texts().systems["weak"]))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_keeps_what_metrics_of_other_packages_must_keep(
    metric: Metric, check: Callable[[Metric], None]
) -> None:
    check(metric)


def test_messages_about_lengths_name_them() -> None:
    metric, references = load_metric("gleu"), References.from_texts(["a", "b"])
    with pytest.raises(LengthError, match=r"hypotheses has 1"):
        metric.score(["a", "b"], ["a"], references)
    with pytest.raises(InputError, match="no sentence"):
        metric.score([], [], References(()))
    with pytest.raises(LengthError, match="references has 2"):
        metric.score(["a"], ["a"], references)
    with pytest.raises(InputError, match="needs references"):
        metric.score(["a"], ["a"])
    with pytest.raises(InputError, match="sentence 2 has no reference"):
        metric.score(["a", "b"], ["a", "b"], References((references[0], ())))


def test_joined_blocks_have_the_score_of_all_sentences(metric: Metric) -> None:
    statistics = statistics_of_weak(metric)
    # Enough for NumPy to add up in another order than from left to right.
    many = statistics.take(np.tile(np.arange(len(statistics)), 30))
    cuts = [0, 1, 130, 131, 700, len(many)]
    parts = [many.take(np.arange(start, stop)) for start, stop in pairwise(cuts)]
    with joined_statistics(lambda: parts) as joined:
        assert metric.aggregate(joined) == metric.aggregate(many)
        assert metric.details(joined) == metric.details(many)


def test_resample_is_the_score_of_the_resampled_sentences(metric: Metric, sample: Sample) -> None:
    references = references_for(metric, sample.references)
    # One reference each, so that no metric samples references by position.
    if references is not None:
        references = References(tuple(row[:1] for row in references))
    score = metric.score(sample.sources, sample.systems["weak"], references)
    draws = np.random.default_rng(0).integers(0, len(sample.sources), (3, len(sample.sources)))
    expected = [metric.aggregate(score.statistics.take(draw)) for draw in draws]
    assert metric.aggregate_many(score.statistics, draws) == pytest.approx(expected, abs=1e-9)


def test_varying_numbers_of_references(metric: Metric, sample: Sample) -> None:
    if not metric.needs_references:
        pytest.skip("needs no references")
    rows = tuple(row[: 1 + i % 2] for i, row in enumerate(sample.references))
    score = metric.score(sample.sources, sample.systems["strong"], References(rows))
    full = metric.score(sample.sources, sample.systems["strong"], sample.references)
    both = [i for i in range(len(rows)) if i % 2]
    assert score.sentences[both] == pytest.approx(full.sentences[both], abs=TOLERANCE)


def test_does_not_touch_global_random_state(metric: Metric, sample: Sample) -> None:
    import random

    import torch

    def states() -> tuple[object, ...]:
        numpy_state = np.random.get_state()  # noqa: NPY002 - the global state is the point
        return random.getstate(), numpy_state[1].tobytes(), bytes(torch.get_rng_state())

    before = states()
    metric.score(sample.sources, sample.systems["weak"], references_for(metric, sample.references))
    assert states() == before


def test_statistics_are_pure_arrays(metric: Metric, tmp_path: Path) -> None:
    statistics = statistics_of_weak(metric)
    np.savez(tmp_path / "s.npz", **statistics.arrays)
    with np.load(tmp_path / "s.npz", allow_pickle=False) as loaded:
        assert set(loaded) == set(statistics.arrays)
