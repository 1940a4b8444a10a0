"""A tiny model learns, packages, reloads with the same scores, and continues after an interruption."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from embedded import SAMPLE_FOLDER
from safetensors.torch import load_file

from learnedgec.data.catalog.ratings import load_ratings
from learnedgec.errors import ConfigError, LearnedgecError
from learnedgec.evaluators.evaluator import Evaluator, HeadConfig
from learnedgec.evaluators.packages import check_package
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.evaluate import evaluate
from learnedgec.training.fit import train, training_data
from learnedgec.training.module import EvaluatorModule

CONFIG = """
seed_everything: 3
model:
  encoder: {encoder}
  learning_rate: 5.0e-3
  heads:
    grammaticality: {{input: hypothesis}}
    fluency: {{input: hypothesis, weight: 0.5}}
    meaning: {{input: pair}}
data:
  ratings: [{ratings}]
  split: paper-random
  batch_size: 16
trainer:
  max_epochs: 4
  accelerator: cpu
last:
  every_n_train_steps: 5
"""


def options(tmp_path: Path, encoder: Path, name: str, *extra: str) -> list[str]:
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG.format(encoder=encoder, ratings=SAMPLE_FOLDER))
    places = ["--output", str(tmp_path / "checkpoints"), "--runs", str(tmp_path / "runs")]
    return ["--config", str(config), "--name", name, *places, *extra]


def package_of(arguments: list[str]) -> Path:
    result = train(arguments, progress=False)
    assert result is not None
    return result.package


def test_learns_packages_and_reloads(tmp_path: Path, tiny_encoder: Path) -> None:
    result = train(options(tmp_path, tiny_encoder, "tiny"), progress=False)
    assert result is not None
    ratings = load_ratings(str(SAMPLE_FOLDER))
    evaluator = Evaluator.load(str(result.package))
    predicted = evaluator.predict([r.source for r in ratings], [r.hypothesis for r in ratings])
    # Two layers with random weights memorise; what matters is that gradients reach every head.
    for head in ("grammaticality", "fluency", "meaning"):
        target = np.array([rating.values[head] for rating in ratings])
        assert np.corrcoef(predicted[head], target)[0, 1] > 0.3
    manifest = json.loads((result.package / "manifest.json").read_text())
    assert manifest["seed"] == 3
    assert manifest["data"]["train"]["ratings"] == 288
    assert manifest["results"]["dev"]["meaning"]["n"] == 36
    assert manifest["results"] == result.results
    assert {file.name for file in result.package.iterdir()} - {"manifest.json"} == set(
        manifest["files"]
    )

    # From another folder, without the encoder that it was trained from, the scores are the same.
    copy = shutil.copytree(result.package, tmp_path / "copy")
    hidden = tiny_encoder.rename(tiny_encoder.with_name("hidden"))
    try:
        scores = Evaluator.load(str(copy)).predict(["He go ."], ["He goes ."])
    finally:
        hidden.rename(tiny_encoder)
    here = evaluator.predict(["He go ."], ["He goes ."])
    for head, values in scores.items():
        assert values == pytest.approx(here[head], abs=1e-5)


def test_ratings_of_another_scale_continue_an_evaluator_on_theirs(tmp_path: Path) -> None:
    heads = {
        "fluency": HeadConfig("hypothesis", 2.8, 0.5),  # was rated from 1 to 4
        "quality": HeadConfig("hypothesis"),  # ranked pairs
    }
    first = tiny.save_evaluator(tmp_path / "first", heads=heads)
    ratings = tmp_path / "ratings.csv"
    columns = ["source,hypothesis,fluency,quality"]
    columns += [f"dog {n},the dog {n},{40 + n % 20},{60 + n % 20}" for n in range(60)]
    ratings.write_text("\n".join(columns) + "\n")
    config = tmp_path / "config.yaml"
    model = {"encoder": str(first), "heads": {"fluency": {}, "quality": {}}}
    trainer = {"max_epochs": 1, "accelerator": "cpu"}
    settings = {"model": model, "data": {"ratings": [str(ratings)]}, "trainer": trainer}
    config.write_text(json.dumps(settings))
    notices: list[str] = []
    places = ["--output", str(tmp_path), "--runs", str(tmp_path / "runs")]
    result = train(
        ["--config", str(config), "--name", "second", *places],
        progress=False,
        notify=notices.append,
    )
    assert notices[0] == (
        "Continuing first: fluency continues; quality starts untrained (in first it ranks pairs)."
    )
    assert notices[1].startswith("Split by-source")
    assert result is not None
    second = Evaluator.load(str(result.package)).model.config
    for head, mean in (("fluency", 49.5), ("quality", 69.5)):
        assert second.head(head).offset == pytest.approx(mean, abs=2)
        assert second.head(head).scale == pytest.approx(5.8, abs=1)
    card = (result.package / "README.md").read_text()
    assert "impara" not in card
    assert "head(model='second', name='quality')" in card


def test_resume_gives_the_same_weights_as_no_interruption(
    tmp_path: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 6 steps an epoch: step 9 lies inside the second epoch, and every third step is kept.
    short = ["--trainer.max_epochs", "2", "--data.batch_size", "48"]
    short += ["--last.every_n_train_steps", "3"]
    whole = package_of(options(tmp_path, tiny_encoder, "whole", *short))
    step = EvaluatorModule.training_step

    def killed(self: EvaluatorModule, batch: Any, index: int) -> torch.Tensor:
        if self.global_step == 9:
            raise MemoryError
        return step(self, batch, index)

    arguments = options(tmp_path, tiny_encoder, "killed", *short)
    monkeypatch.setattr(EvaluatorModule, "training_step", killed)
    with pytest.raises(MemoryError):
        train(arguments, progress=False)
    monkeypatch.setattr(EvaluatorModule, "training_step", step)
    assert not (tmp_path / "checkpoints" / "killed").exists()
    last = torch.load(tmp_path / "runs" / "killed" / "last.ckpt", weights_only=True)
    assert last["global_step"] == 9
    resumed = package_of([*arguments, "--resume"])
    first, second = (load_file(folder / "model.safetensors") for folder in (whole, resumed))
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name


def test_fewer_layers_in_fewer_bits(tmp_path: Path) -> None:
    encoder = tiny.save_encoder(tmp_path / "encoder", width=128)
    words = options(tmp_path, encoder, "small", "--model.layer", "1", "--trainer.max_epochs", "1")
    words += ["--model.learning_rate", "1.0e-3"]
    result = train([*words, "--bits", "4"], progress=False)
    assert result is not None
    evaluator = Evaluator.load(str(result.package))
    assert len(evaluator.model.encoder.encoder.layer) == 1
    assert check_package(result.package)["bits"] == 4
    assert evaluator.model.state_dict()["encoder.encoder.layer.0.output.dense.bias"].any()
    # What is reported was reached with the rounded weights.
    dev = training_data(words).load()["dev"]
    assert evaluate(evaluator, dev, runtime=Runtime()) == result.results["dev"]
    size = (result.package / "model.safetensors").stat().st_size
    # How it is stored and summed can be changed after training.
    sums = ["--model.sums", "{both: {fluency: 1.0, meaning: 2.0}}"]
    whole = train([*words, *sums, "--resume"], progress=False)
    assert whole is not None
    assert "both" in Evaluator.load(str(whole.package)).outputs
    for head, figures in whole.results["dev"].items():
        assert figures["pearson"] == pytest.approx(result.results["dev"][head]["pearson"], abs=0.1)
        assert figures["pearson"] != result.results["dev"][head]["pearson"]
    assert 2 * size < (whole.package / "model.safetensors").stat().st_size


def test_unknown_key_is_named_before_any_work(tmp_path: Path, tiny_encoder: Path) -> None:
    from argparse import ArgumentError

    with pytest.raises(ArgumentError, match=r"(?s)data.*bach_size"):
        train(options(tmp_path, tiny_encoder, "x", "--data.bach_size", "3"), progress=False)
    arguments = options(tmp_path, tiny_encoder, "x")
    config = tmp_path / "config.yaml"
    config.write_text(config.read_text() + "modle: {dropout: 0.2}\n")
    with pytest.raises(ArgumentError, match="modle"):
        train(arguments, progress=False)


def test_head_without_ratings_is_refused(tmp_path: Path, tiny_encoder: Path) -> None:
    extra = ["--model.heads", "{style: {input: hypothesis}}"]
    with pytest.raises(ConfigError, match=r"model\.heads\.style.*grammaticality"):
        train(options(tmp_path, tiny_encoder, "x", *extra), progress=False)


def test_unwritable_output_is_refused_before_training(tmp_path: Path, tiny_encoder: Path) -> None:
    (tmp_path / "checkpoints").write_text("a file, not a folder")
    with pytest.raises(LearnedgecError, match="cannot be written"):
        train(options(tmp_path, tiny_encoder, "x"), progress=False)


def test_small_batches_and_frozen_layers(tmp_path: Path, tiny_encoder: Path) -> None:
    extra = (
        "--model.frozen_layers",
        "1",
        "--data.batch_tokens",
        "200",
        "--trainer.max_epochs",
        "1",
    )
    package = package_of(options(tmp_path, tiny_encoder, "frozen", *extra))
    before = load_file(tiny_encoder / "model.safetensors")
    after = load_file(package / "model.safetensors")
    same = {
        name
        for name, weight in before.items()
        if torch.equal(after.get(f"encoder.{name}", torch.empty(0)).float(), weight.half().float())
    }
    learned = {name for name in before if "layer.1." in name}
    assert learned
    assert same.isdisjoint(name for name in learned if name.endswith("dense.weight"))
    assert {name for name in before if "embeddings" in name or "layer.0." in name} <= same


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--model.frozen_layers", "3"], "model.frozen_layers is 3, but the encoder has 2 layers"),
        (["--data.batch_tokens", "0"], "data.batch_tokens: a number >0 was expected"),
    ],
)
def test_options_out_of_range(
    tmp_path: Path, tiny_encoder: Path, extra: list[str], message: str
) -> None:
    with pytest.raises(LearnedgecError, match=message):
        train(options(tmp_path, tiny_encoder, "tiny", *extra), progress=False)


PAIR_CONFIG = """
seed_everything: 3
model:
  encoder: {encoder}
  learning_rate: 5.0e-4
  lora: {{rank: 8}}
  heads:
    meaning: {{input: pair}}
data:
  ratings: [{ratings}]
  split: paper-random
trainer:
  max_steps: 3
  accelerator: cpu
"""


def test_corrections_teach_one_input_and_leave_the_rest(tmp_path: Path) -> None:
    start = tiny.save_evaluator(tmp_path / "start", bits=4, width=128)
    config = tmp_path / "config.yaml"
    config.write_text(PAIR_CONFIG.format(encoder=start, ratings=SAMPLE_FOLDER))
    places = ["--output", str(tmp_path / "checkpoints"), "--runs", str(tmp_path / "runs")]
    package = package_of(["--config", str(config), "--name", "corrected", "--bits", "4", *places])
    before, after = (load_file(folder / "model.safetensors") for folder in (start, package))
    encoder = [name for name in before if not name.startswith("heads.meaning")]
    assert len(encoder) > 20
    assert all(torch.equal(before[name], after[name]) for name in encoder)
    ratings = load_ratings(str(SAMPLE_FOLDER))
    rows = [r.source for r in ratings], [r.hypothesis for r in ratings]
    first, second = (Evaluator.load(str(folder)).predict(*rows) for folder in (start, package))
    for head in ("grammaticality", "fluency"):
        assert second[head].tolist() == pytest.approx(first[head].tolist())
    assert second["meaning"].tolist() != pytest.approx(first["meaning"].tolist(), abs=0.01)
    manifest = check_package(package)
    assert set(manifest["heads"]) == {"grammaticality", "fluency", "meaning"}
    # What continues from it with other corrections, or with none, starts from what they correct.
    other = ["--model.lora", "{rank: 2, layers: 1}"]
    for name, options in (("other", other), ("whole", [])):
        whole = PAIR_CONFIG.replace("  lora: {{rank: 8}}\n", "") if name == "whole" else PAIR_CONFIG
        config.write_text(whole.format(encoder=package, ratings=SAMPLE_FOLDER))
        few = ["--trainer.max_steps", "1", "--model.learning_rate", "0", "--bits", "4"]
        again = package_of(["--config", str(config), "--name", name, *options, *few, *places])
        continued = load_file(again / "model.safetensors")
        assert all(
            torch.equal(before[name], continued[name]) for name in encoder if "heads" not in name
        )
        assert {value.shape[0] for key, value in continued.items() if key.endswith(".down")} == (
            {2} if name == "other" else set()
        )
        third = Evaluator.load(str(again)).predict(*rows)
        assert set(third) == (
            {"grammaticality", "fluency", "meaning"} if name == "other" else {"meaning"}
        )
        if name == "other":
            assert third["fluency"].tolist() == pytest.approx(first["fluency"].tolist())


def test_gradients_are_clipped_in_bfloat16(
    tmp_path: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The Trainer refuses to clip those of a fused optimizer; any processor can emulate two steps.
    norms: list[float] = []
    clip = torch.nn.utils.clip_grad_norm_
    monkeypatch.setattr(
        torch.nn.utils,
        "clip_grad_norm_",
        lambda weights, most: norms.append(most) or clip(weights, most),
    )
    extra = ("--trainer.precision", "bf16-mixed", "--trainer.max_steps", "2")
    package_of(options(tmp_path, tiny_encoder, "short", *extra))
    assert norms == [1.0, 1.0]


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--model.lora", "{rank: 0}"], "model.lora.rank is 0; at least 1 was expected"),
        (["--model.lora", "{rank: 2, layers: 3}"], "the encoder has 2 layers"),
    ],
)
def test_corrections_that_cannot_be(
    tmp_path: Path, tiny_encoder: Path, extra: list[str], message: str
) -> None:
    with pytest.raises(LearnedgecError, match=message):
        train(options(tmp_path, tiny_encoder, "tiny", *extra), progress=False)
