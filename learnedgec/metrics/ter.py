"""TER: the edits from an output to its reference, where a shift of words is one edit; sacreBLEU's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from learnedgec.data.references import References
from learnedgec.errors import MissingDependencyError
from learnedgec.metrics.base import ResampledMetric, Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Texts


@dataclass(frozen=True)
class Ter(ResampledMetric):
    """1 − TER, so that higher is better: 1 − edits/length, with the edits from output to reference.

    Edits are insertions, deletions and substitutions of tokens, and shifts of a block of words, 1 each, to
    the nearest reference; the length is the mean of the references'. They come from sacreBLEU's `TER`, whose
    default is to ignore case. The corpus score is 1 − Σ edits/Σ lengths, and the detail `ter` is what
    `sacrebleu -m ter` prints, 100 · Σ edits/Σ lengths. A long output has more edits than its reference has
    tokens, so scores may be below 0. Where all references are empty, the score is 0 if there are edits, and
    otherwise 1, as in sacreBLEU. The source is not used.

    Source: Snover et al., "A Study of Translation Edit Rate with Targeted Human Annotation" (AMTA 2006).

    Attributes:
        case_sensitive: count a changed capital as an edit.

    Example: `load_metric("ter").score(["He go ."], ["Home he goes ."], [["He goes home ."]]).value` is .75,
    one shift in four tokens (`pip install 'learnedgec[ter]'`).
    """

    name: ClassVar[str] = "ter"
    case_sensitive: bool = False

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References | None, runtime: Runtime
    ) -> Statistics:
        """Return `edits` int (N,) and `length` float (N,).

        Raises:
            MissingDependencyError: sacreBLEU is not installed.
        """
        try:
            from sacrebleu.metrics.ter import TER
        except ImportError:
            raise MissingDependencyError("sacrebleu", "ter", "the metric ter") from None
        assert references is not None
        ter = TER(case_sensitive=self.case_sensitive)
        scores = [
            ter.sentence_score(hypothesis, [reference.text for reference in row])
            for hypothesis, row in zip(hypotheses, references, strict=True)
        ]
        return Statistics(
            {
                "edits": np.array([score.num_edits for score in scores], dtype=np.int64),
                "length": np.array([score.ref_length for score in scores], dtype=np.float64),
            }
        )

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return 1 − edits/length of each sentence."""
        return 1 - _rate(statistics["edits"], statistics["length"])

    def aggregate_many(self, statistics: Statistics, samples: npt.NDArray[np.intp]) -> Floats:
        """Return 1 − Σ edits/Σ lengths of each resample."""
        edits, lengths = statistics["edits"], statistics["length"]
        return 1 - _rate(edits[samples].sum(axis=1), lengths[samples].sum(axis=1))

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return sacreBLEU's score, and edits and length, both summed over sentences."""
        edits, length = (float(statistics[name].sum()) for name in ("edits", "length"))
        rate = _rate(np.array(edits), np.array(length))
        return {"ter": 100 * float(rate), "edits": edits, "length": length}


def _rate(edits: Floats, lengths: Floats) -> Floats:
    """Return edits/length; 1 where there are edits without length, and 0 where there is neither."""
    rates: Floats = np.where(lengths > 0, edits / np.where(lengths > 0, lengths, 1), edits > 0)
    return rates
