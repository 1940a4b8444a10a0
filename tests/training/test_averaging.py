"""The mean of evaluators that were trained with several seeds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from embedded import SAMPLE_FOLDER
from training_files import arguments, trained

from learnedgec.errors import ConfigError
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.training.averaging import average
from learnedgec.training.fit import training_data


def words(folder: Path, encoder: Path, name: str, *extra: str) -> list[str]:
    model = {"encoder": encoder, "learning_rate": 5e-3, "heads": {"fluency": {}}}
    trainer = {"max_steps": 3, "val_check_interval": 1}
    settings = {"model": model, "data": {"ratings": [SAMPLE_FOLDER]}, "trainer": trainer}
    return arguments(folder, settings, "--name", name, *extra)


def package(arguments: list[str]) -> str:
    return str(trained(arguments).package)


def test_the_mean_has_the_mean_weights_and_says_of_what(tmp_path: Path, tiny_encoder: Path) -> None:
    names = [
        package(words(tmp_path, tiny_encoder, f"seed-{seed}", "--seed_everything", seed))
        for seed in ("1", "2")
    ]
    data = training_data(words(tmp_path, tiny_encoder, "mean"))
    output = tmp_path / "out"
    result = average(names, output, "mean", data)
    first, second, mean = (
        Evaluator.load(str(name)).model.state_dict() for name in (*names, result.package)
    )
    assert any(not torch.equal(first[key], second[key]) for key in first)
    for key, tensor in mean.items():
        assert torch.equal(tensor, ((first[key] + second[key]) / 2).half().float())
    manifest = json.loads((result.package / "manifest.json").read_text())
    assert manifest["seed"] == [1, 2]
    assert [row["name"] for row in manifest["averaged"]] == ["seed-1", "seed-2"]
    assert manifest["results"] == result.results
    assert result.results["dev"]["fluency"]["n"] == 35
    card = (result.package / "README.md").read_text()
    assert "- Mean of the weights of `seed-1` (" in card
    assert "- Seed: 1, 2\n" in card

    configuration = (result.package / "training.yaml").read_text()
    assert "learning_rate: 0.005" in configuration
    assert str(output) not in configuration

    # From another start there is nothing to average.
    elsewhere = words(tmp_path, tiny_encoder, "other", "--model.encoder", names[0])
    with pytest.raises(ConfigError, match="they differ in their start"):
        average([names[0], package(elsewhere)], output, "mean", data)
    for other in (("--data.split_seed", "5"), ("--data.check_leakage", "false")):
        others = training_data(words(tmp_path, tiny_encoder, "mean", *other))
        with pytest.raises(ConfigError, match="on other data than this configuration names"):
            average(names, output, "mean", others)
    with pytest.raises(ConfigError, match="name two or more"):
        average(names[:1], output, "mean", data)
    with pytest.raises(ConfigError, match="named twice"):
        average([names[0], names[0]], output, "mean", data)
    with pytest.raises(ConfigError, match="is already an average"):
        average([names[0], str(result.package)], output, "mean", data)


def test_nothing_but_a_package_is_replaced(tmp_path: Path, tiny_encoder: Path) -> None:
    data = training_data(words(tmp_path, tiny_encoder, "mean"))
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "thesis.txt").write_text("mine")
    with pytest.raises(ConfigError, match="exists and is not an evaluator package"):
        average(["a", "b"], tmp_path, "own", data)
    for name in ("", "..", "a/b"):
        with pytest.raises(ConfigError, match="must be a plain name"):
            average(["a", "b"], tmp_path / "own", name, data)
    assert (tmp_path / "own" / "thesis.txt").read_text() == "mine"


def test_low_rank_corrections_have_no_mean_of_their_rank(
    tmp_path: Path, tiny_encoder: Path
) -> None:
    lora = ("--model.lora", "{rank: 2}")
    names = [
        package(words(tmp_path, tiny_encoder, f"run-{seed}", *lora, "--seed_everything", seed))
        for seed in ("1", "2")
    ]
    data = training_data(words(tmp_path, tiny_encoder, "mean", *lora))
    with pytest.raises(ConfigError, match="low-rank matrices, whose mean would have a higher rank"):
        average(names, tmp_path / "out", "mean", data)
