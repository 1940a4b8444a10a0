"""Sentences as they are normally written, from tokens separated by spaces (extra `published`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from learnedgec.errors import MissingDependencyError

# Moses does not split these off, so it does not join them either.
_CONTRACTED = re.compile(r" (n't|N'T)(?= |$)")


def detokenise(sentences: Sequence[str]) -> list[str]:
    """Return English sentences without the spaces that tokenisation puts before punctuation and inside words.

    The rules are those of Moses (`sacremoses`), and `n't` joins its verb.

    Raises:
        MissingDependencyError: `sacremoses` is not installed.

    Example:
        >>> detokenise(["She did n't ( I 'm sure ) , he said ."])
        ["She didn't (I'm sure), he said."]
    """
    try:
        from sacremoses import MosesDetokenizer
    except ImportError:
        raise MissingDependencyError("sacremoses", "published", "detokenised input") from None
    rules = MosesDetokenizer(lang="en")
    return [
        str(rules.detokenize(_CONTRACTED.sub(r"\1", sentence).split(), unescape=False))
        for sentence in sentences
    ]
