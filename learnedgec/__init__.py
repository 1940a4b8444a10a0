"""Train, tune, evaluate and run learned evaluators for grammatical error correction."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from learnedgec._version import __version__
from learnedgec.errors import LearnedgecError

if TYPE_CHECKING:
    from learnedgec.attribution import attribute_edits
    from learnedgec.benchmarks import Benchmark, load_benchmark
    from learnedgec.catalog.ratings import Rating, load_ratings
    from learnedgec.edits.tokenisation import tokenise
    from learnedgec.execution.runtime import Runtime
    from learnedgec.formats.m2 import AnnotatedSentence, Edit, apply_edits, read_m2, write_m2
    from learnedgec.formats.references import Reference, References
    from learnedgec.formats.text import read_jsonl, read_lines, write_jsonl, write_lines
    from learnedgec.metrics.base import Metric
    from learnedgec.metrics.registry import load_metric
    from learnedgec.metrics.scores import Score, Scores
    from learnedgec.metrics.scoring import score
    from learnedgec.metrics.statistics import Statistics
    from learnedgec.models.evaluator import Evaluator
    from learnedgec.ranking import SystemRanking, rank, rank_systems
    from learnedgec.report.data import build_benchmark_report, build_report
    from learnedgec.report.page import write_report
    from learnedgec.use.export import export_evaluator
    from learnedgec.use.rerank import rerank
    from learnedgec.use.reward import reward
    from learnedgec.use.sharing import pull_evaluator, push_evaluator

# Loaded on first use, so that `import learnedgec` stays light.
_HOME = {
    "AnnotatedSentence": "formats.m2",
    "Benchmark": "benchmarks",
    "Edit": "formats.m2",
    "Evaluator": "models.evaluator",
    "Metric": "metrics.base",
    "Rating": "catalog.ratings",
    "Reference": "formats.references",
    "References": "formats.references",
    "Runtime": "execution.runtime",
    "Score": "metrics.scores",
    "Scores": "metrics.scores",
    "Statistics": "metrics.statistics",
    "SystemRanking": "ranking",
    "apply_edits": "formats.m2",
    "attribute_edits": "attribution",
    "build_benchmark_report": "report.data",
    "build_report": "report.data",
    "export_evaluator": "use.export",
    "load_benchmark": "benchmarks",
    "load_metric": "metrics.registry",
    "load_ratings": "catalog.ratings",
    "pull_evaluator": "use.sharing",
    "push_evaluator": "use.sharing",
    "rank": "ranking",
    "rank_systems": "ranking",
    "read_jsonl": "formats.text",
    "read_lines": "formats.text",
    "read_m2": "formats.m2",
    "rerank": "use.rerank",
    "reward": "use.reward",
    "score": "metrics.scoring",
    "tokenise": "edits.tokenisation",
    "write_jsonl": "formats.text",
    "write_lines": "formats.text",
    "write_m2": "formats.m2",
    "write_report": "report.page",
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
    "Scores",
    "Statistics",
    "SystemRanking",
    "__version__",
    "apply_edits",
    "attribute_edits",
    "build_benchmark_report",
    "build_report",
    "export_evaluator",
    "load_benchmark",
    "load_metric",
    "load_ratings",
    "pull_evaluator",
    "push_evaluator",
    "rank",
    "rank_systems",
    "read_jsonl",
    "read_lines",
    "read_m2",
    "rerank",
    "reward",
    "score",
    "tokenise",
    "write_jsonl",
    "write_lines",
    "write_m2",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"learnedgec.{_HOME[name]}"), name)
    raise AttributeError(f"module 'learnedgec' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
