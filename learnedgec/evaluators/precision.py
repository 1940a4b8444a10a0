"""The precision of a model's computation: as requested, or by the hardware.

`auto` applies only to evaluators, whose scores in bfloat16 were compared with those in float32
(docs/lab/performance.md). Other models are those of official tools, and compute in float32 like these tools
unless bfloat16 is requested.

The environment variable `LEARNEDGEC_BFLOAT16` overrides what is detected: `1` says that the hardware
multiplies in bfloat16, `0` that it does not. With `0`, `auto` is float32 on every machine.
"""

from __future__ import annotations

import os
from typing import Literal, TypeAlias

import torch

from learnedgec.errors import ModelError
from learnedgec.evaluators.loading import torch_device
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
