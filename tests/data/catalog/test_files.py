from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
from huggingface_hub import constants

from learnedgec.data.catalog import files
from learnedgec.data.catalog.registry import DATASETS
from learnedgec.errors import DataError, UnknownNameError

PutDataset = Callable[[str, dict[str, str]], None]


def test_a_mirror_is_read_and_verified(put_dataset: PutDataset) -> None:
    put_dataset("gug", {"a.txt": "A .\n", "b/c.txt": "B .\n"})
    assert files.dataset_file("gug", "b/c.txt").read_text() == "B .\n"
    assert [status.state for status in files.verify("gug")] == ["ok", "ok"]


@pytest.mark.parametrize(
    ("content", "state", "message"),
    [
        ("A !\n", "altered", r"a\.txt is altered: the mirror lacks this file of gug"),
        (None, "absent", r"a\.txt is absent: .* copy https://.*owner/gug/"),
    ],
)
def test_a_file_that_is_not_the_catalogs_is_refused(
    put_dataset: PutDataset, content: str | None, state: str, message: str
) -> None:
    put_dataset("gug", {"a.txt": "A .\n"})
    place = files.dataset_file("gug", "a.txt")
    place.unlink() if content is None else place.write_text(content)
    with pytest.raises(DataError, match=message):
        files.dataset_file("gug", "a.txt")
    assert [status.state for status in files.verify("gug")] == [state]


def test_unknown_names_suggest() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean 'tmu-gfm'\?"):
        files.verify("tmu-gmf")
    with pytest.raises(UnknownNameError, match=r"did you mean 'data/source'\?"):
        files.dataset_file("conll14", "data/sources")


class Response:
    """What the downloader needs of a response."""

    def __init__(self, content: bytes) -> None:
        self.content, self.headers = content, {"content-length": str(len(content))}

    def raise_for_status(self) -> None:
        """Be fine."""

    def iter_content(self, chunk_size: int) -> list[bytes]:
        return [self.content[:2], self.content[2:]]


@pytest.fixture
def upstream(
    tmp_path: Path, put_dataset: PutDataset, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Any], Path]:
    """Return a function that says what the network answers, and the cache folder to expect."""
    put_dataset("gug", {"a.txt": "A .\n"})
    monkeypatch.delenv(files.MIRROR_VARIABLE)
    monkeypatch.setenv(files.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)

    def answer(content: Any) -> Path:
        def get(url: str, **_: object) -> Response:
            assert url == "https://raw.githubusercontent.com/owner/gug/commit/a.txt"
            if isinstance(content, Exception):
                raise content
            return Response(content)

        monkeypatch.setattr(requests, "get", get)
        return tmp_path / "cache" / "owner" / "gug" / "commit" / "a.txt"

    return answer


def test_download_goes_to_the_cache_once(upstream: Callable[[Any], Path]) -> None:
    place = upstream(b"A .\n")
    assert files.dataset_file("gug", "a.txt") == place
    upstream(AssertionError("downloaded again"))
    assert files.dataset_file("gug", "a.txt").read_bytes() == b"A .\n"


def test_wrong_download_leaves_nothing(upstream: Callable[[Any], Path]) -> None:
    place = upstream(b"A !\n")
    digest = hashlib.sha256(b"A .\n").hexdigest()[:12]
    with pytest.raises(DataError, match=f"differs from {digest}"):
        files.dataset_file("gug", "a.txt")
    assert list(place.parent.iterdir()) == []


def test_no_network_names_the_ways_out(upstream: Callable[[Any], Path]) -> None:
    place = upstream(requests.exceptions.ConnectionError())
    with pytest.raises(DataError) as caught:
        files.dataset_file("gug", "a.txt")
    message = str(caught.value)
    assert "cannot be downloaded (ConnectionError)" in message
    assert "set LEARNEDGEC_MIRROR to a folder that holds owner/gug/commit/a.txt" in message
    assert f"put the file at {place}" in message


def test_offline_nothing_is_downloaded(
    upstream: Callable[[Any], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = upstream(AssertionError("the network was used"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(
        DataError, match=r"a\.txt is not here, and HF_HUB_OFFLINE is set; unset it"
    ) as caught:
        files.dataset_file("gug", "a.txt")
    assert str(caught.value).endswith(f"or put the file at {place}.")


@pytest.mark.realdata
@pytest.mark.parametrize("name", [name for name in DATASETS.builtin if name != "sample"])
def test_the_mirror_holds_the_catalog(name: str) -> None:
    assert {status.state for status in files.verify(name)} == {"ok"}
    for file in DATASETS.builtin[name].files.values():
        assert files.dataset_file(name, file.path).stat().st_size == file.bytes
