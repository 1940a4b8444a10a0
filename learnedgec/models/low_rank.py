"""Low-rank corrections of frozen matrices: how an encoder learns more and still is what it was.

A matrix W of (R, C) stays, and W + U·D is used where the encoder reads a certain input; U (R, k) and D (k, C)
are trained (Hu et al., "LoRA", ICLR 2022). This serves two ends:

- What an encoder of 4-bit weights learns in the ordinary way is lost when it is rounded again: a short run
  moves a weight by less than half the distance between two of its sixteen values. Corrections are stored
  beside the rounded matrices (Dettmers et al., "QLoRA", NeurIPS 2023).
- An evaluator can learn to read pairs of source and hypothesis better, and what its heads say of a hypothesis
  alone does not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch.nn.functional import linear

from learnedgec.errors import ConfigError

__all__ = [
    "LowRankLinear",
    "correct_layers",
    "corrected",
    "freeze_layers",
    "is_correction",
    "merged",
    "remove_corrections",
]

_DOWN, _UP = ".down", ".up"

# Each thread has its own value, so that threads may share a model.
_ON: ContextVar[bool] = ContextVar("corrected", default=False)


class LowRankLinear(torch.nn.Module):
    """A linear layer whose weight and bias are frozen, with a trained correction of low rank.

    It is no `torch.nn.Linear`, to which models give random weights when they are built around it.

    Args:
        layer: its weight and bias are shared, not copied.
        rank: k, of the correction. It begins at zero: D is drawn as Kaiming et al. do, U is 0.

    Example:
        >>> layer = LowRankLinear(torch.nn.Linear(8, 3), rank=2)
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
        """Return W·x + b for states of (…, C), and U·(D·x) more within `corrected`."""
        found = linear(states, self.weight, self.bias)
        return found + (states @ self.down.T) @ self.up.T if _ON.get() else found


@contextmanager
def corrected(on: bool) -> Iterator[None]:
    """Use the corrections of every model within this context, or none."""
    token = _ON.set(on)
    try:
        yield
    finally:
        _ON.reset(token)


def correct_layers(encoder: torch.nn.Module, rank: int, layers: int | None = None) -> None:
    """Freeze an encoder and give corrections to the linear layers in its uppermost layers, in place.

    Args:
        encoder: a transformer.
        rank: of each correction.
        layers: how many of its layers, from the top; all by default.

    Raises:
        ConfigError: it has fewer layers, or no list of layers at all.
    """
    found = _layers(encoder)
    count = len(found) if layers is None else layers
    if not 1 <= count <= len(found):
        raise ConfigError(
            f"model.corrected_layers is {count}, but the encoder has {len(found)} layers; "
            "name a number up to that."
        )
    encoder.requires_grad_(False)
    for parent in [each for layer in found[-count:] for each in layer.modules()]:
        for name, child in list(parent.named_children()):
            if type(child) is torch.nn.Linear:
                setattr(parent, name, LowRankLinear(child, rank))


def freeze_layers(encoder: torch.nn.Module, layers: int) -> None:
    """Let an encoder's lowest layers, and what is before or shared by them, take no gradients, in place.

    Args:
        encoder: a transformer.
        layers: how many of its layers, from the bottom; of the others each is trained as before.

    Raises:
        ConfigError: it has fewer layers.

    Example:
        >>> encoder = torch.nn.ModuleDict({"embeddings": torch.nn.Embedding(9, 2)})
        >>> encoder["layers"] = torch.nn.ModuleList([torch.nn.Linear(2, 2, bias=False) for _ in range(3)])
        >>> freeze_layers(encoder, 2)
        >>> [name for name, parameter in encoder.named_parameters() if parameter.requires_grad]
        ['layers.2.weight']
    """
    found = _layers(encoder)
    if not 0 <= layers <= len(found):
        raise ConfigError(
            f"model.frozen_layers is {layers}, but the encoder has {len(found)} layers; name a number up to "
            "that."
        )
    # What layers share, such as a bias by distance, would ask the lowest of them for gradients too.
    kept = {id(parameter) for layer in found[layers:] for parameter in layer.parameters()}
    for name, parameter in encoder.named_parameters():
        if id(parameter) not in kept and "pooler" not in name.split("."):
            parameter.requires_grad_(False)


def _layers(encoder: torch.nn.Module) -> list[torch.nn.Module]:
    """Return an encoder's layers, from the bottom: its longest list of modules."""
    lists = [each for each in encoder.modules() if isinstance(each, torch.nn.ModuleList)]
    return list(max(lists, key=len, default=[]))


def remove_corrections(encoder: torch.nn.Module) -> None:
    """Put each linear layer back as it was before its correction, in place.

    Example:
        >>> encoder = torch.nn.ModuleDict({"query": LowRankLinear(torch.nn.Linear(8, 3), rank=2)})
        >>> remove_corrections(encoder)
        >>> encoder["query"]
        Linear(in_features=8, out_features=3, bias=True)
    """
    for parent in list(encoder.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, LowRankLinear):
                outputs, inputs = child.weight.shape
                layer = torch.nn.Linear(inputs, outputs, device="meta")
                layer.weight, layer.bias = child.weight, child.bias
                # Without this mark, transformers gives it random weights when a model is built around it.
                setattr(layer, "_is_hf_initialized", True)  # noqa: B010
                setattr(parent, name, layer)


def is_correction(name: str) -> bool:
    """Return whether a name in a model's state is that of a correction's matrix."""
    return name.endswith((_DOWN, _UP))


def merged(weights: Mapping[str, torch.Tensor], on: bool = True) -> dict[str, torch.Tensor]:
    """Return a model's state without corrections, which are added to their matrices before, or left out.

    Example:
        >>> state = {"a.weight": torch.zeros(2, 2), "a.down": torch.ones(1, 2), "a.up": torch.ones(2, 1)}
        >>> merged(state)
        {'a.weight': tensor([[1., 1.],
                [1., 1.]])}
    """
    found = {name: value for name, value in weights.items() if not is_correction(name)}
    for name, down in weights.items():
        if on and name.endswith(_DOWN):
            layer = name.removesuffix(_DOWN)
            found[f"{layer}.weight"] = found[f"{layer}.weight"] + weights[layer + _UP] @ down
    return found
