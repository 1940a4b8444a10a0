"""Local files of the catalog's datasets, of released evaluators, and of the embedded sample.

Files are read from the mirror (the environment variable LEARNEDGEC_MIRROR) if there is one, and from nowhere
else; otherwise from the user cache (LEARNEDGEC_CACHE or the platform's cache folder), into which they are
downloaded. Their SHA-256 must be the catalog's. Mirror and cache have the same layout,
`<owner>/<repository>/<commit>/<path>`, so the cache of one machine is a mirror for another.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from learnedgec.data.catalog.registry import Dataset, File, dataset
from learnedgec.errors import DataError, OutputError, UnknownNameError
from learnedgec.runtime.files import file_digest, included_folder

CACHE_VARIABLE, MIRROR_VARIABLE = "LEARNEDGEC_CACHE", "LEARNEDGEC_MIRROR"


@dataclass(frozen=True, slots=True)
class Status:
    """The local place of a file, and whether the catalog's file is there.

    Attributes:
        place: its local path.
        state: `ok`, `absent`, or `altered` if its SHA-256 differs.
    """

    place: Path
    state: Literal["ok", "absent", "altered"]


def cache_folder() -> Path:
    """Return the folder that downloads go to: LEARNEDGEC_CACHE, else the platform's user cache."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    import pooch

    return Path(pooch.os_cache("learnedgec"))


def dataset_file(name: str, file: str) -> Path:
    """Return the local path of one file of a dataset, downloading it if necessary.

    Args:
        name: a dataset of the catalog.
        file: the file's path in the dataset's repository.

    Raises:
        UnknownNameError: no such dataset, or the dataset has no such file.
        DataError: the file is not in the mirror, cannot be downloaded, or is not the catalog's.
        OutputError: the cache folder cannot be written.
    """
    row = dataset(name)
    if file not in row.files:
        raise UnknownNameError(f"file of the dataset {name!r}", file, row.files)
    return fetch_file(row, row.files[file])


def fetch_file(row: Dataset, file: File) -> Path:
    """Return the local path of a file, downloading it if necessary; see `dataset_file`.

    Args:
        row: the dataset, with its repository and revision.
        file: the file's path in the repository and its SHA-256.

    Raises:
        DataError, OutputError: as for `dataset_file`.
    """
    status = _status(row, file)
    if status.state == "ok":
        return status.place
    if os.environ.get(MIRROR_VARIABLE):
        raise DataError(
            f"{status.place} is {status.state}: the mirror lacks this file of {row.name}; copy "
            f"{row.url(file.path)} there, or unset {MIRROR_VARIABLE} to download it."
        )
    _download(row, file, status.place)
    return status.place


def verify(name: str) -> list[Status]:
    """Return for every file of a dataset whether it is present and unaltered, without using the network."""
    row = dataset(name)
    return [_status(row, file) for file in row.files.values()]


def sample_folder() -> Path:
    """Return the folder of the sample: `source.txt`, `gold.m2`, `systems/`, `ratings.csv`, `rankings.csv`."""
    return included_folder("sample", "data/sample")


def local_folder(row: Dataset) -> Path:
    """Return the folder of a repository's files in the mirror or else in the cache."""
    mirror = os.environ.get(MIRROR_VARIABLE)
    return (Path(mirror).expanduser() if mirror else cache_folder()) / row.folder


def _status(row: Dataset, file: File) -> Status:
    place = local_folder(row) / file.path
    if not place.is_file():
        return Status(place, "absent")
    return Status(place, "ok" if file_digest(place) == file.sha256 else "altered")


def _download(row: Dataset, file: File, place: Path) -> None:
    """Download one file into the cache; it appears under its name only when it is complete and verified."""
    import pooch
    from huggingface_hub import constants

    pooch.get_logger().setLevel(logging.WARNING)
    url = row.url(file.path)
    if constants.HF_HUB_OFFLINE:
        raise DataError(
            f"{url} is not here, and HF_HUB_OFFLINE is set; unset it to download the file, set "
            f"{MIRROR_VARIABLE} to a folder that holds {row.folder}/{file.path}, or put the file at {place}."
        )
    try:
        pooch.retrieve(url, f"sha256:{file.sha256}", fname=place.name, path=place.parent)
    except ValueError:
        raise DataError(
            f"{url} was downloaded but is not the catalog's file (its sha256 differs from "
            f"{file.sha256[:12]}…); download again, or set {MIRROR_VARIABLE} to a folder with the right one."
        ) from None
    except OSError as error:
        # Errors of the network are OSErrors as well, but have no number.
        if error.errno is None:
            raise DataError(
                f"{url} cannot be downloaded ({type(error).__name__}); connect to the network, set "
                f"{MIRROR_VARIABLE} to a folder that holds {row.folder}/{file.path}, or put the file at "
                f"{place}."
            ) from None
        raise OutputError(
            f"{place.parent} cannot be written ({error.strerror or error}); set {CACHE_VARIABLE} to a "
            "folder that can."
        ) from None
