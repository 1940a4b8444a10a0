"""Rows of corpus scores, for programs and for readers, however the corpus was scored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from learnedgec.corpus.results import CorpusScore
from learnedgec.metrics.base import Metric
from learnedgec.metrics.scores import Score

__all__ = ["flat_row", "system_row"]


def flat_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a metric's corpus score of a system, for programs.

    Args:
        record: `system`, `metric`, `score`, `details` and `signature`, as in JSON.
    """
    head = {name: record[name] for name in ("system", "metric", "score")}
    return {**head, **record["details"], "signature": record["signature"]}


def system_row(
    system: str,
    scores: Mapping[Metric, Mapping[str, Score | CorpusScore]],
    *,
    everything: bool,
) -> dict[str, Any]:
    """Return a row of a system with a column for each metric, for readers; details if there is one metric.

    Args:
        system: its name.
        scores: of each metric, by system.
        everything: whether details that tables leave out are shown, too.
    """
    row: dict[str, Any] = {"system": system}
    for metric, systems in scores.items():
        row[metric.label] = systems[system].value
        if len(scores) == 1:
            aside = frozenset() if everything else metric.side_details
            details = systems[system].details
            row |= {key: details[key] for key in details if key not in aside}
    return row
