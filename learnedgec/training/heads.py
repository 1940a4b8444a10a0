"""How a head is trained; no torch here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["HeadOptions", "TrainingObjective"]

TrainingObjective = Literal["regression", "sigmoid", "logistic", "difference", "detection"]


@dataclass
class HeadOptions:
    """How one head is trained.

    Attributes:
        input: what it reads: the `hypothesis` alone or the `pair` (source, hypothesis).
        objective: `regression` on ratings; on ranked pairs `sigmoid` (IMPARA's loss) or `logistic`, which ask
            for the order alone, or `difference`, which asks for their margins as well; or `detection` of the
            wrong words in ranked pairs.
        margin: by how much the better text of a ranked pair shall be ahead, in the head's units; not for
            `difference`, to which each pair says its own.
        weight: of its loss in the sum.
    """

    input: Literal["hypothesis", "pair"] = "hypothesis"
    objective: TrainingObjective = "regression"
    margin: float = 0.0
    weight: float = 1.0

    @property
    def ranks(self) -> bool:
        """Whether it learns from ranked pairs."""
        return self.objective != "regression"

    @property
    def detects(self) -> bool:
        """Whether it learns which of their words are wrong."""
        return self.objective == "detection"
