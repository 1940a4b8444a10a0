"""What a metric knows about each sentence: named arrays, from which all later numbers are computed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from learnedgec.errors import InputError
from learnedgec.types import Array


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a metric knows about each of N sentences: enough to compute every later number.

    Attributes:
        arrays: named arrays whose first axis is the sentence. Where the reference is chosen later,
            the second axis is the reference, padded to the largest number of references, and the
            array `references`, int (N,), says how many are real.
        records: N explanations that JSON can represent (such as matched edits), or `()` if there are none.

    Raises:
        InputError: the arrays or the records differ in length.

    Example:
        >>> from learnedgec import load_metric
        >>> length = load_metric("length")
        >>> statistics = length.statistics(["He go .", "Yes ."], ["He goes home .", "Yes ."])
        >>> len(statistics), statistics["score"].tolist()
        (2, [4.0, 2.0])
        >>> length.aggregate(statistics.take([0, 0, 1]))
        3.33
    """

    arrays: Mapping[str, Array]
    records: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        lengths = {name: len(array) for name, array in self.arrays.items()}
        if self.records:
            lengths["records"] = len(self.records)
        if len(set(lengths.values())) != 1:
            counts = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise InputError(
                f"statistics have one row per sentence; {counts or 'there is no array'}."
            )

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    def __getitem__(self, name: str) -> Array:
        return self.arrays[name]

    def take(self, indices: Sequence[int] | Array) -> Statistics:
        """Return the statistics of the given sentences, in that order, repeats allowed."""
        index = np.asarray(indices, dtype=np.intp)
        return Statistics(
            {name: array[index] for name, array in self.arrays.items()},
            tuple(self.records[i] for i in index) if self.records else (),
        )


@contextmanager
def joined_statistics(
    read: Callable[[], Iterable[Statistics]], folder: str | None = None
) -> Iterator[Statistics]:
    """Yield the statistics of a corpus that come in blocks, as one, without records.

    The arrays lie in temporary files that are mapped into memory, so that they may be larger than it. Arrays
    of references have as many places as the sentence with most references needs.

    Args:
        read: returns the blocks in the order of the sentences, at each of two calls.
        folder: for the temporary files; the system's own if absent.

    Example:
        >>> blocks = [Statistics({"length": np.array([1.0, 2.0])}), Statistics({"length": np.array([3.0])})]
        >>> with joined_statistics(lambda: blocks) as statistics:
        ...     statistics["length"].tolist()
        [1.0, 2.0, 3.0]
    """
    kinds: dict[str, tuple[np.dtype, tuple[int, ...]]] = {}
    rows = 0
    for block in read():
        rows += len(block)
        for name, array in block.arrays.items():
            dtype, shape = kinds.get(name, (array.dtype, array.shape[1:]))
            widest = tuple(map(max, zip(shape, array.shape[1:], strict=True)))
            kinds[name] = np.result_type(dtype, array.dtype), widest
    with ExitStack() as files:
        arrays: dict[str, Array] = {}
        for name, (dtype, shape) in kinds.items():
            file: IO[bytes] = files.enter_context(tempfile.TemporaryFile(dir=folder))
            arrays[name] = np.memmap(file, dtype, "w+", shape=(rows, *shape))
        start = 0
        for block in read():
            stop = start + len(block)
            for name, array in block.arrays.items():
                place = (slice(start, stop), *map(slice, array.shape[1:]))
                arrays[name][place] = array
            start = stop
        yield Statistics(arrays)
