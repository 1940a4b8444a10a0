"""`learnedgec compare`: exact output, and one sentence for each bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from learnedgec.cli.main import main
from learnedgec.data.text import write_lines

OUTPUTS = {"base": ["a b", "c", "d"], "better": ["a b c", "c d", "d"], "same": ["b a", "d", "c"]}


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    write_lines(tmp_path / "source.txt", ["a", "b", "c"])
    for name, texts in OUTPUTS.items():
        write_lines(tmp_path / f"{name}.txt", texts)
    systems = [str(tmp_path / f"{name}.txt") for name in OUTPUTS]
    return ["compare", "--src", str(tmp_path / "source.txt"), "--hyp", *systems]


def test_table_and_sentences(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--baseline", str(tmp_path / "base.txt"), "--metric", "length"]
    assert main([*words, *arguments, "--resamples", "99"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "Differences from base, with 95% intervals",
        " system    score   Δ         interval             p        win/tie/loss",
        " ──────────────────────────────────────────────────────────────────────",
        " base     1.3333   –         –                    –        –",
        " better   2.0000   +0.6667   [+0.0000, +1.0000]   ≤ .020   2/1/0",
        " same     1.3333   +0.0000   [+0.0000, +0.0000]   1        0/3/0",
    ]
    lines = err.splitlines()
    assert lines[0].startswith("better scores higher than base by length (2.0000 against 1.3333; ")
    assert lines[1] == "same and base score the same by length (1.3333)."
    assert lines[2] == (
        "Wins, ties and losses count sentences; p is two-sided, after Holm's correction for 2 systems. Each "
        "interval is for a single difference, without that correction: if it excludes 0 but p is not below "
        "0.05, the difference is not significant after the correction."
    )
    assert lines[3].endswith("|test:paired-bootstrap|resamples:99|seed:0")


def test_json_holds_everything(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--baseline", str(tmp_path / "base.txt"), "--metric", "length", "--format", "json"]
    assert main([*words, *arguments, "--resamples", "9", "--quiet"]) == 0
    first, second = json.loads(capsys.readouterr().out)["comparisons"]
    assert (first["system"], second["system"]) == ("better", "same")
    assert first["difference"] == pytest.approx(2 / 3)
    assert (first["wins"], first["ties"], first["losses"]) == (2, 1, 0)
    assert first["difference_low"] <= first["difference"] <= first["difference_high"]
    assert first["significant"] is False
    assert first["signature"].startswith("length")
