"""Rows of the catalog, as `scripts/add_dataset.py` writes them."""

from __future__ import annotations

import hashlib
import json
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from learnedgec.data.catalog.registry import Dataset, File, read_datasets

SCRIPT = runpy.run_path(str(Path(__file__).parents[3] / "scripts" / "add_dataset.py"))
CONTENT = b"A .\n"
DIGEST = hashlib.sha256(CONTENT).hexdigest()
ORIGIN = ("--licence", "CC0", "--repository", "me/mine", "--commit", "abc")

Add = Callable[..., dict[str, Dataset]]


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


@pytest.fixture
def add(root: Path, tmp_path: Path) -> Add:
    """Return a function that runs the script and returns the table."""

    def run(*words: str, code: int = 0) -> dict[str, Dataset]:
        table = tmp_path / "datasets.json"
        places = ("--mirror", str(root), "--table", str(table))
        assert SCRIPT["main"]([*words, *places]) == code
        return read_datasets(table) if table.exists() else {}

    return run


def test_a_manifest_says_everything(add: Add, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"data/a.txt": File("data/a.txt", 4, DIGEST)}
    row = Dataset("known", "what", "MIT", "me/mine", "abc", files)
    assert add("known", "--about", "what") == {"known": row}
    assert capsys.readouterr().out == "known: 1 files, 0.0 MB, MIT\n"


def test_without_a_manifest_the_arguments_say_it(add: Add) -> None:
    new = add("new", "--about", "what", *ORIGIN)["new"]
    assert list(new.files) == ["README.md", "data/a.txt", "data/b.tsv"]
    assert new.bytes == 12
    table = add("a", "--about", "what", *ORIGIN, "--files", "data/*.tsv", "README*")
    assert list(table["a"].files) == ["README.md", "data/b.tsv"]
    assert list(table) == ["a", "new"]


def test_a_row_is_replaced_only_on_demand(add: Add, capsys: pytest.CaptureFixture[str]) -> None:
    add("known", "--about", "what")
    assert add("known", "--about", "other", code=2)["known"].about == "what"
    assert "has 'known' already; replace it by --replace" in capsys.readouterr().err
    assert add("known", "--about", "other", "--replace")["known"].about == "other"


def test_the_shipped_table_is_as_the_script_writes_it(tmp_path: Path) -> None:
    table: Path = SCRIPT["TABLE"]
    SCRIPT["write_datasets"](tmp_path / "datasets.json", read_datasets(table))
    assert (tmp_path / "datasets.json").read_bytes() == table.read_bytes()
