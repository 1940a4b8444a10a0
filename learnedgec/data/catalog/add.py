"""A new row of a table of datasets: the origin, size and digest of each file.

The files are read from a mirror, `DIR/<owner>/<repository>/<commit>/<path>`. If the mirror has a
`manifest.json` that lists the dataset, the repository, commit, licence and files are read from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from learnedgec.data.catalog.registry import Dataset, File
from learnedgec.data.text import read_json, write_text
from learnedgec.errors import DataError, InputError
from learnedgec.runtime.digests import file_digest
from learnedgec.runtime.writing import PathLike

__all__ = ["MANIFEST", "describe_dataset", "write_datasets"]

MANIFEST = "manifest.json"


def describe_dataset(
    name: str,
    mirror: PathLike,
    about: str,
    *,
    licence: str | None = None,
    repository: str | None = None,
    commit: str | None = None,
    files: Sequence[str] = ("*",),
) -> Dataset:
    """Return a dataset with the size and SHA-256 of each of its files in a mirror.

    Args:
        name: the name of the dataset.
        mirror: the mirror's root.
        about: a description of one line.
        licence: as its authors state it; by default, the manifest's.
        repository: `owner/name` on GitHub; by default, the manifest's.
        commit: the revision; by default, the manifest's.
        files: patterns of paths in the repository, in which `*` matches anything.

    Raises:
        InputError: the manifest does not list the dataset and an argument is missing, or no file matches.
        DataError: a file is not the one that the manifest names.
    """
    root = Path(mirror)
    listed: Mapping[str, Any] = {}
    if (root / MANIFEST).is_file():
        listed = read_json(root / MANIFEST).get(name, {})
    arguments = {"licence": licence, "repository": repository, "commit": commit}
    origin = {key: value or listed.get(key, "") for key, value in arguments.items()}
    if missing := [key for key, value in origin.items() if not value]:
        raise InputError(
            f"{root / MANIFEST} does not say the {' and '.join(missing)} of {name!r}; give "
            f"{' and '.join(f'--{key}' for key in missing)}."
        )
    folder = root / origin["repository"] / origin["commit"]
    digests = {file["path"]: file["sha256"] for file in listed.get("files", ())}
    paths = digests or [
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    ]
    chosen = sorted(path for path in paths if any(fnmatch(path, pattern) for pattern in files))
    if not chosen:
        raise InputError(f"no file in {folder} matches {' or '.join(files)}; name other patterns.")
    return Dataset(
        name, about, files={path: _file(folder, path, digests) for path in chosen}, **origin
    )


def write_datasets(path: PathLike, datasets: Mapping[str, Dataset]) -> None:
    """Write a table of datasets by name, a line for each file; `read_datasets` reads it."""
    rows = []
    for name, dataset in sorted(datasets.items()):
        keys = ("about", "licence", "repository", "commit")
        head = [f"    {json.dumps(key)}: {_json(getattr(dataset, key))}," for key in keys]
        files = [
            f"      {_json(file.path)}: " + _json({"bytes": file.bytes, "sha256": file.sha256})
            for _, file in sorted(dataset.files.items())
        ]
        body = [*head, '    "files": {', ",\n".join(files), "    }"]
        rows.append("\n".join([f"  {_json(name)}: {{", *body, "  }"]))
    write_text(path, "{\n" + ",\n".join(rows) + "\n}\n")


def _file(folder: Path, path: str, digests: Mapping[str, str]) -> File:
    """Return the size and digest of a file, which must be the one that the manifest names."""
    place = folder / path
    if not place.is_file():
        raise DataError(f"{place} does not exist, though {MANIFEST} names it; copy it there.")
    digest = file_digest(place)
    if digests.get(path, digest) != digest:
        raise DataError(
            f"{place} is not the file that {MANIFEST} names (its sha256 is {digest[:12]}…, not "
            f"{digests[path][:12]}…); copy it there again."
        )
    return File(path, place.stat().st_size, digest)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
