"""Rows of the catalog, as `scripts/add_dataset.py` writes them."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from learnedgec.data.catalog import registry
from learnedgec.data.catalog.add import describe_dataset, write_datasets
from learnedgec.data.catalog.registry import Dataset, File, read_datasets
from learnedgec.errors import DataError, InputError

TABLE = Path(registry.__file__).with_name("datasets.json")
SCRIPT = Path(__file__).parents[3] / "scripts" / "add_dataset.py"
CONTENT = b"A .\n"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a mirror with three files, of which its manifest names one."""
    folder = tmp_path / "mirror" / "me" / "mine" / "abc"
    for path in ("data/a.txt", "data/b.tsv", "README.md"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(CONTENT)
    files = [{"path": "data/a.txt", "bytes": 4, "sha256": DIGEST}]
    about = {"repository": "me/mine", "commit": "abc", "licence": "MIT", "url": "…", "files": files}
    (tmp_path / "mirror" / "manifest.json").write_text(json.dumps({"known": about}))
    return tmp_path / "mirror"


def test_a_manifest_says_everything(root: Path) -> None:
    assert describe_dataset("known", root, "what") == Dataset(
        "known", "what", "MIT", "me/mine", "abc", {"data/a.txt": File("data/a.txt", 4, DIGEST)}
    )


def test_without_a_manifest_it_is_given(root: Path) -> None:
    about = {"licence": "CC0", "repository": "me/mine", "commit": "abc"}
    found = describe_dataset("new", root, "what", **about)
    assert list(found.files) == ["README.md", "data/a.txt", "data/b.tsv"]
    assert found.bytes == 12
    chosen = describe_dataset("new", root, "what", **about, files=["data/*.tsv", "README*"])
    assert list(chosen.files) == ["README.md", "data/b.tsv"]


def test_what_cannot_be_is_refused(root: Path) -> None:
    with pytest.raises(
        InputError, match="does not say the repository and commit of 'new'; give --repo"
    ):
        describe_dataset("new", root, "what", licence="MIT")
    with pytest.raises(InputError, match=r"no file in .*abc matches \*\.csv"):
        describe_dataset("known", root, "what", files=["*.csv"])
    (root / "me" / "mine" / "abc" / "data" / "a.txt").write_text("B .\n")
    with pytest.raises(DataError, match=f"its sha256 is .*, not {DIGEST[:12]}"):
        describe_dataset("known", root, "what")
    (root / "me" / "mine" / "abc" / "data" / "a.txt").unlink()
    with pytest.raises(DataError, match=r"a\.txt does not exist, though manifest\.json names it"):
        describe_dataset("known", root, "what")


def test_the_shipped_table_is_as_the_script_writes_it(tmp_path: Path) -> None:
    write_datasets(tmp_path / "datasets.json", read_datasets(TABLE))
    assert (tmp_path / "datasets.json").read_bytes() == TABLE.read_bytes()


def test_the_script_adds_one_row(root: Path, tmp_path: Path) -> None:
    table = tmp_path / "datasets.json"
    write_datasets(table, {"zebra": Dataset("zebra", "…", "MIT", "you/zebra", "def", {})})

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            str(SCRIPT),
            *words,
            "--mirror",
            str(root),
            "--table",
            str(table),
        ]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert run("known", "--about", "what").stdout == "known: 1 files, 0.0 MB, MIT\n"
    assert list(read_datasets(table)) == ["known", "zebra"]
    again = run("known", "--about", "other")
    assert (again.returncode, again.stdout) == (2, "")
    assert "has 'known' already; replace it by --replace" in again.stderr
    assert run("known", "--about", "other", "--replace").returncode == 0
    assert read_datasets(table)["known"].about == "other"
