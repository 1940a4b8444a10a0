"""Sentences from any container: a list, a tuple, an array, a column of a table.

`Corpus.of` converts all sentences of a call by these functions once; inside the library they are lists of
`str`, and no metric checks them again.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Set, Sized
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from learnedgec.errors import InputError

if TYPE_CHECKING:
    from typing_extensions import TypeIs

LONGEST_SENTENCE = 3_000
"""The largest number of tokens in a sentence; the time to align two grows with the square of it."""

LONGEST_TOKEN = 10_000
"""The largest number of characters in a token."""


Element = TypeVar("Element", covariant=True)


class Items(Protocol[Element]):
    """Items in order: a list, a tuple, a NumPy array, a pandas Series, a column of `datasets`, ….

    Type checkers refuse a single text, because `str` contains only texts, and a set, which has no items by
    number. `as_items` refuses them at run time.
    """

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Element]: ...

    def __contains__(self, item: object, /) -> bool: ...

    def __getitem__(self, index: int, /) -> Any: ...


Sentences: TypeAlias = Items[str]
"""N texts, one sentence each."""


class Frame(Protocol):
    """A data frame of pandas or Polars."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""

    def __getitem__(self, name: Any, /) -> Any: ...


Systems: TypeAlias = Mapping[str, Sentences] | Frame
"""Each system's N hypotheses, by the system's name; a data frame has them in its columns."""


def as_sentences(texts: Sentences, argument: str) -> list[str]:
    """Return the sentences of any sequence of texts.

    Args:
        texts: texts in order, one sentence each.
        argument: the argument's name, for the message.

    Raises:
        InputError: it is not a sequence, or an item is not a text, has too many tokens for a sentence, or
            contains a lone surrogate, which no file or tokenizer can represent; the message names the
            argument and the index.

    Example:
        >>> import numpy as np
        >>> as_sentences(np.array(["He go .", "She goes ."]), "sources")
        ['He go .', 'She goes .']
        >>> as_sentences(["He go .", None], "sources")
        Traceback (most recent call last):
        learnedgec.errors.InputError: sources[1] is None; a text was expected.
    """
    items = as_items(texts, argument, "a sequence of texts")
    if set(map(type, items)) <= {str} and all(map(_is_sentence, items)):
        return items
    return [_as_text(item, f"{argument}[{index}]") for index, item in enumerate(items)]


def as_optional_sentences(texts: Items[str | None], argument: str) -> list[str | None]:
    """Return the sentences of a sequence in which some are absent: `None`, or NaN in a table.

    Raises:
        InputError: see `as_sentences`.
    """
    items = as_items(texts, argument, "a sequence of texts")
    return [
        None if item is None or _is_nan(item) else _as_text(item, f"{argument}[{index}]")
        for index, item in enumerate(items)
    ]


def as_systems(systems: Systems) -> dict[str, list[str]]:
    """Return every system's sentences by name; see `as_sentences`.

    Raises:
        InputError: it is not a mapping from names to sequences of texts, or it is empty.
    """
    if not isinstance(systems, Mapping) and are_systems(systems):
        systems = {name: systems[name] for name in systems.columns}
    if not isinstance(systems, Mapping):
        raise InputError(
            f"systems is {_kind(systems)}; a mapping from each system's name to its hypotheses, or a data "
            "frame with a column for each, was expected."
        )
    if not systems:
        raise InputError("systems is empty; give at least one system.")
    for name in systems:
        if not isinstance(name, str):
            raise InputError(f"systems has the key {name!r}; a system's name is a text.")
    return {name: as_sentences(texts, f"systems[{name!r}]") for name, texts in systems.items()}


def are_systems(texts: object) -> TypeIs[Systems]:
    """Return whether an argument holds the outputs of systems by name, and not of one system."""
    return isinstance(texts, Mapping) or hasattr(texts, "columns")


def as_items(values: Any, argument: str, expected: str) -> list[Any]:
    """Return the items of a sequence, whatever they are.

    Args:
        values: an ordered collection.
        argument: the argument's name.
        expected: a description of the expected value.

    Raises:
        InputError: it is not a sequence.
    """
    if type(values) is list:
        return values
    if isinstance(values, str):
        raise InputError(
            f"{argument} is the text {_shown(values)}; {expected} was expected: put it into a list."
        )
    # A table has columns, not items; a scalar array has none either.
    tabular = hasattr(values, "ndim") and not (values.ndim and hasattr(values, "tolist"))
    unordered = isinstance(values, bytes | bytearray | Mapping | Set)
    if tabular or unordered or not (isinstance(values, Sized) and isinstance(values, Iterable)):
        raise InputError(f"{argument} is {_kind(values)}; {expected} was expected.")
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _as_text(item: object, place: str) -> str:
    """Return an item as plain `str`, or raise naming its place."""
    if not isinstance(item, str):
        raise InputError(f"{place} is {_shown(item)}; a text was expected.")
    if not _is_encodable(item):
        raise InputError(
            f"{place} is {_shown(item)}, which contains a lone surrogate and has no form in UTF-8; remove it."
        )
    check_length(item, place)
    return str(item)


def check_length(text: str, place: str) -> None:
    """Raise `InputError` if a text is too long for a sentence: a file without line breaks, encoded data, ….

    Args:
        text: the text.
        place: where it stands, for the message.
    """
    # More than n tokens, and the spaces between them, need more than 2n characters.
    if len(text) < 2 * LONGEST_SENTENCE:
        return
    tokens = text.split()
    if len(tokens) > LONGEST_SENTENCE:
        size, limit = f"{len(tokens):,} tokens", f"{LONGEST_SENTENCE:,}"
    elif (longest := max(map(len, tokens), default=0)) > LONGEST_TOKEN:
        size, limit = f"a token of {longest:,} characters", f"{LONGEST_TOKEN:,}"
    else:
        return
    raise InputError(f"{place} has {size}, and at most {limit} are scored; split this line.")


def _is_sentence(text: str) -> bool:
    """Return whether a text can be encoded and is surely short enough."""
    return len(text) < 2 * LONGEST_SENTENCE and _is_encodable(text)


def _is_encodable(text: str) -> bool:
    """Return whether a text can be encoded, which a lone surrogate prevents."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_nan(item: object) -> bool:
    """Return whether an item marks a missing text in a table."""
    # pandas need not be installed to recognise its constant.
    return (isinstance(item, float) and math.isnan(item)) or type(item).__name__ == "NAType"


def _shown(item: object) -> str:
    """Return an item as a message shows it."""
    return "NaN" if _is_nan(item) else reprlib.repr(item)


def _kind(value: object) -> str:
    """Describe in words what was given in place of a sequence."""
    if value is None or isinstance(value, int | float | complex):
        return _shown(value)
    return f"of type {type(value).__name__}"


# A text whose tokens are longer than this on average seems to have no spaces between its words.
_UNSPACED = 12

# Tokens that most sentences share.
_EVERYWHERE = frozenset(".,?!。，？！")


def words_of(text: str) -> frozenset[str]:
    """Return the distinct words of a sentence, or its character bigrams if it has no spaces between words."""
    words = text.lower().split()
    if len(text) > _UNSPACED * len(words):
        return frozenset(first + second for first, second in pairwise(text))
    return frozenset(words) - _EVERYWHERE


def shared_words(first: frozenset[str], second: frozenset[str]) -> float:
    """Return Dice's coefficient of the words of two sentences: 0 if they share none, 1 if they share all."""
    return 2 * len(first & second) / max(1, len(first) + len(second))


def changed_sentences(sources: Sentences, hypotheses: Sentences) -> list[bool]:
    r"""Return for each of N sentences whether its tokens differ from its source's.

    White space around and between tokens, such as a carriage return, makes no difference.

    Example:
        >>> changed_sentences(["He go .", "Fine ."], ["He goes .", "Fine . \r"])
        [True, False]
    """
    return [
        source.split() != text.split() for source, text in zip(sources, hypotheses, strict=True)
    ]
