"""A metric for tasks of the lm-evaluation-harness: two functions that a task's YAML names.

A file beside the task, `gec.py`:

    from learnedgec.applications.harnesses.lm_eval_task import task_functions
    process_results, aggregate = task_functions("impara", source="sentence")

and in the task:

    output_type: generate_until
    process_results: !function gec.process_results
    metric_list:
      - metric: impara
        aggregation: !function gec.aggregate
        higher_is_better: true

The corpus is scored in one batch, when all documents are done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from learnedgec.applications.harnesses.adapter import Submission, adapter
from learnedgec.scoring import AnyMetric

ProcessResults: TypeAlias = Callable[[Mapping[str, Any], Sequence[str]], dict[str, Submission]]
Aggregate: TypeAlias = Callable[[Sequence[Submission]], float]


def task_functions(metric: AnyMetric, **options: Any) -> tuple[ProcessResults, Aggregate]:
    """Return the functions that a task calls: the first for each document, the second for the corpus.

    Args:
        metric: a metric or its name; the task's `metric` is its bare name, such as `impara`.
        options: the attributes of `MetricAdapter`.

    Example:
        >>> process_results, aggregate = task_functions("gleu")
        >>> document = {"source": "He go home .", "references": ["He goes home ."]}
        >>> aggregate([process_results(document, ["He goes home ."])["gleu"]])
        1.0
    """
    adapted = adapter(metric, **options)

    def process_results(
        document: Mapping[str, Any], completions: Sequence[str]
    ) -> dict[str, Submission]:
        return {adapted.metric.metric.name: adapted.read(document, completions[0])}

    def aggregate(submissions: Sequence[Submission]) -> float:
        return adapted.score(submissions).value

    return process_results, aggregate
