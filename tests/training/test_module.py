"""What is optimised: which weights decay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tiny
from transformers import AutoModel, ModernBertConfig, Qwen2Config, Trainer

from learnedgec.training.module import EvaluatorModule, HeadOptions

SMALL = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "pad_token_id": 0,
}


class Steps:
    """What the optimizer asks of a Trainer."""

    estimated_stepping_batches = 10
    strategy: Any = type("Strategy", (), {"root_device": type("Device", (), {"type": "cpu"})})


@pytest.mark.parametrize("kind", [ModernBertConfig, Qwen2Config, None])
def test_the_same_weights_decay_as_in_transformers(
    tmp_path: Path, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny.save_encoder(tmp_path / "encoder")
    if kind:
        settings = SMALL | ({"num_key_value_heads": 2} if kind is Qwen2Config else {})
        config = kind(vocab_size=len(tiny.tokenizer()), **settings)
        AutoModel.from_config(config).save_pretrained(folder)
    module = EvaluatorModule({"fluency": HeadOptions()}, encoder=str(folder), weight_decay=0.1)
    monkeypatch.setattr(EvaluatorModule, "trainer", Steps())
    groups = module.configure_optimizers()["optimizer"].param_groups
    names = {id(weight): name for name, weight in module.model.named_parameters()}
    decayed, spared = (
        {
            names[id(w)]
            for group in groups
            if group["weight_decay"] == decay
            for w in group["params"]
        }
        for decay in (0.1, 0.0)
    )
    assert decayed | spared == set(names.values())
    assert decayed == set(Trainer.get_decay_parameter_names(None, module.model))  # type: ignore[arg-type]
    assert all(
        weight.dim() > 1 for name, weight in module.model.named_parameters() if name in decayed
    )
