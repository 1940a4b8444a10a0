"""Examples from ratings, pairs and cases, their division into train, dev and test, and their batches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from training_files import cases_file

from learnedgec.data.catalog.cases import read_cases
from learnedgec.training import batches as batches_module
from learnedgec.training import examples as examples_module
from learnedgec.training.batches import LengthBatchSampler
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
from learnedgec.training.start import ModelSettings


def example(number: int, group: str = "") -> Example:
    source = f"s{number // 4}"
    texts = [(source, f"h{number}")]
    return Example(texts, "ratings", ["fluency"], [1.0], [[]], group=group or source)


def split_examples(
    datasets: Sequence[Sequence[Example]], split: Split, seed: int = 0
) -> dict[str, list[Example]]:
    """Return the examples of each part."""
    return {
        part: [
            examples[place] for examples, own in zip(datasets, places, strict=True) for place in own
        ]
        for part, places in split_places(list(map(stored, datasets)), split, seed).items()
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
    apart = [Example([(f"apart {n}", "h")], "ratings", []) for n in range(3)]
    datasets = [
        [
            Example([(f"s{s}", "h") for s in sources], "cases", [], group=f"g{g}")
            for g, sources in dataset
        ]
        for dataset in rows
    ]
    parts = split_examples([[*datasets[0], *apart], *datasets[1:]], "by-source")
    assert sum(sizes(parts)) == 3 + sum(map(len, datasets))
    shared = [{digest for row in part for digest in row.shared} for part in parts.values()]
    assert len(set.union(*shared)) == sum(map(len, shared))


def test_paper_split_has_the_papers_sizes() -> None:
    examples = [example(number) for number in range(4221)]
    assert sizes(split_examples([examples], "paper-random")) == [3376, 422, 423]


def test_parts_of_few_sources_can_be_tested() -> None:
    split = {
        n: sizes(split_examples([[example(4 * k) for k in range(n)]], "by-source"))
        for n in (3, 11, 12, 30, 40)
    }
    assert split == {3: [1, 1, 1], 11: [8, 1, 2], 12: [4, 4, 4], 30: [22, 4, 4], 40: [32, 4, 4]}


def test_examples_of_cases_and_shared_pairs(tmp_path: Path) -> None:
    cases = read_cases(cases_file(tmp_path))
    examples = case_examples({"a": cases[:2], "b": cases[:1]})
    assert [example.heads for example in examples] == [["a", "b"]] * 5 + [["a"]] * 5
    original, variant = cases[0].original, cases[0].variants[0]
    assert examples[0].texts == [
        (original.source, original.target),
        (original.source, original.source),
        (variant.source, variant.target),
        (variant.source, variant.source),
    ]
    pair = RankedPair("s", "x", "y")
    shared = pair_examples({"a": [pair, pair], "b": [pair]})
    assert [example.ranked for example in shared] == [["a", "b"], ["a"]]


def plain(examples: Iterable[Example]) -> Any:
    """Return examples as they would be in JSON, which does not distinguish tuples from lists."""
    return json.loads(json.dumps(list(map(asdict, examples))))


def test_tokens_and_lengths_are_columns(
    tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examples_module, "_BATCH", 2)
    heads = {"alone": HeadOptions(), "both": HeadOptions("pair", "detection")}
    rated = [Example([("a", "b")], "ratings", ["alone"], [1.0], [[]])] * 3
    pair = Example([("a", "b"), ("a", "b b b")], "pairs", ["both"], correct="b b")
    encoding = EvaluatorModule(ModelSettings(heads, str(tiny_encoder))).encoding
    examples = encoding.tokenised(stored([*rated, pair, *rated]), tmp_path)
    # The longest text for the heads that read it, with [CLS] and [SEP], of which a pair has two.
    assert [*examples.rows["length"]] == [3] * 3 + [7] + [3] * 3
    (ids,) = examples.rows[[3]]["pair.input_ids"]
    assert ids == [encoding.tokenizer("a", text)["input_ids"] for text in ("b", "b b b")]
    assert examples.rows[[0, 3]]["hypothesis.input_ids"][1] == []
    assert plain(examples) == plain([*rated, pair, *rated])

    # They are kept for the same texts, heads and tokenizer, whatever it tokenised last.
    (file,) = tmp_path.iterdir()
    encoding.tokenizer("a b c", truncation=True, max_length=2)
    before = file.stat().st_mtime_ns
    encoding.tokenised(stored([*rated, pair, *rated]), tmp_path)
    assert [entry.stat().st_mtime_ns for entry in tmp_path.iterdir()] == [before]
    encoding.tokenised(stored([*rated, pair]), tmp_path)
    replace(encoding, max_tokens=4).tokenised(stored([*rated, pair, *rated]), tmp_path)
    assert len(list(tmp_path.iterdir())) == 3


def test_columns_give_the_examples_that_were_stored() -> None:
    texts = [("a\u00a0", ""), ("", "b\n")]
    examples = [
        Example(texts, "ratings", ["x", "y"], [0.1, 3.0], [[0.2, 0.0], []], group="g"),
        Example(texts, "pairs", ["x", "z"], margin=-1.5, correct="c"),
        Example(texts[:1], "labelled", ["z"], wrong=[True, None, False]),
    ]
    columns = stored(iter(examples))
    assert plain(columns) == plain(examples)
    assert plain(columns.selected([1])) == plain(examples[1:2])
    assert columns.numbers["ratings", "y"].tolist() == [3.0]
    assert columns.numbers["pairs", "z"].tolist() == [-1.5]
    assert columns.numbers["ratings", "z"].tolist() == []
    assert columns.selected([2, 0]).numbers["ratings", "x"].tolist() == [0.1]


def test_batches_cover_every_example_once_and_differ_by_epoch() -> None:
    lengths = [5 + (7 * i) % 40 for i in range(1000)]
    sampler = LengthBatchSampler(lengths, [1] * len(lengths), 16, seed=4)
    first = list(sampler)
    assert sorted(i for batch in first for i in batch) == list(range(1000))
    assert len(first) == len(sampler)
    assert list(sampler) == first
    sampler.set_epoch(1)
    assert list(sampler) != first
    # Padding: the longest of a batch against the mean, over all batches.
    waste = [max(lengths[i] for i in b) - np.mean([lengths[i] for i in b]) for b in first]
    assert np.mean(waste) < 3


def test_batches_put_sentences_of_similar_length_together() -> None:
    """A head that reads pairs and one that reads hypotheses pad their inputs each to its own longest one."""
    words = [5 + (7 * i) % 40 for i in range(1000)]
    sentences = [1 + i % 3 for i in range(1000)]
    lengths = [length * count for length, count in zip(words, sentences, strict=True)]
    batches = list(LengthBatchSampler(lengths, [2] * 1000, 16, seed=4, sentences=sentences))
    assert sorted(i for batch in batches for i in batch) == list(range(1000))
    waste = [max(words[i] for i in b) - np.mean([words[i] for i in b]) for b in batches]
    assert np.mean(waste) < 3
    # Fewer tokens, in which each example counts with its own number of sentences.
    batches = list(LengthBatchSampler(lengths, [2] * 1000, 16, 1000, 4, sentences))
    tokens = [max(lengths[i] for i in b) * 2 * len(b) for b in batches]
    assert max(tokens) <= 1000
    assert np.mean(tokens) > 800


def test_batches_have_no_more_tokens_than_they_may() -> None:
    lengths = [5 + (7 * i) % 40 for i in range(1000)] + [300]
    texts = [1 + i % 2 for i in range(1000)] + [1]
    sampler = LengthBatchSampler(lengths, texts, 16, 200, seed=4)
    batches = list(sampler)
    assert sorted(i for batch in batches for i in batch) == list(range(1001))
    assert len(batches) == len(sampler)
    tokens = [max(lengths[i] for i in b) * sum(texts[i] for i in b) for b in batches]
    assert {1000} == {i for b, size in zip(batches, tokens, strict=True) if size > 200 for i in b}
    assert max(map(len, batches)) == 16
    # They are full: of two neighbours in length that share none, the next example would not have fitted.
    assert np.mean(tokens) > 150
    # Every epoch is as long as the first, which the Trainer asks for; another one may need fewer batches.
    for epoch in range(1, 8):
        sampler.set_epoch(epoch)
        assert len(list(sampler)) == len(sampler)
        assert len({i for batch in sampler for i in batch}) > 980
    # Without short texts, no batch is larger than the tokens allow; without long ones, than its examples.
    assert len(LengthBatchSampler([10] * 32, [1] * 32, 16, 10**6)) == 2
    assert len(LengthBatchSampler([10] * 32, [1] * 32, 16, 10)) == 32


def test_the_number_of_batches_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Trainer asks for it a dozen times, and a million examples take a second to order."""
    ordered: list[int] = []
    order = LengthBatchSampler._batches

    def recorded(self: LengthBatchSampler, epoch: int) -> list[list[int]]:
        ordered.append(epoch)
        return order(self, epoch)

    monkeypatch.setattr(LengthBatchSampler, "_batches", recorded)
    sampler = LengthBatchSampler([5] * 30, [1] * 30, 8)
    assert [len(sampler) for _ in range(3)] == [4] * 3
    assert ordered == [0]


@pytest.mark.parametrize("world", [2, 3, 4, 16])
@pytest.mark.parametrize("examples", [1, 5, 12, 40])
def test_every_process_has_the_same_number_of_batches(
    monkeypatch: pytest.MonkeyPatch, world: int, examples: int
) -> None:
    sampler = LengthBatchSampler([1] * examples, [1] * examples, 4)
    alone = sorted(map(tuple, sampler))
    every: list[tuple[int, ...]] = []
    once: list[tuple[int, ...]] = []
    for rank in range(world):
        monkeypatch.setattr(batches_module, "_rank", lambda rank=rank: (rank, world))
        served = list(map(tuple, sampler))
        assert len(served) == len(sampler) > 0
        every += served
        once += served[: sampler.distinct]
    assert set(every) == set(alone)
    # The dev part is measured on each batch once.
    assert sorted(once) == alone
