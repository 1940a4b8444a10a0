"""Batches of examples: their tokens and targets, and an order that puts texts of similar length together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from datasets.fingerprint import Hasher
from rapidfuzz.distance import Levenshtein
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Sampler

from learnedgec._version import __version__
from learnedgec.evaluators.inference import Batch, encode, pad, word_places
from learnedgec.training.examples import ATTRIBUTES, Example, Examples
from learnedgec.training.objectives import HeadOptions, Objective, Targets
from learnedgec.training.pairs.referenced import wrong_words
from learnedgec.types import Indices


@dataclass(frozen=True)
class Encoding:
    """The settings by which examples become batches for heads.

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
        """Maps an input, `hypothesis` or `pair`, to the heads that read it."""
        readers: dict[str, list[str]] = {}
        for name, head in self.heads.items():
            readers.setdefault(head.input, []).append(name)
        return readers

    def tokenised(self, examples: Examples, folder: Path) -> Examples:
        """Return examples with the tokens of their texts, which the folder keeps for later runs.

        The column `length` has the number of tokens of the longest text, summed over the inputs. There is a
        column for each input and each number that its tokens have, such as `pair.input_ids`, with a list for
        each text, or none where no head reads the example as this input. `wrong` are the labels of tokens.
        """
        reads = [(name, goal.reads) for name, goal in self.objectives.items()]
        # A tokenizer remembers how it truncated its last texts, and older `datasets` hash that too.
        encode(self.tokenizer, ["."], max_length=self.max_tokens)
        about = (examples.rows._fingerprint, self.tokenizer, self.max_tokens, self.readers, reads)
        key = Hasher.hash((*about, __version__))
        folder.mkdir(parents=True, exist_ok=True)
        rows = examples.rows.with_format("arrow").map(
            self._with_tokens,
            batched=True,
            cache_file_name=str(folder / f"{key}.arrow"),
            load_from_cache_file=True,
            new_fingerprint=key,
        )
        return Examples(rows.with_format(None))

    def _with_tokens(self, table: pa.Table) -> pa.Table:
        """Return rows with the columns of `tokenised`."""
        table = table.combine_chunks()
        texts = table["texts"].to_pylist()
        taught = table["heads"].to_pylist()
        lengths = np.zeros(len(texts), dtype=np.int32)
        for kind, names in self.readers.items():
            marks: set[str] = {self.objectives[name].reads for name in names}
            if "tokens" in marks:
                marks |= {"offset_mapping"} | ({"hypothesis"} if kind == "pair" else set())
            read = [
                () if own.isdisjoint(names) else pairs
                for pairs, own in zip(texts, map(set, taught), strict=True)
            ]
            # The empty pair at the end makes sure that there is an input to encode.
            inputs = [*itertools.chain(*read), ("", "")]
            items: Sequence[Any] = inputs if kind == "pair" else [text for _, text in inputs]
            encoded, _ = encode(self.tokenizer, items, max_length=self.max_tokens, marks=marks)
            tokens = {key: encoded[key] for key in encoded if key != "offset_mapping"}
            if "tokens" in marks:
                columns = (table[key].to_pylist() for key in ("kind", "correct", "wrong"))
                labelled = [
                    (text, labels)
                    for row in zip(read, *columns, strict=True)
                    for (_, text), labels in zip(row[0], _labels(*row), strict=True)
                ]
                tokens["wrong"] = [
                    wrong_tokens(text, labels, offsets)
                    for (text, labels), offsets in zip(
                        labelled, encoded["offset_mapping"], strict=False
                    )
                ]
            ends = [0, *itertools.accumulate(map(len, read))]
            for key, numbers in tokens.items():
                number = pa.list_(pa.float32() if key == "wrong" else pa.int32())
                rows = [numbers[start:end] for start, end in itertools.pairwise(ends)]
                table = table.append_column(f"{kind}.{key}", pa.array(rows, pa.list_(number)))
            sizes = list(map(len, tokens["input_ids"]))
            lengths += [max(sizes[a:b], default=0) for a, b in itertools.pairwise(ends)]
        return table.append_column("length", pa.array(lengths))

    def collate(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return a batch: `inputs`, the padded texts of each input, and `targets`, head -> `Targets`."""
        inputs: dict[str, Batch] = {}
        targets: dict[str, Targets] = {}
        for kind, names in self.readers.items():
            tokens = {
                name.partition(".")[2]: [text for row in rows for text in row[name]]
                for name in rows[0]
                if name.startswith(f"{kind}.")
            }
            sizes = [len(row[f"{kind}.input_ids"]) for row in rows]
            if any(sizes):
                inputs[kind] = pad(self.tokenizer, tokens, range(sum(sizes)))
            for name in names:
                wrong = tokens["wrong"] if self.objectives[name].reads == "tokens" else ()
                targets[name] = self._targets(name, rows, sizes, inputs.get(kind, {}), wrong)
        return {"inputs": inputs, "targets": targets}

    def _targets(
        self,
        head: str,
        rows: Sequence[Mapping[str, Any]],
        sizes: Sequence[int],
        inputs: Batch,
        wrong: Sequence[Sequence[float]],
    ) -> Targets:
        """Return a head's targets in rows, each with its number of texts in the batch (`sizes`)."""
        goal = self.objectives[head]
        has_details = type(goal).details is not Objective.details
        ratings = torch.full((sum(sizes),), math.nan)
        pairs, margins, cases, details, labels = [], [], [], [], []
        start = 0
        for row, size in zip(rows, sizes, strict=True):
            kind = row["kind"] if head in row["heads"] else ""
            places = list(range(start, start + size))
            start += size
            if kind == "ratings":
                ratings[places[0]] = row["ratings"][row["heads"].index(head)]
            elif kind == "pairs":
                pairs.append(places)
                margins.append(row["margin"])
            elif kind == "cases":
                cases.append(places)
            if has_details:
                detailed = kind == ("ratings" if goal.rated else "pairs")
                example = Example(*(row[key] for key in ATTRIBUTES))
                numbers = goal.details(head, example) if detailed else ()
                details += [torch.tensor(numbers, dtype=torch.float32)] * size
            labels += [kind in ("pairs", "labelled", "cases")] * size
        tokens = None
        if wrong:
            tokens = pad_sequence(list(map(torch.tensor, wrong)), True, math.nan)
            tokens[~torch.tensor(labels)] = math.nan
            if "hypothesis" in inputs:
                tokens[inputs["hypothesis"] == 0] = math.nan
        return Targets(
            ratings,
            torch.tensor(pairs, dtype=torch.long).view(-1, 2),
            torch.tensor(margins, dtype=torch.float32),
            torch.tensor(cases, dtype=torch.long).view(-1, 4),
            pad_sequence(details, True, math.nan) if details else torch.zeros((sum(sizes), 0)),
            tokens,
            inputs.get("capitals") if goal.reads == "capitals" else None,
            None if tokens is None else _aligned(inputs["input_ids"], tokens, cases),
        )


def _aligned(
    tokens: torch.Tensor, wrong: torch.Tensor, cases: Sequence[Sequence[int]]
) -> torch.Tensor:
    """Return the tokens that the sources of a case and of its variant share, (K, 2, 2): rows and columns.

    Args:
        tokens: (M, T).
        wrong: (M, T), NaN for tokens that are not compared.
        cases: rows of each case, as in `Targets`.
    """
    places: list[tuple[tuple[int, int], tuple[int, int]]] = []
    for _, original, _, variant in cases:
        rows = [tokens[row][~wrong[row].isnan()].tolist() for row in (original, variant)]
        columns = [(~wrong[row].isnan()).nonzero()[:, 0].tolist() for row in (original, variant)]
        for block in Levenshtein.opcodes(*rows).as_matching_blocks():
            for step in range(block.size):
                first, second = columns[0][block.a + step], columns[1][block.b + step]
                places.append(((original, first), (variant, second)))
    return torch.tensor(places, dtype=torch.long).view(-1, 2, 2)


def _labels(
    texts: Sequence[Sequence[str]], kind: str, correct: str, wrong: Sequence[bool]
) -> list[Sequence[bool | None]]:
    """Return for each word of each text of a row, and for its end, whether it is wrong; `None` if unknown."""
    words = [text.split() for _, text in texts]
    if kind == "cases":
        # The correction comes before the source.
        return [wrong_words(own, words[place // 2 * 2]) for place, own in enumerate(words)]
    if correct:
        return [wrong_words(own, correct.split()) for own in words]
    # Nothing says whether a word is missing at the end.
    return [[*wrong, False] if kind == "labelled" else [None] * (len(own) + 1) for own in words]


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

    Examples are shuffled, sorted by the length of a sentence within chunks of 50 batches and cut into
    batches, which are shuffled again. So batches are random but need little padding. With several
    processes, each takes every `world`-th batch; batches are repeated so that all processes have the same
    number, at least one.

    Args:
        lengths: tokens of the longest text of each example, summed over the inputs (`Encoding.tokenised`).
        texts: number of texts of each example.
        batch_size: maximum number of examples in a batch.
        batch_tokens: maximum number of tokens in a batch, padding included; a single example may have more.
            Batches of short texts then have `batch_size` examples and batches of long texts fewer, which
            bounds the memory of a step. The number of batches in an epoch then depends on its order.
        seed: seed of the order.
        sentences: number of sentences whose tokens an example's length counts: two for a pair of source and
            hypothesis, three if heads read the hypothesis alone, too.
    """

    def __init__(
        self,
        lengths: Sequence[int] | Indices,
        texts: Sequence[int] | Indices,
        batch_size: int,
        batch_tokens: int | None = None,
        seed: int = 0,
        sentences: Sequence[int] | Indices = (1,),
    ) -> None:
        self.lengths, self.texts = np.asarray(lengths), np.asarray(texts)
        # A pair is padded to the longest pair, and a hypothesis to the longest hypothesis.
        self.sentence_lengths = self.lengths / np.asarray(sentences)
        self.batch_size = batch_size
        self.batch_tokens = math.inf if batch_tokens is None else batch_tokens
        self.seed = seed
        self.epoch = 0
        # The numbers of batches of the epoch: handed over, before the checkpoint, and of this process alone.
        self.served = self.skipped = self.distinct = 0

    @property
    def sampler(self) -> LengthBatchSampler:
        """Return itself: the Trainer looks for `set_epoch` on a batch sampler's sampler."""
        return self

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which determines the order; the Trainer calls this."""
        self.epoch = epoch

    def __len__(self) -> int:
        # The schedule needs one number of steps, so every epoch has as many batches as the first one.
        # A longer epoch leaves out its last batches, and a shorter one repeats its first ones.
        return math.ceil(self._count / _rank()[1])

    @cached_property
    def _count(self) -> int:
        """The number of batches of the first epoch, for all processes; the Trainer asks for it often."""
        return len(self._batches(0))

    def __iter__(self) -> Iterator[list[int]]:
        batches = self._batches(self.epoch)
        rank, world = _rank()
        self.distinct = len(batches[rank::world])
        skipped, self.skipped = self.skipped, 0
        chosen = itertools.islice(itertools.cycle(batches), rank, len(self) * world, world)
        for number, batch in enumerate(chosen, 1):
            if number > skipped:
                # Count the batch before it is handed over, because checkpoints are written while it is used.
                self.served = number
                yield batch
        self.served = 0

    def _batches(self, epoch: int) -> list[list[int]]:
        """Return the batches of an epoch, for all processes."""
        generator = np.random.default_rng((self.seed, epoch))
        order = generator.permutation(len(self.lengths))
        size = self.batch_size * _BUCKET_BATCHES
        batches: list[list[int]] = []
        for start in range(0, len(order), size):
            chunk = order[start : start + size]
            batch: list[int] = []
            texts = longest = 0
            for number in chunk[np.argsort(self.sentence_lengths[chunk], kind="stable")].tolist():
                texts += int(self.texts[number])
                # The longest example so far, to whose length the others are padded.
                longest = max(longest, int(self.lengths[number]))
                full = texts * longest > self.batch_tokens or len(batch) == self.batch_size
                if not batch or full:
                    batches.append(batch := [])
                    texts, longest = int(self.texts[number]), int(self.lengths[number])
                batch.append(number)
        return [batches[i] for i in generator.permutation(len(batches))]


def _rank() -> tuple[int, int]:
    """Return this process's number and the number of processes."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1
