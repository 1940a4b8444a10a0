r"""Read and write lines and JSONL; all input and output of text goes through here.

A sentence is one line, kept as it is: nothing is stripped, skipped or dropped, an empty line is an
empty sentence, and tokens are `str.split()` wherever a metric needs them. Lines end at LF (a CR
before it and a byte order mark at the start are removed), never at the other characters that
`str.splitlines` breaks on. Files are UTF-8; `.gz` is decompressed; `-` is standard input. In JSON, an escape
such as `\ud800`, which is a lone surrogate, is an error.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from learnedgec.errors import FormatError, InputError, LengthError, OutputError
from learnedgec.runtime.files import PathLike, atomic_path
from learnedgec.types import Texts

# The suffixes of workbooks, which spreadsheet programs write and which hold no plain text.
_WORKBOOK = re.compile(r"\.(xlsx|xlsm|xlsb|xls|ods|numbers)$", re.IGNORECASE)

# The first line of a JSON array or object.
_JSON = re.compile(r"\s*[\[{]\s*([\[{\"]|$)")


def check_no_workbook(path: PathLike, *, written: bool = False) -> None:
    """Raise `InputError` if a path names a workbook of a spreadsheet program.

    Args:
        path: the file.
        written: whether it is about to be written instead of read.
    """
    name = os.fspath(path)
    if match := _WORKBOOK.search(name):
        raise InputError(
            f"{name} would be a workbook, which cannot be written; name a .csv file, which spreadsheets open."
            if written
            else f"{name} is a workbook of a spreadsheet; save the sheet as 'CSV UTF-8' (File, Save As) and "
            f"name {name[: match.start()]}.csv."
        )


def read_text(path: PathLike) -> str:
    """Return the content of a UTF-8 file without its byte order mark.

    Raises:
        InputError: the file is missing, a directory or unreadable.
        FormatError: the file is not UTF-8 (the message names the line), or not a complete gzip file.
    """
    name = os.fspath(path)[:200]
    check_no_workbook(path)
    if name == "-" and sys.stdin.buffer.closed:
        raise InputError(
            "- was given twice, and standard input can be read once; write it to a file."
        )
    try:
        content = _read_stdin() if name == "-" else Path(path).read_bytes()
        if Path(path).suffix == ".gz":
            content = gzip.decompress(content)
    except FileNotFoundError:
        raise InputError(f"{name} does not exist; check the path.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FormatError(f"{name}:1: not a complete gzip file ({error}).") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{name} cannot be read: {reason.lower()}.") from None
    return decode(content, name).removeprefix("\ufeff")


def _read_stdin() -> bytes:
    """Return what standard input holds, and close it: a second reader would find it empty."""
    with sys.stdin.buffer as file:
        return file.read()


def decode(content: bytes, path: PathLike, first: int = 1) -> str:
    """Return the text of UTF-8 content, or raise `FormatError`.

    Args:
        content: the bytes, of a file or a part of it.
        path: path of the file, for messages.
        first: the number of the line with which the content begins.
    """
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = first + content.count(b"\n", 0, error.start)
        raise FormatError(
            f"{os.fspath(path)}:{line}: not UTF-8 (byte 0x{content[error.start]:02x}); convert the file to "
            "UTF-8."
        ) from None


def split_lines(text: str) -> list[str]:
    """Return the lines of a text without their ends; see `read_lines`."""
    lines = text.removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in lines]


@contextmanager
def open_text(path: PathLike, newline: str | None = "") -> Iterator[TextIO]:
    """Open a file to read it line by line, so that it need not fit into memory.

    Args:
        path: a file, a `.gz` file or `-` for standard input.
        newline: as for `open`.

    Raises:
        InputError, FormatError: as for `read_text`.
    """
    if os.fspath(path) == "-":
        yield io.StringIO(read_text(path), newline=newline)
        return
    check_no_workbook(path)
    opened: Any = gzip.open if Path(path).suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline=newline) as file:
            yield file
    except (OSError, EOFError, zlib.error, ValueError):
        read_text(path)  # This raises the error that names the faulty line.
        raise


def read_lines(path: PathLike) -> list[str]:
    r"""Return the lines of `path`, each one sentence, exactly as written.

    A final line feed ends the last sentence; another one adds an empty sentence.

    Args:
        path: a file, a `.gz` file or `-` for standard input.

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
        raise InputError(f"{os.fspath(path)} is empty; at least one sentence was expected.")
    return split_lines(text)


def read_jsonl(path: PathLike) -> list[dict[str, Any]]:
    """Return one object per line of a JSON Lines file; blank lines are errors.

    Args:
        path: a file, a `.gz` file or `-` for standard input.

    Raises:
        InputError: missing, a directory, unreadable or empty.
        FormatError: a line is not a JSON object; the message names it.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "pairs.jsonl"
        >>> write_jsonl(path, [{"source": "He go .", "hypothesis": "He goes ."}])
        >>> read_jsonl(path)[0]["hypothesis"]
        'He goes .'
    """
    return list(iterate_jsonl(path))


def iterate_jsonl(path: PathLike) -> Iterator[dict[str, Any]]:
    """Yield the objects of `read_jsonl` one by one, or raise `InputError` or `FormatError` as it does."""
    number = 0
    with open_text(path, "\n") as file:
        for number, line in enumerate(file, 1):
            if number == 1 and line.lstrip().startswith("["):
                check_no_json(line, path)
            yield read_record(line.rstrip("\n").removesuffix("\r"), path, number)
    if not number:
        raise InputError(f"{os.fspath(path)} is empty; at least one sentence was expected.")


def check_no_json(line: str, path: PathLike) -> None:
    """Raise `FormatError` if the first line of a table begins a JSON array or object.

    Args:
        line: text of the line.
        path: path of the file, for messages.
    """
    if _JSON.match(line):
        raise FormatError(
            f"{os.fspath(path)}:1: JSON, and a table or JSON Lines was expected; write one object on each "
            "line of a file whose name ends in .jsonl."
        )


def read_record(
    line: str, path: PathLike, number: int, required: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the object on line `number` of a JSON Lines file, or raise `FormatError`; see `read_jsonl`.

    Args:
        line: text of the line.
        path: path of the file, for messages.
        number: number of the line, from 1.
        required: keys that the object must have.
    """
    place = f"{os.fspath(path)}:{number}"
    record = _parse_json(line, path, number, _without_repeated_keys)
    if not isinstance(record, dict):
        raise FormatError(f"{place}: a JSON object was expected, not {type(record).__name__}.")
    missing = [key for key in required if key not in record]
    if missing:
        raise FormatError(f"{place}: the key {missing[0]!r} is missing.")
    return record


def read_json(path: PathLike) -> Any:
    """Return the content of a JSON file, or raise `FormatError` naming the line."""
    return _parse_json(read_text(path), path)


def _parse_json(
    text: str, path: PathLike, first: int = 1, make: Callable[[Any], Any] | None = None
) -> Any:
    """Return the value of a JSON text that starts on line `first` of a file, or raise `FormatError`.

    `make` makes objects from the list of their keys and values.
    """
    try:
        value = json.loads(text, object_pairs_hook=make)
        if "\\u" in text:
            # Encoding fails for a lone surrogate, which no file can hold.
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        line = first + error.lineno - 1
        raise FormatError(f"{os.fspath(path)}:{line}: not JSON ({error.msg}).") from None
    except (RecursionError, ValueError) as error:
        raise FormatError(
            f"{os.fspath(path)}:{first}: JSON that cannot be read ({error})."
        ) from None
    return value


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object, or raise `ValueError` if two of its keys are the same."""
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{names.count(repeated)} keys are {repeated!r}")
    return content


def check_sentence(text: Any, place: str, key: str = "sentence") -> str:
    """Return a record's sentence, or raise `FormatError` starting with `place`.

    Args:
        text: the value in the record, of any type.
        place: `file:line`.
        key: the record's key.

    Raises:
        FormatError: the value is not a text, or is more than one line.

    Example:
        >>> check_sentence("He goes .", "ratings.csv:2")
        'He goes .'
    """
    if not isinstance(text, str):
        raise FormatError(f"{place}: {key!r} must be a text, not {str(text)[:60]}.")
    if "\n" in text:
        raise FormatError(
            f"{place}: {key!r} must be one line, and {text[:60]!r} holds a line feed; put a space there."
        )
    return text


def check_lengths(*named: tuple[str, Sequence[object]], remedy: str = "") -> None:
    """Raise `LengthError` unless all named parallel inputs have the same number of sentences.

    The message names both inputs, both counts and the first line that only one of them has. `remedy` is what
    can be done with texts that are not parallel.
    """
    for other_name, other in named[1:]:
        name, lines = named[0]
        if len(other) != len(lines):
            longer, extra = (name, lines) if len(lines) > len(other) else (other_name, other)
            line = min(len(lines), len(other))
            text = extra[line]
            shown = f": {text[:60]!r}" if isinstance(text, str) else ""
            sentences = "sentence" if len(lines) == 1 else "sentences"
            raise LengthError(
                f"{name} has {len(lines)} {sentences} but {other_name} has {len(other)}; they must be "
                f"parallel{remedy}. The first line that only {longer} has is line {line + 1}{shown}."
            )


def check_sources(name: str, sources: Texts, reference_sources: Sequence[str]) -> None:
    """Raise `InputError` if references belong to other sentences; the spaces between tokens may differ.

    The message shows a few tokens of both sentences, beginning with the first that differ.

    Args:
        name: the name of the references in the message.
        sources: N sentences.
        reference_sources: the N sentences to which the references belong.
    """
    for number, (source, other) in enumerate(zip(sources, reference_sources, strict=True), 1):
        expected, tokens = source.split(), other.split()
        if tokens != expected:
            pairs = enumerate(zip(tokens, expected, strict=False))
            place = next((n for n, (a, b) in pairs if a != b), min(len(tokens), len(expected)))
            shown, wanted = (" ".join(texts[place : place + 8]) for texts in (tokens, expected))
            raise InputError(
                f"sentence {number} of {name} differs from the source: {shown!r} against {wanted!r}; "
                "give the file that belongs to this source."
            )


def write_text(path: PathLike, text: str) -> None:
    """Write UTF-8 text atomically; `-` is standard output, `.gz` is compressed.

    Raises:
        OutputError: the file cannot be written.
    """
    if os.fspath(path) == "-":
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except UnicodeEncodeError as error:
            raise OutputError(
                f"standard output is {error.encoding}, which lacks {text[error.start]!r}; write to a "
                "file instead."
            ) from None
        return
    check_no_workbook(path, written=True)
    content = text.encode("utf-8")
    with atomic_path(path) as temporary:
        if Path(path).suffix == ".gz":
            # Without a time stamp, equal content gives equal files.
            content = gzip.compress(content, mtime=0)
        temporary.write_bytes(content)


def write_lines(path: PathLike, lines: Iterable[str]) -> None:
    """Write one sentence per line, atomically.

    Args:
        path: a file, a `.gz` file or `-` for standard output.
        lines: the sentences; `read_lines` returns the same ones.

    Raises:
        InputError: a sentence contains a line feed.
        OutputError: the file cannot be written.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "hypotheses.txt"
        >>> write_lines(path, ["A b .", ""])
        >>> read_lines(path)
        ['A b .', '']
    """
    sentences = list(lines)
    for number, sentence in enumerate(sentences, 1):
        if "\n" in sentence:
            raise InputError(f"sentence {number} contains a line feed and cannot be one line.")
    write_text(path, "".join(sentence + "\n" for sentence in sentences))


def write_jsonl(path: PathLike, records: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object per line, atomically.

    Args:
        path: a file, a `.gz` file or `-` for standard output.
        records: mappings with values that JSON can represent.

    Raises:
        OutputError: the file cannot be written.

    Example:
        >>> write_jsonl("-", [{"source": "He go .", "hypothesis": "He goes ."}])
        {"source": "He go .", "hypothesis": "He goes ."}
    """
    write_lines(path, (json.dumps(record, ensure_ascii=False) for record in records))


def write_json(path: PathLike, content: Any) -> None:
    """Write an indented JSON file with a final line feed."""
    write_text(path, json.dumps(content, ensure_ascii=False, indent=2) + "\n")
