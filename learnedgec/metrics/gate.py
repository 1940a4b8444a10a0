"""A gate for metrics of trained evaluators: texts too different from their source are no corrections.

A metric that reads the hypothesis alone cannot see another meaning, so one fluent sentence can score high for
every source. Common trigrams of characters tell corrections, and even free rewritings, from unrelated texts.
They need no model, and work in any language. The page of results of joint-mpnet-3 has the shares of
corrections and of unrelated texts that the gate rejects.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from learnedgec.evaluators.loading import checkpoint_digest
from learnedgec.metrics.contract import Statistics
from learnedgec.metrics.learned import LearnedMetric
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Mask, Texts

# In development data, every correction by an honest system and every reference is more similar to its source
# than this, and nearly every unrelated text is less similar.
GATE = 0.25

# Similarities are not negative, so this threshold accepts everything.
OPEN = -1.0

CHARACTERS = "characters"

# Only this many characters at the beginning of a text are compared; encoders read fewer.
_MAX_CHARACTERS = 10_000


class GatedMetric(LearnedMetric):
    """A learned metric that rejects hypotheses too different from their source.

    Its statistics have `similarity`. A subclass has the field `threshold`.
    """

    if TYPE_CHECKING:
        threshold: float | None

    def gate(self, runtime: Runtime) -> tuple[str, float]:
        """Return what measures similarity, an encoder or `characters`, and the default of `threshold`."""
        return CHARACTERS, GATE

    def thresholds(self, statistics: Statistics) -> float | Floats:
        """Return the threshold in use: one for all sentences, or float64 (N,)."""
        return statistics["threshold"] if self.threshold is None else self.threshold

    def accepted(self, statistics: Statistics) -> Mask:
        """Return which hypotheses are similar enough to their source, bool (N,)."""
        return statistics["similarity"] > self.thresholds(statistics)

    def bounded(self, scores: Floats, statistics: Statistics, lowest: float) -> Floats:
        """Return bounded scores, so that no rejected hypothesis scores higher than an accepted one.

        Accepted hypotheses score at least `lowest`, and rejected hypotheses at most `lowest`. With a negative
        threshold there is no gate and no bound.

        Args:
            scores: float64 (N,).
            statistics: statistics of the same N sentences.
            lowest: the bound between rejected and accepted hypotheses.
        """
        accepted, no_gate = self.accepted(statistics), np.less(self.thresholds(statistics), 0)
        bounded = np.where(accepted, np.maximum(scores, lowest), np.minimum(scores, lowest))
        return np.where(no_gate, scores, bounded)

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the means, and the share of hypotheses that were rejected."""
        rejected = float(np.mean(~self.accepted(statistics)))
        return {**super().details(statistics), "rejected": rejected}

    def describe_processing(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the gate and its encoder, if it has one; empty if the gate accepts everything."""
        similarity, usual = self.gate(runtime)
        threshold = usual if self.threshold is None else self.threshold
        if threshold < 0:
            return {}
        if similarity == CHARACTERS:
            return {"gate": f"{CHARACTERS}>{threshold:g}"}
        digest = checkpoint_digest(similarity)
        return {"gate": f"cosine>{threshold:g}", "encoder": similarity, "encoder-sha256": digest}


# -- the similarity of source and hypothesis --------------------------------------------------------


def character_similarities(sources: Texts, hypotheses: Texts) -> Floats:
    """Return the share of trigrams of characters that source and hypothesis have in common.

    The share is 2·|S ∩ H| / (|S| + |H|), where S and H are the multisets of trigrams (Dice 1945). Neither
    case nor the number of spaces counts; one space is added before and after each text. One common trigram is
    added to both texts, so that a text of a single short word may change as a whole. Only the first 10,000
    characters of a text count.

    Args:
        sources: N sentences.
        hypotheses: N sentences.

    Returns:
        float64 (N,), from 0 to 1.

    Example:
        >>> character_similarities(["He go ."] * 3, ["He goes .", "he go.", "It rains ."]).round(2).tolist()
        [0.67, 0.67, 0.21]
    """
    common, size, other_size = _trigram_counts(sources, hypotheses)
    similarities: Floats = 2 * (common + 1) / (size + other_size + 2)
    return similarities


def kept_shares(sources: Texts, hypotheses: Texts) -> Floats:
    """Return the share of trigrams of the longer text, source or hypothesis, that both have in common.

    The share is |S ∩ H| / max(|S|, |H|), with the trigrams of `character_similarities`. It is low for a text
    that was cut off, and for one that was padded.

    Args:
        sources: N sentences.
        hypotheses: N sentences.

    Returns:
        float64 (N,), from 0 to 1.

    Example:
        >>> kept_shares(["He go ."] * 3, ["He goes .", "He", "He go . I hope this helps !"]).round(2).tolist()
        [0.6, 0.38, 0.29]
    """
    common, size, other_size = _trigram_counts(sources, hypotheses)
    shares: Floats = (common + 1) / (np.maximum(size, other_size) + 1)
    return shares


def _trigram_counts(sources: Texts, hypotheses: Texts) -> Floats:
    """Return the numbers of trigrams: common, of source, of hypothesis, (3, N); 0 for unchanged sources."""
    counts = np.zeros((3, len(sources)))
    for row, (source, hypothesis) in enumerate(zip(sources, hypotheses, strict=True)):
        if hypothesis != source:
            first, second = _trigrams(source), _trigrams(hypothesis)
            counts[:, row] = (first & second).total(), first.total(), second.total()
    return counts


def _trigrams(text: str) -> Counter[str]:
    """Count the trigrams of characters in a text."""
    words = text[:_MAX_CHARACTERS].casefold().split()
    padded = f" {' '.join(words)} "
    return Counter(map("".join, zip(padded, padded[1:], padded[2:], strict=False)))
