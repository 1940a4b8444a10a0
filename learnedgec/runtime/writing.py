"""Atomic writing of files and folders.

Content is written to a temporary file beside the target, `.TOKEN.partial`, which is renamed when it is
complete. A killed writer can leave its temporary file behind; nothing reads it.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from learnedgec.errors import OutputError

__all__ = [
    "atomic_folder",
    "atomic_path",
    "check_writable",
]

PathLike = str | os.PathLike[str]


def check_writable(path: PathLike) -> None:
    """Raise `OutputError` if `path` cannot be written; nothing is created.

    Raises:
        OutputError: it is a folder, or it, or the nearest folder above it that exists, cannot be written.
    """
    with _reported(path):
        target = _target(path)
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not _is_stream(target):
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
        if _is_stream(target):
            yield target
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
        target = _target(path)
        temporary = _beside(target)
        try:
            temporary.mkdir()
            yield temporary
            old = temporary.with_suffix(".old")
            if target.exists():
                target.rename(old)
            temporary.rename(target)
            shutil.rmtree(old, ignore_errors=True)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _reported(path: PathLike) -> Iterator[None]:
    """Turn an error of the operating system about a path into an `OutputError`."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
    except UnicodeEncodeError:
        reason = "the name holds characters that no file can have"
    else:
        return
    name = os.fspath(path)
    shown = name if len(name) <= 200 else f"{name[:200]}…"
    raise OutputError(f"{shown} cannot be written ({reason}); choose another output path.")


def _target(path: PathLike) -> Path:
    """Return the file that a path leads to, or a pipe's or device's own path.

    Raises:
        OSError: the path is invalid, or what exists there cannot be written.
    """
    if "\0" in os.fspath(path):
        raise OSError(errno.EINVAL, "the name holds a NUL character")
    given = Path(path)
    try:
        mode = given.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return Path(os.path.realpath(given))
    # A folder is replaced by its parent's rights, and may be absent for an instant.
    if not stat.S_ISDIR(mode) and not os.access(given, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return (
        given if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) else Path(os.path.realpath(given))
    )


def _is_stream(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _beside(target: Path) -> Path:
    """Return a temporary path in the target's folder, which is created if it does not exist."""
    target.parent.mkdir(parents=True, exist_ok=True)
    return target.parent / f".{secrets.token_hex(8)}.partial"
