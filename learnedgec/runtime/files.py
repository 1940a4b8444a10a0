"""Files: where they are looked up, and SHA-256 digests of them and of what a stored result depends on."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias


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
        *([Path(first)] if first else []),
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


@lru_cache(maxsize=64)
def _file_digest(path: str, *state: int) -> str:  # The state is only a part of the cache's key.
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal, computed again only if the file changes."""
    return _file_digest(os.fspath(path), *_file_state(path))


def _file_state(path: Path) -> tuple[int, int, int, int]:
    """Return the inode, size and times of a file, which change whenever the file changes."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def files_digest(digests: Mapping[str, str]) -> str:
    r"""Return the SHA-256 of what `sha256sum` prints for files, sorted by name.

    Example:
        >>> files_digest({"b": "2", "a": "1"}) == hashlib.sha256(b"1  a\n2  b\n").hexdigest()
        True
    """
    lines = (f"{digests[name]}  {name}\n" for name in sorted(digests))
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def folder_digest(folder: Path) -> str:
    """Return the `files_digest` of all files in a folder and its subfolders."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return files_digest({file.relative_to(folder).as_posix(): file_digest(file) for file in files})


def folder_state(folder: Path) -> FolderState:
    """Return a value that changes whenever a file in a folder or below it changes."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return tuple((file.relative_to(folder).as_posix(), *_file_state(file)) for file in files)
