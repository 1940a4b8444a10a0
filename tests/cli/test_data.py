from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from learnedgec.cli.main import main
from learnedgec.data.catalog import DATASETS, files

PutDataset = Callable[[str, dict[str, str]], None]


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list", "--format", "json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert [entry["dataset"] for entry in entries] == list(DATASETS)
    gug = next(entry for entry in entries if entry["dataset"] == "gug")
    assert gug["licence"] == "CC BY-NC-SA 4.0"
    assert gug["files"][0]["url"].startswith("https://raw.githubusercontent.com/EducationalTesting")


def test_fetch_and_verify(put_dataset: PutDataset, capsys: pytest.CaptureFixture[str]) -> None:
    put_dataset("gug", {"a.txt": "A .\n"})
    assert main(["data", "fetch", "gug", "sample"]) == 0
    folder = files.dataset_file("gug", "a.txt").parent
    assert capsys.readouterr().out.splitlines() == [
        f"gug: 1 file in {folder}",
        "sample: no files to fetch; it is part of learnedgec.",
    ]
    assert main(["data", "verify", "gug", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "dataset,ok,absent,altered\ngug,1,0,0\n"
    files.dataset_file("gug", "a.txt").write_text("altered")
    assert main(["data", "verify", "--format", "csv"]) == 2
    captured = capsys.readouterr()
    assert "gug,0,0,1\n" in captured.out
    assert "a.txt is altered." in captured.err
    assert "gug: altered; delete what is altered and run: learnedgec data fetch gug" in captured.err


def test_absent_files_matter_where_the_dataset_is_named(
    put_dataset: PutDataset, capsys: pytest.CaptureFixture[str]
) -> None:
    put_dataset("gug", {"a.txt": "A .\n"})
    files.dataset_file("gug", "a.txt").unlink()
    assert main(["data", "verify", "gug"]) == 2
    assert "gug: incomplete" in capsys.readouterr().err
    assert main(["data", "verify"]) == 0
