"""References of scores: percentiles, a calibration that is right where the truth is known, and words."""

from __future__ import annotations

import json
import runpy
import shutil
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit

from learnedgec.data.text import write_json
from learnedgec.evaluators.locations import find_evaluator
from learnedgec.metrics.registry import load_metric
from learnedgec.report.overview import (
    ScoreReference,
    _from_json,
    evaluators_of,
    explain_score,
    find_reference,
)
from learnedgec.runtime.files import file_digest
from learnedgec.scoring import bind_one

SLOPE, INTERCEPT, SENTENCES = 4.0, 0.5, 2000
SCRIPT = Path(__file__).parents[2] / "scripts" / "calibrate_scores.py"
calibrate = SimpleNamespace(**runpy.run_path(str(SCRIPT)))


@pytest.fixture(scope="module")
def reference() -> ScoreReference:
    """Return a reference made of outputs whose preferences follow a known law."""
    random = np.random.default_rng(0)
    source = random.normal(size=SENTENCES)
    scores = np.stack([source + random.normal(mean, 0.5, SENTENCES) for mean in (0.1, 0.4)])
    rated = random.normal(50, 10, SENTENCES)
    better = random.random(scores.shape) < expit(SLOPE * (scores - source) + INTERCEPT)
    ratings = rated + np.where(better, 5.0, -5.0)
    ratings[0, :10] = np.nan
    ratings[1, :10] = rated[:10]
    changed = np.tile(np.arange(SENTENCES) >= 5, (2, 1))
    made: ScoreReference = calibrate.make_reference(
        "m", {}, "bench", scores, source, ratings, rated, changed
    )
    return made


def test_the_law_is_found(reference: ScoreReference) -> None:
    gains = np.linspace(-0.5, 1.0, 16)
    assert reference.preferred(gains) == pytest.approx(expit(SLOPE * gains + INTERCEPT), abs=0.06)
    assert (np.diff(reference.probabilities) >= 0).all()
    # Ties, outputs that nobody rated and those that are their source tell nothing.
    assert reference.pairs == 2 * SENTENCES - 20
    assert reference.outputs == 2 * SENTENCES - 10
    # Beyond what was seen nothing is surer than at the ends.
    ends = reference.preferred(np.array([-100.0, 100.0]))
    assert ends.tolist() == [reference.probabilities[0], reference.probabilities[-1]]


def test_it_is_reliable_on_sources_that_it_has_not_seen(reference: ScoreReference) -> None:
    assert sum(bin_.count for bin_ in reference.bins) == reference.pairs
    predicted = [bin_.predicted for bin_ in reference.bins]
    assert predicted == sorted(predicted)
    within = [bin_.low <= bin_.predicted <= bin_.high for bin_ in reference.bins]
    assert sum(within) >= 8
    assert all(bin_.low < bin_.preferred < bin_.high for bin_ in reference.bins[1:-1])


def test_shares_never_fall_with_the_gain() -> None:
    gains = np.repeat([-1.0, 0.0, 1.0], 100)
    preferred = np.arange(300) % 100 < np.repeat([25, 20, 75], 100)
    fitted = calibrate.fit_preference(gains, preferred)
    assert np.interp([-1.0, 0.0, 1.0], *fitted) == pytest.approx([0.225, 0.225, 0.75])
    # A score that says nothing has a flat calibration.
    random = np.random.default_rng(1)
    _, flat = calibrate.fit_preference(random.normal(size=5000), random.random(5000) < 0.8)
    assert flat == pytest.approx(np.full(len(flat), 0.8), abs=0.05)


def test_what_is_written_is_read(reference: ScoreReference, tmp_path: Path) -> None:
    write_json(tmp_path / "r.json", [calibrate.to_json(asdict(reference))])
    (read,) = map(_from_json, json.loads((tmp_path / "r.json").read_text()))
    assert read.quantiles == pytest.approx(reference.quantiles, rel=1e-5)
    assert read.bins[3].predicted == pytest.approx(reference.bins[3].predicted, rel=1e-5)
    assert (read.metric, read.pairs) == ("m", reference.pairs)


def test_words(reference: ScoreReference) -> None:
    assert reference.percentiles(np.array([-9e9, reference.quantiles[50], 9e9])).tolist() == [
        0,
        50,
        100,
    ]
    scores, source = np.array([1.0, 2.0, 0.0]), np.array([0.0, 0.0, 0.0])
    explanation = explain_score(reference, 1.0, scores, source, [True, True, False])
    middle = reference.percentiles(scores[:2]).mean()
    preferred = reference.preferred(scores[:2]).mean()
    assert explanation == (
        f"1.0000: it changes 2 of 3 sentences; half of these score above {middle:.0f}% of 3,990 changed "
        f"sentences of bench, and human raters there put {preferred:.0%} of such changes above the source "
        f"({reference.pairs:,} rated outputs)."
    )
    unchanged = explain_score(reference, -9.0, source, source, [False] * 3)
    assert unchanged == "-9.0000: it changes no sentence."


def test_only_the_very_metric_has_a_reference(tiny_evaluator: Path) -> None:
    earlier = ("quality[joint-mpnet-3]", "preference[joint-mpnet-3]")
    for name in ("some", "quality", "preference", *earlier):
        reference = find_reference(bind_one(name))
        assert reference is not None
        assert reference.benchmark == "gmeg:fce"
        assert reference.evaluators == evaluators_of(bind_one(name))
        assert reference.pairs > 3000
        # The released calibrations keep what they promise: no bin is far from what people said.
        for bin_ in reference.bins:
            assert abs(bin_.predicted - bin_.preferred) < 0.1
    assert find_reference(bind_one("some(weights=(1.0, 0.0, 0.0))")) is None
    assert find_reference(bind_one(load_metric("some", model=str(tiny_evaluator)))) is None
    assert find_reference(bind_one("edit-count")) is None


def test_other_sums_of_the_same_weights_have_no_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A folder of evaluators comes before the released ones, so that the name stays the same.
    package = tmp_path / "joint-mpnet-3"
    shutil.copytree(find_evaluator("joint-mpnet-3"), package)
    config = json.loads((package / "config.json").read_text())
    config["sums"]["quality"]["capitals"] *= 2
    (package / "config.json").write_text(json.dumps(config))
    manifest = json.loads((package / "manifest.json").read_text())
    manifest["files"]["config.json"] = file_digest(package / "config.json")
    (package / "manifest.json").write_text(json.dumps(manifest))
    assert find_reference(bind_one("quality[joint-mpnet-3]")) is not None
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", str(tmp_path))
    assert find_reference(bind_one("quality[joint-mpnet-3]")) is None
