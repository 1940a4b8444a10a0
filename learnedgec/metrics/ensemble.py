"""A metric that is a weighted sum of other metrics."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from learnedgec.data.corpus import Corpus
from learnedgec.data.references import References
from learnedgec.errors import InputError, ParameterError, UnknownNameError
from learnedgec.evaluators.package import Package
from learnedgec.metrics.bound import BoundMetric, NamedMetric
from learnedgec.metrics.contract import Metric, ResampledMetric, Statistics
from learnedgec.metrics.registry import REGISTRY, is_metric_name, read_name
from learnedgec.runtime.plugins import origin
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Indices, Texts


@dataclass(frozen=True)
class Ensemble(ResampledMetric):
    """A weighted sum of metrics: `Σ wₖ·(xₖ − μₖ)/σₖ`, of corpus scores and of sentence scores alike.

    Metrics have different scales, so weights are comparable only after scaling. μₖ and σₖ are part of the
    name: the mean and the standard deviation of the k-th metric's sentence scores on the benchmark that
    `learnedgec tune` used. They are never computed from the scored systems, whose scores would then depend
    on each other. Without `scales` the raw scores are summed (μ = 0, σ = 1).

    Names may be short: `ensemble(some=0.6, gleu=0.4)`, or, with parameters and in quotes,
    `ensemble(some@jfleg=0.6, 'm2(beta=1.0)'=0.4)`; `members={'some@jfleg': 0.6, …}` is equivalent. The
    statistics are its members' statistics, so nothing is computed or cached twice.

    Attributes:
        members: names of K metrics; printed with all their parameters.
        weights: K weights; by default 1/K each.
        scales: K pairs (μ, σ), or empty for raw scores.

    Example:
        >>> from learnedgec import load_metric
        >>> both = load_metric("ensemble(length=0.75, constant=0.25)")
        >>> both.label, both.score(["He go ."], ["He goes ."]).value
        ('ensemble(length=0.75, constant=0.25)', 2.25)
    """

    name: ClassVar[str] = "ensemble"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"weights", "scales"})
    # The members store theirs, which are the same.
    stores_statistics: ClassVar[bool] = False
    members: tuple[str, ...]
    weights: tuple[float, ...] | None = None
    scales: tuple[tuple[float, float], ...] | None = None

    def __post_init__(self) -> None:
        # With full names, two spellings of one ensemble are equal.
        object.__setattr__(self, "members", tuple(map(str, self.named)))
        size = len(self.members)
        if not size or len(set(self.members)) < size:
            raise ParameterError("an ensemble needs one or more members; name each only once.")
        for name, values in (("weights", self.weights), ("scales", self.scales)):
            if values is not None and len(values) != size:
                raise ParameterError(f"ensemble: {len(values)} {name} for {size} members.")
        self.check_weights(self._weights)
        for scale in self.scales or ():
            if not scale[1] > 0:
                raise ParameterError(
                    f"ensemble: the scale {scale} must be a mean and a positive deviation."
                )

    @classmethod
    def expand(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Read `some=0.6` and `members={'some': 0.6}` as members with weights.

        Raises:
            ParameterError: a key is neither a parameter nor a metric.
        """
        expanded = dict(parameters)
        fields = {field.name for field in dataclasses.fields(cls)}
        short = {key: expanded.pop(key) for key in parameters if key not in fields}
        for key in short:
            if not is_metric_name(key):
                kind = f"parameter of {cls.name} and no metric"
                raise ParameterError(
                    str(UnknownNameError(kind, key.partition("(")[0], [*fields, *REGISTRY]))
                )
        members = expanded.get("members")
        weighted = {**(members if isinstance(members, Mapping) else {}), **short}
        if weighted:
            if "weights" in expanded or (members is not None and not isinstance(members, Mapping)):
                raise ParameterError(
                    "ensemble: give the members and their weights in only one of the ways."
                )
            expanded |= {"members": tuple(weighted), "weights": tuple(weighted.values())}
        return expanded

    @cached_property
    def named(self) -> tuple[NamedMetric, ...]:
        """The members with their names; a member may be a tuned metric."""
        return tuple(map(read_name, self.members))

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The members."""
        return tuple(member.metric for member in self.named)

    @property
    def needs_references(self) -> bool:  # type: ignore[override]  # depends on the members
        """Whether any member needs references."""
        return any(metric.needs_references for metric in self.metrics)

    @property
    def label(self) -> str:
        """The short name: the members' labels with their weights, and the scales."""
        labels = [member.label for member in self.named]
        # A member with parameters is easier to read in quotes.
        keys = [repr(label) if "(" in label else label for label in labels]
        inner = [f"{key}={weight!r}" for key, weight in zip(keys, self._weights, strict=True)]
        if self.scales is not None:
            inner.append(f"scales={self.scales!r}")
        return f"{self.name}({', '.join(inner)})"

    @property
    def tuned_names(self) -> tuple[str, ...]:
        """The names of those members that are tuned metrics."""
        return tuple(name for member in self.named for name in member.tuned_names)

    def scaled_by(self, statistics: Iterable[Statistics]) -> Ensemble:
        """Return the ensemble with scales computed from the statistics of systems, such as a benchmark's.

        Raises:
            InputError: a member gives every sentence the same score, so it has no scale.
        """
        scores = np.concatenate([self._sentences(rows) for rows in statistics], axis=1)
        for member, values in zip(self.named, scores, strict=True):
            if np.ptp(values) == 0:
                raise InputError(
                    f"{member.label} gives every sentence the same score here, so it cannot be scaled "
                    "like the other members; leave it out."
                )
        scales = [(float(values.mean()), float(values.std())) for values in scores]
        return dataclasses.replace(self, scales=tuple(scales))

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return the members' arrays, the k-th member's under names that start with `k:`."""
        return self.compute_systems(Corpus(sources, {"": hypotheses}, references), runtime)[""]

    def compute_systems(self, corpus: Corpus, runtime: Runtime) -> dict[str, Statistics]:
        """Return the members' statistics of several systems, each computed or stored under its own name."""
        parts = [BoundMetric(m, runtime=runtime).compute(corpus) for m in self.metrics]
        return {name: self.joined([part[name] for part in parts]) for name in corpus.systems}

    @staticmethod
    def joined(parts: Sequence[Statistics]) -> Statistics:
        """Return the members' statistics side by side."""
        arrays = {
            f"{number}:{name}": array
            for number, part in enumerate(parts)
            for name, array in part.arrays.items()
        }
        if not any(part.records for part in parts):
            return Statistics(arrays)
        columns = [part.records or (None,) * len(part) for part in parts]
        return Statistics(arrays, tuple(map(list, zip(*columns, strict=True))))

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the weighted sum of the members' scaled sentence scores."""
        return self._sum(self._sentences(statistics))

    def aggregate_many(self, statistics: Statistics, samples: Indices) -> Floats:
        """Return the weighted sum of the members' scaled corpus scores, for each resample."""
        values = [metric.aggregate_many(part, samples) for metric, part in self._parts(statistics)]
        return self._sum(np.stack(values))

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return each member's own corpus score."""
        parts = zip(self.named, self._parts(statistics), strict=True)
        return {member.label: metric.aggregate(part) for member, (metric, part) in parts}

    @property
    def statistics_depend_on_others(self) -> str:
        """The reason of the first member whose statistics depend on others."""
        reasons = ((m.label, m.metric.statistics_depend_on_others) for m in self.named)
        return next((f"{label}: {reason}" for label, reason in reasons if reason), "")

    @property
    def sentence_scores_depend_on_others(self) -> str:
        """The reason of the first member whose sentence scores depend on others."""
        reasons = ((m.label, m.metric.sentence_scores_depend_on_others) for m in self.named)
        return next((f"{label}: {reason}" for label, reason in reasons if reason), "")

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return each member's own sentence scores."""
        labels = [member.label for member in self.named]
        return dict(zip(labels, self._sentences(statistics), strict=True))

    def doubts(self, statistics: Statistics) -> list[str]:
        """Return why the corpus score of a member may mislead."""
        return [text for metric, part in self._parts(statistics) for text in metric.doubts(part)]

    def packages(self, runtime: Runtime = Runtime()) -> tuple[Package, ...]:
        """Return the packages of all members."""
        packages = (package for metric in self.metrics for package in metric.packages(runtime))
        return tuple(dict.fromkeys(packages))

    def english_part(self, runtime: Runtime = Runtime()) -> str:
        """Return what of the first member that reads English alone does."""
        return next(filter(None, (metric.english_part(runtime) for metric in self.metrics)), "")

    def check(self, runtime: Runtime) -> None:
        """Raise unless every member's models are available."""
        for metric in self.metrics:
            metric.check(runtime)

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return what the members' scores depend on, of the k-th under names that start with `k:`."""
        return {
            f"{number}:{key}": value
            for number, metric in enumerate(self.metrics)
            for key, value in (metric.describe(runtime) | origin(type(metric))).items()
        }

    def describe_references(self, references: References) -> dict[str, str]:
        """Return the members' descriptions of the references, the k-th under names that start with `k:`."""
        return {
            f"{number}:{key}": value
            for number, metric in enumerate(self.metrics)
            for key, value in metric.describe_references(references).items()
        }

    @property
    def _weights(self) -> tuple[float, ...]:
        return self.weights or (1 / len(self.members),) * len(self.members)

    def _parts(self, statistics: Statistics) -> list[tuple[Metric, Statistics]]:
        """Return each member with its statistics."""
        parts: list[dict[str, Array]] = [{} for _ in self.metrics]
        for name, array in statistics.arrays.items():
            number, _, own_name = name.partition(":")
            parts[int(number)][own_name] = array
        return list(zip(self.metrics, map(Statistics, parts), strict=True))

    def _sentences(self, statistics: Statistics) -> Floats:
        """Return each member's own sentence scores, (K, N)."""
        rows = [metric.sentence_scores(part) for metric, part in self._parts(statistics)]
        return np.stack(rows).astype(np.float64)

    def _sum(self, scores: Floats) -> Floats:
        """Return the weighted sum over the first axis, the member, of raw scores (K, …)."""
        scales = self.scales or ((0.0, 1.0),) * len(self.members)
        terms = [
            weight * (values - mean) / deviation
            for weight, values, (mean, deviation) in zip(self._weights, scores, scales, strict=True)
        ]
        total: Floats = np.sum(terms, axis=0)
        return total


def about_scale(name: str, metric: Metric) -> list[str]:
    """Return a sentence about the scale of an ensemble's scores if they are standardised.

    Args:
        name: the name of the metric in the sentence.
        metric: any metric.
    """
    if not isinstance(metric, Ensemble) or metric.scales is None:
        return []
    return [
        f"{name} is on a standardised scale: 0 is the mean score of the sentences that it was tuned on, and "
        "1 is one standard deviation above it."
    ]
