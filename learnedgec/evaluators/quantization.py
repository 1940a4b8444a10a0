"""Weights of a package in 16 bits, or the encoder's matrices in 4 bits with a scale per group.

Scores of a package come from the weights that it stores, so trained weights are rounded (`round_weights`)
before they are evaluated. 4 bits preserve the order of systems and almost that of sentences, but not the
third digit of a score. The package is a quarter of the size that it has with 16 bits.

The sixteen numbers are those of NormalFloat (Dettmers et al., "QLoRA", NeurIPS 2023, appendix E): quantiles
of a normal distribution, like the weights of a trained layer, scaled to −1 … 1, with 0 among them. Each group
of 128 neighbours in a row has a float16 scale. Deviation: the paper's scale is the group's largest magnitude;
here it is one of nine multiples of that, 1 to 0.6, namely the one with the least squared error. Rounding is
idempotent.

A matrix that was rounded before and has been trained since lies near its old numbers, as most of its weights
have moved by less than half a step. Rounded to the same numbers it would lose what it has learned, so its
groups get scales of 0.8 times their largest magnitude, and with them other numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

import torch

from learnedgec.errors import ConfigError
from learnedgec.evaluators.lora import is_lora

Bits = Literal[16, 4]

GROUP = 128
NORMAL_FLOAT = torch.tensor(
    [
        [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453],
        [-0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0],
        [0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224],
        [0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0],
    ]
).flatten()
_BORDERS = (NORMAL_FLOAT[1:] + NORMAL_FLOAT[:-1]) / 2
# The two numbers that a byte stands for: its high half is the first. To look them up, a pair counts as one
# number of 64 bits, which takes a quarter of the time.
_PAIRS = torch.stack([NORMAL_FLOAT.repeat_interleave(16), NORMAL_FLOAT.repeat(16)], dim=1)
_SHARES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6)
# The share for matrices that were rounded before they were trained. They are known by the error of the best
# scales, relative to the weights: 0.02 to 0.05 after training, 0.09 where a matrix was never rounded, and
# 0.0003 where its rounded numbers were stored in 16 bits since.
_MOVED, _SAME, _NEAR = (0.8,), 0.001, 0.06
_CODES, _SCALES = ".codes", ".scales"


def pack(weights: Mapping[str, torch.Tensor], bits: Bits) -> dict[str, torch.Tensor]:
    """Return weights in the form in which a package stores them.

    Args:
        weights: a model's state.
        bits: bits per weight. With 16, each tensor of real numbers becomes float16. With 4, each matrix (R,
            C) whose rows are whole groups becomes `NAME.codes`, uint8 (R, C / 2), and `NAME.scales`, float16
            (R, C / 128); other tensors, and low-rank matrices, become float16. All tensors are on the CPU.

    Example:
        >>> stored = pack({"dense": torch.ones(2, 256), "bias": torch.ones(2)}, 4)
        >>> {name: tuple(tensor.shape) for name, tensor in stored.items()}
        {'dense.codes': (2, 128), 'dense.scales': (2, 2), 'bias': (2,)}
    """
    stored: dict[str, torch.Tensor] = {}
    for name, tensor in weights.items():
        if bits == 4 and _has_groups(tensor) and not is_lora(name):
            stored[name + _CODES], stored[name + _SCALES] = _pack_matrix(
                tensor.detach().cpu().float()
            )
        else:
            kind = torch.float16 if tensor.is_floating_point() else tensor.dtype
            stored[name] = tensor.detach().to("cpu", kind, copy=True).contiguous()
    return stored


def unpack(stored: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return float32 weights from the output of `pack`."""
    weights = {}
    for name, tensor in stored.items():
        if name.endswith(_CODES):
            whole = name.removesuffix(_CODES)
            scales = stored[whole + _SCALES].float()
            pairs = torch.index_select(_PAIRS.view(torch.int64), 0, tensor.flatten().int())
            numbers = pairs.view(torch.float32).view(*scales.shape, GROUP)
            weights[whole] = numbers.mul_(scales[..., None]).flatten(1)
        elif not name.endswith(_SCALES):
            weights[name] = tensor.float() if tensor.is_floating_point() else tensor
    return weights


def check_bits(model: torch.nn.Module, bits: Bits) -> None:
    """Raise `ConfigError` if 4 bits are requested and no matrix of the model has rows of whole groups."""
    if bits == 4 and not any(_has_groups(tensor) for tensor in model.state_dict().values()):
        raise ConfigError(
            f"bits: no matrix of this encoder has rows of whole groups of {GROUP} weights, "
            "which 4 bits need; use 16."
        )


def round_weights(model: torch.nn.Module, bits: Bits) -> dict[str, torch.Tensor]:
    """Round a model's float32 weights in place to those that a package stores, and return the latter."""
    stored = pack(model.state_dict(), bits)
    model.load_state_dict(unpack(stored))
    return stored


def _has_groups(tensor: torch.Tensor) -> bool:
    return tensor.dim() == 2 and tensor.shape[1] % GROUP == 0 and len(tensor) > 1


def _pack_matrix(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a matrix's codes, two per byte, and its scales."""
    groups = matrix.reshape(-1, GROUP)
    codes, scales, error = _rounded(groups, _SHARES)
    if _SAME * groups.norm() < error < _NEAR * groups.norm():
        codes, scales, _ = _rounded(groups, _MOVED)
    rows = codes.reshape(len(matrix), -1)
    return rows[:, 0::2] * 16 + rows[:, 1::2], scales.half().reshape(len(matrix), -1)


def _rounded(
    groups: torch.Tensor, shares: tuple[float, ...]
) -> tuple[torch.Tensor, torch.Tensor, float]:
    """Return codes, scales and the norm of the error of groups, with the best of some shares for each."""
    peak = groups.abs().amax(dim=1, keepdim=True)
    codes = torch.zeros(groups.shape, dtype=torch.uint8)
    scales = torch.zeros_like(peak)
    least = torch.full_like(peak, torch.inf)
    for share in shares:
        scale = (peak * share).half().float()
        nearest = torch.bucketize(groups / scale.clamp(min=1e-12), _BORDERS)
        error = (NORMAL_FLOAT[nearest] * scale - groups).square().sum(dim=1, keepdim=True)
        better = error < least
        codes = torch.where(better, nearest.to(torch.uint8), codes)
        scales = torch.where(better, scale, scales)
        least = torch.where(better, error, least)
    return codes, scales, math.sqrt(float(least.sum()))
