"""An estimate of the memory of a training step, before the first one."""

from __future__ import annotations

from typing import Any

import torch


def estimated_memory(module: Any, example: Any, share: float) -> dict[str, int]:
    """Return the bytes of weights, of gradients with their moments, and of activations kept for them.

    The activations of a small batch are counted; those of the largest batch are in proportion.

    Args:
        module: the `EvaluatorModule`, whose optimizer keeps two moments of each gradient, as AdamW does.
        example: a small batch on the module's device.
        share: how many tokens the largest batch has for each token of the small one.
    """
    weights = {id(weight): weight for weight in module.model.parameters()}
    trained = [weight for weight in weights.values() if weight.requires_grad]
    owned = {weight.untyped_storage().data_ptr() for weight in weights.values()}
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in owned:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    devices = [module.device] if module.device.type == "cuda" else []
    # Dropout must be the same with and without the estimate.
    with (
        torch.random.fork_rng(devices),
        torch.autograd.graph.saved_tensors_hooks(keep, lambda t: t),
    ):
        states = [module.model.encode(inputs, kind) for kind, inputs in example["inputs"].items()]
    del states
    return {
        "weights": sum(weight.nbytes for weight in weights.values()),
        "gradients and moments": sum(3 * weight.nbytes for weight in trained),
        "activations": int(share * sum(kept.values())),
    }
