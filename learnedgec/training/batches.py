"""From examples to batches: tokens and targets, batches of similar length, and their order in an epoch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Sampler

from learnedgec.evaluators.inference import Batch, encode, pad, word_places
from learnedgec.training.examples import Example, StoredExamples
from learnedgec.training.objectives import HeadOptions, Objective, Targets
from learnedgec.training.pairs.referenced import wrong_words
from learnedgec.types import Indices


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

    @cached_property
    def readers(self) -> dict[str, list[str]]:
        """The inputs `hypothesis` and `pair`, as far as heads read them, each with these heads."""
        readers: dict[str, list[str]] = {}
        for name, head in self.heads.items():
            readers.setdefault(head.input, []).append(name)
        return readers

    def lengths(self, examples: StoredExamples) -> Indices:
        """Return the number of tokens of the longest text of each example, summed over the inputs."""
        lengths = []
        for rows in examples.batches():
            tokens = np.zeros(len(rows), dtype=np.int64)
            for kind in self.readers:
                encoded, starts = self._tokenised(kind, rows)
                sizes = list(map(len, encoded.get("input_ids", ())))
                tokens += [max(sizes[a:b], default=0) for a, b in itertools.pairwise(starts)]
            lengths.append(tokens)
        return np.concatenate(lengths) if lengths else np.zeros(0, dtype=np.int64)

    def _tokenised(
        self, kind: str, examples: Sequence[Example]
    ) -> tuple[Mapping[str, Any], list[int]]:
        """Return key -> one list for each text that heads read as this input, and where examples begin."""
        names = self.readers[kind]
        read = [row.texts if row.heads.intersection(names) else () for row in examples]
        starts = [0, *itertools.accumulate(map(len, read))]
        if not starts[-1]:
            return {}, starts
        pairs = list(itertools.chain(*read))
        marks: set[str] = {self.objectives[name].reads for name in names}
        if "tokens" in marks:
            marks |= {"offset_mapping"} | ({"hypothesis"} if kind == "pair" else set())
        texts = pairs if kind == "pair" else [hypothesis for _, hypothesis in pairs]
        encoded, _ = encode(self.tokenizer, texts, max_length=self.max_tokens, marks=marks)
        return encoded, starts

    def collate(self, examples: Sequence[Example]) -> dict[str, Any]:
        """Return a batch: `inputs`, the padded texts of each input, and `targets`, head -> `Targets`."""
        inputs: dict[str, Batch] = {}
        targets: dict[str, Targets] = {}
        for kind, names in self.readers.items():
            encoded, starts = self._tokenised(kind, examples)
            if encoded:
                inputs[kind] = pad(self.tokenizer, encoded, range(starts[-1]))
            for name in names:
                targets[name] = self._targets(name, examples, starts, inputs.get(kind), encoded)
        return {"inputs": inputs, "targets": targets}

    def _targets(
        self,
        head: str,
        examples: Sequence[Example],
        starts: Sequence[int],
        inputs: Batch | None,
        encoded: Mapping[str, Any],
    ) -> Targets:
        """Return what a head is to learn from examples whose texts begin at `starts` in their batch."""
        goal = self.objectives[head]
        ratings = torch.full((starts[-1],), float("nan"))
        wrong = None
        if goal.reads == "tokens" and inputs is not None:
            wrong = torch.full(inputs["input_ids"].shape, float("nan"))
        pairs, margins, cases, details = [], [], [], []
        for example, (start, end) in zip(examples, itertools.pairwise(starts), strict=True):
            if end > start:
                ratings[start] = example.values.get(head, float("nan"))
            if head in example.ranked:
                pairs.append([start, start + 1])
                margins.append(example.margin)
            if head in example.consistent:
                cases.append(list(range(start, end)))
            if wrong is not None and head in (*example.ranked, *example.labelled):
                labels: Sequence[bool | None]
                for place, (_, text) in enumerate(example.texts, start):
                    if example.correct:
                        labels = wrong_words(text.split(), example.correct.split())
                    elif example.labelled:
                        labels = [*example.wrong, False]  # the label of the end may be missing
                    else:
                        continue
                    row = wrong_tokens(text, labels, encoded["offset_mapping"][place])
                    wrong[place, : len(row)] = torch.tensor(row, dtype=wrong.dtype)
            learned = head in (example.values if goal.rated else example.ranked)
            numbers = goal.details(head, example) if learned else ()
            details += [torch.tensor(numbers, dtype=torch.float32)] * (end - start)
        if wrong is not None and inputs is not None and "hypothesis" in inputs:
            wrong[inputs["hypothesis"] == 0] = float("nan")
        groups = [hash(example.source) for example in examples]
        return Targets(
            ratings,
            torch.tensor(pairs, dtype=torch.long).view(-1, 2),
            torch.tensor(margins, dtype=torch.float32),
            torch.tensor(cases, dtype=torch.long).view(-1, 4),
            torch.tensor(np.repeat(groups, np.diff(starts))),
            pad_sequence(details, True, float("nan")) if details else torch.zeros((0, 0)),
            wrong,
            inputs["capitals"] if inputs is not None and goal.reads == "capitals" else None,
        )


def wrong_tokens(
    hypothesis: str, wrong: Sequence[bool | None], offsets: Sequence[tuple[int, int]]
) -> list[float]:
    """Return for each token of the encoder whether it belongs to a wrong word, as 0 or 1; NaN if unknown.

    Special tokens belong to no word, except for the last one, which stands for the end of the sentence. They
    are not wrong, or unknown where some word is.

    Args:
        hypothesis: the text, its words separated by white space.
        wrong: for each word, and for the end, whether it is wrong (`wrong_words`); `None` if unknown.
        offsets: start and end of each token in the hypothesis, in characters; special tokens have an empty
            span.

    Example:
        >>> wrong_tokens("He go", [False, True, False], [(0, 0), (0, 2), (3, 5), (0, 0)])
        [0.0, 0.0, 1.0, 0.0]
    """
    places = word_places(hypothesis, offsets)
    special = None if None in wrong else False
    labels = [special if place is None else wrong[place] for place in places]
    return [math.nan if label is None else float(label) for label in labels]


_BUCKET_BATCHES = 50


class LengthBatchSampler(Sampler[list[int]]):
    """Batches of examples of similar length, in an order that depends only on seed and epoch.

    Examples are shuffled, sorted by length within chunks of 50 batches and cut into batches, which are
    shuffled again. So batches are random but need little padding. With several processes, each takes every
    `world`-th batch; batches are repeated so that all processes have the same number, at least one.

    Args:
        lengths: tokens of the longest text of each example, summed over the inputs (`Encoding.lengths`).
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
        lengths: Sequence[int] | Indices,
        texts: Sequence[int] | Indices,
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
        # The schedule needs one number, so every epoch has as many batches as the first one: of more the last
        # are left out, and of fewer the first come again. They are a few of thousands.
        return math.ceil(len(self._batches(0)) / _rank()[1])

    def __iter__(self) -> Iterator[list[int]]:
        batches = self._batches(self.epoch)
        rank, world = _rank()
        # Number of this process's batches that no other process has.
        self.distinct = len(batches[rank::world])
        for batch in itertools.islice(itertools.cycle(batches), rank, len(self) * world, world):
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
            batch: list[int] = []
            texts = 0
            for number in chunk[np.argsort(self.lengths[chunk], kind="stable")].tolist():
                texts += int(self.texts[number])
                # The longest up to here, to which the others are padded.
                tokens = texts * int(self.lengths[number])
                if not batch or tokens > self.batch_tokens or len(batch) == self.batch_size:
                    batches.append(batch := [])
                    texts = int(self.texts[number])
                batch.append(number)
        return [batches[i] for i in generator.permutation(len(batches))]


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
                batch = self.collate_fn(self.dataset[indices])
                yield batch | {"repeated": number >= sampler.distinct}
        self.served = 0

    def state_dict(self) -> dict[str, int]:
        """Return the number of batches of the current epoch that were already yielded."""
        return {"served": self.served % len(self)}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Continue after the number of batches in a saved state."""
        self._skip = state["served"]
