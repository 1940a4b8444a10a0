"""From examples to batches: tokens and targets, batches of similar length, and their order in an epoch."""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import torch
from datasets import Dataset
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Sampler

from learnedgec.evaluators.batching import TOKEN_COLUMNS, Batch, hypothesis_marks, pad
from learnedgec.evaluators.capitals import mark_capitals
from learnedgec.training.examples import Example
from learnedgec.training.labelled import wrong_words
from learnedgec.training.objectives import HeadOptions, Objective, Targets
from learnedgec.training.storage import batched, write_columns


@dataclass(frozen=True)
class Encoding:
    """How examples become batches for heads.

    Attributes:
        tokenizer: the encoder's tokenizer.
        max_tokens: maximum length of an input in tokens.
        heads: head -> its options.
        objectives: head -> its objective.
    """

    tokenizer: Any
    max_tokens: int
    heads: Mapping[str, HeadOptions]
    objectives: Mapping[str, Objective]

    @property
    def kinds(self) -> list[str]:
        """The inputs that heads read: `hypothesis`, `pair` or both."""
        return list(dict.fromkeys(head.input for head in self.heads.values()))

    def _reading(self, kind: str, states: str) -> set[str]:
        """Return the heads that read these states of the encoder for one kind of input."""
        return {
            name
            for name, goal in self.objectives.items()
            if goal.reads == states and self.heads[name].input == kind
        }

    def store(self, examples: Iterable[Example], path: Path) -> Dataset:
        """Tokenise examples into a dataset with a row for each, in a file that is mapped into memory.

        Its columns `INPUT/KEY` hold one list per text of an example; they are empty if no head reads the
        example as INPUT. `INPUT/wrong` has one label per token, where a head detects wrong words and the
        correct text is known; `pair/hypothesis` marks the tokens that are not of the source, whose labels
        mean something, and `hypothesis/capitals` the capitals, where a head learns them. The others are the
        targets; `texts`, the number of texts; `length`, the number of tokens of the longest; and `group`, a
        number that examples of one group or source share.

        Args:
            examples: the examples.
            path: the file.
        """
        kinds = [f"{kind}/{key}" for kind in self.kinds for key in self._tokenised(kind, [])]
        tokens = pyarrow.list_(pyarrow.list_(pyarrow.int32()))
        names, numbers = pyarrow.list_(pyarrow.string()), pyarrow.list_(pyarrow.float64())
        fields = [(kind, tokens) for kind in kinds]
        fields += [(f"values/{head}", pyarrow.float64()) for head in self.objectives]
        fields += [(f"details/{head}", numbers) for head in self.objectives]
        fields += [(name, names) for name in ("ranked", "labelled", "consistent")]
        fields += [(name, pyarrow.int64()) for name in ("group", "texts", "length")]
        schema = pyarrow.schema([*fields, ("margin", pyarrow.float64())])
        return write_columns(path, map(self.columns, batched(examples)), schema)

    def columns(self, examples: Sequence[Example]) -> dict[str, list[Any]]:
        """Return the columns of some examples."""
        columns: dict[str, list[Any]] = {}
        lengths = np.zeros(len(examples), dtype=np.int64)
        for kind in self.kinds:
            names = {name for name, head in self.heads.items() if head.input == kind}
            read = [bool(names & row.heads) for row in examples]
            tokenised = self._tokenised(kind, list(itertools.compress(examples, read)))
            for key, values in tokenised.items():
                rest = iter(values)
                columns[f"{kind}/{key}"] = [next(rest) if own else [] for own in read]
            lengths += [max(map(len, ids), default=0) for ids in columns[f"{kind}/input_ids"]]
        for head, goal in self.objectives.items():
            columns[f"values/{head}"] = [row.values.get(head, float("nan")) for row in examples]
            columns[f"details/{head}"] = [
                list(goal.details(head, row))
                if head in (row.values if goal.rated else row.ranked)
                else []
                for row in examples
            ]
        return columns | {
            "group": [hash(row.sides[0]) for row in examples],
            "texts": [len(row.texts) for row in examples],
            "length": lengths.tolist(),
            "margin": [row.margin for row in examples],
            "ranked": [list(row.ranked) for row in examples],
            "labelled": [list(row.labelled) for row in examples],
            "consistent": [list(row.consistent) for row in examples],
        }

    def _tokenised(self, kind: str, examples: Sequence[Example]) -> dict[str, list[Any]]:
        """Return key -> for each example, a list for each text."""
        # Without a text the tokenizer would not say which columns it returns.
        texts = [text for example in examples for text in example.texts] or [("", "a")]
        sources, hypotheses = map(list, zip(*texts, strict=True))
        detecting = self._reading(kind, "tokens")
        capitals = self._reading(kind, "capitals")
        encoded: Any = self.tokenizer(
            *([hypotheses] if kind == "hypothesis" else [sources, hypotheses]),
            truncation=True,
            max_length=self.max_tokens,
            return_offsets_mapping=bool(detecting or capitals),
        )
        if capitals:
            encoded["capitals"] = list(map(mark_capitals, hypotheses, encoded["offset_mapping"]))
        if detecting and kind == "pair":
            encoded["hypothesis"] = hypothesis_marks(encoded)
        ends = np.cumsum([0, *(len(example.texts) for example in examples)]).tolist()
        places = [slice(start, end) for start, end in itertools.pairwise(ends)]
        columns = {
            key: [encoded[key][own] for own in places] for key in TOKEN_COLUMNS if key in encoded
        }
        if detecting:
            columns["wrong"] = [
                _wrong_tokens_of(example, encoded["offset_mapping"][own])
                if detecting & {*example.ranked, *example.labelled}
                else []
                for example, own in zip(examples, places, strict=True)
            ]
        return columns

    def collate(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return a batch: `inputs`, the padded texts of each input, and `targets`, head -> `Targets`."""
        inputs: dict[str, Batch] = {}
        starts: dict[str, list[int]] = {}
        for kind in self.kinds:
            counts = [len(row[f"{kind}/input_ids"]) for row in rows]
            starts[kind] = [0, *np.cumsum(counts).tolist()]
            if sum(counts):
                encoded = {
                    key: [ids for row in rows for ids in row[f"{kind}/{key}"]]
                    for key in TOKEN_COLUMNS
                    if f"{kind}/{key}" in rows[0]
                }
                inputs[kind] = pad(self.tokenizer, encoded, range(sum(counts)))
        targets = {
            name: self._targets(name, rows, starts[head.input], inputs.get(head.input))
            for name, head in self.heads.items()
        }
        return {"inputs": inputs, "targets": targets}

    def _targets(
        self,
        head: str,
        rows: Sequence[Mapping[str, Any]],
        starts: Sequence[int],
        inputs: Batch | None,
    ) -> Targets:
        """Return what a head is to learn from rows whose texts begin at `starts` in their batch."""
        kind, reads = self.heads[head].input, self.objectives[head].reads
        ratings = torch.full((starts[-1],), float("nan"))
        wrong = None
        if reads == "tokens" and inputs is not None:
            wrong = torch.full(inputs["input_ids"].shape, float("nan"))
        pairs, margins, cases = [], [], []
        counts = np.diff(starts)
        details = pad_sequence(
            [torch.tensor(row[f"details/{head}"], dtype=torch.float32) for row in rows],
            True,
            float("nan"),
        )
        for start, row in zip(starts, rows, strict=False):
            if row[f"{kind}/input_ids"]:
                ratings[start] = row[f"values/{head}"]
            if head in row["ranked"]:
                pairs.append([start, start + 1])
                margins.append(row["margin"])
            if wrong is not None and head in (*row["ranked"], *row["labelled"]):
                for place, labels in enumerate(row[f"{kind}/wrong"]):
                    wrong[start + place, : len(labels)] = torch.tensor(labels, dtype=wrong.dtype)
            if head in row["consistent"]:
                cases.append([start + place for place in range(4)])
        if wrong is not None and inputs is not None and "hypothesis" in inputs:
            wrong[inputs["hypothesis"] == 0] = float("nan")
        return Targets(
            ratings,
            torch.tensor(pairs, dtype=torch.long).view(-1, 2),
            torch.tensor(margins, dtype=torch.float32),
            torch.tensor(cases, dtype=torch.long).view(-1, 4),
            torch.tensor(np.repeat([row["group"] for row in rows], counts)),
            details[np.repeat(np.arange(len(rows)), counts)],
            wrong,
            inputs["capitals"] if inputs is not None and reads == "capitals" else None,
        )


def _wrong_tokens_of(
    example: Example, offsets: Sequence[Sequence[tuple[int, int]]]
) -> list[list[int]]:
    """Return the label of each token of each text: as given, else by the correct text; none if unknown."""
    hypotheses = [hypothesis for _, hypothesis in example.texts]
    wrong: list[Sequence[bool]] = []
    if example.labelled:
        wrong = [[*example.wrong, False]]  # the label of the end may be missing
    elif example.correct:
        wrong = [wrong_words(text.split(), example.correct.split()) for text in hypotheses]
    return [wrong_tokens(*text) for text in zip(hypotheses, wrong, offsets, strict=False)]


def wrong_tokens(
    hypothesis: str, wrong: Sequence[bool], offsets: Sequence[tuple[int, int]]
) -> list[int]:
    """Return for each token of the encoder whether it belongs to a wrong word, as 0 or 1.

    Special tokens belong to no word, except for the last one, which stands for the end of the sentence.

    Args:
        hypothesis: the text, its words separated by white space.
        wrong: for each word, and for the end, whether it is wrong (`wrong_words`).
        offsets: start and end of each token in the hypothesis, in characters; special tokens have an empty
            span.

    Example:
        >>> wrong_tokens("He go", [False, True, False], [(0, 0), (0, 2), (3, 5), (0, 0)])
        [0, 0, 1, 0]
    """
    starts = [word.start() for word in re.finditer(r"\S+", hypothesis)]
    # Some tokenizers count the space before a word as part of it, so the last character counts.
    labels = [
        int(end > start and wrong[bisect_right(starts, end - 1) - 1]) for start, end in offsets
    ]
    if offsets and offsets[-1][0] == offsets[-1][1]:
        labels[-1] = int(wrong[len(starts)])
    return labels


_BUCKET_BATCHES = 50


class LengthBatchSampler(Sampler[list[int]]):
    """Batches of examples of similar length, in an order that depends only on seed and epoch.

    Examples are shuffled, sorted by length within chunks of 50 batches and cut into batches, which are
    shuffled again. So batches are random but need little padding. With several processes, each takes every
    `world`-th batch; batches are repeated so that all processes have the same number, at least one.

    Args:
        lengths: number of tokens in the longest text of each example.
        texts: number of texts of each example.
        batch_size: maximum number of examples in a batch.
        batch_tokens: maximum number of tokens in a batch, padding included; a single example may have more.
            Batches of short texts then have `batch_size` examples and batches of long texts fewer, which
            bounds the memory of a step. The number of batches in an epoch then depends on its order.
        seed: seed of the order.
        lists: what each of the examples stands for, if not for itself: the places of several.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        texts: Sequence[int],
        batch_size: int,
        batch_tokens: int | None = None,
        seed: int = 0,
        lists: Sequence[Sequence[int]] | None = None,
    ) -> None:
        self.lengths, self.texts = np.asarray(lengths), np.asarray(texts)
        self.batch_size = batch_size
        self.batch_tokens = math.inf if batch_tokens is None else batch_tokens
        self.seed = seed
        self.lists = lists
        self.epoch = 0
        self.distinct = 0

    @property
    def sampler(self) -> LengthBatchSampler:
        """Return itself: the Trainer looks for `set_epoch` on a batch sampler's sampler."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which determines the order; the Trainer calls this."""
        self.epoch = epoch

    def largest(self) -> tuple[int, float]:
        """Return the longest example, and how many times as many tokens the largest batch has, padded."""
        longest = int(self.lengths.argmax())
        tokens = max(
            int(self.texts[batch].sum() * self.lengths[batch].max()) for batch in self._batches(0)
        )
        return longest, tokens / int(self.texts[longest] * self.lengths[longest])

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
        for batch in itertools.islice(itertools.cycle(batches), rank, rounds * world, world):
            yield self.places(batch)

    def places(self, batch: Sequence[int]) -> list[int]:
        """Return the places in the data of what examples stand for."""
        if self.lists is None:
            return list(batch)
        return [place for number in batch for place in self.lists[number]]

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
            # Examples come in order of length, so this one is the longest, and the others are padded to it.
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
