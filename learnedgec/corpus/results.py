"""What a run over a corpus gives: corpus scores, blocks that failed, and notices."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from learnedgec.formats.rows import plain
from learnedgec.metrics.base import Metric

__all__ = ["CorpusScore", "CorpusScores", "FailedBlock", "as_payload", "lines_of"]


@dataclass(frozen=True, slots=True)
class CorpusScore:
    """The score of one system by one metric over the blocks that are done.

    Attributes:
        value: the corpus score.
        details: further corpus numbers.
        signature: as of a `Score`; where blocks failed it also says how many sentences were scored.
    """

    value: float
    details: Mapping[str, float]
    signature: str


@dataclass(frozen=True, slots=True)
class FailedBlock:
    """A block that could not be scored: its first and last sentence, from 1, and why."""

    first: int
    last: int
    error: str

    def __str__(self) -> str:
        was = "was" if self.first == self.last else "were"
        return f"{lines_of(self.first, self.last)} {was} not scored: {self.error}"


@dataclass(frozen=True, slots=True)
class CorpusScores:
    """What a run over a corpus gave.

    Attributes:
        scores: of each metric, by system; empty where no block could be scored.
        size: the number of sentences of the corpus.
        scored: how many of them the scores are of.
        failed: the blocks of the others.
        notices: what metrics warned of in some blocks, such as that inputs were cut, with their lines.
    """

    scores: Mapping[Metric, Mapping[str, CorpusScore]]
    size: int
    scored: int
    failed: tuple[FailedBlock, ...]
    notices: tuple[str, ...] = ()


def as_payload(found: CorpusScores) -> dict[str, Any]:
    """Return a run's scores as JSON holds them."""
    payload: dict[str, Any] = plain(
        {
            "scores": [
                {
                    "system": system,
                    "metric": metric.label,
                    "score": score.value,
                    "details": score.details,
                    "signature": score.signature,
                }
                for metric, systems in found.scores.items()
                for system, score in systems.items()
            ],
            "sentences": found.size,
            "scored": found.scored,
            "failed": [dataclasses.asdict(block) for block in found.failed],
            "notices": found.notices,
        }
    )
    return payload


def lines_of(first: int, last: int) -> str:
    """Return the name of some sentences by their lines.

    Example:
        >>> lines_of(1, 5000), lines_of(7, 7)
        ('lines 1 to 5,000', 'line 7')
    """
    return f"line {first:,}" if first == last else f"lines {first:,} to {last:,}"
