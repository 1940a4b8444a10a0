"""A tiny model learns, packages, reloads with the same scores, and continues; the mean of several seeds."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import tiny
import torch
from embedded import SAMPLE_FOLDER
from safetensors.torch import load_file
from training_files import arguments, trained, training_data

from learnedgec.data.catalog.ratings import load_ratings
from learnedgec.errors import ConfigError, UnknownNameError
from learnedgec.evaluators.evaluator import Evaluator, HeadConfig
from learnedgec.evaluators.lora import is_lora
from learnedgec.evaluators.package import check_package
from learnedgec.runtime.runtime import Runtime
from learnedgec.training import fit
from learnedgec.training.evaluate import evaluate
from learnedgec.training.fit import train
from learnedgec.training.module import EvaluatorModule
from learnedgec.training.objectives import HeadOptions
from learnedgec.training.run import TrainingResult
from learnedgec.training.settings import read_settings
from learnedgec.training.start import Lora, ModelSettings


def options(folder: Path, encoder: Path, *words: str) -> list[str]:
    heads = {
        "grammaticality": {"input": "hypothesis"},
        "fluency": {"input": "hypothesis", "weight": 0.5},
        "meaning": {"input": "pair"},
    }
    words = ("--seed_everything", "3", "--last.every_n_train_steps", "5", *words)
    data = {"ratings": [SAMPLE_FOLDER], "split": "paper-random"}
    return arguments(folder, data, *words, encoder=encoder, learning_rate=5e-3, heads=heads)


def test_learns_packages_and_reloads(tmp_path: Path, tiny_encoder: Path) -> None:
    longer = ("--trainer.max_epochs", "16", "--model.learning_rate", "2e-3")
    result = trained(options(tmp_path, tiny_encoder, *longer))
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
    assert set(result.verdicts) == {"grammaticality", "fluency", "meaning"}
    card = (result.package / "README.md").read_text()
    assert all(verdict.sentence in card for verdict in result.verdicts.values())
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
    learned = {"fluency": {}, "quality": {}}
    words = arguments(tmp_path, {"ratings": [ratings]}, encoder=first, heads=learned)
    notices: list[str] = []
    result = train(
        read_settings([*words, "--name", "second"]), progress=False, notify=notices.append
    )
    assert notices[0] == (
        "Continuing first; heads that continue: fluency; heads that start untrained: quality."
    )
    assert notices[1].startswith("Split by-source")
    assert result is not None
    second = Evaluator.load(str(result.package)).model.config
    for head, mean in (("fluency", 49.5), ("quality", 69.5)):
        assert second.head(head).offset == pytest.approx(mean, abs=2)
        assert second.head(head).scale == pytest.approx(5.8, abs=1)
    card = (result.package / "README.md").read_text()
    assert "quality[second]" not in card
    assert "head[second.quality]" in card


def test_resume_gives_the_same_weights_as_no_interruption(
    tmp_path: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 6 steps an epoch: step 9 lies inside the second epoch, and every third step is kept.
    short = ["--trainer.max_epochs", "2", "--data.batch_size", "48"]
    short += ["--last.every_n_train_steps", "3"]
    whole = trained(options(tmp_path, tiny_encoder, "--name", "whole", *short)).package
    step = EvaluatorModule.training_step

    def killed(self: EvaluatorModule, batch: Any, index: int) -> torch.Tensor:
        if self.global_step == 9:
            raise MemoryError
        return step(self, batch, index)

    words = options(tmp_path, tiny_encoder, "--name", "killed", *short)
    monkeypatch.setattr(EvaluatorModule, "training_step", killed)
    with pytest.raises(MemoryError):
        trained(words)
    monkeypatch.setattr(EvaluatorModule, "training_step", step)
    assert not (tmp_path / "out" / "killed").exists()
    last = torch.load(tmp_path / "runs" / "killed" / "last.ckpt", weights_only=True)
    assert last["global_step"] == 9
    resumed = trained([*words, "--resume", "--data.jobs", "2"]).package
    assert "resume: false" in (resumed / "training.yaml").read_text()
    first, second = (load_file(folder / "model.safetensors") for folder in (whole, resumed))
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name


def test_fewer_layers_in_fewer_bits(tmp_path: Path) -> None:
    encoder = tiny.save_encoder(tmp_path / "encoder", width=128)
    words = options(tmp_path, encoder, "--model.layer", "1", "--model.learning_rate", "1.0e-3")
    result = trained([*words, "--bits", "4"])
    evaluator = Evaluator.load(str(result.package))
    assert len(evaluator.model.encoder.encoder.layer) == 1
    assert check_package(result.package)["bits"] == 4
    assert evaluator.model.state_dict()["encoder.encoder.layer.0.output.dense.bias"].any()
    # What is reported was reached with the rounded weights.
    dev = training_data(words).load()["dev"]
    again = evaluate(evaluator, dev, runtime=Runtime())
    assert {head: each.figures for head, each in again.items()} == result.results["dev"]
    size = (result.package / "model.safetensors").stat().st_size
    # How it is stored and summed can be changed after training.
    sums = ["--model.sums", "{both: {fluency: 1.0, meaning: 2.0}}"]
    whole = trained([*words, *sums, "--resume"])
    assert "both" in Evaluator.load(str(whole.package)).outputs
    for head, figures in whole.results["dev"].items():
        assert figures["pearson"] == pytest.approx(result.results["dev"][head]["pearson"], abs=0.1)
        assert figures["pearson"] != result.results["dev"][head]["pearson"]
    assert 2 * size < (whole.package / "model.safetensors").stat().st_size


def test_unknown_key_is_named_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "typo.yaml").write_text("name: x\nmodle: {dropout: 0.2}\nmodel: {heads: {a: {}}}\n")
    with pytest.raises(UnknownNameError, match="'modle'; did you mean 'model'"):
        trained(["--config", str(tmp_path / "typo.yaml")])


def test_small_batches_and_frozen_layers(tmp_path: Path, tiny_encoder: Path) -> None:
    few = ("--model.frozen_layers", "1", "--data.batch_tokens", "400")
    package = trained(options(tmp_path, tiny_encoder, *few)).package
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


def low_rank(folder: Path, encoder: Path, lora: dict[str, int] | None, *words: str) -> list[str]:
    words = ("--seed_everything", "3", "--bits", "4", "--trainer.max_steps", "3", *words)
    data = {"ratings": [SAMPLE_FOLDER], "split": "paper-random"}
    heads = {"meaning": {"input": "pair"}}
    model = {"encoder": encoder, "learning_rate": 5e-4, "lora": lora, "heads": heads}
    return arguments(folder, data, *words, **model)


def test_checkpoints_leave_frozen_weights_out_and_continue_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = tiny.save_evaluator(tmp_path / "start", width=128)
    notices: list[str] = []

    def low_rank_run(name: str, *words: str) -> TrainingResult:
        steps = ("--trainer.max_steps", "4", "--last.every_n_train_steps", "2", "--name", name)
        words = (*low_rank(tmp_path, start, {"rank": 2}), *steps, *words)
        result = train(read_settings(words), progress=False, notify=notices.append)
        assert result is not None
        return result

    whole = low_rank_run("whole")
    assert "heads that stay as they are: fluency, grammaticality" in notices[0]
    # Only what was trained has results, though the table rates the other heads, too.
    for part in whole.results.values():
        assert list(part) == ["meaning"]
    assert list(whole.verdicts) == ["meaning"]
    step = EvaluatorModule.training_step

    def killed(self: EvaluatorModule, batch: Any, index: int) -> torch.Tensor:
        if self.global_step == 2:
            raise MemoryError
        return step(self, batch, index)

    monkeypatch.setattr(EvaluatorModule, "training_step", killed)
    with pytest.raises(MemoryError):
        low_rank_run("killed")
    monkeypatch.setattr(EvaluatorModule, "training_step", step)
    kept = torch.load(tmp_path / "runs" / "killed" / "last.ckpt", weights_only=True)["state_dict"]
    parameters = {name for name in kept if name.startswith("model.")}
    assert parameters
    assert all(is_lora(name) or name.startswith("model.heads.meaning.") for name in parameters)
    notices.clear()
    resumed = low_rank_run("killed", "--resume")
    assert "The run is resumed after step 2." in notices
    first, second = (load_file(r.package / "model.safetensors") for r in (whole, resumed))
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name
    # Another evaluator has taken the place of the one that the run left as it is.
    (tmp_path / "runs" / "whole" / "finished.json").unlink()
    tiny.save_evaluator(tmp_path / "start", width=128, seed=9)
    with pytest.raises(
        ConfigError, match=r"resume: the weights of .* have changed since; start again"
    ):
        low_rank_run("whole", "--resume")


def test_low_rank_weights_teach_one_input_and_leave_the_rest(tmp_path: Path) -> None:
    start = tiny.save_evaluator(tmp_path / "start", bits=4, width=128)
    stated = json.loads((start / "manifest.json").read_text()) | {"license": "MIT"}
    (start / "manifest.json").write_text(json.dumps(stated))
    package = trained(low_rank(tmp_path, start, {"rank": 8}, "--name", "corrected")).package
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
    # What the first says of its own data holds, whatever files they were.
    assert manifest["license"] == "LicenseRef-own-data AND MIT"
    # A run that continues it with other low-rank weights, or with none, starts from the frozen encoder.
    for name, lora, outputs, ranks in (
        ("other", {"rank": 2, "layers": 1}, set(first), {2}),
        ("whole", None, {"meaning"}, set()),
    ):
        few = ["--trainer.max_steps", "1", "--model.learning_rate", "0", "--name", name]
        again = trained(low_rank(tmp_path, package, lora, *few)).package
        continued = load_file(again / "model.safetensors")
        assert all(
            torch.equal(before[name], continued[name]) for name in encoder if "heads" not in name
        )
        assert {value.shape[0] for key, value in continued.items() if "down" in key} == ranks
        third = Evaluator.load(str(again)).predict(*rows)
        assert set(third) == outputs
        for head in outputs - {"meaning"}:
            assert third[head].tolist() == pytest.approx(first[head].tolist())
    # With equal ones, or with all layers frozen, it starts where this one ended.
    for name, lora, frozen in (("same", {"rank": 8}, []), ("head", None, ["2"])):
        few = ["--trainer.max_steps", "1", "--model.learning_rate", "0", "--name", name]
        few += [f"--model.frozen_layers={layers}" for layers in frozen]
        again = trained(low_rank(tmp_path, package, lora, *few)).package
        third = Evaluator.load(str(again)).predict(*rows)
        assert third.keys() == second.keys()
        for head, values in second.items():
            assert third[head].tolist() == pytest.approx(values.tolist(), abs=1e-3)


def test_new_weights_begin_alike_whatever_the_seed(tmp_path: Path) -> None:
    start = str(tiny.save_evaluator(tmp_path / "start", bits=4, width=128))
    states = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        heads = {"meaning": HeadOptions("pair"), "other": HeadOptions("pair")}
        states.append(
            EvaluatorModule(ModelSettings(heads, start, lora=Lora(rank=2))).model.state_dict()
        )
    first, second = states
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["heads.meaning.weight"], first["heads.other.weight"])


def test_seeds_of_low_rank_weights_have_a_mean(tmp_path: Path) -> None:
    start = tiny.save_evaluator(tmp_path / "start", bits=4, width=128)
    words = ["--average", "--seeds", "2", "--name", "mean"]
    mean = trained(low_rank(tmp_path, start, {"rank": 8}, *words)).package
    members = [tmp_path / "runs" / "mean" / f"seed-{seed}" / "mean" for seed in (3, 4)]
    one, two, both = (load_file(path / "model.safetensors") for path in (*members, mean))
    low_rank_weights = [name for name in both if name.endswith((".up", ".down"))]
    assert low_rank_weights
    for name in low_rank_weights:
        assert not torch.equal(one[name], two[name])
        assert both[name].equal(((one[name].float() + two[name].float()) / 2).half())


def test_gradients_are_clipped_in_bfloat16(tmp_path: Path, tiny_encoder: Path) -> None:
    # The Trainer refuses to clip those of a fused optimizer; any processor can emulate two steps.
    extra = ("--trainer.precision", "bf16-mixed", "--trainer.max_steps", "2")
    clip = torch.nn.utils.clip_grad_norm_
    with patch.object(torch.nn.utils, "clip_grad_norm_", wraps=clip) as clipped:
        trained(options(tmp_path, tiny_encoder, *extra))
    assert [call.args[1] for call in clipped.call_args_list] == [1.0, 1.0]


def as_a_pool(function: Any, items: Sequence[int], *rest: Any, **options: Any) -> list[Any]:
    """Send what a pool would send to its processes, and work here: a process takes seconds to start."""
    sent = pickle.loads(pickle.dumps(function))
    threads = torch.get_num_threads()
    results = [pickle.loads(pickle.dumps(sent(item))) for item in items]
    torch.set_num_threads(threads)
    return results


def test_the_mean_of_seeds_that_were_trained_side_by_side(
    tmp_path: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fit, "parallel_map", as_a_pool)
    model = {"encoder": tiny_encoder, "learning_rate": 5e-3, "heads": {"fluency": {}}}
    words = ["--average", "--seeds", "2", "--jobs", "2", "--trainer.max_steps", "3"]
    result = trained(arguments(tmp_path, {"ratings": [SAMPLE_FOLDER]}, *words, **model))
    folders = [tmp_path / "runs" / "tiny" / f"seed-{seed}" / "tiny" for seed in (2, 3)]
    first, second, mean = (
        Evaluator.load(str(name)).model.state_dict() for name in (*folders, result.package)
    )
    assert any(not torch.equal(first[key], second[key]) for key in first)
    for key, tensor in mean.items():
        assert torch.equal(tensor, ((first[key] + second[key]) / 2).half().float())
    manifest, members = check_package(result.package), [check_package(path) for path in folders]
    assert manifest["seed"] == [2, 3]
    assert manifest["results"] == result.results
    assert result.seeds == {member["seed"]: member["results"] for member in members}
    digests = [member["files"]["model.safetensors"] for member in members]
    assert [row["sha256"] for row in manifest["averaged"]] == digests
    card = (result.package / "README.md").read_text()
    assert f"- Mean of the weights of `seed 2` ({digests[0][:12]}…), `seed 3` (" in card
    assert "- Seed: 2, 3\n" in card
    assert "seeds: 2" in (result.package / "training.yaml").read_text()
    for row in result.table().rows:
        assert row["average"] == result.results[row["part"]]["fluency"]["pearson"]
