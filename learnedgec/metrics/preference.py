"""The preference of human raters for the hypothesis over the unchanged source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from learnedgec.data.references import References
from learnedgec.evaluators import RELEASED
from learnedgec.evaluators.locations import open_package
from learnedgec.evaluators.predictor import predict
from learnedgec.metrics.contract import Statistics
from learnedgec.metrics.gate import GATE, GatedMetric, character_similarities
from learnedgec.metrics.learned import OutputSum
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Texts

# With this logit, fewer than one rater in a hundred prefers the hypothesis to the source.
_LOWEST_PREFERENCE = -5.0


@dataclass(frozen=True)
class Preference(GatedMetric):
    """The preference of human raters for the hypothesis over the unchanged source, as a logit.

    `h(source, hypothesis) − h(source, source)`. Here h is a head that reads the pair and was trained on
    ranked pairs of any origin (`learnedgec.training.pairs`), or a sum of heads scaled like such a head
    (`model.sums`). σ of the difference of two hypotheses' scores is the estimated share of raters who prefer
    the first (Bradley and Terry 1952). The source itself scores 0. If a hypothesis has too few trigrams of
    characters in common with its source (`character_similarities`), it is not a correction and scores at most
    −5. Every other hypothesis scores at least −5. The system score is the mean over sentences.

    Attributes:
        model: name, directory or hub id of an evaluator package with the head or sum `preference`;
            `open-mpnet` is part of the installation.
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
    per_sentence: ClassVar[tuple[str, ...]] = ("similarity",)
    model: str = RELEASED
    threshold: float = GATE

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return `preference` before the gate, and `similarity`, both float64 (N,)."""
        preference = np.zeros(len(sources))
        # The preference for an unchanged source is 0, so the source need not be encoded.
        rows = [row for row, source in enumerate(sources) if hypotheses[row] != source]
        unchanged, changed = ([texts[row] for row in rows] for texts in (sources, hypotheses))
        pairs = [*unchanged, *unchanged], [*changed, *unchanged]
        values = predict(self.predictor(runtime), *pairs, ["preference"], runtime)["preference"]
        preference[rows] = values[: len(rows)] - values[len(rows) :]
        similarity = character_similarities(sources, hypotheses)
        return Statistics({"preference": preference, "similarity": similarity})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the preference: at most −5 for rejected hypotheses, and at least −5 for all others."""
        return self.bounded(statistics["preference"], statistics, _LOWEST_PREFERENCE)

    def output_sums(self, runtime: Runtime) -> list[OutputSum]:
        """Return the package with its output `preference`."""
        return [OutputSum(runtime.open(open_package, self.model), {"preference": 1.0})]
