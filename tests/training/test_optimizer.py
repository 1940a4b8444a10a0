"""What a run sets of optimizer, schedule, memory and averaging, and what follows from it."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import tiny
import torch
from safetensors.torch import load_file
from training_files import arguments, pairs_file, ranked_pairs, trained
from transformers import AutoModel, ModernBertConfig, Qwen2Config, Trainer

from learnedgec.errors import ConfigError
from learnedgec.training.module import EvaluatorModule, HeadOptions
from learnedgec.training.start import ModelSettings


@pytest.fixture
def words(tmp_path: Path, tiny_encoder: Path) -> list[str]:
    """Return the arguments of a run of four steps without warm-up, each of which is logged."""
    heads = {"quality": {"input": "pair", "objective": "logistic"}}
    data = {"pairs": {"quality": [pairs_file(tmp_path, ranked_pairs())]}}
    model = {"encoder": tiny_encoder, "heads": heads, "learning_rate": 1e-3, "warmup": 0.0}
    steps = {"max_steps": 4, "log_every_n_steps": 1}
    return arguments(tmp_path, data, trainer=steps, **model)


def weights(words: list[str], name: str, *more: str) -> dict[str, torch.Tensor]:
    """Train, and return the weights of the package."""
    return load_file(trained([*words, "--name", name, *more]).package / "model.safetensors")


@pytest.mark.parametrize(
    ("options", "factors"),
    [
        (["linear"], [1, 0.75, 0.5, 0.25]),
        (
            ["cosine"],
            [(1 + math.cos(math.pi * step / 4)) / 2 for step in range(4)],
        ),
        (["constant"], [1, 1, 1, 1]),
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


def optimised(encoder: Path, **options: Any) -> tuple[Any, dict[str, Any]]:
    """Return the model on an encoder, and the options of each of its weights."""
    module = EvaluatorModule(ModelSettings({"fluency": HeadOptions()}, str(encoder), **options))
    strategy = SimpleNamespace(root_device=torch.device("cpu"))
    trainer = SimpleNamespace(estimated_stepping_batches=9, strategy=strategy)
    with patch.object(EvaluatorModule, "trainer", trainer):
        groups = module.configure_optimizers()["optimizer"].param_groups
    group_of = {id(weight): group for group in groups for weight in group["params"]}
    weights = module.model.named_parameters()
    return module.model, {name: group_of[id(weight)] for name, weight in weights}


SMALL = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "pad_token_id": 0,
}


@pytest.mark.parametrize("kind", [ModernBertConfig, Qwen2Config, None])
def test_the_same_weights_decay_as_in_transformers(kind: Any, tmp_path: Path) -> None:
    encoder = tiny.save_encoder(tmp_path / "encoder")
    if kind:
        settings = SMALL | ({"num_key_value_heads": 2} if kind is Qwen2Config else {})
        config = kind(vocab_size=len(tiny.tokenizer()), **settings)
        AutoModel.from_config(config).save_pretrained(encoder)
    model, groups = optimised(encoder, weight_decay=0.1)
    assert {group["weight_decay"] for group in groups.values()} == {0.1, 0.0}
    decayed = {name for name, group in groups.items() if group["weight_decay"]}
    assert decayed == set(Trainer.get_decay_parameter_names(None, model))  # type: ignore[arg-type]
    assert all(weight.dim() > 1 for name, weight in model.named_parameters() if name in decayed)


@pytest.mark.parametrize("lora", [[], ["--model.lora", "{rank: 2}"]])
def test_states_computed_twice_give_the_same_weights(words: list[str], lora: list[str]) -> None:
    kept = weights(words, "kept", *lora)
    twice = weights(words, "twice", *lora, "--model.gradient_checkpointing", "true")
    assert any(name.endswith(".up") and weight.any() for name, weight in kept.items()) == bool(lora)
    for name, weight in kept.items():
        assert torch.equal(weight, twice[name]), name


def test_an_encoder_that_cannot_compute_twice_is_named(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformers.BertModel.supports_gradient_checkpointing", False)
    with pytest.raises(ConfigError, match="gradient_checkpointing: BertModel does not support"):
        EvaluatorModule(
            ModelSettings(
                {"fluency": HeadOptions()}, str(tiny_encoder), gradient_checkpointing=True
            )
        )


def test_averaged_weights_are_packaged(words: list[str]) -> None:
    words = [*words, "--model.schedule", "constant"]
    one, two = (weights(words, f"of{n}", "--trainer.max_steps", str(n)) for n in (1, 2))
    averaging = ["--trainer.callbacks", "EMAWeightAveraging", "--trainer.callbacks.decay", "0.25"]
    averaged = weights(words, "averaged", "--trainer.max_steps", "2", *averaging)
    for name, weight in averaged.items():
        expected = 0.25 * one[name].float() + 0.75 * two[name].float()
        assert torch.allclose(weight.float(), expected, atol=2e-3), name
    assert any(not torch.equal(weight, two[name]) for name, weight in averaged.items())


def test_no_gradient_takes_memory_between_steps(words: list[str]) -> None:
    kept = []

    def end(self: EvaluatorModule, *rest: Any) -> None:
        kept.append(any(weight.grad is not None for weight in self.parameters()))

    with patch.object(EvaluatorModule, "on_train_batch_end", end):
        trained([*words, "--name", "freed"])
    assert kept == [False] * 4
