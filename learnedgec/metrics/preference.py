"""Learned human preference for a hypothesis over its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from learnedgec.arrays import Floats
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.references import References
from learnedgec.metrics.base import Metric
from learnedgec.metrics.statistics import Statistics
from learnedgec.models.packages import check_outputs, package_digest, package_sum
from learnedgec.models.precision import evaluator_precision
from learnedgec.models.ratings import package_ratings

__all__ = [
    "Preference",
]


@dataclass(frozen=True)
class Preference(Metric):
    """How strongly human raters prefer the hypothesis to the unchanged source, as a logit.

    `h(source, hypothesis) − h(source, source)`, where h is a head that reads the pair and was trained on
    ranked pairs of any origin (`learnedgec.training.pairs`), or a sum of heads scaled like such a head
    (`model.sums`): σ of the difference of two hypotheses' scores is the estimated share of raters who prefer
    the first (Bradley and Terry 1952). The source itself scores 0. The system score is the mean over
    sentences.

    Attributes:
        model: name, directory or hub id of an evaluator package with the head or sum `preference`;
            `joint-mpnet-2` is released with learnedgec.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("preference(model='mine')").label
        "preference(model='mine')"
    """

    name: ClassVar[str] = "preference"
    needs_references: ClassVar[bool] = False
    model: str = "joint-mpnet-2"

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return `preference`, float64 (N,)."""
        preference = np.zeros(len(sources))
        # What is as the source was gets 0 whatever the head says.
        rows = [row for row, source in enumerate(sources) if hypotheses[row] != source]
        own, changed = ([texts[row] for row in rows] for texts in (sources, hypotheses))
        both = package_ratings(self.model, ["preference"], [*own, *own], [*changed, *own], runtime)[
            "preference"
        ]
        preference[rows] = both[: len(rows)] - both[len(rows) :]
        return Statistics({"preference": preference})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the preference."""
        scores: Floats = statistics["preference"]
        return scores

    def evaluators(self) -> tuple[str, ...]:
        """Return the package."""
        return (self.model,)

    def check(self, runtime: Runtime) -> None:
        """Raise unless the package is available and has the head."""
        check_outputs(self.model, ["preference"])

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the SHA-256 of the weights, the terms of a sum, and the precision."""
        terms = package_sum(self.model, "preference")
        return {
            "sha256": package_digest(self.model),
            **({"sum": terms} if terms else {}),
            "dtype": evaluator_precision(runtime),
        }
