"""Records of tables in memory, in files and on the hub, under our names of their columns."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from learnedgec.data.sentences import Frame
from learnedgec.data.tables import check_columns, check_required, is_named, read_table
from learnedgec.data.text import check_sentence, iterate_jsonl
from learnedgec.errors import DataError, FormatError, InputError
from learnedgec.runtime.files import PathLike
from learnedgec.table import plain

if TYPE_CHECKING:
    import datasets

HUB = "hf:"
"""The prefix of the names of datasets on the Hugging Face hub."""


Columns: TypeAlias = Mapping[str, str | list[str]]
"""Our name of a column -> its name in a file, or the names of several, whose cells become a list."""


class DataclassRow(Protocol):
    """A rating or a ranked pair of learnedgec."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Rows: TypeAlias = Frame | Iterable[Mapping[str, Any] | DataclassRow]
"""A table in memory: a data frame, a `datasets.Dataset`, or a list of its rows."""


def suffix(path: PathLike) -> str:
    """Return the last suffix of a file's name, `.gz` aside.

    Example:
        >>> suffix("judged/ratings.csv.gz")
        '.csv'
    """
    return PurePath(os.fspath(path).removesuffix(".gz")).suffix.lower()


def has_objects(path: PathLike) -> bool:
    """Return whether the records of a file may hold lists and other objects, which cells of CSV cannot."""
    stored = suffix(path) in (".jsonl", ".parquet") or is_saved_dataset(path)
    return stored or os.fspath(path).startswith(HUB)


def is_saved_dataset(path: PathLike) -> bool:
    """Return whether a folder was written by `save_to_disk` of the library `datasets`."""
    return any((Path(path) / name).is_file() for name in ("state.json", "dataset_dict.json"))


def read_records(
    table: PathLike | Rows,
    required: Sequence[str] = (),
    columns: Columns | None = None,
    known: Sequence[str] | None = None,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the place and the columns of each record of a file or a table, renamed; one at a time.

    The place is `file:line`, or the type of a table in memory with the number of a row.

    Args:
        table: a table in memory, as for `rows_of`; a `.jsonl`, `.tsv` or CSV file (`read_table`), which may
            be compressed (`.gz`); `-` for JSON Lines on standard input; a `.parquet` file; a folder that the
            library `datasets` saved; or `hf:OWNER/NAME`, the split `train` of a dataset on the Hugging Face
            hub or in its cache. `hf:OWNER/NAME:SPLIT` names another split.
        required: our names of the columns that every record must have.
        columns: our name of a column -> its name in the file, which must have it.
        known: our names of further columns that are read; a notice names all others. By default, every
            column is read.

    Raises:
        InputError: the file is missing, a directory, unreadable or empty.
        FormatError: a line cannot be used; the message names it.
        DataError: the hub has no such dataset or split, or cannot be reached.
    """
    columns = columns or {}
    lists = [[names] if isinstance(names, str) else names for names in columns.values()]
    taken = [column for names in lists for column in names]
    needed = [*taken, *(name for name in required if name not in columns)]
    if isinstance(table, str | os.PathLike):
        records = _records(table, needed, known)
    else:
        kind = name_of(table)
        rows = enumerate(rows_of(table, kind), 1)
        records = ((f"{kind}, row {number}", row) for number, row in rows)
    for place, record in records:
        check_required(place, record, needed)
        cells = {
            name: record[names] if isinstance(names, str) else [record[column] for column in names]
            for name, names in columns.items()
        }
        others = {
            name: cell for name, cell in record.items() if name not in taken and is_named(name)
        }
        yield place, others | cells


def name_of(table: PathLike | Rows) -> str:
    """Return the name of a table in messages: its path, or the type of a table in memory.

    Example:
        >>> name_of("ratings.csv"), name_of([{"hypothesis": "He goes ."}])
        ('ratings.csv', 'list')
    """
    return os.fspath(table) if isinstance(table, str | os.PathLike) else type(table).__name__


def _records(
    path: PathLike, required: Sequence[str], known: Sequence[str] | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return (`file:line`, column -> value) of each record of a file or a dataset; see `read_records`."""
    name = os.fspath(path)
    if name == "-" or suffix(path) == ".jsonl":
        return ((f"{name}:{line}", record) for line, record in enumerate(iterate_jsonl(path), 1))
    if has_objects(path):
        table = (_parquet_table if suffix(path) == ".parquet" else _dataset)(name)
        check_columns(name, table.column_names, required, known)
        return ((f"{name}:{row}", record) for row, record in enumerate(table, 1))
    return read_table(path, required=required, known=known)


def _parquet_table(name: str) -> datasets.Dataset:
    """Return a Parquet file as a table."""
    import datasets
    import pyarrow
    import pyarrow.parquet

    try:
        return datasets.Dataset(pyarrow.parquet.read_table(name, memory_map=True))
    except FileNotFoundError:
        raise InputError(f"{name} does not exist; check the path.") from None
    except (pyarrow.ArrowException, OSError) as error:
        raise FormatError(f"{name}: not a Parquet file ({_first_line(error)}).") from None


def _dataset(name: str) -> datasets.Dataset:
    """Return a saved dataset, or a split of one on the hub, mapped into memory from its cache."""
    import datasets

    if not name.startswith(HUB):
        saved = datasets.load_from_disk(name)
        if isinstance(saved, datasets.Dataset):
            return saved
        raise InputError(
            f"{name} has the splits {', '.join(saved)}; name one, such as {name}/{next(iter(saved))}."
        )
    repository, _, split = name.removeprefix(HUB).partition(":")
    try:
        return datasets.load_dataset(repository, split=split or "train")
    # Loading calls several libraries, and each of them raises its own errors.
    except Exception as error:
        raise DataError(
            f"{name} cannot be read from the Hugging Face hub or its cache ({_first_line(error)}); check "
            "OWNER/NAME and the split, or download a file of it and name that."
        ) from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def check_sentence_record(
    record: Mapping[str, Any], place: str, keys: Sequence[str] = ("source", "hypothesis")
) -> None:
    """Raise `FormatError` unless a record's sentences and references are texts without line feeds.

    Args:
        record: with these keys and perhaps `references`, a list of texts or nulls.
        place: `file:line`.
        keys: the keys that hold one sentence each.
    """
    references = record.get("references")
    if references is not None and not isinstance(references, list):
        raise FormatError(
            f"{place}: 'references' must be a list of texts, not {str(references)[:60]}."
        )
    for key in keys:
        check_sentence(record[key], place, key)
    for text in references or ():
        if text is not None:
            check_sentence(text, place, "references")


def check_same_sentences(
    first: tuple[str, Sequence[Mapping[str, Any]]],
    second: tuple[str, Sequence[Mapping[str, Any]]],
    *,
    line: int = 1,
) -> None:
    """Raise `InputError` unless the records of two systems have the same sources and references.

    Args:
        first: the file of a system and N of its records.
        second: the file of another system and N of its records.
        line: the number of the first of these records in its file.
    """
    for number, records in enumerate(zip(first[1], second[1], strict=True), line):
        if any(records[0].get(key) != records[1].get(key) for key in ("source", "references")):
            raise InputError(
                f"{second[0]}:{number}: the source or the references differ from {first[0]}; all systems "
                "must have corrected the same sentences."
            )


def is_row(value: Any) -> bool:
    """Return whether a value is a row of a table in memory: a mapping, or a rating or pair of learnedgec."""
    return isinstance(value, Mapping) or dataclasses.is_dataclass(value)


def rows_of(table: Any, about: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table in memory as plain values; missing ones are `None`.

    Args:
        table: a data frame of pandas (with named indices) or Polars, a `datasets.Dataset`, or a list of rows.
        about: the name of the table in messages.

    Raises:
        InputError: it is something else, or two of its columns have one name.
    """
    if hasattr(table, "iterrows"):
        table = table.reset_index(list(filter(None, table.index.names)), allow_duplicates=True)
        if not table.columns.is_unique:
            twice = table.columns[table.columns.duplicated()][0]
            raise InputError(f"{about}: two columns are named {twice!r}; rename one of them.")
        # pandas has several values for a missing one.
        table = table.astype(object).where(table.notna(), None).to_dict("records")
    for method in ("to_dicts", "to_pylist"):  # of Polars and of Arrow
        if hasattr(table, method):
            table = getattr(table, method)()
    expected = "a data frame, a dataset or a list of mappings from columns to values was expected"
    if not isinstance(table, Iterable) or isinstance(table, Mapping):
        raise InputError(f"{about}: {expected}.")
    for number, row in enumerate(table, 1):
        if not is_row(row):
            raise InputError(f"{about}: row {number} is of type {type(row).__name__}; {expected}.")
        record = dict(row) if isinstance(row, Mapping) else dataclasses.asdict(row)
        if not isinstance(row, Mapping):  # a rating has a mapping of its own
            record.pop("raters", None)
            record |= record.pop("values", {})
        yield plain(record)
