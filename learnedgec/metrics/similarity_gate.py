"""The gate of learned metrics: a text that is too different from its source is not a correction.

Metrics that read the hypothesis alone cannot see that its meaning is another, and one fluent sentence can
score high for every source. Common trigrams of characters tell corrections and even free rewritings from
unrelated texts, without a model and in any language. The page of results of joint-mpnet-2 has the shares of
both that the gate rejects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from learnedgec.types import Floats

# On development data, no output of an honest system that is a correction is as dissimilar, nor any reference,
# while nearly all texts are that are unrelated to their source.
GATE = 0.25

# Similarities are not negative, so this threshold accepts everything.
OPEN = -1.0

# Encoders read fewer characters.
_READ = 10_000


def character_similarities(sources: Sequence[str], hypotheses: Sequence[str]) -> Floats:
    """Return the share of trigrams of characters that source and hypothesis have in common.

    2·|S ∩ H| / (|S| + |H|), where S and H are the multisets of trigrams (Dice 1945). Case does not count, nor
    does the number of spaces, of which one is added before and after the text. One common trigram is added to
    both texts, so that a text of a single short word may change as a whole. Only the first 10,000 characters
    of a text count.

    Args:
        sources: N sentences.
        hypotheses: N sentences.

    Returns:
        float64 (N,), from 0 to 1.

    Example:
        >>> character_similarities(["He go ."] * 3, ["He goes .", "he go.", "It rains ."]).round(2).tolist()
        [0.67, 0.67, 0.21]
    """
    similarities = np.ones(len(sources))
    for row, common, size, other_size in _changed_trigrams(sources, hypotheses):
        similarities[row] = 2 * (common + 1) / (size + other_size + 2)
    return similarities


def kept_shares(sources: Sequence[str], hypotheses: Sequence[str]) -> Floats:
    """Return the share of each hypothesis that is from its source, or of the source that is in it if less.

    |S ∩ H| / max(|S|, |H|), with the trigrams of `character_similarities`: a text that was cut off has a
    low share, and so has one that was padded.

    Args:
        sources: N sentences.
        hypotheses: N sentences.

    Returns:
        float64 (N,), from 0 to 1.

    Example:
        >>> kept_shares(["He go ."] * 3, ["He goes .", "He", "He go . I hope this helps !"]).round(2).tolist()
        [0.6, 0.38, 0.29]
    """
    shares = np.ones(len(sources))
    for row, common, size, other_size in _changed_trigrams(sources, hypotheses):
        shares[row] = (common + 1) / (max(size, other_size) + 1)
    return shares


def _changed_trigrams(
    sources: Sequence[str], hypotheses: Sequence[str]
) -> Iterator[tuple[int, int, int, int]]:
    """Yield the row of each changed source, and the trigrams in common, in the source, in the hypothesis."""
    for row, (source, hypothesis) in enumerate(zip(sources, hypotheses, strict=True)):
        if hypothesis != source:
            first, second = _trigrams(source), _trigrams(hypothesis)
            yield row, (first & second).total(), first.total(), second.total()


def _trigrams(text: str) -> Counter[str]:
    """Return how often each trigram of characters is in a text."""
    words = text[:_READ].casefold().split()
    padded = f" {' '.join(words)} "
    return Counter(padded[start : start + 3] for start in range(len(padded) - 2))
