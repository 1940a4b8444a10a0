"""Training examples: rated sentences, ranked pairs and cases in one form, their storage and their split.

They are kept in Arrow files that are mapped into memory, so that a run needs little of it.
"""

from __future__ import annotations

import pickle
import random
import tempfile
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import Any, Literal, TypeVar

import numpy as np
from datasets import Dataset, Features, Value, concatenate_datasets
from datasets.arrow_writer import ArrowWriter
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from learnedgec.data.catalog.cases import Case
from learnedgec.data.catalog.ratings import Rating
from learnedgec.data.catalog.sentences import Labelled
from learnedgec.errors import InputError
from learnedgec.training.pairs import RankedPair
from learnedgec.types import Indices

T = TypeVar("T")

Split = Literal["by-source", "paper-random"]
PARTS = ("train", "dev", "test")
# Number of examples that are read or tokenised at once.
_BATCH = 10_000


@dataclass(frozen=True, slots=True)
class Example:
    """One to four texts with their rating, their order, or both.

    Attributes:
        texts: (source, hypothesis) of each text. A rated sentence has one text. A ranked pair has two, the
            better one first. A case has four: the correction and the source of the original, then those of a
            variant.
        values: head -> rating of text 0.
        ranked: heads that should give text 0 a higher value than text 1.
        consistent: heads whose preference between texts 0 and 1 should be the same as between texts 2 and 3.
        margin: difference between texts 0 and 1, for heads that learn differences or what a score leaves
            wrong.
        correct: the correct text, for heads that detect wrong words; empty if unknown.
        labelled: heads that learn from `wrong`.
        wrong: for each word of text 0, and perhaps for its end, whether it is wrong, where that is labelled;
            `None` for a word without a label.
        raters: head -> each rater's rating of text 0, where known.
        group: examples of one group belong on one side of a split.
    """

    texts: tuple[tuple[str, str], ...]
    values: Mapping[str, float] = field(default_factory=dict)
    ranked: tuple[str, ...] = ()
    consistent: tuple[str, ...] = ()
    margin: float = 0.0
    correct: str = ""
    labelled: tuple[str, ...] = ()
    wrong: tuple[bool | None, ...] = ()
    group: str = ""
    raters: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def sides(self) -> list[str]:
        """Its group and its sources, or else its hypothesis: none may be in two parts of a split."""
        names = (self.group, *(source for source, _ in self.texts))
        return list(dict.fromkeys(filter(None, names))) or [self.texts[0][1]]

    @property
    def source(self) -> str:
        """The source of its first text, or what it shares with others if there is none."""
        return self.texts[0][0] or self.sides[0]

    @property
    def heads(self) -> set[str]:
        """The heads that learn from this example."""
        return {*self.values, *self.ranked, *self.consistent, *self.labelled}


class StoredExamples(Sequence[Example]):
    """Examples in files that `stored` wrote."""

    def __init__(self, rows: Dataset) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        pickled = self.rows[place]["example"]
        if isinstance(place, int):
            return pickle.loads(pickled)
        return [pickle.loads(row) for row in pickled]

    def __iter__(self) -> Iterator[Example]:
        return chain.from_iterable(self.batches())

    def batches(self) -> Iterator[list[Example]]:
        """Yield many examples at a time."""
        for start in range(0, len(self), _BATCH):
            yield self[start : start + _BATCH]

    def selected(self, places: Sequence[int]) -> StoredExamples:
        """Return the examples at some places, in this order."""
        return StoredExamples(self.rows.select(places))

    def where(self, condition: Callable[[Example], bool]) -> StoredExamples:
        """Return the examples that meet a condition."""
        return self.selected([place for place, example in enumerate(self) if condition(example)])


def stored(examples: Iterable[Example]) -> StoredExamples:
    """Write examples to a file, which is removed at once and lasts as long as it is mapped into memory."""
    # Windows keeps a file that is mapped.
    with tempfile.TemporaryDirectory(prefix="learnedgec-", ignore_cleanup_errors=True) as folder:
        path = f"{folder}/examples.arrow"
        with ArrowWriter(path=path, features=Features(example=Value("binary"))) as writer:
            for example in examples:
                writer.write({"example": pickle.dumps(example)})
            writer.finalize()
        return StoredExamples(Dataset.from_file(path))


def joined(parts: Iterable[StoredExamples]) -> StoredExamples:
    """Return the examples of several files in turn."""
    return StoredExamples(concatenate_datasets([part.rows for part in parts]))


def rating_examples(ratings: Iterable[Rating], *, zeros: bool = True) -> Iterator[Example]:
    """Yield rated sentences as examples.

    Args:
        ratings: the ratings.
        zeros: whether 0 is a rating; in datasets of the catalog it says that a rater could not judge.
    """
    for rating in ratings:
        raters = {
            name: values if zeros else tuple(filter(None, values))
            for name, values in rating.raters.items()
        }
        texts = ((rating.source, rating.hypothesis),)
        yield Example(texts, rating.values, group=rating.group, raters=raters)


def each_rater(example: Example) -> Iterator[Example]:
    """Yield an example for each rater's ratings, or the example itself where single raters are unknown.

    Example:
        >>> rated = Example((("", "Good ."),), {"fluency": 3.5}, raters={"fluency": (3.0, 4.0)})
        >>> [single.values for single in each_rater(rated)]
        [{'fluency': 3.0}, {'fluency': 4.0}]
    """
    if not example.raters:
        yield example
        return
    by_head = {head: example.raters.get(head) or (value,) for head, value in example.values.items()}
    for ratings in zip_longest(*by_head.values()):
        rated = zip(by_head, ratings, strict=True)
        values = {head: rating for head, rating in rated if rating is not None}
        yield replace(example, values=values, raters={})


def pair_examples(pairs: Mapping[str, Iterable[RankedPair]]) -> list[Example]:
    """Return the ranked pairs of each head as examples; a pair of several heads becomes one example.

    A pair that occurs repeatedly within one head is kept as often.
    """
    heads_of = _heads_of({head: _numbered(rows) for head, rows in pairs.items()})
    return [
        Example(
            ((pair.source, pair.better), (pair.source, pair.worse)),
            ranked=tuple(heads),
            margin=pair.margin,
            correct=pair.correct,
            group=pair.group or pair.source,
        )
        for (pair, _), heads in heads_of.items()
    ]


def labelled_examples(rows: Mapping[str, Iterable[Labelled]]) -> list[Example]:
    """Return the sentences with labelled words of each head as examples; heads share those that both have."""
    return [
        Example(((row.source, row.sentence),), labelled=tuple(heads), wrong=row.wrong)
        for row, heads in _heads_of(rows).items()
    ]


def case_examples(
    cases: Mapping[str, Iterable[Case]], variants: int | None = None, seed: int = 0
) -> list[Example]:
    """Return an example for each variant of each case; heads that share a case share its examples.

    Args:
        cases: head -> its cases. A case or a variant whose correction equals its source gives no example.
        variants: number of variants of each case, drawn at random; all by default.
        seed: seed of the draw.
    """
    examples = []
    for case, heads in _heads_of(cases).items():
        corrected = [pair for pair in case.variants if pair.source.split() != pair.target.split()]
        if case.original.source.split() == case.original.target.split():
            continue
        if variants is not None and variants < len(corrected):
            draw = random.Random(f"{seed} {case.original.source}")
            corrected = draw.sample(corrected, variants)
        examples += [
            Example(
                tuple(
                    (pair.source, text)
                    for pair in (case.original, variant)
                    for text in (pair.target, pair.source)
                ),
                consistent=tuple(heads),
                group=case.original.source,
            )
            for variant in corrected
        ]
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


def split_places(
    datasets: Sequence[Sequence[Example]], split: Split, seed: int = 0
) -> dict[str, list[list[int]]]:
    """Divide the examples of each dataset into train, dev and test, 8:1:1, one dataset after the other.

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
    """Return shuffled groups by part, 8:1:1 and at least one in each."""
    if len(groups) < len(PARTS):
        raise InputError(
            f"{len(groups)} groups of examples cannot be split into train, dev and test; give at least 3."
        )
    random.Random(seed).shuffle(groups)
    train = max(min(int(0.8 * len(groups)), len(groups) - 2), 1)
    dev = train + max((len(groups) - train) // 2, 1)
    return dict(zip(PARTS, (groups[:train], groups[train:dev], groups[dev:]), strict=True))


def _groups(datasets: Sequence[Sequence[Example]], split: Split) -> list[Indices]:
    """Return a number for each example of each dataset: the same for all that must be in one part."""
    sizes = [len(examples) for examples in datasets]
    if split == "paper-random":
        return [np.arange(size) for size in sizes]
    # An example and what it shares with others, its group and its sources, are nodes of a graph.
    sides, counts = array("q"), array("q")
    for example in chain.from_iterable(datasets):
        sides.extend(names := [hash(side) for side in example.sides])
        counts.append(len(names))
    distinct, columns = np.unique(np.asarray(sides), return_inverse=True)
    rows = np.repeat(np.arange(len(counts)), counts)
    nodes = len(counts) + len(distinct)
    edges = coo_array((np.ones(len(rows)), (rows, len(counts) + columns)), shape=(nodes, nodes))
    _, groups = connected_components(edges, directed=False)
    return np.split(groups[: len(counts)], np.cumsum(sizes)[:-1])
