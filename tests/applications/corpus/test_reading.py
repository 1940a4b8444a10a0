from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnedgec.applications.corpus.reading import (
    JsonRows,
    LineRows,
    ParquetRows,
    RowFile,
    open_lines,
)
from learnedgec.data.text import read_lines, write_jsonl
from learnedgec.errors import FormatError, InputError


def blocks(rows: RowFile) -> list[list[object]]:
    return [rows.read(block) for block in range(-(-rows.size // rows.block_size))]


@given(
    text=st.text(alphabet="aé\n\r\u2028", min_size=1),
    block_size=st.integers(1, 4),
    mark=st.booleans(),
)
def test_blocks_are_the_lines_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, text: str, block_size: int, mark: bool
) -> None:
    path = tmp_path_factory.mktemp("lines") / "a.txt"
    path.write_bytes(("\ufeff" * mark + text).encode())
    rows = LineRows(str(path), block_size)
    parts = blocks(rows)
    assert [line for block in parts for line in block] == read_lines(path)
    assert all(len(block) == block_size for block in parts[:-1])
    assert rows.size == len(read_lines(path))


def test_bytes_that_are_no_text_are_named_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\nb\nc\n\xff\n")
    rows = LineRows(str(tmp_path / "a.txt"), 2)
    assert rows.read(0) == ["a", "b"]
    with pytest.raises(FormatError, match=r"a\.txt:4: not UTF-8 \(byte 0xff\)"):
        rows.read(1)


def test_records_are_checked_where_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_jsonl(path, [{"source": "a", "hypothesis": "b", "id": 7}] * 3)
    with path.open("a") as file:
        file.write('{"source": "a"}\n')
    rows = JsonRows(str(path), 2)
    assert rows.read(0) == [{"source": "a", "hypothesis": "b", "id": 7}] * 2
    with pytest.raises(FormatError, match=r"a\.jsonl:4: the key 'hypothesis' is missing"):
        rows.read(1)


def test_parquet_blocks_cross_groups_and_files(tmp_path: Path) -> None:
    numbers = [str(number) for number in range(11)]
    for name, part in {"b.parquet": numbers[6:], "a.parquet": numbers[:6]}.items():
        table = pyarrow.table({"source": part, "hypothesis": part, "other": part})
        pyarrow.parquet.write_table(table, tmp_path / name, row_group_size=4)
    for path in (str(tmp_path), f"file://{tmp_path}"):
        rows = ParquetRows(path, 3)
        assert rows.size == 11
        records = [record for block in blocks(rows) for record in block]
        assert records == [{"source": number, "hypothesis": number} for number in numbers]
    (tmp_path / "none").mkdir()
    with pytest.raises(FormatError, match="the column 'source' is missing"):
        ParquetRows(str(tmp_path / "none"), 3)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_compressed_files_are_copied_while_they_are_used(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.txt{suffix}"
    content = b"one\ntwo\n"
    if suffix == ".gz":
        path.write_bytes(gzip.compress(content))
    else:
        with pyarrow.CompressedOutputStream(str(path), "zstd") as file:
            file.write(content)
    with open_lines(str(path), {"same": str(path)}, [], 5, str(tmp_path / "copies")) as corpus:
        block, ids = corpus.read(0)
        assert (block.sources, list(ids)) == (["one", "two"], [1, 2])
    assert list((tmp_path / "copies").iterdir()) == []
    path.write_bytes(path.read_bytes()[:-5])
    with (
        pytest.raises(InputError, match=f"a.txt{suffix} cannot be read"),
        open_lines(str(path), {}, [], 5, tmp_path / "copies"),
    ):
        pass
    assert list((tmp_path / "copies").iterdir()) == []


def test_urls_are_opened(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    assert LineRows(f"file://{tmp_path}/a.txt", 2).read(1) == ["three"]
    with pytest.raises(InputError, match="nowhere://a cannot be read"):
        LineRows("nowhere://a", 2)
    with pytest.raises(InputError, match=r"b\.txt does not exist"):
        LineRows(str(tmp_path / "b.txt"), 2)
    with pytest.raises(InputError, match="cannot be read"):
        LineRows(str(tmp_path), 2)
