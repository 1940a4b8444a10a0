"""Training examples as rows of a `datasets.Dataset`: their columns, where they come from, and their split.

The rows are in Arrow files that are mapped into memory, so that a run needs little of it.
"""

from __future__ import annotations

import hashlib
import random
import tempfile
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from datasets import Dataset, Features, Value, concatenate_datasets
from datasets.arrow_writer import ArrowWriter
from datasets.table import MemoryMappedTable
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from learnedgec.data.catalog.cases import Case, Labelled
from learnedgec.data.catalog.ratings import Rating
from learnedgec.errors import InputError
from learnedgec.runtime.files import file_digest
from learnedgec.training.pairs import RankedPair
from learnedgec.types import Indices

T = TypeVar("T")

Kind = Literal["ratings", "pairs", "cases", "labelled"]
Split = Literal["by-source", "paper-random"]
PARTS = ("train", "dev", "test")
# Number of texts of an example of each kind.
TEXTS: Mapping[Kind, int] = {"ratings": 1, "pairs": 2, "cases": 4, "labelled": 1}

# The columns of a row.
_COLUMNS = {
    "texts": [[Value("string")]],
    "kind": Value("string"),
    "heads": [Value("string")],
    "ratings": [Value("float64")],
    "by_rater": [[Value("float64")]],
    "margin": Value("float64"),
    "correct": Value("string"),
    "wrong": [Value("bool")],
    "group": Value("string"),
    "shared": [Value("int64")],
}
ATTRIBUTES = list(_COLUMNS)[:-1]
# Number of rows that are read or written at once.
_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Example:
    """One to four texts, and what heads learn from them.

    Attributes:
        texts: (source, hypothesis) of each text. A rated or labelled sentence has one text. A ranked pair has
            two, the better one first. A case has four: the correction and the source of the original, then
            those of a variant.
        kind: `ratings` of text 0; `pairs`, of which text 0 should get the higher value; `cases`, whose
            preference between texts 0 and 1 should be the same as between texts 2 and 3; or `labelled` words
            of text 0.
        heads: the heads that learn from it.
        ratings: the rating for each head.
        by_rater: each rater's ratings for each head, none where they are unknown.
        margin: difference between texts 0 and 1, for heads that learn differences.
        correct: the correct text, for heads that detect wrong words; empty if unknown.
        wrong: for each word of text 0, whether it is wrong, where that is labelled.
        group: examples of one group belong on one side of a split.
    """

    texts: Sequence[Sequence[str]]
    kind: Kind
    heads: Sequence[str]
    ratings: Sequence[float] = ()
    by_rater: Sequence[Sequence[float]] = ()
    margin: float = 0.0
    correct: str = ""
    wrong: Sequence[bool] = ()
    group: str = ""

    @property
    def values(self) -> Mapping[str, float]:
        """The rating of text 0 by head."""
        return dict(zip(self.heads, self.ratings, strict=False))

    @property
    def raters(self) -> Mapping[str, Sequence[float]]:
        """The ratings of text 0 by each rater, by head."""
        return dict(zip(self.heads, self.by_rater, strict=False))

    @property
    def ranked(self) -> Sequence[str]:
        """The heads that should give text 0 a higher value than text 1."""
        return self.heads if self.kind == "pairs" else ()

    @property
    def source(self) -> str:
        """The source of its first text, or what it shares with others if there is none."""
        return self._shared_texts()[0]

    @property
    def shared(self) -> list[int]:
        """Digests of its sources and its group, or else of its hypothesis.

        Examples that have one in common belong in one part of a split.
        """
        digests = (hashlib.blake2b(text.encode(), digest_size=8) for text in self._shared_texts())
        return [int.from_bytes(digest.digest(), "big", signed=True) for digest in digests]

    def _shared_texts(self) -> list[str]:
        names = (self.texts[0][0], self.group, *(source for source, _ in self.texts[1:]))
        return list(dict.fromkeys(filter(None, names))) or [self.texts[0][1]]


class Examples:
    """Examples in the rows of a dataset, whose columns can be read alone.

    Attributes:
        rows: the dataset.
    """

    def __init__(self, rows: Dataset) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Example]:
        return (Example(*values) for values in self.columns(*ATTRIBUTES))

    def columns(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield the values of some columns for each example."""
        for columns in self.rows.select_columns(list(names)).iter(_BATCH):
            yield from zip(*(columns[name] for name in names), strict=True)

    @cached_property
    def numbers(self) -> Mapping[tuple[Kind, str], array[float]]:
        """Kind and head -> the ratings, or the margins of pairs, that the head learns from."""
        numbers: dict[tuple[Kind, str], array[float]] = defaultdict(lambda: array("d"))
        for kind, heads, ratings, margin in self.columns("kind", "heads", "ratings", "margin"):
            for head, number in zip(heads, ratings or [margin] * len(heads), strict=True):
                numbers[kind, head].append(number)
        return numbers

    def where(self, condition: Callable[..., bool], *names: str) -> Examples:
        """Return the examples whose values in some columns meet a condition."""
        rows = enumerate(self.columns(*names))
        return self.selected([place for place, values in rows if condition(*values)])

    def selected(self, places: Sequence[int]) -> Examples:
        """Return the examples at some places, in this order."""
        # An array takes less time than a list.
        return Examples(self.rows.select(np.array(places, dtype=np.int64)))


def stored(examples: Iterable[Example]) -> Examples:
    """Write examples to a file, which is removed at once and lasts as long as it is mapped into memory."""
    # Windows cannot remove a file that is mapped into memory.
    with tempfile.TemporaryDirectory(prefix="learnedgec-", ignore_cleanup_errors=True) as folder:
        path = Path(folder, "examples.arrow")
        with ArrowWriter(path=str(path), features=Features(_COLUMNS)) as writer:
            for example in examples:
                writer.write({name: getattr(example, name) for name in _COLUMNS})
            writer.finalize()
        rows = MemoryMappedTable.from_file(str(path))
        # Selections of the same rows have the same fingerprint in every run.
        return Examples(Dataset(rows, fingerprint=file_digest(path)))


def joined(parts: Iterable[Examples]) -> Examples:
    """Return the examples of several files in turn."""
    return Examples(concatenate_datasets([part.rows for part in parts]))


def rating_examples(ratings: Iterable[Rating], *, zeros: bool = True) -> Iterator[Example]:
    """Yield rated sentences as examples.

    Args:
        ratings: the ratings.
        zeros: whether 0 is a rating; in datasets of the catalog it says that a rater could not judge.
    """
    for rating in ratings:
        by_rater = [
            [value for value in rating.raters.get(head, ()) if value or zeros]
            for head in rating.values
        ]
        texts = [(rating.source, rating.hypothesis)]
        heads, means = list(rating.values), list(rating.values.values())
        yield Example(texts, "ratings", heads, means, by_rater, group=rating.group)


def each_rater(example: Example) -> Iterator[Example]:
    """Yield an example for each rater's ratings, or the example itself where single raters are unknown.

    Example:
        >>> rated = Example([("", "Good .")], "ratings", ["fluency"], [3.5], [[3.0, 4.0]])
        >>> [single.values for single in each_rater(rated)]
        [{'fluency': 3.0}, {'fluency': 4.0}]
    """
    if not any(example.by_rater):
        yield example
        return
    known = zip(example.by_rater, example.ratings, strict=True)
    for ratings in zip_longest(*(several or [mean] for several, mean in known)):
        rated = [row for row in zip(example.heads, ratings, strict=True) if row[1] is not None]
        heads, own = map(list, zip(*rated, strict=True))
        yield replace(example, heads=heads, ratings=own, by_rater=())


def pair_examples(pairs: Mapping[str, Iterable[RankedPair]]) -> list[Example]:
    """Return the ranked pairs of each head as examples; a pair of several heads becomes one example.

    A pair that occurs repeatedly within one head is kept as often.
    """
    heads_of = _heads_of({head: _numbered(rows) for head, rows in pairs.items()})
    return [
        Example(
            [(pair.source, pair.better), (pair.source, pair.worse)],
            "pairs",
            heads,
            margin=pair.margin,
            correct=pair.correct,
            group=pair.group or pair.source,
        )
        for (pair, _), heads in heads_of.items()
    ]


def labelled_examples(rows: Mapping[str, Iterable[Labelled]]) -> list[Example]:
    """Return the sentences with labelled words of each head as examples; heads share those that both have."""
    return [
        Example([("", row.sentence)], "labelled", heads, wrong=row.wrong)
        for row, heads in _heads_of(rows).items()
    ]


def case_examples(cases: Mapping[str, Iterable[Case]]) -> list[Example]:
    """Return an example for each variant of each case; heads that share a case share its examples.

    Args:
        cases: head -> its cases. A case or a variant whose correction equals its source gives no example.
    """
    examples = []
    for case, heads in _heads_of(cases).items():
        corrected = [pair for pair in case.variants if pair.source.split() != pair.target.split()]
        if case.original.source.split() == case.original.target.split():
            continue
        for variant in corrected:
            texts = [
                (pair.source, text)
                for pair in (case.original, variant)
                for text in (pair.target, pair.source)
            ]
            examples.append(Example(texts, "cases", heads, group=case.original.source))
    return examples


def _heads_of(rows: Mapping[str, Iterable[T]]) -> dict[T, list[str]]:
    """Return row -> the heads that have it."""
    heads_of: dict[T, list[str]] = defaultdict(list)
    for head, own in rows.items():
        for row in own:
            heads_of[row].append(head)
    return heads_of


def _numbered(pairs: Iterable[RankedPair]) -> Iterator[tuple[RankedPair, int]]:
    """Yield each pair with how often it came before."""
    counts: Counter[RankedPair] = Counter()
    for pair in pairs:
        yield pair, counts[pair]
        counts[pair] += 1


MIN_TESTED = 4
"""With fewer ratings there is no correlation, and with fewer sources there is no test."""


def split_places(
    datasets: Sequence[Examples], split: Split, seed: int = 0
) -> dict[str, list[list[int]]]:
    """Divide the examples of each dataset into train, dev and test, 8:1:1, one dataset after the other.

    Of twelve groups or more, each part has at least four, so that the test part can test.

    Args:
        datasets: examples of each dataset.
        split: `by-source` keeps groups that share a source on one side, the honest default. A group that an
            earlier dataset has stays in its part; if a later dataset has only one or two other groups, they
            go to train. `paper-random` draws single examples at random as Yoshimura et al. (2020) did (3,376,
            422 and 423 of TMU-GFM's 4,221), so outputs for one source can be in several parts. Use it only
            for comparison with that paper.
        seed: seed of the shuffle; the same seed gives the same split.

    Returns:
        Part -> for each dataset, the places of its examples in that part.

    Raises:
        InputError: the first dataset has fewer than three groups.
    """
    parts: dict[str, list[list[int]]] = {part: [] for part in PARTS}
    part_of: dict[int, str] = {}
    for groups in _groups(datasets, split):
        # The groups in the order of their first examples, and the places of their examples.
        members: dict[int, list[int]] = defaultdict(list)
        for place, group in enumerate(groups.tolist()):
            members[group].append(place)
        new = [group for group in members if group not in part_of]
        few = part_of and len(new) < len(PARTS)
        divided = {"train": new} if few or not new else _divided(new, seed)
        for part in PARTS:
            own = [group for group in members if part_of.get(group) == part]
            own += divided.get(part, [])
            parts[part].append([place for group in own for place in members[group]])
        if split == "by-source":
            part_of |= {group: part for part, own in divided.items() for group in own}
    return parts


def _divided(groups: list[int], seed: int) -> dict[str, list[int]]:
    """Return shuffled groups by part, 8:1:1; each part has at least one, or four if there are twelve."""
    if len(groups) < len(PARTS):
        raise InputError(
            f"{len(groups)} groups of examples cannot be split into train, dev and test; give at least 3."
        )
    random.Random(seed).shuffle(groups)
    fewest = MIN_TESTED if len(groups) >= len(PARTS) * MIN_TESTED else 1
    train = min(int(0.8 * len(groups)), len(groups) - 2 * fewest)
    dev = train + (len(groups) - train) // 2
    return dict(zip(PARTS, (groups[:train], groups[train:dev], groups[dev:]), strict=True))


def _groups(datasets: Sequence[Examples], split: Split) -> list[Indices]:
    """Return a number for each example of each dataset: the same for all that must be in one part."""
    sizes = [len(examples) for examples in datasets]
    if split == "paper-random":
        return [np.arange(size) for size in sizes]
    # An example and what it shares with others, its group and its sources, are nodes of a graph.
    shared, counts = array("q"), array("q")
    for (own,) in joined(datasets).columns("shared"):
        shared.extend(own)
        counts.append(len(own))
    distinct, columns = np.unique(np.asarray(shared), return_inverse=True)
    rows = np.repeat(np.arange(len(counts)), counts)
    nodes = len(counts) + len(distinct)
    edges = coo_array((np.ones(len(rows)), (rows, len(counts) + columns)), shape=(nodes, nodes))
    _, groups = connected_components(edges, directed=False)
    return np.split(groups[: len(counts)], np.cumsum(sizes)[:-1])
