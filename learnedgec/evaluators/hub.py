"""Repositories on the Hugging Face Hub: their names, and their files in the local cache.

    ORGANISATION/NAME                 the main branch
    ORGANISATION/NAME@REVISION        a branch, a tag, or a commit, which never changes

Files in the local cache are used without asking the hub; `fresh` asks the hub for the current version. A
folder of the same name takes precedence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from learnedgec.errors import ModelError
from learnedgec.runtime.search_paths import local_path

if TYPE_CHECKING:
    from huggingface_hub import HfApi

__all__ = [
    "HUB_WAYS",
    "cached_file",
    "hub",
    "hub_file",
    "hub_files",
    "is_hub_name",
    "reported",
    "split_revision",
]

# What to do where a hub cannot help.
HUB_WAYS = "give a directory, or fetch it where the hub can be reached"

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[A-Za-z0-9][\w./-]*)?")
# For one question; the hub's library would wait much longer.
_SECONDS = 5.0


def is_hub_name(name: str) -> bool:
    """Return whether a name is that of a repository and not that of a local file or folder.

    Example:
        >>> is_hub_name("org/name@main"), is_hub_name("joint-mpnet-3"), is_hub_name("./org/name")
        (True, False, False)
    """
    return _NAME.fullmatch(name) is not None and local_path(name) is None


def split_revision(name: str) -> tuple[str, str | None]:
    """Return the repository and the revision in a name; a directory has no revision.

    Example:
        >>> split_revision("org/name@1f2e3d")
        ('org/name', '1f2e3d')
    """
    repository, at, revision = name.partition("@")
    return (repository, revision) if at and local_path(name) is None else (name, None)


def hub() -> HfApi:
    """Return the client of the hub."""
    from huggingface_hub import HfApi

    return HfApi()


def cached_file(name: str, *files: str) -> Path | None:
    """Return the first of some files of a repository that the local cache holds; `None` if there is none."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    repository, revision = split_revision(name)
    for file in files:
        try:
            path = try_to_load_from_cache(repository, file, revision=revision)
        except HFValidationError:
            return None
        if isinstance(path, str):
            return Path(path)
    return None


def hub_file(name: str, file: str, *, fresh: bool = False) -> Path:
    """Return the path of a file of a repository, which is downloaded if the local cache lacks it.

    Args:
        name: of the repository.
        file: its name.
        fresh: download the current version even if the cache has an older one.

    Raises:
        ModelError: the file does not exist, or the hub cannot be reached.
    """
    path = None if fresh else cached_file(name, file)
    if path is None:
        repository, revision = split_revision(name)
        with reported(name):
            # One quick question: the download would try for half a minute, or be content with the cache.
            hub().model_info(repository, revision=revision, timeout=_SECONDS)
            path = Path(
                hub().hf_hub_download(repository, file, revision=revision, etag_timeout=_SECONDS)
            )
    return path


def hub_files(name: str, first: Path, files: Iterable[str]) -> Path:
    """Return the local folder of a commit's files; missing files are downloaded.

    Args:
        name: of the repository.
        first: a file of that commit (`hub_file`).
        files: names of the other files.

    Raises:
        ModelError: a file does not exist, or the hub cannot be reached.
    """
    folder = first.parent
    absent = [file for file in files if not (folder / file).exists()]
    with reported(name):
        for file in absent:
            # The folder is named by the commit.
            hub().hf_hub_download(
                split_revision(name)[0], file, revision=folder.name, etag_timeout=_SECONDS
            )
    return folder


@contextmanager
def reported(name: str, ways: str = HUB_WAYS, *, sending: bool = False) -> Iterator[None]:
    """Turn errors of a hub into a `ModelError` with a one-sentence message.

    Args:
        name: of the repository.
        ways: advice for the message.
        sending: whether files are uploaded rather than downloaded.
    """
    from huggingface_hub import constants
    from huggingface_hub.errors import (
        EntryNotFoundError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    shown = name[:200]
    absent = (
        f"nothing can be sent to {shown!r}:"
        if sending
        else f"the model {shown!r} is not in the local cache and"
    )
    try:
        if constants.HF_HUB_OFFLINE:
            raise ModelError(f"{absent} HF_HUB_OFFLINE is set; {ways}.")
        yield
    except ModelError:
        raise
    except (RepositoryNotFoundError, HFValidationError):
        raise ModelError(f"the hub has no model {shown!r}; check its name, or {ways}.") from None
    except RevisionNotFoundError:
        raise ModelError(
            f"the hub has no such revision of {shown!r}; check what follows the @."
        ) from None
    except (LocalEntryNotFoundError, OfflineModeIsEnabled):
        raise ModelError(f"{absent} the hub cannot be reached; {ways}.") from None
    except EntryNotFoundError as error:
        raise ModelError(
            f"{shown!r} on the hub lacks a file ({_line(error)}); it is another kind of model."
        ) from None
    except HfHubHTTPError as error:
        raise ModelError(f"the hub refused {shown!r} ({_line(error)}); {ways}.") from None
    except Exception as error:  # the HTTP client's own errors, whichever client the hub uses
        raise ModelError(
            f"{absent} the hub cannot be reached ({type(error).__name__}); {ways}."
        ) from None


def _line(error: Exception) -> str:
    """Return the beginning of a message that may have many lines."""
    return " ".join(str(error).split())[:200]
