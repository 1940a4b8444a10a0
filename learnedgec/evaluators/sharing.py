"""Evaluators elsewhere: push a package to a hub, pull one from there, and fetch a released one.

To write to a repository, log in (`hf auth login`) or set `HF_TOKEN`; learnedgec stores no token.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from learnedgec.errors import BadNameError, UnknownNameError
from learnedgec.evaluators import RELEASES, release_files
from learnedgec.evaluators.hub import hub, is_hub_name, reported, split_revision
from learnedgec.evaluators.packages import (
    MANIFEST,
    check_package,
    fetch_package,
    find_evaluator,
    is_package,
    read_manifest,
)
from learnedgec.runtime.files import PathLike, atomic_folder, lookup_folders

_LOGIN = "log in with `hf auth login` or set HF_TOKEN, to an account that may write there"


def push_evaluator(name: str, repository: str, *, private: bool = False) -> str:
    """Upload an evaluator to a hub, and return its name there with the new commit.

    The package is checked first. All other files in the repository are deleted, though not from its history;
    the repository is created if it does not exist.

    Args:
        name: name or directory of the evaluator.
        repository: `org/name`, or `org/name@branch` for a branch that exists.
        private: make a new repository private.

    Returns:
        `org/name@commit`.

    Raises:
        UnknownNameError: there is no such evaluator.
        PackageError: the package is damaged.
        BadNameError: the repository's name is invalid.
        ModelError: the hub refuses the upload or cannot be reached.

    Example: `push_evaluator("checkpoints/mine", "org/mine")` returns `org/mine@` and the commit.
    """
    _check_name(repository)
    package = find_evaluator(name)
    manifest = check_package(package)
    repository_id, branch = split_revision(repository)
    with reported(repository, _LOGIN, sending=True):
        hub().create_repo(repository_id, private=private, exist_ok=True)
        commit = hub().upload_folder(
            repo_id=repository_id,
            folder_path=package,
            allow_patterns=[*manifest["files"], MANIFEST],
            revision=branch,
            commit_message=f"{manifest['name']}, an evaluator by learnedgec",
            delete_patterns="*",
        )
    return f"{repository_id}@{commit.oid}"


def pull_evaluator(name: str, output: str | Path | None = None) -> Path:
    """Download the current version of an evaluator from a hub, check it, and return its path.

    The evaluator stays in the local cache of the hub's library, from which `org/name` and `org/name@revision`
    are loaded without the network from then on.

    Args:
        name: `org/name` or `org/name@revision`.
        output: also write the package to this folder, such as `checkpoints`, in a subfolder with the last
            part of its name. It is then found by that part alone. An existing subfolder is replaced.

    Raises:
        BadNameError: the repository's name is invalid.
        ModelError: the hub cannot be reached, or holds no evaluator of this name.
        PackageError: the download is not a package, or is altered.
        OutputError: the folder cannot be written.

    Example: `pull_evaluator("org/mine@v1", "checkpoints")` returns `checkpoints/mine`.
    """
    _check_name(name)
    package = fetch_package(name, fresh=True)
    check_package(package)
    if output is None:
        return package
    repository_id, _ = split_revision(name)
    return copy_package(package, Path(output) / repository_id.partition("/")[2])


def fetch_released(name: str) -> Path:
    """Return the local folder of a released evaluator; files that are nowhere here are downloaded.

    They come from the repository of learnedgec, or from the mirror (`learnedgec.data.catalog.files`). Their
    SHA-256 must be those of the release.

    Raises:
        UnknownNameError: no released evaluator has this name.
        DataError: a file cannot be downloaded, or is not that of the release.
    """
    from learnedgec.data.catalog.files import fetch_file
    from learnedgec.data.catalog.registry import File

    if name not in RELEASES:
        raise UnknownNameError("released evaluator", name, RELEASES)
    for folder in lookup_folders():
        if is_package(folder / name):
            return folder / name
    row, base = release_files(name), f"checkpoints/{name}"
    manifest = fetch_file(row, File(f"{base}/{MANIFEST}", 0, RELEASES[name].sha256))
    for file, digest in read_manifest(manifest)["files"].items():
        fetch_file(row, File(f"{base}/{file}", 0, digest))
    return manifest.parent


def copy_package(package: Path, target: PathLike) -> Path:
    """Copy an evaluator's files to a folder, which is replaced, and return it.

    Raises:
        PackageError: the package is damaged.
        OutputError: the folder cannot be written.
    """
    manifest = check_package(package)
    with atomic_folder(Path(target)) as folder:
        for file in (*manifest["files"], MANIFEST):
            shutil.copyfile(package / file, folder / file)
    return Path(target)


def _check_name(repository: str) -> None:
    """Raise `BadNameError` unless a name is that of a repository on a hub."""
    if not is_hub_name(repository):
        raise BadNameError(
            f"{repository[:200]!r} is not the name of a repository on a hub; a name such as "
            "org/name or org/name@revision was expected."
        )
