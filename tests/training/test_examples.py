"""Examples from ratings, pairs and cases, and their division into train, dev and test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from training_files import cases_file

from learnedgec.data.catalog.cases import read_cases
from learnedgec.training import examples as examples_module
from learnedgec.training.examples import (
    Example,
    Split,
    case_examples,
    pair_examples,
    split_places,
    stored,
)
from learnedgec.training.module import EvaluatorModule, HeadOptions
from learnedgec.training.pairs import RankedPair


def example(number: int, group: str = "") -> Example:
    source = f"s{number // 4}"
    return Example(((source, f"h{number}"),), {"fluency": 1.0}, group=group or source)


def split_examples(
    datasets: Sequence[Sequence[Example]], split: Split, seed: int = 0
) -> dict[str, list[Example]]:
    """Return the examples of each part."""
    return {
        part: [
            examples[place] for examples, own in zip(datasets, places, strict=True) for place in own
        ]
        for part, places in split_places(datasets, split, seed).items()
    }


def sizes(parts: dict[str, list[Example]]) -> list[int]:
    return [len(rows) for rows in parts.values()]


def test_split_by_source_keeps_groups_together() -> None:
    examples = [example(number) for number in range(400)]
    parts = split_examples([examples], "by-source", seed=1)
    groups = [{row.group for row in rows} for rows in parts.values()]
    assert len(set.union(*groups)) == sum(map(len, groups))
    assert sizes(parts) == [320, 40, 40]
    assert split_examples([examples], "by-source", seed=1) == parts
    assert split_examples([examples], "by-source", seed=2) != parts


def test_groups_that_were_divided_before_stay_on_their_side() -> None:
    examples = [example(number) for number in range(400)]
    first = split_examples([examples], "by-source")
    parts = split_examples([examples, [example(n) for n in range(600)]], "by-source")
    for part, rows in first.items():
        old = {row.group for row in parts[part]} & {row.group for row in examples}
        assert old == {row.group for row in rows}
    assert sizes(parts) == [800, 100, 100]
    # Groups of other names stay on the side of their sources.
    essay = [replace(row, group=f"essay {row.group}") for row in first["dev"]]
    both = split_examples([examples, essay], "by-source")
    assert both == first | {"dev": [*first["dev"], *essay]}
    # Two groups cannot be divided; they are for training.
    few = split_examples([examples, [example(n) for n in range(400, 408)]], "by-source")
    assert sizes(few) == [328, 40, 40]


sides = st.tuples(st.integers(0, 6), st.lists(st.integers(0, 20), min_size=1, max_size=3))


@given(st.lists(st.lists(sides, max_size=12), min_size=1, max_size=3))
def test_no_group_and_no_source_is_in_two_parts(rows: list[list[tuple[int, list[int]]]]) -> None:
    apart = [Example(((f"apart {n}", "h"),)) for n in range(3)]
    datasets = [
        [Example(tuple((f"s{s}", "h") for s in sources), group=f"g{g}") for g, sources in dataset]
        for dataset in rows
    ]
    parts = split_examples([[*datasets[0], *apart], *datasets[1:]], "by-source")
    assert sum(sizes(parts)) == 3 + sum(map(len, datasets))
    sides = [{side for row in part for side in row.sides} for part in parts.values()]
    assert len(set.union(*sides)) == sum(map(len, sides))


def test_paper_split_has_the_papers_sizes() -> None:
    examples = [example(number) for number in range(4221)]
    assert sizes(split_examples([examples], "paper-random")) == [3376, 422, 423]


def test_examples_of_cases_and_shared_pairs(tmp_path: Path) -> None:
    cases = read_cases(cases_file(tmp_path))
    examples = case_examples({"a": cases[:2], "b": cases[:1]})
    assert [example.consistent for example in examples] == [("a", "b")] * 5 + [("a",)] * 5
    original, variant = cases[0].original, cases[0].variants[0]
    assert examples[0].texts == (
        (original.source, original.target),
        (original.source, original.source),
        (variant.source, variant.target),
        (variant.source, variant.source),
    )
    drawn = case_examples({"a": cases}, variants=2, seed=4)
    assert len(drawn) == 64
    assert drawn == case_examples({"a": cases}, variants=2, seed=4)
    assert drawn != case_examples({"a": cases}, variants=2, seed=5)
    everything = case_examples({"a": cases})
    assert all(example in everything for example in drawn)
    pair = RankedPair("s", "x", "y")
    shared = pair_examples({"a": [pair, pair], "b": [pair]})
    assert [example.ranked for example in shared] == [("a", "b"), ("a",)]


def test_an_example_is_as_long_as_its_longest_text_for_the_heads_that_read_it(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examples_module, "_BATCH", 2)
    heads = {"alone": HeadOptions(), "both": HeadOptions("pair", "detection")}
    rated = [Example((("a", "b"),), {"alone": 1.0})] * 3
    pair = Example((("a", "b"), ("a", "b b b")), ranked=("both",))
    encoding = EvaluatorModule(heads, str(tiny_encoder)).encoding
    # With [CLS] and [SEP], of which a pair has two.
    assert encoding.lengths(stored([*rated, pair, *rated])).tolist() == [3] * 3 + [7] + [3] * 3
