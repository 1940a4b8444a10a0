"""A metric that is bound to its models: checked inputs, distinct and stored rows, and signed scores.

`learnedgec.scoring.bind` binds metrics by name. Inputs are checked and tokenised once (`as_inputs`), with
warnings about likely mistakes in them (`checked_inputs`). A bound metric reads the statistics of systems that
the store has, and computes each distinct row of the rest.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from learnedgec._version import __version__
from learnedgec.data.input_warnings import is_latin, text_notices
from learnedgec.data.references import Reference, ReferenceRows, References, as_references
from learnedgec.data.sentences import Sentences, Systems, are_systems, as_sentences, as_systems
from learnedgec.data.text import check_lengths
from learnedgec.edits.tokenisation import describe_tokens, tokenise, tokenise_references
from learnedgec.errors import (
    InputError,
    InputWarning,
    PluginError,
    TextWarning,
    collected,
    warn_of_inputs,
)
from learnedgec.evaluators.packages import Package
from learnedgec.metrics.scores import Score, Scores, Statistics
from learnedgec.metrics.tuned import TEST_MARK
from learnedgec.runtime.files import key_of
from learnedgec.runtime.plugins import origin
from learnedgec.runtime.runtime import PROFILE, Runtime
from learnedgec.runtime.store import Store
from learnedgec.types import Texts

if TYPE_CHECKING:
    # The contract's shorthands bind the metric, so this module cannot import it.
    from learnedgec.metrics.base import Metric


# -- a metric under its name -------------------------------------------------------------------------


@dataclass(frozen=True)
class NamedMetric:
    """A metric under the name by which it was asked for.

    Attributes:
        metric: the metric.
        tuned: the name of a tuned metric, such as `some@jfleg`; empty for any other.
        original: the tuned metric as its file defines it, with which labels are compared; `None` otherwise.
    """

    metric: Metric
    tuned: str = ""
    original: Metric | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label!r})"

    def __str__(self) -> str:
        """The name with every parameter, which parses back."""
        return self.metric.printed(self.tuned) if self.tuned else str(self.metric)

    @property
    def label(self) -> str:
        """The name with only the parameters that differ from their defaults or tuned values."""
        if self.original is None:
            return self.metric.label
        usual = {
            field.name: getattr(self.original, field.name)
            for field in dataclasses.fields(self.original)
        }
        return self.metric.printed(self.tuned, usual)

    @property
    def tuned_names(self) -> tuple[str, ...]:
        """The names of the tuned metrics that it scores with, itself or as a member of an ensemble."""
        members = self.metric.tuned_names
        return (self.tuned, *members) if self.tuned else members

    @property
    def tuned_on_test(self) -> bool:
        """Whether a tuned metric that it scores with has a name that marks test data."""
        return any(name.endswith(TEST_MARK) for name in self.tuned_names)


# -- inputs ------------------------------------------------------------------------------------------


class Inputs(NamedTuple):
    """The inputs of metrics, checked.

    Attributes:
        sources: N sentences.
        systems: system -> N hypotheses.
        references: references of the sentences, if there are any.
    """

    sources: Texts
    systems: Mapping[str, Texts]
    references: References | None


def named_systems(hypotheses: Sentences | Systems) -> Systems:
    """Return systems by name; the sentences of one system, checked, get the name `hypotheses`."""
    if are_systems(hypotheses):
        return hypotheses
    return {"hypotheses": as_sentences(hypotheses, "hypotheses")}


def checked_inputs(
    metrics: Sequence[NamedMetric],
    sources: Sentences,
    systems: Systems,
    references: ReferenceRows | None,
    runtime: Runtime,
    *,
    first: int = 1,
) -> Inputs:
    """Return the inputs of `as_inputs`, and warn about likely mistakes in them.

    Everything that scores a user's texts calls this function first, on the command line too. Texts that
    learnedgec makes itself, such as attacks, need no warning.

    Args:
        metrics: one or more.
        sources: N texts.
        systems: N texts each, by the system's name.
        references: `References`, or each sentence's texts.
        runtime: how to run.
        first: the number of the first line, in warnings.
    """
    inputs = as_inputs(metrics, sources, systems, references, runtime)
    for notice in input_notices(metrics, inputs, runtime, first=first):
        warn_of_inputs(TextWarning(notice))
    return inputs


def input_notices(
    metrics: Sequence[NamedMetric], inputs: Inputs, runtime: Runtime, *, first: int = 1
) -> list[str]:
    """Return one sentence about each likely mistake in the inputs of metrics; see `checked_inputs`."""
    units = {getattr(metric.metric, "unit", "") for metric in metrics}
    notices = text_notices(*inputs, by_character=units == {"char"}, first=first)
    packages = dict.fromkeys(
        package for metric in metrics for package in metric.metric.packages(runtime)
    )
    if packages and not is_latin(inputs.sources):
        notices += [
            f"{package.name} has learned from English alone, and the sources are in another script; its "
            "scores of them mean nothing."
            for package in packages
            if package.languages == ("en",)
        ]
    return notices


def as_inputs(
    metrics: Sequence[NamedMetric],
    sources: Sentences,
    systems: Systems,
    references: ReferenceRows | None,
    runtime: Runtime,
) -> Inputs:
    """Return checked inputs of metrics as lists of `str`; no other function checks what a caller passes.

    With `runtime.tokenise`, the texts are tokenised.

    Args:
        metrics: one or more.
        sources: N texts.
        systems: N texts each, by the system's name.
        references: `References`, or each sentence's texts.
        runtime: how to run.

    Raises:
        LengthError, InputError: see `score`.
    """
    by_system = as_systems(systems)
    sources = as_sentences(sources, "sources")
    references = as_references(references, sources)
    if not sources:
        raise InputError("there is no sentence to score; give at least one source.")
    for system, hypotheses in by_system.items():
        check_lengths(("sources", sources), (system, hypotheses))
    needing = next((m.metric.name for m in metrics if m.metric.needs_references), None)
    if references is not None:
        check_lengths(("sources", sources), ("references", references))
    if needing and references is None:
        raise InputError(
            f"{needing} needs references, and there are none; ",
            hint="give references=, each sentence's texts or References.",
            flag="give reference files (--ref) or an M2 file (--gold); in --jsonl they are the key "
            "'references'.",
        )
    if needing and references is not None and not all(references):
        number = 1 + [bool(row) for row in references].index(False)
        raise InputError(
            f"sentence {number} has no reference and {needing} needs one; "
            "add a reference or leave the sentence out."
        )
    if runtime.tokenise == "spacy":
        if references is not None:
            references = tokenise_references(references, sources)
        sources = tokenise(sources)
        by_system = {name: tokenise(texts) for name, texts in by_system.items()}
    return Inputs(sources, by_system, references)


# -- a metric with its models -------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class BoundMetric(NamedMetric):
    """A metric with all that its name stands for, opened once: it scores, and signs its scores.

    Results are keyed by its `label`. `metric` stays a pure value.

    Attributes:
        runtime: how it runs; it remembers the models that the metric's parameters name.

    Example:
        >>> from learnedgec.scoring import bind_one
        >>> length = bind_one("length")
        >>> statistics = length.statistics(["He go ."], {"ours": ["He goes home ."]})
        >>> length.metric.aggregate(statistics["ours"])
        4.0
    """

    runtime: Runtime = field(default_factory=Runtime, compare=False)

    @classmethod
    def of(
        cls, metric: Metric, runtime: Runtime, tuned: str = "", original: Metric | None = None
    ) -> BoundMetric:
        """Return a metric bound to its models, which are opened here.

        Raises:
            ModelError: a model or annotator is absent, or lacks a head or layer.
        """
        runtime = runtime.bound()
        metric.check(runtime)
        return cls(metric, tuned, original, runtime)

    @property
    def packages(self) -> tuple[Package, ...]:
        """The evaluator packages that it scores with."""
        return self.metric.packages(self.runtime)

    def replaced(self, metric: Metric) -> BoundMetric:
        """Return another metric under the same tuned name, such as one with other parameters."""
        return replace(self, metric=metric)

    def reannotated(self, references: References | None) -> BoundMetric | None:
        """Return the metric that extracts the edits of references again, if it takes their gold edits."""
        from learnedgec.metrics.base import Reannotates

        if (
            references is None
            or not references.annotated
            or not isinstance(self.metric, Reannotates)
        ):
            return None
        other = self.metric.reannotated()
        return None if other == self.metric else self.replaced(other)

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
        """Return the statistics of systems whose inputs have been checked, from the store if it has them.

        A stored entry depends on the signature and the texts. The warnings of its computation are repeated.
        """
        metric, runtime, (sources, systems, references) = self.metric, self.runtime, inputs
        needed = references if metric.needs_references else None
        if runtime.cache_dir is None or not metric.stores_statistics:
            return metric.compute_systems(Inputs(sources, systems, needed), runtime)
        store, plain = Store(runtime.cache_dir), BoundMetric(metric.for_statistics, runtime=runtime)
        common = ["with notices", plain.signature(references), repr(needed and needed.rows)]
        keys = {name: key_of(*common, sources, texts) for name, texts in systems.items()}
        entries = {name: store.load(key) for name, key in keys.items()}
        missing = {name: systems[name] for name, entry in entries.items() if entry is None}
        computed: dict[str, Statistics] = {}
        with collected() as notices:
            if missing:
                computed = metric.compute_systems(Inputs(sources, missing, needed), runtime)
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

    def scores(
        self, statistics: Mapping[str, Statistics], references: References | None = None
    ) -> Scores[Score]:
        """Return the signed scores of systems whose statistics are known.

        Args:
            statistics: system -> its statistics.
            references: references of the sentences, if there are any, for the signature.
        """
        signature = self.signature(references)
        return Scores({name: self.score_of(rows, signature) for name, rows in statistics.items()})

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
        metric = self.metric
        parts = {**metric.describe(self.runtime), **origin(type(metric))}
        if metric.needs_references and references is not None:
            counts = {len(row) for row in references}
            low, high = min(counts, default=0), max(counts, default=0)
            parts["references"] = low if low == high else f"{low}-{high}"
        if self.runtime.tokenise == "spacy":
            parts["tokens"] = describe_tokens()
        parts["learnedgec"] = __version__
        if references is not None:
            parts |= metric.describe_references(references)
        return "|".join([str(self), *(f"{key}:{value}" for key, value in parts.items())])


def warn_of_doubts(metric: Metric, systems_statistics: Sequence[Statistics]) -> None:
    """Warn of each reason to misread the corpus scores of these systems (`Metric.doubts`) once."""
    for doubt in dict.fromkeys(text for rows in systems_statistics for text in metric.doubts(rows)):
        warn_of_inputs(TextWarning(doubt))


def distinct_statistics(metric: Metric, inputs: Inputs, runtime: Runtime) -> dict[str, Statistics]:
    """Return the statistics of several systems, computing each distinct row once.

    Args:
        metric: the metric that computes the rows.
        inputs: the checked texts; the references are `None` if the metric needs none.
        runtime: how to run.

    Raises:
        PluginError: `compute` does not return one row of an array for each sentence.
    """
    sources, systems, references = inputs
    references = references or References(((),) * len(sources))
    # References are compared by the number of the first sentence that has the same ones.
    first: dict[tuple[Reference, ...], int] = {}
    reference_numbers = [first.setdefault(row, number) for number, row in enumerate(references)]
    places: dict[tuple[str, str, int], int] = {}
    places_of = {
        system: [
            places.setdefault(row, len(places))
            for row in zip(sources, hypotheses, reference_numbers, strict=True)
        ]
        for system, hypotheses in systems.items()
    }
    PROFILE.rows += len(sources) * len(systems)
    PROFILE.distinct += len(places)
    computed = metric.compute(
        [source for source, _, _ in places],
        [hypothesis for _, hypothesis, _ in places],
        references.select(number for _, _, number in places),
        runtime,
    )
    arrays = computed.arrays.values() if isinstance(computed, Statistics) else [computed]
    if not all(isinstance(array, np.ndarray) and len(array) == len(places) for array in arrays):
        raise PluginError(
            f"{metric.label}: compute did not return Statistics of NumPy arrays with one row for each of "
            f"{len(places)} sentences."
        )
    return {system: computed.take(rows) for system, rows in places_of.items()}
