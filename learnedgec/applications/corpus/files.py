"""Files of a corpus with random access to blocks of rows.

Lines and JSON Lines are read once to find the beginning of each block; Parquet has them in its footer. Input
without random access (`.gz`, `.zst`, standard input) is first decompressed into a folder. A URL is opened by
Arrow's file systems, which know `s3://`, `gs://`, `abfss://`, `hdfs://` and `file://`.
"""

from __future__ import annotations

import hashlib
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.fs
import pyarrow.parquet

from learnedgec.data.records import check_sentence_record
from learnedgec.data.text import read_record
from learnedgec.errors import FormatError, InputError
from learnedgec.runtime.writing import atomic_path
from learnedgec.types import Ints

__all__ = ["JsonRows", "LineRows", "ParquetRows", "RowFile", "copied"]

_CHUNK = 1 << 22

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_COMPRESSED = {".gz": "gzip", ".zst": "zstd"}


class RowFile(ABC):
    """A file or a folder of files with N rows, read in blocks of `block_size` rows.

    Attributes:
        path: the path as it was given.
        size: number of rows, N.
        sha256: SHA-256 of the content; for Parquet that of the footers, which hold sizes and statistics of
            columns.
        block_size: number of rows in a block; the last block may have fewer.
    """

    path: str
    size: int
    sha256: str
    block_size: int

    @abstractmethod
    def read(self, block: int) -> list[Any]:
        """Return the rows of a block, counted from 0."""


class LineRows(RowFile):
    """A text file whose rows are its lines; see `learnedgec.data.text` for what a line is."""

    def __init__(self, path: str, block_size: int, *, shown: str = "") -> None:
        """Find the beginning of each block.

        Args:
            path: path of a file that is not compressed.
            block_size: number of lines in a block.
            shown: name of the file in messages; by default the path.
        """
        self.path, self.block_size, self._place = shown or path, block_size, path
        digest = hashlib.sha256()
        starts = [np.zeros(1, dtype=np.int64)]
        length = lines = 0
        last = b""
        with _opened(path, self.path) as file:
            while chunk := file.read(_CHUNK):
                if not length and chunk.startswith(_BYTE_ORDER_MARK):
                    starts[0] += len(_BYTE_ORDER_MARK)
                digest.update(chunk)
                ends = (
                    np.flatnonzero(np.frombuffer(chunk, dtype=np.uint8) == ord("\n")) + length + 1
                )
                starts.append(ends[block_size - 1 - lines % block_size :: block_size])
                length, lines, last = length + len(chunk), lines + len(ends), chunk[-1:]
        if length <= starts[0][0]:
            raise InputError(f"{self.path} is empty; at least one sentence was expected.")
        self.size = lines + (last != b"\n")
        self.sha256 = digest.hexdigest()
        blocks = -(-self.size // block_size)
        self._starts: Ints = np.concatenate([*starts, [length]])[: blocks + 1]
        self._starts[blocks] = length

    def read(self, block: int) -> list[str]:
        """Return the lines of a block.

        Raises:
            FormatError: a line is not UTF-8.
        """
        start, stop = int(self._starts[block]), int(self._starts[block + 1])
        with _opened(self._place, self.path) as file:
            file.seek(start)
            content = file.read(stop - start)
        first = block * self.block_size + 1
        try:
            lines = content.decode("utf-8").removesuffix("\n").split("\n")
        except UnicodeDecodeError as error:
            line = first + content.count(b"\n", 0, error.start)
            raise FormatError(
                f"{self.path}:{line}: not UTF-8 (byte 0x{content[error.start]:02x}); convert the file to "
                "UTF-8."
            ) from None
        return [line.removesuffix("\r") for line in lines]


class JsonRows(LineRows):
    """A JSON Lines file whose rows are objects with source, hypothesis and optional references and id."""

    def read(self, block: int) -> list[Any]:
        """Return the records of a block."""
        first = block * self.block_size + 1
        records = []
        for number, line in enumerate(super().read(block), first):
            record = read_record(line, self.path, number, ("source", "hypothesis"))
            check_sentence_record(record, f"{self.path}:{number}")
            records.append(record)
        return records


class ParquetRows(RowFile):
    """A Parquet file, or the files of a folder by name, with the keys of JSON Lines as columns.

    Reading a block reads its row groups; the last of them is kept for the next block.
    """

    def __init__(self, path: str, block_size: int) -> None:
        """Read the footers.

        Raises:
            InputError: there is no Parquet file.
            FormatError: a column is missing.
        """
        self.path, self.block_size = path, block_size
        digest = hashlib.sha256()
        self._groups: list[tuple[str, int]] = []
        sizes = []
        self._columns: list[str] = []
        with _reported(path):
            self._system, place = _place(path)
            files = [place]
            if self._system.get_file_info(place).type == pyarrow.fs.FileType.Directory:
                inside = self._system.get_file_info(pyarrow.fs.FileSelector(place))
                files = sorted(file.path for file in inside if file.path.endswith(".parquet"))
            if not files:
                raise InputError(f"the folder {path} holds no file that ends in .parquet.")
            for name in files:
                with self._system.open_input_file(name) as file:
                    footer = pyarrow.parquet.ParquetFile(file).metadata
                digest.update(repr((name.rpartition("/")[2], footer.to_dict())).encode())
                columns = footer.schema.to_arrow_schema().names
                for column in ("source", "hypothesis"):
                    if column not in columns:
                        raise FormatError(f"{name}: the column {column!r} is missing.")
                wanted = [c for c in ("id", "source", "hypothesis", "references") if c in columns]
                if self._columns and wanted != self._columns:
                    raise FormatError(f"{name}: its columns differ from those of {files[0]}.")
                self._columns = wanted
                for group in range(footer.num_row_groups):
                    self._groups.append((name, group))
                    sizes.append(footer.row_group(group).num_rows)
        self._ends = np.cumsum(np.array(sizes, dtype=np.int64))
        self.size = int(self._ends[-1]) if sizes else 0
        if not self.size:
            raise InputError(f"{path} is empty; at least one sentence was expected.")
        self.sha256 = digest.hexdigest()
        self._last: tuple[int, Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_last": None}

    def read(self, block: int) -> list[Any]:
        """Return the records of a block."""
        start = block * self.block_size
        stop = min(start + self.block_size, self.size)
        records: list[dict[str, Any]] = []
        while start + len(records) < stop:
            row = start + len(records)
            group = int(np.searchsorted(self._ends, row, side="right"))
            before = int(self._ends[group - 1]) if group else 0
            part = self._group(group).slice(row - before, stop - row)
            records += part.to_pylist()
        for number, record in enumerate(records, start + 1):
            check_sentence_record(record, f"{self.path}:{number}")
        return records

    def _group(self, number: int) -> Any:
        """Return a row group as a table."""
        if self._last is None or self._last[0] != number:
            name, group = self._groups[number]
            with _reported(self.path), self._system.open_input_file(name) as file:
                table = pyarrow.parquet.ParquetFile(file).read_row_group(group, self._columns)
            self._last = number, table
        return self._last[1]


@contextmanager
def copied(path: str, folder: Path) -> Iterator[str]:
    """Yield a path with random access: the given one, or that of a temporary copy.

    Args:
        path: a file, `-` for standard input, or one that ends in `.gz` or `.zst`.
        folder: folder for the copy.

    Raises:
        FormatError: a compressed file is damaged.
    """
    suffix = Path(path).suffix
    if path != "-" and suffix not in _COMPRESSED:
        yield path
        return
    name = "standard-input" if path == "-" else Path(path).name.removesuffix(suffix)
    place = folder / f"{hashlib.sha256(path.encode()).hexdigest()[:8]}-{name}"
    with atomic_path(place) as temporary, temporary.open("wb") as target:
        if path == "-":
            shutil.copyfileobj(sys.stdin.buffer, target, _CHUNK)
        else:
            with _opened(path, path) as file:
                try:
                    with pyarrow.CompressedInputStream(file, _COMPRESSED[suffix]) as content:
                        shutil.copyfileobj(content, target, _CHUNK)
                except OSError as error:
                    raise FormatError(f"{path}: not a complete {suffix} file ({error}).") from None
    try:
        yield str(place)
    finally:
        place.unlink(missing_ok=True)


def _place(path: str) -> tuple[Any, str]:
    """Return the file system of a path or URL, and the path there."""
    if "://" in path:
        system, place = pyarrow.fs.FileSystem.from_uri(path)
        return system, place
    return pyarrow.fs.LocalFileSystem(), path


@contextmanager
def _opened(path: str, shown: str) -> Iterator[Any]:
    """Open a file or a URL for reading bytes from any place."""
    with _reported(shown):
        system, place = _place(path)
        file = system.open_input_file(place)
    with file:
        yield file


@contextmanager
def _reported(shown: str) -> Iterator[None]:
    """Turn errors of the system about a path into an `InputError`."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{shown} does not exist; check the path.") from None
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"{shown} cannot be read: {error}.") from None
