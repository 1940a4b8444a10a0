"""The checks for metrics of other packages find what a metric breaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from learnedgec import Metric, Statistics
from learnedgec.testing import check_metric


@dataclass(frozen=True)
class Own(Metric):
    name: ClassVar[str] = "own"
    scale: float = 1.0

    def compute(self, sources, hypotheses, references, runtime):
        counts = [
            len(row[0].text.split()) - len(text)
            for row, text in zip(references, hypotheses, strict=True)
        ]
        return Statistics({"n": np.array(counts, dtype=float)})

    def sentence_scores(self, statistics):
        return statistics["n"] * self.scale


@dataclass(frozen=True)
class Neighbours(Own):
    def compute(self, sources, hypotheses, references, runtime):
        computed = super().compute(sources, hypotheses, references, runtime)
        return Statistics({"n": computed["n"] / max(abs(computed["n"]).max(), 1)})


@dataclass(frozen=True)
class Empty(Own):
    def sentence_scores(self, statistics):
        return statistics["n"] / statistics["words"]

    def compute(self, sources, hypotheses, references, runtime):
        computed = super().compute(sources, hypotheses, references, runtime)
        words = np.array([float(len(text.split())) or np.nan for text in hypotheses])
        return Statistics({**computed.arrays, "words": words})


@dataclass(frozen=True)
class Shared(Own):
    def compute(self, sources, hypotheses, references, runtime):
        shares = [len(h.split()) / len(s.split()) for s, h in zip(sources, hypotheses, strict=True)]
        return Statistics({"n": np.array(shares)})


@dataclass(frozen=True)
class Drifting(Own):
    def aggregate(self, statistics):
        return float(statistics["n"].mean() + np.random.default_rng().random())


@dataclass(frozen=True)
class Resampled(Own):
    def aggregate_many(self, statistics, samples):
        return np.zeros(len(samples))


@dataclass(frozen=True)
class Lenient(Own):
    needs_references: ClassVar[bool] = False

    def compute(self, sources, hypotheses, references, runtime):
        return Statistics({"n": np.array([float(len(text)) for text in hypotheses])})

    def score(self, sources, hypotheses, references=None, **options):
        return super().score(sources, [*hypotheses, *sources][: len(sources)], None, **options)


@dataclass(frozen=True)
class Renamed(Own):
    def __str__(self):
        return "renamed"


@dataclass(frozen=True)
class Listed(Own):
    weights: list = None

    def __post_init__(self):
        object.__setattr__(self, "weights", [1.0])


def test_a_metric_that_keeps_the_contract_passes() -> None:
    check_metric(Own())
    check_metric(Own(scale=2.0))


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (Neighbours, r"a score of sentence 1 alone \(declare .*\) is -1.0, and otherwise -"),
        (Empty, "the score of weak is nan"),
        (Drifting, "a score of eager alone is -"),
        (Resampled, "a score of a resample with every sentence once is 0.0, and otherwise -"),
        (
            Lenient,
            "it scores 2 sources, 1 hypotheses and references for 2; LengthError was expected",
        ),
        (Renamed, "its name does not parse back to it: no metric is named 'renamed'"),
        (Listed, "it cannot be hashed .unhashable type"),
    ],
)
def test_what_breaks_it_is_found(broken: type[Own], message: str) -> None:
    with pytest.raises(AssertionError, match=message) as caught:
        check_metric(broken())
    assert "\n" not in str(caught.value)


def test_an_error_of_the_metric_names_the_check() -> None:
    with pytest.raises(AssertionError) as caught:
        check_metric(Shared())
    assert str(caught.value) == (
        f"{__name__}:Shared: ZeroDivisionError('division by zero') in check_blanks (Check that "
        "empty and blank sentences have a finite score, and so has a copy of the source)."
    )
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
