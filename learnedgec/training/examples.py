"""What an evaluator learns from: rated sentences, ranked pairs and cases, in one form, and their split."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from learnedgec.catalog.cases import Case
from learnedgec.catalog.ratings import Rating
from learnedgec.errors import InputError
from learnedgec.training.pairs import RankedPair

__all__ = [
    "PARTS",
    "Example",
    "Split",
    "case_examples",
    "pair_examples",
    "rating_examples",
    "split_examples",
]

Split = Literal["by-source", "paper-random"]
PARTS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Example:
    """Texts, and what is known about them.

    Attributes:
        texts: (source, hypothesis) of each. A rated sentence has one; a ranked pair two, the better one
            first; a case four: the correction and the source of the original, then of a variant.
        values: rating of text 0 by head.
        ranked: heads that shall value text 0 above text 1.
        consistent: heads whose preference between texts 0 and 1 shall be that between 2 and 3.
        margin: by how much text 0 is ahead of text 1, for heads that learn differences.
        correct: what the texts should have become, for heads that detect wrong words; empty where unknown.
        group: examples of one group belong on one side of a split.
    """

    texts: tuple[tuple[str, str], ...]
    values: Mapping[str, float] = field(default_factory=dict)
    ranked: tuple[str, ...] = ()
    consistent: tuple[str, ...] = ()
    margin: float = 0.0
    correct: str = ""
    group: str = ""

    @property
    def sides(self) -> set[str]:
        """Its group and its sources: what must not be on two sides of a split."""
        return {name for name in (self.group, *(source for source, _ in self.texts)) if name}

    @property
    def heads(self) -> set[str]:
        """The heads that learn from this."""
        return {*self.values, *self.ranked, *self.consistent}


def rating_examples(ratings: Iterable[Rating]) -> list[Example]:
    """Return rated sentences as examples."""
    return [
        Example(((rating.source, rating.hypothesis),), rating.values, group=rating.group)
        for rating in ratings
    ]


def pair_examples(pairs: Mapping[str, Iterable[RankedPair]]) -> list[Example]:
    """Return the ranked pairs of each head as examples; a pair that several heads share is one.

    Repeats of a pair within one head stay.
    """
    found: dict[tuple[RankedPair, int], list[str]] = {}
    for head, rows in pairs.items():
        repeats: dict[RankedPair, int] = {}
        for pair in rows:
            repeats[pair] = repeats.get(pair, -1) + 1
            found.setdefault((pair, repeats[pair]), []).append(head)
    return [
        Example(
            ((pair.source, pair.better), (pair.source, pair.worse)),
            ranked=tuple(heads),
            margin=pair.margin,
            correct=pair.correct,
            group=pair.group or pair.source,
        )
        for (pair, _), heads in found.items()
    ]


def case_examples(
    cases: Mapping[str, Iterable[Case]], variants: int | None = None, seed: int = 0
) -> list[Example]:
    """Return the original of each case beside its variants; heads that share a case share it.

    Args:
        cases: of each head. Where nothing is to be corrected there is nothing to prefer, and no example.
        variants: how many of each case's variants, drawn at random; all by default.
        seed: of the draw.
    """
    found: dict[Case, list[str]] = {}
    for head, rows in cases.items():
        for case in rows:
            found.setdefault(case, []).append(head)
    examples = []
    for case, heads in found.items():
        corrected = [pair for pair in case.variants if pair.source.split() != pair.target.split()]
        if case.original.source.split() == case.original.target.split():
            continue
        if variants is not None and variants < len(corrected):
            draw = random.Random(f"{seed} {case.original.source}")
            corrected = draw.sample(corrected, variants)
        examples += [
            Example(
                tuple(
                    (pair.source, text)
                    for pair in (case.original, variant)
                    for text in (pair.target, pair.source)
                ),
                consistent=tuple(heads),
                group=case.original.source,
            )
            for variant in corrected
        ]
    return examples


def split_examples(
    examples: Sequence[Example],
    split: Split,
    seed: int = 0,
    placed: Mapping[str, str] | None = None,
) -> dict[str, list[Example]]:
    """Divide examples into train, dev and test, 8:1:1.

    Args:
        examples: of at least three groups. Beside groups that are placed, one or two others are for training.
        split: `by-source` keeps a group on one side, the honest default; `paper-random` deals single
            examples out at random as Yoshimura et al. (2020) did (3,376, 422 and 423 of TMU-GFM's
            4,221), so that outputs for one source fall on both sides. For comparison only.
        seed: of the shuffle; the same seed gives the same split.
        placed: group or source -> part of what was divided before; groups that share one go there. Not for
            single examples dealt out at random.
    """
    units: list[list[Example]]
    before: dict[str, list[Example]] = {part: [] for part in PARTS}
    if split == "paper-random":
        units = [[example] for example in examples]
    else:
        groups: dict[str, list[Example]] = {}
        for example in examples:
            groups.setdefault(example.group, []).append(example)
        places = placed or {}
        for group in list(groups):
            known = [places[side] for row in groups[group] for side in row.sides if side in places]
            if known:
                before[known[0]] += groups.pop(group)
        units = list(groups.values())
        if placed and len(units) < len(PARTS):
            before["train"] += [example for unit in units for example in unit]
            return before
    random.Random(seed).shuffle(units)
    if len(units) < len(PARTS):
        raise InputError(
            f"{len(units)} groups of examples cannot be split into train, dev and test."
        )
    train = max(min(int(0.8 * len(units)), len(units) - 2), 1)
    dev = train + max((len(units) - train) // 2, 1)
    pieces = (units[:train], units[train:dev], units[dev:])
    return {
        part: before[part] + [example for unit in piece for example in unit]
        for part, piece in zip(PARTS, pieces, strict=True)
    }
