"""Sets of cases arranged for evaluation, with what changed in each variant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from learnedgec.data.catalog.cases import Case
from learnedgec.edits.max_match import reference_edits
from learnedgec.errors import InputError

TOTAL = "total"

Dimension: TypeAlias = Literal["action", "distance", "nearest", "frequency"]

_ACTIONS = ("substitute", "insert", "delete", "mixed", "none")
_DISTANCES = {"0-1": 1, "2-3": 3, "4-6": 6, "7-10": 10, "11+": float("inf")}
_FREQUENCIES = {"0": 0, "1-10": 10, "11-100": 100, "101-1000": 1000, "1001+": float("inf")}
# Occurrences of a word in training data, in the groups of RobustGEC's paper (Figure 3).
_COUNTS = {"0-9": 9, "10-50": 50, "51+": float("inf")}

# The groups of each dimension in order; groups of numbers map to the largest number that they hold.
_GROUPS: Mapping[Dimension, Iterable[str]] = {
    "action": _ACTIONS,
    "distance": _DISTANCES,
    "nearest": _DISTANCES,
    "frequency": (*_FREQUENCIES, *_COUNTS),
}


@dataclass(frozen=True, slots=True)
class ContextChange:
    """The difference between the source of a variant and the original's.

    Attributes:
        action: `substitute`, `insert` or `delete`; `mixed` for several of these, `none` if the sentences are
            the same.
        distance: number of tokens of the original between the error and the change, 0 if they touch; `None`
            unless there is exactly one of each.
        nearest: number of tokens between the error and the change that are nearest to each other; `None` if
            there is no error or no change.
        words: the words that replace others.
    """

    action: str
    distance: int | None
    nearest: int | None
    words: tuple[str, ...]


def describe_changes(case: Case) -> tuple[ContextChange, ...]:
    """Describe the difference between the source of each variant and the original's.

    Changes and errors are the shortest differences of tokens, as `reference_edits` finds them: changes
    between the two sources, errors between source and target of the original.

    Example:
        >>> from learnedgec.data.catalog import Pair
        >>> original = Pair("He go to the old school .", "He goes to the old school .")
        >>> variant = Pair("He go to the new school .", "He goes to the new school .")
        >>> describe_changes(Case(original, (variant,)))
        (ContextChange(action='substitute', distance=2, nearest=2, words=('new',)),)
    """
    errors = reference_edits(case.original.source, case.original.target)
    described = []
    for variant in case.variants:
        changes = reference_edits(case.original.source, variant.source)
        actions = {
            "insert" if edit.start == edit.end else "substitute" if edit.correction else "delete"
            for edit in changes
        }
        distances = [
            max(change.start - error.end, error.start - change.end, 0)
            for change in changes
            for error in errors
        ]
        words = [edit.correction.split() for edit in changes if edit.start < edit.end]
        described.append(
            ContextChange(
                action="mixed" if len(actions) > 1 else next(iter(actions), "none"),
                distance=distances[0] if len(distances) == 1 else None,
                nearest=min(distances, default=None),
                words=tuple(chain.from_iterable(words)),
            )
        )
    return tuple(described)


def case_statistics(cases: Sequence[Case]) -> dict[str, float]:
    """Return statistics of a set of cases: of originals and variants, of their edits, and of the changes.

    `describe_changes` finds edits and changes; a sentence without edits has 0 edits. A kind of change
    has its share of all variants.

    Example:
        >>> from learnedgec.data.catalog import Pair
        >>> original = Pair("He go to the old school .", "He goes to the old school .")
        >>> variant = Pair("He go to the new big school .", "He goes to the new big school .")
        >>> statistics = case_statistics([Case(original, (variant,))])
        >>> statistics["edits"], statistics["variants' tokens"], statistics["substitute"]
        (1.0, 8.0, 1.0)
    """
    parts = {
        "": [case.original for case in cases],
        "variants' ": [variant for case in cases for variant in case.variants],
    }
    changes = [
        len(reference_edits(case.original.source, variant.source))
        for case in cases
        for variant in case.variants
    ]
    statistics: dict[str, float] = {"cases": len(cases), "variants": len(changes)}
    for whose, pairs in parts.items():
        edits = np.array([len(reference_edits(pair.source, pair.target)) for pair in pairs])
        statistics |= {
            f"{whose}tokens": float(np.mean([len(pair.source.split()) for pair in pairs])),
            f"{whose}with edits": float((edits > 0).mean()),
            f"{whose}edits": float(edits.mean()),
        }
    statistics["changes"] = float(np.mean(changes))
    actions = Counter(change.action for case in cases for change in describe_changes(case))
    return statistics | {action: actions[action] / len(changes) for action in _ACTIONS}


def word_counts(sentences: Iterable[str]) -> Counter[str]:
    """Return how often each word occurs, in lower case.

    Example:
        >>> word_counts(["The cat saw the dog ."])["the"]
        2
    """
    return Counter(token.lower() for sentence in sentences for token in sentence.split())


def group_variants(
    changes: Sequence[Sequence[ContextChange]],
    frequencies: Mapping[str, float],
    bins: Mapping[str, float] = _FREQUENCIES,
) -> dict[tuple[Dimension, str], list[tuple[int, int]]]:
    """Return which variants belong to each group of each dimension.

    Args:
        changes: the changes of each variant, for each case.
        frequencies: frequency of each word. A substitution has the frequency of its rarest word.
        bins: group of frequencies -> the highest frequency in it.

    Returns:
        (dimension, group) -> the number of the case and the number of the variant, from 1, of each member.
        Groups without members are left out. Each variant is in one group of `action`; in one of `distance` if
        it has one change and its case has one error, as in the paper; in one of `nearest` if there are one or
        more of each; and in one of `frequency` if it is a substitution.
    """
    groups: dict[tuple[Dimension, str], list[tuple[int, int]]] = {
        (dimension, name): [] for dimension, names in _GROUPS.items() for name in names
    }
    for number, variants in enumerate(changes):
        for place, change in enumerate(variants, 1):
            groups["action", change.action].append((number, place))
            if change.distance is not None:
                groups["distance", _bin(change.distance, _DISTANCES)].append((number, place))
            if change.nearest is not None:
                groups["nearest", _bin(change.nearest, _DISTANCES)].append((number, place))
            if change.action == "substitute":
                rarest = min(frequencies.get(word.lower(), 0.0) for word in change.words)
                groups["frequency", _bin(rarest, bins)].append((number, place))
    return {group: members for group, members in groups.items() if members}


def _bin(value: float, bins: Mapping[str, float]) -> str:
    """Return the name of the first bin that a value does not exceed."""
    return next(name for name, bound in bins.items() if value <= bound)


@dataclass(frozen=True, slots=True)
class CaseSet:
    """C cases with up to V variants; the sentences of all sets form one long list.

    Attributes:
        name: the name of the set.
        sizes: int (C,), the number of sentences of each case: the original and its variants.
        rows: int (C, V + 1), the place of each sentence in the list. The original is first, and repeated as
            padding.
        real: bool (C, V + 1), false for padding.
        groups: the members of each group of variants: see `group_variants`.
    """

    name: str
    sizes: npt.NDArray[np.intp]
    rows: npt.NDArray[np.intp]
    real: npt.NDArray[np.bool_]
    groups: Mapping[tuple[Dimension, str], Sequence[tuple[int, int]]]


def arrange_cases(
    parts: Mapping[str, Sequence[Case]], occurrences: Mapping[str, float] | None = None
) -> list[CaseSet]:
    """Return each set of cases and, if there are several, `total`, all of them one after the other.

    Args:
        parts: sets of cases by name. The long list has the sentences (`Case.pairs`) of the first set, then
            those of the second, and so on.
        occurrences: the number of occurrences of each word in a text such as a system's training data, for
            the groups of the paper. By default, a word has its frequency per million tokens in the sources
            and targets of all originals.

    Raises:
        InputError: a set has no case, or a case no variant.
    """
    for name, cases in parts.items():
        if not cases:
            raise InputError(f"{name} has no case to evaluate; give one or more.")
        for number, case in enumerate(cases, 1):
            if not case.variants:
                raise InputError(f"case {number} of {name} has no variant; leave it out.")
    frequencies, bins = occurrences, _COUNTS
    if frequencies is None:
        originals = [case.original for cases in parts.values() for case in cases]
        counts = word_counts(text for pair in originals for text in (pair.source, pair.target))
        scale = 1e6 / max(counts.total(), 1)
        frequencies = {word: scale * count for word, count in counts.items()}
        bins = _FREQUENCIES
    everything = list(chain.from_iterable(parts.values()))
    changes = [describe_changes(case) for case in everything]
    sizes = np.array([1 + len(case.variants) for case in everything], dtype=np.intp)
    first = (np.cumsum(sizes) - sizes)[:, None]
    ends = np.cumsum([0, *map(len, parts.values())]).tolist()
    spans = dict(zip(parts, map(slice, ends, ends[1:]), strict=True))
    if len(parts) > 1:
        spans[TOTAL] = slice(None)
    sets = []
    for name, span in spans.items():
        places = np.arange(sizes[span].max())
        real = places < sizes[span, None]
        rows = first[span] + places * real
        groups = group_variants(changes[span], frequencies, bins)
        sets.append(CaseSet(name, sizes[span], rows, real, groups))
    return sets
