"""Counts of correct, proposed and gold edits, as used by every edit-based metric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from learnedgec.types import Array, Floats

__all__ = ["EditCounts"]

Count: TypeAlias = Array | float


@dataclass(frozen=True, slots=True)
class EditCounts:
    """Numbers of correct, proposed and gold edits: scalars, or arrays of one shape.

    For weighted edits, these are sums of weights. Precision is tp/proposed and recall tp/gold, 1
    where the denominator is 0.

    Attributes:
        tp: the gold edits that the system made.
        proposed: the edits that it made.
        gold: the edits that it should have made.

    Example:
        >>> counts = EditCounts(np.array([1, 0]), np.array([2, 0]), np.array([2, 2]))
        >>> counts.precision
        array([0.5, 1. ])
        >>> total = counts.sum()
        >>> int(total.fp), int(total.fn), round(float(total.f(beta=1)), 3)
        (1, 3, 0.333)
    """

    tp: Count
    proposed: Count
    gold: Count

    @property
    def fp(self) -> Count:
        """The edits that the system made and should not have made."""
        return self.proposed - self.tp

    @property
    def fn(self) -> Count:
        """The gold edits that it did not make."""
        return self.gold - self.tp

    @property
    def precision(self) -> Floats:
        """The share of the proposed edits that are correct, 1 where none is proposed."""
        return _share(self.tp, self.proposed)

    @property
    def recall(self) -> Floats:
        """The share of the gold edits that were made, 1 where there are no gold edits."""
        return _share(self.tp, self.gold)

    def f(self, beta: float) -> Floats:
        """Return (1+β²)·P·R/(β²·P+R), 0 where precision and recall are both 0."""
        precision, recall, square = self.precision, self.recall, beta * beta
        below = square * precision + recall
        above = (1 + square) * precision * recall
        scores: Floats = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
        return scores

    def sum(self) -> EditCounts:
        """Return the sums over the last axis, which is not empty.

        They are added in order, as when references are chosen by running sums: another order would change
        the last digits.
        """
        return EditCounts(*(np.add.accumulate(each, axis=-1)[..., -1] for each in self))

    def stack(self) -> Floats:
        """Return tp, proposed and gold in one array, float64 (3, …)."""
        return np.stack([np.asarray(each, dtype=np.float64) for each in self])

    def __getitem__(self, index: Any) -> EditCounts:
        """Return the counts at one or several indices, as NumPy indexes arrays."""
        return EditCounts(*(np.asarray(each)[index] for each in self))

    def __iter__(self) -> Iterator[Count]:
        """Yield tp, proposed and gold."""
        return iter((self.tp, self.proposed, self.gold))


def _share(part: Count, whole: Count) -> Floats:
    """Return part/whole, 1 where the whole is 0."""
    part = np.asarray(part, dtype=np.float64)
    shares: Floats = np.divide(part, whole, out=np.ones_like(part), where=np.asarray(whole) > 0)
    return shares
