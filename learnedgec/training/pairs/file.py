"""Ranked pairs from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs.base import PairSource, RankedPair, positive, read_ranked_pairs

__all__ = [
    "PairFile",
]


class PairFile(PairSource):
    """Ranked pairs from a JSONL file; see `read_ranked_pairs`.

    Args:
        path: the file.
        number: number of pairs, drawn at random; by default, all.
        seed: seed of the draw.
    """

    def __init__(self, path: str, number: int | None = None, seed: int = 0) -> None:
        self.path = path
        self.number = positive(number, "number")
        self.seed = seed

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs of the file."""
        import random

        pairs = read_ranked_pairs(self.path)
        if self.number is None or self.number >= len(pairs):
            return pairs
        return random.Random(self.seed).sample(pairs, self.number)

    def check(self) -> None:
        """Check that the file can be read as pairs."""
        read_ranked_pairs(self.path)

    def describe(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"path": self.path, "number": self.number, "seed": self.seed}

    def datasets(self) -> list[str]:
        """Return the file."""
        return [self.path]
