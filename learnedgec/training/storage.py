"""Examples in Arrow files that are mapped into memory, so that a run needs little of it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow
from datasets import Dataset, concatenate_datasets

from learnedgec.training.examples import Example

BATCH = 10_000
"""Number of examples that are read or tokenised at once."""


def batched(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield lists of `BATCH` consecutive rows."""
    iterator = iter(rows)
    while batch := list(islice(iterator, BATCH)):
        yield batch


class StoredExamples(Sequence[Example]):
    """Examples in a file that `stored` wrote."""

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
        for start in range(0, len(self), BATCH):
            yield from self[start : start + BATCH]

    def selected(self, places: Sequence[int]) -> StoredExamples:
        """Return the examples at some places, in this order."""
        return StoredExamples(self.rows.select(places))

    def where(self, condition: Callable[[Example], bool]) -> StoredExamples:
        """Return the examples that meet a condition."""
        return self.selected([place for place, example in enumerate(self) if condition(example)])


def stored(examples: Iterable[Example], path: Path) -> StoredExamples:
    """Write examples to a file.

    Args:
        examples: the examples.
        path: the file, which this process alone reads and removes.
    """
    schema = pyarrow.schema([("example", pyarrow.binary())])
    with pyarrow.OSFile(str(path), "wb") as file, pyarrow.ipc.new_stream(file, schema) as writer:
        for batch in batched(examples):
            pickled = [pickle.dumps(row) for row in batch]
            writer.write_batch(pyarrow.RecordBatch.from_pydict({"example": pickled}, schema=schema))
    return StoredExamples(Dataset.from_file(str(path)))


def joined(parts: Iterable[StoredExamples]) -> StoredExamples:
    """Return the examples of several files in turn."""
    return StoredExamples(concatenate_datasets([part.rows for part in parts]))
