"""Pairs of rated and of ranked outputs: the one judged higher is better, and equal outputs are one."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
from embedded import Sample
from hypothesis import given, settings
from hypothesis import strategies as st

from learnedgec.data.benchmarks.registry import load_benchmark
from learnedgec.data.catalog.judgements import load_rankings
from learnedgec.data.catalog.ratings import load_ratings
from learnedgec.errors import ConfigError
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs import RankedPair, RankingPairs
from learnedgec.training.pairs.rated import RatedPairs, iterate_rated


def made(*arguments: object, **options: object) -> list[RankedPair]:
    return RatedPairs(*arguments, **options).make(Path(), Runtime())  # type: ignore[arg-type]


def write_ratings(path: Path, rows: list[tuple[str, str, float]]) -> str:
    lines = [
        json.dumps(dict(zip(("source", "hypothesis", "quality"), r, strict=True))) for r in rows
    ]
    path.write_text("".join(line + "\n" for line in lines))
    return str(path)


def test_equal_outputs_are_one_with_their_mean(tmp_path: Path) -> None:
    rows = [("a b", "a c", 3.0), ("a b", "a  c", 1.0), ("a b", "a b", 1.0), ("d", "d", 5.0)]
    name = write_ratings(tmp_path / "ratings.jsonl", rows)
    assert made([name], 1.0) == [RankedPair("a b", "a c", "a b", 1.0, "a b", name)]
    assert made([name], 1.01) == []


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("pqrs"), st.integers(0, 4)), max_size=12
    ),
    st.integers(1, 3),
)
@settings(max_examples=40)
def test_pairs_are_those_that_differ_by_enough(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, int]], difference: int
) -> None:
    if not rows:
        return
    name = write_ratings(
        tmp_path_factory.mktemp("rated") / "r.jsonl", [(s, h, float(v)) for s, h, v in rows]
    )
    expected = set()
    for source in "ab":
        for pair in combinations("pqrs", 2):
            values = [[v for s, h, v in rows if (s, h) == (source, text)] for text in pair]
            if all(values):
                low, high = sorted(zip(map(fmean, values), pair, strict=True))
                # A third and two thirds differ by a third only up to rounding.
                if high[0] - low[0] >= difference - 1e-9:
                    expected.add((source, high[1], low[1]))
    pairs = made([name], float(difference))
    assert {(pair.source, pair.better, pair.worse) for pair in pairs} == expected
    assert len(pairs) == len(expected)


def test_weights_are_those_of_the_sum() -> None:
    weights = {"fluency": 0.25, "meaning": 0.75}
    ratings = {
        (rating.source, " ".join(rating.hypothesis.split())): rating.values
        for rating in load_ratings("sample")
    }
    pairs = made(["sample"], 1.0, weights)
    assert len(pairs) > 50
    for pair in pairs:
        better, worse = (
            sum(weight * ratings[pair.source, text][key] for key, weight in weights.items())
            for text in (pair.better, pair.worse)
        )
        assert pair.margin == pytest.approx(better - worse)
        assert pair.margin > 1 - 1e-9
        assert pair.group == pair.source


@pytest.mark.realdata
def test_gmeg_pairs_include_the_source(mirror: Path) -> None:
    source = RatedPairs(["gmeg:fce"], 12.0)
    pairs = source.make(mirror, Runtime())
    assert len(pairs) == 2502
    assert any(pair.worse == pair.source for pair in pairs)
    assert source.datasets() == ["gmeg:fce"]


@pytest.mark.realdata
def test_outputs_of_a_rated_benchmark_are_ratings(mirror: Path) -> None:
    benchmark = load_benchmark("gmeg:fce")
    rows = list(iterate_rated("gmeg:fce"))
    assert len(rows) == sum(np.isfinite(r).sum() for r in benchmark.ratings["quality"].values())
    by_text = {(row.system, row.source): row.values["quality"] for row in rows}
    for system in benchmark.systems:
        expected = benchmark.ratings["quality"][system][0]
        assert by_text[system, benchmark.sources[0]] == pytest.approx(expected)
    with pytest.raises(ConfigError, match="the benchmark seeda-s has no ratings"):
        list(iterate_rated("seeda-s"))


def test_the_better_rank_is_the_better_side(sample: Sample) -> None:
    expected = [
        (sample.sources[ranking.sentence], texts[0][0], texts[1][0])
        for ranking in load_rankings("sample")
        for pair in combinations(ranking.ranks.items(), 2)
        if (texts := _ordered(sample, ranking.sentence, pair))
    ]
    pairs = RankingPairs(["sample"]).make(Path(), Runtime())
    assert [(pair.source, pair.better, pair.worse) for pair in pairs] == expected


def _ordered(
    sample: Sample, number: int, pair: tuple[tuple[str, int], ...]
) -> list[tuple[str, int]]:
    """Return two texts with their ranks, the better first, or nothing for equal texts or ranks."""
    texts = {sample.systems[system][number]: rank for system, rank in pair}
    return sorted(texts.items(), key=lambda item: item[1]) if len(set(texts.values())) == 2 else []
