"""Robustness cases: a sentence, and variants of it that should be corrected alike (RobustGEC)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from learnedgec.catalog.files import path
from learnedgec.errors import FormatError, UnknownNameError
from learnedgec.text import PathLike, read_lines

__all__ = ["CASES", "Case", "Pair", "load_cases", "read_cases"]

CASES = ("robustgec:bea19", "robustgec:conll14", "robustgec:tem8")
VARIANTS = 5
_LABELS = tuple(f"{prefix}-{side}" for prefix in ("O", *(f"A{n + 1}" for n in range(VARIANTS))) for side in "ST")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pair:
    """A sentence and its correction."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Case:
    """An original sentence and five variants whose context alone was changed, each with its target."""

    original: Pair
    variants: tuple[Pair, ...]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The original and then the variants: the order of a system's output for the case."""
        return (self.original, *self.variants)


def load_cases(name: str) -> list[Case]:
    """Return the cases of a part of RobustGEC (Zhang et al. 2023).

    Args:
        name: `robustgec:bea19` (2,503 cases), `robustgec:conll14` (1,312) or `robustgec:tem8` (1,181).

    Raises:
        UnknownNameError: no such part.
        DataError: the dataset cannot be had.
    """
    if name not in CASES:
        raise UnknownNameError("set of robustness cases", name, CASES)
    return read_cases(path("robustgec", f"benchmark/{name.partition(':')[2]}/para.txt"))


def read_cases(path: PathLike) -> list[Case]:
    r"""Read cases in RobustGEC's format: blocks of `O-S`, `O-T`, `A1-S`, `A1-T`, …, `A5-T` lines.

    Each line is a label, a space and a sentence; a blank line ends a block.

    Raises:
        FormatError: a line is not the one that comes next in a block.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "para.txt"
        >>> labels = ["O", "A1", "A2", "A3", "A4", "A5"]
        >>> _ = path.write_text("".join(f"{label}-S {label} go .\n{label}-T {label} goes .\n" for label in labels))
        >>> read_cases(path)[0].variants[0]
        Pair(source='A1 go .', target='A1 goes .')
    """
    cases: list[Case] = []
    block: list[str] = []
    for number, line in enumerate(read_lines(path), 1):
        if not line and not block:
            continue
        label, _, sentence = line.partition(" ")
        if label != _LABELS[len(block)]:
            raise FormatError(
                f"{path}:{number}: a line starting with {_LABELS[len(block)]!r} was expected, not "
                f"{line[:60]!r}."
            )
        block.append(sentence)
        if len(block) == len(_LABELS):
            cases.append(_case(block))
            block = []
    if block:
        raise FormatError(f"{path}: the last block ends before its {_LABELS[len(block)]!r} line.")
    return cases


def _case(block: Sequence[str]) -> Case:
    pairs = [Pair(source, target) for source, target in zip(block[::2], block[1::2], strict=True)]
    return Case(pairs[0], tuple(pairs[1:]))
