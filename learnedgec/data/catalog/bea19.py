"""The parts of BEA-19 dev, whose 4,384 sentences several datasets share.

`pillars` and `jelv` have all of them, `robustgec:bea19` 2,503, `attack:bea19-dev` attacks on all. To keep
training data and test data apart, these datasets have the same parts, of blocks of 50 sentences (so that
essays are seldom split). Of every 20 blocks, 14 are in `train`, 3 in `dev` and 3 in `test`, spread evenly:
3,100, 650 and 634 sentences. `test` is for reports only (`learnedgec.data.catalog.leakage`). 27
sentences repeat an earlier one, a few of them in another part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

__all__ = ["BEA19_PARTS", "BEA19_SOURCES", "bea19_part", "of_part", "parts_of_sources"]

T = TypeVar("T")

# The whole first: it is read in the order of the file.
BEA19_PARTS = ("", "train", "dev", "test")

# The sentences, in the dataset `pillars`.
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
    """Return those of 4,384 rows that are in a part: all for `""`."""
    return [row for number, row in enumerate(rows) if not part or bea19_part(number) == part]


def parts_of_sources(sources: Iterable[str]) -> dict[str, str]:
    """Return the part of each distinct sentence; one that occurs in several is in `test`, else in `dev`."""
    parts: dict[str, str] = {}
    for number, source in enumerate(sources):
        places = {bea19_part(number), parts.get(source)}
        parts[source] = next(part for part in ("test", "dev", "train") if part in places)
    return parts
