"""The LightningDataModule: turns the names of ratings, ranked pairs and cases into padded batches."""

from __future__ import annotations

import hashlib
import json
import math
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pytorch_lightning as lightning
import torch
from jsonargparse.typing import PositiveInt, register_type
from torch.utils.data import DataLoader

from learnedgec.data.catalog.cases import load_cases, load_labelled
from learnedgec.data.catalog.leakage import (
    check_leakage,
    check_reserved,
    fingerprint,
    without_reserved,
)
from learnedgec.data.catalog.outputs import JUDGEMENTS
from learnedgec.data.catalog.ratings import RATINGS
from learnedgec.data.input_warnings import raw_share
from learnedgec.data.records import Columns, is_saved_dataset
from learnedgec.data.tokenisation import tokenise
from learnedgec.errors import ConfigError
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.batches import Encoding, LengthBatchSampler
from learnedgec.training.examples import (
    TEXTS,
    Example,
    Examples,
    Kind,
    Split,
    case_examples,
    each_rater,
    joined,
    labelled_examples,
    pair_examples,
    rating_examples,
    split_places,
    stored,
)
from learnedgec.training.objectives import Objective
from learnedgec.training.pairs import PairFile, PairSource, RankedPair
from learnedgec.training.pairs.judged import grouped_ratings

# The number of training examples that are searched for text that is not tokenised.
_SAMPLE = 1000
# The number of examples in a batch of the dev part.
_DEV_BATCH = 64


@dataclass(frozen=True)
class PairFileName:
    """The name of a file or dataset with judgements (`read_ranked_pairs`); any other text is an error."""

    name: str

    def __post_init__(self) -> None:
        file = re.fullmatch(
            r"[^{[\s].*\.(jsonl|csv|tsv|parquet|xlsx?|ods)(\.gz)?|(hf|table):\S+", self.name
        )
        if not file and not is_saved_dataset(self.name):
            raise ValueError("a file of pairs or judgements, or hf:OWNER/NAME, was expected")

    def __str__(self) -> str:
        return self.name


register_type(PairFileName)


def divided_columns(columns: Columns) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of files of judgements, and of files of ratings; both kinds have texts."""
    texts = ("source", "group")
    judged = {key: name for key, name in columns.items() if key in (*JUDGEMENTS, *texts)}
    return judged, {key: name for key, name in columns.items() if key not in JUDGEMENTS}


@dataclass(frozen=True)
class DataSettings:
    """What a training learns from: the keys of `data` in a configuration.

    Attributes:
        ratings: rated datasets: catalog names (`tmu-gfm`, `gug`, `sts:2015`), rated benchmarks (`gmeg:fce`),
            files or folders; a regression head learns the dimension with its name.
        auxiliary: further rated datasets, used for training only. A sentence, or an output for a source, that
            is in the dev or test part is left out.
        pairs: head -> sources of its ranked pairs (`learnedgec.training.pairs`), or files of pairs, choices
            or rankings (`read_ranked_pairs`).
        columns: which columns of the files above have other names: `source`, `hypothesis`, a dimension,
            `better`, `outputs`, … -> the name in the file, or the names of several: raters, outputs, ranks.
        raters: what to learn from several raters of one output: the `mean`, or `each` rating as an example of
            its own. The dev and test parts have the mean.
        tokenise: `spacy` tokenises the texts of ratings and pairs as `score --tokenise spacy` does, for texts
            whose tokens are not separated by spaces.
        cases: head -> parts of RobustGEC, or files in its format; the head's preference for the correction
            should not change with unrelated context (`model.consistency`). A head that learns the order of
            pairs also learns in each context that the correction is better.
        labelled: head that detects wrong words -> sentences whose words people labelled: datasets such as
            `multiged:realec`, or files in the format of MultiGED (`load_labelled`).
        ranges: rated dimension -> both ends of its scale, such as `[0, 100]`, for `some`; by default the
            whole numbers around the training ratings.
        split: `by-source` keeps outputs for one source in one part, train, dev or test; `paper-random` draws
            single outputs, as Yoshimura et al. (2020) did. Rated datasets are divided one after the other,
            then pairs and cases together.
        batch_size: maximum number of examples per step and device; a ranked pair is one example.
        batch_tokens: maximum number of tokens in a training batch, padding included, which bounds memory, as
            long texts make smaller batches; no limit by default. `trainer.accumulate_grad_batches` makes
            a step of several batches.
        check_leakage: refuse evaluation text of SEEDA, GJG15 and CoNLL-14.
        jobs: number of processes that extract edits for pairs; 0 means one per core.
    """

    ratings: list[str] | str | None = None
    auxiliary: list[str] | str | None = None
    pairs: dict[str, list[PairSource | PairFileName]] | None = None
    columns: dict[str, str | list[str]] | None = None
    raters: Literal["mean", "each"] = "mean"
    tokenise: Literal["spacy"] | None = None
    cases: dict[str, list[str]] | None = None
    labelled: dict[str, list[str]] | None = None
    ranges: dict[str, tuple[float, float]] | None = None
    split: Split = "by-source"
    batch_size: PositiveInt = 16
    batch_tokens: PositiveInt | None = None
    check_leakage: bool = True
    jobs: int = 1


class TrainingData(lightning.LightningDataModule):
    """Ratings, ranked pairs and cases as training data.

    Args:
        settings: the keys of `data` in a configuration.
        folder: folder in which pairs are kept, because making them may take long; for a run it is `runs`, so
            that runs share them.
        tables: name -> ratings or ranked pairs in memory, for names in the settings that are no files.
        progress: whether progress is shown on stderr.
    """

    def __init__(
        self,
        settings: DataSettings,
        folder: str | None = None,
        *,
        tables: Mapping[str, Sequence[Any]] | None = None,
        progress: bool = False,
    ) -> None:
        super().__init__()
        if not settings.ratings and not settings.pairs:
            raise ConfigError(
                "data: neither ratings nor pairs are given; give ratings, pairs or both."
            )
        self.settings, self.folder, self.progress = settings, folder, progress
        self.tables = dict(tables or {})
        self.ratings, self.auxiliary = (
            [names] if isinstance(names, str) else list(names or [])
            for names in (settings.ratings, settings.auxiliary)
        )
        judged, self.rating_columns = divided_columns(settings.columns or {})
        self.pairs = {
            head: [
                self._pair_file(each.name, judged) if isinstance(each, PairFileName) else each
                for each in sources
            ]
            for head, sources in (settings.pairs or {}).items()
        }
        self.cases = dict(settings.cases or {})
        self.labelled = dict(settings.labelled or {})
        self.ranges = dict(settings.ranges or {})
        self.parts: dict[str, Examples] = {}
        self.summaries: dict[str, list[dict[str, Any]]] = {}
        self.encoding: Encoding
        # part -> the examples from which heads learn, with their tokens
        self.learned: dict[str, Examples] = {}
        self._sampler: LengthBatchSampler | None = None  # of the training part
        self._skipped = 0

    def _pair_file(self, name: str, columns: dict[str, Any]) -> PairFile:
        """Return the source of the pairs of a file or a table in memory."""
        source = PairFile(name, columns=columns)
        source.in_memory = self.tables.get(name)
        return source

    # -- reading and splitting -----------------------------------------------------------------

    def load(self) -> dict[str, Examples]:
        """Read or make all examples and split them, once; raise `LeakageError` for text of a benchmark."""
        if self.parts:
            return self.parts
        if self.settings.check_leakage:
            check_reserved(self.datasets())
        rated = {}
        for name in [*self.ratings, *self.auxiliary]:
            # In datasets of the catalog, 0 says that a rater could not judge.
            ratings = self.tables.get(name) or grouped_ratings(name, self.rating_columns)
            examples = rating_examples(ratings, zeros=name not in RATINGS)
            rated[name] = self._stored(examples, name)
        cases = {
            head: chain.from_iterable(map(load_cases, names)) for head, names in self.cases.items()
        }
        labelled = {
            head: chain.from_iterable(map(load_labelled, names))
            for head, names in self.labelled.items()
        }
        others = [
            self._stored(pair_examples(self._make_pairs() if self.pairs else {}), "data.pairs"),
            self._stored(case_examples(cases), "data.cases"),
            self._stored(labelled_examples(labelled), "data.labelled"),
        ]
        datasets = [*(rated[name] for name in self.ratings), joined(others)]
        places = split_places(datasets, self.settings.split)
        parts = {
            part: joined(map(Examples.selected, datasets, own)) for part, own in places.items()
        }
        if self.auxiliary:
            hypotheses: set[str] = set()
            held_out: set[int] = set()
            for texts, shared in joined([parts["dev"], parts["test"]]).columns("texts", "shared"):
                hypotheses.update(hypothesis for _, hypothesis in texts)
                held_out.update(shared)

            def is_free(texts: Sequence[Sequence[str]], shared: Sequence[int]) -> bool:
                return texts[0][1] not in hypotheses and held_out.isdisjoint(shared)

            free = [rated[name].where(is_free, "texts", "shared") for name in self.auxiliary]
            parts["train"] = joined([parts["train"], *free])
        if self.settings.raters == "each":
            parts["train"] = stored(chain.from_iterable(map(each_rater, parts["train"])))
        self.parts = parts
        return self.parts

    def _sources(self) -> list[PairSource]:
        return list(chain.from_iterable(self.pairs.values()))

    def datasets(self) -> list[str]:
        """Return the name of every dataset and file that is used for training."""
        names = [*self.ratings, *self.auxiliary]
        for source in self._sources():
            names += source.datasets()
        names += chain.from_iterable(self.cases.values())
        names += chain.from_iterable(self.labelled.values())
        return list(dict.fromkeys(names))

    def tools(self) -> list[str]:
        """Return the annotators that extract edits for ranked pairs, and the models that rank."""
        return list(dict.fromkeys(name for source in self._sources() for name in source.tools()))

    def _make_pairs(self) -> dict[str, list[RankedPair]]:
        """Return the pairs of each head; heads with an equal source share its pairs, which are made once."""
        device = "auto" if self.trainer is None else str(self.trainer.strategy.root_device)
        runtime = Runtime(device=device, jobs=self.settings.jobs, progress=self.progress)
        pairs: dict[str, list[RankedPair]] = {head: [] for head in self.pairs}
        with self._cache("pairs") as folder:
            for source in {source.place(folder): source for source in self._sources()}.values():
                if self.settings.check_leakage:
                    about = f"data.pairs ({', '.join(source.datasets())})"
                    check_leakage(list(dict.fromkeys(filter(None, source.material()))), about)
            for head, sources in self.pairs.items():
                self.summaries[head] = []
                for source in sources:
                    source_pairs, summary = source.load(folder, runtime)
                    pairs[head] += source_pairs
                    record = {"source": type(source).__name__} | source.describe() | summary
                    self.summaries[head].append(record | {"digests": source.digests()})
        return pairs

    @contextmanager
    def _cache(self, name: str) -> Iterator[Path]:
        """Yield the folder for what is expensive to compute; it is removed if the user has named none."""
        # Windows cannot remove a file that is mapped into memory.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            yield Path(self.folder or scratch) / name

    def _stored(self, examples: Iterable[Example], name: str) -> Examples:
        """Store examples, tokenised if `tokenise` is set, or raise `LeakageError`."""
        if self.settings.tokenise:
            examples = filter(None, map(_tokenised, examples))
        if self.settings.check_leakage:
            # Reserved sentences are left out.
            examples = without_reserved(examples, lambda row: [*chain(*row.texts)], name)
        return stored(examples)

    def ratings_range(self, head: str) -> tuple[float, float] | None:
        """Return the range of a head's ratings: as declared, or whole numbers around the training ratings."""
        if head in self.ranges:
            low, high = self.ranges[head]
            return float(low), float(high)
        values = self.load()["train"].numbers["ratings", head]
        return (math.floor(min(values)), math.ceil(max(values))) if values else None

    def _objectives(self) -> Mapping[str, Objective]:
        """Return the objectives of the heads that are trained on the data."""
        module: Any = None if self.trainer is None else self.trainer.lightning_module
        return {} if module is None else module.objectives

    def notices(self) -> list[str]:
        """Return sentences on scales of ratings, ratings outside of them, and text that is not tokenised."""
        notices = []
        examples = self.load()["train"]
        scales = {
            head: f"{head} ({ends[0]:g} to {ends[1]:g})"
            for head, goal in self._objectives().items()
            if goal.measure == "pearson" and head not in self.ranges
            if (ends := self.ratings_range(head))
        }
        if scales:
            notices.append(
                f"Scales from the training ratings: {', '.join(scales.values())}. If other ratings were "
                f"possible, name both ends: data.ranges.{next(iter(scales))}: [LOW, HIGH]."
            )
        for head, (low, high) in self.ranges.items():
            values = examples.numbers["ratings", head]
            if outside := sum(not low <= value <= high for value in values):
                notices.append(
                    f"{outside:,} of {len(values):,} ratings of {head} are outside data.ranges, "
                    f"{low:g} to {high:g}."
                )
        users = (row for row in examples if row.kind in ("ratings", "pairs"))
        first = (text for row in islice(users, _SAMPLE) for pair in row.texts for text in pair)
        if (raw_share(first) or 0) > 0.5:
            notices.append(
                'The training texts are not tokenised (sentences end like "school."): set data.tokenise to '
                "spacy, and score with --tokenise spacy."
            )
        return notices

    def sizes(self) -> dict[str, dict[str, int]]:
        """Return the number of ratings, pairs and cases in each part."""
        return {
            part: {kind: counts[kind] for kind in get_args(Kind)}
            for part, examples in self.load().items()
            for counts in [Counter(kind for (kind,) in examples.columns("kind"))]
        }

    def fingerprint(self) -> dict[str, Any]:
        """Return the manifest's record of the data: names, sizes and SHA-256 of each part."""
        return {
            "datasets": self.datasets(),
            "tools": self.tools(),
            "ratings": self.ratings,
            "auxiliary": self.auxiliary,
            "tokenise": self.settings.tokenise,
            "cases": self.cases,
            "labelled": self.labelled,
            "split": self.settings.split,
            "check_leakage": self.settings.check_leakage,
            **{
                part: {**sizes, "sha256": _digest(self.load()[part])}
                for part, sizes in self.sizes().items()
            },
            "pairs": self.summaries,
        }

    def hashes(self) -> bytes:
        """Return the hash of each sentence that the run learns from or selects by, in order.

        It is the source, or else the hypothesis. `contamination` finds these sentences in benchmarks.
        """
        parts = self.load()
        prints = (
            fingerprint(source or hypothesis)
            for part in ("train", "dev")
            for (texts,) in parts[part].columns("texts")
            for source, hypothesis in texts
        )
        # Numbers take less memory than a set of a million hashes.
        numbers = np.fromiter(
            (int.from_bytes(value, "big") for value in prints if value), dtype=">u8"
        )
        return np.unique(numbers).tobytes()

    # -- tokenising and batching ---------------------------------------------------------------

    def prepare_data(self) -> None:
        """Make the pairs; with several processes the Trainer calls this only on the first."""
        self.load()

    def setup(self, stage: str | None = None) -> None:
        """Choose the examples that the module's heads learn from; the Trainer calls this on every process.

        Raises:
            ConfigError: pairs or cases name an unknown head, or a head needs a fast tokenizer.
        """
        assert self.trainer is not None
        module: Any = self.trainer.lightning_module
        self.encoding = module.encoding
        heads = module.head_options
        for name, goal in module.objectives.items():
            if goal.reads != "pooled" and not module.tokenizer.is_fast:
                raise ConfigError(
                    f"model.heads.{name}: the tokenizer of {module.encoder_name} does not give the positions "
                    f"of its tokens, which {heads[name].objective} needs; name an encoder with a fast "
                    "tokenizer."
                )
        if unknown := sorted({*self.pairs, *self.cases, *self.labelled} - heads.keys()):
            raise ConfigError(
                f"data.pairs, data.cases or data.labelled: {unknown[0]!r} is not the name of a head; "
                f"choose one of model.heads: {', '.join(heads)}."
            )
        for part in ("train", "dev") if not self.learned else ():
            learners = {kind: {*heads} for kind in get_args(Kind)}
            # No measure on dev uses cases. Heads with ratings learn from cases only by `consistency`.
            learners["cases"] = {
                name
                for name, goal in module.objectives.items()
                if part == "train" and (module.settings.consistency > 0 or not goal.rated)
            }
            examples = self.load()[part].where(
                lambda kind, own: not learners[kind].isdisjoint(own),  # noqa: B023 - called at once
                "kind",
                "heads",
            )
            with self._cache("rows") as folder:
                self.learned[part] = self.encoding.tokenised(examples, folder)

    def _loader(
        self, part: str, batch_size: int, batch_tokens: int | None = None, seed: int = 0
    ) -> DataLoader[Any]:
        examples = self.learned[part]
        # A pair has a source and a hypothesis. Examples may have values for heads that are not trained.
        read = [(1 + (kind == "pair"), {*names}) for kind, names in self.encoding.readers.items()]
        columns = (
            (length, TEXTS[kind], sum(size for size, names in read if not names.isdisjoint(heads)))
            for length, kind, heads in examples.columns("length", "kind", "heads")
        )
        lengths, texts, counts = np.fromiter(columns, "3i8").T
        sampler = LengthBatchSampler(lengths, texts, batch_size, batch_tokens, seed, counts)
        rows: Any = examples.rows
        return DataLoader(
            rows,
            batch_sampler=sampler,
            collate_fn=self.encoding.collate,
            # Without its own generator, it would draw from the state of dropout.
            generator=torch.Generator(),
        )

    def train_dataloader(self) -> DataLoader[Any]:
        """Return the loader of the training part."""
        seed = torch.initial_seed() % 2**32
        settings = self.settings
        loader = self._loader("train", settings.batch_size, settings.batch_tokens, seed)
        sampler: Any = loader.batch_sampler
        # Resume the current epoch; later epochs get new loaders if the Trainer makes them.
        sampler.skipped, self._skipped = self._skipped, 0
        self._sampler = sampler
        return loader

    # Lightning restores no sampler, so its place in the epoch is kept here.

    def state_dict(self) -> dict[str, Any]:
        """Return the position in the epoch, for a checkpoint."""
        sampler = self._sampler
        return {} if sampler is None else {"served": sampler.served % len(sampler)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue at a checkpoint's position in the epoch."""
        self._skipped = state.get("served", 0)

    def val_dataloader(self) -> DataLoader[Any]:
        """Return the loader of the dev part."""
        return self._loader("dev", _DEV_BATCH)


def _tokenised(example: Example) -> Example | None:
    """Return an example with tokenised texts, or `None` for a pair whose texts differ in spaces alone."""
    if example.kind not in ("ratings", "pairs"):
        return example
    texts = [(source, hypothesis) for source, hypothesis in map(tokenise, example.texts)]
    if example.kind == "pairs" and texts[0] == texts[1]:
        return None
    return replace(example, texts=texts, correct=tokenise([example.correct])[0])


def _digest(examples: Iterable[Example]) -> str:
    """Return the SHA-256 of examples."""
    digest = hashlib.sha256(b"[")
    for number, example in enumerate(examples):
        # Single raters are left out, so that the digest is the same for data without them.
        row: dict[str, Any] = {"texts": example.texts, "values": example.values}
        for key, kind in (("ranked", "pairs"), ("consistent", "cases")):
            row[key] = example.heads if example.kind == kind else ()
        row |= {"margin": example.margin, "correct": example.correct}
        if example.kind == "labelled":
            row |= {"labelled": example.heads, "wrong": example.wrong}
        row["group"] = example.group
        digest.update((", " * bool(number) + json.dumps(row)).encode())
    digest.update(b"]")
    return digest.hexdigest()
