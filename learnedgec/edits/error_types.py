"""How finely ERRANT's error types are told apart."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

from learnedgec.errors import InputError
from learnedgec.formats.m2 import Edit
from learnedgec.formats.references import References

__all__ = ["TIERS", "Tier", "at_tier", "check_types", "foreign_types"]

Tier: TypeAlias = Literal["type", "category", "operation"]
"""`R:VERB:SVA`, `VERB:SVA` or `R`."""

# ERRANT's types, those of `plain`, and no edit at all.
_ERRANTS = re.compile(r"[MRU](:|$)|noop$")

TIERS: tuple[Tier, ...] = get_args(Tier)


def at_tier(error_type: str, tier: Tier) -> str:
    """Return what an error type is called in a tier; types that are not ERRANT's are the same in all.

    Example:
        >>> at_tier("R:VERB:SVA", "category"), at_tier("Vform", "operation")
        ('VERB:SVA', 'Vform')
    """
    operation, colon, category = error_type.partition(":")
    if tier == "type" or not colon or operation not in ("M", "R", "U"):
        return error_type
    return category if tier == "category" else operation


def foreign_types(types: Iterable[str]) -> list[str]:
    """Return, sorted, the error types that are not ERRANT's; `UNK` is of every set.

    Example:
        >>> foreign_types(["R:NOUN:NUM", "Mec", "M", "UNK", "ArtOrDet"])
        ['ArtOrDet', 'Mec']
    """
    return sorted({kind for kind in types if not _ERRANTS.match(kind)} - {"UNK"})


def check_types(edits: Iterable[Iterable[Edit]], references: References, way: str) -> None:
    """Refuse counts by type where gold edits have another set of types than a system's edits.

    Args:
        edits: of a system, in each sentence; its annotator may have a set of types of its own.
        references: with gold edits.
        way: what to do about it.

    Raises:
        InputError: the gold edits' types are not ERRANT's, and the system's are.
    """
    foreign = foreign_types(
        edit.type for row in references for each in row for edit in each.edits or ()
    )
    if foreign and not foreign_types(edit.type for made in edits for edit in made):
        shown = ", ".join(foreign[:3]) + (", …" if len(foreign) > 3 else "")
        raise InputError(
            f"the gold edits' types ({shown}) are not ERRANT's, so counts by type would mix two sets; {way}."
        )
