from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from learnedgec.data.catalog import files
from learnedgec.data.catalog.registry import DATASETS

PutDataset = Callable[[str, dict[str, str]], None]


def test_list(run: Any) -> None:
    printed = run("data list --format json").json
    assert [row["dataset"] for row in printed["rows"]] == list(DATASETS)
    gug = printed["datasets"]["gug"]
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


def test_texts_of_a_dataset_are_written_into_files(put_dataset: PutDataset, run: Any) -> None:
    assert run("data write sample --out mine").err == (
        "mine: gold.m2, source.txt and the outputs of 4 systems, 72 sentences each\n"
    )
    written = {path.relative_to("mine") for path in Path("mine").rglob("*.*")}
    assert written == {
        Path(name)
        for name in (
            "source.txt",
            "gold.m2",
            *(f"systems/{name}.txt" for name in ("careful", "eager", "strong", "weak")),
        )
    }
    files = (
        "--src {0}/source.txt --hyp {0}/systems --gold {0}/gold.m2 --metric gleu m2 --format csv"
    )
    assert run(f"score {files.format('mine')}").out == run(f"score {files.format('embedded')}").out
    assert "mine exists; choose another folder." in run("data write sample --out mine", code=2).err
    part = {f"dev/dev.{kind}": f"{kind} .\n" for kind in ("src", "ref0", "ref1", "ref2", "ref3")}
    put_dataset("jfleg", part)
    run("data write jfleg:dev --out jfleg --quiet")
    assert sorted(path.name for path in Path("jfleg").iterdir()) == [
        *(f"ref{number}.txt" for number in range(4)),
        "source.txt",
    ]
    assert Path("jfleg/ref2.txt").read_text() == "ref2 .\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("sample", "--out is missing; give it, such as --out texts."),
        ("--out mine", "0 datasets were named; name one, such as jfleg:dev."),
        ("jflg:dev --out mine", "did you mean 'jfleg:dev'?"),
    ],
)
def test_what_cannot_be_written_is_refused(run: Any, words: str, message: str) -> None:
    assert message in run(f"data write {words}", code=2).err
    assert not Path("mine").exists()
