"""Ranked pairs: reading and writing them, drawing some of them, and what the number of edits tells."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Literal, TypeAlias, get_args

from rapidfuzz.distance import Levenshtein

from learnedgec.data.text import check_sentence, read_jsonl, write_jsonl
from learnedgec.errors import FormatError
from learnedgec.runtime.writing import PathLike

__all__ = [
    "BALANCE",
    "Nearness",
    "RankedPair",
    "drawn",
    "edit_balance",
    "nearness",
    "pair_summary",
    "read_ranked_pairs",
    "write_ranked_pairs",
]

Nearness: TypeAlias = Literal["nearer", "equal", "farther"]
"""Whether the better side of a pair is nearer to its source than the worse side."""
BALANCE: tuple[Nearness, ...] = get_args(Nearness)


@dataclass(frozen=True, slots=True)
class RankedPair:
    """Two corrections of one source, of which one is better.

    Attributes:
        source: the source sentence.
        better: the better correction.
        worse: the worse correction.
        margin: how much better it is, in the units of the pair source.
        group: pairs of one group belong in one part of any split.
        origin: the dataset or file that the pair was made from.
        correct: the correct sentence, for heads that detect wrong words; empty if unknown.
    """

    source: str
    better: str
    worse: str
    margin: float = 1.0
    group: str = ""
    origin: str = ""
    correct: str = ""


def write_ranked_pairs(path: PathLike, pairs: Iterable[RankedPair]) -> None:
    """Write one JSON object per pair."""
    write_jsonl(path, (asdict(pair) for pair in pairs))


def read_ranked_pairs(path: PathLike) -> list[RankedPair]:
    """Read pairs from JSONL: `source`, `better`, `worse`, and optionally the other attributes.

    Pairs without a group are grouped by source.

    Raises:
        FormatError: a line lacks a text or has an invalid value; the message names the line.
    """
    pairs = []
    for number, record in enumerate(read_jsonl(path, required=("source", "better", "worse")), 1):
        place = f"{path}:{number}"
        texts = {key: record[key] for key in ("source", "better", "worse")}
        texts |= {key: record.get(key) or "" for key in ("group", "origin", "correct")}
        for key, text in texts.items():
            if key in ("group", "origin"):
                if not isinstance(text, str):
                    raise FormatError(f"{place}: {key!r} must be a text, not {str(text)[:60]}.")
            else:
                check_sentence(text, place, key)
        margin = record.get("margin", 1.0)
        if not isinstance(margin, int | float) or not 0 <= margin < 1e300:
            raise FormatError(
                f"{place}: 'margin' must be a number of at least 0, not {str(margin)[:60]}."
            )
        if texts["better"] == texts["worse"]:
            raise FormatError(
                f"{place}: 'better' and 'worse' are the same text; leave the pair out."
            )
        texts["group"] = texts["group"] or texts["source"]
        pairs.append(RankedPair(margin=float(margin), **texts))
    return pairs


def drawn(
    pairs: list[RankedPair], number: int | None, generator: random.Random
) -> list[RankedPair]:
    """Return that number of pairs in random order, or all of them as they are if there are no more."""
    return pairs if number is None or number >= len(pairs) else generator.sample(pairs, number)


def _distances(pair: RankedPair) -> tuple[int, int]:
    """Return the word distances of the better and of the worse side from the source."""
    source = pair.source.split()
    better, worse = (
        Levenshtein.distance(source, text.split()) for text in (pair.better, pair.worse)
    )
    return better, worse


def nearness(pair: RankedPair) -> Nearness:
    """Return `nearer`, `equal` or `farther`: the distance of the better side compared with the worse one.

    Example:
        >>> nearness(RankedPair("She go .", "She goes .", "She go ."))
        'farther'
    """
    better, worse = _distances(pair)
    return "nearer" if better < worse else "equal" if better == worse else "farther"


def edit_balance(pairs: Sequence[RankedPair]) -> dict[str, Any]:
    """Return the mean distances of both sides from the source, and how often each side is farther.

    The distance is the smallest number of words that must be substituted, inserted or deleted.

    Returns:
        `better_farther`, `equally_far`, `better_nearer`: shares of the pairs, which sum to 1;
        `better_distance`, `worse_distance`: mean distances in words. All are 0 if there are no pairs.

    Example:
        >>> edit_balance([RankedPair("She go .", "She goes .", "She go .")])["better_farther"]
        1.0
    """
    distances = [_distances(pair) for pair in pairs]
    count = max(len(pairs), 1)
    return {
        "better_farther": sum(better > worse for better, worse in distances) / count,
        "equally_far": sum(better == worse for better, worse in distances) / count,
        "better_nearer": sum(better < worse for better, worse in distances) / count,
        "better_distance": sum(better for better, _ in distances) / count,
        "worse_distance": sum(worse for _, worse in distances) / count,
    }


def pair_summary(pairs: Sequence[RankedPair]) -> dict[str, Any]:
    """Return the number of pairs and of sources, the mean margin, and `edit_balance`."""
    return {
        "pairs": len(pairs),
        "sources": len({pair.source for pair in pairs}),
        "margin": fmean(pair.margin for pair in pairs) if pairs else 0.0,
        **edit_balance(pairs),
    }
