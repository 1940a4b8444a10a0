"""Capitals of words, for encoders that do not see case."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn.functional import logsigmoid

# Marks of tokens. Only a token that begins a word is marked, because the rest of a word hardly ever changes.
UNMARKED, SMALL, CAPITAL = 0, 1, 2
# The smallest log-probability of a word, so that one unusual name does not outweigh the rest of the sentence;
# and that of a text, so that a long text in another style is not worse than one that is no correction at all.
_LEAST_OF_WORD, _LEAST_OF_TEXT = -4.0, -40.0


def mark_capitals(text: str, offsets: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each token whether it begins a word with a capital (2), a small letter (1), or neither (0).

    Args:
        text: the text, its words separated by spaces.
        offsets: start and end of each token in the text, in characters; special tokens have an empty span.

    Example:
        >>> mark_capitals("I am Ann .", [(0, 0), (0, 1), (2, 4), (5, 6), (6, 8), (9, 10), (0, 0)])
        [0, 2, 1, 2, 0, 0, 0]
    """
    marks = []
    for start, end in offsets:
        # Some tokenizers count the space before a word as part of it.
        start += len(text[start:end]) - len(text[start:end].lstrip())
        begins = end > start and (start == 0 or text[start - 1].isspace())
        letter = text[start] if begins else ""
        # Digits, punctuation and scripts without case have no other case.
        marks.append(
            UNMARKED if letter.lower() == letter.upper() else CAPITAL if letter.isupper() else SMALL
        )
    return marks


def capitals_likelihood(logits: torch.Tensor, marks: torch.Tensor) -> torch.Tensor:
    """Return the log-probability of each text's capitals, (B,): the sum over its words.

    Each word's is at least −4, and each text's at least −40, that of ten wrong words.

    Args:
        logits: (B, T), log-odds that a token begins with a capital.
        marks: (B, T), from `mark_capitals`.

    Example:
        >>> likely, unlikely = torch.tensor([[9.0, 9.0]]), torch.tensor([[CAPITAL, SMALL]])
        >>> round(float(capitals_likelihood(likely, unlikely)), 1)
        -4.0
    """
    terms = logsigmoid(torch.where(marks == CAPITAL, logits, -logits)).clamp(min=_LEAST_OF_WORD)
    return (terms * (marks != UNMARKED)).sum(dim=1).clamp(min=_LEAST_OF_TEXT)
