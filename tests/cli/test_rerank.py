"""`learnedgec rerank`: exact output, n-best files, and one sentence for each bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from learnedgec.cli.main import main
from learnedgec.data.text import write_jsonl, write_lines

SOURCES = ["He go to school .", "Fine ."]
SYSTEMS = {
    "A": ["He goes to school .", "Fine ."],
    "B": ["He goes to school .", "Fine !"],
    "C": ["He went school .", "Fine ."],
}


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    write_lines(tmp_path / "source.txt", SOURCES)
    for name, texts in SYSTEMS.items():
        write_lines(tmp_path / f"{name}.txt", texts)
    systems = [str(tmp_path / f"{name}.txt") for name in SYSTEMS]
    return ["rerank", "--src", str(tmp_path / "source.txt"), "--hyp", *systems, "--quiet"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    return code, *capsys.readouterr()


@pytest.mark.parametrize("by", ["mbr(gleu)", "mbr(m2)", "vote"])
def test_texts_alone(by: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *words, "--by", by, "--annotator", "en-ewt-sm")
    assert (code, out) == (0, "He goes to school .\nFine .\n")


def test_csv(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, *words, "--by", "length", "--fallback", "source", "--format", "csv")
    assert code == 0
    assert out.splitlines() == [
        "sentence,text,chosen,margin,score 1,score 2,score 3",
        "1,He goes to school .,A,1.0,5.0,5.0,4.0",
        "2,Fine .,A,0.0,2.0,2.0,2.0",
    ]


def test_an_nbest_file_with_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nbest.jsonl"
    rows = [
        {"source": "a b", "candidates": ["a c", "a d"], "weights": [0.2, 0.8]},
        {"source": "a", "candidates": ["b"], "weights": [1]},
    ]
    write_jsonl(path, rows)
    arguments = ["rerank", "--nbest", str(path), "--by", "mbr(gleu)", "--quiet"]
    code, out, _ = run(capsys, *arguments, "--format", "json")
    found = json.loads(out)["sentences"]
    assert code == 0
    assert [(row["text"], row["chosen"]) for row in found] == [("a d", 2), ("b", 1)]
    assert found[0]["scores"][1] - found[0]["scores"][0] == pytest.approx(found[0]["margin"])
    assert found[1]["margin"] is None
    code, out, _ = run(capsys, *arguments, "--out", str(tmp_path / "best.txt"))
    assert (tmp_path / "best.txt").read_text() == "a d\nb\n"
