"""Read and write lines and JSONL; the one place where text enters and leaves.

A sentence is one line, kept as it is: nothing is stripped, skipped or dropped, an empty line is an
empty sentence, and tokens are `str.split()` wherever a metric needs them. Lines end at LF (a CR
before it and a byte order mark at the start are removed), never at the other characters that
`str.splitlines` breaks on. Files are UTF-8; `.gz` is decompressed; `-` is standard input.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from learnedgec.errors import FormatError, InputError, LengthError
from learnedgec.execution.writing import PathLike, atomic_path

__all__ = [
    "check_lengths",
    "read_json",
    "read_jsonl",
    "read_lines",
    "write_json",
    "write_jsonl",
    "write_lines",
]


def _read_bytes(path: PathLike) -> bytes:
    """Return the whole (decompressed) content of `path`, or of standard input for `-`."""
    if os.fspath(path) == "-":
        return sys.stdin.buffer.read()
    file = Path(path)
    if file.is_dir():
        raise InputError(f"{file} is a directory; a file with one sentence per line was expected.")
    try:
        content = file.read_bytes()
        return gzip.decompress(content) if file.suffix == ".gz" else content
    except FileNotFoundError:
        raise InputError(f"{file} does not exist; check the path.") from None
    except PermissionError:
        raise InputError(f"{file} cannot be read: permission denied.") from None
    except (gzip.BadGzipFile, EOFError) as error:
        raise FormatError(f"{file}:1: not a complete gzip file ({error}).") from None


def read_text(path: PathLike) -> str:
    """Return the content of a UTF-8 file without its byte order mark.

    Raises:
        InputError: the file is missing, a directory or unreadable.
        FormatError: the file is not UTF-8; the message names the line.
    """
    content = _read_bytes(path)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FormatError(
            f"{os.fspath(path)}:{line}: not UTF-8 (byte 0x{content[error.start]:02x}); "
            "convert the file to UTF-8."
        ) from None
    return text.removeprefix("\ufeff")


def read_lines(path: PathLike, *, allow_empty: bool = False) -> list[str]:
    r"""Return the lines of `path`, each one sentence, exactly as written.

    A final line feed ends the last sentence; a further one is a further, empty sentence.

    Args:
        path: a file, a `.gz` file or `-` for standard input.
        allow_empty: return `[]` for a file without any content instead of raising.

    Raises:
        InputError: missing, a directory, unreadable or empty.
        FormatError: not UTF-8.

    Example:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "hypotheses.txt"
        >>> _ = path.write_bytes(b"A b .\r\n\nC .\n\n")
        >>> read_lines(path)
        ['A b .', '', 'C .', '']
    """
    text = read_text(path)
    if not text:
        if allow_empty:
            return []
        raise InputError(f"{os.fspath(path)} is empty; at least one sentence was expected.")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_jsonl(path: PathLike, required: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return one object per line of a JSON Lines file; blank lines are errors.

    Args:
        path: a file, a `.gz` file or `-` for standard input.
        required: keys that every object must have.

    Raises:
        FormatError: a line is not a JSON object or lacks a required key.
    """
    records = []
    for number, line in enumerate(read_lines(path), 1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise FormatError(f"{os.fspath(path)}:{number}: not JSON ({error.msg}).") from None
        if not isinstance(record, dict):
            raise FormatError(
                f"{os.fspath(path)}:{number}: a JSON object was expected, "
                f"not {type(record).__name__}."
            )
        missing = [key for key in required if key not in record]
        if missing:
            raise FormatError(f"{os.fspath(path)}:{number}: the key {missing[0]!r} is missing.")
        records.append(record)
    return records


def read_json(path: PathLike) -> Any:
    """Return the content of a JSON file, or raise `FormatError` naming the line."""
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise FormatError(f"{os.fspath(path)}:{error.lineno}: not JSON ({error.msg}).") from None


def check_lengths(
    first: tuple[str, Sequence[object]], *others: tuple[str, Sequence[object]]
) -> None:
    """Raise `LengthError` unless all named parallel inputs have as many sentences as the first.

    The message names both inputs, both counts and the first line that only one of them has.
    """
    name, lines = first
    for other_name, other in others:
        if len(other) != len(lines):
            short, long = sorted(((name, lines), (other_name, other)), key=lambda x: len(x[1]))
            extra = str(long[1][len(short[1])])
            raise LengthError(
                f"{name} has {len(lines)} sentences but {other_name} has {len(other)}; they must be "
                f"parallel. The first line that only {long[0]} has is line {len(short[1]) + 1}: "
                f"{extra[:60]!r}."
            )


def write_text(path: PathLike, text: str) -> None:
    """Write UTF-8 text at once or not at all; `-` is standard output, `.gz` is compressed."""
    if os.fspath(path) == "-":
        sys.stdout.write(text)
        return
    with atomic_path(path) as temporary:
        content = text.encode("utf-8")
        if Path(path).suffix == ".gz":
            # No time stamp, so that equal content gives equal files.
            content = gzip.compress(content, mtime=0)
        temporary.write_bytes(content)


def write_lines(path: PathLike, lines: Iterable[str]) -> None:
    """Write one sentence per line; a sentence with a line feed is an `InputError`."""
    buffer = io.StringIO()
    for number, line in enumerate(lines, 1):
        if "\n" in line:
            raise InputError(f"sentence {number} contains a line feed and cannot be one line.")
        buffer.write(line + "\n")
    write_text(path, buffer.getvalue())


def write_jsonl(path: PathLike, records: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object per line."""
    write_lines(path, (json.dumps(record, ensure_ascii=False) for record in records))


def write_json(path: PathLike, content: Any) -> None:
    """Write an indented JSON file with a final line feed."""
    write_text(path, json.dumps(content, ensure_ascii=False, indent=2) + "\n")
