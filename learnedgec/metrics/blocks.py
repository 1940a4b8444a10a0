"""Statistics that come in blocks of sentences, in order, and are never all in memory.

The corpus score of blocks is that of all their sentences (`Metric.fold`). Where a metric needs all of them
at once, they lie side by side in a temporary file that is mapped into memory, of which the operating system
keeps what there is room for.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO

import numpy as np

from learnedgec.metrics.statistics import Statistics
from learnedgec.types import Array

__all__ = ["StatisticsBlocks"]


class StatisticsBlocks:
    """The statistics of a corpus, block by block; may be gone through several times.

    Example:
        >>> parts = [Statistics({"length": np.array([1.0, 2.0])}), Statistics({"length": np.array([3.0])})]
        >>> with StatisticsBlocks(lambda: iter(parts)).whole() as whole:
        ...     whole["length"].tolist()
        [1.0, 2.0, 3.0]
    """

    def __init__(self, read: Callable[[], Iterator[Statistics]], folder: str | None = None) -> None:
        """Describe the blocks.

        Args:
            read: returns the blocks from the first to the last, at each call.
            folder: for temporary files; the system's own if absent.
        """
        self._read, self._folder = read, folder

    def __iter__(self) -> Iterator[Statistics]:
        return self._read()

    def map(self, function: Callable[[Statistics], Statistics]) -> StatisticsBlocks:
        """Return the blocks that a function makes of these, one of each, when they are asked for."""
        return StatisticsBlocks(lambda: map(function, self._read()), self._folder)

    @contextmanager
    def whole(self) -> Iterator[Statistics]:
        """Yield the statistics of all sentences, without records, in arrays that are mapped from disk.

        Arrays of references have as many places as the sentence with most references needs.
        """
        kinds: dict[str, tuple[np.dtype, tuple[int, ...]]] = {}
        rows = 0
        for block in self:
            rows += len(block)
            for name, array in block.arrays.items():
                dtype, shape = kinds.get(name, (array.dtype, array.shape[1:]))
                widest = tuple(map(max, zip(shape, array.shape[1:], strict=True)))
                kinds[name] = np.result_type(dtype, array.dtype), widest
        with ExitStack() as files:
            arrays: dict[str, Array] = {}
            for name, (dtype, shape) in kinds.items():
                file: IO[bytes] = files.enter_context(tempfile.TemporaryFile(dir=self._folder))
                arrays[name] = np.memmap(file, dtype, "w+", shape=(rows, *shape))
            start = 0
            for block in self:
                stop = start + len(block)
                for name, array in block.arrays.items():
                    place = (slice(start, stop), *(slice(size) for size in array.shape[1:]))
                    arrays[name][place] = array
                start = stop
            yield Statistics(arrays)
