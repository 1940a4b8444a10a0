"""METEOR between two sentences, by exact and stemmed matches."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

# The parameters of Lavie and Agarwal (2007) for English that every later version took as defaults.
_ALPHA, _BETA, _GAMMA = 0.9, 3.0, 0.5


def meteor(hypothesis: str, reference: str) -> float:
    """Return METEOR of a hypothesis against one reference, from 0 to 1.

    With m matched tokens, P = m/|hypothesis|, R = m/|reference|, and c chunks (runs of matches that are
    neighbours in both), `F·(1 − 0.5·(c/m)³)` with `F = P·R/(0.9·P + 0.1·R)`; 0 without a match.

    Lower-cased tokens match where they are equal, then where their Porter stems are; there are no
    synonyms and no paraphrases. In each stage the longest common subsequence of the tokens still free
    is matched first, and what is left from left to right; the official programs search for the alignment
    with the fewest chunks, which between a sentence and its correction is nearly always this one.

    Source: Banerjee and Lavie, "METEOR: An Automatic Metric for MT Evaluation with Improved Correlation with
    Human Judgments" (2005); Lavie and Agarwal (2007) for the parameters.

    Example:
        >>> round(meteor("She walks to school .", "She walk to school ."), 4)
        0.996
        >>> meteor("a b", "c d")
        0.0
    """
    words = [text.lower().split() for text in (hypothesis, reference)]
    matches = _match(words[0], words[1], {})
    stems = [[_stem(word) for word in sentence] for sentence in words]
    matches = _match(stems[0], stems[1], matches)
    if not matches:
        return 0.0
    precision, recall = (len(matches) / len(sentence) for sentence in words)
    f = precision * recall / (_ALPHA * precision + (1 - _ALPHA) * recall)
    order = sorted(matches.items())
    chunks = 1 + sum((b - a, d - c) != (1, 1) for (a, c), (b, d) in pairwise(order))
    penalty: float = _GAMMA * (chunks / len(matches)) ** _BETA
    return f * (1 - penalty)


def _match(first: list[str], second: list[str], matches: dict[int, int]) -> dict[int, int]:
    """Add matches between equal tokens to the existing ones, position to position."""
    from rapidfuzz.distance import LCSseq

    left = [i for i in range(len(first)) if i not in matches]
    taken = set(matches.values())
    right = [j for j in range(len(second)) if j not in taken]
    opcodes = LCSseq.opcodes([first[i] for i in left], [second[j] for j in right])
    subsequence = {
        left[block.a + step]: right[block.b + step]
        for block in opcodes.as_matching_blocks()
        for step in range(block.size)
    }
    matches = matches | subsequence
    free = sorted(set(right) - set(subsequence.values()))
    for i in left:
        j = next((j for j in free if i not in matches and second[j] == first[i]), None)
        if j is not None:
            matches[i] = j
            free.remove(j)
    return matches


@lru_cache(maxsize=65536)
def _stem(word: str) -> str:
    stem: str = _stemmer().stemWord(word)
    return stem


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("porter")
