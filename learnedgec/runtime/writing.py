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

PathLike = str | os.PathLike[str]


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

    Raises:
        OSError: the file that exists there cannot be written.
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
