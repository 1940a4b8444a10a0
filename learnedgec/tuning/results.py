"""What a search found."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import optuna

from learnedgec._version import __version__
from learnedgec.metrics.tuned import TunedMetric
from learnedgec.tuning.objective import Goal
from learnedgec.tuning.space import Space
from learnedgec.tuning.trials import SearchPlan, TriedMetric

__all__ = [
    "Comparison",
    "Fold",
    "Tuning",
]


@dataclass(frozen=True, slots=True)
class Fold:
    """One search on a part of the sentences.

    Attributes:
        parameters: the chosen parameters.
        value: the objective on the sentences that the search used.
        held_out: the objective on the other sentences; NaN where it does not exist there.
        given: the objective of the given metric on the other sentences.
    """

    parameters: Mapping[str, Any]
    value: float
    held_out: float
    given: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A metric on a benchmark that it was not tuned on, and the gain of the tuned metric over it.

    Attributes:
        label: `tuned`, `given` or `uniform`.
        value: the objective.
        bounds: its interval by bootstrap over sentences.
        gain: the tuned metric's value minus this one's.
        gain_bounds: its interval, on the same resamples.
    """

    label: str
    value: float
    bounds: tuple[float, float]
    gain: float
    gain_bounds: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a search found.

    Attributes:
        best: the tuned metric; on a tie the one tried first, so the given one if nothing is better.
        references: `given`, the metric before tuning, and `uniform`, with equal weights, where weights
            were tuned.
        trials: every finished trial by number.
        folds: the same search on parts of the data.
        benchmark: name of the tuning data.
        notices: caveats about these data, one sentence each.
        parts: names of the components of the metric's sentence scores, such as `fluency`.
        human: name of the human score there; for comparisons, `EW`.
        goal: what was maximised.
        space: what was tuned.
        plan: the settings of the search.
        tuned_on_test: whether the tuning data are test data.
        signature: of the tuned metric on that data.
        value_at: a function from parameters to the objective on the tuning data, used to draw maps.
    """

    best: TriedMetric
    references: Mapping[str, TriedMetric]
    trials: tuple[TriedMetric, ...]
    folds: tuple[Fold, ...]
    benchmark: str
    notices: tuple[str, ...]
    parts: tuple[str, ...]
    human: str
    goal: Goal
    space: Space
    plan: SearchPlan
    tuned_on_test: bool
    signature: str
    value_at: Callable[[Mapping[str, Any]], float] = field(repr=False)

    @property
    def held_out(self) -> tuple[float, float]:
        """The mean and the standard deviation of the folds' held-out values; NaN without folds."""
        return _mean_and_deviation([fold.held_out for fold in self.folds])

    @property
    def given_held_out(self) -> tuple[float, float]:
        """The same for the given metric on the same sentences."""
        return _mean_and_deviation([fold.given for fold in self.folds])

    def record(self, comparisons: Mapping[str, Sequence[Comparison]] | None = None) -> TunedMetric:
        """Return the content of the tuned metric's file.

        Args:
            comparisons: benchmark -> what `compare` found there.
        """
        study = {
            "benchmark": self.benchmark,
            "objective": self.goal.objective,
            "aggregation": self.goal.aggregation,
            "human": self.human,
            "space": {name: str(range_) for name, range_ in self.space.ranges.items()},
            "sampler": self.plan.sampler,
            "seed": self.plan.seed,
            "value": self.best.value,
            "parameters": dict(self.best.parameters),
            "references": {
                label: {"value": _plain(candidate.value), "parameters": dict(candidate.parameters)}
                for label, candidate in self.references.items()
            },
            "validation": self.plan.validation,
            "held_out": _plain(self.held_out[0]),
            "held_out_deviation": _plain(self.held_out[1]),
            "given_held_out": _plain(self.given_held_out[0]),
            "given_held_out_deviation": _plain(self.given_held_out[1]),
            "folds": [
                {
                    "parameters": dict(fold.parameters),
                    "value": _plain(fold.value),
                    "held_out": _plain(fold.held_out),
                    "given": _plain(fold.given),
                }
                for fold in self.folds
            ],
            "comparisons": {
                benchmark: [
                    {
                        "label": row.label,
                        "value": _plain(row.value),
                        "bounds": [_plain(bound) for bound in row.bounds],
                        "gain": _plain(row.gain),
                        "gain_bounds": [_plain(bound) for bound in row.gain_bounds],
                    }
                    for row in rows
                ]
                for benchmark, rows in (comparisons or {}).items()
            },
            "signature": self.signature,
            "versions": {"learnedgec": __version__, "optuna": optuna.__version__},
            "trials": [
                {
                    "number": trial.number,
                    "value": _plain(trial.value),
                    "parameters": dict(trial.parameters),
                }
                for trial in self.trials
            ],
        }
        return TunedMetric(str(self.best.metric), study, self.tuned_on_test)


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    known = [value for value in values if not math.isnan(value)]
    return (float(np.mean(known)), float(np.std(known))) if known else (math.nan, math.nan)


def _plain(value: float) -> float | None:
    """Return a number that JSON can hold."""
    return value if math.isfinite(value) else None
