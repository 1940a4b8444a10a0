"""Sets of cases from the command line: sentences with variants in which only the context differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from jsonargparse import Namespace

from learnedgec.cli.inputs import system_names
from learnedgec.data.catalog.cases import CASES, Case, Pair, load_cases
from learnedgec.data.text import read_lines
from learnedgec.errors import InputError
from learnedgec.robustness.cases import TOTAL, word_frequencies

__all__ = ["CaseFlags", "all_pairs", "expanded", "read_frequencies", "read_parts"]


@dataclass
class CaseFlags:
    """Which cases.

    Attributes:
        case: robustgec, one of its parts such as robustgec:bea19, sample, or a file: RobustGEC's para.txt, or
            .jsonl with source, target and variants.
        frequencies: text from which word frequencies are counted (default: the originals of the cases).
    """

    case: list[str] | None = None
    frequencies: str | None = None


def expanded(names: Sequence[str]) -> list[str]:
    """Return the names, with each whole dataset replaced by its parts."""
    return list(chain.from_iterable(map(CASES.expand, names)))


def read_parts(names: Sequence[str] | None) -> dict[str, list[Case]]:
    """Return sets of cases by name.

    Raises:
        InputError: none is named, or two have one name.
        UnknownNameError: a name is neither a set's nor a file's.
    """
    if not names:
        raise InputError("no case was given; name sets of cases, such as --case robustgec sample.")
    parts: dict[str, list[Case]] = {}
    for name in expanded(names):
        label = name.partition(":")[2] or name if name in CASES else system_names([name])[0]
        cases = load_cases(name)
        if label == TOTAL:
            raise InputError(f"{name} is the name of the sum over all sets; rename the set.")
        if label in parts:
            raise InputError(
                f"two sets of cases are named {label!r}; give each once, or rename it."
            )
        parts[label] = cases
    return parts


def all_pairs(parts: Mapping[str, Sequence[Case]]) -> list[Pair]:
    """Return every sentence of all sets in turn, with its correction: originals, each before its variants."""
    return [pair for cases in parts.values() for case in cases for pair in case.pairs]


def read_frequencies(options: Namespace) -> dict[str, float] | None:
    """Return how often words occur in the text that `--frequencies` names."""
    return word_frequencies(read_lines(options.frequencies)) if options.frequencies else None
