"""Train, tune, prove and run learned evaluators for grammatical error correction."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from learnedgec._version import __version__
from learnedgec.errors import LearnedgecError

if TYPE_CHECKING:
    from learnedgec.benchmarks import Benchmark, load_benchmark
    from learnedgec.catalog.ratings import Rating, load_ratings
    from learnedgec.evaluator import Evaluator
    from learnedgec.m2 import AnnotatedSentence, Edit, apply_edits, read_m2, write_m2
    from learnedgec.metrics.base import Metric, Score, Statistics
    from learnedgec.metrics.names import load_metric, parse_metric
    from learnedgec.ranking import rank_systems
    from learnedgec.references import Reference, References
    from learnedgec.runtime import Runtime
    from learnedgec.text import read_jsonl, read_lines, write_jsonl, write_lines

# Loaded on first use, so that `import learnedgec` stays light.
_HOME = {
    "AnnotatedSentence": "m2",
    "Benchmark": "benchmarks",
    "Edit": "m2",
    "Evaluator": "evaluator",
    "Metric": "metrics.base",
    "Rating": "catalog.ratings",
    "Reference": "references",
    "References": "references",
    "Runtime": "runtime",
    "Score": "metrics.base",
    "Statistics": "metrics.base",
    "apply_edits": "m2",
    "load_benchmark": "benchmarks",
    "load_metric": "metrics.names",
    "load_ratings": "catalog.ratings",
    "parse_metric": "metrics.names",
    "rank_systems": "ranking",
    "read_jsonl": "text",
    "read_lines": "text",
    "read_m2": "m2",
    "write_jsonl": "text",
    "write_lines": "text",
    "write_m2": "m2",
}

__all__ = [
    "AnnotatedSentence",
    "Benchmark",
    "Edit",
    "Evaluator",
    "LearnedgecError",
    "Metric",
    "Rating",
    "Reference",
    "References",
    "Runtime",
    "Score",
    "Statistics",
    "__version__",
    "apply_edits",
    "load_benchmark",
    "load_metric",
    "load_ratings",
    "parse_metric",
    "rank_systems",
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
