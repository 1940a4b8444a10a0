"""Ranked pairs from files of judgements: pairs, choices among several outputs, best and worst, rankings."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonargparse.typing import PositiveInt

from learnedgec.data.records import Columns, read_records
from learnedgec.data.tables import number_in, rank_in
from learnedgec.data.text import check_sentence
from learnedgec.errors import FormatError
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.writing import PathLike
from learnedgec.training.pairs.base import PairSource, RankedPair, drawn, ordered

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


def read_ranked_pairs(path: PathLike, columns: Columns | None = None) -> list[RankedPair]:
    """Return the pairs in a file of judgements of outputs for one source.

    A `.csv`, `.tsv`, `.jsonl` or `.parquet` file, or a dataset (see `read_records`), has the column `source`,
    and

    - `better` and `worse`, and perhaps `margin`: one pair; or
    - `outputs`, a list of texts or several columns of the file, with `ranks`, a list or columns of numbers
      from 1, the best (-1 or an empty cell is no rank): a pair of each two outputs with different ranks, the
      difference as its margin; or
    - `outputs` with `best`, `worst` or both: an output by its number from 1, its column or its text, or
      `tie`. The best one precedes the others, and the others precede the worst one.

    Further columns are `group`, `origin` and `correct`. Pairs without a group are grouped by source.

    Args:
        path: the file.
        columns: which of its columns have other names.

    Raises:
        FormatError: a row lacks a text or has an invalid value; the message names row and column.
    """
    pairs = []
    # Who names columns knows that the others are not read.
    known = None if columns else (*JUDGEMENTS, "group")
    for place, record in read_records(path, ("source",), columns, known):
        row = _Row(record, place, columns or {})
        source = row.text("source")
        group, origin, correct = map(row.optional, ("group", "origin", "correct"))
        for better, worse, margin in row.pairs():
            pair = RankedPair(source, better, worse, margin, group or source, origin, correct)
            pairs.append(pair)
    return pairs


@dataclass
class _Row:
    """A row of judgements, for messages with its place and the names of columns."""

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

    def pairs(self) -> Iterator[tuple[str, str, float]]:
        """Yield the better text, the worse text and the margin of each pair."""
        if "outputs" in self.record:
            outputs = self._outputs()
            for better, worse, margin in ordered(zip(outputs, self._ranks(outputs), strict=True)):
                if better != worse:
                    yield better, worse, margin
            return
        better, worse = self.text("better"), self.text("worse")
        number = number_in(self.record.get("margin"), self.label("margin"), self.place)
        margin = 1.0 if number is None else number
        if not 0 <= margin < 1e300:
            raise self.error("margin", margin, "a number of at least 0 was expected")
        if better == worse:
            raise FormatError(
                f"{self.place}: {self.label('better')!r} and {self.label('worse')!r} are the same text; "
                "leave the pair out."
            )
        yield better, worse, margin

    def _outputs(self) -> list[str]:
        outputs = self.record["outputs"]
        if not isinstance(outputs, list) or len(outputs) < 2:
            raise self.error("outputs", outputs, "a list of at least two texts was expected")
        return [check_sentence(text, self.place, self.label("outputs")) for text in outputs]

    def _ranks(self, outputs: Sequence[str]) -> list[float]:
        """Return a rank for each output, NaN where it has none."""
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

    def _chosen(self, name: str, outputs: Sequence[str]) -> int | None:
        """Return the place of the best or the worst output; none for a tie."""
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


@dataclass
class PairFile(PairSource):
    """Ranked pairs from a file or a dataset of judgements; see `read_ranked_pairs`.

    Args:
        path: the file, the folder of a saved dataset, or `hf:OWNER/NAME`.
        number: number of pairs, drawn at random; by default, all.
        seed: seed of the draw.
        columns: `source`, `better`, `outputs`, … -> the file's name of that column, or several names.
    """

    path: str
    number: PositiveInt | None = None
    seed: int = 0
    columns: dict[str, str | list[str]] | None = None

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs of the file."""
        pairs = read_ranked_pairs(self.path, self.columns)
        return drawn(pairs, self.number, random.Random(self.seed))

    def datasets(self) -> list[str]:
        """Return the file."""
        return [self.path]
