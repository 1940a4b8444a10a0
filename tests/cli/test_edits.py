from __future__ import annotations

import json
from pathlib import Path

import pytest

from learnedgec.cli.main import main

CHOICE = ["--annotator", "en-ewt-sm"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    texts = {
        "s": "She go to school .\nFine .\n\n",
        "a": "She goes to school .\nFine .\nNew .\n",
        "b": "She went to the school .\nFine !\n\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.txt").write_text(text)
    return tmp_path


def test_text_to_m2_and_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [str(folder / f"{name}.txt") for name in "sab"]
    out = str(folder / "x.m2")
    assert main(["edits", "--src", files[0], "--hyp", *files[1:], "--out", out, *CHOICE]) == 0
    assert "en-ewt-sm|annotator-version:0.1.0" in capsys.readouterr().err
    assert Path(out).read_text().split("\n\n")[0] == (
        "S She go to school .\n"
        "A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0\n"
        "A 1 2|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||1\n"
        "A 3 3|||M:DET|||the|||REQUIRED|||-NONE-|||1"
    )
    for number, path in enumerate(files[1:]):
        assert main(["edits", "--gold", out, "--apply", "--number", str(number)]) == 0
        assert capsys.readouterr().out == Path(path).read_text()


def test_scores_by_type(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = ["--src", str(folder / "s.txt"), "--hyp", str(folder / "a.txt")]
    inputs += ["--ref", str(folder / "b.txt"), "--by", "operation", "--format", "json"]
    metric = "errant(annotator='en-ewt-sm', mode='span-detection')"
    assert main(["score", "--metric", metric, *inputs]) == 0
    rows = json.loads(capsys.readouterr().out)["types"]
    assert [(row["operation"], row["tp"], row["fp"], row["fn"]) for row in rows] == [
        ("R", 1, 0, 1),
        ("M", 0, 1, 1),
    ]


def test_applying_one_of_several_annotators_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edits = [f"A 0 1|||X|||{text}|||REQUIRED|||-NONE-|||{n}" for n, text in enumerate("bc")]
    (folder / "g.m2").write_text("\n".join(["S a", *edits, "", ""]))
    words = ["edits", "--gold", str(folder / "g.m2"), "--apply"]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert out == "b\n"
    assert (
        "edits of several annotators (0, 1); those of each sentence's first annotator are applied"
        in err
    )
    for more in (["--quiet"], ["--number", "1"]):
        assert main([*words, *more]) == 0
        assert capsys.readouterr().err == ""
