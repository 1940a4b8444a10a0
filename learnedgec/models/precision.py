"""In which precision a model computes: as it is asked, or as the hardware does by itself.

`auto` is for evaluators alone, whose scores in bfloat16 have been compared with those in float32
(docs/performance.md). Other models stand for what an official tool scores with, and compute in float32 as
that tool does, unless bfloat16 is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, TypeAlias

import torch
from torch.nn.functional import linear
from torch.overrides import TorchFunctionMode

from learnedgec.execution.runtime import Runtime
from learnedgec.models.loading import torch_device

__all__ = ["Precision", "computing_in", "evaluator_precision", "has_bfloat16", "model_precision"]

Precision: TypeAlias = Literal["float32", "bfloat16"]

# Each multiplies matrices in bfloat16: of AVX-512, of AMX, and of ARM.
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
    """Return whether a device multiplies in bfloat16 itself, which is where that is faster.

    A processor of which torch does not know it (torch before 2.10) counts as one that does not.
    """
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= _AMPERE
    if device.type != "cpu" or not hasattr(torch.cpu, "get_capabilities"):
        return False
    found = torch.cpu.get_capabilities()
    return any(found.get(name, False) for name in _INSTRUCTIONS)


def computing_in(precision: Precision) -> AbstractContextManager[Any]:
    """Return the context in which an evaluator computes in a precision.

    In bfloat16 this is about matrices: their products with states, which take nearly all of the time. What
    is added up from layer to layer, attention, normalisation, pooling and the outputs of heads stay in
    float32. (`torch.autocast` keeps scores of attention and of heads in bfloat16, which puts many more pairs
    of similar sentences in another order; see docs/performance.md.)

    Example:
        >>> third, one = torch.full((2, 1), 1 / 3), torch.ones(1, 1)
        >>> with computing_in("bfloat16"):
        ...     torch.nn.functional.linear(one, third), torch.nn.functional.linear(one, third[:1])
        (tensor([[0.3340, 0.3340]]), tensor([[0.3333]]))
    """
    return _Bfloat16Products() if precision == "bfloat16" else nullcontext()


class _Bfloat16Products(TorchFunctionMode):
    """Products with matrices of two rows or more in bfloat16, whose results are float32 again."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Call a function of torch, with other arguments if it is such a product."""
        options = kwargs or {}
        if func is linear and not options and len(args[1]) > 1:
            return linear(*(each if each is None else each.bfloat16() for each in args)).float()
        return func(*args, **options)
