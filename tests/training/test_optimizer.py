"""What a run sets of optimizer, schedule, memory and averaging, and what follows from it."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from training_files import arguments, pairs_file, ranked_pairs, trained

from learnedgec.errors import ConfigError
from learnedgec.training.memory import estimated_memory
from learnedgec.training.module import EvaluatorModule, HeadOptions


@pytest.fixture
def words(tmp_path: Path, tiny_encoder: Path) -> list[str]:
    """Return the arguments of a run of four steps without warm-up, each of which is logged."""
    heads = {"quality": {"input": "pair", "objective": "logistic"}}
    rate = {"learning_rate": 1e-3, "warmup": 0.0}
    settings = {
        "model": {"encoder": tiny_encoder, "heads": heads, **rate},
        "data": {"pairs": {"quality": [pairs_file(tmp_path, ranked_pairs())]}},
        "trainer": {"max_steps": 4, "log_every_n_steps": 1},
    }
    return arguments(tmp_path, settings)


def weights(words: list[str], name: str, *more: str) -> dict[str, torch.Tensor]:
    """Train, and return the weights of the package."""
    return load_file(trained([*words, "--name", name, *more]).package / "model.safetensors")


@pytest.mark.parametrize(
    ("options", "factors"),
    [
        (["linear"], [1, 0.75, 0.5, 0.25]),
        (
            ["cosine", "--model.optimizer", "SGD"],
            [(1 + math.cos(math.pi * step / 4)) / 2 for step in range(4)],
        ),
        (["StepLR", "--model.schedule.step_size", "2"], [1, 1, 0.1, 0.1]),
    ],
)
def test_the_rate_follows_its_schedule(
    words: list[str], options: list[str], factors: list[float], tmp_path: Path
) -> None:
    trained([*words, "--model.schedule", *options])
    (log,) = (tmp_path / "runs").rglob("metrics.csv")
    rows = list(csv.DictReader(log.read_text().splitlines()))
    rates = [float(row["train/learning_rate"]) for row in rows if row["train/learning_rate"]]
    assert rates == pytest.approx([1e-3 * factor for factor in factors])


def test_lower_layers_have_lower_rates(tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heads = {"fluency": HeadOptions()}
    module = EvaluatorModule(heads, str(tiny_encoder), learning_rate=1.0, layer_decay=0.5)
    steps: Any = type("Steps", (), {"estimated_stepping_batches": 9})
    steps.strategy = type("Strategy", (), {"root_device": torch.device("cpu")})
    monkeypatch.setattr(EvaluatorModule, "trainer", steps)
    names = {id(weight): name for name, weight in module.model.named_parameters()}
    rates = {
        names[id(weight)]: group["initial_lr"]
        for group in module.configure_optimizers()["optimizer"].param_groups
        for weight in group["params"]
    }
    assert len(rates) == len(names)
    for part, rate in (("heads", 1), ("layer.1", 0.5), ("layer.0", 0.25), ("embeddings", 0.125)):
        assert {value for name, value in rates.items() if part in name} == {rate}, part


@pytest.mark.parametrize("lora", [[], ["--model.lora", "{rank: 2}"]])
def test_states_computed_twice_give_the_same_weights(words: list[str], lora: list[str]) -> None:
    kept = weights(words, "kept", *lora)
    twice = weights(words, "twice", *lora, "--model.gradient_checkpointing", "true")
    assert any(name.endswith(".up") and weight.any() for name, weight in kept.items()) == bool(lora)
    for name, weight in kept.items():
        assert torch.equal(weight, twice[name]), name


def test_a_compiled_encoder_learns_the_same(words: list[str]) -> None:
    plain, compiled = (
        weights(words, f"with-{backend}", "--trainer.max_steps", "1", "--model.compile", backend)
        for backend in ("null", "eager")
    )
    for name, weight in plain.items():
        assert torch.allclose(weight, compiled[name], atol=1e-3), name


def test_an_encoder_that_cannot_compute_twice_is_named(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformers.BertModel.supports_gradient_checkpointing", False)
    with pytest.raises(ConfigError, match="gradient_checkpointing: BertModel does not support"):
        EvaluatorModule({"fluency": HeadOptions()}, str(tiny_encoder), gradient_checkpointing=True)


def test_low_rank_weights_are_not_compiled(words: list[str]) -> None:
    with pytest.raises(ConfigError, match=r"model\.compile: low-rank weights"):
        trained([*words, "--model.compile", "eager", "--model.lora", "{rank: 2}"])


def test_memory_is_estimated_without_a_trace(tiny_encoder: Path) -> None:
    kept: list[int] = []
    for checkpointed in (False, True):
        module = EvaluatorModule(
            {"fluency": HeadOptions()}, str(tiny_encoder), gradient_checkpointing=checkpointed
        )
        inputs = module.tokenizer(["he goes to the school ."] * 2, return_tensors="pt")
        state = torch.get_rng_state()
        parts = estimated_memory(module, {"inputs": {"hypothesis": dict(inputs)}}, 3.0)
        assert torch.equal(state, torch.get_rng_state())
        weights = sum(weight.numel() for weight in module.model.parameters())
        assert parts["weights"] == 4 * weights
        assert parts["gradients and moments"] == 12 * weights
        kept.append(parts["activations"])
    # Each of two layers keeps at least its input, queries, keys and values, and wider states twice.
    tokens, width = inputs["input_ids"].numel(), 32
    assert kept[0] > 3 * 2 * 4 * tokens * width * (4 + 2 * 2)
    assert kept[1] < kept[0] / 2


def test_averaged_weights_are_packaged(words: list[str]) -> None:
    words = [*words, "--model.schedule", "constant"]
    one, two = (weights(words, f"of{n}", "--trainer.max_steps", str(n)) for n in (1, 2))
    averaging = ["--trainer.callbacks", "EMAWeightAveraging", "--trainer.callbacks.decay", "0.25"]
    averaged = weights(words, "averaged", "--trainer.max_steps", "2", *averaging)
    for name, weight in averaged.items():
        expected = 0.25 * one[name].float() + 0.75 * two[name].float()
        assert torch.allclose(weight.float(), expected, atol=2e-3), name
    assert any(not torch.equal(weight, two[name]) for name, weight in averaged.items())
