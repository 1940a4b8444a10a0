"""Released evaluators that an installation lacks: fetched, verified, and found by name."""

from __future__ import annotations

from pathlib import Path

import pytest
import requests
from huggingface_hub import constants

from learnedgec.cli.main import main
from learnedgec.data.catalog import files
from learnedgec.data.text import read_json
from learnedgec.errors import DataError, ModelError, UnknownNameError
from learnedgec.evaluators import RELEASES, Release, locations, package
from learnedgec.runtime.files import file_digest

CHECKPOINTS = Path(__file__).parents[2] / "checkpoints"
COMMIT = "1f2e3d"
UPSTREAM = f"https://raw.githubusercontent.com/learnedgec/learnedgec/{COMMIT}/checkpoints/free/"


@pytest.fixture
def release(
    tiny_evaluator: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, bytes]:
    """Release an evaluator by the name `free`, and return what the network holds of it."""
    held = {file.name: file.read_bytes() for file in tiny_evaluator.iterdir()}

    class Response:
        def __init__(self, content: bytes) -> None:
            self.content, self.headers = content, {"content-length": str(len(content))}

        def raise_for_status(self) -> None:
            """Be fine."""

        def iter_content(self, chunk_size: int) -> list[bytes]:
            return [self.content]

    def get(url: str, **_: object) -> Response:
        return Response(held[url.removeprefix(UPSTREAM)])

    digest = file_digest(tiny_evaluator / package.MANIFEST)
    released = Release(digest, COMMIT, 1, "LicenseRef-own-data", products=False)
    monkeypatch.setitem(RELEASES, "free", released)
    monkeypatch.setattr(requests, "get", get)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.delenv(files.MIRROR_VARIABLE, raising=False)
    monkeypatch.setenv(files.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return held


def test_a_release_is_fetched_with_its_licence_and_then_found_by_name(
    release: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ModelError) as caught:
        locations.find_evaluator("free")
    assert str(caught.value) == (
        "the evaluator free (1 MB, for research only) is not installed; run: learnedgec evaluators fetch "
        "free. The metrics quality and preference work without it."
    )
    assert main(["evaluators"]) == 0
    assert (
        "Not here: free (1 MB, for research only); `learnedgec evaluators fetch free` gets it."
        in capsys.readouterr().err
    )
    place = tmp_path / "cache/learnedgec/learnedgec" / COMMIT / "checkpoints/free"
    for _ in range(2):  # the second time everything is there
        assert main(["evaluators", "fetch", "free"]) == 0
        printed = capsys.readouterr()
        assert printed.out == f"{place}\n"
        licence, *_, digest = printed.err.splitlines()
        sha256 = RELEASES["free"].sha256
        assert licence == f"free: 1 MB, for research only; LicenseRef-own-data; sha256:{sha256}."
        assert f"sha256:{locations.open_package('free').digest} in their signatures" in digest
        release.clear()
    assert locations.find_evaluator("free") == place
    assert locations.list_evaluators()["free"] == place


@pytest.mark.parametrize("file", [package.MANIFEST, "config.json", package.CARD])
def test_files_that_are_not_those_of_the_release_are_refused(
    release: dict[str, bytes], file: str
) -> None:
    release[file] += b" "
    with pytest.raises(DataError, match=f"checkpoints/free/{file} was downloaded but is not"):
        locations.fetch_released("free")


def test_names_of_releases_are_known(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'open-mpnet'"):
        locations.fetch_released("open-mpnett")
    assert main(["evaluators", "fetch"]) == 2
    assert "give any of joint-mpnet-3, open-mpnet" in capsys.readouterr().err


@pytest.mark.parametrize("name", RELEASES)
def test_the_repository_holds_what_is_released(name: str) -> None:
    release = RELEASES[name]
    manifest = CHECKPOINTS / name / package.MANIFEST
    assert file_digest(manifest) == release.sha256
    assert read_json(manifest)["license"] == release.licence
    size = sum(file.stat().st_size for file in (CHECKPOINTS / name).iterdir())
    assert release.megabytes == round(size / 1e6)
