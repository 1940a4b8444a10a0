"""The outputs of a trained evaluator as metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from learnedgec.data.references import References
from learnedgec.errors import ParameterError
from learnedgec.evaluators import RELEASED
from learnedgec.evaluators.locations import open_package
from learnedgec.evaluators.package import output_metric
from learnedgec.evaluators.predictor import predict
from learnedgec.metrics.contract import Statistics
from learnedgec.metrics.learned import LearnedMetric, OutputSum
from learnedgec.metrics.registry import output_metrics
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Texts


@dataclass(frozen=True)
class Head(LearnedMetric):
    """The output of an evaluator's head, in the head's own units; for several heads, `Σ wₖ·xₖ`.

    A head trained on ratings predicts in their units: scores for adequacy rated from 1 to 5 lie roughly in
    that range. Any output of the package can be named: a head, by its name in the training configuration, or
    one of its `sums`. The system score is the mean over sentences.

    The name of a metric may give one head in brackets or by `name`, as in `head[mine.adequacy]` and
    `head(model='org/mine', name='adequacy')`, and a sum as `weights={'adequacy': 0.7, 'fluency': 0.3}`.

    Attributes:
        model: name, directory or hub id (`org/name@revision`) of an evaluator package.
        heads: names of K outputs.
        weights: K weights; by default 1/K each.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("head(heads=('likelihood', 'meaning'), weights=(0.7, 0.3))").label
        "head(model='open-mpnet', weights={'likelihood': 0.7, 'meaning': 0.3})"
    """

    name: ClassVar[str] = "head"
    evaluator_parameter: ClassVar[str] = "output"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"weights"})
    model: str = RELEASED
    heads: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        size = len(self.heads)
        if not size or len(set(self.heads)) < size:
            raise ParameterError(
                "head: name an output of the evaluator, such as "
                f"{output_metric(self.model, 'quality')}, or several of them, each once."
            )
        if not self.weights:
            object.__setattr__(self, "weights", (1 / size,) * size)
        if len(self.weights) != size:
            raise ParameterError(f"head: {len(self.weights)} weights for {size} heads.")
        self.check_weights(self.weights)

    @classmethod
    def expand(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields for `[mine.adequacy]`, `name='adequacy'` or `weights={'adequacy': 0.7, …}`.

        Raises:
            ParameterError: the outputs are named in two ways, or the brackets name none.
        """
        expanded = dict(parameters)
        weights = expanded.get("weights")
        ways = [
            "output" in expanded,
            "name" in expanded,
            "heads" in expanded,
            isinstance(weights, Mapping),
        ]
        if sum(ways) > 1:
            raise ParameterError(
                "head: name the outputs once: in brackets, or by name, heads or weights."
            )
        if "output" in expanded:
            package, _, output = (named := expanded.pop("output")).rpartition(".")
            if not package or "/" in output or "model" in expanded:
                outputs = output_metrics(named) or f"head[{named}.quality]"
                raise ParameterError(
                    f"head[{named}]: an evaluator and its output were expected, such as {outputs}."
                )
            expanded |= {"model": package, "name": output}
        if "name" in expanded:
            expanded["heads"] = (expanded.pop("name"),)
        if isinstance(weights, Mapping):
            expanded |= {"heads": tuple(weights), "weights": tuple(weights.values())}
        return expanded

    @property
    def label(self) -> str:
        """The short name: the model, and its head or heads."""
        if self.weights == (1.0,):
            return output_metric(self.model, self.heads[0])
        return f"{self.name}(model={self.model!r}, weights={self._head_weights!r})"

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return each head's values, float64 (N,)."""
        return Statistics(
            predict(self.predictor(runtime), sources, hypotheses, self.heads, runtime)
        )

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the weighted sum of the heads."""
        terms = [weight * statistics[head] for head, weight in self._head_weights.items()]
        scores: Floats = np.sum(terms, axis=0)
        return scores

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the mean of each head if there are several."""
        details = self.sentence_details(statistics)
        return {head: float(values.mean()) for head, values in details.items()}

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return the values of each head if there are several; a single head's are the scores themselves."""
        return {head: statistics[head] for head in self.heads} if len(self.heads) > 1 else {}

    def output_sums(self, runtime: Runtime) -> list[OutputSum]:
        """Return the package with the weights of its heads."""
        return [OutputSum(runtime.open(open_package, self.model), self._head_weights)]

    @property
    def _head_weights(self) -> dict[str, float]:
        return dict(zip(self.heads, self.weights, strict=True))
