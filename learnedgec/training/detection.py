"""Targets for a head that detects wrong words: which words of a hypothesis are wrong."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from difflib import SequenceMatcher

__all__ = ["wrong_tokens", "wrong_words"]


def wrong_words(hypothesis: Sequence[str], correct: Sequence[str]) -> list[bool]:
    """Return for each word, and for the end of the sentence, whether it differs from the correct sentence.

    A word is wrong if it has to be replaced or removed, or if a word is missing before it. The end is wrong
    if a word is missing there.

    Example:
        >>> wrong_words("He go to school".split(), "He goes to the school .".split())
        [False, True, False, True, True]
    """
    found = [False] * (len(hypothesis) + 1)
    matcher = SequenceMatcher(None, hypothesis, correct, autojunk=False)
    for tag, start, end, _, _ in matcher.get_opcodes():
        if tag != "equal":
            for place in range(start, max(end, start + 1)):
                found[place] = True
    return found


def wrong_tokens(hypothesis: str, correct: str, offsets: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each token of the encoder whether it belongs to a wrong word, as 0 or 1.

    Special tokens have no span in the text. The last of them represents the end of the sentence.

    Args:
        hypothesis: the text, its words separated by spaces.
        correct: the correct text.
        offsets: start and end of each token in the hypothesis, in characters; special tokens have an empty
            span.

    Example:
        >>> wrong_tokens("He go", "He go .", [(0, 0), (0, 2), (3, 5), (0, 0)])
        [0, 0, 0, 1]
    """
    words = list(re.finditer(r"\S+", hypothesis))
    wrong = wrong_words([word.group() for word in words], correct.split())
    starts = [word.start() for word in words]
    # Some tokenizers count the space before a word as part of it, so the last character counts.
    labels = [
        int(end > start and wrong[bisect_right(starts, end - 1) - 1]) for start, end in offsets
    ]
    if labels and wrong[-1] and offsets[-1][0] == offsets[-1][1]:
        labels[-1] = 1
    return labels
