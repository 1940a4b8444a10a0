"""The quality of a hypothesis by a trained evaluator: the score of the released one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import expit

from learnedgec.data.references import References
from learnedgec.evaluators import RELEASED
from learnedgec.evaluators.locations import open_package
from learnedgec.evaluators.predictor import predict
from learnedgec.metrics.contract import Statistics
from learnedgec.metrics.gate import CHARACTERS, GATE, OPEN, GatedMetric, character_similarities
from learnedgec.metrics.learned import OutputSum
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Texts

LOWEST_QUALITY = -10.0
"""The largest raw output of a rejected hypothesis; to four digits, its sigmoid is 0."""


@dataclass(frozen=True)
class Quality(GatedMetric):
    """The quality of the hypothesis by an evaluator's output `quality`, if it may be a correction, else 0.

    `activation(quality)` where the hypothesis has enough trigrams of characters in common with its source
    (`character_similarities`), else 0. The package decides what `quality` is: a head that learned from ranked
    pairs, or a sum of heads. The output of the released `open-mpnet` is described on the evaluator's card.
    The system score is the mean over sentences.

    With `activation='none'`, the score is the raw output: at most −10 for a rejected hypothesis, and at least
    −10 for every other one.

    Attributes:
        model: name, directory or hub id of an evaluator package with the output `quality`; `open-mpnet` is
            part of the installation.
        threshold: a hypothesis whose share of common trigrams is at most this is rejected; −1 accepts
            everything. The default is 0.25, unless the package was trained with another `model.gate` than
            `characters`; then it is −1.
        activation: `sigmoid`, so that scores lie between 0 and 1, or `none`.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("quality(activation='none')").label
        "quality[open-mpnet](activation='none')"
    """

    name: ClassVar[str] = "quality"
    evaluator_parameter: ClassVar[str] = "model"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"threshold", "activation"})
    per_sentence: ClassVar[tuple[str, ...]] = ("quality", "similarity")
    means: ClassVar[tuple[str, ...]] = ("similarity",)
    model: str = RELEASED
    threshold: float | None = None
    activation: Literal["sigmoid", "none"] = "sigmoid"

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return `quality`, the raw output, and `similarity`, both float64 (N,).

        `threshold`, float64 (N,), is the default of the parameter `threshold`.
        """
        runtime = runtime.bound()
        quality = predict(self.predictor(runtime), sources, hypotheses, ["quality"], runtime)
        return Statistics(
            {
                **quality,
                "similarity": character_similarities(sources, hypotheses),
                "threshold": np.full(len(sources), self.gate(runtime)[1]),
            }
        )

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the activated quality; rejected hypotheses score 0, or at most −10 without activation."""
        quality = statistics["quality"]
        if self.activation == "none":
            return self.bounded(quality, statistics, LOWEST_QUALITY)
        return np.where(self.accepted(statistics), expit(quality), 0.0)

    def output_sums(self, runtime: Runtime) -> list[OutputSum]:
        """Return the package with its output `quality`."""
        return [OutputSum(runtime.open(open_package, self.model), {"quality": 1.0})]

    def gate(self, runtime: Runtime) -> tuple[str, float]:
        """Return `characters`, and the default of `threshold` by the gate of the package's training."""
        return CHARACTERS, GATE if self.predictor(runtime).gate == CHARACTERS else OPEN
