"""How finely ERRANT's error types are told apart."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

__all__ = ["TIERS", "Tier", "at_tier"]

Tier: TypeAlias = Literal["type", "category", "operation"]
"""`R:VERB:SVA`, `VERB:SVA` or `R`."""

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
