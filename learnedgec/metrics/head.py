"""Outputs of a trained evaluator as a metric: one of them, or a weighted sum of several."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from learnedgec.data.references import References
from learnedgec.errors import ParameterError
from learnedgec.evaluators.packages import RELEASED
from learnedgec.evaluators.predictor import find_package
from learnedgec.metrics.learned import LearnedMetric, Reading
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Texts


@dataclass(frozen=True)
class Head(LearnedMetric):
    """The output of an evaluator's head, in the head's own units; for several heads, `Σ wₖ·xₖ`.

    A head trained on ratings predicts in their units: scores for adequacy rated from 1 to 5 lie roughly in
    that range. Any output of the package can be named: a head, by its name in the training configuration, or
    one of its `sums`. The system score is the mean over sentences.

    A metric's name may say `name='adequacy'` for one head, as in `head(model='mine', name='adequacy')`, and
    `weights={'adequacy': 0.7, 'fluency': 0.3}` for a sum.

    Attributes:
        model: name, directory or hub id (`org/name@revision`) of an evaluator package.
        heads: names of K outputs.
        weights: K weights; by default 1/K each.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("head(heads=('fluency', 'meaning'), weights=(0.7, 0.3))").label
        "head(model='joint-mpnet-3', weights={'fluency': 0.7, 'meaning': 0.3})"
    """

    name: ClassVar[str] = "head"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"weights"})
    model: str = RELEASED
    heads: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        size = len(self.heads)
        if not size or len(set(self.heads)) < size:
            raise ParameterError(
                f"head: name an output of the evaluator, such as head(model={self.model!r}, "
                "name='fluency'), or several of them, each once."
            )
        if not self.weights:
            object.__setattr__(self, "weights", (1 / size,) * size)
        if len(self.weights) != size:
            raise ParameterError(f"head: {len(self.weights)} weights for {size} heads.")
        self.check_weights(self.weights)

    @classmethod
    def expand(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields `heads` and `weights` for `name='adequacy'` or `weights={'adequacy': 0.7, …}`.

        Raises:
            ParameterError: the outputs are named in two ways.
        """
        expanded = dict(parameters)
        weights = expanded.get("weights")
        ways = ["name" in expanded, "heads" in expanded, isinstance(weights, Mapping)]
        if sum(ways) > 1:
            raise ParameterError("head: name the outputs once: by name, heads or weights.")
        if "name" in expanded:
            expanded["heads"] = (expanded.pop("name"),)
        if isinstance(weights, Mapping):
            expanded |= {"heads": tuple(weights), "weights": tuple(weights.values())}
        return expanded

    @property
    def label(self) -> str:
        """The short name: the model, and its head or heads."""
        if self._tuned:
            return super().label
        if self.weights == (1.0,):
            return f"{self.name}(model={self.model!r}, name={self.heads[0]!r})"
        return f"{self.name}(model={self.model!r}, weights={self._head_weights!r})"

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References | None, runtime: Runtime
    ) -> Statistics:
        """Return each head's values, float64 (N,)."""
        return Statistics(self.predictor.predict(sources, hypotheses, self.heads, runtime))

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

    def find_readings(self) -> list[Reading]:
        """Return the package and its outputs."""
        return [Reading(find_package(self.model), self._head_weights)]

    @property
    def _head_weights(self) -> dict[str, float]:
        return dict(zip(self.heads, self.weights, strict=True))
