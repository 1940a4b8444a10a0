"""Examples for training: human ratings, split honestly, batched by length, resumable in mid-epoch."""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pytorch_lightning as lightning
import torch
from datasets import Dataset
from torch.utils.data import DataLoader, Sampler

from learnedgec.catalog.leakage import check_leakage
from learnedgec.catalog.ratings import Rating, load_ratings
from learnedgec.encoding import Batch, pad
from learnedgec.errors import ConfigError, InputError

__all__ = ["LengthBatchSampler", "RatingsData", "ResumableLoader", "Split", "split_ratings"]

Split = Literal["by-source", "paper-random"]
PARTS = ("train", "dev", "test")
_BUCKET_BATCHES = 50


def split_ratings(
    ratings: Sequence[Rating], split: Split, seed: int = 0
) -> dict[str, list[Rating]]:
    """Divide ratings into train, dev and test, 8:1:1.

    Args:
        ratings: at least ten groups.
        split: `by-source` keeps ratings of one source on one side, the honest default; `paper-random`
            deals single ratings out at random as Yoshimura et al. (2020) did (3,376, 422 and 423 of
            TMU-GFM's 4,221), so that outputs for one source fall on both sides. For comparison only.
        seed: of the shuffle; the same seed gives the same split.
    """
    shuffle = random.Random(seed).shuffle
    units: list[list[Rating]]
    if split == "paper-random":
        units = [[rating] for rating in ratings]
    else:
        groups: dict[str, list[Rating]] = {}
        for rating in ratings:
            groups.setdefault(rating.group, []).append(rating)
        units = list(groups.values())
    shuffle(units)
    if len(units) < len(PARTS):
        raise InputError(
            f"{len(units)} groups of ratings cannot be split into train, dev and test."
        )
    train = max(min(int(0.8 * len(units)), len(units) - 2), 1)
    dev = train + max((len(units) - train) // 2, 1)
    pieces = (units[:train], units[train:dev], units[dev:])
    return {
        part: [rating for unit in piece for rating in unit]
        for part, piece in zip(PARTS, pieces, strict=True)
    }


class LengthBatchSampler(Sampler[list[int]]):
    """Batches of examples of similar length, in an order that depends on seed and epoch alone.

    Examples are shuffled, sorted by length within chunks of 50 batches, cut into batches, and the
    batches shuffled: little padding, and still random. With several processes, each takes every
    `world`-th batch; the last ones are repeated so that all have equally many.
    """

    def __init__(self, lengths: Sequence[int], batch_size: int, seed: int = 0) -> None:
        self.lengths = np.asarray(lengths)
        self.batch_size = batch_size
        self.seed = seed
        self.epoch = 0

    @property
    def sampler(self) -> LengthBatchSampler:
        """Return itself: the Trainer looks for `set_epoch` on a batch sampler's sampler."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose order comes next; the Trainer calls this."""
        self.epoch = epoch

    def __len__(self) -> int:
        _, world = _rank()
        return math.ceil(math.ceil(len(self.lengths) / self.batch_size) / world)

    def __iter__(self) -> Iterator[list[int]]:
        generator = np.random.default_rng((self.seed, self.epoch))
        order = generator.permutation(len(self.lengths))
        size = self.batch_size * _BUCKET_BATCHES
        found: list[list[int]] = []
        for start in range(0, len(order), size):
            chunk = order[start : start + size]
            chunk = chunk[np.argsort(self.lengths[chunk], kind="stable")]
            found += [
                chunk[i : i + self.batch_size].tolist()
                for i in range(0, len(chunk), self.batch_size)
            ]
        batches = [found[i] for i in generator.permutation(len(found))]
        rank, world = _rank()
        missing = -len(batches) % world
        yield from (batches + batches[:missing])[rank::world]


def _rank() -> tuple[int, int]:
    """Return this process's number and how many there are."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


class ResumableLoader(DataLoader[Any]):
    """A loader that continues an epoch at the very batch after a checkpoint taken within it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.served = 0
        self._skip = 0

    def __iter__(self) -> Any:
        skip, self._skip = self._skip, 0
        self.served = skip
        sampler = self.batch_sampler
        assert sampler is not None
        # Batches already trained on are skipped in the sampler, so they are not even collated.
        for number, indices in enumerate(sampler):
            if number >= skip:
                # Counted before it is handed over: a checkpoint is written while it is in use.
                self.served = number + 1
                yield self.collate_fn(self.dataset.__getitems__(indices))  # type: ignore[attr-defined]
        self.served = 0

    def state_dict(self) -> dict[str, int]:
        """Return how many batches of the unfinished epoch have been handed out."""
        return {"served": self.served % len(self)}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Continue after the batches that a state has counted."""
        self._skip = state["served"]


class RatingsData(lightning.LightningDataModule):
    """Human ratings as training data.

    Args:
        ratings: rated datasets: catalog names (`tmu-gfm`, `gug`, `sts:2015`), files or folders.
        auxiliary: further rated datasets that are trained on whole, never selected or tested on;
            sentences that the dev or test part holds are left out of them.
        split: how to divide `ratings` into train, dev and test; see `split_ratings`.
        split_seed: seed of the division, apart from the training seed.
        batch_size: ratings per step and device.
        evaluation_batch_size: ratings per step in development.
        check_leakage: refuse text that SEEDA, GJG15 or CoNLL-14 are evaluated on.
    """

    def __init__(
        self,
        ratings: list[str],
        auxiliary: list[str] | None = None,
        split: Split = "by-source",
        split_seed: int = 0,
        batch_size: int = 16,
        evaluation_batch_size: int = 64,
        check_leakage: bool = True,
    ) -> None:
        super().__init__()
        if not ratings:
            raise ConfigError("data.ratings is empty; name at least one dataset or file.")
        if batch_size < 1 or evaluation_batch_size < 1:
            raise ConfigError("data.batch_size and data.evaluation_batch_size must be at least 1.")
        self.names = list(ratings)
        self.auxiliary = list(auxiliary or [])
        self.split: Split = split
        self.split_seed = split_seed
        self.batch_size = batch_size
        self.evaluation_batch_size = evaluation_batch_size
        self.check_leakage = check_leakage
        self.parts: dict[str, list[Rating]] = {}
        self.encoded: dict[str, Dataset] = {}
        self._train_loader: ResumableLoader | None = None
        self._place: dict[str, Any] = {}

    # -- reading and splitting -----------------------------------------------------------------

    def load(self) -> dict[str, list[Rating]]:
        """Read and split the ratings once; raise `LeakageError` for forbidden text."""
        if not self.parts:
            parts: dict[str, list[Rating]] = {part: [] for part in PARTS}
            for name in self.names:
                found = split_ratings(self._read(name), self.split, self.split_seed)
                for part, rows in found.items():
                    parts[part] += rows
            held_out = {r.hypothesis for part in ("dev", "test") for r in parts[part]}
            for name in self.auxiliary:
                parts["train"] += [r for r in self._read(name) if r.hypothesis not in held_out]
            self.parts = parts
        return self.parts

    def _read(self, name: str) -> list[Rating]:
        """Return one dataset's ratings, or raise `LeakageError`."""
        found = load_ratings(name)
        if self.check_leakage:
            check_leakage([text for r in found for text in (r.source, r.hypothesis) if text], name)
        return found

    def target_statistics(self, heads: Sequence[str]) -> dict[str, tuple[float, float]]:
        """Return the mean and standard deviation of each head's training ratings.

        Raises:
            ConfigError: a head has no rating to learn from.
        """
        found = {}
        for head in heads:
            values = [r.values[head] for r in self.load()["train"] if head in r.values]
            if len(values) < 2:
                known = sorted({d for r in self.parts["train"] for d in r.values})
                raise ConfigError(
                    f"model.heads.{head}: the training data rates {', '.join(known)}, not {head!r}; "
                    "name a rated dimension or add data for it."
                )
            found[head] = (float(np.mean(values)), float(np.std(values)) or 1.0)
        return found

    def fingerprint(self) -> dict[str, Any]:
        """Return what a manifest says of the data: names, sizes, SHA-256 of each part."""
        parts = self.load()
        return {
            "ratings": self.names,
            "auxiliary": self.auxiliary,
            "split": self.split,
            "split_seed": self.split_seed,
            **{
                part: {
                    "ratings": len(rows),
                    "sha256": hashlib.sha256(
                        json.dumps(
                            [[r.source, r.hypothesis, dict(r.values)] for r in rows]
                        ).encode()
                    ).hexdigest(),
                }
                for part, rows in parts.items()
            },
        }

    # -- tokenising and batching ---------------------------------------------------------------

    def setup(self, stage: str | None = None) -> None:
        """Tokenise what the module's heads read; the Trainer calls this on every process."""
        assert self.trainer is not None
        module: Any = self.trainer.lightning_module
        self.tokenizer = module.tokenizer
        self.heads: list[str] = list(module.model.config.heads)
        self.inputs = sorted({module.model.config.head(name).input for name in self.heads})
        if not self.encoded:
            limit = module.model.config.max_tokens
            for part in ("train", "dev"):
                self.encoded[part] = self._encode(self.load()[part], limit)

    def _encode(self, ratings: Sequence[Rating], max_tokens: int) -> Dataset:
        """Tokenise ratings into a dataset with the columns `INPUT/KEY`, one per head, and `length`."""
        columns: dict[str, list[Any]] = {}
        lengths = np.zeros(len(ratings), dtype=np.int64)
        hypotheses = [rating.hypothesis for rating in ratings]
        for kind in self.inputs:
            texts = (
                [hypotheses] if kind == "hypothesis" else [[r.source for r in ratings], hypotheses]
            )
            encoded = self.tokenizer(*texts, truncation=True, max_length=max_tokens)
            for key in ("input_ids", "token_type_ids"):
                if key in encoded:
                    columns[f"{kind}/{key}"] = encoded[key]
            lengths += [len(ids) for ids in encoded["input_ids"]]
        for head in self.heads:
            columns[head] = [rating.values.get(head, float("nan")) for rating in ratings]
        return Dataset.from_dict({**columns, "length": lengths.tolist()})

    def collate(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return a batch: padded inputs by kind, and targets (B,) by head, NaN where unrated."""
        inputs: dict[str, Batch] = {}
        for kind in self.inputs:
            prefix = f"{kind}/"
            encoded = {
                key.removeprefix(prefix): [row[key] for row in rows]
                for key in rows[0]
                if key.startswith(prefix)
            }
            inputs[kind] = pad(self.tokenizer, encoded, range(len(rows)))
        targets = {head: torch.tensor([row[head] for row in rows]) for head in self.heads}
        return {"inputs": inputs, "targets": targets}

    def _loader(self, part: str, batch_size: int, *, seed: int) -> ResumableLoader:
        data = self.encoded[part]
        sampler = LengthBatchSampler(data["length"], batch_size, seed)
        return ResumableLoader(data, batch_sampler=sampler, collate_fn=self.collate)

    def train_dataloader(self) -> ResumableLoader:
        """Return the loader of the training part."""
        seed = torch.initial_seed() % 2**32
        self._train_loader = self._loader("train", self.batch_size, seed=seed)
        if self._place:
            self._train_loader.load_state_dict(self._place)
        return self._train_loader

    # The Trainer restores a loader's own state only if it has not made the loader yet, but it makes
    # it early, to count the steps of the schedule; so the place in the epoch is kept here as well.

    def state_dict(self) -> dict[str, Any]:
        """Return the place in the epoch, for a checkpoint."""
        return {} if self._train_loader is None else self._train_loader.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue at a checkpoint's place in the epoch."""
        self._place = state

    def val_dataloader(self) -> ResumableLoader:
        """Return the loader of the dev part."""
        return self._loader("dev", self.evaluation_batch_size, seed=0)
