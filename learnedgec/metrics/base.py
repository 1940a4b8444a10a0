"""The metric contract: a frozen value, statistics per sentence, and a pure aggregate.

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
parses it back to an equal metric. `engine` checks the inputs and computes each distinct row once. `protocols`
has what some metrics can do besides scoring.
"""

from __future__ import annotations

import dataclasses
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from learnedgec._version import __version__
from learnedgec.data.references import ReferenceRows, References
from learnedgec.data.sentences import Sentences, Systems, as_sentences
from learnedgec.edits.tokenisation import describe_tokens
from learnedgec.errors import InputError, ParameterError, PluginError
from learnedgec.metrics.engine import as_inputs, checked_inputs, distinct_statistics
from learnedgec.metrics.scores import Score, Scores
from learnedgec.metrics.statistics import Statistics
from learnedgec.metrics.tuned import TEST_MARK
from learnedgec.runtime.digests import key_of
from learnedgec.runtime.notices import InputWarning, collected, warn_of_inputs
from learnedgec.runtime.plugins import origin
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.store import Store
from learnedgec.types import Array, Floats

_Own = TypeVar("_Own", bound="Metric")


@dataclass(frozen=True)
class Metric(ABC):
    """A metric with its parameters: a frozen, hashable, picklable value.

    `str(metric)` is its whole configuration and `load_metric(str(metric)) == metric`;
    `metric.label` is the shorter name for tables, without parameters that have their default.
    Higher is better for every metric.

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
    side_details: ClassVar[frozenset[str]] = frozenset()
    """Details that tables leave out unless every column is requested."""
    citation: ClassVar[str] = ""
    """BibTeX entries to cite, for a metric from outside learnedgec; learnedgec's own have cards."""
    _tuned: ClassVar[tuple[str, Metric] | None] = None
    """Of a tuned metric, a value's own: its name, and the metric as its file defines it."""

    # -- what a metric implements ------------------------------------------------------------

    @abstractmethod
    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return the statistics of N sentences.

        Row i must depend only on source i, hypothesis i and references i: the caller drops repeated rows
        and mixes systems.

        Args:
            sources: N sentences.
            hypotheses: their corrections by one or several systems.
            references: references of the sentences; `None` if the metric needs none.
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
        """Raise where a sentence's score depends on the other sentences.

        Everything that scores sentences one by one (rewards, attribution, reranking, …) calls it.

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

    def aggregate_many(self, statistics: Statistics, samples: npt.NDArray[np.intp]) -> Floats:
        """Return the corpus score of each of B resamples, float64 (B,).

        Args:
            statistics: of N sentences.
            samples: int (B, M), each row the sentence numbers of one resample.
        """
        if type(self).aggregate is Metric.aggregate:
            means: Floats = self.sentence_scores(statistics)[samples].mean(axis=1)
            return means
        bare = Statistics(statistics.arrays)
        return np.array([self.aggregate(bare.take(sample)) for sample in samples], dtype=float)

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return further corpus numbers by name."""
        return {}

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return further numbers per sentence by name, each of length N."""
        return {}

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return what else the score depends on: checkpoint, encoder, annotator, precision, order.

        It becomes a part of the signature, and so of the cache's keys.
        """
        return {}

    def check(self, runtime: Runtime) -> None:
        """Raise unless what it reads is available; called for all metrics before any of them computes.

        Raises:
            ModelError: a model or annotator is absent, or lacks a head or layer.
            UnknownNameError: no evaluator has the name given.
        """
        self.describe(runtime)

    def resolved(self: _Own) -> _Own:
        """Return an equal metric that keeps the trained packages which its parameters name now.

        Each call that scores begins with it, so that statistics and signature are those of one package. A
        metric that reads none is its own.
        """
        return self

    def caveats(self, references: References) -> list[str]:
        """Return why scores with these references are not what one may take them for, a sentence each.

        They are warned of whenever systems are scored, be their statistics computed or cached.
        """
        return []

    def describe_references(self, references: References) -> dict[str, str]:
        """Return what else the score depends on that the references decide; the end of the signature."""
        return {}

    def evaluators(self) -> tuple[str, ...]:
        """Return the names of the evaluator packages that it scores with."""
        return ()

    def compute_systems(
        self,
        sources: Sequence[str],
        systems: Mapping[str, Sequence[str]],
        references: References | None,
        runtime: Runtime,
    ) -> dict[str, Statistics]:
        """Return the statistics of several systems whose inputs have been checked.

        Each distinct row (source, hypothesis, references) is computed once, since systems often agree. With
        `runtime.cache_dir`, the statistics of a system are read from the store if they were computed
        before, with the same signature and for the same texts, and their warnings are repeated. New
        statistics are stored there, unless the signature has changed in the meantime because a model was
        replaced. A metric that needs all systems together, or that combines other metrics, overrides this.

        Args:
            sources: N sentences.
            systems: system -> N hypotheses.
            references: references of the sentences, if there are any.
            runtime: how to run.
        """
        used = references if self.needs_references else None
        for caveat in self.caveats(used) if used is not None else ():
            warnings.warn(caveat, stacklevel=3)
        if runtime.cache_dir is None:
            return distinct_statistics(self, sources, systems, used, runtime)
        store = Store(runtime.cache_dir)
        signature = self.for_statistics.signature(references, runtime=runtime)
        shared = ["with notices", signature, repr(used and used.rows)]
        keys = {name: key_of(*shared, sources, texts) for name, texts in systems.items()}
        entries = {name: store.load(key) for name, key in keys.items()}
        missing = {name: systems[name] for name, entry in entries.items() if entry is None}
        computed: dict[str, Statistics] = {}
        with collected() as notices:
            if missing:
                computed = distinct_statistics(self, sources, missing, used, runtime)
        if missing and self.for_statistics.signature(references, runtime=runtime) != signature:
            # It is unknown which model computed these statistics; one pass over all systems uses one model.
            return distinct_statistics(self, sources, systems, used, runtime)
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
        return self._format(dataclasses.fields(self))

    @property
    def label(self) -> str:
        """The name with only the parameters that differ from their defaults or tuned values."""
        usual = {
            field: getattr(self._tuned[1], field.name) if self._tuned else field.default
            for field in dataclasses.fields(self)
        }
        return self._format(
            [field for field, value in usual.items() if getattr(self, field.name) != value]
        )

    @property
    def tuned_names(self) -> tuple[str, ...]:
        """The names of the tuned metrics that it scores with."""
        return (self._tuned[0],) if self._tuned else ()

    @property
    def tuned_on_test(self) -> bool:
        """Whether the name of a tuned metric that it scores with says that test data were used."""
        return any(name.endswith(TEST_MARK) for name in self.tuned_names)

    def named(self: _Own, tuned: str, original: Metric) -> _Own:
        """Return the metric under the name of a tuned one.

        The name belongs to this value: a copy with other parameters (`dataclasses.replace`) loses it unless
        `named_like` passes it on. Equality ignores the name.

        Args:
            tuned: the name, such as `some@jfleg`.
            original: the tuned metric as its file defines it; `label` prints only the differences from it.
        """
        copy = dataclasses.replace(self)
        object.__setattr__(copy, "_tuned", (tuned, original))
        return copy

    def named_like(self: _Own, other: Metric) -> _Own:
        """Return the metric, a changed copy of `other`, under the tuned name of `other` if it has one."""
        return self if other._tuned is None else self.named(*other._tuned)

    @property
    def for_statistics(self: _Own) -> _Own:
        """The metric with its `aggregate_parameters` at their defaults.

        Metrics that are equal in this form have equal statistics.
        """
        defaults = {
            field.name: field.default
            for field in dataclasses.fields(self)
            if field.name in self.aggregate_parameters
        }
        # A tuned metric shares its statistics with the untuned one: the copy drops the tuned name.
        return dataclasses.replace(self, **defaults) if defaults or self._tuned else self

    def _format(self, fields: Sequence[dataclasses.Field[Any]]) -> str:
        inner = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields)
        # The name that `load_metric` knows: of a tuned metric, of an imported class, or its own.
        name = self._tuned[0] if self._tuned else vars(type(self)).get("import_path", self.name)
        return f"{name}({inner})" if inner else name

    # -- what every metric can do --------------------------------------------------------------

    def statistics(
        self,
        sources: Sentences,
        hypotheses: Sentences,
        references: ReferenceRows | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> Statistics:
        """Return the statistics of one system's N hypotheses; see `statistics_of_systems`."""
        system = {"hypotheses": as_sentences(hypotheses, "hypotheses")}
        [computed] = self.statistics_of_systems(
            sources, system, references, runtime=runtime
        ).values()
        return computed

    def statistics_of_systems(
        self,
        sources: Sentences,
        systems: Systems,
        references: ReferenceRows | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> dict[str, Statistics]:
        """Return the statistics of several systems on the same sources, sharing common work.

        It checks the texts, but gives no warning of what looks like a mistake in them, as scoring does.

        Args:
            sources: N texts: a list, a tuple, a NumPy array, a column of a table, ….
            systems: N texts each, by the system's name.
            references: `References`, or each sentence's texts: `[[references of a sentence], …]`.
            runtime: how to run.

        Raises:
            LengthError: sources, hypotheses and references differ in length.
            InputError: there are no sentences, an item is not a text, or a reference that the metric needs
                is missing; the message names the argument and the index.
        """
        inputs = as_inputs([self], sources, systems, references, runtime)
        return self.resolved().compute_systems(*inputs, runtime)

    def score(
        self,
        sources: Sentences,
        hypotheses: Sentences,
        references: ReferenceRows | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> Score:
        """Score one system; see `statistics_of_systems` for arguments and errors.

        Example:
            >>> from learnedgec import load_metric
            >>> score = load_metric("gleu").score(["He go ."], ["He goes ."], [["He goes ."]])
            >>> score.sentences.tolist()
            [1.0]
        """
        system = {"hypotheses": as_sentences(hypotheses, "hypotheses")}
        return self.score_systems(sources, system, references, runtime=runtime)["hypotheses"]

    def score_systems(
        self,
        sources: Sentences,
        systems: Systems,
        references: ReferenceRows | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> Scores[Score]:
        """Score several systems on the same sources; see `statistics_of_systems`."""
        inputs = checked_inputs([self], sources, systems, references, runtime)
        metric = self.resolved()
        computed = metric.compute_systems(*inputs, runtime)
        return metric.scores_of(computed, inputs.references, runtime)

    def scores_of(
        self,
        statistics: Mapping[str, Statistics],
        references: References | None,
        runtime: Runtime,
    ) -> Scores[Score]:
        """Return the signed scores of systems whose statistics are computed.

        Args:
            statistics: system -> its statistics.
            references: references of the sentences, if there are any, for the signature.
            runtime: how the statistics were computed, for the signature.
        """
        signed = self.signature(references, runtime=runtime)
        return Scores(
            {name: self.score_of(rows, signature=signed) for name, rows in statistics.items()}
        )

    def score_of(self, statistics: Statistics, *, signature: str = "") -> Score:
        """Return the score aggregated from statistics; warn if every sentence's is NaN.

        Raises:
            PluginError: the sentence scores are not one number per sentence.
        """
        size = len(statistics)
        try:
            sentences = np.asarray(self.sentence_scores(statistics), dtype=np.float64).reshape(size)
        except (TypeError, ValueError):
            raise PluginError(
                f"{self.label}: sentence_scores did not return an array of one number for each of {size} "
                "sentences."
            ) from None
        if np.isnan(sentences).all():
            warnings.warn(f"{self.label}: no sentence has a score, all are NaN.", stacklevel=3)
        return Score(
            metric=str(self),
            value=self.aggregate(statistics),
            sentences=sentences,
            details=self.details(statistics),
            sentence_details=self.sentence_details(statistics),
            signature=signature,
            statistics=statistics,
        )

    def signature(
        self, references: References | None = None, *, runtime: Runtime = Runtime()
    ) -> str:
        """Return one line that names everything the score depends on besides the sentences."""
        parts = {**self.resolved().describe(runtime), **origin(type(self))}
        if self.needs_references and references is not None:
            counts = {len(row) for row in references}
            low, high = min(counts, default=0), max(counts, default=0)
            parts["references"] = low if low == high else f"{low}-{high}"
        if runtime.tokenise == "spacy":
            parts["tokens"] = describe_tokens()
        parts["learnedgec"] = __version__
        if references is not None:
            parts |= self.describe_references(references)
        return "|".join([str(self), *(f"{key}:{value}" for key, value in parts.items())])


class ResampledMetric(Metric):
    """A metric that aggregates many resamples at once; all sentences in their order are one of them."""

    @abstractmethod
    def aggregate_many(self, statistics: Statistics, samples: npt.NDArray[np.intp]) -> Floats:
        """Return the corpus score of each of B resamples; see `Metric.aggregate_many`."""

    def aggregate(self, statistics: Statistics) -> float:
        """Return the corpus score of the sentences in their order."""
        return float(self.aggregate_many(statistics, np.arange(len(statistics))[None])[0])
