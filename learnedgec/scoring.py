"""The one way from metrics' names and texts to scores.

`bind` opens what names stand for, once. A bound metric reads the statistics of systems that the store has,
computes each distinct row of the rest, and signs the scores:

    metrics = bind(["gleu", "some@jfleg"], runtime)
    inputs = checked_inputs(metrics, sources, systems, references, runtime)
    for metric, statistics in shared_statistics(metrics, lambda metric: metric.compute(inputs)):
        scores = metric.scores(statistics, inputs.references)

`score` does all of it in one call.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar, overload

import numpy as np

from learnedgec._version import __version__
from learnedgec.data.references import (
    ReferenceRows,
    References,
    ReferencesBy,
)
from learnedgec.data.sentences import Sentences, Systems, as_items, as_sentences
from learnedgec.edits.tokenisation import describe_tokens
from learnedgec.errors import InputError, PluginError
from learnedgec.evaluators.packages import Package
from learnedgec.metrics.base import Metric, Statistics
from learnedgec.metrics.ensemble import Ensemble
from learnedgec.metrics.inputs import Inputs, as_inputs, checked_inputs
from learnedgec.metrics.registry import NamedMetric, read_name
from learnedgec.metrics.scores import Score, Scores
from learnedgec.runtime.digests import key_of
from learnedgec.runtime.notices import InputWarning, TextWarning, collected, warn_of_inputs
from learnedgec.runtime.plugins import origin
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.store import Store

AnyMetric: TypeAlias = str | Metric | NamedMetric
"""A metric, by its name, as a value, or bound."""

_Computed = TypeVar("_Computed")

_EXPECTED = "a metric's name such as 'gleu', a metric, or a list of them"


# -- metrics ---------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class BoundMetric(NamedMetric):
    """A metric with all that its name stands for, opened once: it scores, and signs its scores.

    Results are keyed by its `label`. `metric` stays a pure value.

    Attributes:
        runtime: how it runs; it remembers the models that the metric's parameters name.

    Example:
        >>> length = bind_one("length")
        >>> statistics = length.statistics(["He go ."], {"ours": ["He goes home ."]})
        >>> length.metric.aggregate(statistics["ours"])
        4.0
    """

    runtime: Runtime = field(default_factory=Runtime, compare=False)

    @property
    def packages(self) -> tuple[Package, ...]:
        """The names of the evaluator packages that it scores with."""
        return self.metric.packages(self.runtime)

    def replaced(self, metric: Metric) -> BoundMetric:
        """Return another metric under the same tuned name, such as one with other parameters."""
        return replace(self, metric=metric)

    def statistics(
        self, sources: Sentences, systems: Systems, references: ReferenceRows | None = None
    ) -> dict[str, Statistics]:
        """Return the statistics of several systems on the same sources.

        Args:
            sources: N texts.
            systems: each system's N texts, by the system's name.
            references: each sentence's texts, or `References`.

        Raises:
            LengthError, InputError: see `score`.
        """
        return self.compute(as_inputs([self], sources, systems, references, self.runtime))

    def compute(self, inputs: Inputs) -> dict[str, Statistics]:
        """Return the statistics of the systems whose inputs have been checked."""
        return _compute(self.metric, inputs, self.runtime)

    def scores(
        self, statistics: Mapping[str, Statistics], references: References | None = None
    ) -> Scores[Score]:
        """Return the signed scores of systems whose statistics are known.

        Args:
            statistics: system -> its statistics.
            references: references of the sentences, if there are any, for the signature.
        """
        signed = self.signature(references)
        return Scores({name: self.score_of(rows, signed) for name, rows in statistics.items()})

    def score_of(self, statistics: Statistics, signature: str = "") -> Score:
        """Return the score aggregated from statistics; warn if every sentence's is NaN.

        Raises:
            PluginError: the sentence scores are not one number per sentence.
        """
        metric, size = self.metric, len(statistics)
        try:
            sentences = np.asarray(metric.sentence_scores(statistics), np.float64).reshape(size)
        except (TypeError, ValueError):
            raise PluginError(
                f"{self.label}: sentence_scores did not return an array of one number for each of {size} "
                "sentences."
            ) from None
        if np.isnan(sentences).all():
            warnings.warn(f"{self.label}: no sentence has a score, all are NaN.", stacklevel=3)
        warn_of_doubts(metric, [statistics])
        return Score(
            metric=str(self),
            value=metric.aggregate(statistics),
            sentences=sentences,
            details=metric.details(statistics),
            sentence_details=metric.sentence_details(statistics),
            signature=signature,
            statistics=statistics,
        )

    def signature(self, references: References | None = None) -> str:
        """Return one line that names everything the score depends on besides the sentences."""
        return _signature(str(self), self.metric, references, self.runtime)


def warn_of_doubts(metric: Metric, of_systems: Sequence[Statistics]) -> None:
    """Warn of each reason to misread the corpus scores of these systems (`Metric.doubts`) once."""
    for doubt in dict.fromkeys(text for rows in of_systems for text in metric.doubts(rows)):
        warn_of_inputs(TextWarning(doubt))


def bind(
    metrics: AnyMetric | Sequence[AnyMetric], runtime: Runtime = Runtime()
) -> list[BoundMetric]:
    """Return metrics with all that their names stand for; the one place where names become models.

    Args:
        metrics: a metric's name, a metric, or a list of them; bound ones are returned as they are.
        runtime: how to run.

    Raises:
        InputError: something else was given, or nothing.
        BadNameError, UnknownNameError: no metric has this name, or it lacks a parameter that the name gives.
        ModelError: a model or annotator is absent, or lacks a head or layer.

    Example:
        >>> [metric.label for metric in bind(["gleu", "m2(beta=1.0)"])]
        ['gleu', 'm2(beta=1.0)']
    """
    items = (
        [metrics]
        if isinstance(metrics, str | Metric | NamedMetric)
        else as_items(metrics, "metric", _EXPECTED)
    )
    if not items:
        raise InputError("metric is an empty list; give at least one metric.")
    runtime = runtime.bound()
    bound = []
    for number, item in enumerate(items):
        named = as_named(item, "metric" if len(items) == 1 else f"metric[{number}]")
        if not isinstance(named, BoundMetric):
            named.metric.check(runtime)
            named = BoundMetric(named.metric, named.tuned, named.original, runtime)
        bound.append(named)
    return bound


def bind_one(metric: AnyMetric, runtime: Runtime = Runtime()) -> BoundMetric:
    """Return one metric, bound; see `bind`."""
    [bound] = bind([metric], runtime)
    return bound


def as_named(metric: object, argument: str = "metric") -> NamedMetric:
    """Return a metric under its name, without opening anything.

    Args:
        metric: a metric's name, a metric, or a named one.
        argument: the argument's name, for the message.

    Raises:
        InputError: it is none of them.
        BadNameError, UnknownNameError: no metric has this name.
    """
    if isinstance(metric, NamedMetric):
        return metric
    if isinstance(metric, Metric):
        return NamedMetric(metric)
    if isinstance(metric, str):
        return read_name(metric)
    raise InputError(f"{argument} is {metric!r}; {_EXPECTED} was expected.")


def shared_statistics(
    metrics: Sequence[BoundMetric], compute: Callable[[BoundMetric], _Computed]
) -> Iterator[tuple[BoundMetric, _Computed]]:
    """Yield each metric with its statistics, computed once for metrics whose statistics are equal.

    For example, `m2` and `sentm2` differ only in `aggregate`, so the edits are extracted once. Statistics are
    held in memory no longer than for the last metric that shares them.

    Args:
        metrics: the metrics.
        compute: a function from a metric to its statistics, such as those of several systems.
    """
    keys = [metric.metric.for_statistics for metric in metrics]
    left = Counter(keys)
    shared: dict[Metric, _Computed] = {}
    for metric, key in zip(metrics, keys, strict=True):
        statistics = shared.pop(key) if key in shared else compute(metric)
        left[key] -= 1
        if left[key]:
            shared[key] = statistics
        yield metric, statistics


def _signature(name: str, metric: Metric, references: References | None, runtime: Runtime) -> str:
    """Return the signature of a metric's scores; see `BoundMetric.signature`."""
    parts = {**metric.describe(runtime), **origin(type(metric))}
    if metric.needs_references and references is not None:
        counts = {len(row) for row in references}
        low, high = min(counts, default=0), max(counts, default=0)
        parts["references"] = low if low == high else f"{low}-{high}"
    if runtime.tokenise == "spacy":
        parts["tokens"] = describe_tokens()
    parts["learnedgec"] = __version__
    if references is not None:
        parts |= metric.describe_references(references)
    return "|".join([name, *(f"{key}:{value}" for key, value in parts.items())])


def _compute(metric: Metric, inputs: Inputs, runtime: Runtime) -> dict[str, Statistics]:
    """Return the statistics of several systems, each read from the store if it has them.

    A stored entry depends on the signature and the texts. The warnings of its computation are repeated.
    """
    if isinstance(metric, Ensemble):
        parts = [_compute(member, inputs, runtime) for member in metric.metrics]
        return {name: metric.joined([part[name] for part in parts]) for name in inputs.systems}
    sources, systems, references = inputs
    used = references if metric.needs_references else None
    for caveat in metric.caveats(used) if used is not None else ():
        warnings.warn(caveat, stacklevel=2)
    if runtime.cache_dir is None or not metric.stores_statistics:
        return metric.compute_systems(sources, systems, used, runtime)
    store, plain_metric = Store(runtime.cache_dir), metric.for_statistics
    signature = _signature(str(plain_metric), plain_metric, references, runtime)
    shared = ["with notices", signature, repr(used and used.rows)]
    keys = {name: key_of(*shared, sources, texts) for name, texts in systems.items()}
    entries = {name: store.load(key) for name, key in keys.items()}
    missing = {name: systems[name] for name, entry in entries.items() if entry is None}
    computed: dict[str, Statistics] = {}
    with collected() as notices:
        if missing:
            computed = metric.compute_systems(sources, missing, used, runtime)
    # A warning may concern any of the systems that were computed together, so each stores all warnings.
    new_notices = list(dict.fromkeys(map(str, notices)))
    for name, statistics in computed.items():
        store.save(keys[name], statistics.arrays, [new_notices, *statistics.records])
    stored_notices: dict[str, None] = {}
    for name, entry in entries.items():
        if entry is not None:
            arrays, (texts, *records) = entry
            computed[name] = Statistics(arrays, tuple(records))
            stored_notices |= dict.fromkeys(texts)
    for notice in notices:
        warn_of_inputs(notice)
    for text in stored_notices:
        if text not in new_notices:
            warn_of_inputs(InputWarning(f"when cached statistics were computed, {text}"))
    return {name: computed[name] for name in systems}


# -- the entrance ----------------------------------------------------------------------------------


# `str` is a sequence of `str`, and a mapping is a sequence of its keys: the first signature that fits counts.
@overload
def score(  # type: ignore[overload-overlap]
    metric: AnyMetric,
    sources: Sentences,
    hypotheses: Systems,
    references: ReferenceRows | None = None,
    *,
    references_by: ReferencesBy | None = None,
    runtime: Runtime = Runtime(),
) -> Scores[Score]: ...


@overload
def score(  # type: ignore[overload-overlap]
    metric: AnyMetric,
    sources: Sentences,
    hypotheses: Sentences,
    references: ReferenceRows | None = None,
    *,
    references_by: ReferencesBy | None = None,
    runtime: Runtime = Runtime(),
) -> Score: ...


@overload
def score(
    metric: Sequence[AnyMetric],
    sources: Sentences,
    hypotheses: Systems,
    references: ReferenceRows | None = None,
    *,
    references_by: ReferencesBy | None = None,
    runtime: Runtime = Runtime(),
) -> Scores[Scores[Score]]: ...


@overload
def score(
    metric: Sequence[AnyMetric],
    sources: Sentences,
    hypotheses: Sentences,
    references: ReferenceRows | None = None,
    *,
    references_by: ReferencesBy | None = None,
    runtime: Runtime = Runtime(),
) -> Scores[Score]: ...


def score(
    metric: AnyMetric | Sequence[AnyMetric],
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
    metrics = bind(metric, runtime)
    several = isinstance(hypotheses, Mapping)
    systems: Systems = (
        hypotheses
        if isinstance(hypotheses, Mapping)
        else {"hypotheses": as_sentences(hypotheses, "hypotheses")}
    )
    inputs = checked_inputs(
        metrics, sources, systems, references, metrics[0].runtime, references_by
    )
    scores = score_metrics(metrics, inputs)
    results: list[Score | Scores[Score]] = [
        scores[bound.label] if several else scores[bound.label]["hypotheses"] for bound in metrics
    ]
    if isinstance(metric, AnyMetric):
        return results[0]
    names = [
        name if isinstance(name, str) else bound.label
        for name, bound in zip(metric, metrics, strict=True)
    ]
    by_name: dict[str, Any] = dict(zip(names, results, strict=True))
    return Scores(by_name, "metric")


def score_metrics(metrics: Sequence[BoundMetric], inputs: Inputs) -> dict[str, Scores[Score]]:
    """Return the scores of several systems by several bound metrics, by the metric's label.

    Args:
        metrics: the metrics.
        inputs: what they score, from `checked_inputs` or `as_inputs`.
    """
    return {
        metric.label: metric.scores(statistics, inputs.references)
        for metric, statistics in shared_statistics(metrics, lambda m: m.compute(inputs))
    }
