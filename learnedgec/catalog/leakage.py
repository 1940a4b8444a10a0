"""The guard against training or tuning on the text that evaluation uses.

SEEDA, GJG15 and CoNLL-2014 share their sources, so a metric trained on any of that text is not tested
by them. Forbidden are the CoNLL-2014 sources, its references and expert, crowd and system-attack
rewrites, and RobustGEC's variants of them. Only 64-bit hashes of these sentences are shipped
(`conll14.hashes`, written by `scripts/leakage_hashes.py`), so the check needs no dataset and no network.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files as package_files

from learnedgec.errors import LeakageError

__all__ = ["MINIMUM_WORDS", "check_leakage", "fingerprint", "overlapping"]

# Shorter sentences ("What is genetic risk ?") are too generic to tell where they come from.
MINIMUM_WORDS = 5
HASHES = "conll14.hashes"
HASH_BYTES = 8


def fingerprint(sentence: str) -> bytes | None:
    """Return the 8-byte hash of a sentence's words, or `None` for fewer than five.

    Only letters and digits count, without case: tokenisation, quotation marks and punctuation do not
    hide a sentence.

    Example:
        >>> fingerprint("It's a test , is n't it ?") == fingerprint("it 's a test, isn't it?")
        True
        >>> fingerprint("What is this ?") is None
        True
    """
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", sentence).casefold())
    if len(words) < MINIMUM_WORDS:
        return None
    return hashlib.blake2b("".join(words).encode(), digest_size=HASH_BYTES).digest()


@cache
def _forbidden() -> frozenset[bytes]:
    """Return the hashes of the forbidden sentences."""
    content = (package_files(__package__) / HASHES).read_bytes()
    return frozenset(
        content[start : start + HASH_BYTES] for start in range(0, len(content), HASH_BYTES)
    )


def overlapping(texts: Iterable[str]) -> list[int]:
    """Return the positions, from 0, of the texts that evaluation forbids to train on."""
    forbidden = _forbidden()
    return [number for number, text in enumerate(texts) if fingerprint(text) in forbidden]


def check_leakage(texts: Sequence[str], name: str) -> None:
    """Raise unless none of the training texts is CoNLL-2014 text.

    Args:
        texts: sources, hypotheses and references to train, select or tune on.
        name: what to call them in the message.

    Raises:
        LeakageError: with the first such sentence and how many there are.

    Example:
        >>> check_leakage(["A sentence that nobody evaluates on ."], "my data")
    """
    found = overlapping(texts)
    if found:
        distinct = len({fingerprint(texts[number]) for number in found})
        raise LeakageError(
            f"{name} has {distinct} sentences of CoNLL-2014 (in {len(found)} of {len(texts)} texts), on "
            f"which evaluators are tested; the first is {texts[found[0]][:80]!r}. Leave them out: "
            "learnedgec.catalog.leakage.overlapping says which they are."
        )
