from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from learnedgec.cli.main import main
from learnedgec.data.text import write_lines

Run = Callable[..., str]


@pytest.fixture
def show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `score --show attribution` on two systems and returns what it prints."""
    write_lines(tmp_path / "src.txt", ["He go home now .", "Fine ."])
    write_lines(tmp_path / "long.txt", ["He goes to the home now .", "Fine ."])
    write_lines(tmp_path / "same.txt", ["He go home now .", "Fine ."])

    def command(*extra: str) -> str:
        files = [str(tmp_path / f"{name}.txt") for name in ("src", "long", "same")]
        words = ["score", "--src", files[0], "--hyp", *files[1:], "--show", "attribution"]
        words += ["--annotator", "en-ewt-sm", *extra]
        assert main(words) == 0
        return capsys.readouterr().out

    return command


def test_one_row_per_metric_system_and_edit(show: Run) -> None:
    rows = list(
        csv.DictReader(io.StringIO(show("--metric", "length", "edit-count", "--format", "csv")))
    )
    assert [(r["metric"], r["original"], r["correction"], float(r["shapley"])) for r in rows] == [
        ("length", "go", "goes to the", 2.0),
        ("edit-count", "go", "goes to the", 3.0),
    ]
    assert {(r["system"], r["sentence"], r["standard_error"]) for r in rows} == {
        ("long", "1", "0.0")
    }


def test_json_and_table(show: Run) -> None:
    found = json.loads(show("--metric", "length", "--format", "json"))["attribution"]
    assert sum(row["shapley"] for row in found) == pytest.approx(2.0)
    assert show("--metric", "length").splitlines() == [
        "before each edit: its add-one, leave-one-out and Shapley values",
        "",
        "long 1  length",
        "  source      He go home now .",
        "  hypothesis  He goes to the home now .",
        "  +2.0000  +2.0000  +2.0000  1:2     go → goes to the  [R:OTHER]",
    ]
    header = show("--metric", "length", "--wide").splitlines()[0].split()
    assert header[-4:] == ["add_one", "leave_one_out", "shapley", "standard_error"]
