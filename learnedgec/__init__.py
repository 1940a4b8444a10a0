"""Train, tune, evaluate and run learned evaluators for grammatical error correction."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from typing import Any

from learnedgec._version import __version__
from learnedgec.errors import LearnedgecError

# Module -> its public names, loaded on first use, so that `import learnedgec` stays light.
_NAMES = {
    "analysis.attribution": ["attribute_edits"],
    "analysis.comparison": ["BaselineComparison", "compare"],
    "analysis.meta.evaluation": ["evaluate"],
    "analysis.meta.measures": ["Protocol"],
    "analysis.meta.results": ["Evaluation"],
    "analysis.ranking": ["SystemRanking", "rank", "rank_systems"],
    "applications.confidence": ["edit_confidence"],
    "applications.rerank": ["Guards", "Reranking", "rerank"],
    "applications.completions": ["extract_correction"],
    "applications.reward": ["Reward", "reward"],
    "applications.safeguards": ["MeaningPenalty"],
    "data.benchmarks": ["Benchmark", "load_benchmark"],
    "data.catalog.ratings": ["Rating", "load_ratings"],
    "data.m2": ["AnnotatedSentence", "Edit", "apply_edits", "read_m2", "write_m2"],
    "data.references": ["Reference", "References"],
    "data.text": ["read_jsonl", "read_lines", "write_jsonl", "write_lines"],
    "data.tokenisation": ["tokenise"],
    "evaluators.evaluator": ["Evaluator"],
    "evaluators.locations": ["pull_evaluator", "push_evaluator"],
    "judging.records": ["Answer", "StudySettings"],
    "judging.study": ["Study"],
    "metrics.contract": ["Metric", "Score", "Scores", "Statistics"],
    "metrics.registry": ["load_metric"],
    "report.data": ["build_benchmark_report", "build_report"],
    "report.page": ["write_report"],
    "runtime.runtime": ["Runtime"],
    "scoring": ["bind", "score"],
    "stats.resampling": ["Resampling"],
    "training.run": ["TrainingResult"],
    "training.tables": ["train"],
    "tuning.objective": ["Goal"],
    "tuning.search": ["SearchPlan"],
    "tuning.task": ["TuningResult", "tune"],
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = ["LearnedgecError", "__version__", *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"learnedgec.{_MODULES[name]}"), name)
    nearest = "".join(f"; did you mean {n!r}?" for n in get_close_matches(name, _MODULES, n=1))
    raise AttributeError(f"module 'learnedgec' has no attribute {name!r}{nearest}")


def __dir__() -> list[str]:
    return __all__
