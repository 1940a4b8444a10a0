"""Train, tune, prove and run learned evaluators for grammatical error correction."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from learnedgec._version import __version__
from learnedgec.errors import LearnedgecError

if TYPE_CHECKING:
    from learnedgec.m2 import AnnotatedSentence, Edit, apply_edits, read_m2, write_m2
    from learnedgec.metrics.base import Metric, Score, Statistics
    from learnedgec.metrics.names import load_metric, parse_metric
    from learnedgec.references import Reference, References
    from learnedgec.runtime import Runtime
    from learnedgec.text import read_jsonl, read_lines, write_jsonl, write_lines

# Loaded on first use, so that `import learnedgec` stays light.
_HOME = {
    "AnnotatedSentence": "m2",
    "Edit": "m2",
    "Metric": "metrics.base",
    "Reference": "references",
    "References": "references",
    "Runtime": "runtime",
    "Score": "metrics.base",
    "Statistics": "metrics.base",
    "apply_edits": "m2",
    "load_metric": "metrics.names",
    "parse_metric": "metrics.names",
    "read_jsonl": "text",
    "read_lines": "text",
    "read_m2": "m2",
    "write_jsonl": "text",
    "write_lines": "text",
    "write_m2": "m2",
}

__all__ = [
    "AnnotatedSentence",
    "Edit",
    "LearnedgecError",
    "Metric",
    "Reference",
    "References",
    "Runtime",
    "Score",
    "Statistics",
    "__version__",
    "apply_edits",
    "load_metric",
    "parse_metric",
    "read_jsonl",
    "read_lines",
    "read_m2",
    "write_jsonl",
    "write_lines",
    "write_m2",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"learnedgec.{_HOME[name]}"), name)
    raise AttributeError(f"module 'learnedgec' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
