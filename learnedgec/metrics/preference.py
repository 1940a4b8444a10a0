"""Learned human preference for a hypothesis over its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from learnedgec.data.references import References
from learnedgec.evaluators.packages import RELEASED
from learnedgec.evaluators.predictor import find_package
from learnedgec.metrics.learned import GatedMetric, Reading
from learnedgec.metrics.similarity_gate import GATE, character_similarities
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Texts

# As a logit: fewer than one rater in a hundred prefers it to the source.
_LOWEST = -5.0


@dataclass(frozen=True)
class Preference(GatedMetric):
    """How strongly human raters prefer the hypothesis to the unchanged source, as a logit.

    `h(source, hypothesis) − h(source, source)`, where h is a head that reads the pair and was trained on
    ranked pairs of any origin (`learnedgec.training.pairs`), or a sum of heads scaled like such a head
    (`model.sums`): σ of the difference of two hypotheses' scores is the estimated share of raters who prefer
    the first (Bradley and Terry 1952). The source itself scores 0. A hypothesis that has too few trigrams of
    characters in common with its source (`metrics.similarity_gate`) is not a correction and scores at most
    −5; every other one scores at least −5. The system score is the mean over sentences.

    Attributes:
        model: name, directory or hub id of an evaluator package with the head or sum `preference`;
            `joint-mpnet-3` is released with learnedgec.
        threshold: a hypothesis whose share of common trigrams is at most this is rejected; −1 accepts
            everything, and bounds no score.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("preference(model='mine')").label
        'preference[mine]'
    """

    name: ClassVar[str] = "preference"
    evaluator_parameter: ClassVar[str] = "model"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"threshold"})
    model: str = RELEASED
    threshold: float = GATE

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References | None, runtime: Runtime
    ) -> Statistics:
        """Return `preference` before the gate, and `similarity`, both float64 (N,)."""
        preference = np.zeros(len(sources))
        # The difference is 0 for an unchanged source, which need not be encoded.
        rows = [row for row, source in enumerate(sources) if hypotheses[row] != source]
        unchanged, changed = ([texts[row] for row in rows] for texts in (sources, hypotheses))
        values = self.predictor.predict(
            [*unchanged, *unchanged], [*changed, *unchanged], ["preference"], runtime
        )["preference"]
        preference[rows] = values[: len(rows)] - values[len(rows) :]
        similarity = character_similarities(sources, hypotheses)
        return Statistics({"preference": preference, "similarity": similarity})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the preference: at most −5 where the gate rejects, else at least −5."""
        return self.bounded(statistics["preference"], statistics, _LOWEST)

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return the similarity."""
        return {"similarity": statistics["similarity"]}

    def find_readings(self) -> list[Reading]:
        """Return the package and its output."""
        return [Reading(find_package(self.model), {"preference": 1.0})]
