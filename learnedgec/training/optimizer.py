"""The optimizer of a run: rates and decay of each parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

import torch
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from transformers.pytorch_utils import ALL_LAYERNORM_LAYERS
from transformers.trainer_pt_utils import get_parameter_names

from learnedgec.evaluators.evaluator import EvaluatorModel
from learnedgec.evaluators.lora import encoder_layers, is_lora

NewOptimizer: TypeAlias = Callable[[Iterable], Optimizer]  # type: ignore[type-arg]  # as jsonargparse reads it
Schedule: TypeAlias = Literal["linear", "cosine", "constant"] | Callable[[Optimizer], LRScheduler]

# Names of parameters without weight decay: those of transformers' `Trainer.get_decay_parameter_names`.
_NOT_DECAYED = ["bias", "layernorm", "rmsnorm", r"(?:^|\.)norm(?:$|\.)", r"_norm(?:$|\.)"]

# Learning rate of low-rank weights relative to heads: LoRA's usual 5e-4 would be far too high for a head.
_LORA_RATE = 10.0


def parameter_groups(
    model: EvaluatorModel,
    goals: torch.nn.Module,
    rate: float,
    weight_decay: float,
    layer_decay: float,
) -> list[dict[str, Any]]:
    """Return the trained parameters in groups of one rate and one weight decay, those of the heads last.

    Args:
        model: the model.
        goals: the objectives, whose own parameters have the rate of the heads and no decay.
        rate: learning rate of the heads; low-rank weights have ten times as much.
        weight_decay: weight decay of matrices; biases, normalisation and low-rank weights have none.
        layer_decay: the rate of each layer relative to the next one above, from the heads down to the
            embeddings (Clark et al., "ELECTRA", ICLR 2020).
    """
    decayed = set(get_parameter_names(model, ALL_LAYERNORM_LAYERS, _NOT_DECAYED))
    layers = encoder_layers(model.encoder)
    depths = {
        id(parameter): depth
        for depth, layer in enumerate(layers, 1)
        for parameter in layer.parameters()
    }
    groups: dict[tuple[float, float], list[torch.nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        top = name.startswith("heads.") or "pooler" in name.split(".")
        depth = depths.get(id(parameter), len(layers) + 1 if top else 0)
        factor = layer_decay ** (len(layers) + 1 - depth) * (_LORA_RATE if is_lora(name) else 1)
        decay = weight_decay if name in decayed and not is_lora(name) else 0.0
        groups.setdefault((rate * factor, decay), []).append(parameter)
    groups.setdefault((rate, 0.0), []).extend(goals.parameters())
    return [
        {"params": parameters, "lr": group_rate, "weight_decay": decay}
        for (group_rate, decay), parameters in groups.items()
    ]
