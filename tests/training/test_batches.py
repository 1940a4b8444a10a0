"""Batches of similar length, with one process and with several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from learnedgec.training import batches as batches_module
from learnedgec.training.batches import LengthBatchSampler, ResumableLoader


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


def test_lists_come_whole_in_one_batch() -> None:
    sampler = LengthBatchSampler([9, 8, 7], [2, 1, 2], 2, lists=[[0, 2], [1], [3, 4]])
    batches = list(sampler)
    assert len(batches) == 2
    assert sorted(place for batch in batches for place in batch) == [0, 1, 2, 3, 4]
    for members in ({0, 2}, {3, 4}):
        assert any(members <= set(batch) for batch in batches)


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
    sampler.set_epoch(1)
    assert sorted(i for batch in sampler for i in batch) == list(range(1001))
    # Without short texts, no batch is larger than the tokens allow; without long ones, than its examples.
    assert len(LengthBatchSampler([10] * 32, [1] * 32, 16, 10**6)) == 2
    assert len(LengthBatchSampler([10] * 32, [1] * 32, 16, 10)) == 32


class Numbers:
    def __getitem__(self, indices: list[int]) -> list[int]:
        return indices


@pytest.mark.parametrize("world", [2, 3, 4, 16])
@pytest.mark.parametrize("examples", [1, 5, 12, 40])
def test_every_process_has_the_same_number_of_batches(
    monkeypatch: pytest.MonkeyPatch, world: int, examples: int
) -> None:
    sampler = LengthBatchSampler([1] * examples, [1] * examples, 4)
    alone = sorted(map(tuple, sampler))
    loader: Any = ResumableLoader(
        Numbers(), batch_sampler=sampler, collate_fn=lambda rows: {"rows": tuple(rows)}
    )
    every: list[tuple[int, ...]] = []
    once: list[tuple[int, ...]] = []
    for rank in range(world):
        monkeypatch.setattr(batches_module, "_rank", lambda rank=rank: (rank, world))
        served = list(loader)
        assert len(served) == len(sampler) > 0
        every += [batch["rows"] for batch in served]
        once += [batch["rows"] for batch in served if not batch["repeated"]]
    assert set(every) == set(alone)
    # The dev part is measured on each batch once.
    assert sorted(once) == alone
