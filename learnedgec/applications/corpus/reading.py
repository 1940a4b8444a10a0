"""A corpus of sources, systems' hypotheses and references in files, read block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from learnedgec.applications.corpus.files import JsonRows, LineRows, ParquetRows, RowFile, copied
from learnedgec.data.m2 import is_m2
from learnedgec.data.records import check_same_sentences
from learnedgec.data.references import References
from learnedgec.errors import ConfigError, InputError, LengthError

__all__ = ["Corpus", "CorpusBlock", "open_lines", "open_records"]


@dataclass(frozen=True, slots=True)
class CorpusBlock:
    """A block of sentences of a corpus.

    Attributes:
        first: number of the first sentence, from 1.
        ids: ID of each sentence in the input; its number if there is none.
        sources: N texts.
        systems: system -> N hypotheses.
        references: references of the N sentences, if the corpus has any.
    """

    first: int
    ids: Sequence[Any]
    sources: list[str]
    systems: Mapping[str, list[str]]
    references: References | None


@dataclass(frozen=True)
class Corpus:
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
        for other in others:
            if other.size != first.size:
                raise LengthError(
                    f"{first.path} has {first.size:,} sentences but {other.path} has {other.size:,}; they "
                    "must be parallel."
                )

    @property
    def files(self) -> list[RowFile]:
        """All files; that of the sources is first."""
        head = [] if self.sources is None else [self.sources]
        return [*head, *self.systems.values(), *self.references]

    @property
    def has_references(self) -> bool:
        """Whether there are references; for records, whether any record of the first block has one."""
        if self.sources is not None:
            return bool(self.references)
        return self.read(0).references is not None

    @property
    def size(self) -> int:
        """The number of sentences."""
        return self.files[0].size

    @property
    def block_size(self) -> int:
        """The number of sentences in each block but the last."""
        return self.files[0].block_size

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-self.size // self.block_size)

    def lines(self, block: int) -> tuple[int, int]:
        """Return the numbers of a block's first and last sentence, counted from 1."""
        start = block * self.block_size
        return start + 1, min(start + self.block_size, self.size)

    def read(self, block: int) -> CorpusBlock:
        """Return the sentences of a block; blocks are counted from 0.

        Raises:
            FormatError: a line is not UTF-8, or a record is invalid.
            InputError: the systems have different sources.
        """
        first, last = self.lines(block)
        if self.sources is not None:
            texts = [file.read(block) for file in self.references]
            return CorpusBlock(
                first,
                range(first, last + 1),
                self.sources.read(block),
                {name: file.read(block) for name, file in self.systems.items()},
                References.from_texts(*texts) if texts else None,
            )
        records = {name: file.read(block) for name, file in self.systems.items()}
        rows = next(iter(records.values()))
        for file, others in zip(self.files, records.values(), strict=True):
            check_same_sentences((self.files[0].path, rows), (file.path, others), line=first)
            for number, (one, other) in enumerate(zip(rows, others, strict=True), first):
                if one.get("id") != other.get("id"):
                    raise InputError(
                        f"{file.path}:{number}: the id {other.get('id')!r} differs from {one.get('id')!r} in "
                        f"{self.files[0].path}; all systems must have corrected the same sentences."
                    )
        references = [record.get("references") for record in rows]
        return CorpusBlock(
            first,
            [record.get("id", number) for number, record in enumerate(rows, first)],
            [record["source"] for record in rows],
            {name: [row["hypothesis"] for row in lines] for name, lines in records.items()},
            References.from_lists(references)
            if any(row is not None for row in references)
            else None,
        )

    def describe(self) -> list[dict[str, Any]]:
        """Return each file with its SHA-256 and its size, as values for JSON."""
        return [
            {"path": file.path, "sha256": file.sha256, "sentences": file.size}
            for file in self.files
        ]


@contextmanager
def open_lines(
    sources: str,
    systems: Mapping[str, str],
    references: Sequence[str],
    block_size: int,
    folder: Path,
) -> Iterator[Corpus]:
    """Yield a corpus of parallel text files with one sentence per line.

    Args:
        sources: a file, `-` for standard input, a `.gz` or `.zst` file, or a URL.
        systems: system -> such a file.
        references: such files, each with one reference per sentence.
        block_size: number of sentences in a block.
        folder: folder for decompressed copies, which are removed at the end.

    Raises:
        LengthError: the files are not parallel.
        InputError: a file cannot be read, is empty, or is an M2 file.
    """
    with ExitStack() as stack:

        def rows(path: str) -> LineRows:
            file = LineRows(_copy(stack, path, folder), _checked(block_size), shown=path)
            if is_m2(file.read(0)):
                raise InputError(
                    f"{path} is an M2 file, and one sentence per line was expected; give references "
                    "as texts."
                )
            return file

        yield Corpus(
            {name: rows(path) for name, path in systems.items()},
            rows(sources),
            tuple(map(rows, references)),
        )


@contextmanager
def open_records(
    systems: Mapping[str, str], kind: Literal["jsonl", "parquet"], block_size: int, folder: Path
) -> Iterator[Corpus]:
    """Yield a corpus of records with `source`, `hypothesis` and optional `references` and `id`.

    Args:
        systems: system -> a JSON Lines file (also `.gz`, `.zst`, `-` or a URL), or a Parquet file, a folder
            of Parquet files, or the URL of either.
        kind: kind of the files.
        block_size: number of sentences in a block.
        folder: folder for decompressed copies, which are removed at the end.

    Raises:
        LengthError: the files are not parallel.
        InputError: a file cannot be read or is empty.
    """
    size = _checked(block_size)
    with ExitStack() as stack:
        if kind == "parquet":
            yield Corpus({name: ParquetRows(path, size) for name, path in systems.items()})
            return
        yield Corpus(
            {
                name: JsonRows(_copy(stack, path, folder), size, shown=path)
                for name, path in systems.items()
            }
        )


def _copy(stack: ExitStack, path: str, folder: Path) -> str:
    return stack.enter_context(copied(path, folder))


def _checked(block_size: int) -> int:
    if block_size < 1:
        raise ConfigError(f"block_size is {block_size}; give 1 or more.")
    return block_size
