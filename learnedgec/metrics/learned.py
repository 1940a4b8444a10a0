"""The contract of metrics that read the outputs of trained packages or published classifiers."""

from __future__ import annotations

import copy
import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from learnedgec.errors import ModelError
from learnedgec.evaluators.predictor import Predictor
from learnedgec.metrics.base import Metric
from learnedgec.metrics.grammar import EVALUATOR
from learnedgec.metrics.similarity_gate import GATE
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats

_Own = TypeVar("_Own", bound="LearnedMetric")


class Reading(NamedTuple):
    """The outputs of a predictor that a metric reads.

    Attributes:
        predictor: the predictor.
        weights: output -> its weight in the sum of outputs.
    """

    predictor: Predictor
    weights: Mapping[str, float]


class LearnedMetric(Metric):
    """A metric that reads predictors, which its parameters name.

    Its printed name has the evaluator in brackets, since scores of another one are those of another metric.
    """

    needs_references: ClassVar[bool] = False
    _readings: ClassVar[list[Reading] | None] = None
    """Of a resolved metric, a value's own: what it reads."""

    @abstractmethod
    def find_readings(self) -> list[Reading]:
        """Return what the metric reads; the predictors are looked up now."""

    def describe_rest(self) -> dict[str, str | int | float]:
        """Return what the score depends on besides the predictors, such as a gate."""
        return {}

    def _format(self, fields: Sequence[dataclasses.Field[Any]]) -> str:
        evaluator = getattr(self, self.evaluator_parameter, "")
        if not EVALUATOR.fullmatch(evaluator):
            return super()._format(fields)
        rest = [field for field in fields if field.name != self.evaluator_parameter]
        name, parenthesis, parameters = super()._format(rest).partition("(")
        return f"{name}[{evaluator}]{parenthesis}{parameters}"

    @property
    def readings(self) -> list[Reading]:
        """What the metric reads: for a resolved metric as it was found then, else looked up now."""
        return self.find_readings() if self._readings is None else self._readings

    @property
    def predictor(self) -> Predictor:
        """The predictor of a metric that reads only one."""
        [reading] = self.readings
        return reading.predictor

    @property
    def outputs(self) -> dict[Predictor, list[str]]:
        """The outputs that are read of each distinct predictor."""
        outputs: dict[Predictor, list[str]] = {}
        for predictor, weights in self.readings:
            names = outputs.setdefault(predictor, [])
            names += [name for name in weights if name not in names]
        return outputs

    def resolved(self: _Own) -> _Own:
        """Return an equal metric that keeps the predictors which its parameters name now."""
        return _with_readings(self, self.find_readings()) if self._readings is None else self

    @property
    def for_statistics(self: _Own) -> _Own:
        """See `Metric.for_statistics`; it keeps the predictors of a resolved metric."""
        metric: _Own = super().for_statistics
        return metric if self._readings is None else _with_readings(metric, self._readings)

    def evaluators(self) -> tuple[str, ...]:
        """Return the packages in use."""
        return tuple(predictor.name for predictor in self.outputs if predictor.packaged)

    def check(self, runtime: Runtime) -> None:
        """Raise unless every predictor is available and has the outputs that are read."""
        try:
            for predictor, names in self.outputs.items():
                predictor.check(names)
        except ModelError as error:
            raise ModelError(f"{self.label}: {error}") from None

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return digests of the predictors, terms of sums, `describe_rest` and precisions."""
        outputs = self.outputs
        return {
            "sha256": ",".join(dict.fromkeys(predictor.digest for predictor in outputs)),
            **{
                f"sum-{output}": terms
                for predictor, names in outputs.items()
                for output, terms in predictor.sums(names).items()
            },
            **self.describe_rest(),
            "dtype": ",".join(dict.fromkeys(predictor.precision(runtime) for predictor in outputs)),
        }


class GatedMetric(LearnedMetric):
    """A learned metric that rejects hypotheses too different from their source; see `similarity_gate`.

    Its statistics have `similarity`. A subclass has the field `threshold`.
    """

    if TYPE_CHECKING:
        threshold: float | None

    @property
    def usual_threshold(self) -> float:
        """The default of `threshold`, where that is `None`; the statistics then have it, too."""
        return GATE

    @property
    def measure(self) -> str:
        """What measures the similarity, as signatures name it."""
        return "characters"

    def thresholds(self, statistics: Statistics) -> float | Floats:
        """Return the threshold in use, one for all sentences or (N,)."""
        return statistics["threshold"] if self.threshold is None else self.threshold

    def accepted(self, statistics: Statistics) -> npt.NDArray[np.bool_]:
        """Return which hypotheses are similar enough to their source, bool (N,)."""
        accepted: npt.NDArray[np.bool_] = statistics["similarity"] > self.thresholds(statistics)
        return accepted

    def bounded(self, scores: Floats, statistics: Statistics, lowest: float) -> Floats:
        """Return scores so bounded that no rejected hypothesis has a higher one than any accepted hypothesis.

        Accepted hypotheses score at least `lowest`, and rejected ones at most that. A negative threshold
        means no gate, and no bound.

        Args:
            scores: float64 (N,).
            statistics: of the same N sentences.
            lowest: the bound between rejected and accepted hypotheses.
        """
        accepted, no_gate = self.accepted(statistics), np.less(self.thresholds(statistics), 0)
        bounded = np.where(accepted, np.maximum(scores, lowest), np.minimum(scores, lowest))
        return np.where(no_gate, scores, bounded)

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the share of hypotheses that were rejected."""
        return {"rejected": float(np.mean(~self.accepted(statistics)))}

    def describe_rest(self) -> dict[str, str | int | float]:
        """Return the gate; nothing where everything is accepted."""
        threshold = self.usual_threshold if self.threshold is None else self.threshold
        return {"gate": f"{self.measure}>{threshold:g}"} if threshold >= 0 else {}


def _with_readings(metric: _Own, readings: list[Reading]) -> _Own:
    """Return a copy of a metric that keeps its readings."""
    resolved = copy.copy(metric)
    object.__setattr__(resolved, "_readings", readings)
    return resolved
