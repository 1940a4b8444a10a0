"""Sentences and records from any container: a list, a tuple, an array, a column of a table.

`Corpus.of` converts all sentences of a call by these functions once; inside the library they are lists of
`str`, and no metric checks them again.
"""

from __future__ import annotations

import dataclasses
import math
import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, Sized
from itertools import pairwise
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypeVar

from learnedgec.data.tables import check_columns, check_required, is_named, read_table
from learnedgec.data.text import check_sentence, iterate_jsonl
from learnedgec.errors import DataError, FormatError, InputError
from learnedgec.runtime.files import PathLike
from learnedgec.table import plain

if TYPE_CHECKING:
    import datasets
    from typing_extensions import TypeIs

LONGEST_SENTENCE = 3_000
"""The largest number of tokens in a sentence; the time to align two grows with the square of it."""

LONGEST_TOKEN = 10_000
"""The largest number of characters in a token."""


Element = TypeVar("Element", covariant=True)


class Items(Protocol[Element]):
    """Items in order: a list, a tuple, a NumPy array, a pandas Series, a column of `datasets`, ….

    Type checkers refuse a single text, because `str` contains only texts, and a set, which has no items by
    number. `as_items` refuses them at run time.
    """

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Element]: ...

    def __contains__(self, item: object, /) -> bool: ...

    def __getitem__(self, index: int, /) -> Any: ...


Sentences: TypeAlias = Items[str]
"""N texts, one sentence each."""


class Frame(Protocol):
    """A data frame of pandas or Polars."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""

    def __getitem__(self, name: Any, /) -> Any: ...


Systems: TypeAlias = Mapping[str, Sentences] | Frame
"""Each system's N hypotheses, by the system's name; a data frame has them in its columns."""


def as_sentences(texts: Sentences, argument: str) -> list[str]:
    """Return the sentences of any sequence of texts.

    Args:
        texts: texts in order, one sentence each.
        argument: the argument's name, for the message.

    Raises:
        InputError: it is not a sequence, or an item is not a text, has too many tokens for a sentence, or
            contains a lone surrogate, which no file or tokenizer can represent; the message names the
            argument and the index.

    Example:
        >>> import numpy as np
        >>> as_sentences(np.array(["He go .", "She goes ."]), "sources")
        ['He go .', 'She goes .']
        >>> as_sentences(["He go .", None], "sources")
        Traceback (most recent call last):
        learnedgec.errors.InputError: sources[1] is None; a text was expected.
    """
    items = as_items(texts, argument, "a sequence of texts")
    if set(map(type, items)) <= {str} and all(map(_is_sentence, items)):
        return items
    return [_as_text(item, f"{argument}[{index}]") for index, item in enumerate(items)]


def as_optional_sentences(texts: Items[str | None], argument: str) -> list[str | None]:
    """Return the sentences of a sequence in which some are absent: `None`, or NaN in a table.

    Raises:
        InputError: see `as_sentences`.
    """
    items = as_items(texts, argument, "a sequence of texts")
    return [
        None if item is None or _is_nan(item) else _as_text(item, f"{argument}[{index}]")
        for index, item in enumerate(items)
    ]


def as_systems(systems: Systems) -> dict[str, list[str]]:
    """Return every system's sentences by name; see `as_sentences`.

    Raises:
        InputError: it is not a mapping from names to sequences of texts, or it is empty.
    """
    if not isinstance(systems, Mapping) and are_systems(systems):
        systems = {name: systems[name] for name in systems.columns}
    if not isinstance(systems, Mapping):
        raise InputError(
            f"systems is {_kind(systems)}; a mapping from each system's name to its hypotheses, or a data "
            "frame with a column for each, was expected."
        )
    if not systems:
        raise InputError("systems is empty; give at least one system.")
    for name in systems:
        if not isinstance(name, str):
            raise InputError(f"systems has the key {name!r}; a system's name is a text.")
    return {name: as_sentences(texts, f"systems[{name!r}]") for name, texts in systems.items()}


def are_systems(texts: object) -> TypeIs[Systems]:
    """Return whether an argument holds the outputs of systems by name, and not those of one system."""
    return isinstance(texts, Mapping) or hasattr(texts, "columns")


def as_items(values: Any, argument: str, expected: str) -> list[Any]:
    """Return the items of a sequence, whatever they are.

    Args:
        values: an ordered collection.
        argument: the argument's name.
        expected: a description of the expected value.

    Raises:
        InputError: it is not a sequence.
    """
    if type(values) is list:
        return values
    if isinstance(values, str):
        raise InputError(
            f"{argument} is the text {_shown(values)}; {expected} was expected: put it into a list."
        )
    # A table has columns, not items; a scalar array has none either.
    tabular = hasattr(values, "ndim") and not (values.ndim and hasattr(values, "tolist"))
    unordered = isinstance(values, bytes | bytearray | Mapping | Set)
    if tabular or unordered or not (isinstance(values, Sized) and isinstance(values, Iterable)):
        raise InputError(f"{argument} is {_kind(values)}; {expected} was expected.")
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _as_text(item: object, place: str) -> str:
    """Return an item as plain `str`, or raise naming its place."""
    if not isinstance(item, str):
        raise InputError(f"{place} is {_shown(item)}; a text was expected.")
    if not _is_encodable(item):
        raise InputError(
            f"{place} is {_shown(item)}, which contains a lone surrogate and has no form in UTF-8; remove it."
        )
    check_length(item, place)
    return str(item)


def check_length(text: str, place: str) -> None:
    """Raise `InputError` if a text is too long for a sentence: a file without line breaks, encoded data, ….

    Args:
        text: the text.
        place: where it stands, for the message.
    """
    # More than n tokens, and the spaces between them, need more than 2n characters.
    if len(text) < 2 * LONGEST_SENTENCE:
        return
    tokens = text.split()
    if len(tokens) > LONGEST_SENTENCE:
        size, limit = f"{len(tokens):,} tokens", f"{LONGEST_SENTENCE:,}"
    elif (longest := max(map(len, tokens), default=0)) > LONGEST_TOKEN:
        size, limit = f"a token of {longest:,} characters", f"{LONGEST_TOKEN:,}"
    else:
        return
    raise InputError(f"{place} has {size}, and at most {limit} are scored; split this line.")


def _is_sentence(text: str) -> bool:
    """Return whether a text can be encoded and is surely short enough."""
    return len(text) < 2 * LONGEST_SENTENCE and _is_encodable(text)


def _is_encodable(text: str) -> bool:
    """Return whether a text can be encoded, which a lone surrogate prevents."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_nan(item: object) -> bool:
    """Return whether an item marks a missing text in a table."""
    # pandas need not be installed to recognise its constant.
    return (isinstance(item, float) and math.isnan(item)) or type(item).__name__ == "NAType"


def _shown(item: object) -> str:
    """Return an item as a message shows it."""
    return "NaN" if _is_nan(item) else reprlib.repr(item)


def _kind(value: object) -> str:
    """Describe in words what was given in place of a sequence."""
    if value is None or isinstance(value, int | float | complex):
        return _shown(value)
    return f"of type {type(value).__name__}"


# A text whose tokens are longer than this on average seems to have no spaces between its words.
_UNSPACED = 12

# Tokens that most sentences share.
_EVERYWHERE = frozenset(".,?!。，？！")


def words_of(text: str) -> frozenset[str]:
    """Return the distinct words of a sentence, or its character bigrams if it has no spaces between words."""
    words = text.lower().split()
    if len(text) > _UNSPACED * len(words):
        return frozenset(first + second for first, second in pairwise(text))
    return frozenset(words) - _EVERYWHERE


def shared_words(first: frozenset[str], second: frozenset[str]) -> float:
    """Return Dice's coefficient of the words of two sentences: 0 if they share none, 1 if they share all."""
    return 2 * len(first & second) / max(1, len(first) + len(second))


def changed_sentences(sources: Sentences, hypotheses: Sentences) -> list[bool]:
    r"""Return for each of N sentences whether its tokens differ from those of its source.

    White space around and between tokens, such as a carriage return, makes no difference.

    Example:
        >>> changed_sentences(["He go .", "Fine ."], ["He goes .", "Fine . \r"])
        [True, False]
    """
    return [
        source.split() != text.split() for source, text in zip(sources, hypotheses, strict=True)
    ]


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
    needed = [*flat(columns), *(name for name in required if name not in columns)]
    if isinstance(table, str | os.PathLike):
        records = _records(table, needed, known)
    else:
        kind = type(table).__name__
        rows = enumerate(rows_of(table, kind), 1)
        records = ((f"{kind}, row {number}", row) for number, row in rows)
    for place, record in records:
        check_required(place, record, needed)
        yield place, renamed(record, columns)


def renamed(record: Mapping[str, Any], columns: Columns) -> dict[str, Any]:
    """Return a record, which must have all these columns, under our names of them.

    Example:
        >>> renamed({"learner": "He go .", "a": 1, "b": 2}, {"source": "learner", "fluency": ["a", "b"]})
        {'source': 'He go .', 'fluency': [1, 2]}
    """
    cells: dict[str, Any] = {
        name: record[names] if isinstance(names, str) else [record[column] for column in names]
        for name, names in columns.items()
    }
    taken = set(flat(columns))
    others = {name: value for name, value in record.items() if name not in taken and is_named(name)}
    return others | cells


def flat(columns: Columns) -> list[str]:
    """Return the file's names of all columns that are named."""
    lists = ([names] if isinstance(names, str) else names for names in columns.values())
    return [column for names in lists for column in names]


def _records(
    path: PathLike, required: Sequence[str], known: Sequence[str] | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (`file:line`, column -> value) of each record of a file or a dataset; see `read_records`."""
    name = os.fspath(path)
    if name == "-" or suffix(path) == ".jsonl":
        lines = enumerate(iterate_jsonl(path), 1)
        yield from ((f"{name}:{line}", record) for line, record in lines)
    elif has_objects(path):
        table = (_parquet_table if suffix(path) == ".parquet" else _dataset)(name)
        check_columns(name, table.column_names, required, known)
        yield from ((f"{name}:{row}", record) for row, record in enumerate(table, 1))
    else:
        yield from read_table(path, required=required, known=known)


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
