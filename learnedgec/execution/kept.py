"""Cache on disk with a row of numbers for each distinct input of a model.

`cache` stores the statistics of whole systems; this module stores a model's output for each sentence or pair.
So another system costs only its new sentences, and metrics with the same model share its output.

All rows are in one SQLite file, which processes may share. Each row has a checksum. A damaged row or file
counts as absent and is replaced.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from learnedgec.arrays import Floats
from learnedgec.errors import OutputError
from learnedgec.execution.digests import key_of

__all__ = ["KeptRows"]

Input: TypeAlias = str | tuple[str, str]

_FILE = "rows.sqlite"

# Seconds that a process waits for another that writes.
_PATIENCE = 60.0

# Inputs in one question; SQLite takes 999 of them.
_ASKED = 500

_TABLE = "CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, row BLOB) WITHOUT ROWID"


class KeptRows:
    """The cached rows of one model's inputs.

    Args:
        folder: folder of the cache.
        about: everything that a row depends on apart from its input, such as the digest of the model.
        width: K, the length of a row.

    Example:
        >>> import tempfile
        >>> kept = KeptRows(tempfile.mkdtemp(), ["model 1"], width=2)
        >>> kept.store({"a text": np.array([0.5, 2.0])})
        >>> kept.load(["a text", "another"])
        {'a text': array([0.5, 2. ])}
    """

    def __init__(self, folder: str | os.PathLike[str], about: Sequence[str], width: int) -> None:
        self._path = Path(folder) / _FILE
        self._about = list(about)
        self._width = width

    def load(self, items: Sequence[Input]) -> dict[Input, Floats]:
        """Return the cached rows of those distinct inputs that have one."""
        if not self._path.is_file():
            return {}
        items_by_key = {self._key(item): item for item in items}
        keys = list(items_by_key)
        found: dict[Input, Floats] = {}
        # A file that cannot be read holds nothing; one that cannot be written says so when it is written.
        with contextlib.suppress(sqlite3.Error), self._opened() as database:
            for start in range(0, len(keys), _ASKED):
                part = keys[start : start + _ASKED]
                marks = ",".join("?" * len(part))
                question = f"SELECT key, row FROM rows WHERE key IN ({marks})"
                for key, content in database.execute(question, part):
                    row = self._row(key, content)
                    if row is not None:
                        found[items_by_key[key]] = row
        return found

    def store(self, rows: Mapping[Input, Floats]) -> None:
        """Store rows by input.

        Raises:
            OutputError: the folder cannot be written.
        """
        entries = [self._entry(item, row) for item, row in rows.items()]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._write(entries)
            except sqlite3.OperationalError:
                raise
            except sqlite3.DatabaseError:
                # It is no database, or no longer one.
                self._path.unlink(missing_ok=True)
                self._write(entries)
        except (OSError, sqlite3.Error) as error:
            raise OutputError(
                f"the cache {self._path} cannot be written ({error}); make room, or name another folder."
            ) from None

    def _write(self, entries: Sequence[tuple[bytes, bytes]]) -> None:
        with self._opened() as database, database:
            database.execute(_TABLE)
            database.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?)", entries)

    def _opened(self) -> contextlib.closing[sqlite3.Connection]:
        return contextlib.closing(sqlite3.connect(self._path, timeout=_PATIENCE))

    def _key(self, item: Input) -> bytes:
        """Return the key, 32 bytes, of an input of this model."""
        return bytes.fromhex(key_of(self._about, [item] if isinstance(item, str) else item))

    def _entry(self, item: Input, row: Floats) -> tuple[bytes, bytes]:
        """Return an input's key, and its row's bytes with a checksum before them."""
        key, content = self._key(item), np.asarray(row, dtype="<f8").tobytes()
        return key, zlib.crc32(key + content).to_bytes(4, "little") + content

    def _row(self, key: bytes, content: object) -> Floats | None:
        """Return the row in the bytes that were read, or `None` if they are damaged."""
        if not isinstance(content, bytes) or len(content) != 4 + 8 * self._width:
            return None
        if zlib.crc32(key + content[4:]).to_bytes(4, "little") != content[:4]:
            return None
        return np.frombuffer(content[4:], dtype="<f8").astype(np.float64)
