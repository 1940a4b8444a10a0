"""Batches of similar length in a reproducible order, and a loader that resumes within an epoch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Sampler

__all__ = ["LengthBatchSampler", "ResumableLoader"]

_BUCKET_BATCHES = 50


class LengthBatchSampler(Sampler[list[int]]):
    """Batches of examples of similar length, in an order that depends only on seed and epoch.

    Examples are shuffled, sorted by length within chunks of 50 batches and cut into batches, which are
        shuffled again. So batches are random but need little padding. With several processes, each takes
        every `world`-th batch; batches are repeated so that all processes have the same number, at least one.

    Args:
        lengths: number of tokens in the longest text of each example.
        texts: number of texts of each example.
        batch_size: maximum number of examples in a batch.
        batch_tokens: maximum number of tokens in a batch, padding included; a single example may have more.
            Batches of short texts then have `batch_size` examples and batches of long texts fewer, which
            bounds the memory of a step. The number of batches in an epoch then depends on its order.
        seed: seed of the order.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        texts: Sequence[int],
        batch_size: int,
        batch_tokens: int | None = None,
        seed: int = 0,
    ) -> None:
        self.lengths, self.texts = np.asarray(lengths), np.asarray(texts)
        self.batch_size = batch_size
        self.batch_tokens = math.inf if batch_tokens is None else batch_tokens
        self.seed = seed
        self.epoch = 0
        self.distinct = 0

    @property
    def sampler(self) -> LengthBatchSampler:
        """Return itself: the Trainer looks for `set_epoch` on a batch sampler's sampler."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which determines the order; the Trainer calls this."""
        self.epoch = epoch

    def __len__(self) -> int:
        # The Trainer and the schedule ask once. An epoch with more batches than the first one leaves the last
        # of them out, a few of thousands, which come again in another order.
        return math.ceil(len(self._batches(0)) / _rank()[1])

    def __iter__(self) -> Iterator[list[int]]:
        batches = self._batches(self.epoch)
        rank, world = _rank()
        rounds = math.ceil(len(batches) / world)
        # Number of this process's batches that no other process has.
        self.distinct = len(batches[rank::world])
        yield from itertools.islice(itertools.cycle(batches), rank, rounds * world, world)

    def _batches(self, epoch: int) -> list[list[int]]:
        """Return the batches of an epoch, for all processes."""
        generator = np.random.default_rng((self.seed, epoch))
        order = generator.permutation(len(self.lengths))
        size = self.batch_size * _BUCKET_BATCHES
        batches: list[list[int]] = []
        for start in range(0, len(order), size):
            chunk = order[start : start + size]
            batches += self._cut(chunk[np.argsort(self.lengths[chunk], kind="stable")].tolist())
        return [batches[i] for i in generator.permutation(len(batches))]

    def _cut(self, chunk: Sequence[int]) -> list[list[int]]:
        """Cut examples, sorted by length, into batches."""
        batches: list[list[int]] = []
        texts = 0
        for number in chunk:
            texts += int(self.texts[number])
            # This is the longest example so far, to whose length the others are padded.
            tokens = texts * int(self.lengths[number])
            if not batches or tokens > self.batch_tokens or len(batches[-1]) == self.batch_size:
                batches.append([])
                texts = int(self.texts[number])
            batches[-1].append(number)
        return batches


def _rank() -> tuple[int, int]:
    """Return this process's number and the number of processes."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


class ResumableLoader(DataLoader[Any]):
    """A loader that continues an epoch at the batch after a checkpoint.

    Its batches have the key `repeated`: whether another process has the same batch.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.served = 0
        self._skip = 0

    def __iter__(self) -> Any:
        skip, self._skip = self._skip, 0
        self.served = skip
        sampler: Any = self.batch_sampler
        # Batches already trained on are skipped in the sampler, so they are not even collated.
        for number, indices in enumerate(sampler):
            if number >= skip:
                # Counted before it is handed over: a checkpoint is written while it is in use.
                self.served = number + 1
                batch = self.collate_fn(self.dataset.__getitems__(indices))  # type: ignore[attr-defined]
                yield batch | {"repeated": number >= sampler.distinct}
        self.served = 0

    def state_dict(self) -> dict[str, int]:
        """Return the number of batches of the current epoch that were already yielded."""
        return {"served": self.served % len(self)}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Continue after the number of batches in a saved state."""
        self._skip = state["served"]
