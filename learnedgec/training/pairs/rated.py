"""Ranked pairs from ratings and rankings: of two outputs for one source, the one judged higher is better."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from jsonargparse.typing import PositiveFloat, PositiveInt

from learnedgec.data.benchmarks.registry import REGISTRY, load_benchmark
from learnedgec.data.catalog.judgements import load_rankings
from learnedgec.data.catalog.outputs import load_outputs
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.catalog.ratings import RATINGS, Rating, iterate_ratings
from learnedgec.data.records import Columns
from learnedgec.errors import ConfigError
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs.base import (
    BALANCE,
    PairSource,
    RankedPair,
    check_shares,
    drawn,
    drawn_balanced,
    ordered,
)


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
        dimension: the rated dimension, or dimension -> weight for a weighted sum, for which a rating must
            have all dimensions. It can be omitted if there is only one.
        number: number of pairs, drawn at random; by default, all.
        seed: seed of the draw.
        columns: which columns of files of ratings have other names (`read_ratings`).

    Example:
        >>> pairs = RatedPairs(["sample"], difference=2, dimension="fluency").make(Path(), Runtime())
        >>> pairs[0].worse, pairs[0].margin
        ('My grandmother live in small village near of the sea .', 2.0)
    """

    ratings: list[str]
    difference: PositiveFloat
    dimension: str | dict[str, float] | None = None
    number: PositiveInt | None = None
    seed: int = 0
    columns: dict[str, str | list[str]] | None = None

    def datasets(self) -> list[str]:
        """Return the rated datasets."""
        return self.ratings

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs, in the order of the data unless they are drawn.

        Raises:
            ConfigError: no rating has the dimension, or there are several dimensions and none is named.
        """
        pairs = [pair for name in self.ratings for pair in self._pairs(name)]
        return drawn(pairs, self.number, random.Random(self.seed))

    def _pairs(self, name: str) -> Iterator[RankedPair]:
        """Yield the pairs of one dataset."""
        ratings = list(iterate_rated(name, self.columns))
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
                # A mean of ratings with two digits may be off by rounding.
                if margin > self.difference or math.isclose(margin, self.difference):
                    yield RankedPair(source, better, worse, margin, groups[source], name)

    def _weights(self, name: str, ratings: Sequence[Rating]) -> Mapping[str, float]:
        """Return dimension -> weight."""
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


def iterate_rated(name: str, columns: Columns | None = None) -> Iterator[Rating]:
    """Yield the ratings of a rated dataset, a file, or a benchmark's outputs.

    Args:
        name: as for `load_ratings`, or a rated benchmark (`load_benchmark`).
        columns: which columns of a file have other names (`read_ratings`).

    Raises:
        ConfigError: the benchmark has no ratings.
    """
    if name in RATINGS or name.partition(":")[0] not in REGISTRY:
        yield from iterate_ratings(name, columns)
        return
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
