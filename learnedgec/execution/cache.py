"""Arrays on disk between runs, under a key that depends on everything they depend on.

One `.npz` file per entry: named arrays, and `contents`, a JSON table of their types and shapes with a list of
records. Files are written under a temporary name and renamed, so processes may share a folder: at worst two
compute the same entry and one replaces the other's equal file. A damaged file counts as absent: every member
has a checksum, and names, types, shapes and lengths must match the table.
"""

from __future__ import annotations

import json
import math
import os
import zipfile
from collections.abc import Iterable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from learnedgec.arrays import Array
from learnedgec.execution.writing import atomic_path

__all__ = [
    "load",
    "store",
]

_CONTENTS = "contents"

_PREFIX = "array_"

# Truth values, numbers and texts.
_KINDS = "biufUS"

# As many bytes as deflate can make of one.
_LARGEST_RATIO = 1032


def load(folder: str | os.PathLike[str], key: str) -> tuple[dict[str, Array], list[Any]] | None:
    """Return the arrays and records of an entry, or `None` if it is missing or unreadable."""
    try:
        with zipfile.ZipFile(_path(folder, key)) as file:
            return _read(file, key)
    except Exception:
        # What readers raise at a damaged file has no common type, and all of it means the same.
        return None


def store(
    folder: str | os.PathLike[str],
    key: str,
    arrays: Mapping[str, Array],
    records: Iterable[Any] = (),
) -> None:
    """Write an entry, replacing an older one.

    Args:
        folder: folder of the cache; it is created if it does not exist.
        key: key from `key_of`.
        arrays: arrays by name, of numbers or texts, not of objects.
        records: values for JSON; tuples are read as lists.

    Raises:
        OutputError: the folder cannot be written.
    """
    for name, array in arrays.items():
        if array.dtype.kind not in _KINDS:
            raise TypeError(f"the array {name!r} holds {array.dtype}, which is not stored.")
    contents = {
        "key": key,
        "arrays": {name: _kind(array) for name, array in arrays.items()},
        "records": list(records),
    }
    members = {_PREFIX + name: array for name, array in arrays.items()}
    members[_CONTENTS] = np.frombuffer(json.dumps(contents).encode(), dtype=np.uint8)
    with atomic_path(_path(folder, key)) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **members)  # type: ignore[arg-type]


def _path(folder: str | os.PathLike[str], key: str) -> Path:
    """Return the path of an entry; its first two digits are a subfolder, which keeps folders small."""
    return Path(folder) / key[:2] / f"{key[2:]}.npz"


def _kind(array: Array) -> list[Any]:
    """Return the type and the shape of an array in the form that JSON returns."""
    return [array.dtype.str, list(array.shape)]


def _read(file: zipfile.ZipFile, key: str) -> tuple[dict[str, Array], list[Any]]:
    """Return an entry's arrays and records; raise any error if they are not those that were stored."""
    contents = json.loads(_array(file, _CONTENTS).tobytes())
    if contents["key"] != key:
        raise ValueError("the entry of another key")
    arrays = {name: _array(file, _PREFIX + name, kind) for name, kind in contents["arrays"].items()}
    return arrays, list(contents["records"])


def _array(file: zipfile.ZipFile, name: str, kind: list[Any] | None = None) -> Array:
    """Return one member, checked against its type and shape; memory is bounded by the file's size."""
    member = file.getinfo(f"{name}.npy")
    assert file.fp is not None
    if member.file_size > _LARGEST_RATIO * os.fstat(file.fp.fileno()).st_size:
        raise ValueError("a length that the file cannot have")
    # Reading all of it checks its checksum.
    content = BytesIO(file.read(member))
    if np.lib.format.read_magic(content) != (1, 0):
        raise ValueError("another version of the format")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(content)
    data = content.read()
    # Before numpy makes anything of it: objects would be pointers, and what has no size divides by zero.
    if (
        dtype.kind not in _KINDS
        or dtype.itemsize * math.prod(shape) != len(data)
        or min(shape, default=0) < 0
    ):
        raise ValueError("not an array that is stored")
    array: Array = np.ndarray(shape, dtype, data, order="F" if fortran else "C")
    if kind is not None and kind != _kind(array):
        raise ValueError("not the array that was stored")
    return np.array(array)
