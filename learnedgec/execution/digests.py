"""SHA-256 digests: of files, and of everything that a stored result depends on."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

__all__ = [
    "file_digest",
    "key_of",
]

# Changes whenever what is stored does, so that older files are not read.
_LAYOUT = "2"


def key_of(*parts: str | Sequence[str]) -> str:
    """Return 64 hexadecimal digits that depend on every text, their order and their grouping.

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
def _file_digest(path: str, size: int, modified: int) -> str:
    digest = hashlib.sha256()
    with Path(path).open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal, computed once as long as the file stays the same."""
    status = path.stat()
    return _file_digest(os.fspath(path), status.st_size, status.st_mtime_ns)
