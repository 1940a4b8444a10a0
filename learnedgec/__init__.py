"""Train, tune, evaluate and run learned evaluators for grammatical error correction."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from learnedgec._version import __version__
from learnedgec.errors import LearnedgecError

if TYPE_CHECKING:
    from learnedgec.analysis.attribution import attribute_edits
    from learnedgec.analysis.ranking import SystemRanking, rank, rank_systems
    from learnedgec.applications.export import export_evaluator
    from learnedgec.applications.hub import pull_evaluator, push_evaluator
    from learnedgec.applications.rerank import rerank
    from learnedgec.applications.reward import reward
    from learnedgec.data.benchmarks import Benchmark, load_benchmark
    from learnedgec.data.catalog.ratings import Rating, load_ratings
    from learnedgec.data.m2 import AnnotatedSentence, Edit, apply_edits, read_m2, write_m2
    from learnedgec.data.references import Reference, References
    from learnedgec.data.text import read_jsonl, read_lines, write_jsonl, write_lines
    from learnedgec.edits.tokenisation import tokenise
    from learnedgec.evaluators.evaluator import Evaluator
    from learnedgec.metrics.base import Metric
    from learnedgec.metrics.registry import load_metric
    from learnedgec.metrics.scores import Score, Scores
    from learnedgec.metrics.statistics import Statistics
    from learnedgec.report.data import build_benchmark_report, build_report
    from learnedgec.report.page import write_report
    from learnedgec.runtime.runtime import Runtime
    from learnedgec.scoring import score

# Loaded on first use, so that `import learnedgec` stays light.
_HOME = {
    "AnnotatedSentence": "data.m2",
    "Benchmark": "data.benchmarks",
    "Edit": "data.m2",
    "Evaluator": "evaluators.evaluator",
    "Metric": "metrics.base",
    "Rating": "data.catalog.ratings",
    "Reference": "data.references",
    "References": "data.references",
    "Runtime": "runtime.runtime",
    "Score": "metrics.scores",
    "Scores": "metrics.scores",
    "Statistics": "metrics.statistics",
    "SystemRanking": "analysis.ranking",
    "apply_edits": "data.m2",
    "attribute_edits": "analysis.attribution",
    "build_benchmark_report": "report.data",
    "build_report": "report.data",
    "export_evaluator": "applications.export",
    "load_benchmark": "data.benchmarks",
    "load_metric": "metrics.registry",
    "load_ratings": "data.catalog.ratings",
    "pull_evaluator": "applications.hub",
    "push_evaluator": "applications.hub",
    "rank": "analysis.ranking",
    "rank_systems": "analysis.ranking",
    "read_jsonl": "data.text",
    "read_lines": "data.text",
    "read_m2": "data.m2",
    "rerank": "applications.rerank",
    "reward": "applications.reward",
    "score": "scoring",
    "tokenise": "edits.tokenisation",
    "write_jsonl": "data.text",
    "write_lines": "data.text",
    "write_m2": "data.m2",
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
