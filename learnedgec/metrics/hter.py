"""HTER: how little of an output a human post-editor had to change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from learnedgec.arrays import Floats
from learnedgec.edits.distances import levenshtein_distance, warn_of_slow_distances
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.references import References
from learnedgec.metrics.base import Metric
from learnedgec.metrics.statistics import Statistics
from learnedgec.metrics.units import Unit, units

__all__ = ["Hter"]


@dataclass(frozen=True)
class Hter(Metric):
    """HTER, inverted so that higher is better: 1 − edits/length, with the edits from output to post-edit.

    The edits are the Levenshtein distance from the hypothesis to the nearest reference: insertions,
    deletions and substitutions of tokens, 1 each. The length is the mean of the references', 1 where all
    are empty. The corpus score is 1 − Σ edits/Σ lengths. 1 means that nothing had to be changed; much
    superfluous text makes the score negative. The source is not used.

    The rate is human-targeted if the references are human post-edits of this very output, such as
    those of `load_benchmark("swedish:post-edits")`; with other references it is the translation edit rate.

    Deviation: TER counts the shift of a block of words as one edit of any length, found by a greedy search;
    here a shift counts as deletions and insertions, as in the word error rate.

    Source: Snover et al., "A Study of Translation Edit Rate with Targeted Human Annotation" (AMTA 2006).

    Attributes:
        unit: edits of tokens, or of characters with the spaces between tokens.

    Example:
        >>> from learnedgec import load_metric
        >>> score = load_metric("hter").score(["He go ."], ["He go home ."], [["He goes home ."]])
        >>> score.value, score.details["edits"]
        (0.75, 1.0)
    """

    name: ClassVar[str] = "hter"
    unit: Unit = "word"

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return `edits` int (N,) and `length` float (N,)."""
        assert references is not None
        edits, lengths, longest = [], [], []
        for hypothesis, row in zip(hypotheses, references, strict=True):
            texts = [units(reference.text, self.unit) for reference in row]
            made = units(hypothesis, self.unit)
            edits.append(min(levenshtein_distance(made, text) for text in texts))
            lengths.append(sum(map(len, texts)) / len(texts) or 1.0)
            longest.append(max(len(made), *map(len, texts)))
        warn_of_slow_distances(longest)
        return Statistics(
            {
                "edits": np.array(edits, dtype=np.int64),
                "length": np.array(lengths, dtype=np.float64),
            }
        )

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return 1 − edits/length of each sentence."""
        scores: Floats = 1 - statistics["edits"] / statistics["length"]
        return scores

    def aggregate(self, statistics: Statistics) -> float:
        """Return 1 − Σ edits/Σ lengths."""
        return float(1 - statistics["edits"].sum() / statistics["length"].sum())

    def aggregate_many(self, statistics: Statistics, samples: npt.NDArray[np.intp]) -> Floats:
        """Return the corpus score of each resample."""
        edits, lengths = (statistics[name][samples].sum(axis=1) for name in ("edits", "length"))
        scores: Floats = 1 - edits / lengths
        return scores

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the edits and the mean length of the references, both summed over sentences."""
        return {name: float(statistics[name].sum()) for name in ("edits", "length")}
