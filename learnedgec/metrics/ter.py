"""HTER and TER: the rate of edits that turn an output into its reference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from learnedgec.data.tokenisation import Unit, units
from learnedgec.errors import needs
from learnedgec.metrics.contract import ResampledMetric, Statistics
from learnedgec.metrics.counts import CountingMetric
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Indices, Texts


class _EditRate(CountingMetric, ResampledMetric):
    """1 − edits/length."""

    counted: ClassVar[tuple[str, ...]] = ("edits", "length")

    def used_edits(self, statistics: Statistics) -> Floats:
        """Return the edits of each sentence that count."""
        return statistics["edits"]

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return 1 − edits/length of each sentence."""
        return 1 - _rate(self.used_edits(statistics), statistics["length"])

    def aggregate_many(self, statistics: Statistics, samples: Indices) -> Floats:
        """Return 1 − Σ edits/Σ lengths of each resample."""
        edits, lengths = self.used_edits(statistics), statistics["length"]
        return 1 - _rate(edits[samples].sum(axis=1), lengths[samples].sum(axis=1))

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the sums over sentences of all edits and of the references' mean lengths."""
        return {name: float(statistics[name].sum()) for name in self.counted}


def _rate(edits: Floats, lengths: Floats) -> Floats:
    """Return edits/length; 1 where there are edits without length, and 0 where there is neither."""
    return np.where(lengths > 0, edits / np.where(lengths > 0, lengths, 1), edits > 0)


@dataclass(frozen=True)
class Hter(_EditRate):
    """HTER, inverted so that higher is better: 1 − edits/length, with the edits from output to post-edit.

    The edits are the Levenshtein distance from the hypothesis to the nearest reference: the number of
    insertions, deletions and substitutions of tokens. The length is the mean length of the references, and 1
    if all are empty. At most as many edits as the length count, so every score is between 0 and 1: 1 means
    that nothing had to be changed, and 0 that nothing could be used. The corpus score is
    1 − Σ min(edits, length)/Σ lengths. The source is not used.

    If the references are human post-edits of this very output, as in `load_benchmark("swedish:post-edits")`,
    the rate is human-targeted. With other references, it is the translation edit rate.

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

    def count(self, source: str, hypothesis: str, references: Texts) -> tuple[float, ...]:
        """Return the distance to the nearest reference, and the mean length of the references."""
        from rapidfuzz.distance import Levenshtein

        output, *texts = (units(text, self.unit) for text in (hypothesis, *references))
        edits = min(Levenshtein.distance(output, text) for text in texts)
        return edits, sum(map(len, texts)) / len(texts) or 1.0

    def used_edits(self, statistics: Statistics) -> Floats:
        """Return the edits of each sentence, at most its length."""
        return np.minimum(statistics["edits"], statistics["length"])


@dataclass(frozen=True)
class Ter(_EditRate):
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

    def count(self, source: str, hypothesis: str, references: Texts) -> tuple[float, ...]:
        """Return sacreBLEU's edits and length."""
        score = _sacrebleu_ter(self.case_sensitive).sentence_score(hypothesis, references)
        return score.num_edits, score.ref_length

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return sacreBLEU's score, and edits and length, both summed over sentences."""
        details = super().details(statistics)
        rate = _rate(np.array(details["edits"]), np.array(details["length"]))
        return {"ter": 100 * float(rate), **details}

    def check(self, runtime: Runtime) -> None:
        """Raise `MissingDependencyError` unless sacreBLEU is installed."""
        with needs("ter", "the metric ter"):
            import sacrebleu  # noqa: F401


@lru_cache
def _sacrebleu_ter(case_sensitive: bool) -> Any:
    """Return sacreBLEU's TER."""
    from sacrebleu.metrics.ter import TER

    return TER(case_sensitive=case_sensitive)
