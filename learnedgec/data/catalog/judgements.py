"""Rows of judgements of several outputs for one source: rankings, and choices of the best or worst one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from learnedgec.data.sentences import Columns
from learnedgec.data.tables import rank_in
from learnedgec.data.text import check_sentence
from learnedgec.errors import FormatError

JUDGEMENTS = (
    "better",
    "worse",
    "margin",
    "outputs",
    "ranks",
    "best",
    "worst",
    "origin",
    "correct",
)
"""The columns of files of judgements, besides `source` and `group`."""


@dataclass
class JudgementRow:
    """A row of judgements.

    Attributes:
        record: our name of a column -> its cell.
        place: what messages call the row.
        columns: our name of a column -> its name in the file, or several names.
    """

    record: Mapping[str, Any]
    place: str
    columns: Columns

    def label(self, name: str) -> str:
        """Return the file's name of a column."""
        column = self.columns.get(name, name)
        return column if isinstance(column, str) else ", ".join(column)

    def text(self, name: str) -> str:
        """Return the text in a column, which must be there."""
        if name not in self.record:
            raise FormatError(f"{self.place}: the column {self.label(name)!r} is missing.")
        return check_sentence(self.record[name], self.place, self.label(name))

    def optional(self, name: str) -> str:
        """Return the text in a column that may be missing or empty."""
        return check_sentence(self.record.get(name) or "", self.place, self.label(name))

    def error(self, name: str, cell: Any, expected: str) -> FormatError:
        """Return the error about a cell."""
        return FormatError(f"{self.place}: {self.label(name)!r} is {str(cell)[:60]!r}; {expected}.")

    def outputs(self) -> list[str]:
        """Return the judged texts."""
        outputs = self.record.get("outputs")
        if not isinstance(outputs, list) or len(outputs) < 2:
            raise self.error("outputs", outputs, "a list of at least two texts was expected")
        return [check_sentence(text, self.place, self.label("outputs")) for text in outputs]

    def ranks(self, outputs: Sequence[str]) -> list[float]:
        """Return a rank for each output, or NaN if it has none.

        Raises:
            FormatError: a cell cannot be used, or there is no judgement.
        """
        if "ranks" in self.record:
            ranks = self.record["ranks"]
            if not isinstance(ranks, list) or len(ranks) != len(outputs):
                raise self.error("ranks", ranks, f"a list of {len(outputs)} numbers was expected")
            cells = (rank_in(rank, self.label("ranks"), self.place) for rank in ranks)
            return [float("nan") if rank is None else rank for rank in cells]
        if not {"best", "worst"} & self.record.keys():
            raise FormatError(
                f"{self.place}: no judgement of the outputs; the column ranks, best or worst was expected."
            )
        best, worst = (self._chosen(name, outputs) for name in ("best", "worst"))
        return [
            0.0 if place == best else 2.0 if place == worst else 1.0
            for place in range(len(outputs))
        ]

    def rankings(self, outputs: Sequence[str]) -> Iterator[dict[int, int]]:
        """Yield rankings: the place of an output -> its rank from 1. A choice is a ranking of each two.

        A choice does not say which of the other outputs is better, nor does an empty cell, and no text is
        better than itself.
        """
        ranks = self.ranks(outputs)
        ranked = {place: rank for place, rank in enumerate(ranks) if not math.isnan(rank)}
        if "ranks" in self.record or "tie" in (self.record.get("best"), self.record.get("worst")):
            order = sorted(set(ranked.values()))
            if len(ranked) > 1:
                yield {place: 1 + order.index(rank) for place, rank in ranked.items()}
            return
        for first, second in combinations(ranked, 2):
            if ranks[first] != ranks[second] and outputs[first] != outputs[second]:
                first_is_better = ranks[first] < ranks[second]
                yield {first: 2 - first_is_better, second: 1 + first_is_better}

    def _chosen(self, name: str, outputs: Sequence[str]) -> int | None:
        """Return the place of the best or the worst output, or `None` for a tie."""
        cell = self.record.get(name)
        if cell is None or cell in ("", "tie"):
            return None
        columns = self.columns.get("outputs", ())
        numbers = [str(number) for number in range(1, len(outputs) + 1)]
        for names in ([] if isinstance(columns, str) else columns, numbers, outputs):
            if str(cell) in names:
                return list(names).index(str(cell))
        choices = f"an output's number (1 to {len(outputs)}), column or text, or 'tie'"
        raise self.error(name, cell, f"{choices}, was expected")
