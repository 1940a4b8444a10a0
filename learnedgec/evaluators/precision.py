"""The bits of numbers: the precision of a model's computation, and the weights of a package in 16 or 4 bits.

The precision is as requested, or by the hardware. `auto` applies only to evaluators, whose scores in bfloat16
were compared with scores in float32 (docs/lab/performance.md). Other models belong to official tools, and
compute in float32 like these tools unless bfloat16 is requested.

The environment variable `LEARNEDGEC_BFLOAT16` overrides what is detected: `1` says that the hardware
multiplies in bfloat16, `0` that it does not. With `0`, `auto` is float32 on every machine.

Scores of a package come from the weights that it stores, so trained weights are rounded (`round_weights`)
before they are evaluated: to 16 bits, or the encoder's matrices to 4 bits with a scale per group. 4 bits
preserve the order of systems and almost the order of sentences, but not the third digit of a score. The
package is a quarter of the size that it has with 16 bits.

The sixteen numbers are from NormalFloat (Dettmers et al., "QLoRA", NeurIPS 2023, appendix E): quantiles
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
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

import torch
from filelock import FileLock
from safetensors.torch import load_file, save_file

from learnedgec._version import __version__
from learnedgec.data.catalog.files import cache_folder
from learnedgec.errors import ConfigError, ModelError, OutputError
from learnedgec.evaluators.loading import torch_device
from learnedgec.evaluators.lora import is_lora
from learnedgec.runtime.files import atomic_path, key_of
from learnedgec.runtime.runtime import Runtime

Precision: TypeAlias = Literal["float32", "bfloat16"]

_OVERRIDE = "LEARNEDGEC_BFLOAT16"

# The instructions of AVX-512, AMX and ARM that multiply matrices in bfloat16.
_INSTRUCTIONS = ("avx512_bf16", "amx_bf16", "bf16")

# The compute capability of the first NVIDIA GPUs whose tensor cores read bfloat16 (Ampere).
_AMPERE = (8, 0)


def evaluator_precision(runtime: Runtime) -> Precision:
    """Return the precision in which an evaluator computes.

    Example:
        >>> evaluator_precision(Runtime(dtype="float32"))
        'float32'
    """
    if runtime.dtype != "auto":
        return runtime.dtype
    return "bfloat16" if has_bfloat16(torch_device(runtime)) else "float32"


def model_precision(runtime: Runtime) -> Precision:
    """Return the precision in which any other model computes.

    Example:
        >>> model_precision(Runtime(dtype="auto"))
        'float32'
    """
    return "float32" if runtime.dtype == "auto" else runtime.dtype


def has_bfloat16(device: torch.device) -> bool:
    """Return whether a device multiplies in bfloat16 natively, which makes bfloat16 faster.

    Raises:
        ModelError: `LEARNEDGEC_BFLOAT16` is neither 0 nor 1.
    """
    if override := os.environ.get(_OVERRIDE):
        if override not in ("0", "1"):
            raise ModelError(f"{_OVERRIDE} is {override!r}; it must be 0, 1 or unset.")
        return override == "1"
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= _AMPERE
    if device.type != "cpu":
        return False
    # Older versions of torch do not say what a processor can.
    capabilities: dict[str, bool] = getattr(torch.cpu, "get_capabilities", dict)()
    return any(capabilities.get(name, False) for name in _INSTRUCTIONS)


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
# The four numbers that two bytes stand for: the high half of a byte comes first. Four count as one number of
# 128 bits, so that unpacking needs one look-up for every four weights.
_PAIRS = torch.stack([NORMAL_FLOAT.repeat_interleave(16), NORMAL_FLOAT.repeat(16)], dim=1)
_BYTES = torch.arange(2**16).to(torch.uint16).view(torch.uint8)
_FOURS = _PAIRS[_BYTES.int()].view(-1, 4).view(torch.complex128).flatten()
_SHARES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6)
# Matrices that were trained after rounding have a scale of this share. The error of the best scales, relative
# to the weights, shows which these are: it is 0.02 to 0.05 for them, 0.09 for matrices never rounded before,
# and 0.0003 for rounded numbers that were only stored in 16 bits.
_TRAINED_SHARES = (0.8,)
_MIN_TRAINED_ERROR, _MAX_TRAINED_ERROR = 0.001, 0.06
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
            fours = torch.index_select(_FOURS, 0, tensor.view(torch.uint16).flatten().int())
            numbers = fours.view(torch.float32).view(*scales.shape, GROUP)
            weights[whole] = numbers.mul_(scales[..., None]).flatten(1)
        elif not name.endswith(_SCALES):
            weights[name] = tensor.float() if tensor.is_floating_point() else tensor
    return weights


def read_weights(folder: Path, digest: str = "") -> dict[str, torch.Tensor]:
    """Return the unpacked weights of a package.

    With `LEARNEDGEC_SHARE_WEIGHTS=1`, processes have one copy in memory: the first writes the weights to a
    file in the cache's folder, and all map it.

    Args:
        folder: folder of the package.
        digest: the package's digest; without it, the weights are not shared.
    """
    packed = folder / "model.safetensors"
    if digest and os.environ.get("LEARNEDGEC_SHARE_WEIGHTS") == "1":
        file = cache_folder() / "unpacked" / f"{key_of(digest, __version__)}.safetensors"
        # Where nothing can be written, each process has a copy of its own.
        with suppress(OSError, OutputError):
            file.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{file}.lock"):
                if not file.exists():
                    with atomic_path(file) as partial:
                        save_file(unpack(load_file(packed)), partial)
            return load_file(file)
    return unpack(load_file(packed))


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
    norm = groups.norm()
    if _MIN_TRAINED_ERROR * norm < error < _MAX_TRAINED_ERROR * norm:
        codes, scales, _ = _rounded(groups, _TRAINED_SHARES)
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
        if not least.any():  # the weights were rounded before, and no other scale is better
            break
    return codes, scales, math.sqrt(float(least.sum()))
