"""The store on disk for expensive results: values by key, in one SQLite file.

Several processes and threads may share it. A write is whole or absent, and a damaged value counts as absent.
A file that is damaged or no database is renamed with a warning when something is written, and a new one
begins. Any other error of SQLite, such as one of a full disk, leaves the file as it is. Keys come from
`key_of`, which covers everything on which a value depends, so no value ever becomes wrong.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import warnings
import zlib
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from learnedgec.errors import OutputError
from learnedgec.runtime.files import key_of
from learnedgec.types import Array, Floats

Input: TypeAlias = str | tuple[str, str]

_FILE = "store.sqlite"

# The number of seconds for which a process waits while another one writes.
_PATIENCE = 60.0

# The number of keys in one query; older versions of SQLite take at most 999.
_KEYS_PER_QUERY = 500

_TABLE = "CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, value BLOB)"

# SQLite may take the message of an error from a damaged file, so the message may not be UTF-8.
_ERRORS = (sqlite3.Error, UnicodeDecodeError)

# SQLite's messages about a file that is no database, and about a torn one.
_NO_DATABASE = re.compile("not a database|malformed")

# Names of arrays have this prefix in a file of arrays; the records have no prefix.
_PREFIX = "array:"


class Store:
    """Values by key in a folder.

    `load` and `save` are for arrays with records for JSON; `read` and `write` are for the bytes of many small
    values at once.

    Args:
        folder: the folder, which is created when something is written.

    Example:
        >>> import tempfile
        >>> store = Store(tempfile.mkdtemp())
        >>> key = key_of("model 1", ["a text", "another"])
        >>> store.load(key) is None
        True
        >>> store.save(key, {"scores": np.array([0.5, 2.0])}, [{"tokens": 3}])
        >>> store.load(key)
        ({'scores': array([0.5, 2. ])}, [{'tokens': 3}])
        >>> store.write({key: b"bytes"})
        >>> store.read([key, key_of("absent")]) == {key: b"bytes"}
        True
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._path = Path(folder) / _FILE

    def read(self, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the values of all keys that have a value."""
        values: dict[str, bytes] = {}
        if not self._path.is_file():
            return values
        wanted = [bytes.fromhex(key) for key in keys]
        # A file that cannot be read counts as empty; `write` reports a file that cannot be written.
        with contextlib.suppress(*_ERRORS), self._opened() as database:
            for start in range(0, len(wanted), _KEYS_PER_QUERY):
                part = wanted[start : start + _KEYS_PER_QUERY]
                marks = ",".join("?" * len(part))
                query = f"SELECT key, value FROM entries WHERE key IN ({marks})"
                for key, value in database.execute(query, part):
                    if isinstance(value, bytes) and value[:4] == _checksum(key, value[4:]):
                        values[key.hex()] = value[4:]
        return values

    def write(self, values: Mapping[str, bytes]) -> None:
        """Store values by key; all of them or none.

        Raises:
            OutputError: the folder cannot be written.
        """
        keys = {bytes.fromhex(key): value for key, value in values.items()}
        rows = [(key, _checksum(key, value) + value) for key, value in keys.items()]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._insert(rows)
            except _ERRORS as error:
                if isinstance(error, sqlite3.Error) and not _NO_DATABASE.search(str(error)):
                    raise
                self._set_aside()
                self._insert(rows)
        except (OSError, *_ERRORS) as error:
            raise OutputError(
                f"the cache {self._path} cannot be written ({error}); make room, or name another folder."
            ) from None

    def load(self, key: str) -> tuple[dict[str, Array], list[Any]] | None:
        """Return the arrays and records of a key, or `None` if there are none."""
        content = self.read([key]).get(key)
        if content is None:
            return None
        with np.load(BytesIO(content), allow_pickle=False) as file:
            arrays = {
                name.removeprefix(_PREFIX): file[name]
                for name in file.files
                if name.startswith(_PREFIX)
            }
            return arrays, json.loads(file["records"].tobytes())

    def save(self, key: str, arrays: Mapping[str, Array], records: Iterable[Any] = ()) -> None:
        """Store arrays and records under a key.

        Args:
            key: key from `key_of`.
            arrays: arrays by name, of numbers or texts, not of objects.
            records: values for JSON; tuples are read as lists.

        Raises:
            OutputError: the folder cannot be written.
        """
        for name, array in arrays.items():
            if array.dtype.hasobject:
                raise TypeError(f"the array {name!r} holds {array.dtype}, which is not stored.")
        members = {f"{_PREFIX}{name}": array for name, array in arrays.items()}
        members["records"] = np.frombuffer(json.dumps(list(records)).encode(), dtype=np.uint8)
        file = BytesIO()
        np.savez_compressed(file, **members)  # type: ignore[arg-type]
        self.write({key: file.getvalue()})

    def _set_aside(self) -> None:
        """Rename a file that is no database, and its journal, and warn."""
        names = (f"store.damaged-{number}.sqlite" for number in count(1))
        aside = next(name for name in names if not self._path.with_name(name).exists())
        for ending in ("-journal", ""):
            with contextlib.suppress(FileNotFoundError):  # another process may have been faster
                self._path.with_name(_FILE + ending).rename(self._path.with_name(aside + ending))
        warnings.warn(
            f"the cache {self._path} is damaged or no database; it was renamed to {aside}, and a new one "
            "begins.",
            stacklevel=3,
        )

    def _insert(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        with self._opened() as database, database:
            database.execute(_TABLE)
            database.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?)", rows)

    def _opened(self) -> contextlib.closing[sqlite3.Connection]:
        return contextlib.closing(sqlite3.connect(self._path, timeout=_PATIENCE))


def _checksum(key: bytes, value: bytes) -> bytes:
    return zlib.crc32(key + value).to_bytes(4, "little")


class RowStore:
    """The stored outputs of one model: a row of numbers for each distinct text or pair.

    Another system thus costs only its new sentences, and metrics with the same model share its outputs.

    Args:
        folder: the folder of the store.
        about: everything besides its input on which a row depends, such as the digest of the model.
        width: K, the length of a row.

    Example:
        >>> import tempfile
        >>> rows = RowStore(tempfile.mkdtemp(), ["model 1"], width=2)
        >>> rows.save({"a text": np.array([0.5, 2.0])})
        >>> rows.load(["a text", "another"])
        {'a text': array([0.5, 2. ])}
    """

    def __init__(self, folder: str | os.PathLike[str], about: Sequence[str], width: int) -> None:
        self._store, self._about, self._width = Store(folder), list(about), width

    def load(self, items: Sequence[Input]) -> dict[Input, Floats]:
        """Return the rows of all distinct inputs that have a row."""
        item_of = {self._key(item): item for item in items}
        return {
            item_of[key]: np.frombuffer(content, dtype="<f8").astype(np.float64)
            for key, content in self._store.read(item_of).items()
            if len(content) == 8 * self._width
        }

    def save(self, rows: Mapping[Input, Floats]) -> None:
        """Store rows by input.

        Raises:
            OutputError: the folder cannot be written.
        """
        self._store.write(
            {self._key(item): np.asarray(row, dtype="<f8").tobytes() for item, row in rows.items()}
        )

    def _key(self, item: Input) -> str:
        return key_of("row", self._about, [item] if isinstance(item, str) else item)
