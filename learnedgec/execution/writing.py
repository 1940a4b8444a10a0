"""Atomic writing of files and folders.

Content is written to a temporary file beside the target, `.NAME.TOKEN.partial`, which is renamed when it is
complete. The writer holds a lock on it, which the operating system releases however the writer ends. The next
writer to the same place removes temporary files that no process holds any more.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import os
import re
import secrets
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from learnedgec.errors import OutputError

if sys.platform != "win32":
    import fcntl

__all__ = [
    "atomic_folder",
    "atomic_path",
    "check_writable",
]

PathLike = str | os.PathLike[str]

# The longest name of a file, in bytes, less what a temporary name adds.
_LONGEST_STEM = 200

_PARTIAL, _OLD = ".partial", ".old"


def check_writable(path: PathLike) -> None:
    """Raise `OutputError` if `path` cannot be written; nothing is created.

    Raises:
        OutputError: it is a folder, or it, or the nearest folder above it that exists, cannot be written.
    """
    with _reported(path):
        target = _target(path)
        if _is_stream(target):
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

    After a kill or an error, `path` is unchanged; a new file is flushed to disk before it is renamed. Links
    are followed, and their target is replaced. An existing file passes on its mode and, as far as the system
    allows, its owner; a new file has the mode that the umask leaves. If `path` is not a regular file (a
    device, a FIFO, `/dev/stdout`), the path itself is yielded and written directly.

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
        with _reserved(target, partial(Path.touch, exist_ok=False)) as temporary:
            yield temporary
            _sync(temporary)
            temporary.replace(target)
        _sync(target.parent)


@contextmanager
def atomic_folder(path: PathLike) -> Iterator[Path]:
    """Yield an empty temporary folder, which replaces `path` when the block ends without an error.

    After a kill or an error, `path` is unchanged. An existing folder is exchanged for the new one in a single
    step if the system supports this (Linux, on most file systems). Otherwise it is renamed first, so for an
    instant there is no folder. A kill in that instant leaves it as `.NAME.TOKEN.old`, and the next writer
    restores it.

    Raises:
        OutputError: the place cannot be written.
    """
    with _reported(path):
        target = _target(path)
        with _reserved(target, Path.mkdir) as temporary:
            yield temporary
            for folder, _, files in os.walk(temporary):
                for name in files:
                    _sync(Path(folder, name))
                _sync(Path(folder))
            _replace_folder(temporary, target)
        _sync(target.parent)


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
    """Return the target of writing to `path`, after checking that it can be written.

    Raises:
        OSError: the path is invalid, or an existing target cannot be written.
    """
    if "\0" in os.fspath(path):
        raise OSError(errno.EINVAL, "the name holds a NUL character")
    given = Path(path)
    if not given.name and given.is_absolute():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    try:
        given.stat()
    except (FileNotFoundError, NotADirectoryError):
        return Path(os.path.realpath(given))
    if not os.access(given, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return given if _is_stream(given) else Path(os.path.realpath(given))


def _is_stream(path: Path) -> bool:
    """Return whether a path is neither a regular file nor a folder, or is another name of an open file."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        return True
    # /dev/stdout leads to /proc/self/fd/1, which leads to a file that is open.
    while path.is_symlink():
        folder = os.path.realpath(path.parent)
        if folder.startswith("/proc/"):
            return True
        path = Path(folder, path.readlink())
    return False


@contextmanager
def _reserved(target: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """Yield a locked temporary file or folder beside the target; remove it at the end if it still exists."""
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target)
    lock = None
    while lock is None:
        temporary = target.with_name(f".{_stem(target)}.{secrets.token_hex(4)}{_PARTIAL}")
        make(temporary)
        lock = _hold(temporary)
    try:
        _inherit(temporary, target)
        yield temporary
    finally:
        _remove(temporary)
        _release(lock)


def _stem(target: Path) -> str:
    """Return the beginning of a target's temporary names; a digest replaces a long name."""
    encoded = os.fsencode(target.name)
    if len(encoded) <= _LONGEST_STEM:
        return target.name
    return hashlib.sha256(encoded).hexdigest()


def _sweep(target: Path) -> None:
    """Remove temporary files of killed writers beside a target, and restore a folder that they renamed."""
    left = re.compile(re.escape(f".{_stem(target)}.") + r"[0-9a-f]{8}\.(partial|old)")
    try:
        found = [path for path in target.parent.iterdir() if left.fullmatch(path.name)]
    except PermissionError:
        return
    for path in found:
        lock = _hold(path)
        if lock is None or lock < 0:
            continue
        if path.suffix == _OLD and not target.exists():
            with contextlib.suppress(OSError):
                path.rename(target)
        else:
            _remove(path)
        _release(lock)


def _hold(path: Path) -> int | None:
    """Lock a file or folder and return the lock; `None` if another process holds it or has removed it.

    If locks are not supported (Windows, some network file systems), the lock is -1.
    """
    if sys.platform == "win32":
        return -1
    try:
        # Whatever lies there under such a name is neither followed nor waited for.
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError:
        return -1
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    except OSError:
        os.close(lock)
        return -1
    if not path.exists():
        os.close(lock)
        return None
    return lock


def _release(lock: int) -> None:
    if lock >= 0:
        os.close(lock)


def _inherit(temporary: Path, target: Path) -> None:
    """Copy the mode and, as far as the system allows, the owner of the target to its replacement."""
    try:
        status = target.stat()
    except OSError:
        return
    if hasattr(os, "chown"):
        for owner, group in ((status.st_uid, -1), (-1, status.st_gid)):
            with contextlib.suppress(PermissionError):
                os.chown(temporary, owner, group)
    temporary.chmod(stat.S_IMODE(status.st_mode))


def _sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on disk."""
    folder = path.is_dir()
    try:
        descriptor = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError:
        # Not every file system can do it for a folder.
        if not folder:
            raise


def _replace_folder(new: Path, target: Path) -> None:
    """Move a folder to its target, even if other processes write to the same target."""
    while True:
        if target.is_dir() and _exchange(new, target):
            return
        old = new.with_suffix(_OLD)
        lock = _hold(target)
        try:
            if target.is_dir():
                target.rename(old)
            new.rename(target)
        except OSError as error:
            if not target.exists() and old.exists():
                old.rename(target)
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOENT) or not new.exists():
                raise
        else:
            return
        finally:
            _remove(old)
            if lock is not None:
                _release(lock)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two names in one step; return whether the system supports this."""
    exchange = getattr(ctypes.CDLL(None), "renameat2", None) if sys.platform == "linux" else None
    if exchange is None:
        return False
    here, both = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    done: int = exchange(here, os.fsencode(first), here, os.fsencode(second), both)
    return done == 0


def _remove(path: Path) -> None:
    """Delete a file or a folder if it exists."""
    import shutil

    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
