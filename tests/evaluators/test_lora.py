"""Low-rank matrices: what they add and where, what stays frozen, and what is stored of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModel, BertConfig, BertModel

from learnedgec.errors import ConfigError
from learnedgec.evaluators.lora import (
    LoraLinear,
    add_lora,
    inference_encoder,
    using_lora,
)
from learnedgec.evaluators.precision import Bits, pack, round_weights, unpack


def encoder() -> BertModel:
    torch.manual_seed(0)
    sizes = {"vocab_size": 50, "hidden_size": 128, "intermediate_size": 128}
    return BertModel(BertConfig(num_hidden_layers=3, num_attention_heads=2, **sizes)).eval()


def taught(layers: int | None = None) -> BertModel:
    """Return an encoder whose low-rank matrices have learned something."""
    model = encoder()
    add_lora(model, 2, layers)
    for module in model.modules():
        if isinstance(module, LoraLinear):
            torch.nn.init.normal_(module.up, std=0.1)
    return model


def states(model: BertModel, on: bool = False) -> list[float]:
    with torch.no_grad(), using_lora(on):
        states = model(input_ids=torch.arange(1, 9)[None]).last_hidden_state
    values: list[float] = states.flatten().tolist()
    return values


def test_lora_begins_at_nothing() -> None:
    model = encoder()
    add_lora(model, 2)
    assert states(model, on=True) == pytest.approx(states(encoder()))


@pytest.mark.parametrize("on", [True, False])
def test_an_encoder_for_inference_computes_what_low_rank_matrices_do(on: bool) -> None:
    model = taught(layers=2)
    plain: Any = inference_encoder(model, lora=on, dtype=torch.float32)
    assert not any(isinstance(module, LoraLinear) for module in plain.modules())
    assert states(plain) == pytest.approx(states(model, on=on), abs=1e-6)
    # Weights without low-rank matrices are not copied, and the model keeps its own.
    assert plain.embeddings.word_embeddings.weight is model.embeddings.word_embeddings.weight
    assert plain.encoder.layer[0].output.dense.weight is model.encoder.layer[0].output.dense.weight
    assert states(model, on=True) != pytest.approx(states(model), abs=1e-3)


def test_an_encoder_for_inference_in_bfloat16_computes_what_autocast_does() -> None:
    model = encoder()
    plain: Any = inference_encoder(model, lora=False, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert states(plain) == states(model)
    assert plain.encoder.layer[0].output.dense.weight.dtype == torch.bfloat16


def test_lora_is_used_within_its_context_alone() -> None:
    model, plain = taught(), states(encoder())
    assert states(model) == pytest.approx(plain)
    assert states(model, on=True) != pytest.approx(plain, abs=1e-3)
    with using_lora(True), ThreadPoolExecutor(1) as other:
        assert other.submit(states, model).result() == pytest.approx(plain)
    assert states(model) == pytest.approx(plain)


def test_only_lora_of_the_upper_layers_learn() -> None:
    model = encoder()
    add_lora(model, 2, layers=1)
    learning = [name for name, value in model.named_parameters() if value.requires_grad]
    assert learning
    assert all(name.startswith("encoder.layer.2.") for name in learning)
    assert all(name.endswith((".down", ".up")) for name in learning)
    layers = [
        module for module in model.encoder.layer[2].modules() if type(module) is torch.nn.Linear
    ]
    assert layers == []


@pytest.mark.parametrize("bits", [16, 4])
def test_lora_is_stored_in_16_bits(bits: Bits) -> None:
    model = taught()
    stored = round_weights(model, bits)
    for name, value in stored.items():
        if name.endswith((".down", ".up")):
            assert value.dtype == torch.float16, name
    assert any(name.endswith(".up") for name in stored)
    again = encoder()
    add_lora(again, 2)
    again.load_state_dict(unpack(stored))
    assert states(again, on=True) == pytest.approx(states(model, on=True))


def test_rounded_matrices_stay_what_they_are() -> None:
    model = encoder()
    first = round_weights(model, 4)
    add_lora(model, 2)
    second = pack(model.state_dict(), 4)
    for name, value in first.items():
        assert value.tolist() == second[name].tolist(), name


@pytest.mark.parametrize("layers", [0, 4])
def test_layers_that_are_not_there(layers: int) -> None:
    with pytest.raises(ConfigError, match="the encoder has 3 layers; give a number from 1 to 3"):
        add_lora(encoder(), 2, layers)


SMALL = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "vocab_size": 64,
    "pad_token_id": 0,
}


def of_architecture(kind: str, **settings: int) -> Any:
    return AutoModel.from_config(AutoConfig.for_model(kind, **settings))


@pytest.mark.parametrize(
    ("kind", "settings", "count"),
    [
        ("deberta-v2", SMALL, 12),
        ("mpnet", SMALL, 12),
        ("qwen2", SMALL | {"num_key_value_heads": 2}, 14),
        ("distilbert", {"dim": 16, "hidden_dim": 32, "n_layers": 2, "n_heads": 2}, 12),
        ("albert", SMALL | {"embedding_size": 16}, 6),
    ],
)
def test_encoders_of_other_architectures_have_lora(
    kind: str, settings: dict[str, int], count: int
) -> None:
    encoder = of_architecture(kind, **settings)
    add_lora(encoder, 2)
    assert sum(isinstance(layer, LoraLinear) for layer in encoder.modules()) == count


def test_an_encoder_without_linear_layers_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"model\.lora: the layers of GPT2Model have no linear"):
        add_lora(of_architecture("gpt2", n_embd=16, n_layer=2, n_head=2, vocab_size=64), 2)
