"""The contract of metrics: a frozen value, statistics of each sentence, and a pure aggregate.

A metric turns sentences into `Statistics` (slow, once) and statistics into numbers (cheap, pure, as often
as a bootstrap needs). A new metric is one frozen dataclass with two methods:

    @dataclass(frozen=True)
    class Length(Metric):
        name: ClassVar[str] = "length"
        needs_references: ClassVar[bool] = False
        unit: Literal["word", "char"] = "word"

        def compute(self, sources, hypotheses, references, runtime):
            lengths = [len(h.split() if self.unit == "word" else h) for h in hypotheses]
            return Statistics({"length": np.array(lengths, dtype=float)})

        def sentence_scores(self, statistics):
            return statistics["length"]

The corpus score is then the mean; a metric whose corpus score is something else overrides
`aggregate`. The fields are the parameters, so the printed name is the whole configuration, and `registry`
parses it back to an equal metric. `bound` checks the inputs, stores statistics and signs scores.

Some metrics can do more than score. The command line checks for these abilities, never for classes, so a new
metric supports a flag by defining a method:

    ShowsEdits      `score --show edits`
    CountsByType    `score --by TIER`
    Reannotates     `--reannotate`
    PlansRequests   `score --dry-run`
    Gated           `report` marks rejected outputs
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np

from learnedgec.data.references import ReferenceRows, References
from learnedgec.data.sentences import Sentences, are_systems, as_sentences
from learnedgec.errors import InputError, ModelError, ParameterError, TextWarning, warn_of_inputs
from learnedgec.metrics.bound import (
    BoundMetric,
    Inputs,
    checked_inputs,
    distinct_statistics,
    named_systems,
)
from learnedgec.metrics.scores import Score
from learnedgec.metrics.scores import Statistics as Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Indices, Mask, Texts

if TYPE_CHECKING:
    from learnedgec.edits.annotator import Tier
    from learnedgec.evaluators.packages import Package
    from learnedgec.metrics.llm import RequestPlan


_Own = TypeVar("_Own", bound="Metric")


@dataclass(frozen=True)
class Metric(ABC):
    """A metric with its parameters: a frozen, hashable, picklable value.

    `str(metric)` is its whole configuration and `load_metric(str(metric)) == metric`;
    `metric.label` is the shorter name for tables, without parameters that have their default.
    Higher is better for every metric, except for sentinels such as `edit-count`, which judge nothing.

    Example:
        >>> from learnedgec import load_metric
        >>> metric = load_metric("m2(beta=1.0)")
        >>> metric.label, metric.needs_references, load_metric(str(metric)) == metric
        ('m2(beta=1.0)', True, True)
    """

    name: ClassVar[str]
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset()
    """Parameters that the statistics do not depend on: trying other values of them is cheap."""
    import_path: ClassVar[str]
    """`module:Class`, if the class was loaded by import path; subclasses do not inherit it."""
    needs_references: ClassVar[bool] = True
    evaluator_parameter: ClassVar[str] = ""
    """The parameter for which an evaluator in brackets stands, as in `some[mine]`; empty if there is none."""
    per_sentence: ClassVar[tuple[str, ...]] = ()
    """The names of the statistics that are details of sentences."""
    means: ClassVar[tuple[str, ...]] = ()
    """The names of the details of sentences whose means are details of the corpus."""
    side_details: ClassVar[frozenset[str]] = frozenset()
    """The details that tables leave out unless every column is requested."""
    citation: ClassVar[str] = ""
    """BibTeX entries to cite, for a metric from outside learnedgec; learnedgec's own have cards."""
    stores_statistics: ClassVar[bool] = True
    """Whether a system's statistics may be stored, since they depend on its own texts alone."""

    # -- what a metric implements ------------------------------------------------------------

    @abstractmethod
    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return the statistics of N sentences.

        Row i must depend only on source i, hypothesis i and references i: the caller drops repeated rows
        and mixes systems.

        Args:
            sources: N sentences.
            hypotheses: their corrections by one or several systems.
            references: references of the sentences; there are none if the metric needs none.
            runtime: how to run.
        """

    @property
    def statistics_depend_on_others(self) -> str:
        """Why a sentence's statistics depend on what else is scored; empty if they do not.

        The text also says what to use instead. It ends without a full stop.
        """
        return ""

    @property
    def sentence_scores_depend_on_others(self) -> str:
        """Why a sentence's score depends on the other sentences; empty if it does not.

        The text also says what to use instead. It ends without a full stop.
        """
        return self.statistics_depend_on_others

    def check_alone(self) -> None:
        """Raise if a sentence's score depends on the other sentences.

        Everything that scores sentences one by one (rewards, attribution, reranking, …) calls this method.

        Raises:
            InputError: the message says what to use instead.
        """
        if self.sentence_scores_depend_on_others:
            raise InputError(f"{self.label}: {self.sentence_scores_depend_on_others}.")

    @abstractmethod
    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return each sentence's score by itself, float64 (N,)."""

    def aggregate(self, statistics: Statistics) -> float:
        """Return the corpus score: the mean sentence score unless a metric says otherwise."""
        return float(np.mean(self.sentence_scores(statistics)))

    def aggregate_many(self, statistics: Statistics, samples: Indices) -> Floats:
        """Return the corpus score of each of B resamples, float64 (B,).

        Args:
            statistics: statistics of N sentences.
            samples: int (B, M), each row the sentence numbers of one resample.
        """
        if type(self).aggregate is Metric.aggregate:
            means: Floats = self.sentence_scores(statistics)[samples].mean(axis=1)
            return means
        bare = Statistics(statistics.arrays)
        return np.array([self.aggregate(bare.take(sample)) for sample in samples], dtype=float)

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return further corpus numbers by name; by default, `means`."""
        columns = self.sentence_details(statistics) if self.means else {}
        return {name: float(columns[name].mean()) for name in self.means}

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return further numbers per sentence by name, each of length N; by default, `per_sentence`."""
        return {name: statistics[name] for name in self.per_sentence}

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return what else the score depends on: checkpoint, encoder, annotator, precision, order.

        It becomes a part of the signature, and so of the cache's keys.
        """
        return {}

    def check(self, runtime: Runtime) -> None:
        """Raise unless the metric's models are available; called for all metrics before any computes.

        Raises:
            ModelError: a model or annotator is absent, or lacks a head or layer.
            UnknownNameError: no evaluator has the name given.
        """
        self.describe(runtime)

    def notices(self, inputs: Inputs, runtime: Runtime) -> list[str]:
        """Return one sentence for each reason to misread scores of these texts; each becomes a warning.

        It is called when statistics are computed, and its sentences are stored with them.
        """
        return []

    def doubts(self, statistics: Statistics) -> list[str]:
        """Return one sentence for each reason to misread the corpus score of these statistics.

        Each sentence becomes a warning when the score is reported.
        """
        return []

    def describe_references(self, references: References) -> dict[str, str]:
        """Return what the references decide about the score; it becomes the end of the signature."""
        return {}

    @property
    def tuned_names(self) -> tuple[str, ...]:
        """The names of the tuned metrics with which the metric scores."""
        return ()

    def packages(self, runtime: Runtime = Runtime()) -> tuple[Package, ...]:
        """Return the evaluator packages that the metric scores with."""
        return ()

    def compute_systems(self, inputs: Inputs, runtime: Runtime) -> dict[str, Statistics]:
        """Return the statistics of several systems whose inputs have been checked.

        Each distinct row (source, hypothesis, references) is computed once, since systems often agree. A
        metric that needs all systems together overrides this.

        Args:
            inputs: the checked texts; the references are `None` if the metric needs none.
            runtime: how to run.

        Raises:
            PluginError: `compute` does not return one row of an array for each sentence.
        """
        computed = distinct_statistics(self, inputs, runtime)
        for notice in self.notices(inputs, runtime):
            warn_of_inputs(TextWarning(notice))
        return computed

    # -- its name, which is its whole configuration ----------------------------------------------

    def check_weights(self, weights: Sequence[float]) -> None:
        """Raise `ParameterError` if a weight of a sum is negative, or all are zero."""
        if min(weights) < 0 or not any(weights):
            raise ParameterError(f"{self}: weights must not be negative, nor all zero.")

    @classmethod
    def expand(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the fields for the keywords of a name: by default, the keywords themselves.

        A metric with its own shorthand, such as `ensemble(some=0.6, impara=0.4)`, overrides this. It
        returns unknown keywords unchanged, and they are refused as unknown parameters.
        """
        return dict(parameters)

    def __str__(self) -> str:
        return self.printed()

    @property
    def label(self) -> str:
        """The name with only the parameters that differ from their defaults."""
        return self.printed(usual={field.name: field.default for field in dataclasses.fields(self)})

    def printed(self, name: str = "", usual: Mapping[str, Any] | None = None) -> str:
        """Return the name with every parameter, or with those whose values are not usual.

        Args:
            name: the name of a tuned metric, which replaces the metric's own.
            usual: parameter -> the value with which it is left out; by default, every parameter is printed.
        """
        fields = [
            field
            for field in dataclasses.fields(self)
            if usual is None or getattr(self, field.name) != usual[field.name]
        ]
        return self._format(fields, name or vars(type(self)).get("import_path", self.name))

    def _format(self, fields: Sequence[dataclasses.Field[Any]], name: str) -> str:
        inner = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields)
        return f"{name}({inner})" if inner else name

    @property
    def for_statistics(self: _Own) -> _Own:
        """The metric with its `aggregate_parameters` at their defaults, where they have one.

        Metrics that are equal in this form have equal statistics.
        """
        defaults = {
            field.name: field.default
            for field in dataclasses.fields(self)
            if field.name in self.aggregate_parameters and field.default is not dataclasses.MISSING
        }
        return dataclasses.replace(self, **defaults) if defaults else self

    # -- shorthands for one metric --------------------------------------------------------

    def score(
        self,
        sources: Sentences,
        hypotheses: Sentences,
        references: ReferenceRows | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> Score:
        """Score one system, or several by name; see `learnedgec.score`.

        Example:
            >>> from learnedgec import load_metric
            >>> score = load_metric("gleu").score(["He go ."], ["He goes ."], [["He goes ."]])
            >>> score.sentences.tolist()
            [1.0]
        """
        bound, systems = BoundMetric.of(self, runtime), named_systems(hypotheses)
        inputs = checked_inputs([bound], sources, systems, references, bound.runtime)
        scores: Any = bound.scores(bound.compute(inputs), inputs.references)
        return scores if are_systems(hypotheses) else scores["hypotheses"]  # type: ignore[no-any-return]

    def statistics(
        self,
        sources: Sentences,
        hypotheses: Sentences,
        references: ReferenceRows | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> Statistics:
        """Return the statistics of one system's N hypotheses; see `BoundMetric`."""
        systems = {"hypotheses": as_sentences(hypotheses, "hypotheses")}
        return BoundMetric.of(self, runtime).statistics(sources, systems, references)["hypotheses"]


class ResampledMetric(Metric):
    """A metric that aggregates many resamples at once; a corpus is one resample, in its own order."""

    @abstractmethod
    def aggregate_many(self, statistics: Statistics, samples: Indices) -> Floats:
        """Return the corpus score of each of B resamples; see `Metric.aggregate_many`."""

    def aggregate(self, statistics: Statistics) -> float:
        """Return the corpus score of the sentences in their order."""
        return float(self.aggregate_many(statistics, np.arange(len(statistics))[None])[0])


class PretrainedMetric(Metric):
    """A metric that reads one pretrained model, or the states of its `layer` if it has such a parameter."""

    model_parameter: ClassVar[str] = "model"
    """The parameter that names the model."""

    def check(self, runtime: Runtime) -> None:
        """Raise unless the model is available and has the layer."""
        name = getattr(self, self.model_parameter)
        need_model(self, self.model_parameter, name, getattr(self, "layer", None))

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the SHA-256 of the model's weights, and the precision."""
        return describe_model(getattr(self, self.model_parameter), runtime)


def need_model(metric: Metric, parameter: str, name: str, layer: int | None = None) -> None:
    """Raise unless a metric's model is available and has the layer that the metric reads.

    Args:
        metric: the metric that reads the model.
        parameter: the parameter that names the model.
        name: the name of the model.
        layer: the layer whose states the metric reads; by default, the last.

    Raises:
        ModelError: the message names metric and parameter.
    """
    from learnedgec.evaluators.loading import check_model

    try:
        check_model(name, layer)
    except ModelError as error:
        raise ModelError(f"{metric.name}({parameter}={name!r}): {error}") from None


def describe_model(name: str, runtime: Runtime) -> dict[str, str | int | float]:
    """Return the parts of a signature about a model: the SHA-256 of its weights, and the precision."""
    from learnedgec.evaluators.loading import checkpoint_digest
    from learnedgec.evaluators.precision import model_precision

    return {"sha256": checkpoint_digest(name), "dtype": model_precision(runtime)}


# -- what some metrics can do besides scoring --------------------------------------------------


@runtime_checkable
class ShowsEdits(Protocol):
    """A metric that can list the edits that it counted.

    Attributes:
        counted: the keys of `sentence_details` that count edits, in the order of tables.
    """

    counted: ClassVar[tuple[str, ...]]

    def edit_rows(self, statistics: Statistics) -> list[dict[str, Any]]:
        """Return one row per edit, or per chunk of the source, sentence by sentence from left to right.

        Args:
            statistics: the metric's own, which must have `records`.

        Returns:
            Rows of `sentence` (from 1), `annotator`, `edit` (`matched`; `unmatched`, only the system's;
            `missed`, only the annotator's; or `unchanged`), `start`, `end`, `original`, `correction` and
            `type` (empty if unknown). A metric that weights edits adds `weight`, and perhaps `change`, which
            is above 0 if an edit helps and below 0 if it harms. Its own columns come last.
        """


@runtime_checkable
class CountsByType(Protocol):
    """A metric that can tell error types apart."""

    def typed(self) -> Metric:
        """Return the metric with error types in its statistics, so that `by_type` works."""

    def by_type(self, statistics: Statistics, tier: Tier = "type") -> dict[str, dict[str, float]]:
        """Return numbers by name for each error type, the most frequent first."""


@runtime_checkable
class Reannotates(Protocol):
    """A metric that can extract the edits of references again, ignoring their gold edits."""

    def reannotated(self) -> Metric:
        """Return the metric that extracts the edits of references again."""


@runtime_checkable
class PlansRequests(Protocol):
    """A metric that sends requests to a language model, which cost time or money."""

    def plan(
        self, sources: Texts, systems: Mapping[str, Texts], *, runtime: Runtime = Runtime()
    ) -> RequestPlan:
        """Return the requests that scoring these systems would send, without sending them.

        Args:
            sources: N sentences.
            systems: system -> N hypotheses.
            runtime: how to run.
        """


@runtime_checkable
class Gated(Protocol):
    """A metric that gives low scores to hypotheses that are too different from their source."""

    def accepted(self, statistics: Statistics) -> Mask:
        """Return which hypotheses pass the gate, bool (N,)."""
