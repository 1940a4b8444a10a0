"""Any metric as a corpus metric of lighteval, for the `metrics` of a task.

    from learnedgec.use.harnesses.lighteval_metric import corpus_metric

    LightevalTaskConfig(…, metrics=[corpus_metric("impara"), corpus_metric("gleu")])

A document keeps its source in `specific`; its references are its golds, unless a key of `specific` is named.
"""

from __future__ import annotations

from typing import Any

from learnedgec.errors import MissingDependencyError
from learnedgec.metrics.base import Metric
from learnedgec.use.harnesses.adapter import MetricAdapter, Submission, adapter

try:
    from lighteval.metrics.metrics_sample import SampleLevelComputation
    from lighteval.metrics.utils.metric_utils import CorpusLevelMetric
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import Doc, SamplingMethod
except ImportError as error:
    raise MissingDependencyError(str(error.name), "lighteval", "a metric of lighteval") from None

__all__ = ["corpus_metric"]


class _Read(SampleLevelComputation):  # type: ignore[misc]
    """Collects the corrections that the corpus score is computed from."""

    def __init__(self, found: MetricAdapter) -> None:
        self.adapter = found

    def compute(self, doc: Doc, model_response: ModelResponse, **_: Any) -> Submission:
        document = {**(doc.specific or {}), "golds": doc.get_golds()}
        return self.adapter.read(document, model_response.final_text[0])


def corpus_metric(
    metric: Metric | str, references: str = "golds", **options: Any
) -> CorpusLevelMetric:
    """Return a metric of lighteval; `options` are the other attributes of `MetricAdapter`."""
    found = adapter(metric, references=references, **options)

    def aggregate(corrections: list[Submission]) -> dict[str, float]:
        # A mapping, because lighteval would score a thousand resamples of a number, in new processes.
        return {found.metric.name: found.score(corrections).value}

    return CorpusLevelMetric(
        metric_name=found.metric.name,
        higher_is_better=True,
        category=SamplingMethod.GENERATIVE,
        sample_level_fn=_Read(found),
        corpus_level_fn=aggregate,
    )
