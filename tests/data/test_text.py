from __future__ import annotations

import gzip
import io
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnedgec.data.text import (
    check_lengths,
    read_lines,
    read_record,
    write_lines,
)
from learnedgec.errors import FormatError, InputError, LengthError, OutputError
from learnedgec.runtime.files import check_writable


def written(tmp_path: Path, content: bytes, name: str = "f.txt") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a b\n", ["a b"]),
        (b"a b", ["a b"]),
        (b"a\n\n", ["a", ""]),
        (b"\n", [""]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        (b"  a  \n\tb\n", ["  a  ", "\tb"]),
        # Characters that str.splitlines breaks on, but a line does not end at.
        ("a\x0bb\x0cc\x85d\u2028e\rf\n".encode(), ["a\x0bb\x0cc\x85d\u2028e\rf"]),
    ],
)
def test_lines_are_kept_as_they_are(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    assert read_lines(written(tmp_path, content)) == lines
    assert read_lines(written(tmp_path, gzip.compress(content), "f.txt.gz")) == lines


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]))))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    path = tmp_path_factory.mktemp("lines") / "f.txt"
    write_lines(path, lines)
    if lines and lines[0].startswith("\ufeff"):
        lines = [lines[0][1:], *lines[1:]]
    if lines:
        assert read_lines(path) == lines


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\n")))
    assert read_lines("-") == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"a\nb\xe9\n", "f.txt", r"f\.txt:2: not UTF-8 \(byte 0xe9\)"),
        (gzip.compress(b"a\n", mtime=0)[:-4], "f.gz", r"f\.gz:1: not a complete gzip file"),
        (None, "n" * 5000, "cannot be read: "),
    ],
)
def test_unusable_files_are_named(
    tmp_path: Path, content: bytes | None, name: str, message: str
) -> None:
    if content is not None:
        written(tmp_path, content, name)
    with pytest.raises(InputError, match=message):
        read_lines(tmp_path / name)


def test_a_required_key_is_missed() -> None:
    with pytest.raises(FormatError, match=r"f\.txt:1: the key 'source' is missing"):
        read_record("{}", "f.txt", 1, ["source"])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (["eins"], r"src has 2 .* other has 1.*only src has is line 2: 'two'"),
        (["1", "2", "zwei"], r"src has 2 .* other has 3.*only other has is line 3: 'zwei'"),
        ([["1"], ["2"], ["no text"]], r"only other has is line 3\.$"),
    ],
)
def test_lengths_name_both_and_the_first_extra_line(other: list[object], message: str) -> None:
    check_lengths(("src", ["one", "two"]), ("other", ["1", "2"]))
    with pytest.raises(LengthError, match=message):
        check_lengths(("src", ["one", "two"]), ("other", other))


def test_unwritable_places_are_named(tmp_path: Path) -> None:
    blocked = written(tmp_path, b"a file") / "out.txt"
    with pytest.raises(OutputError, match=r"out\.txt cannot be written"):
        write_lines(blocked, ["a"])
    with pytest.raises(OutputError, match=r"out\.txt cannot be written"):
        check_writable(blocked)
