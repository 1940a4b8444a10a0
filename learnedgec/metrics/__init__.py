"""Metrics with one contract (`contract`), found by name (`registry`); one module per family.

The class of every metric in the registry can be imported from here; its module is loaded on first use:

    from learnedgec.metrics import Gleu, Some

`__init__.pyi` lists them for editors and type checkers; `scripts/stubs.py` writes it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    module = _modules().get(name)
    if module is None:
        raise AttributeError(f"module 'learnedgec.metrics' has no attribute {name!r}")
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_modules()})


def _modules() -> dict[str, str]:
    """Return the module of each class in the registry."""
    from learnedgec.metrics.registry import METRICS

    targets = (target.partition(":") for target in METRICS.values())
    return {name: module for module, _, name in targets}
