"""Guards against training or tuning on evaluation data.

SEEDA, GJG15 and CoNLL-2014 share their sources, so a metric trained on any of that text cannot be tested on
them. The guards forbid the CoNLL-2014 sources, the references, the rewrites by experts, by the crowd and by
attacks, and RobustGEC's variants. Only 64-bit hashes of these sentences are shipped (`conll14.hashes`,
written by `scripts/leakage_hashes.py`), so the check needs no dataset and no network.

The 4,384 sentences of BEA-19 dev are in several datasets: `pillars` and `jelv` have all of them,
`robustgec:bea19` 2,503, `attack:bea19-dev` attacks on all. These datasets have the same parts, of blocks of
50 sentences (so that essays are seldom split). Of every 20 blocks, 14 are in `train`, 3 in `dev` and 3 in
`test`, spread evenly: 3,100, 650 and 634 sentences. 27 sentences repeat an earlier one, a few of them in
another part.

`reserved.hashes` lists further sentences that no training, selection or tuning may see. Training leaves them
out without an error, because some of them are sentences that anybody may write.

The part `test` and `peet` are for reports only; they are guarded by their names. `robustgec:bea19` as a whole
is not guarded: evaluators were trained on it before the parts were drawn. An evaluator's manifest lists its
training data, and `share_text` tells which datasets share sentences.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from importlib.resources import files as package_files
from typing import TypeVar

import numpy as np

from learnedgec.errors import LeakageError

T = TypeVar("T")

# Shorter sentences ("What is genetic risk ?") are too generic to show where they come from.
MINIMUM_WORDS = 5
HASHES, RESERVED_HASHES = "conll14.hashes", "reserved.hashes"
HASH_BYTES = 8


@lru_cache(maxsize=1024)  # rows with one source follow each other
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


def hashes_of(content: bytes) -> frozenset[bytes]:
    """Return the hashes that the content of a file holds."""
    return frozenset(np.frombuffer(content, f"V{HASH_BYTES}").tolist())


@cache
def read_hashes(name: str) -> frozenset[bytes]:
    """Return the hashes in a file beside this module."""
    return hashes_of((package_files(__package__) / name).read_bytes())


def is_reserved(text: str) -> bool:
    """Return whether a sentence is kept for evaluation, so that training leaves it out.

    Example:
        >>> is_reserved("A sentence of no benchmark at all .")
        False
    """
    digest = fingerprint(text)
    return digest in read_hashes(RESERVED_HASHES) or digest in read_hashes(HASHES)


def overlapping(texts: Iterable[str]) -> list[int]:
    """Return the positions, from 0, of the texts that must not be trained on."""
    forbidden = read_hashes(HASHES)
    return [number for number, text in enumerate(texts) if fingerprint(text) in forbidden]


def check_leakage(rows: Iterable[str] | Iterable[Sequence[str]], name: str) -> None:
    """Raise unless none of the training texts is CoNLL-2014 text.

    Args:
        rows: sources, hypotheses and references to train, select or tune on: single texts, or rows of texts
            such as the sentences of a table.
        name: their name in the message.

    Raises:
        LeakageError: with the first such sentence and how many there are.

    Example:
        >>> check_leakage(["A sentence of no benchmark at all ."], "my data")
    """
    for _ in without_reserved(rows, lambda row: [row] if isinstance(row, str) else row, name):
        pass


def without_reserved(
    rows: Iterable[T], texts_of: Callable[[T], Sequence[str]], name: str
) -> Iterator[T]:
    """Yield the rows that have no reserved sentence.

    Args:
        rows: training data.
        texts_of: returns the texts of a row.
        name: the name of the data in a message.

    Raises:
        LeakageError: after the last row, if texts are CoNLL-2014 text.
    """
    conll14, reserved = read_hashes(HASHES), read_hashes(RESERVED_HASHES)
    forbidden: list[list[str]] = []
    count = 0
    for row in rows:
        count += 1
        digests = {text: fingerprint(text) for text in texts_of(row)}
        if leaked := [text for text, digest in digests.items() if digest in conll14]:
            forbidden.append(leaked)
        elif reserved.isdisjoint(digests.values()):
            yield row
    if forbidden:
        distinct = len({fingerprint(text) for texts in forbidden for text in texts})
        raise LeakageError(
            f"{name} has {distinct} sentence{'s' if distinct > 1 else ''} of CoNLL-2014 (in "
            f"{len(forbidden):,} of {count:,} rows), on which evaluators are tested; the first is "
            f"{forbidden[0][0][:80]!r}. Leave out the sentences that "
            "learnedgec.data.catalog.overlapping(texts) names, or say data.check_leakage: false; the "
            "evaluator then cannot be tested on SEEDA, GJG15 or CoNLL-2014, and its card says so."
        )


# -- the parts of BEA-19 dev ----------------------------------------------------------------------

# The empty name comes first and denotes all of BEA-19 dev in the order of the file.
BEA19_PARTS = ("", "train", "dev", "test")

# The file of the sentences in the dataset `pillars`.
BEA19_SOURCES = "data/evaluation_sets/bea-dev.txt"

_BLOCK, _CYCLE = 50, 20
_DEV, _TEST = frozenset((4, 10, 17)), frozenset((7, 13, 19))


def bea19_part(number: int) -> str:
    """Return the part of a sentence of BEA-19 dev by its number, from 0.

    Example:
        >>> [bea19_part(number) for number in (0, 199, 200, 249, 250, 350)]
        ['train', 'train', 'dev', 'dev', 'train', 'test']
    """
    block = number // _BLOCK % _CYCLE
    return "dev" if block in _DEV else "test" if block in _TEST else "train"


def of_part(rows: Sequence[T], part: str) -> list[T]:
    """Return the rows of BEA-19 dev that are in a part; the part `""` has all 4,384."""
    return [row for number, row in enumerate(rows) if not part or bea19_part(number) == part]


def parts_of_sources(sources: Iterable[str]) -> dict[str, str]:
    """Return the part of each distinct sentence: `test` if it occurs there, else `dev` if it occurs there."""
    parts: dict[str, str] = {}
    for number, source in enumerate(sources):
        candidates = {bea19_part(number), parts.get(source)}
        parts[source] = next(part for part in ("test", "dev", "train") if part in candidates)
    return parts


# The key of the sentences of BEA-19 dev, and the names of datasets that have some or all of these sentences.
# Parts of such a dataset are parts of BEA-19 dev. `proqe` is a dataset of a package of the user's.
_BEA19 = "bea19-dev"
_SAME_AS_BEA19 = (
    *("pillars", "jelv", "proqe", "robustgec:bea19", "attack:bea19-dev"),
    "wi-locness:dev",
)


def share_text(first: str, second: str) -> bool:
    """Return whether two names of datasets may share sentences.

    Example:
        >>> share_text("robustgec:bea19", "pillars:test"), share_text("jelv:train", "pillars:test")
        (True, False)
    """
    return any(
        text == other_text and (_within(part, other_part) or _within(other_part, part))
        for text, part in _texts(first)
        for other_text, other_part in _texts(second)
    )


def check_reserved(names: Iterable[str]) -> None:
    """Raise if a name includes sentences that are for reports only.

    Raises:
        LeakageError: with the first such name.
    """
    for name in names:
        if name.partition(":")[0] == "peet":
            raise LeakageError(
                f"{name} has sentences that are for reports only, those of the benchmark peet; train or tune "
                "on other data, such as gmeg:fce."
            )
        if name in ("pillars", "jelv", "proqe", "wi-locness", "wi-locness:dev") or any(
            text == _BEA19 and _within(part, "test") for text, part in _texts(name)
        ):
            raise LeakageError(
                f"{name} has sentences that are for reports only, the part 'test' of BEA-19 dev; train on "
                "its parts 'train' and 'dev'."
            )


def _texts(name: str) -> list[tuple[str, str]]:
    """Return the keys of a dataset's texts, each with the part that a name denotes."""
    dataset, _, part = name.partition(":")
    texts = [(dataset, part)]
    for alias in _SAME_AS_BEA19:
        if name == alias or name.startswith((f"{alias}:", f"{alias}/")):
            texts.append((_BEA19, name[len(alias) + 1 :]))
        elif alias.startswith(f"{name}:"):
            texts.append((_BEA19, ""))
    return texts


def _within(part: str, whole: str) -> bool:
    """Return whether a part is the whole, or lies within it."""
    return not whole or part == whole or part.startswith(f"{whole}/")
