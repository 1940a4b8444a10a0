"""The terms in tables that not every reader knows, which `--notes` explains where they are printed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import yaml

from learnedgec.data.tables import Row, cell, columns_of
from learnedgec.metrics.scores import is_sentinel


def explain_terms(rows: Sequence[Row], sentences: Sequence[str]) -> list[str]:
    """Return a sentence for each of the terms in a table or in the sentences around it.

    Example:
        >>> explain_terms([{"human": "EW"}], ["p after Holm's correction"])[0][:17]
        'EW: expected wins'
    """
    cells = [cell(value) for row in rows for value in row.values()]
    text = " ".join([*sentences, *columns_of(rows), *cells])
    terms = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    return [
        f"{row['term']}: {row['means']}"
        for row in terms
        if re.search(rf"\b(?:{row.get('printed', re.escape(row['term']))})\b", text)
    ]


def explain_bold(meaning: str, metrics: Sequence[str]) -> str:
    """Return the meaning of bold scores, and which metrics have none; nothing if all are sentinels.

    Args:
        meaning: one sentence.
        metrics: the metrics' labels.
    """
    sentinels = [metric for metric in metrics if is_sentinel(metric)]
    if len(sentinels) == len(metrics):
        return ""
    return meaning + (f" None for the sentinels ({', '.join(sentinels)})." if sentinels else "")
