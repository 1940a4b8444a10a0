"""Which words of a hypothesis are wrong, as targets for a head that detects them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from difflib import SequenceMatcher

__all__ = ["wrong_tokens", "wrong_words"]


def wrong_words(hypothesis: Sequence[str], correct: Sequence[str]) -> list[bool]:
    """Return for each word, and for the end of the sentence, whether it differs from what is correct.

    A word is wrong if it has to be replaced or taken away, and also if something is missing before it.

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

    Of the special tokens, which have no place in the text, the last one stands for the end of the sentence.

    Args:
        hypothesis: its words lie between blanks.
        correct: what it should be.
        offsets: where each token starts and ends in the hypothesis; special tokens have an empty place.

    Example:
        >>> wrong_tokens("He go", "He go .", [(0, 0), (0, 2), (3, 5), (0, 0)])
        [0, 0, 0, 1]
    """
    words = list(re.finditer(r"\S+", hypothesis))
    wrong = wrong_words([word.group() for word in words], correct.split())
    starts = [word.start() for word in words]
    labels = [int(end > start and wrong[bisect_right(starts, start) - 1]) for start, end in offsets]
    if labels and wrong[-1] and offsets[-1][0] == offsets[-1][1]:
        labels[-1] = 1
    return labels
