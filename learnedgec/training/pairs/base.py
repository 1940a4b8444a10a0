"""Ranked pairs, and the base class of their sources."""

from __future__ import annotations

import inspect
import json
import random
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, get_args

import numpy as np
from rapidfuzz.distance import Levenshtein

from learnedgec._version import __version__
from learnedgec.data.catalog.files import sample_folder
from learnedgec.data.catalog.registry import DATASETS
from learnedgec.data.text import iterate_jsonl, read_json, write_json, write_jsonl
from learnedgec.edits.annotator import describe_annotator
from learnedgec.errors import ConfigError, InputError
from learnedgec.runtime.files import PathLike, file_digest, folder_digest, key_of
from learnedgec.runtime.plugins import origin
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.store import RowStore

Nearness: TypeAlias = Literal["nearer", "equal", "farther"]
"""Whether the better side of a pair is nearer to its source than the worse side."""
BALANCE: tuple[Nearness, ...] = get_args(Nearness)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RankedPair:
    """Two corrections of one source, a better and a worse one.

    Attributes:
        source: the source sentence.
        better: the better correction.
        worse: the worse correction.
        margin: the distance of the two, in the units of the pair source.
        group: pairs of one group belong in one part of any split.
        origin: the dataset or file that the pair was made from.
        correct: the correct sentence, for heads that detect wrong words; empty if unknown.
    """

    source: str
    better: str
    worse: str
    margin: float = 1.0
    group: str = ""
    origin: str = ""
    correct: str = ""


def write_ranked_pairs(path: PathLike, pairs: Iterable[RankedPair]) -> None:
    """Write one JSON object per pair."""
    write_jsonl(path, (asdict(pair) for pair in pairs))


def draw_some(rows: list[T], number: int | None, generator: random.Random) -> list[T]:
    """Return some of the rows in random order, or all of them as they are.

    Args:
        rows: the rows to draw from.
        number: the number of rows to draw; `None` means all.
        generator: random generator.
    """
    return rows if number is None or number >= len(rows) else generator.sample(rows, number)


def ordered(ranks: Iterable[tuple[str, float]]) -> Iterator[tuple[str, str, float]]:
    """Yield the better text, the worse text and the difference of their ranks, for all ranks that differ.

    Args:
        ranks: texts with their ranks. The lowest rank is the best, and NaN means no rank.
    """
    for both in combinations(ranks, 2):
        (better, rank), (worse, other_rank) = sorted(both, key=itemgetter(1))
        if rank < other_rank:
            yield better, worse, other_rank - rank


def nearness(pair: RankedPair) -> Nearness:
    """Return whether the better side is nearer to the source than the worse one, in edited words.

    Example:
        >>> nearness(RankedPair("She go .", "She goes .", "She go ."))
        'farther'
    """
    source = pair.source.split()
    better, worse = (
        Levenshtein.distance(source, text.split()) for text in (pair.better, pair.worse)
    )
    return BALANCE[(better >= worse) + (better > worse)]


def draw_balanced(
    pairs: list[RankedPair], balance: Mapping[str, float] | None, number: int | None, seed: int
) -> list[RankedPair]:
    """Return at most as many pairs as requested, with the requested share of each `nearness`.

    Args:
        pairs: the pairs to draw from.
        balance: nearness -> share; the rarest kind limits the number of pairs. `None` does not balance.
        number: the number of pairs to draw; by default, as many as possible.
        seed: seed of the draw.
    """
    generator = random.Random(seed)
    if not balance:
        return draw_some(pairs, number, generator)
    total = sum(balance.values())
    shares = {kind: balance.get(kind, 0.0) / total for kind in BALANCE}
    kinds: dict[Nearness, list[RankedPair]] = {kind: [] for kind in BALANCE}
    for pair in pairs:
        kinds[nearness(pair)].append(pair)
    most = min(len(kinds[kind]) / share for kind, share in shares.items() if share)
    if number is not None:
        most = min(most, number)
    balanced = [
        pair
        for kind, share in shares.items()
        for pair in generator.sample(kinds[kind], int(most * share + 1e-9))
    ]
    generator.shuffle(balanced)
    return balanced


class PairSource(ABC):
    """A source of ranked pairs, which makes the same pairs each time.

    Attributes:
        named: the parameters that name datasets and files.
    """

    named: ClassVar[tuple[str, ...]] = ()

    def sources(self) -> Sequence[PairSource]:
        """Return the pair sources from which it takes pairs: those in its parameter `pairs`."""
        return getattr(self, "pairs", ())

    @abstractmethod
    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        """Return the pairs.

        Args:
            folder: folder for intermediate results, from which an interrupted run continues. No other source
                uses it.
            runtime: device, processes and progress.
        """

    def datasets(self) -> list[str]:
        """Return the names of the datasets and files that the pairs are made from."""
        inner = (name for source in self.sources() for name in source.datasets())
        own = (name for parameter in self.named for name in getattr(self, parameter) or ())
        return list(dict.fromkeys([*inner, *own]))

    def describe(self) -> dict[str, Any]:
        """Return the parameters as plain JSON values, for the manifest.

        By default, these are the attributes that have the names of the class's parameters.
        """
        described = {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}
        if self.sources():
            described["pairs"] = [
                {"source": type(source).__name__, **source.describe()} for source in self.sources()
            ]
        return described

    def digests(self) -> dict[str, str]:
        """Return the current digest or description of everything that the parameters name, by name.

        Pairs are made again when a digest changes, because files can be edited, and models trained again,
        under the same name. A parameter `annotator` names the annotator that extracts edits. A source that
        uses a model adds the model's digest.
        """
        digests = {name: _content_digest(name) for name in self.datasets()}
        annotator = self.describe().get("annotator")
        digests |= describe_annotator(annotator) if annotator else {}
        for source in self.sources():
            digests |= source.digests()
        return digests

    def tools(self) -> list[str]:
        """Return the annotators that extract edits for the pairs, and the pretrained models that rank."""
        annotator = self.describe().get("annotator")
        inner = (name for source in self.sources() for name in source.tools())
        return list(dict.fromkeys([*([annotator] if annotator else ()), *inner]))

    def material(self) -> Iterator[str]:
        """Yield the texts from which pairs are made; like the pairs, they are checked for leakage."""
        for source in self.sources():
            yield from source.material()

    def summary(self, pairs: Sequence[RankedPair]) -> dict[str, Any]:
        """Return numbers of pairs and sources, the mean margin, and the share of each `nearness`."""
        kinds = Counter(map(nearness, pairs))
        return {
            "pairs": len(pairs),
            "sources": len({pair.source for pair in pairs}),
            "margin": fmean(pair.margin for pair in pairs) if pairs else 0.0,
            **{kind: kinds[kind] / max(len(pairs), 1) for kind in BALANCE},
        }

    def place(self, folder: Path) -> Path:
        """Return the subfolder for this source with its current `digests` and code."""
        kind = f"{type(self).__module__}.{type(self).__qualname__}"
        about = [kind, self.describe(), self.digests(), __version__, *origin(type(self)).values()]
        return folder / key_of(json.dumps(about, sort_keys=True))[:12]

    def load(self, folder: Path, runtime: Runtime) -> tuple[list[RankedPair], dict[str, Any]]:
        """Return the pairs and their summary, which are read if they were made in this folder before.

        Raises:
            ConfigError: the data give no pair.
        """
        place = self.place(folder)
        pairs_file, summary_file = place / "pairs.jsonl", place / "summary.json"
        if not _is_undamaged(pairs_file, summary_file):
            place.mkdir(parents=True, exist_ok=True)
            pairs = self.make(place, runtime)
            if not pairs:
                raise ConfigError(
                    f"data.pairs: {type(self).__name__} finds no pair in "
                    f"{', '.join(self.datasets()) or 'no data'}; "
                    "name data with corrections that differ from their sources."
                )
            write_ranked_pairs(pairs_file, pairs)
            write_json(summary_file, self.summary(pairs) | {"sha256": file_digest(pairs_file)})
        pairs = [RankedPair(**record) for record in iterate_jsonl(pairs_file)]
        return pairs, read_json(summary_file)


def warn_of_few(source: PairSource, number: int, requested: int | None) -> None:
    """Warn if a source has fewer pairs than requested.

    Args:
        source: the source of the pairs.
        number: number of its pairs.
        requested: number of requested pairs, if there is one.
    """
    if number < (requested or 0):
        names = ", ".join(source.datasets())
        warnings.warn(f"{names}: found {number} pairs of {requested} requested.", stacklevel=3)


def stored_scores(
    store: RowStore,
    rows: Iterable[tuple[str, str]],
    compute: Callable[[list[tuple[str, str]]], Sequence[float]],
) -> dict[tuple[str, str], float]:
    """Return a number for each pair of texts, from the store if an interrupted run computed it.

    Args:
        store: the store, with one number per row.
        rows: the pairs of texts.
        compute: function that returns the numbers of the pairs that are not in the store.
    """
    distinct = list(dict.fromkeys(rows))
    stored = store.load(distinct)
    scores = {row: float(stored[row][0]) for row in distinct if row in stored}
    if missing := [row for row in distinct if row not in scores]:
        computed = dict(zip(missing, compute(missing), strict=True))
        store.save({row: np.array([value]) for row, value in computed.items()})
        scores |= computed
    return scores


def _content_digest(name: str) -> str:
    """Return a digest of a file, a folder or a dataset; standard input, which is read once, has none."""
    if name == "-":
        raise ConfigError("data.pairs: pairs cannot be made from standard input; name a file.")
    dataset = name.partition(":")[0]
    files = DATASETS.find(dataset).files.values() if dataset in DATASETS else ()
    digests = [file.sha256 for file in files]
    paths = [Path(name), *map(Path, filter(None, [name.rpartition(":")[0]]))]
    if dataset == "sample":
        paths.append(sample_folder())
    digests += [file_digest(path) for path in paths if path.is_file()]
    digests += [folder_digest(path) for path in paths if path.is_dir()]
    return key_of(digests)


def _is_undamaged(pairs_file: Path, summary_file: Path) -> bool:
    """Return whether the stored pairs are undamaged; damaged pairs are made again."""
    try:
        return bool(read_json(summary_file)["sha256"] == file_digest(pairs_file))
    except (InputError, OSError, KeyError, TypeError):
        return False


def check_shares(key: str, shares: Mapping[str, float], kinds: Collection[str]) -> None:
    """Raise `ConfigError` unless a parameter has shares of these kinds.

    Args:
        key: the parameter.
        shares: kind -> its share, at least one.
        kinds: all kinds.
    """
    if not shares.keys() <= set(kinds) or min(shares.values()) < 0 or not any(shares.values()):
        raise ConfigError(
            f"data.pairs: {key} is {dict(shares)}; shares of 0 or more, not all 0, were expected for some of "
            f"{', '.join(kinds)}."
        )
