"""Where evaluators are: found by name, sent to a hub and pulled from it, and fetched from their release."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from learnedgec.data.text import read_json
from learnedgec.errors import BadNameError, FormatError, ModelError, UnknownNameError
from learnedgec.evaluators import RELEASES, release_files
from learnedgec.evaluators.hub import (
    cached_file,
    fetch_files,
    hub,
    is_hub_name,
    reported,
    split_revision,
)
from learnedgec.evaluators.package import (
    MANIFEST,
    MODEL_TYPE,
    Package,
    check_package,
    is_package,
    open_folder,
    read_manifest,
)
from learnedgec.runtime.files import PathLike, atomic_folder, local_path, lookup_folders


def open_package(name: str) -> Package:
    """Return a package, given by directory, name or hub ID, after checking its files.

    It is read again only if one of its files changes.

    Raises:
        UnknownNameError: no evaluator has this name.
        PackageError: see `check_package`.
    """
    return open_folder(find_evaluator(name), name)


def find_package(name: str) -> Package | None:
    """Return the package that a directory, name or hub ID denotes; `None` if there is none."""
    path = _local_package(name) or (fetch_package(name) if _is_hub_package(name) else None)
    return None if path is None else open_folder(path, name)


def find_evaluator(name: str) -> Path:
    """Return the directory of an evaluator, given by directory, name or hub ID.

    Names are looked up in `$LEARNEDGEC_EVALUATORS`, `./checkpoints`, learnedgec's own evaluators and fetched
    ones; `org/name@revision` in the local cache of the hub and then on the hub.

    Raises:
        UnknownNameError: no evaluator has this name; the message suggests the nearest name.
        ModelError: the package of a hub ID is unavailable, or a released evaluator was not fetched.
    """
    if path := _local_package(name):
        return path
    if is_hub_name(name):
        return fetch_package(name)
    if name in RELEASES:
        raise ModelError(
            f"the evaluator {name} ({RELEASES[name]}) is not installed; run: learnedgec evaluators fetch "
            f"{name}. The metrics quality and preference work without it."
        )
    hint = (
        f"Train it (`learnedgec train --config …`), give a package's directory, which holds a {MANIFEST}, or "
        "name its folder in LEARNEDGEC_EVALUATORS."
    )
    raise UnknownNameError("evaluator", name, list_evaluators(), hint=hint)


def is_evaluator(name: str) -> bool:
    """Return whether a model's name is an evaluator package's: a directory, a name or a hub ID."""
    return _local_package(name) is not None or _is_hub_package(name)


def list_evaluators() -> dict[str, Path]:
    """Return every evaluator that can be loaded by name, with its directory."""
    evaluators: dict[str, Path] = {}
    for folder in lookup_folders():
        for manifest in sorted(folder.glob(f"*/{MANIFEST}")):
            evaluators.setdefault(manifest.parent.name, manifest.parent)
    for name in RELEASES.keys() - evaluators.keys():
        if place := next(filter(is_package, _places(name)), None):
            evaluators[name] = place
    return evaluators


def fetch_package(name: str, *, fresh: bool = False) -> Path:
    """Return the local folder of a package on the hub; missing files are downloaded.

    Args:
        name: a hub ID, `org/name` or `org/name@revision`.
        fresh: ask the hub for the current version of `org/name`, even if the cache has one.

    Raises:
        ModelError: the repository does not exist or holds no package, or the hub cannot be reached.
        PackageError: its manifest is damaged.
    """
    cached = None if fresh else cached_file(name, MANIFEST)
    folder = cached.parent if cached else fetch_files(name, [MANIFEST])
    # No other file of the repository is taken.
    files = read_manifest(folder / MANIFEST)["files"]
    if absent := [file for file in files if not (folder / file).exists()]:
        # The folder is named by the commit.
        fetch_files(f"{split_revision(name)[0]}@{folder.name}", absent)
    return folder


def _local_package(name: str) -> Path | None:
    """Return the directory of a package, given by directory or by name; `None` if there is none."""
    path = local_path(name)
    if path is not None and is_package(path):
        return path
    if not name or os.path.basename(name) != name:  # noqa: PTH119 - a Path would drop a last slash
        return None
    return next(filter(is_package, _places(name)), None)


def _places(name: str) -> Iterator[Path]:
    """Yield the folders that may hold the package of this name."""
    for folder in lookup_folders():
        yield folder / name
    if name in RELEASES:
        # The catalog takes time to import.
        from learnedgec.data.catalog.files import cache_folder, local_folder

        row = release_files(name)
        for folder in (local_folder(row), cache_folder() / row.folder):
            yield folder / "checkpoints" / name


def _is_hub_package(name: str) -> bool:
    """Return whether a name is a package's on the hub; `False` if the hub cannot be reached."""
    if not is_hub_name(name):
        return False
    try:
        cached = cached_file(name, "config.json")
        config = read_json(cached or fetch_files(name, ["config.json"]) / "config.json")
    except (FormatError, ModelError):
        return False
    return isinstance(config, dict) and config.get("model_type") == MODEL_TYPE


# -- evaluators sent and fetched -------------------------------------------------------------------

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

    They come from the repository of learnedgec at the commit of the release, or from the mirror
    (`learnedgec.data.catalog.files`), from which they are copied into the cache. Their SHA-256 must be those
    of the release.

    Raises:
        UnknownNameError: no released evaluator has this name.
        DataError: a file cannot be downloaded, or differs from the file of the release.
    """
    from learnedgec.data.catalog.files import cache_folder, fetch_file
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
    target = cache_folder() / row.folder / base
    return target if manifest.parent == target else copy_package(manifest.parent, target)


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
    """Raise `BadNameError` unless a name is a repository's on a hub."""
    if not is_hub_name(repository):
        raise BadNameError(
            f"{repository[:200]!r} is not the name of a repository on a hub; a name such as "
            "org/name or org/name@revision was expected."
        )
