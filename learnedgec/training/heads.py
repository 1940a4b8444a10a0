"""Training options of a head, without importing torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["HeadOptions"]


@dataclass
class HeadOptions:
    """Training options of one head.

    Attributes:
        input: the `hypothesis` alone or the `pair` (source, hypothesis).
        objective: `regression` on ratings; on ranked pairs `sigmoid` (IMPARA's loss) or `logistic`, which
            learn only the order, or `difference`, which also learns their margins; `detection` of the wrong
            words in ranked pairs; the `capitals` of the better texts, for encoders that do not see case; or
            the import path of an `Objective`, such as `mymodule.MyObjective`.
        margin: required difference between the better and the worse text of a ranked pair, in the head's
            units; not for `difference`, where each pair has its own.
        weight: weight of its loss in the sum.
        layer: for `detection` and `capitals`, the encoder's layer whose states are read, counted from 1; by
            default the last. Lower layers know more of the words themselves.
    """

    input: Literal["hypothesis", "pair"] = "hypothesis"
    objective: str = "regression"
    margin: float = 0.0
    weight: float = 1.0
    layer: int | None = None
