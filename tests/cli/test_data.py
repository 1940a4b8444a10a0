from __future__ import annotations

from collections.abc import Callable
from typing import Any

from learnedgec.data.catalog import DATASETS, files

PutDataset = Callable[[str, dict[str, str]], None]


def test_list(run: Any) -> None:
    entries = run("data list --format json").json
    assert [entry["dataset"] for entry in entries] == list(DATASETS)
    gug = next(entry for entry in entries if entry["dataset"] == "gug")
    assert gug["licence"] == "CC BY-NC-SA 4.0"
    assert gug["files"][0]["url"].startswith("https://raw.githubusercontent.com/EducationalTesting")


def test_fetch_and_verify(put_dataset: PutDataset, run: Any) -> None:
    put_dataset("gug", {"a.txt": "A .\n"})
    file = files.dataset_file("gug", "a.txt")
    assert run("data fetch gug sample").out.splitlines() == [
        f"gug: 1 file in {file.parent}",
        "sample: no files to fetch; it is part of learnedgec.",
    ]
    assert run("data verify gug --format csv").out == "dataset,ok,absent,altered\ngug,1,0,0\n"
    file.write_text("altered")
    out, err = run("data verify --format csv", code=2)
    assert "gug,0,0,1\n" in out
    assert "a.txt is altered." in err
    assert "gug: altered; delete what is altered and run: learnedgec data fetch gug" in err
    # Absent files matter where the dataset is named.
    file.unlink()
    assert "gug: incomplete" in run("data verify gug", code=2).err
    run("data verify")
