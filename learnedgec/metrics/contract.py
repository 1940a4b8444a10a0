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
parses it back to an equal metric. `stored_statistics` computes what the store
lacks, `aggregated` makes scores of it, and `sign` writes their signature.

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
import warnings
from abc import ABC, abstractmethod
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    NoReturn,
    Protocol,
    TypeVar,
    overload,
    runtime_checkable,
)

import numpy as np

from learnedgec._version import __version__
from learnedgec.data.corpus import ONE, Corpus
from learnedgec.data.input_warnings import is_latin, text_notices
from learnedgec.data.references import ReferenceRows, References
from learnedgec.data.sentences import Sentences, Systems, are_systems
from learnedgec.data.tokenisation import describe_tokens
from learnedgec.edits.annotator import RELEASED
from learnedgec.errors import (
    InputError,
    InputWarning,
    ModelError,
    ParameterError,
    PluginError,
    TextWarning,
    UnknownNameError,
    collected,
    warn_of_inputs,
)
from learnedgec.runtime.files import key_of
from learnedgec.runtime.plugins import origin
from learnedgec.runtime.runtime import PROFILE, Runtime
from learnedgec.runtime.store import Store
from learnedgec.table import Column, For, Row, Table, columns_of, plain
from learnedgec.types import Array, Floats, Indices, Mask, Texts

if TYPE_CHECKING:
    import pandas

    from learnedgec.edits.annotator import Tier
    from learnedgec.evaluators.package import Package

# -- statistics and scores -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics of N sentences, from which a metric computes every later number.

    Attributes:
        arrays: named arrays whose first axis is the sentence. If the reference is chosen later, the second
            axis is the reference, padded to the largest number of references, and the array `references`,
            int (N,), has the number of real ones.
        records: N explanations that JSON can represent (such as matched edits), or `()` if there are none.

    Raises:
        InputError: the arrays or the records differ in length.

    Example:
        >>> from learnedgec import load_metric
        >>> length = load_metric("length")
        >>> statistics = length.statistics(["He go .", "Yes ."], ["He goes home .", "Yes ."])
        >>> len(statistics), statistics["score"].tolist()
        (2, [4.0, 2.0])
        >>> length.aggregate(statistics.take([0, 0, 1]))
        3.33
    """

    arrays: Mapping[str, Array]
    records: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        lengths = {name: len(array) for name, array in self.arrays.items()}
        if self.records:
            lengths["records"] = len(self.records)
        if len(set(lengths.values())) != 1:
            counts = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise InputError(
                f"statistics have one row per sentence; {counts or 'there is no array'}."
            )

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in self.arrays.items())
        return f"Statistics(sentences={len(self)}, {shapes})"

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    def __getitem__(self, name: str) -> Array:
        return self.arrays[name]

    def take(self, indices: Sequence[int] | Array) -> Statistics:
        """Return the statistics of the given sentences, in that order, repeats allowed."""
        index = np.asarray(indices, dtype=np.intp)
        return Statistics(
            {name: array[index] for name, array in self.arrays.items()},
            tuple(self.records[i] for i in index) if self.records else (),
        )


@dataclass(frozen=True, slots=True)
class Score:
    """The result of one metric on one system.

    Attributes:
        metric: the metric's printed name, which parses back to the metric.
        value: the corpus score.
        sentences: float64 (N,), the score of each sentence by itself.
        details: further corpus numbers, such as `precision`.
        sentence_details: further numbers per sentence, each of length N.
        signature: the metric, everything else the score depends on, and versions, on one line.
        statistics: the statistics of which the score is the aggregate; bootstrap and tuning start from them.

    Example:
        >>> import learnedgec
        >>> learnedgec.score("length", ["He go ."], ["He goes home ."])
        Score(metric="length(unit='word')", value=4, sentences=1)
    """

    metric: str
    value: float
    sentences: Floats
    details: Mapping[str, float]
    sentence_details: Mapping[str, Array]
    signature: str
    statistics: Statistics

    def __repr__(self) -> str:
        return f"Score(metric={self.metric!r}, value={self.value:.6g}, sentences={len(self.sentences)})"

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON: metric, score, details, signature, and each sentence's numbers.

        NaN becomes `None`.
        """
        content: dict[str, Any] = plain(
            {
                "metric": self.metric,
                "score": self.value,
                "details": self.details,
                "signature": self.signature,
                "sentences": self._sentence_rows(),
            }
        )
        return content

    def table(self) -> Table:
        """Return a row for each sentence, numbered from 1: its score and details."""
        rows = [{"sentence": number, **row} for number, row in enumerate(self._sentence_rows(), 1)]
        return Table.of(rows)

    def to_frame(self) -> pandas.DataFrame:
        """Return the rows of `table` as a data frame.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        return self.table().to_frame()

    def _sentence_rows(self) -> list[Row]:
        return [
            {"score": score, **{name: column[i] for name, column in self.sentence_details.items()}}
            for i, score in enumerate(self.sentences)
        ]

    def _repr_html_(self) -> str:
        row = {"score": self.value, **self.details, "sentences": len(self.sentences)}
        return Table.of([row], note=self.signature or self.metric).html()


Entry = TypeVar("Entry", bound="Score | Scores[Any]")


class Scores(dict[str, Entry]):
    """Scores by name: of systems, of metrics, or of systems for each metric; a table in notebooks.

    Attributes:
        names: whether the keys are systems or metrics.

    Example:
        >>> import learnedgec
        >>> systems = {"ours": ["He goes home ."], "theirs": ["He go ."]}
        >>> scores = learnedgec.score("length", ["He go ."], systems)
        >>> scores
        system   score
        ours    4.0000
        theirs  3.0000
        >>> scores["ours"].value
        4.0
    """

    def __init__(
        self, scores: Mapping[str, Entry], names: Literal["system", "metric"] = "system"
    ) -> None:
        super().__init__(scores)
        self.names = names

    def __missing__(self, name: object) -> NoReturn:
        raise KeyError(str(UnknownNameError(self.names, str(name), self)))

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON: each entry's `to_dict` under its name."""
        return {name: entry.to_dict() for name, entry in self.items()}

    def table(self) -> Table:
        """Return a row for each system and metric: its score, details and signature.

        Readers of scores by several metrics see a row for each system and a column for each metric.
        """
        tables = {name: entry for name, entry in self.items() if isinstance(entry, Scores)}
        if tables:
            return score_table(tables)
        rows = [
            {self.names: name, **_corpus_row(entry)}
            for name, entry in self.items()
            if isinstance(entry, Score)
        ]
        columns = (Column(key, audience=_audience(key)) for key in columns_of(rows))
        return Table([*columns], rows)

    def to_frame(self) -> pandas.DataFrame:
        """Return the rows of `table` as a data frame.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        return self.table().to_frame()

    def __repr__(self) -> str:
        return repr(self.table())

    def _repr_html_(self) -> str:
        return self.table().html()


class CorpusResult(Protocol):
    """The corpus score of one system by one metric: a `Score`, or the result of a corpus in blocks."""

    @property
    def value(self) -> float:
        """The corpus score."""

    @property
    def details(self) -> Mapping[str, float]:
        """Further corpus numbers."""

    @property
    def signature(self) -> str:
        """What the score depends on."""


def score_table(
    scores: Mapping[str, Mapping[str, CorpusResult]],
    *,
    sentences: bool = False,
    side_details: Container[str] = (),
) -> Table:
    """Return a row for each metric and system, or with `sentences` for each of its sentences.

    Readers see a row for each system and a column for each metric. They see details only of a single metric.

    Args:
        scores: metric -> system -> score.
        sentences: whether the rows are sentences; corpus scores are the totals then.
        side_details: details that readers see only if they ask for every column.
    """
    corpus, rows = [], []
    for metric, systems in scores.items():
        for system, score in systems.items():
            named = {"system": system, "metric": metric}
            corpus.append({**named, **_corpus_row(score)})
            if sentences and isinstance(score, Score):
                rows += [{**named, **row} for row in score.table().rows]
    fixed = ("system", "metric", "sentence", "score", "signature")
    details = [key for key in columns_of([*rows, *corpus]) if key not in fixed]
    columns = [
        Column("system"),
        Column("metric", audience=For.DATA),
        *([Column("sentence", show=_sentence_cell)] if sentences else []),
        Column("score", lambda row: str(row["metric"])),
        *(
            Column(key, audience=For.DATA if len(scores) > 1 else _audience(key, side_details))
            for key in details
        ),
        Column("signature", audience=For.DATA),
    ]
    return Table(columns, rows, totals=corpus) if sentences else Table(columns, corpus)


def _sentence_cell(row: Row) -> str:
    return str(row.get("sentence", "corpus"))


def _corpus_row(score: CorpusResult) -> Row:
    return {"score": score.value, **score.details, "signature": score.signature}


def _audience(key: str, side_details: Container[str] = ()) -> For:
    return For.DATA if key == "signature" else For.ASKED if key in side_details else For.ALL


# -- the contract ------------------------------------------------------------------------------------


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

    def check_references(self, references: References | None) -> None:
        """Raise `InputError` if the metric needs references, and a sentence has none."""
        if not self.needs_references:
            return
        if references is None:
            raise InputError(
                f"{self.name} needs references, and there are none; ",
                hint="give references=, each sentence's texts or References.",
                flag="give reference files (--ref) or an M2 file (--gold); in a --table they are the "
                "column 'references'.",
            )
        if not all(references):
            number = 1 + [bool(row) for row in references].index(False)
            raise InputError(
                f"sentence {number} has no reference and {self.name} needs one; "
                "add a reference or leave the sentence out."
            )

    def notices(self, corpus: Corpus, runtime: Runtime) -> list[str]:
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

    def english_part(self, runtime: Runtime = Runtime()) -> str:
        """Return what of the metric reads English alone, such as its annotator; empty if nothing does."""
        annotator = str(getattr(self, "annotator", ""))
        if annotator == RELEASED or annotator.startswith("en_"):
            return f"annotator={annotator!r}"
        return next((p.name for p in self.packages(runtime) if p.languages == ("en",)), "")

    def compute_systems(self, corpus: Corpus, runtime: Runtime) -> dict[str, Statistics]:
        """Return the statistics of the systems of a corpus.

        Each distinct row (source, hypothesis, references) is computed once, since systems often agree. A
        metric that needs all systems together overrides this.

        Args:
            corpus: the texts; without references if the metric needs none.
            runtime: how to run.

        Raises:
            PluginError: `compute` does not return one row of an array for each sentence.
        """
        computed = distinct_statistics(self, corpus, runtime)
        for notice in self.notices(corpus, runtime):
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

        A metric with its own shorthand, such as `ensemble(some=0.6, quality=0.4)`, overrides this. It
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

    # A mapping is a sequence of its keys: the first signature that fits counts.
    @overload
    def score(
        self,
        sources: Sentences,
        hypotheses: Systems,
        references: ReferenceRows | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> Scores[Score]: ...

    @overload
    def score(
        self,
        sources: Sentences,
        hypotheses: Sentences,
        references: ReferenceRows | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> Score: ...

    def score(
        self,
        sources: Sentences,
        hypotheses: Sentences | Systems,
        references: ReferenceRows | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> Score | Scores[Score]:
        """Score one system, or several by name; see `learnedgec.score`.

        Example:
            >>> from learnedgec import load_metric
            >>> score = load_metric("gleu").score(["He go ."], ["He goes ."], [["He goes ."]])
            >>> score.sentences.tolist()
            [1.0]
        """
        runtime = runtime.bound()
        self.check(runtime)
        corpus = Corpus.of(sources, hypotheses, references).tokenised(runtime.tokenise)
        check_corpus([self], corpus, runtime)
        signature = sign(self, str(self), corpus.references, runtime)
        scores = {
            system: aggregated(self, str(self), statistics, signature)
            for system, statistics in stored_statistics(self, corpus, runtime).items()
        }
        return Scores(scores) if are_systems(hypotheses) else scores[ONE]

    def statistics(
        self,
        sources: Sentences,
        hypotheses: Sentences,
        references: ReferenceRows | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> Statistics:
        """Return the statistics of one system's N hypotheses; see `BoundMetric`."""
        runtime = runtime.bound()
        self.check(runtime)
        corpus = Corpus.of(sources, hypotheses, references).tokenised(runtime.tokenise)
        return stored_statistics(self, corpus, runtime)[ONE]


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


# -- from texts to signed scores --------------------------------------------------------------------


def check_corpus(metrics: Sequence[Metric], corpus: Corpus, runtime: Runtime) -> None:
    """Raise unless metrics can score a corpus, and warn about likely mistakes in it.

    Everything that scores a user's texts calls this function first, on the command line too. Texts that
    learnedgec makes itself, such as attacks, need no warning.

    Args:
        metrics: the metrics that will score.
        corpus: the texts.
        runtime: how to run, which says where models are.

    Raises:
        InputError: a metric needs references, and a sentence has none; or it reads English, and the texts are
            known to be in another language.
    """
    for metric in metrics:
        metric.check_references(corpus.references)
        if corpus.annotator and (part := metric.english_part(runtime)):
            raise InputError(
                f"{metric.label} reads English alone ({part}), and by the source's file name the texts are "
                f"in {corpus.language!r}; use a metric of any language, such as gleu, m2 or "
                "errant(annotator='plain')."
            )
    for notice in notices_of(metrics, corpus, runtime):
        warn_of_inputs(TextWarning(notice))


def notices_of(metrics: Sequence[Metric], corpus: Corpus, runtime: Runtime) -> list[str]:
    """Return one sentence about each likely mistake in a corpus that metrics score.

    Args:
        metrics: the metrics that will score.
        corpus: the texts.
        runtime: how to run, which says where models are.
    """
    units = {getattr(metric, "unit", "") for metric in metrics}
    notices = text_notices(corpus, by_character=units == {"char"})
    packages = dict.fromkeys(package for metric in metrics for package in metric.packages(runtime))
    if packages and not is_latin(corpus.sources):
        notices += [
            f"{package.name} has learned from English alone, and the sources are in another script; its "
            "scores of them mean nothing."
            for package in packages
            if package.languages == ("en",)
        ]
    return notices


def stored_statistics(metric: Metric, corpus: Corpus, runtime: Runtime) -> dict[str, Statistics]:
    """Return the statistics of the systems of a corpus, from the store if it has them.

    A stored entry depends on the signature and the texts. The warnings of its computation are repeated.

    Args:
        metric: the metric.
        corpus: the texts.
        runtime: how to run, with the folder of the store.

    Raises:
        InputError: the metric needs references, and a sentence has none.
    """
    metric.check_references(corpus.references)
    needed = corpus if metric.needs_references else corpus.unreferenced
    if runtime.cache_dir is None or not metric.stores_statistics:
        return metric.compute_systems(needed, runtime)
    store, unaggregated = Store(runtime.cache_dir), metric.for_statistics
    signature = sign(unaggregated, str(unaggregated), corpus.references, runtime)
    common = ["with notices", signature, repr(needed.references and needed.references.rows)]
    keys = {
        name: key_of(*common, list(corpus.sources), list(texts))
        for name, texts in corpus.systems.items()
    }
    entries = {name: store.load(key) for name, key in keys.items()}
    missing = [name for name, entry in entries.items() if entry is None]
    computed: dict[str, Statistics] = {}
    with collected() as notices:
        if missing:
            computed = metric.compute_systems(needed.of_systems(missing), runtime)
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
    return {name: computed[name] for name in corpus.systems}


def distinct_statistics(metric: Metric, corpus: Corpus, runtime: Runtime) -> dict[str, Statistics]:
    """Return the statistics of several systems, computing each distinct row once.

    Args:
        metric: the metric that computes the rows.
        corpus: the texts; without references if the metric needs none.
        runtime: how to run.

    Raises:
        PluginError: `compute` does not return one row of an array for each sentence, `sentence_scores` not
            one number for each, or `aggregate` not one number.
    """
    rows = corpus.rows
    size = len(rows.sources)
    PROFILE.rows += len(corpus) * len(corpus.systems)
    PROFILE.distinct += size
    computed = metric.compute(rows.sources, rows.hypotheses, rows.references, runtime)
    arrays = computed.arrays.values() if isinstance(computed, Statistics) else [computed]
    if not all(isinstance(array, np.ndarray) and len(array) == size for array in arrays):
        raise PluginError(
            f"{metric.label}: compute did not return Statistics of NumPy arrays with one row for each of "
            f"{size} sentences."
        )
    # One row shows the shapes, here for every command: they index, resample and compare what these return.
    row = computed.take([0])
    if not _are_numbers(metric.sentence_scores(row), (1,)):
        raise PluginError(
            f"{metric.label}: sentence_scores did not return an array of one number for each sentence."
        )
    if not _are_numbers(np.asarray(metric.aggregate(row)), ()):
        raise PluginError(f"{metric.label}: aggregate did not return one number.")
    return {system: computed.take(numbers) for system, numbers in rows.numbers.items()}


def _are_numbers(values: Any, shape: tuple[int, ...]) -> bool:
    """Return whether `values` are an array of real numbers of this shape."""
    return isinstance(values, np.ndarray) and values.shape == shape and values.dtype.kind in "biuf"


def aggregated(metric: Metric, name: str, statistics: Statistics, signature: str = "") -> Score:
    """Return the score aggregated from statistics; warn if every sentence's is NaN.

    Args:
        metric: the metric that computed the statistics.
        name: the label of the metric in the result.
        statistics: the statistics of one system.
        signature: the signature of the score.
    """
    sentences = np.asarray(metric.sentence_scores(statistics), np.float64)
    if np.isnan(sentences).all():
        warnings.warn(f"{metric.label}: no sentence has a score, all are NaN.", stacklevel=3)
    warn_of_doubts(metric, [statistics])
    return Score(
        metric=name,
        value=metric.aggregate(statistics),
        sentences=sentences,
        details=metric.details(statistics),
        sentence_details=metric.sentence_details(statistics),
        signature=signature,
        statistics=statistics,
    )


def warn_of_doubts(metric: Metric, systems_statistics: Sequence[Statistics]) -> None:
    """Warn of each reason to misread the corpus scores of these systems (`Metric.doubts`) once."""
    for doubt in dict.fromkeys(text for rows in systems_statistics for text in metric.doubts(rows)):
        warn_of_inputs(TextWarning(doubt))


def sign(metric: Metric, name: str, references: References | None, runtime: Runtime) -> str:
    """Return one line that names everything the score depends on besides the sentences.

    Args:
        metric: the metric.
        name: its label, with which the line begins.
        references: the references, if the metric reads any.
        runtime: how to run.
    """
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


class RequestPlan(NamedTuple):
    """The requests that a run would send.

    Attributes:
        prompt: the first request's prompt.
        requests: number of all requests.
        cached: number of requests with an answer on disk.
        characters: number of characters of all prompts that remain to be sent.
    """

    prompt: str
    requests: int
    cached: int
    characters: int


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
