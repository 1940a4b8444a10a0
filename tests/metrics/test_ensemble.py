"""Ensembles: weighted sums by definition, names that round-trip, statistics shared with the members."""

from __future__ import annotations

import numpy as np
import pytest
from embedded import Sample

from learnedgec.errors import InputError, TextWarning
from learnedgec.metrics.contract import Metric
from learnedgec.metrics.ensemble import Ensemble
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import bind_one

BOTH = "ensemble(gleu=0.75, length=0.25, scales=((0.5, 0.2), (12.0, 3.0)))"


def test_is_the_weighted_sum_of_scaled_scores(sample: Sample) -> None:
    ensemble, gleu, length = map(load_metric, (BOTH, "gleu", "length"))
    texts = (sample.sources, sample.systems["eager"], sample.references)
    whole, of_gleu, of_length = (metric.score(*texts) for metric in (ensemble, gleu, length))

    def combined(a: object, b: object) -> object:
        return 0.75 * (a - 0.5) / 0.2 + 0.25 * (b - 12) / 3  # type: ignore[operator]

    assert whole.value == pytest.approx(combined(of_gleu.value, of_length.value))
    assert whole.sentences == pytest.approx(combined(of_gleu.sentences, of_length.sentences))
    assert whole.details == pytest.approx({"gleu": of_gleu.value, "length": of_length.value})
    assert whole.sentence_details["gleu"] == pytest.approx(of_gleu.sentences)


def test_it_passes_on_why_a_member_s_corpus_score_may_mislead() -> None:
    both = load_metric("ensemble(gleu=0.5, length=0.5)")
    with pytest.warns(TextWarning, match="gleu: texts without any 4-gram have the corpus score 0"):
        both.score(["He go ."], ["He goes ."], [["He goes ."]])


def test_the_signature_says_what_the_members_say_of_references(sample: Sample) -> None:
    texts = (sample.sources, sample.systems["eager"], [[row[0].text] for row in sample.references])
    score = load_metric("ensemble(m2=0.5, gleu=0.5)").score(*texts)
    assert "|0:gold:aligned|" in f"{score.signature}|"


def test_needs_references_where_a_member_does() -> None:
    # It follows from the members: nothing of it is written on the value.
    assert "needs_references" not in vars(load_metric("ensemble(length=0.5, gleu=0.5)"))
    assert load_metric("ensemble(length=0.5, gleu=0.5)").needs_references
    assert not load_metric("ensemble(length=0.5, random=0.5)").needs_references
    with pytest.raises(InputError, match="ensemble needs references"):
        load_metric("ensemble(length=0.5, gleu=0.5)").score(["a"], ["a"])


def test_scales_are_the_mean_and_deviation_of_all_sentences() -> None:
    ensemble = load_metric("ensemble(length=0.5, random=0.5)")
    assert isinstance(ensemble, Ensemble)
    sources, systems = ["a b", "c"], {"x": ["a", "c d e"], "y": ["a b", "c"]}
    scaled = ensemble.scaled_by(bind_one(ensemble).statistics(sources, systems).values())
    lengths = np.array([1, 3, 2, 1])
    assert scaled.scales is not None
    assert scaled.scales[0] == pytest.approx((lengths.mean(), lengths.std()))
    every = [scaled.score(sources, texts).sentence_details["length"] for texts in systems.values()]
    standard = (np.concatenate(every) - lengths.mean()) / lengths.std()
    assert standard.mean() == pytest.approx(0)


def test_a_member_that_is_constant_has_no_scale() -> None:
    ensemble = load_metric("ensemble(length=0.5, constant=0.5)")
    assert isinstance(ensemble, Ensemble)
    with pytest.raises(InputError, match="constant gives every sentence the same score"):
        ensemble.scaled_by([ensemble.statistics(["a b", "c"], ["a b", "c"])])


def test_members_read_their_own_cache(
    sample: Sample, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = Runtime(cache_dir=str(tmp_path))
    texts = (sample.sources, sample.systems["weak"], sample.references)
    gleu = load_metric("gleu")
    gleu.score(*texts, runtime=runtime)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("computed twice")

    monkeypatch.setattr(type(gleu), "compute", never)
    assert load_metric("ensemble(gleu=1.0)").score(*texts, runtime=runtime).value > 0


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("some", {"weights": (0.1, 0.2, 0.7), "threshold": 0.5}),
        ("ensemble", {"weights": (0.1, 0.9), "scales": ((1.0, 2.0), (3.0, 4.0))}),
        ("gleu", {"iterations": 7, "level": "sentence", "smooth": False}),
        ("green", {"beta": 0.3}),
        ("m2", {"beta": 2.0, "level": "sentence"}),
    ],
)
def test_statistics_do_not_depend_on_aggregate_parameters(
    name: str, others: dict[str, object], sample: Sample, request: pytest.FixtureRequest
) -> None:
    parameters: dict[str, object] = {}
    if name == "some":
        parameters["model"] = str(request.getfixturevalue("tiny_evaluator"))
    if name == "ensemble":
        parameters["members"] = ("gleu", "length")
    metric: Metric = load_metric(name, **parameters)
    other: Metric = load_metric(name, **parameters, **others)
    assert type(metric).aggregate_parameters == set(others)
    assert metric != other
    assert metric.for_statistics == other.for_statistics
    texts = (sample.sources[:20], sample.systems["eager"][:20], sample.references.select(range(20)))
    first, second = metric.statistics(*texts), other.statistics(*texts)
    assert first.arrays.keys() == second.arrays.keys()
    for key, array in first.arrays.items():
        np.testing.assert_array_equal(array, second[key])
