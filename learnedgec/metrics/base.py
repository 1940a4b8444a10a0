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
`aggregate`. The fields are the parameters, so the printed name is the whole configuration. `abilities`
lists what some metrics can do besides scoring.

One file, though long: it is the contract, which is read as a whole.
"""

from __future__ import annotations

import dataclasses
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from learnedgec._version import __version__
from learnedgec.arrays import Array, Floats
from learnedgec.edits.tokenisation import describe_tokens, tokenise, tokenise_references
from learnedgec.errors import InputError, PluginError
from learnedgec.execution import cache
from learnedgec.execution.digests import key_of
from learnedgec.execution.notices import InputWarning, collected, warn_of_inputs
from learnedgec.execution.plugins import origin
from learnedgec.execution.profile import PROFILE
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.references import ReferenceRows, References, as_references
from learnedgec.formats.sentences import Sentences, Systems, as_sentences, as_systems
from learnedgec.formats.text import check_lengths
from learnedgec.metrics.blocks import StatisticsBlocks
from learnedgec.metrics.needs import check_metrics
from learnedgec.metrics.scores import Score, Scores
from learnedgec.metrics.statistics import Statistics
from learnedgec.metrics.tuned import TEST_MARK

__all__ = [
    "Metric",
    "score_metrics",
    "shared_statistics",
]

_Own = TypeVar("_Own", bound="Metric")
_Found = TypeVar("_Found")


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
    needs_references: ClassVar[bool] = True
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset()
    """Parameters that the statistics do not depend on: trying other values of them is cheap."""
    side_details: ClassVar[frozenset[str]] = frozenset()
    """Details that tables leave out unless every column is requested."""
    citation: ClassVar[str] = ""
    """BibTeX entries to cite, for a metric from outside learnedgec; learnedgec's own have cards."""
    import_path: ClassVar[str]
    """`module:Class`, if the class was loaded by import path; subclasses do not inherit it."""

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

    def condense(self, statistics: Statistics) -> Statistics:
        """Return what `fold` needs of a block's statistics: here the arrays without the records.

        A metric whose statistics are integers that it only adds up returns a single row, their sum.
        """
        return Statistics(statistics.arrays)

    def fold(self, blocks: StatisticsBlocks) -> tuple[float, dict[str, float]]:
        """Return the corpus score and the details of sentences whose statistics come in blocks.

        They are those that `aggregate` and `details` give for all sentences at once, to the last digit. A
        metric overrides this where these would need more memory than there is.

        Args:
            blocks: in the order of the sentences, condensed or not.
        """
        kind = type(self)
        if kind.aggregate is not Metric.aggregate:
            with blocks.whole() as whole:
                return self.aggregate(whole), self.details(whole)
        scores = blocks.map(lambda block: Statistics({"score": self.sentence_scores(block)}))
        with scores.whole() as whole:
            value = float(np.mean(whole["score"]))
        if kind.details is Metric.details:
            return value, {}
        with blocks.whole() as whole:
            return value, self.details(whole)

    def check_blocks(self, *, sentences: bool) -> None:  # noqa: B027 - most metrics have no objection
        """Raise where a block of sentences cannot be scored without knowing the others.

        Args:
            sentences: whether each sentence's own score is asked for, too.

        Raises:
            InputError: the message says what to do instead.
        """

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return further numbers per sentence by name, each of length N."""
        return {}

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return what else the score depends on: checkpoint, encoder, annotator, precision, order.

        It becomes a part of the signature, and so of the cache's keys.
        """
        return {}

    def check(self, runtime: Runtime) -> None:  # noqa: B027 - most metrics need nothing
        """Raise unless the models it reads are available; called for all metrics before any of them computes.

        Raises:
            ModelError: a model is absent, or lacks a head or layer.
            UnknownNameError: no evaluator has the name given.
        """

    def caveats(self, references: References) -> list[str]:
        """Return why scores with these references are not what one may take them for, a sentence each.

        They are warned of whenever systems are scored, be their statistics computed or cached.
        """
        return []

    def evaluators(self) -> tuple[str, ...]:
        """Return the names of the evaluator packages that it scores with."""
        return ()

    @classmethod
    def expand(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the fields for the keywords of a name: by default, the keywords themselves.

        A metric with its own shorthand, such as `ensemble(some=0.6, impara=0.4)`, overrides this. It
        returns unknown keywords unchanged, and they are refused as unknown parameters.
        """
        return dict(parameters)

    # -- what every metric can do --------------------------------------------------------------

    def __str__(self) -> str:
        return self._format(dataclasses.fields(self))

    @property
    def label(self) -> str:
        """The name with only the parameters that differ from their defaults or tuned values."""
        fields = dataclasses.fields(self)
        usual = {
            field.name: getattr(self._tuned[1], field.name) if self._tuned else field.default
            for field in fields
        }
        return self._format(
            [field for field in fields if getattr(self, field.name) != usual[field.name]]
        )

    @property
    def tuned_on_test(self) -> bool:
        """Whether it is a tuned metric whose name says that it was tuned on test data."""
        return self._tuned is not None and self._tuned[0].endswith(TEST_MARK)

    def named(self: _Own, tuned: str, original: Metric) -> _Own:
        """Return the metric under the name of a tuned one.

        The name belongs to this value: a copy with other parameters (`dataclasses.replace`) loses it unless
        `named_like` passes it on. Equality ignores the name.

        Args:
            tuned: the name, such as `some@jfleg`.
            original: the tuned metric as its file defines it; `label` prints only the differences from it.
        """
        found = dataclasses.replace(self)
        object.__setattr__(found, "_tuned_as", (tuned, original))
        return found

    def named_like(self: _Own, other: Metric) -> _Own:
        """Return the metric, a changed copy of `other`, under the tuned name of `other` if it has one."""
        return self if other._tuned is None else self.named(*other._tuned)

    @property
    def _tuned(self) -> tuple[str, Metric] | None:
        found: tuple[str, Metric] | None = vars(self).get("_tuned_as")
        return found

    @property
    def for_statistics(self) -> Metric:
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

    def statistics(
        self,
        sources: Sentences,
        hypotheses: Sentences,
        references: ReferenceRows | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> Statistics:
        """Return the statistics of one system's N hypotheses; see `statistics_of_systems`.

        Args:
            sources: N texts.
            hypotheses: N texts.
            references: `References`, or each sentence's texts.
            runtime: how to run.
        """
        systems = {"hypotheses": as_sentences(hypotheses, "hypotheses")}
        return self.statistics_of_systems(sources, systems, references, runtime=runtime)[
            "hypotheses"
        ]

    def statistics_of_systems(
        self,
        sources: Sentences,
        systems: Systems,
        references: ReferenceRows | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> dict[str, Statistics]:
        """Return the statistics of several systems on the same sources, sharing common work.

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
        return self.compute_systems(*self.as_inputs(sources, systems, references, runtime), runtime)

    def compute_systems(
        self,
        sources: Sequence[str],
        systems: Mapping[str, Sequence[str]],
        references: References | None,
        runtime: Runtime,
    ) -> dict[str, Statistics]:
        """Return the statistics of several systems whose inputs have been checked.

        Each distinct row (source, hypothesis, references) is computed once, since systems often agree. With
        `runtime.cache_dir`, the statistics of a system are read from the cache if they were computed
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
            return self._distinct(sources, systems, used, runtime)
        signature = self.for_statistics.signature(references, runtime=runtime)
        about = ["with notices", signature, repr(used and used.rows)]
        keys = {name: key_of(*about, sources, systems[name]) for name in systems}
        kept = {name: cache.load(runtime.cache_dir, key) for name, key in keys.items()}
        missing = {name: systems[name] for name in systems if kept[name] is None}
        with collected() as notices:
            computed = self._distinct(sources, missing, used, runtime) if missing else {}
        if missing and self.for_statistics.signature(references, runtime=runtime) != signature:
            # It is unknown which model computed these statistics; one pass over all systems uses one model.
            return self._distinct(sources, systems, used, runtime)
        # What is warned of may be in any of the systems that were computed together.
        texts = [str(notice) for notice in notices]
        for name, statistics in computed.items():
            records = [texts, *statistics.records]
            cache.store(runtime.cache_dir, keys[name], statistics.arrays, records)
        found = {}
        former: dict[str, None] = {}
        for name, entry in kept.items():
            if entry is None:
                found[name] = computed[name]
            else:
                arrays, (said, *records) = entry
                found[name] = Statistics(arrays, tuple(records))
                former |= dict.fromkeys(said)
        for notice in notices:
            warn_of_inputs(notice)
        for text in former:
            warn_of_inputs(InputWarning(f"when cached statistics were computed, {text}"))
        return found

    def _distinct(
        self,
        sources: Sequence[str],
        systems: Mapping[str, Sequence[str]],
        used: References | None,
        runtime: Runtime,
    ) -> dict[str, Statistics]:
        """Compute each distinct row of all systems once."""
        rows: dict[tuple[Any, ...], int] = {}
        first: list[tuple[int, str]] = []
        index_of: dict[str, list[int]] = {}
        for system, hypotheses in systems.items():
            index_of[system] = indices = []
            for number, (source, hypothesis) in enumerate(zip(sources, hypotheses, strict=True)):
                key = (source, hypothesis, used[number] if used is not None else None)
                row = rows.setdefault(key, len(rows))
                if row == len(first):
                    first.append((number, hypothesis))
                indices.append(row)
        PROFILE.rows += sum(map(len, index_of.values()))
        PROFILE.distinct += len(first)
        computed = self.compute(
            [sources[number] for number, _ in first],
            [hypothesis for _, hypothesis in first],
            None if used is None else used.select(number for number, _ in first),
            runtime,
        )
        self._check_statistics(computed, len(first))
        return {system: computed.take(indices) for system, indices in index_of.items()}

    def _check_statistics(self, found: object, size: int) -> None:
        """Raise `PluginError` unless `compute` has returned one row of an array per sentence."""
        if not isinstance(found, Statistics):
            problem = f"a {type(found).__name__}; Statistics were expected"
        elif not_arrays := [
            name for name, array in found.arrays.items() if not isinstance(array, np.ndarray)
        ]:
            kind = type(found.arrays[not_arrays[0]]).__name__
            problem = f"{not_arrays[0]!r} as a {kind}; a NumPy array was expected"
        elif len(found) != size:
            problem = f"{len(found)} rows for {size} sentences; one row for each was expected"
        else:
            return
        raise PluginError(f"{self.label}: compute returned {problem}.")

    def _as_scores(self, found: object, size: int) -> Floats:
        """Return sentence scores as floats, float64 (N,); warn if all of them are NaN.

        Raises:
            PluginError: they are not one number per sentence.
        """
        try:
            scores: Floats = np.asarray(found, dtype=np.float64)
        except (TypeError, ValueError):
            raise PluginError(
                f"{self.label}: sentence_scores did not return an array of numbers."
            ) from None
        if scores.shape != (size,):
            raise PluginError(
                f"{self.label}: sentence_scores returned an array of the shape {scores.shape} for {size} "
                "sentences; one score for each was expected."
            )
        if np.isnan(scores).all():
            warnings.warn(f"{self.label}: no sentence has a score, all are NaN.", stacklevel=2)
        return scores

    def score(
        self,
        sources: Sentences,
        hypotheses: Sentences,
        references: ReferenceRows | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> Score:
        """Score one system; see `statistics_of_systems` for arguments and errors.

        Args:
            sources: N texts.
            hypotheses: N texts.
            references: `References`, or each sentence's texts.
            runtime: how to run.

        Example:
            >>> from learnedgec import load_metric
            >>> score = load_metric("gleu").score(["He go ."], ["He goes ."], [["He goes ."]])
            >>> score.sentences.tolist()
            [1.0]
        """
        systems = {"hypotheses": as_sentences(hypotheses, "hypotheses")}
        return self.score_systems(sources, systems, references, runtime=runtime)["hypotheses"]

    def score_systems(
        self,
        sources: Sentences,
        systems: Systems,
        references: ReferenceRows | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> Scores[Score]:
        """Score several systems on the same sources, sharing common work.

        Args:
            sources: N texts.
            systems: system -> N texts.
            references: `References`, or each sentence's texts.
            runtime: how to run.
        """
        given = self.as_inputs(sources, systems, references, runtime)
        return self._scores_of(self.compute_systems(*given, runtime), given[2], runtime)

    def _scores_of(
        self, statistics: Mapping[str, Statistics], references: References | None, runtime: Runtime
    ) -> Scores[Score]:
        """Return the scores, with signatures, of systems whose statistics are known."""
        signature = self.signature(references, runtime=runtime)
        return Scores(
            {name: self.score_of(each, signature=signature) for name, each in statistics.items()}
        )

    def score_of(self, statistics: Statistics, *, signature: str = "") -> Score:
        """Return the score aggregated from statistics."""
        sentences = self._as_scores(self.sentence_scores(statistics), len(statistics))
        return Score(
            metric=str(self),
            value=self.aggregate(statistics),
            sentences=sentences,
            details=self.details(statistics),
            sentence_details=self.sentence_details(statistics),
            signature=signature,
            statistics=statistics,
        )

    def dependencies(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return what `describe` does, and what identifies the code of a class from outside learnedgec."""
        return {**self.describe(runtime), **origin(type(self))}

    def signature(
        self, references: References | None = None, *, runtime: Runtime = Runtime()
    ) -> str:
        """Return one line that names everything the score depends on besides the sentences."""
        parts = self.dependencies(runtime)
        if self.needs_references and references is not None:
            counts = {len(row) for row in references}
            low, high = min(counts, default=0), max(counts, default=0)
            parts["references"] = low if low == high else f"{low}-{high}"
        if runtime.tokenise == "spacy":
            parts["tokens"] = describe_tokens()
        parts["learnedgec"] = __version__
        return "|".join([str(self), *(f"{key}:{value}" for key, value in parts.items())])

    def as_inputs(
        self,
        sources: Sentences,
        systems: Systems,
        references: ReferenceRows | None,
        runtime: Runtime = Runtime(),
    ) -> tuple[list[str], dict[str, list[str]], References | None]:
        """Return the inputs as lists of `str`, or raise; no other place checks what a caller passes.

        With `runtime.tokenise`, they are tokenised.

        Args:
            sources: N texts.
            systems: system -> N texts.
            references: `References`, or each sentence's texts.
            runtime: how to run.

        Raises:
            InputError: see `statistics_of_systems`.
        """
        sources, found = as_sentences(sources, "sources"), as_systems(systems)
        references = as_references(references, len(sources))
        if not sources:
            raise InputError("there is no sentence to score; give at least one source.")
        for system, hypotheses in found.items():
            check_lengths(("sources", sources), (system, hypotheses))
        if references is not None and (self.needs_references or runtime.tokenise == "spacy"):
            check_lengths(("sources", sources), ("references", references))
        if runtime.tokenise == "spacy":
            if references is not None:
                references = tokenise_references(references, sources)
            sources = tokenise(sources)
            found = {name: tokenise(texts) for name, texts in found.items()}
        if not self.needs_references:
            return sources, found, references
        if references is None:
            raise InputError(
                f"{self.name} needs references, and there are none; give references=, each sentence's texts "
                "or References."
            )
        for number, row in enumerate(references, 1):
            if not row:
                raise InputError(
                    f"sentence {number} has no reference and {self.name} needs one; "
                    "add a reference or leave the sentence out."
                )
        return sources, found, references


def score_metrics(
    metrics: Sequence[Metric],
    sources: Sentences,
    systems: Systems,
    references: ReferenceRows | None = None,
    *,
    runtime: Runtime = Runtime(),
) -> dict[Metric, Scores[Score]]:
    """Score several systems with several metrics; metrics with equal statistics share them.

    For example, `m2` and `sentm2` differ only in `aggregate`, so the edits are extracted once.

    Args:
        metrics: the metrics.
        sources: N texts.
        systems: N texts each, by the system's name.
        references: see `Metric.statistics_of_systems`.
        runtime: how to run.

    Returns:
        For each metric, the scores by system.

    Raises:
        LengthError, InputError: as for `Metric.statistics_of_systems`.
    """
    check_metrics(metrics, runtime)
    sources, systems = as_sentences(sources, "sources"), as_systems(systems)
    references = as_references(references, len(sources))
    statistics = shared_statistics(
        metrics, lambda m: m.statistics_of_systems(sources, systems, references, runtime=runtime)
    )
    return {metric: metric._scores_of(found, references, runtime) for metric, found in statistics}


def shared_statistics(
    metrics: Sequence[Metric], compute: Callable[[Metric], _Found]
) -> Iterator[tuple[Metric, _Found]]:
    """Yield each metric with its statistics, computed once for metrics whose statistics are equal.

    They are held in memory no longer than for the last metric that shares them.

    Args:
        metrics: the metrics.
        compute: a function from a metric to its statistics, such as those of several systems.
    """
    left = Counter(metric.for_statistics for metric in metrics)
    kept: dict[Metric, _Found] = {}
    for metric in metrics:
        key = metric.for_statistics
        found = kept.pop(key) if key in kept else compute(metric)
        left[key] -= 1
        if left[key]:
            kept[key] = found
        yield metric, found
