"""Tokens of texts as they come: `school.` is one word to `str.split()`, and `school .` two tokens.

Metrics compare tokens, so sources, hypotheses and references have to be cut alike. `tokenise` cuts as spaCy
does for English, which is how the BEA-2019 data were cut; scoring with `Runtime(tokenise='spacy')` cuts
everything so first, and signatures then say `tokens:spacy-en-VERSION`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Any

from learnedgec.errors import InputError
from learnedgec.formats.references import Reference, References
from learnedgec.formats.sentences import Sentences, as_sentences
from learnedgec.formats.text import excerpts

__all__ = ["describe_tokens", "tokenise", "tokenise_references"]


def tokenise(texts: Sentences) -> list[str]:
    """Return texts whose tokens, by spaCy's rules for English, are separated by single spaces.

    Each word between spaces is cut by itself, and what it is cut into is cut again until nothing changes, so
    that tokens stay as they are: `tokenise(tokenise(texts)) == tokenise(texts)`. No character but spaces is
    added or left out. A word of more than 1,000 characters stays as it is.

    Raises:
        InputError: something is no text.

    Example:
        >>> tokenise(["I don't walk to school.", "I do n't walk to school ."])
        ["I do n't walk to school .", "I do n't walk to school ."]
    """
    return [" ".join(map(_cut, text.split())) for text in as_sentences(texts, "texts")]


def tokenise_references(references: References, sources: Sequence[str]) -> References:
    """Return references with tokenised texts.

    Gold edits count the tokens of their source: they are kept where source and reference are in tokens
    already, and elsewhere only the text is.

    Args:
        references: of N sentences.
        sources: the N sentences that gold edits belong to, as they were before they were tokenised.
    """

    def cut(source: str, reference: Reference) -> Reference:
        (before, after), text = tokenise([source, reference.text]), reference.text
        same = before.split() == source.split() and after.split() == text.split()
        return replace(
            reference, text=text if same else after, edits=reference.edits if same else None
        )

    return References(
        tuple(
            tuple(cut(source, reference) for reference in row)
            for source, row in zip(sources, references, strict=True)
        )
    )


def check_tokens(name: str, sources: Sequence[str], own: Sequence[str]) -> None:
    """Raise `InputError` where a file of references was made for other sentences, whatever their tokens."""
    for number, (source, other) in enumerate(zip(tokenise(sources), tokenise(own), strict=True), 1):
        if source != other:
            shown, given = excerpts(other, source)
            raise InputError(
                f"sentence {number} of {name} differs from the source: {shown!r} against "
                f"{given!r}; give the file that belongs to this source."
            )


def describe_tokens() -> str:
    """Return what made the tokens, for signatures: their rules may change with spaCy's version."""
    return f"spacy-en-{version('spacy')}"


# The tokenizer's time grows with the square of a word's length. No word is so long.
_LONGEST_WORD = 1_000


@cache
def _tokenizer() -> Any:
    import spacy

    return spacy.blank("en").tokenizer


@lru_cache(maxsize=1 << 17)
def _cut(word: str) -> str:
    """Return the tokens of a text without spaces, separated by spaces."""
    if len(word) > _LONGEST_WORD:
        return word
    pieces = [token.text for token in _tokenizer()(word)]
    return word if len(pieces) < 2 else " ".join(map(_cut, pieces))
