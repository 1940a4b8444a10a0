"""The base of metrics that score with trained packages or published classifiers."""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from learnedgec.errors import ModelError, warn_once
from learnedgec.evaluators.package import EVALUATOR, Package
from learnedgec.evaluators.predictor import Predictor, predictor_precision
from learnedgec.metrics.contract import Metric
from learnedgec.runtime.runtime import Runtime


class OutputSum(NamedTuple):
    """A weighted sum of the outputs of one predictor.

    Attributes:
        predictor: the predictor.
        weights: output -> its weight in the sum.
    """

    predictor: Predictor
    weights: Mapping[str, float]


class LearnedMetric(Metric):
    """A metric that scores with predictors, which its parameters name.

    Its printed name has the evaluator in brackets, because another evaluator makes it another metric.
    """

    needs_references: ClassVar[bool] = False

    @abstractmethod
    def output_sums(self, runtime: Runtime) -> list[OutputSum]:
        """Return the sums of outputs that the metric scores with; the runtime opens the predictors."""

    def describe_processing(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return what else the score depends on, such as the gate or a detokeniser."""
        return {}

    def _format(self, fields: Sequence[dataclasses.Field[Any]], name: str) -> str:
        evaluator = getattr(self, self.evaluator_parameter, "")
        if not EVALUATOR.fullmatch(evaluator):
            return super()._format(fields, name)
        rest = [field for field in fields if field.name != self.evaluator_parameter]
        return super()._format(rest, f"{name}[{evaluator}]")

    def predictor(self, runtime: Runtime) -> Predictor:
        """Return the predictor of a metric that has only one."""
        [output_sum] = self.output_sums(runtime)
        return output_sum.predictor

    def outputs(self, runtime: Runtime) -> dict[Predictor, list[str]]:
        """Return the names of the outputs that each distinct predictor computes."""
        outputs: dict[Predictor, list[str]] = {}
        for predictor, weights in self.output_sums(runtime):
            names = outputs.setdefault(predictor, [])
            names += [name for name in weights if name not in names]
        return outputs

    def packages(self, runtime: Runtime = Runtime()) -> tuple[Package, ...]:
        """Return the packages among the predictors."""
        predictors = [predictor for predictor, _ in self.output_sums(runtime)]
        return tuple(dict.fromkeys([each for each in predictors if isinstance(each, Package)]))

    def check(self, runtime: Runtime) -> None:
        """Raise unless every predictor has its outputs; warn of heads that training does not trust."""
        try:
            for predictor, names in self.outputs(runtime).items():
                predictor.check(names)
                for doubt in predictor.doubts(names):
                    warn_once(doubt)
        except ModelError as error:
            raise ModelError(f"{self.label}: {error}") from None

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the predictors' digests, the terms of sums, `describe_processing`, and the precisions."""
        outputs = self.outputs(runtime)
        return {
            "sha256": ",".join(dict.fromkeys(predictor.digest for predictor in outputs)),
            **{
                f"sum-{output}": terms
                for predictor, names in outputs.items()
                for output, terms in predictor.sums(names).items()
            },
            **self.describe_processing(runtime),
            "dtype": ",".join(
                dict.fromkeys(predictor_precision(predictor, runtime) for predictor in outputs)
            ),
        }
