"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from learnedgec.errors import OutputError

__all__ = [
    "atomic_path",
    "check_writable",
]

PathLike = str | os.PathLike[str]


def check_writable(path: PathLike) -> None:
    """Raise `OutputError` now if `path` could not be written later, creating its folder."""
    target = Path(path)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise OutputError(
            f"{target} cannot be written ({error.strerror or error}); choose another output path."
        ) from None


@contextmanager
def atomic_path(path: PathLike) -> Iterator[Path]:
    """Yield a temporary path beside `path` (for a file or a folder) and rename it when the block ends well.

    A kill or an error leaves nothing under the real name. An existing folder is replaced.

    Raises:
        OutputError: the place cannot be written (read-only, full, no such folder).
    """
    target = Path(path)
    check_writable(target)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        yield temporary
        if temporary.is_dir() and target.is_dir():
            old = target.with_name(f".{target.name}.{os.getpid()}.old")
            target.rename(old)
            temporary.rename(target)
            _remove(old)
        else:
            temporary.replace(target)
    except OSError as error:
        raise OutputError(
            f"{target} cannot be written ({error.strerror or error}); choose another output path."
        ) from None
    finally:
        _remove(temporary)


def _remove(path: Path) -> None:
    """Delete a file or a folder if it is there."""
    import shutil

    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
