"""The LightningDataModule: turns the names of ratings, ranked pairs and cases into padded batches.

One file, though long: it is one class, whose methods Lightning calls one after the other.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytorch_lightning as lightning
import torch
from datasets import Dataset
from jsonargparse.typing import register_type

from learnedgec.catalog.cases import load_cases
from learnedgec.catalog.leakage import check_leakage, check_reserved
from learnedgec.catalog.ratings import Rating, load_ratings
from learnedgec.errors import ConfigError
from learnedgec.execution.runtime import Runtime
from learnedgec.models.batching import TOKEN_COLUMNS, Batch, pad
from learnedgec.models.capitals import mark_capitals
from learnedgec.training.detection import wrong_tokens
from learnedgec.training.examples import (
    PARTS,
    Example,
    Split,
    case_examples,
    pair_examples,
    rating_examples,
    split_examples,
)
from learnedgec.training.heads import HeadOptions
from learnedgec.training.loading import LengthBatchSampler, ResumableLoader
from learnedgec.training.pairs import PairFile, PairSource, RankedPair

__all__ = ["TrainingData"]


@dataclass(frozen=True)
class PairFileName:
    """The name of a JSONL file with ranked pairs; any other text is an error."""

    name: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[^{[\s].*\.jsonl(\.gz)?", self.name):
            raise ValueError("the name of a .jsonl file was expected")

    def __str__(self) -> str:
        return self.name


register_type(PairFileName)


class TrainingData(lightning.LightningDataModule):
    """Ratings, ranked pairs and cases as training data.

    Args:
        ratings: rated datasets: catalog names (`tmu-gfm`, `gug`, `sts:2015`), files or folders; a
            regression head learns the dimension with its name.
        auxiliary: further rated datasets, used for training only. A sentence, or an output for a source, that
            is in the dev or test part is left out.
        pairs: head -> sources of its ranked pairs (`learnedgec.training.pairs`), or JSONL files with
            `source`, `better` and `worse`.
        cases: head -> parts of RobustGEC, or files in its format; the head's preference for the correction
            should not change with unrelated context (`model.consistency`). A head that learns the order of
            pairs also learns in each context that the correction is better.
        variants: number of variants of each case to train on, drawn by `split_seed`; all by default.
        split: how to divide the data into train, dev and test; see `split_examples`. Rated datasets are
            divided one after the other, then pairs and cases together; a group or source that
            was divided before stays on its side.
        split_seed: seed of the division, independent of the training seed.
        batch_size: maximum number of examples per step and device; a ranked pair is one example.
        batch_tokens: maximum number of tokens in a training batch, padding included, which bounds memory, as
            long texts make smaller batches; no limit by default. `trainer.accumulate_grad_batches` makes
            a step of several batches.
        evaluation_batch_size: number of examples per step on the dev part.
        check_leakage: refuse evaluation text of SEEDA, GJG15 and CoNLL-14.
        folder: folder in which pairs are kept, because making them may take long. The command sets it to
            `runs`, so that runs share them.
        jobs: number of processes that extract edits for pairs; 0 means one per core.
    """

    def __init__(
        self,
        ratings: list[str] | None = None,
        auxiliary: list[str] | None = None,
        pairs: dict[str, list[PairSource | PairFileName]] | None = None,
        cases: dict[str, list[str]] | None = None,
        variants: int | None = None,
        split: Split = "by-source",
        split_seed: int = 0,
        batch_size: int = 16,
        batch_tokens: int | None = None,
        evaluation_batch_size: int = 64,
        check_leakage: bool = True,
        folder: str | None = None,
        jobs: int = 1,
    ) -> None:
        super().__init__()
        if not ratings and not pairs:
            raise ConfigError(
                "data: neither ratings nor pairs are given; give ratings, pairs or both."
            )
        sizes = {
            "data.batch_size": batch_size,
            "data.batch_tokens": batch_tokens,
            "data.evaluation_batch_size": evaluation_batch_size,
            "data.variants": variants,
        }
        for name, size in sizes.items():
            if size is not None and size < 1:
                raise ConfigError(f"{name} is {size}; at least 1 was expected.")
        self.names = list(ratings or [])
        self.auxiliary = list(auxiliary or [])
        self.pairs: dict[str, list[PairSource]] = {
            head: [
                PairFile(each.name) if isinstance(each, PairFileName) else each for each in sources
            ]
            for head, sources in (pairs or {}).items()
        }
        self.cases = dict(cases or {})
        self.variants = variants
        self.split: Split = split
        self.split_seed = split_seed
        self.batch_size = batch_size
        self.batch_tokens = batch_tokens
        self.evaluation_batch_size = evaluation_batch_size
        self.check_leakage = check_leakage
        self.folder = folder
        self.jobs = jobs
        self.progress = False
        self.parts: dict[str, list[Example]] = {}
        self._read: dict[str, list[Rating]] = {}
        self.inputs: dict[str, str] = {}
        self.detecting: set[str] = set()
        self.capitals = False
        self.summaries: dict[str, list[dict[str, Any]]] = {}
        self.encoded: dict[str, Dataset] = {}
        self._train_loader: ResumableLoader | None = None
        self._place: dict[str, Any] = {}

    # -- reading and splitting -----------------------------------------------------------------

    def load(self) -> dict[str, list[Example]]:
        """Read or make all examples and split them, once; raise `LeakageError` for text of a benchmark."""
        if not self.parts:
            if self.check_leakage:
                check_reserved(self._datasets())
            # What cannot be used is said before what must not be.
            for name in [*self.names, *self.auxiliary]:
                self._ratings(name)
            for source in {id(each): each for row in self.pairs.values() for each in row}.values():
                source.check()
            parts: dict[str, list[Example]] = {part: [] for part in PARTS}
            rated = [self._rated(name) for name in self.names]
            placed: dict[str, str] = {}
            for examples in (*rated, self._ranked_and_consistent()):
                if examples:
                    found = split_examples(examples, self.split, self.split_seed, placed)
                    for part, rows in found.items():
                        parts[part] += rows
                        placed |= {side: part for example in rows for side in example.sides}
            held_out = {
                hypothesis
                for part in ("dev", "test")
                for example in parts[part]
                for _, hypothesis in example.texts
            }
            for name in self.auxiliary:
                parts["train"] += [
                    example
                    for example in self._rated(name)
                    if example.texts[0][1] not in held_out
                    and not any(placed.get(side, "train") != "train" for side in example.sides)
                ]
            self.parts = parts
            self._read.clear()
        return self.parts

    def _datasets(self) -> list[str]:
        """Return the name of every dataset and file that is used for training."""
        made_of = (
            name for row in self.pairs.values() for source in row for name in source.datasets()
        )
        consistent = (name for names in self.cases.values() for name in names)
        return list(dict.fromkeys([*self.names, *self.auxiliary, *made_of, *consistent]))

    def _rated(self, name: str) -> list[Example]:
        return self._checked(rating_examples(self._ratings(name)), name)

    def _ratings(self, name: str) -> list[Rating]:
        """Return the ratings of a dataset or a file, which is read once until all data are loaded."""
        if name not in self._read:
            self._read[name] = load_ratings(name)
        return self._read[name]

    def _check_columns(self, heads: Mapping[str, HeadOptions]) -> None:
        """Raise if the ratings lack what a head needs, before their texts are checked.

        Raises:
            ConfigError: no rating has the head's dimension, or the head reads sources and no rating has one.
        """
        ratings = [each for name in [*self.names, *self.auxiliary] for each in self._ratings(name)]
        known = sorted({dimension for each in ratings for dimension in each.values})
        for head, options in heads.items():
            rated = [each for each in ratings if head in each.values]
            if not options.ranks and not rated:
                raise _unrated(head, known)
            if options.input == "pair" and rated and not any(each.source for each in rated):
                raise ConfigError(
                    f"model.heads.{head} reads pairs of source and hypothesis, and its ratings have no "
                    "source; add the column 'source', or let the head read the hypothesis alone (input: "
                    "hypothesis)."
                )

    def _ranked_and_consistent(self) -> list[Example]:
        """Return ranked pairs and cases; the pairs of each pair source are made once."""
        made: dict[str, list[tuple[list[RankedPair], dict[str, Any]]]] = {}
        with tempfile.TemporaryDirectory() as scratch:
            # Heads with an equal source share its pairs: what is in the folder is read back.
            folder = Path(self.folder or scratch) / "pairs"
            every = [source for sources in self.pairs.values() for source in sources]
            for source in {each.place(folder): each for each in every}.values():
                if self.check_leakage:
                    about = f"data.pairs ({', '.join(source.datasets())})"
                    check_leakage(list(dict.fromkeys(filter(None, source.material()))), about)
            for head, sources in self.pairs.items():
                made[head] = [source.made(folder, self._runtime()) for source in sources]
        pairs = {head: [pair for found, _ in rows for pair in found] for head, rows in made.items()}
        self.summaries = {
            head: [
                {
                    "source": type(source).__name__,
                    **source.describe(),
                    **summary,
                    "digests": source.digests(),
                }
                for source, (_, summary) in zip(self.pairs[head], rows, strict=True)
            ]
            for head, rows in made.items()
        }
        cases = {
            head: [case for name in names for case in load_cases(name)]
            for head, names in self.cases.items()
        }
        examples = self._checked(pair_examples(pairs), "data.pairs")
        consistent = case_examples(cases, self.variants, self.split_seed)
        return examples + self._checked(consistent, "data.cases")

    def _runtime(self) -> Runtime:
        """Return the runtime for making pairs, on the device of the training."""
        device = "auto" if self.trainer is None else str(self.trainer.strategy.root_device)
        return Runtime(device=device, jobs=self.jobs, progress=self.progress)

    def _checked(self, examples: list[Example], name: str) -> list[Example]:
        """Return the examples, or raise `LeakageError`."""
        if self.check_leakage:
            rows = [[text for pair in example.texts for text in pair] for example in examples]
            check_leakage(rows, name)
        return examples

    def target_statistics(self, heads: Sequence[str]) -> dict[str, tuple[float, float]]:
        """Return the mean and standard deviation of each head's training ratings.

        Raises:
            ConfigError: a head has no rating to learn from.
        """
        found = {}
        for head in heads:
            values = [e.values[head] for e in self.load()["train"] if head in e.values]
            if len(values) < 2:
                known = sorted({d for e in self.parts["train"] for d in e.values})
                raise _unrated(head, known)
            found[head] = (float(np.mean(values)), float(np.std(values)) or 1.0)
        return found

    def margin_scale(self, head: str) -> float:
        """Return the root mean square of the margins of a head's training pairs, 1 where all are 0."""
        margins = [example.margin for example in self.load()["train"] if head in example.ranked]
        return math.sqrt(fmean(margin**2 for margin in margins)) or 1.0 if margins else 1.0

    def tells_wrong_words(self, head: str) -> bool:
        """Return whether a training pair of the head has a known correct text."""
        return any(example.correct and head in example.ranked for example in self.load()["train"])

    def sizes(self) -> dict[str, dict[str, int]]:
        """Return the number of ratings, pairs and cases in each part."""
        return {
            part: {
                "ratings": sum(bool(example.values) for example in rows),
                "pairs": sum(bool(example.ranked) for example in rows),
                "cases": sum(bool(example.consistent) for example in rows),
            }
            for part, rows in self.load().items()
        }

    def fingerprint(self) -> dict[str, Any]:
        """Return the manifest's record of the data: names, sizes and SHA-256 of each part."""
        return {
            "datasets": self._datasets(),
            "ratings": self.names,
            "auxiliary": self.auxiliary,
            "cases": self.cases,
            "variants": self.variants,
            "split": self.split,
            "split_seed": self.split_seed,
            "check_leakage": self.check_leakage,
            **{
                part: {**sizes, "sha256": _digest(self.load()[part])}
                for part, sizes in self.sizes().items()
            },
            "pairs": self.summaries,
        }

    # -- tokenising and batching ---------------------------------------------------------------

    def prepare_data(self) -> None:
        """Make the pairs; with several processes the Trainer calls this only on the first."""
        if self.trainer is not None:
            module: Any = self.trainer.lightning_module
            self._check_columns(module.head_options)
        self.load()

    def setup(self, stage: str | None = None) -> None:
        """Tokenise the texts that the module's heads read; the Trainer calls this on every process.

        Raises:
            ConfigError: pairs or cases name an unknown head, or a head needs a fast tokenizer.
        """
        assert self.trainer is not None
        module: Any = self.trainer.lightning_module
        self.tokenizer = module.tokenizer
        self.inputs = {name: head.input for name, head in module.head_options.items()}
        self.detecting = {name for name, head in module.head_options.items() if head.detects}
        self.capitals = any(head.reads == "capitals" for head in module.head_options.values())
        for name, head in module.head_options.items():
            if head.reads != "pooled" and not self.tokenizer.is_fast:
                raise ConfigError(
                    f"model.heads.{name}: the tokenizer of {module.encoder_name} does not give the positions "
                    f"of its tokens, which {head.objective} needs; name an encoder with a fast tokenizer."
                )
        unknown = sorted({*self.pairs, *self.cases} - set(self.inputs))
        if unknown:
            raise ConfigError(
                f"data.pairs or data.cases: {unknown[0]!r} is not the name of a head; "
                f"choose one of model.heads: {', '.join(self.inputs)}."
            )
        if not self.encoded:
            limit = module.model.config.max_tokens
            for part in ("train", "dev"):
                # Cases tell nothing about dev, nor in training to heads that only weigh them by 0.
                taught = {
                    name
                    for name, head in module.head_options.items()
                    if part == "train" and (module.consistency > 0 or head.ranks)
                }
                examples = [
                    example
                    for example in self.load()[part]
                    if example.ranked
                    or self.inputs.keys() & example.values.keys()
                    or taught & set(example.consistent)
                ]
                self.encoded[part] = self._encode(examples, limit)

    def _encode(self, examples: Sequence[Example], max_tokens: int) -> Dataset:
        """Tokenise examples into a dataset with the columns `INPUT/KEY`, `values/HEAD`, … and `length`.

        `INPUT/KEY` holds one list per text of an example; it is empty if no head reads the example as INPUT.
        If a head detects wrong words, `wrong` holds one label per token for each text; it is empty if the
        labels are unknown. If a head reads capitals, `hypothesis/capitals` marks them.
        """
        columns: dict[str, list[Any]] = {}
        lengths = np.zeros(len(examples), dtype=np.int64)
        for kind in dict.fromkeys(self.inputs.values()):
            rows = [
                number
                for number, example in enumerate(examples)
                if any(self.inputs.get(head) == kind for head in example.heads)
            ]
            texts = [text for number in rows for text in examples[number].texts]
            hypotheses = [hypothesis for _, hypothesis in texts]
            inputs = (
                [hypotheses]
                if kind == "hypothesis"
                else [[source for source, _ in texts], hypotheses]
            )
            detected = kind == "hypothesis" and bool(self.detecting)
            marked = kind == "hypothesis" and self.capitals
            encoded = (
                self.tokenizer(
                    *inputs,
                    truncation=True,
                    max_length=max_tokens,
                    return_offsets_mapping=detected or marked,
                )
                if texts
                else {}
            )
            if marked and texts:
                places = encoded["offset_mapping"]
                encoded["capitals"] = list(map(mark_capitals, hypotheses, places))
            if detected:
                columns["wrong"] = self._wrong(examples, rows, encoded.get("offset_mapping", []))
            for key in TOKEN_COLUMNS:
                if key not in encoded and texts:
                    continue
                column: list[list[list[int]]] = [[] for _ in examples]
                taken = iter(encoded.get(key, []))
                for number in rows:
                    column[number] = [next(taken) for _ in examples[number].texts]
                columns[f"{kind}/{key}"] = column
                if key == "input_ids":
                    longest = (max(map(len, ids), default=0) for ids in column)
                    lengths += np.fromiter(longest, dtype=np.int64, count=len(column))
        for head in self.inputs:
            columns[f"values/{head}"] = [
                example.values.get(head, float("nan")) for example in examples
            ]
        columns["ranked"] = [list(example.ranked) for example in examples]
        columns["margin"] = [example.margin for example in examples]
        columns["consistent"] = [list(example.consistent) for example in examples]
        return Dataset.from_dict({**columns, "length": lengths.tolist()})

    def _wrong(
        self,
        examples: Sequence[Example],
        rows: Sequence[int],
        offsets: Sequence[Sequence[tuple[int, int]]],
    ) -> list[list[list[int]]]:
        """Return the labels of each example's tokens: whether a token belongs to a wrong word."""
        labels: list[list[list[int]]] = [[] for _ in examples]
        places = iter(offsets)
        for number in rows:
            example = examples[number]
            own = [next(places) for _ in example.texts]
            if example.correct and self.detecting & set(example.ranked):
                labels[number] = [
                    wrong_tokens(hypothesis, example.correct, place)
                    for (_, hypothesis), place in zip(example.texts, own, strict=True)
                ]
        return labels

    def collate(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return a batch of M texts for each input.

        `inputs` holds the padded texts of each input. The others hold an entry per head: `targets` (M,), the
        ratings, NaN where unrated; `ranked` (P, 2), the rows of the better and the worse text of each pair;
        `margins` (P,), the margins of the pairs; `consistent` (C, 4), the rows of the texts of each case; and
        for heads that detect wrong words `wrong` (M, T), 1 for a token of a wrong word, NaN where unknown.
        """
        inputs: dict[str, Batch] = {}
        starts: dict[str, list[int]] = {}
        sizes: dict[str, int] = {}
        for kind in dict.fromkeys(self.inputs.values()):
            counts = [len(row[f"{kind}/input_ids"]) for row in rows]
            sizes[kind] = sum(counts)
            starts[kind] = [0, *np.cumsum(counts).tolist()]
            if sizes[kind]:
                encoded = {
                    key: [ids for row in rows for ids in row[f"{kind}/{key}"]]
                    for key in TOKEN_COLUMNS
                    if f"{kind}/{key}" in rows[0]
                }
                inputs[kind] = pad(self.tokenizer, encoded, range(sizes[kind]))
        batch: dict[str, Any] = {"inputs": inputs, "targets": {}, "ranked": {}, "consistent": {}}
        batch |= {"margins": {}, "wrong": {}}
        for head, kind in self.inputs.items():
            targets = torch.full((sizes[kind],), float("nan"))
            places: dict[str, list[list[int]]] = {"ranked": [], "consistent": []}
            for start, row in zip(starts[kind], rows, strict=False):
                if row[f"{kind}/input_ids"]:
                    targets[start] = row[f"values/{head}"]
                if head in row["ranked"]:
                    places["ranked"].append([start, start + 1])
                if head in row["consistent"]:
                    places["consistent"].append([start + offset for offset in range(4)])
            batch["targets"][head] = targets
            if head in self.detecting and kind in inputs:
                wrong = torch.full(inputs[kind]["input_ids"].shape, float("nan"))
                for start, row in zip(starts[kind], rows, strict=False):
                    if head in row["ranked"]:
                        for place, labels in enumerate(row["wrong"], start):
                            wrong[place, : len(labels)] = torch.tensor(labels, dtype=torch.float32)
                batch["wrong"][head] = wrong
            batch["ranked"][head] = torch.tensor(places["ranked"], dtype=torch.long).view(-1, 2)
            margins = [row["margin"] for row in rows if head in row["ranked"]]
            batch["margins"][head] = torch.tensor(margins, dtype=torch.float32)
            batch["consistent"][head] = torch.tensor(places["consistent"], dtype=torch.long).view(
                -1, 4
            )
        return batch

    def _loader(
        self, part: str, batch_size: int, *, seed: int, batch_tokens: int | None = None
    ) -> ResumableLoader:
        data = self.encoded[part]
        texts: list[int] | None = None
        if batch_tokens is not None:
            columns = [data[f"{kind}/input_ids"] for kind in dict.fromkeys(self.inputs.values())]
            texts = [max(map(len, row)) for row in zip(*columns, strict=True)]
        sampler = LengthBatchSampler(
            data["length"], batch_size, seed, texts=texts, batch_tokens=batch_tokens
        )
        return ResumableLoader(data, batch_sampler=sampler, collate_fn=self.collate)

    def train_dataloader(self) -> ResumableLoader:
        """Return the loader of the training part."""
        seed = torch.initial_seed() % 2**32
        self._train_loader = self._loader(
            "train", self.batch_size, seed=seed, batch_tokens=self.batch_tokens
        )
        if self._place:
            self._train_loader.load_state_dict(self._place)
        return self._train_loader

    # The Trainer restores a loader's own state only if it has not made the loader yet, but it makes
    # it early, to count the steps of the schedule; so the place in the epoch is kept here as well.

    def state_dict(self) -> dict[str, Any]:
        """Return the position in the epoch, for a checkpoint."""
        return {} if self._train_loader is None else self._train_loader.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue at a checkpoint's position in the epoch."""
        self._place = state

    def val_dataloader(self) -> ResumableLoader:
        """Return the loader of the dev part."""
        return self._loader("dev", self.evaluation_batch_size, seed=0)


def _unrated(head: str, known: Sequence[str]) -> ConfigError:
    """Return the error about a head whose dimension is not among the rated ones."""
    return ConfigError(
        f"model.heads.{head}: the training data rates {', '.join(known) or 'nothing'}, not {head!r}; name a "
        "rated dimension or add data for it."
    )


def _digest(examples: Sequence[Example]) -> str:
    """Return the SHA-256 of examples."""
    content = json.dumps([asdict(example) for example in examples])
    return hashlib.sha256(content.encode()).hexdigest()
