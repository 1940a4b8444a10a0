"""Ranked pairs from rankings: of two outputs for one source, the one with the better rank is better."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jsonargparse.typing import PositiveInt

from learnedgec.data.catalog.judgements import load_rankings
from learnedgec.data.catalog.outputs import load_outputs
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs.base import (
    BALANCE,
    PairSource,
    RankedPair,
    check_shares,
    drawn_balanced,
    ordered,
)


@dataclass
class RankingPairs(PairSource):
    """Pairs of outputs for one source that a judge ranked differently.

    A pair of texts is kept once for each judgement of it, whichever systems wrote them.

    Args:
        rankings: datasets with rankings of systems' outputs (`load_rankings`), such as `pillars:train`, where
            GPT-4 chose among three systems.
        balance: shares of pairs whose better side is `nearer` to the source than the worse one, `equal` or
            `farther`, as for `ReferencedPairs`.
        number: number of pairs, drawn at random; by default, all.
        seed: seed of the draw.
    """

    rankings: list[str]
    balance: dict[str, float] | None = None
    number: PositiveInt | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.balance:
            check_shares("balance", self.balance, BALANCE)

    def datasets(self) -> list[str]:
        """Return the datasets of rankings."""
        return list(self.rankings)

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs in the order of the data, or those drawn."""
        pairs: list[RankedPair] = []
        for name in self.rankings:
            sources, outputs = load_parallel(name).sources, load_outputs(name)
            for ranking in load_rankings(name):
                source = " ".join(sources[ranking.sentence].split())
                texts = {
                    " ".join(outputs[system][ranking.sentence].split()): rank
                    for system, rank in ranking.ranks.items()
                }
                pairs += [RankedPair(source, *row, source, name) for row in ordered(texts.items())]
        return drawn_balanced(pairs, self.balance, self.number, self.seed)
