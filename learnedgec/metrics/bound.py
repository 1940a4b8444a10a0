"""A metric under the name by which it was asked for, and one that is bound to its models.

`learnedgec.scoring.bind` binds metrics by name.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from learnedgec.data.corpus import Corpus
from learnedgec.data.references import ReferenceRows, References
from learnedgec.data.sentences import Sentences, Systems
from learnedgec.evaluators.package import Package
from learnedgec.metrics.contract import (
    Metric,
    Reannotates,
    Score,
    Scores,
    Statistics,
    aggregated,
    sign,
    stored_statistics,
)
from learnedgec.metrics.tuned import TEST_MARK
from learnedgec.runtime.runtime import Runtime

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


def short_labels(labels: Sequence[str]) -> dict[str, str]:
    """Return a short name for each metric: without parameters, and numbered where two would be the same.

    Args:
        labels: names of metrics, each once.

    Example:
        >>> short_labels(["gleu(n=2)", "m2", "m2(beta=1.0)"])
        {'gleu(n=2)': 'gleu', 'm2': 'm2', 'm2(beta=1.0)': 'm2#2'}
        >>> short_labels(["head(model='org/mine', name='fluency')"])
        {"head(model='org/mine', name='fluency')": 'head[mine.fluency]'}
    """
    names: dict[str, str] = {}
    # The package and the output say more than the word "head".
    named = [
        re.sub(
            r"^head\(model='(?:[^']*/)?([^'/]+)'(?:, name='([^']*)')?.*",
            lambda match: f"head[{'.'.join(filter(None, match.groups()))}]",
            text,
        )
        for text in labels
    ]
    stems = [label.partition("(")[0] for label in named]
    for place, (label, stem) in enumerate(zip(labels, stems, strict=True)):
        before = stems[:place].count(stem)
        names[label] = f"{stem}#{before + 1}" if before else stem
    return names


def names_in_text(labels: Sequence[str]) -> dict[str, str]:
    """Return the name of each metric in a sentence: short, or whole where several have one short name.

    Example:
        >>> names_in_text(["gleu(n=2)", "m2", "m2(beta=1.0)"])
        {'gleu(n=2)': 'gleu', 'm2': 'm2', 'm2(beta=1.0)': 'm2(beta=1.0)'}
    """
    short = short_labels(labels)
    shared = Counter(name.partition("#")[0] for name in short.values())
    return {label: name if shared[name] == 1 else label for label, name in short.items()}


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
        tokeniser = self.runtime.tokenise
        return self.compute(Corpus.of(sources, systems, references).tokenised(tokeniser))

    def compute(self, corpus: Corpus) -> dict[str, Statistics]:
        """Return the statistics of the systems of a corpus; see `stored_statistics`."""
        return stored_statistics(self.metric, corpus, self.runtime)

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
        """Return the score aggregated from statistics; see `aggregated`."""
        return aggregated(self.metric, str(self), statistics, signature)

    def signature(self, references: References | None = None) -> str:
        """Return one line that names everything the score depends on besides the sentences."""
        return sign(self.metric, str(self), references, self.runtime)
