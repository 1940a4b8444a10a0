"""What metrics count: words, or characters where words are not separated by spaces or are too coarse."""

from __future__ import annotations

from typing import Literal

from learnedgec.data.references import Reference, References
from learnedgec.data.sentences import check_length

__all__ = ["Unit", "characters_apart", "references_apart", "units"]

Unit = Literal["word", "char"]

# Replaces a space where characters are tokens.
_SPACE = "\u2423"


def units(text: str, unit: Unit) -> list[str]:
    """Return the tokens of a text, or its characters with the spaces between tokens.

    Example:
        >>> units("He go", "char")
        ['H', 'e', ' ', 'g', 'o']
    """
    return text.split() if unit == "word" else list(text)


def characters_apart(text: str) -> str:
    """Return a text in which each character is a token; `␣` replaces white space.

    Raises:
        InputError: there are more characters than a sentence may have tokens.

    Example:
        >>> characters_apart("He go")
        'H e ␣ g o'
    """
    apart = " ".join(_SPACE if character.isspace() else character for character in text)
    check_length(apart, "a sentence, of characters,")
    return apart


def references_apart(references: References) -> References:
    """Return the texts of references with each character a token, without gold edits, which are of words."""
    return References(
        tuple(
            tuple(
                Reference(characters_apart(reference.text), annotator=reference.annotator)
                for reference in row
            )
            for row in references
        )
    )
