"""LoRA: low-rank matrices beside frozen ones, which extend an encoder without changing it.

A matrix W (R, C) stays frozen, and the encoder uses W + U·D for certain inputs; U (R, k) and D (k, C) are
trained (Hu et al., "LoRA", ICLR 2022). This serves two purposes:

- Ordinary training of an encoder with 4-bit weights is lost when they are rounded again, because a short run
  moves a weight by less than half the distance between two of its sixteen values. U and D are stored
  beside the rounded matrices (Dettmers et al., "QLoRA", NeurIPS 2023).
- An evaluator can learn to read pairs of source and hypothesis better, while the values of heads that read
  the hypothesis alone do not change.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import torch
from torch.nn.functional import linear

from learnedgec.errors import ConfigError

_DOWN, _UP = ".down", ".up"

# Each thread has its own value, so that threads may share a model.
_LORA_IS_ON: ContextVar[bool] = ContextVar("using_lora", default=False)


class LoraLinear(torch.nn.Module):
    """A linear layer with frozen weight and bias, and two trained matrices of low rank beside them.

    It is not a subclass of `torch.nn.Linear`, because models reset the weights of those when they are built.

    Args:
        layer: the linear layer, whose weight and bias are shared, not copied.
        rank: rank k of U·D, which begins at zero: U is 0, and D is initialised as by He et al. (2015).

    Example:
        >>> layer = LoraLinear(torch.nn.Linear(8, 3), rank=2)
        >>> {name: tuple(value.shape) for name, value in layer.named_parameters() if value.requires_grad}
        {'down': (2, 8), 'up': (3, 2)}
    """

    def __init__(self, layer: torch.nn.Linear, rank: int) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        self.requires_grad_(False)
        self.down = torch.nn.Parameter(torch.empty(rank, layer.in_features))
        self.up = torch.nn.Parameter(torch.zeros(layer.out_features, rank))
        torch.nn.init.kaiming_uniform_(self.down, a=5**0.5)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return W·x + b for states (…, C), plus U·(D·x) within `using_lora`."""
        output = linear(states, self.weight, self.bias)
        return output + (states @ self.down.T) @ self.up.T if _LORA_IS_ON.get() else output


@contextmanager
def using_lora(on: bool) -> Iterator[None]:
    """Switch the low-rank matrices of all models on or off within this context."""
    token = _LORA_IS_ON.set(on)
    try:
        yield
    finally:
        _LORA_IS_ON.reset(token)


def checkpoint_layers(encoder: Any) -> None:
    """Save memory in training: the backward pass computes an encoder's states again instead of storing them.

    Low-rank matrices are then on or off as they were in the forward pass.

    Args:
        encoder: a transformer.

    Raises:
        ConfigError: its architecture does not support this.
    """
    if not encoder.supports_gradient_checkpointing:
        raise ConfigError(
            f"model.gradient_checkpointing: {type(encoder).__name__} does not support it; leave the key out."
        )
    # Transformers 5 renamed this method.
    old = "gradient_checkpointing_enable"
    enable = getattr(encoder, "activation_checkpointing_enable", None) or getattr(encoder, old)
    contexts = lambda: (nullcontext(), using_lora(_LORA_IS_ON.get()))  # noqa: E731
    enable({"use_reentrant": False, "context_fn": contexts})


def add_lora(encoder: torch.nn.Module, rank: int, layers: int | None = None) -> None:
    """Freeze an encoder and add low-rank matrices to the linear layers in its uppermost layers, in place.

    Linear layers that have low-rank matrices keep them.

    Args:
        encoder: a transformer.
        rank: rank of each pair of matrices.
        layers: number of its uppermost layers; all by default.

    Raises:
        ConfigError: the encoder has fewer layers, or these contain no linear layer, as in GPT-2.
    """
    every_layer = encoder_layers(encoder)
    count = len(every_layer) if layers is None else layers
    _check_count("lora.layers", count, 1, len(every_layer))
    encoder.requires_grad_(False)
    for parent in [module for layer in every_layer[-count:] for module in layer.modules()]:
        for name, child in list(parent.named_children()):
            if type(child) is torch.nn.Linear:
                setattr(parent, name, LoraLinear(child, rank))
    if LoraLinear not in map(type, encoder.modules()):
        raise ConfigError(
            f"model.lora: the layers of {type(encoder).__name__} have no linear layer; leave the key out, or "
            "name another encoder."
        )


def freeze_layers(encoder: torch.nn.Module, layers: int) -> None:
    """Freeze an encoder's lowest layers and its parameters outside of layers, in place.

    Args:
        encoder: a transformer.
        layers: number of its lowest layers; the other layers are trained as before.

    Raises:
        ConfigError: the encoder has fewer layers.

    Example:
        >>> encoder = torch.nn.ModuleDict({"embeddings": torch.nn.Embedding(9, 2)})
        >>> encoder["layers"] = torch.nn.ModuleList([torch.nn.Linear(2, 2, bias=False) for _ in range(3)])
        >>> freeze_layers(encoder, 2)
        >>> [name for name, parameter in encoder.named_parameters() if parameter.requires_grad]
        ['layers.2.weight']
    """
    every_layer = encoder_layers(encoder)
    _check_count("frozen_layers", layers, 0, len(every_layer))
    # A parameter that a frozen layer shares with a trained one, such as a bias by distance, is trained.
    trained = {id(parameter) for layer in every_layer[layers:] for parameter in layer.parameters()}
    for name, parameter in encoder.named_parameters():
        if id(parameter) not in trained and "pooler" not in name.split("."):
            parameter.requires_grad_(False)


def _check_count(key: str, count: int, least: int, most: int) -> None:
    """Raise `ConfigError` if a number of layers does not fit an encoder with `most` layers."""
    if not least <= count <= most:
        raise ConfigError(
            f"model.{key} is {count}, but the encoder has {most} layers; give a number from {least} to "
            f"{most}."
        )


def encoder_layers(encoder: torch.nn.Module) -> torch.nn.ModuleList:
    """Return an encoder's layers, the lowest first: its longest list of modules."""
    lists = [module for module in encoder.modules() if isinstance(module, torch.nn.ModuleList)]
    return max(lists, key=len, default=torch.nn.ModuleList())


def keep_layers(encoder: Any, layers: int) -> None:
    """Remove an encoder's layers above the lowest `layers`, in place.

    Raises:
        ConfigError: the encoder has fewer layers.
    """
    every_layer = encoder_layers(encoder)
    _check_count("layer", layers, 1, len(every_layer))
    del every_layer[layers:]
    encoder.config.num_hidden_layers = layers


def remove_lora(encoder: torch.nn.Module, *, merge: bool = False) -> None:
    """Replace each layer with low-rank matrices by its original linear layer, in place.

    Args:
        encoder: a transformer.
        merge: whether to add the product U·D to the weights of the new layers, which copies these.

    Example:
        >>> encoder = torch.nn.ModuleDict({"query": LoraLinear(torch.nn.Linear(8, 3), rank=2)})
        >>> remove_lora(encoder)
        >>> encoder["query"]
        Linear(in_features=8, out_features=3, bias=True)
    """
    for parent in list(encoder.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, LoraLinear):
                outputs, inputs = child.weight.shape
                layer = torch.nn.Linear(inputs, outputs, device="meta")
                layer.weight, layer.bias = child.weight, child.bias
                if merge:
                    layer.weight = _frozen(child.weight + child.up @ child.down)
                # Without this mark, transformers gives the layer random weights when it builds a model.
                setattr(layer, "_is_hf_initialized", True)  # noqa: B010
                setattr(parent, name, layer)


def inference_encoder(
    encoder: torch.nn.Module, lora: bool, dtype: torch.dtype, layers: int | None = None
) -> torch.nn.Module:
    """Return an encoder that computes the same in less time, because it has no low-rank matrices.

    Args:
        encoder: a transformer; the returned one shares all weights that are equal.
        lora: whether the low-rank matrices are on.
        dtype: the dtype of the linear layers; all other weights keep theirs.
        layers: the number of the lowest layers to keep; all by default.

    Example:
        >>> encoder = torch.nn.ModuleDict({"query": LoraLinear(torch.nn.Linear(8, 3), rank=2)})
        >>> inference_encoder(encoder, lora=True, dtype=torch.bfloat16)["query"].weight.dtype
        torch.bfloat16
    """
    tensors = (*encoder.parameters(), *encoder.buffers())
    shared: dict[int, Any] = {id(tensor): tensor for tensor in tensors}
    plain = copy.deepcopy(encoder, shared)
    if layers is not None:
        keep_layers(plain, layers)
    remove_lora(plain, merge=lora)
    for layer in plain.modules():
        if isinstance(layer, torch.nn.Linear) and layer.weight.dtype != dtype:
            layer.weight = _frozen(layer.weight.to(dtype))
            layer.bias = None if layer.bias is None else _frozen(layer.bias.to(dtype))
    return plain


def _frozen(weights: torch.Tensor) -> torch.nn.Parameter:
    return torch.nn.Parameter(weights.detach(), requires_grad=False)


def is_lora(name: str) -> bool:
    """Return whether a name in a model's state is a low-rank matrix's."""
    return name.endswith((_DOWN, _UP))
