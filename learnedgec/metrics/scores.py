"""Statistics of sentences, and scores of systems with views for programs, data frames and notebooks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import numpy as np

from learnedgec.errors import InputError, UnknownNameError
from learnedgec.table import Row, Table, plain
from learnedgec.types import Array, Floats

if TYPE_CHECKING:
    import pandas


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

        The keys are those of `learnedgec score --level sentence --format json`; NaN becomes `None`.
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

    def to_frame(self) -> pandas.DataFrame:
        """Return a data frame with a row for each sentence: its score and details.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        return Table.of(self._sentence_rows()).to_frame()

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

    def to_frame(self) -> pandas.DataFrame:
        """Return a data frame of corpus scores.

        It has a row for each system or metric with its score and details. With several of both, it has a row
        for each system and a column for each metric.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        return Table.of(self._rows()).to_frame()

    def _rows(self) -> list[Row]:
        tables = {name: entry for name, entry in self.items() if isinstance(entry, Scores)}
        if not tables:
            return [
                {self.names: name, "score": entry.value, **entry.details}
                for name, entry in self.items()
                if isinstance(entry, Score)
            ]
        return [
            {"system": system, **{metric: of[system].value for metric, of in tables.items()}}
            for system in next(iter(tables.values()))
        ]

    def __repr__(self) -> str:
        return repr(Table.of(self._rows()))

    def _repr_html_(self) -> str:
        return Table.of(self._rows()).html()


SENTINELS = ("edit-count", "length", "constant", "random")
"""Names of the sentinels (`learnedgec.metrics.counts`), in the order of tables."""


def is_sentinel(metric: str) -> bool:
    """Return whether a metric is a sentinel, so that its highest score is not the best.

    Args:
        metric: the metric's name or label.

    Example:
        >>> is_sentinel("length(unit='char')"), is_sentinel("gleu")
        (True, False)
    """
    return metric.partition("(")[0] in SENTINELS


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
