"""Pairs from files of judgements, from ratings and from rankings; columns of other names; several raters."""

from __future__ import annotations

import json
import warnings
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

import datasets
import numpy as np
import pytest
from embedded import Sample
from hypothesis import given, settings
from hypothesis import strategies as st
from training_files import arguments, pairs_file, training_data

from learnedgec.data.benchmarks import load_benchmark
from learnedgec.data.catalog.outputs import load_rankings
from learnedgec.data.catalog.ratings import load_ratings
from learnedgec.data.records import Columns
from learnedgec.errors import ConfigError, FormatError, InputError
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs import RankedPair, RankingPairs, read_ranked_pairs
from learnedgec.training.pairs.judged import RatedPairs, grouped_ratings

OUTPUTS = {"source": "src", "outputs": ["a", "b", "c"]}
PAIR = {"source": "src", "better": "a", "worse": "b", "margin": "ra", "tie": "rb"}


def table(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("columns", "row", "expected"),
    [
        ({"ranks": ["ra", "rb", "rc"]}, "s,x,y,z,2,1,1", [("y", "x", 1.0), ("z", "x", 1.0)]),
        ({"ranks": ["ra", "rb", "rc"]}, "s,x,y,z,1,,4", [("x", "z", 3.0)]),
        ({"ranks": ["ra", "rb", "rc"]}, "s,x,y,x,1,2,3", [("x", "y", 1.0), ("y", "x", 1.0)]),
        ({"best": "ra"}, "s,x,y,z,b,,", [("y", "x", 1.0), ("y", "z", 1.0)]),
        ({"best": "ra"}, "s,x,y,z,3,,", [("z", "x", 1.0), ("z", "y", 1.0)]),
        ({"best": "ra"}, "s,x,y,z,tie,,", []),
        (PAIR, "s,x,y,z,,0,", [("x", "y", 1.0)]),
        (PAIR, "s,x,y,z,,1,", []),
        ({"best": "ra", "tie": "rb"}, "s,x,y,z,b,1,", []),
        (
            {"best": "ra", "worst": "rb"},
            "s,x,y,z,y,x,",
            [("y", "x", 2.0), ("z", "x", 1.0), ("y", "z", 1.0)],
        ),
    ],
)
def test_judgements_become_pairs(
    columns: Columns, row: str, expected: list[tuple[str, str, float]], tmp_path: Path
) -> None:
    path = table(tmp_path / "judged.csv", f"src,a,b,c,ra,rb,rc\n{row}\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pairs = read_ranked_pairs(path, columns if "better" in columns else {**OUTPUTS, **columns})
    notices = [str(warning.message).partition(": ")[2] for warning in caught]
    ties = "1 of 1 judgements prefer no output, so no pair comes from them."
    assert notices == ([] if expected else [ties])
    assert pairs == [RankedPair("s", better, worse, m, "s") for better, worse, m in expected]


def test_pairs_are_read_as_they_were_written(tmp_path: Path) -> None:
    pairs = [RankedPair("s", "b", "w", 0.5, "g", "o"), RankedPair("t", "b", "")]
    path = pairs_file(tmp_path, pairs)
    assert read_ranked_pairs(path) == [pairs[0], RankedPair("t", "b", "", group="t")]


def test_the_same_pairs_in_every_kind_of_file(tmp_path: Path) -> None:
    record = {"source": "s", "outputs": ["x", "y"], "ranks": [2, 1], "group": "g"}
    dataset = datasets.Dataset.from_list([record])
    dataset.to_parquet(tmp_path / "judged.parquet")
    datasets.DatasetDict(dev=dataset).save_to_disk(tmp_path / "saved")
    table(tmp_path / "judged.jsonl", json.dumps(record) + "\n")
    table(tmp_path / "judged.tsv", "source\tbetter\tworse\tgroup\ns\ty\tx\tg\n")
    for name in ("judged.parquet", "saved/dev", "judged.jsonl", "judged.tsv"):
        assert read_ranked_pairs(tmp_path / name) == [RankedPair("s", "y", "x", 1.0, "g")], name
    with pytest.raises(
        InputError, match=r"saved has the splits dev; name one, such as .*saved/dev"
    ):
        read_ranked_pairs(tmp_path / "saved")


@pytest.mark.parametrize(
    ("columns", "row", "message"),
    [
        (
            {**OUTPUTS, "best": "ra"},
            "s,x,y,z,d,,",
            r":2: 'ra' is 'd'; .* \(1 to 3\), column or text, or 'tie'",
        ),
        (
            {**OUTPUTS, "ranks": ["ra", "rb"]},
            "s,x,y,z,1,2,",
            ":2: 'ra, rb' is .*a list of 3 numbers",
        ),
        (OUTPUTS, "s,x,y,z,1,2,", ":2: no judgement of the outputs; the column ranks, best or"),
        ({**OUTPUTS, "best": "chosen"}, "s,x,y,z,1,2,", ":1: no column 'chosen'; found"),
        (PAIR, "s,x,y,z,-1,,", ":2: 'ra' is '-1.0'; a number of at least 0"),
        (PAIR, "s,x,x,z,1,,", ":2: 'a' and 'b' are the same text"),
        (PAIR, "s,x,y,z,,2,", ":2: 'rb' is '2'; 0 or 1 was expected"),
    ],
)
def test_an_error_names_row_and_column(
    columns: Columns, row: str, message: str, tmp_path: Path
) -> None:
    path = table(tmp_path / "judged.csv", f"src,a,b,c,ra,rb,rc\n{row}\n")
    with pytest.raises(FormatError, match=rf"judged\.csv{message}"):
        read_ranked_pairs(path, columns)


def test_several_raters_in_several_columns_or_a_list(tmp_path: Path) -> None:
    path = table(tmp_path / "mine.csv", "in,out,r1,r2,note\na,b,1,4,x\nc,d,,2,y\ne,f,,,\n")
    columns: Columns = {"source": "in", "hypothesis": "out", "fluency": ["r1", "r2"]}
    first, second = load_ratings(str(path), columns)
    assert (first.source, first.hypothesis, first.values) == ("a", "b", {"fluency": 2.5})
    assert (first.raters, second.raters) == ({"fluency": (1.0, 4.0)}, {"fluency": (2.0,)})
    jsonl = table(tmp_path / "mine.jsonl", '{"hypothesis": "b", "fluency": [1, null, 4]}\n')
    assert load_ratings(str(jsonl))[0].raters == {"fluency": (1.0, 4.0)}
    table(path, "in,out,r1,r2\na,b,1,x\n")
    with pytest.raises(
        FormatError,
        match=r"mine.csv:2: the column 'r2' must hold a number, not 'x'; leave the cell empty",
    ):
        load_ratings(str(path), columns)


def test_a_configuration_maps_columns_and_keeps_raters_apart(
    tmp_path: Path, tiny_encoder: Path
) -> None:
    rows = [f"he go {n} .,he goes {n} .,{n % 3},{n % 5},{n % 2 + 1}" for n in range(30)]
    path = table(tmp_path / "mine.csv", "\n".join(["in,out,r1,r2,winner", *rows]))
    data: dict[str, Any] = {
        "ratings": [path],
        "pairs": {"quality": [path]},
        "columns": {
            "source": "in",
            "hypothesis": "out",
            "fluency": ["r1", "r2"],
            "outputs": ["in", "out"],
            "best": "winner",
        },
    }
    heads = {"fluency": {}, "quality": {"objective": "logistic"}}
    found = {}
    for raters in ("mean", "each"):
        words = arguments(tmp_path, {**data, "raters": raters}, encoder=tiny_encoder, heads=heads)
        parts = training_data(words).load()
        found[raters] = {
            part: [row.values for row in rows if row.values] for part, rows in parts.items()
        }
        pairs = [row.texts for row in parts["train"] if row.ranked]
    assert len(found["mean"]["train"]) == 22
    assert len(found["each"]["train"]) == 44
    assert found["mean"]["dev"] == found["each"]["dev"]
    assert len(pairs) == 22
    assert all(
        (better[1] < worse[1]) == (int(better[0].split()[2]) % 2 == 0) for better, worse in pairs
    )


def made(*arguments: object, **options: object) -> list[RankedPair]:
    return RatedPairs(*arguments, **options).make(Path(), Runtime())  # type: ignore[arg-type]


def write_ratings(path: Path, rows: list[tuple[str, str, float]]) -> str:
    lines = [f"{source},{hypothesis},{rating}" for source, hypothesis, rating in rows]
    return str(table(path, "\n".join(["source,hypothesis,quality", *lines])))


def test_equal_outputs_are_one_with_their_mean(tmp_path: Path) -> None:
    rows = [("a b", "a c", 3.0), ("a b", "a  c", 1.0), ("a b", "a b", 1.0), ("d", "d", 5.0)]
    name = write_ratings(tmp_path / "ratings.csv", rows)
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
        tmp_path_factory.mktemp("rated") / "r.csv", [(s, h, float(v)) for s, h, v in rows]
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
def test_outputs_of_a_rated_benchmark_are_ratings(mirror: Path) -> None:
    benchmark = load_benchmark("gmeg:fce")
    rows = list(grouped_ratings("gmeg:fce"))
    assert len(rows) == sum(np.isfinite(r).sum() for r in benchmark.ratings["quality"].values())
    by_text = {(row.system, row.source): row.values["quality"] for row in rows}
    for system in benchmark.systems:
        expected = benchmark.ratings["quality"][system][0]
        assert by_text[system, benchmark.sources[0]] == pytest.approx(expected)
    with pytest.raises(ConfigError, match="the benchmark seeda-s has no ratings"):
        list(grouped_ratings("seeda-s"))
    pairs = made(["gmeg:fce"], 12.0)
    assert len(pairs) == 2502
    assert any(pair.worse == pair.source for pair in pairs)


def test_the_better_rank_is_the_better_side(sample: Sample) -> None:
    expected = []
    for ranking in load_rankings("sample"):
        for pair in combinations(ranking.ranks.items(), 2):
            ranks = {sample.systems[system][ranking.sentence]: rank for system, rank in pair}
            if len(set(ranks.values())) == 2:
                better, worse = sorted(ranks, key=ranks.__getitem__)
                expected.append((sample.sources[ranking.sentence], better, worse))
    pairs = RankingPairs(["sample"]).make(Path(), Runtime())
    assert [(pair.source, pair.better, pair.worse) for pair in pairs] == expected
