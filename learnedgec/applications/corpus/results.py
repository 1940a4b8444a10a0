"""The result of scoring a corpus: corpus scores, failed blocks and notices."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from learnedgec.data.rows import plain
from learnedgec.metrics.base import Metric

__all__ = ["CorpusScore", "CorpusScores", "FailedBlock", "as_payload", "lines_of"]


@dataclass(frozen=True, slots=True)
class CorpusScore:
    """The score of one system by one metric over the finished blocks.

    Attributes:
        value: the corpus score.
        details: further corpus numbers.
        signature: signature as in `Score`; if blocks failed, it also has the number of scored sentences.
    """

    value: float
    details: Mapping[str, float]
    signature: str


@dataclass(frozen=True, slots=True)
class FailedBlock:
    """A block that could not be scored, with its first and last sentence, from 1, and the reason.

    Attributes:
        first: number of its first sentence, from 1.
        last: number of its last sentence.
        error: message of the error.
    """

    first: int
    last: int
    error: str

    def __str__(self) -> str:
        was = "was" if self.first == self.last else "were"
        return f"{lines_of(self.first, self.last)} {was} not scored: {self.error}"


@dataclass(frozen=True, slots=True)
class CorpusScores:
    """The result of scoring a corpus.

    Attributes:
        scores: metric -> system -> score; empty if no block could be scored.
        size: number of sentences in the corpus.
        scored: number of sentences that were scored.
        failed: blocks with the sentences that were not scored.
        notices: warnings of metrics about blocks, such as truncated inputs, with their lines.
    """

    scores: Mapping[Metric, Mapping[str, CorpusScore]]
    size: int
    scored: int
    failed: tuple[FailedBlock, ...]
    notices: tuple[str, ...] = ()


def as_payload(result: CorpusScores) -> dict[str, Any]:
    """Return a run's scores as values for JSON."""
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
                for metric, systems in result.scores.items()
                for system, score in systems.items()
            ],
            "sentences": result.size,
            "scored": result.scored,
            "failed": [dataclasses.asdict(block) for block in result.failed],
            "notices": result.notices,
        }
    )
    return payload


def lines_of(first: int, last: int) -> str:
    """Return the lines of some sentences as text.

    Example:
        >>> lines_of(1, 5000), lines_of(7, 7)
        ('lines 1 to 5,000', 'line 7')
    """
    return f"line {first:,}" if first == last else f"lines {first:,} to {last:,}"
