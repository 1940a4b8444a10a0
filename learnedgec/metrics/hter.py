"""HTER: the share of an output that a human post-editor did not have to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from learnedgec.data.references import References
from learnedgec.metrics.base import ResampledMetric, Statistics
from learnedgec.metrics.ngrams import Unit, units
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Texts


@dataclass(frozen=True)
class Hter(ResampledMetric):
    """HTER, inverted so that higher is better: 1 − edits/length, with the edits from output to post-edit.

    The edits are the Levenshtein distance from the hypothesis to the nearest reference: the number of
    insertions, deletions and substitutions of tokens. The length is the mean length of the references, and 1
    if all are empty. At most as many edits as the length count, so every score is between 0 and 1: 1 means
    that nothing had to be changed, and 0 that nothing could be used. The corpus score is
    1 − Σ min(edits, length)/Σ lengths. The source is not used.

    The rate is human-targeted if the references are human post-edits of this very output, such as
    those of `load_benchmark("swedish:post-edits")`; with other references it is the translation edit rate.

    Deviations: the rate of a sentence is at most 1, as in the quality estimation tasks of WMT, so that an
    output that repeats itself without end does not outweigh a corpus. TER counts the shift of a block of
    words as one edit of any length, found by a greedy search; here a shift counts as deletions and
    insertions, as in the word error rate.

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
        self, sources: Texts, hypotheses: Texts, references: References | None, runtime: Runtime
    ) -> Statistics:
        """Return `edits` int (N,) and `length` float (N,)."""
        from rapidfuzz.distance import Levenshtein

        assert references is not None
        edits, lengths = [], []
        for hypothesis, row in zip(hypotheses, references, strict=True):
            texts = [units(reference.text, self.unit) for reference in row]
            output = units(hypothesis, self.unit)
            edits.append(min(Levenshtein.distance(output, text) for text in texts))
            lengths.append(sum(map(len, texts)) / len(texts) or 1.0)
        return Statistics(
            {
                "edits": np.array(edits, dtype=np.int64),
                "length": np.array(lengths, dtype=np.float64),
            }
        )

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return 1 − edits/length of each sentence, at least 0."""
        scores: Floats = 1 - _capped(statistics) / statistics["length"]
        return scores

    def aggregate_many(self, statistics: Statistics, samples: npt.NDArray[np.intp]) -> Floats:
        """Return 1 − Σ min(edits, length)/Σ lengths of each resample."""
        edits, lengths = _capped(statistics), statistics["length"]
        scores: Floats = 1 - edits[samples].sum(axis=1) / lengths[samples].sum(axis=1)
        return scores

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the sums over sentences of all edits and of the references' mean lengths."""
        return {name: float(statistics[name].sum()) for name in ("edits", "length")}


def _capped(statistics: Statistics) -> Floats:
    """Return the edits of each sentence, at most its length."""
    edits: Floats = np.minimum(statistics["edits"], statistics["length"])
    return edits
