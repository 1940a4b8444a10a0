"""ERRANT's list of English words, and texts that seem to be swapped because of their words."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from learnedgec.errors import ModelError
from learnedgec.types import Texts

# Corrections do not add this many misspelt words by chance.
_MANY_MISSPELT = 4
# In an English text, the word list lacks at most this share of the words.
_MAX_UNLISTED = 0.2


def is_english(text: str) -> bool:
    """Return whether a word, or its part before the apostrophe, is in the word list."""
    lower = text.lower().replace("’", "'")
    words = _word_list()
    return lower in words or lower.partition("'")[0] in words


@lru_cache(maxsize=1)
def _word_list() -> frozenset[str]:
    """Return ERRANT's word list in lower case, without importing ERRANT, which imports spaCy."""
    spec = importlib.util.find_spec("errant")
    if spec is None or not spec.submodule_search_locations:
        raise ModelError("ERRANT's word list is missing; run: pip install errant")
    path = Path(spec.submodule_search_locations[0]) / "en" / "resources" / "en_GB-large.txt"
    return frozenset(path.read_text("utf-8").lower().split())


def swapped(sources: Texts, systems: Mapping[str, Texts]) -> list[str]:
    """Return a notice if every system misspells words of English sources, as if these were the corrections.

    A real system seldom adds four lower-case words that are not in the word list, and if so, it replaces more
    of such words than it adds.

    Example:
        >>> sources = ["We always receive necessary letters ."]
        >>> notice, = swapped(sources, {"ours": ["We alwayz receivve necessaryy letterz ."]})
        >>> notice[:62]
        'every system misspells words that are right in the sources: th'
    """
    if not systems:
        return []
    for hypotheses in systems.values():
        added, removed = 0, 0
        for source, text in zip(sources, hypotheses, strict=True):
            if source != text:
                before, after = set(source.split()), set(text.split())
                added += sum(map(_is_misspelt, after - before))
                removed += sum(map(_is_misspelt, before - after))
        if added < _MANY_MISSPELT or added < 3 * removed:
            return []
    words = [word for source in sources for word in source.split() if _is_plain(word)]
    if sum(map(_is_misspelt, words)) > _MAX_UNLISTED * len(words):
        return []
    return [
        "every system misspells words that are right in the sources: the files of sources and outputs may be "
        "swapped."
    ]


def _is_plain(word: str) -> bool:
    """Return whether a word is in lower case and not short, so that it is probably no name."""
    return len(word) > 3 and word.isalpha() and word.islower()


def _is_misspelt(word: str) -> bool:
    """Return whether a plain word is not in the word list."""
    return _is_plain(word) and not is_english(word)
