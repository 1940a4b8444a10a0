"""Ranked pairs from human judgements: ratings, rankings, and files of pairs, choices and ranks."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import ClassVar

from jsonargparse.typing import PositiveFloat, PositiveInt

from learnedgec.data.benchmarks import REGISTRY, load_benchmark
from learnedgec.data.catalog.outputs import (
    JUDGEMENTS,
    RANKINGS,
    JudgementRow,
    Ranking,
    load_outputs,
    load_rankings,
)
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.catalog.ratings import RATINGS, Rating, read_ratings
from learnedgec.data.records import Columns, Rows, name_of, read_records
from learnedgec.data.tables import number_in
from learnedgec.errors import ConfigError, FormatError, InputWarning, warn_of_inputs
from learnedgec.runtime.files import PathLike
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs.base import (
    BALANCE,
    PairSource,
    RankedPair,
    check_shares,
    draw_balanced,
    draw_some,
    ordered,
)


def read_ranked_pairs(table: PathLike | Rows, columns: Columns | None = None) -> list[RankedPair]:
    """Return the pairs in a table of judgements of outputs for one source.

    A `.csv`, `.tsv`, `.jsonl` or `.parquet` file, or a dataset (see `read_records`), has the column `source`,
    and

    - `better` and `worse`, and perhaps `margin`, for one pair; or
    - `outputs`, a list of texts or several columns of the file, with `ranks`, a list or several columns of
      numbers from 1, the best (-1 or an empty cell is no rank). Each two outputs with different ranks are a
      pair, whose margin is the difference; or
    - `outputs` with `best`, `worst` or both: an output's number from 1, its column or its text, or `tie`. The
      best output precedes the others, and the others precede the worst one.

    A row whose `tie` is 1 gives no pair. Further columns are `group`, `origin` and `correct`. Pairs without a
    group are grouped by source.

    Args:
        table: the file, or a table in memory.
        columns: our name of a column -> its name in the table.

    Raises:
        FormatError: a row lacks a text or has an invalid value; the message names row and column.
    """
    pairs = []
    # Users who name columns know that the others are not read.
    known = None if columns else (*JUDGEMENTS, "group")
    rows = tied = 0
    for place, record in read_records(table, ("source",), columns, known):
        row = JudgementRow(record, place, columns or {})
        source = row.text("source")
        group, origin, correct = map(row.optional, ("group", "origin", "correct"))
        row_pairs = [
            RankedPair(source, better, worse, margin, group or source, origin, correct)
            for better, worse, margin in _pairs(row)
        ]
        pairs += row_pairs
        rows += 1
        tied += not row_pairs
    if tied:
        left_out = "judgements prefer no output, so no pair comes from them."
        warn_of_inputs(InputWarning(f"{name_of(table)}: {tied:,} of {rows:,} {left_out}"))
    return pairs


def _pairs(row: JudgementRow) -> Iterator[tuple[str, str, float]]:
    """Yield the better text, the worse text and the margin of each pair."""
    tie = number_in(row.record.get("tie"), row.label("tie"), row.place)
    if tie not in (None, 0, 1):
        raise row.error("tie", row.record["tie"], "0 or 1 was expected")
    if tie:
        return
    if "outputs" in row.record:
        outputs = row.outputs()
        for better, worse, margin in ordered(zip(outputs, row.ranks(outputs), strict=True)):
            if better != worse:
                yield better, worse, margin
        return
    better, worse = row.text("better"), row.text("worse")
    number = number_in(row.record.get("margin"), row.label("margin"), row.place)
    margin = 1.0 if number is None else number
    if not 0 <= margin < 1e300:
        raise row.error("margin", margin, "a number of at least 0 was expected")
    if better == worse:
        raise FormatError(
            f"{row.place}: {row.label('better')!r} and {row.label('worse')!r} are the same text; "
            "leave the pair out."
        )
    yield better, worse, margin


@dataclass
class PairFile(PairSource):
    """Ranked pairs from a file or a dataset of judgements; see `read_ranked_pairs`.

    Args:
        path: the file, the folder of a saved dataset, or `hf:OWNER/NAME`.
        number: number of pairs, drawn at random; by default, all.
        seed: seed of the draw.
        columns: `source`, `better`, `outputs`, … -> the name of that column in the file, or several names.
    """

    path: str
    number: PositiveInt | None = None
    seed: int = 0
    columns: dict[str, str | list[str]] | None = None

    def __post_init__(self) -> None:
        # The pairs of a table in memory, of which the path is the name.
        self.in_memory: Sequence[RankedPair] | None = None

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs of the file."""
        pairs = list(self.in_memory or read_ranked_pairs(self.path, self.columns))
        return draw_some(pairs, self.number, random.Random(self.seed))

    def datasets(self) -> list[str]:
        """Return the file."""
        return [self.path]


@dataclass
class RatedPairs(PairSource):
    """Pairs of outputs for one source whose ratings differ by at least `difference`.

    An output of several systems counts once, with its mean rating. A rated source counts as an output.
    Sentences without a source (GUG) give no pair. The margin is the difference of the ratings, on the
    dataset's scale; datasets of different scales need separate sources.

    Args:
        ratings: rated datasets, files or folders (`load_ratings`: `tmu-gfm`, `sample`, …), or
            rated benchmarks (`load_benchmark`: `gmeg:fce`, `gmeg:wiki`, `gmeg:dev`).
        difference: smallest difference between two ratings for a pair.
        dimension: the rated dimension, or dimension -> weight for a weighted sum of dimensions, all of which
            a rating must have. It can be omitted if there is only one.
        number: number of pairs, drawn at random; by default, all.
        seed: seed of the draw.
        columns: our name of a column -> its name in a file of ratings (`read_ratings`).

    Example:
        >>> pairs = RatedPairs(["sample"], difference=2, dimension="fluency").make(Path(), Runtime())
        >>> pairs[0].worse, pairs[0].margin
        ('My grandmother live in small village near of the sea .', 2.0)
    """

    named: ClassVar = ("ratings",)
    ratings: list[str]
    difference: PositiveFloat
    dimension: str | dict[str, float] | None = None
    number: PositiveInt | None = None
    seed: int = 0
    columns: dict[str, str | list[str]] | None = None

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs in the order of the data, unless they are drawn.

        Raises:
            ConfigError: no rating has the dimension, or there are several dimensions and none is named.
        """
        pairs = [pair for name in self.ratings for pair in self._pairs(name)]
        return draw_some(pairs, self.number, random.Random(self.seed))

    def _pairs(self, name: str) -> Iterator[RankedPair]:
        """Yield the pairs of one dataset."""
        ratings = list(grouped_ratings(name, self.columns))
        weights = self._weights(name, ratings)
        # source -> output -> its ratings
        outputs: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        groups: dict[str, str] = {}
        for rating in ratings:
            if rating.source and weights.keys() <= rating.values.keys():
                value = sum(weight * rating.values[key] for key, weight in weights.items())
                text = " ".join(rating.hypothesis.split())
                outputs[rating.source][text].append(value)
                groups.setdefault(rating.source, rating.group)
        for source, ratings_of in outputs.items():
            ranks = [(text, -fmean(values)) for text, values in ratings_of.items()]
            for better, worse, margin in ordered(ranks):
                # Rounding may move the mean of ratings with two digits.
                if margin > self.difference or math.isclose(margin, self.difference):
                    yield RankedPair(source, better, worse, margin, groups[source], name)

    def _weights(self, name: str, ratings: Sequence[Rating]) -> Mapping[str, float]:
        """Return the weight of each dimension."""
        keys = sorted({key for rating in ratings for key in rating.values})
        wanted = self.dimension or (keys[0] if len(keys) == 1 else "")
        weights = {wanted: 1.0} if isinstance(wanted, str) else wanted
        if not weights.keys() <= set(keys):
            raise ConfigError(
                f"data.pairs: {name} rates {', '.join(keys) or 'nothing'}; name one dimension of these, or "
                "give weights for several."
            )
        return weights


@dataclass
class RankingPairs(PairSource):
    """Pairs of outputs for one source that a judge ranked differently.

    A pair of texts is kept once for each judgement of it, whichever systems wrote them.

    Args:
        rankings: datasets with rankings of systems' outputs (`load_rankings`), such as `pillars:train`, where
            GPT-4 chose among three systems, or benchmarks, such as `mystudy:dev`, a half of a study.
        balance: shares of pairs whose better side is `nearer` to the source than the worse one, `equal` or
            `farther`, as for `ReferencedPairs`.
        number: number of pairs, drawn at random; by default, all.
        seed: seed of the draw.
    """

    named: ClassVar = ("rankings",)
    rankings: list[str]
    balance: dict[str, float] | None = None
    number: PositiveInt | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.balance:
            check_shares("balance", self.balance, BALANCE)

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs in the order of the data, unless they are drawn."""
        pairs: list[RankedPair] = []
        for name in self.rankings:
            sources: Sequence[str]
            outputs: Mapping[str, Sequence[str]]
            rankings: Sequence[Ranking]
            if name in RANKINGS:
                sources, outputs = load_parallel(name).sources, load_outputs(name)
                rankings = load_rankings(name)
            else:
                benchmark = load_benchmark(name)
                sources, outputs = benchmark.sources, benchmark.systems
                rankings = benchmark.rankings
            for ranking in rankings:
                source = " ".join(sources[ranking.sentence].split())
                texts = {
                    " ".join(outputs[system][ranking.sentence].split()): rank
                    for system, rank in ranking.ranks.items()
                    if system in outputs
                }
                pairs += [RankedPair(source, *row, source, name) for row in ordered(texts.items())]
        return draw_balanced(pairs, self.balance, self.number, self.seed)


def grouped_ratings(table: str | Rows, columns: Columns | None = None) -> Iterator[Rating]:
    """Yield the ratings of a table, each with the group that a split keeps together.

    Args:
        table: as for `read_ratings`, or a rated benchmark (`load_benchmark`).
        columns: our name of a column -> its name in a file (`read_ratings`).

    Raises:
        ConfigError: the benchmark has no ratings.
        FormatError: a row of a file has neither source nor group, so that no split could keep together the
            outputs of one source.
    """
    if (
        isinstance(table, str)
        and table not in RATINGS
        and (table.partition(":")[0] in REGISTRY or table.endswith((":dev", ":test")))
    ):
        yield from _benchmark_ratings(table)
        return
    for rating in read_ratings(table, columns):
        if not rating.group:
            raise FormatError(
                f"{name_of(table)}: {rating.hypothesis[:60]!r} has no source, so outputs of one source "
                "could be in the training and in the test part; give the column 'source' (data.columns "
                "says what it is called), or 'group', a text that outputs of one source share."
            )
        yield rating


def _benchmark_ratings(name: str) -> Iterator[Rating]:
    """Yield the ratings of a benchmark's outputs, source by source."""
    benchmark = load_benchmark(name)
    if not benchmark.ratings:
        raise ConfigError(
            f"the benchmark {name} has no ratings; name a rated one such as gmeg:dev."
        )
    for number, source in enumerate(benchmark.sources):
        for system, hypotheses in benchmark.systems.items():
            values = {
                dimension: float(columns[system][number])
                for dimension, columns in benchmark.ratings.items()
                if system in columns and not math.isnan(columns[system][number])
            }
            if values:
                yield Rating(source, hypotheses[number], values, system, source)
