"""Every bundled configuration is accepted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tiny
from training_files import training_data

from learnedgec.evaluators.evaluator import HeadConfig

CONFIGS = Path(__file__).parents[2] / "configs"
# The study's candidates stand on a base of their own.
STUDY = CONFIGS / "released" / "study"
ALONE = sorted(
    path
    for path in CONFIGS.rglob("*.yaml")
    if path.parent != STUDY and not path.name.startswith("tune-")
)
ON_BASE = sorted(path for path in STUDY.glob("*.yaml") if path.name != "base.yaml")


@pytest.mark.parametrize("path", [*ALONE, *ON_BASE], ids=lambda path: path.stem)
def test_configurations_are_accepted(path: Path, tiny_encoder: Path, tmp_path: Path) -> None:
    on_base = path in ON_BASE
    words = ["--config", str(STUDY / "base.yaml"), "--name", path.stem] if on_base else []
    encoder = ["--model.encoder", str(tiny_encoder), "--model.layer", "2"]
    if path.stem.startswith("open-"):  # whose encoder has a licence, unlike the tiny one
        encoder += ["--licence-policy", "any"]
    if path.stem == "open-mpnet-base":
        encoder += ["--model.heads.detection.layer", "1"]
    if path.stem == "joint-mpnet-2":  # it continues the evaluator of the first stage
        names = ("grammaticality", "fluency", "quality", "likelihood")
        heads = {name: HeadConfig("hypothesis") for name in names}
        first = tiny.save_evaluator(tmp_path / "first", heads=heads)
        encoder = ["--model.encoder", str(first), "--model.lora", "{rank: 4, layers: 1}"]
    # They continue that of the stage before.
    if path.stem in ("joint-mpnet-3", "open-mpnet"):
        names = ("grammaticality", "fluency", "quality", "likelihood", "relative", "meaning")
        heads = {name: HeadConfig("hypothesis") for name in names}
        second = tiny.save_evaluator(tmp_path / "second", heads=heads)
        encoder = [*encoder[4:], "--model.encoder", str(second), "--model.frozen_layers", "2"]
        own = {"capitals": {"objective": "capitals", "layer": 1}}
        own |= {"impara": {"objective": "logistic"}} if path.stem == "open-mpnet" else {}
        encoder += ["--model.heads", json.dumps(own)]
    data = training_data([*words, "--config", str(path), *encoder])
    assert data.ratings or data.pairs


def test_the_sample_is_found_from_any_folder(
    tmp_path: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = training_data(["--config", "sample", "--model.encoder", str(tiny_encoder)])
    assert list(data.ratings) == ["sample"]
    data.load()
    assert data.parts["train"]
