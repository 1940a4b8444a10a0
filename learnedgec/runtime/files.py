"""Files: where they are looked up, their SHA-256 digests, and how they are written whole.

Content is written to a temporary file beside the target, `.TOKEN.partial`, which is renamed when it is
complete. A killed writer can leave its temporary file behind; nothing reads it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import TypeAlias

from learnedgec.errors import InputError, OutputError

PathLike = str | os.PathLike[str]


def local_path(name: str) -> Path | None:
    """Return the existing file or folder at a path, with `~` expanded; `None` if there is none.

    A name that is too long for the system, or holds NUL or a lone surrogate, is not a path.
    """
    try:
        path = Path(os.path.expanduser(name))  # noqa: PTH111 - Path's own fails at an unknown ~user
        path.stat()
    except (OSError, ValueError):
        return None
    return path if name else None


# Names of datasets and benchmarks have no slash, and no suffix before their colon.
_FILE_NAME = re.compile(r"/|\\|\.[A-Za-z]\w*$")


def check_no_path(name: str) -> None:
    """Raise `InputError` if an unknown name is written like a path, which then does not exist."""
    if _FILE_NAME.search(name.partition(":")[0]):
        raise InputError(f"{name[:200]} does not exist; check the path.")


def included_folder(installed: str, checkout: str) -> Path:
    """Return a folder of learnedgec, which is inside the installed package or beside it in a checkout."""
    package = Path(__file__).parents[1]
    inside = package / installed
    return inside if inside.is_dir() else package.parent / checkout


def lookup_folders() -> list[Path]:
    """Return the folders in which evaluators, annotators and tuned metrics are looked up, in order."""
    here = Path(__file__).parents[1]
    first = os.environ.get("LEARNEDGEC_EVALUATORS")
    return [
        *([Path(os.path.expanduser(first))] if first else []),  # noqa: PTH111 - as in local_path
        Path("checkpoints"),
        here.parent / "checkpoints",
        here / "checkpoints",
    ]


FolderState: TypeAlias = tuple[tuple[str | int, ...], ...]
"""The name, inode, size and times of each file in a folder."""

# This is a part of every key. A new value makes everything unknown that was stored under old keys.
_LAYOUT = "2"


def key_of(*parts: str | Sequence[str]) -> str:
    """Return a key of 64 hexadecimal digits that depends on every text, their order and their grouping.

    Example:
        >>> key_of("a", ["b", "c"]) == key_of("a", ["bc"])
        False
    """
    digest = hashlib.sha256(_LAYOUT.encode())
    for part in parts:
        digest.update(b"\0")
        for text in [part] if isinstance(part, str) else part:
            content = text.encode("utf-8", "surrogatepass")
            digest.update(b"%d:" % len(content))
            digest.update(content)
    return digest.hexdigest()


# What changes whenever a file changes: its inode, size and times.
_state_of = attrgetter("st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")


@lru_cache(maxsize=64)
def _file_digest(path: str, *state: int) -> str:  # The state is only a part of the cache's key.
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal, computed again only if the file changes."""
    return _file_digest(os.fspath(path), *_state_of(path.stat()))


def files_digest(digests: Mapping[str, str]) -> str:
    r"""Return the SHA-256 of what `sha256sum` prints for files, sorted by name.

    Example:
        >>> files_digest({"b": "2", "a": "1"}) == hashlib.sha256(b"1  a\n2  b\n").hexdigest()
        True
    """
    lines = [f"{digests[name]}  {name}\n" for name in sorted(digests)]
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def folder_digest(folder: Path) -> str:
    """Return the `files_digest` of all files in a folder and its subfolders."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return files_digest({file.relative_to(folder).as_posix(): file_digest(file) for file in files})


def folder_state(folder: Path) -> FolderState:
    """Return a value that changes whenever a file in a folder or below it changes."""
    files = sorted(filter(Path.is_file, folder.rglob("*")))
    return tuple([(str(file.relative_to(folder)), *_state_of(file.stat())) for file in files])


# -- files that are written whole --------------------------------------------------------------------


def check_writable(path: PathLike) -> None:
    """Raise `OutputError` if `path` cannot be written; nothing is created.

    Raises:
        OutputError: the path is a folder, or neither it nor the nearest folder above it can be written.
    """
    with _reported(path):
        target = _target(path)
        if target is None:
            return
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        folder = target.parent
        while not folder.exists():
            folder = folder.parent
        with tempfile.TemporaryFile(dir=folder):
            pass


@contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """Yield the path of an empty temporary file, which replaces `path` when the block ends without an error.

    After a kill or an error, `path` is unchanged. The target of a link is replaced, not the link. An existing
    file passes on its mode; a new file has the mode that the umask leaves. If `path` is a pipe or a device,
    the path itself is yielded and written directly.

    Args:
        path: path of the file; its folder is created if it does not exist.

    Raises:
        OutputError: the place cannot be written (read-only, full, a folder).
    """
    with _reported(path):
        target = _target(path)
        if target is None:
            yield Path(path)
            return
        temporary = _beside(target)
        try:
            temporary.touch()
            if target.exists():
                shutil.copymode(target, temporary)
            yield temporary
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: PathLike) -> Iterator[Path]:
    """Yield an empty temporary folder, which replaces `path` when the block ends without an error.

    After an error, `path` is unchanged. A former folder is renamed to `.TOKEN.old` before the new one takes
    its place: no other process should read or replace it in that moment.

    Raises:
        OutputError: the place cannot be written.
    """
    with _reported(path):
        target = _target(path) or Path(path)
        temporary = _beside(target)
        old = temporary.with_suffix(".old")
        try:
            temporary.mkdir()
            yield temporary
            if target.exists():
                target.rename(old)
            temporary.rename(target)
        finally:
            if old.exists() and not target.exists():
                old.rename(target)
            for folder in (old, temporary):
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _reported(path: PathLike) -> Iterator[None]:
    """Turn an error of the operating system about a path into an `OutputError`."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{os.fspath(path)[:200]} cannot be written ({error.strerror or error}); choose another output "
            "path."
        ) from None


def _target(path: PathLike) -> Path | None:
    """Return the file or folder to which a path leads, or `None` for a pipe or a device.

    It raises `OSError` if an existing file cannot be written.
    """
    try:
        mode = Path(path).stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return Path(os.path.realpath(path))
    if stat.S_ISDIR(mode):
        return Path(os.path.realpath(path))
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return Path(os.path.realpath(path)) if stat.S_ISREG(mode) else None


def _beside(target: Path) -> Path:
    """Return a temporary path in the target's folder, which is created if it does not exist."""
    target.parent.mkdir(parents=True, exist_ok=True)
    return target.parent / f".{secrets.token_hex(8)}.partial"
