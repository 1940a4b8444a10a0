"""Tokens of tokenised texts (words between spaces, or characters), and tokenisation of raw texts.

`str.split()` reads `school.` as one token and `school .` as two.

Metrics compare tokens, so sources, hypotheses and references must be tokenised in the same way. `tokenise`
uses spaCy's tokenizer for English, with which the BEA-2019 data were tokenised. `Runtime(tokenise='spacy')`
tokenises all texts before they are scored, and signatures then contain `tokens:spacy-en-VERSION`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Any, Literal

from learnedgec.data.references import Reference, References
from learnedgec.data.sentences import Sentences, as_sentences, check_length
from learnedgec.types import Texts


def tokenise(texts: Sentences) -> list[str]:
    """Return texts tokenised by spaCy's rules for English, with single spaces between tokens.

    Each word between spaces is tokenised separately, and its tokens are tokenised again until nothing
    changes, so `tokenise(tokenise(texts)) == tokenise(texts)`. Only spaces are added or removed. A word of
    more than 1,000 characters is not changed.

    Args:
        texts: texts in English.

    Raises:
        InputError: an item is not a text.

    Example:
        >>> tokenise(["I don't walk to school.", "I do n't walk to school ."])
        ["I do n't walk to school .", "I do n't walk to school ."]
    """
    return [" ".join(map(_tokenise_word, text.split())) for text in as_sentences(texts, "texts")]


def tokenise_references(references: References, sources: Texts) -> References:
    """Return references with tokenised texts.

    Gold edits refer to tokens of their source, so they are kept only if source and reference are already
    tokenised.

    Args:
        references: references of N sentences.
        sources: the N sentences that gold edits belong to, before tokenisation.
    """

    def retokenised(source: str, reference: Reference) -> Reference:
        before, after = tokenise([source, reference.text])
        same = before.split() == source.split() and after.split() == reference.text.split()
        return replace(reference, text=after, edits=reference.edits if same else None)

    return references.map(retokenised, sources)


def describe_tokens() -> str:
    """Return the tokenizer and its version, for signatures; the rules may change with spaCy's version."""
    return f"spacy-en-{version('spacy')}"


# The tokenizer's time grows with the square of a word's length, and no real word is longer than this.
_LONGEST_WORD = 1_000


@cache
def _tokenizer() -> Any:
    import spacy

    return spacy.blank("en").tokenizer


@lru_cache(maxsize=1 << 17)
def _tokenise_word(word: str) -> str:
    """Return the tokens of a word, separated by spaces."""
    if len(word) > _LONGEST_WORD:
        return word
    pieces = [token.text for token in _tokenizer()(word)]
    return word if len(pieces) < 2 else " ".join(map(_tokenise_word, pieces))


# -- words or characters -------------------------------------------------------------------------


Unit = Literal["word", "char"]
"""The unit that metrics count; characters suit texts without spaces between words."""

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
