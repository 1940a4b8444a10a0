"""A metric as a module of Hugging Face's `evaluate`, whose configuration is named like the metric.

import evaluate
from learnedgec.applications.harnesses import evaluate_module

gleu = evaluate.load(evaluate_module.__file__, "gleu")
gleu.compute(sources=…, predictions=…, references=[[…], …])["gleu"]
"""

from __future__ import annotations

from typing import Any

from learnedgec.errors import MissingDependencyError
from learnedgec.metrics.registry import load_metric

try:
    import evaluate
    from datasets import Features, Sequence, Value
except ImportError as error:
    raise MissingDependencyError(str(error.name), "evaluate", "a module of `evaluate`") from None


class LearnedGEC(evaluate.Metric):  # type: ignore[misc]
    """Any metric of learnedgec, by its name."""

    def _info(self) -> evaluate.MetricInfo:
        self.metric = load_metric(self.config_name)
        features = {"sources": Value("string"), "predictions": Value("string")}
        if self.metric.needs_references:
            features["references"] = Sequence(Value("string"))
        return evaluate.MetricInfo(
            description=f"{self.metric.label} of learnedgec, for grammatical error correction",
            citation="",
            inputs_description="sources, predictions (the corrections) and each sentence's references",
            features=Features(features),
        )

    def _compute(
        self,
        sources: list[str],
        predictions: list[str],
        references: list[list[str]] | None = None,
    ) -> dict[str, Any]:
        score = self.metric.score(sources, predictions, references)
        return {
            self.metric.name: score.value,
            "sentences": score.sentences.tolist(),
            "signature": score.signature,
        }
