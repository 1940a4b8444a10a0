"""A corpus of sources, systems' hypotheses and references in files, read block by block.

Lines and JSON Lines are read once to find where each block begins. The footers of Parquet files contain these
places. Input without random access (`.gz`, `.zst`, standard input) is first decompressed into a folder. A
URL is opened by Arrow's file systems, which know `s3://`, `gs://`, `abfss://`, `hdfs://` and `file://`.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, TypeAlias

import numpy as np

from learnedgec.data.corpus import Corpus, Tokeniser
from learnedgec.data.records import check_same_sentences, check_sentence_record, suffix
from learnedgec.data.references import References
from learnedgec.data.text import check_no_workbook, decode, read_record, split_lines
from learnedgec.errors import FormatError, InputError, LengthError
from learnedgec.runtime.files import PathLike


class LineRows:
    """A text file whose N rows are its lines; see `learnedgec.data.text` for what a line is.

    Attributes:
        path: the path as it was given.
        size: number of rows, N.
        sha256: SHA-256 of the content.
        block_size: number of rows in a block; the last block may have fewer.
    """

    def __init__(self, path: str, block_size: int, *, shown: str = "") -> None:
        """Find the beginning of each block.

        Args:
            path: path of a file that is not compressed.
            block_size: number of lines in a block.
            shown: name of the file in messages; by default the path.
        """
        self.path, self.block_size, self._place = shown or path, block_size, _absolute(path)
        digest = hashlib.sha256()
        self._bounds: list[int] = []
        self.size = end = 0
        with _opened(path, self.path) as file:
            for line in io.BufferedReader(file, 1 << 20):
                if self.size % block_size == 0:
                    self._bounds.append(end)
                self.size, end = self.size + 1, end + len(line)
                digest.update(line)
        self._bounds.append(end)
        self.sha256 = digest.hexdigest()

    def read(self, block: int) -> list[Any]:
        """Return the lines of a block, or raise `FormatError` if one is not UTF-8."""
        start, end = self._bounds[block : block + 2]
        with _opened(self._place, self.path) as file:
            content: bytes = file.read_at(end - start, start)
        if block == 0:
            content = content.removeprefix(codecs.BOM_UTF8)
        return split_lines(decode(content, self.path, block * self.block_size + 1))


class JsonRows(LineRows):
    """A JSON Lines file whose rows are objects with source, hypothesis and optional references and id."""

    def read(self, block: int) -> list[Any]:
        """Return the records of a block."""
        return [
            read_record(line, self.path, number, ("source", "hypothesis"))
            for number, line in enumerate(super().read(block), block * self.block_size + 1)
        ]


class ParquetRows:
    """A Parquet file, or the files of a folder by name, with the keys of JSON Lines as columns.

    To read a block, its row groups are read, and the last of them is kept for the next block. `sha256` is
    that of the footers, which hold sizes and statistics of columns. The other attributes are as in
    `LineRows`.
    """

    def __init__(self, path: str, block_size: int) -> None:
        """Read the footers, or raise `FormatError` if a column is missing."""
        import pyarrow.dataset  # loads pandas, which no other input needs

        self.path, self.block_size = path, block_size
        with _reported(path):
            dataset = pyarrow.dataset.dataset(_absolute(path), format="parquet")
            files = sorted(dataset.get_fragments(), key=lambda file: file.path)
            footers = [(PurePath(file.path).name, file.metadata.to_dict()) for file in files]
            self._groups = [group for file in files for group in file.split_by_row_group()]
        self.sha256 = hashlib.sha256("".join(map(repr, footers)).encode()).hexdigest()
        sizes = [group.row_groups[0].num_rows for group in self._groups]
        self._ends = np.cumsum(sizes, dtype=np.int64)
        self.size = sum(sizes)
        names = dataset.schema.names
        for column in ("source", "hypothesis"):
            if column not in names:
                raise FormatError(f"{path}: the column {column!r} is missing.")
        self._columns = [c for c in ("id", "source", "hypothesis", "references") if c in names]
        self._last: tuple[int, Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_last": None}

    def read(self, block: int) -> list[Any]:
        """Return the records of a block."""
        start = block * self.block_size
        stop = min(start + self.block_size, self.size)
        records: list[dict[str, Any]] = []
        while (row := start + len(records)) < stop:
            group = int(np.searchsorted(self._ends, row, side="right"))
            if self._last is None or self._last[0] != group:
                with _reported(self.path):
                    self._last = group, self._groups[group].to_table(columns=self._columns)
            table = self._last[1]
            records += table.slice(row - self._ends[group] + len(table), stop - row).to_pylist()
        return records


RowFile: TypeAlias = LineRows | ParquetRows
"""A file or a folder of files with N rows, read in blocks of rows."""


@dataclass(frozen=True)
class CorpusFiles:
    """Parallel files with a row for each of N sentences; it can be sent to other processes.

    Attributes:
        systems: system -> its file with hypotheses, or with complete records.
        sources: file of the sources; `None` for records.
        references: files, each with one reference per sentence.
    """

    systems: Mapping[str, RowFile]
    sources: RowFile | None = None
    references: tuple[RowFile, ...] = ()

    def __post_init__(self) -> None:
        first, *others = self.files
        if not first.size:
            raise InputError(f"{first.path} is empty; at least one sentence was expected.")
        for other in others:
            if other.size != first.size:
                raise LengthError(
                    f"{first.path} has {first.size:,} sentences but {other.path} has {other.size:,}; they "
                    "must be parallel."
                )

    @property
    def files(self) -> list[RowFile]:
        """All files, the file of the sources first."""
        head = [] if self.sources is None else [self.sources]
        return [*head, *self.systems.values(), *self.references]

    @property
    def has_references(self) -> bool:
        """Whether there are references; for records, whether any record of the first block has one."""
        if self.sources is not None:
            return bool(self.references)
        records = next(iter(self.systems.values())).read(0)
        return any(record.get("references") is not None for record in records)

    @property
    def size(self) -> int:
        """The number of sentences."""
        return self.files[0].size

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-self.size // self.files[0].block_size)

    def lines(self, block: int) -> tuple[int, int]:
        """Return the numbers of a block's first and last sentence, counted from 1."""
        start = block * self.files[0].block_size
        return start + 1, min(start + self.files[0].block_size, self.size)

    def read(self, block: int, tokeniser: Tokeniser = "none") -> tuple[Corpus, Sequence[Any]]:
        """Return the sentences of a block, and the ID of each in the input, or its number if it has none.

        Args:
            block: the number of the block, from 0.
            tokeniser: the tokenizer of raw texts.

        Raises:
            FormatError: a line is not UTF-8, or a record is invalid.
            InputError: the systems have different sources.
        """
        first, last = self.lines(block)
        rows = {name: file.read(block) for name, file in self.systems.items()}
        if self.sources is not None:
            texts = [file.read(block) for file in self.references]
            references = References.from_texts(*texts) if texts else None
            sources = self.sources.read(block)
            corpus = Corpus.of(sources, rows, references, first=first).tokenised(tokeniser)
            return corpus, range(first, last + 1)
        records = next(iter(rows.values()))
        for file, others in zip(self.files, rows.values(), strict=True):
            for number, record in enumerate(others, first):
                check_sentence_record(record, f"{file.path}:{number}")
            check_same_sentences((self.files[0].path, records), (file.path, others), line=first)
        lists = [record.get("references") for record in records]
        corpus = Corpus.of(
            [record["source"] for record in records],
            {name: [row["hypothesis"] for row in of] for name, of in rows.items()},
            References.from_lists(lists) if any(row is not None for row in lists) else None,
            first=first,
        ).tokenised(tokeniser)
        return corpus, [record.get("id", number) for number, record in enumerate(records, first)]


@contextmanager
def open_lines(
    sources: str,
    systems: Mapping[str, str],
    references: Sequence[str],
    block_size: int,
    folder: PathLike,
) -> Iterator[CorpusFiles]:
    """Yield a corpus of parallel text files with one sentence per line.

    Args:
        sources: a file, `-` for standard input, a `.gz` or `.zst` file, or a URL.
        systems: system -> such a file.
        references: such files, each with one reference per sentence.
        block_size: number of sentences in a block.
        folder: folder for decompressed copies, which are removed at the end.

    Raises:
        LengthError: the files are not parallel.
        InputError: a file cannot be read or is empty.
    """
    with ExitStack() as copies:

        def rows(path: str) -> LineRows:
            return LineRows(_seekable(path, folder, copies), block_size, shown=path)

        yield CorpusFiles(
            {name: rows(path) for name, path in systems.items()},
            rows(sources),
            tuple(map(rows, references)),
        )


@contextmanager
def open_records(
    systems: Mapping[str, str], block_size: int, folder: PathLike
) -> Iterator[CorpusFiles]:
    """Yield a corpus of records with `source`, `hypothesis` and optional `references` and `id`.

    Args:
        systems: system -> a Parquet file, a folder of Parquet files, or the URL of either, whose name ends in
            `.parquet` or has no suffix; or a JSON Lines file (also `.gz`, `.zst`, `-` or a URL).
        block_size: number of sentences in a block.
        folder: folder for decompressed copies, which are removed at the end.

    Raises:
        LengthError: the files are not parallel.
        InputError: a file cannot be read or is empty.
    """
    with ExitStack() as copies:
        yield CorpusFiles(
            {
                name: ParquetRows(path, block_size)
                if path != "-" and suffix(path) in ("", ".parquet")
                else JsonRows(_seekable(path, folder, copies), block_size, shown=path)
                for name, path in systems.items()
            }
        )


def _seekable(path: str, folder: PathLike, copies: ExitStack) -> str:
    """Return a path with random access: the given path, or a copy's, which lasts until `copies` ends."""
    check_no_workbook(path)
    if path != "-" and not path.endswith((".gz", ".zst")):
        return path
    Path(folder).mkdir(parents=True, exist_ok=True)
    copy = Path(copies.enter_context(tempfile.TemporaryDirectory(dir=folder))) / "input"
    with copy.open("wb") as target, _reported(path):
        if path == "-":
            shutil.copyfileobj(sys.stdin.buffer, target)
        else:
            system, place = _place(path)
            # Arrow decompresses a file by the suffix of its name.
            with system.open_input_stream(place) as content:
                shutil.copyfileobj(content, target)
    return str(copy)


def _absolute(path: str) -> str:
    """Return a URL, or the absolute path of a file, because other processes work in other folders."""
    return path if "://" in path else str(Path(path).absolute())


def _place(path: str) -> tuple[Any, str]:
    """Return the file system of a path or URL, and the path there."""
    import pyarrow.fs

    system, place = pyarrow.fs.FileSystem.from_uri(_absolute(path))
    return system, place


@contextmanager
def _opened(path: str, shown: str) -> Iterator[Any]:
    """Open a file or a URL to read bytes at any position."""
    with _reported(shown):
        system, place = _place(path)
        file = system.open_input_file(place)
    with file:
        yield file


@contextmanager
def _reported(shown: str) -> Iterator[None]:
    """Turn errors of the system about a path into an `InputError`."""
    import pyarrow

    try:
        yield
    except FileNotFoundError:
        raise InputError(f"{shown} does not exist; check the path.") from None
    except (OSError, pyarrow.ArrowException) as error:
        raise InputError(f"{shown} cannot be read: {error}.") from None
