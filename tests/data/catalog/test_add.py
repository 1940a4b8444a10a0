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


@pytest.mark.parametrize(
    ("words", "content", "message"),
    [
        (("new", "--licence", "MIT"), CONTENT, "the repository and commit of 'new'; give --repo"),
        (("known", "--files", "*.csv"), CONTENT, "abc matches *.csv"),
        (("known",), b"B .\n", f", not {DIGEST[:12]}…); copy it there again."),
        (("known",), None, "a.txt does not exist, though manifest.json names it"),
    ],
)
def test_what_cannot_be_is_one_sentence(
    add: Add,
    root: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    content: bytes | None,
    message: str,
) -> None:
    file = root / "me" / "mine" / "abc" / "data" / "a.txt"
    file.unlink() if content is None else file.write_bytes(content)
    assert add(*words, "--about", "what", code=2) == {}
    assert message in capsys.readouterr().err


def test_a_table_that_is_none_is_named(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "none.json"
    table.write_text('{"mine": {"about": "what"}}')
    words = ["known", "--about", "x", "--mirror", str(root), "--table", str(table)]
    assert SCRIPT["main"](words) == 2
    assert "none.json: not a table of datasets ('licence')" in capsys.readouterr().err


def test_the_shipped_table_is_as_the_script_writes_it(tmp_path: Path) -> None:
    table: Path = SCRIPT["TABLE"]
    SCRIPT["write_datasets"](tmp_path / "datasets.json", read_datasets(table))
    assert (tmp_path / "datasets.json").read_bytes() == table.read_bytes()
