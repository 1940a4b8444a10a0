"""Arrays kept on disk between runs, by a key that names everything they depend on.

One `.npz` file per entry, holding named arrays and a list of JSON records. Files are written under a
temporary name and renamed, so two processes may share a folder: at worst both compute the same entry
and one replaces the other's equal file. A file that is damaged counts as absent.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from learnedgec.arrays import Array
from learnedgec.execution.writing import atomic_path

__all__ = [
    "load",
    "store",
]

_RECORDS = "records"

_PREFIX = "array_"


def load(folder: str | os.PathLike[str], key: str) -> tuple[dict[str, Array], list[Any]] | None:
    """Return the arrays and records of an entry, or `None` where there is none that can be read."""
    try:
        with (
            _path(folder, key).open("rb") as file,
            np.load(file, allow_pickle=False) as content,
        ):
            arrays = {
                name.removeprefix(_PREFIX): content[name]
                for name in content.files
                if name.startswith(_PREFIX)
            }
            return arrays, json.loads(content[_RECORDS].tobytes())
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile):
        return None


def store(
    folder: str | os.PathLike[str],
    key: str,
    arrays: Mapping[str, Array],
    records: Iterable[Any] = (),
) -> None:
    """Write an entry, replacing an older one.

    Args:
        folder: is made where it does not exist.
        key: from `key_of`.
        arrays: by name; of numbers or texts, not of objects.
        records: JSON-able; tuples come back as lists.

    Raises:
        OutputError: the folder cannot be written.
    """
    content = {_PREFIX + name: array for name, array in arrays.items()}
    content[_RECORDS] = np.frombuffer(json.dumps(list(records)).encode(), dtype=np.uint8)
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"the array {name!r} holds objects, which are not stored.")
    with atomic_path(_path(folder, key)) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **content)  # type: ignore[arg-type]


def _path(folder: str | os.PathLike[str], key: str) -> Path:
    """Return the file of an entry; the first two digits are a folder, so that none grows too long."""
    return Path(folder) / key[:2] / f"{key[2:]}.npz"
