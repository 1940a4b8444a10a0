"""ERRANT's error types at three levels of detail."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

from learnedgec.data.m2 import Edit
from learnedgec.data.references import References
from learnedgec.errors import InputError

Tier: TypeAlias = Literal["type", "category", "operation"]
"""The level of detail of an error type: `R:VERB:SVA`, `VERB:SVA` or `R`."""

# The types of ERRANT and of `plain`, and the type that stands for no edit.
_ERRANTS = re.compile(r"[MRU](:|$)|noop$")

TIERS: tuple[Tier, ...] = get_args(Tier)


def at_tier(error_type: str, tier: Tier) -> str:
    """Return the name of an error type in a tier; types that are not ERRANT's are unchanged.

    Example:
        >>> at_tier("R:VERB:SVA", "category"), at_tier("Vform", "operation")
        ('VERB:SVA', 'Vform')
    """
    operation, colon, category = error_type.partition(":")
    if tier == "type" or not colon or operation not in ("M", "R", "U"):
        return error_type
    return category if tier == "category" else operation


def foreign_types(types: Iterable[str]) -> list[str]:
    """Return the sorted error types that are not ERRANT's; `UNK` belongs to every set of types.

    Example:
        >>> foreign_types(["R:NOUN:NUM", "Mec", "M", "UNK", "ArtOrDet"])
        ['ArtOrDet', 'Mec']
    """
    return sorted({kind for kind in types if not _ERRANTS.match(kind)} - {"UNK"})


def check_types(edits: Iterable[Iterable[Edit]], references: References) -> None:
    """Raise `InputError` if gold edits and a system's edits have different sets of error types.

    Args:
        edits: edits of a system in each sentence; its annotator may have its own set of types.
        references: references with gold edits.

    Raises:
        InputError: the gold edits' types are not ERRANT's, and the system's are.
    """
    foreign = foreign_types(
        edit.type for row in references for reference in row for edit in reference.edits or ()
    )
    if foreign and not foreign_types(edit.type for row in edits for edit in row):
        shown = ", ".join(foreign[:3]) + (", …" if len(foreign) > 3 else "")
        raise InputError(
            f"the gold edits' types ({shown}) are not ERRANT's, so counts by type would mix two sets; give "
            "the references as texts, without gold edits, or use errant(reannotate=True)."
        )
