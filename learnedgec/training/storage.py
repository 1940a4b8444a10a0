"""Examples and their tokens in Arrow files that are mapped into memory, so that a run needs little of it."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow
from datasets import Dataset, concatenate_datasets

from learnedgec.training.examples import Example

BATCH = 10_000
"""Number of examples that are read or tokenised at once."""

_EXAMPLE = pyarrow.schema([("example", pyarrow.binary())])


def batched(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Yield lists of `BATCH` consecutive rows."""
    iterator = iter(rows)
    while batch := list(islice(iterator, BATCH)):
        yield batch


def write_columns(
    path: Path, batches: Iterable[Mapping[str, Any]], schema: pyarrow.Schema
) -> Dataset:
    """Write batches of columns to an Arrow file, and return it as a dataset that is mapped into memory.

    Args:
        path: the file.
        batches: column -> values, in turn.
        schema: names and types of the columns.
    """
    with pyarrow.OSFile(str(path), "wb") as file, pyarrow.ipc.new_stream(file, schema) as writer:
        for columns in batches:
            writer.write_batch(pyarrow.RecordBatch.from_pydict(dict(columns), schema=schema))
    return Dataset.from_file(str(path))


class StoredExamples(Sequence[Example]):
    """Examples in a file that `stored` wrote."""

    def __init__(self, rows: Dataset) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: Any) -> Any:
        pickled = self.rows[place]["example"]
        if isinstance(place, slice):
            return [pickle.loads(row) for row in pickled]
        return pickle.loads(pickled)

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
    columns = ({"example": [pickle.dumps(row) for row in batch]} for batch in batched(examples))
    return StoredExamples(write_columns(path, columns, _EXAMPLE))


def joined(parts: Iterable[StoredExamples]) -> StoredExamples:
    """Return the examples of several files in turn."""
    return StoredExamples(concatenate_datasets([part.rows for part in parts]))
