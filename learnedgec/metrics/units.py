"""What metrics count: words, or characters where words are not separated by spaces or are too coarse."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from learnedgec.edits.pieces import LongSentenceWarning
from learnedgec.execution.notices import warn_of_inputs
from learnedgec.formats.references import Reference, References

__all__ = ["Unit", "characters_apart", "references_apart", "units", "warn_of_long_words"]

Unit = Literal["word", "char"]

# Replaces a space where characters are tokens.
_SPACE = "\u2423"

# In characters. No sentence is so long, in any script, and aligning so many takes seconds.
_LONGEST_WORD = 10_000


def units(text: str, unit: Unit) -> list[str]:
    """Return the tokens of a text, or its characters with the spaces between tokens.

    Example:
        >>> units("He go", "char")
        ['H', 'e', ' ', 'g', 'o']
    """
    return text.split() if unit == "word" else list(text)


def characters_apart(text: str) -> str:
    """Return a text in which each character is a token; `␣` replaces white space.

    A word of more than 10,000 characters stays one token (`warn_of_long_words`).

    Example:
        >>> characters_apart("He go")
        'H e ␣ g o'
    """
    parts: Iterable[str] = text
    if len(text) > _LONGEST_WORD:
        words = re.split(r"(\s)", text)
        parts = [part for word in words for part in ([word] if len(word) > _LONGEST_WORD else word)]
    return " ".join(_SPACE if part.isspace() else part for part in parts)


def warn_of_long_words(texts: Iterable[str]) -> None:
    """Warn where texts have words that `characters_apart` leaves whole."""
    longer = [
        len(word)
        for text in texts
        if len(text) > _LONGEST_WORD
        for word in text.split()
        if len(word) > _LONGEST_WORD
    ]
    if longer:
        warn_of_inputs(
            LongSentenceWarning(
                f"words longer than {_LONGEST_WORD:,} characters, of which there are {len(longer)}, up to "
                f"{max(longer):,} characters, count as one character each; is each line one sentence?"
            )
        )


def references_apart(references: References) -> References:
    """Return the texts of references with each character a token, without gold edits, which are of words."""
    return References(
        tuple(
            tuple(Reference(characters_apart(each.text), annotator=each.annotator) for each in row)
            for row in references
        )
    )
