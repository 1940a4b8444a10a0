"""The base of metrics whose statistics are counts of each sentence by itself: `ter` and `sentinels`."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from learnedgec.data.references import References
from learnedgec.metrics.contract import Metric, Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Texts


class CountingMetric(Metric):
    """A metric whose statistics are counts of each sentence by itself."""

    counted: ClassVar[tuple[str, ...]] = ("score",)
    """The names of the counts."""

    @abstractmethod
    def count(self, source: str, hypothesis: str, references: Texts) -> tuple[float, ...]:
        """Return the counts of a sentence, in the order of `counted`."""

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return each count, float64 (N,)."""
        counts = np.zeros((len(self.counted), len(sources)))
        rows = zip(sources, hypotheses, references, strict=True)
        for number, (source, hypothesis, row) in enumerate(rows):
            texts = [reference.text for reference in row]
            counts[:, number] = self.count(source, hypothesis, texts)
        return Statistics(dict(zip(self.counted, counts, strict=True)))

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the count `score` of each sentence."""
        return statistics["score"]
