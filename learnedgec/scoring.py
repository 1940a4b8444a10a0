"""Score systems with metrics, each by name or as a value, in one call.

Inputs are normalised once for all metrics, and metrics with equal statistics share them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

from learnedgec.data.references import ReferenceRows, ReferencesBy
from learnedgec.data.sentences import Sentences, Systems, as_items, as_sentences
from learnedgec.errors import InputError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.engine import Inputs, checked_inputs
from learnedgec.metrics.needs import check_metrics
from learnedgec.metrics.registry import load_metric
from learnedgec.metrics.scores import Score, Scores
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.runtime import Runtime

_Computed = TypeVar("_Computed")


_EXPECTED = "a metric's name such as 'gleu', a metric, or a list of them"


def as_metric(metric: object, argument: str = "metric") -> Metric:
    """Return the metric for a name, or a metric as it is.

    Args:
        metric: a metric's name such as `gleu` or `m2(beta=1.0)`, or a `Metric`.
        argument: the argument's name, for the message.

    Raises:
        InputError: it is neither.
        BadNameError: no metric has this name.
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        return load_metric(metric)
    raise InputError(f"{argument} is {metric!r}; {_EXPECTED} was expected.")


def as_metrics(metrics: str | Metric | Sequence[str | Metric]) -> list[Metric]:
    """Return the metrics that a name, a metric, or a list of either stands for; see `as_metric`."""
    if isinstance(metrics, str | Metric):
        return [as_metric(metrics)]
    items = as_items(metrics, "metric", _EXPECTED)
    return [as_metric(item, f"metric[{index}]") for index, item in enumerate(items)]


# `str` is a sequence of `str`, and a mapping is a sequence of its keys: the first signature that fits counts.
@overload
def score(  # type: ignore[overload-overlap]
    metric: str | Metric,
    sources: Sentences,
    hypotheses: Systems,
    references: ReferenceRows | None = None,
    *,
    references_by: ReferencesBy | None = None,
    runtime: Runtime = Runtime(),
) -> Scores[Score]: ...


@overload
def score(  # type: ignore[overload-overlap]
    metric: str | Metric,
    sources: Sentences,
    hypotheses: Sentences,
    references: ReferenceRows | None = None,
    *,
    references_by: ReferencesBy | None = None,
    runtime: Runtime = Runtime(),
) -> Score: ...


@overload
def score(
    metric: Sequence[str | Metric],
    sources: Sentences,
    hypotheses: Systems,
    references: ReferenceRows | None = None,
    *,
    references_by: ReferencesBy | None = None,
    runtime: Runtime = Runtime(),
) -> Scores[Scores[Score]]: ...


@overload
def score(
    metric: Sequence[str | Metric],
    sources: Sentences,
    hypotheses: Sentences,
    references: ReferenceRows | None = None,
    *,
    references_by: ReferencesBy | None = None,
    runtime: Runtime = Runtime(),
) -> Scores[Score]: ...


def score(
    metric: str | Metric | Sequence[str | Metric],
    sources: Sentences,
    hypotheses: Sentences | Systems,
    references: ReferenceRows | None = None,
    *,
    references_by: ReferencesBy | None = None,
    runtime: Runtime = Runtime(),
) -> Score | Scores[Score] | Scores[Scores[Score]]:
    """Score one system or several, with one metric or several.

    Args:
        metric: a metric's name such as `gleu` or `m2(beta=1.0)`, a `Metric`, or a list of them.
        sources: N texts, one sentence each, tokens separated by spaces: any sequence of `str`.
        hypotheses: one system's N texts, or several systems' by name.
        references: each sentence's texts, `[[references of a sentence], …]`, or one text for each, or
            `References`, which may hold gold edits; `None` for metrics that need none.
        references_by: `annotator` if each row of references has an annotator's N texts, as in sacreBLEU.
        runtime: how to run.

    Returns:
        A `Score`; for several systems, their `Scores` by name; for several metrics, each metric's result by
        its name as given (for a `Metric`, its label).

    Raises:
        BadNameError: no metric has this name, or it lacks a parameter that the name gives.
        LengthError: sources, hypotheses and references differ in length.
        InputError: an item is not a text, or a metric needs references and none are given; the message names
            the argument and the index.

    Example:
        >>> sources, references = ["He go home ."], [["He goes home ."]]
        >>> score("gleu", sources, ["He goes home ."], references).value
        1.0
        >>> systems = {"ours": ["He goes home ."], "theirs": ["He go home ."]}
        >>> scores = score(["gleu", "length"], sources, systems, references)
        >>> scores["gleu"]["ours"].value, scores["length"]["theirs"].value
        (1.0, 4.0)
    """
    metrics = as_metrics(metric)
    if not metrics:
        raise InputError("metric is an empty list; give at least one metric.")
    several = isinstance(hypotheses, Mapping)
    systems: Systems = (
        hypotheses
        if isinstance(hypotheses, Mapping)
        else {"hypotheses": as_sentences(hypotheses, "hypotheses")}
    )
    inputs = checked_inputs(metrics, sources, systems, references, runtime, references_by)
    scores = score_metrics(metrics, inputs, runtime)
    results: list[Score | Scores[Score]] = [
        scores[value] if several else scores[value]["hypotheses"] for value in metrics
    ]
    if isinstance(metric, str | Metric):
        return results[0]
    names = [
        name if isinstance(name, str) else value.label
        for name, value in zip(metric, metrics, strict=True)
    ]
    by_name: dict[str, Any] = dict(zip(names, results, strict=True))
    return Scores(by_name, "metric")


def score_metrics(
    metrics: Sequence[Metric], inputs: Inputs, runtime: Runtime
) -> dict[Metric, Scores[Score]]:
    """Score several systems with several metrics; metrics with equal statistics share them.

    For example, `m2` and `sentm2` differ only in `aggregate`, so the edits are extracted once.

    Args:
        metrics: the metrics.
        inputs: what they score, from `checked_inputs` or `as_inputs`.
        runtime: how to run.

    Returns:
        For each metric, the scores by system.
    """
    return {
        metric: metric.scores_of(statistics, inputs.references, runtime)
        for metric, statistics in statistics_of_metrics(metrics, inputs, runtime)
    }


def statistics_of_metrics(
    metrics: Sequence[Metric], inputs: Inputs, runtime: Runtime
) -> Iterator[tuple[Metric, dict[str, Statistics]]]:
    """Yield each metric with the statistics of each system, after checking that its models are there.

    The arguments are those of `score_metrics`.
    """
    return shared_statistics(
        check_metrics(metrics, runtime), lambda metric: metric.compute_systems(*inputs, runtime)
    )


def shared_statistics(
    metrics: Sequence[Metric], compute: Callable[[Metric], _Computed]
) -> Iterator[tuple[Metric, _Computed]]:
    """Yield each metric with its statistics, computed once for metrics whose statistics are equal.

    They are held in memory no longer than for the last metric that shares them.

    Args:
        metrics: the metrics.
        compute: a function from a metric to its statistics, such as those of several systems.
    """
    keys = [metric.for_statistics for metric in metrics]
    left = Counter(keys)
    shared: dict[Metric, _Computed] = {}
    for metric, key in zip(metrics, keys, strict=True):
        statistics = shared.pop(key) if key in shared else compute(metric)
        left[key] -= 1
        if left[key]:
            shared[key] = statistics
        yield metric, statistics
