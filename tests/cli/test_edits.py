from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def texts(run: Any) -> None:
    """Write sources and two corrections of them into the folder of `run`."""
    texts = {
        "s": "She go to school .\nFine .\n\n",
        "a": "She goes to school .\nFine .\nNew .\n",
        "b": "She went to the school .\nFine !\n\n",
    }
    for name, text in texts.items():
        Path(f"{name}.txt").write_text(text)


def test_text_to_m2_and_back(run: Any) -> None:
    printed = run("edits --src s.txt --hyp a.txt b.txt --out x.m2 --annotator en-ewt-sm")
    assert "en-ewt-sm|annotator-version:0.1.0" in printed.err
    assert Path("x.m2").read_text().split("\n\n")[0] == (
        "S She go to school .\n"
        "A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0\n"
        "A 1 2|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||1\n"
        "A 3 3|||M:DET|||the|||REQUIRED|||-NONE-|||1"
    )
    for number, path in enumerate(("a.txt", "b.txt")):
        printed = run(f"edits --gold x.m2 --apply --number {number}")
        assert printed.out == Path(path).read_text()


def test_scores_by_type(run: Any) -> None:
    metric = "errant(annotator='en-ewt-sm', mode='span-detection')"
    command = "score --src s.txt --hyp a.txt --ref b.txt --by operation --format json --metric"
    rows = run(command, metric).json["types"]
    assert [(row["operation"], row["tp"], row["fp"], row["fn"]) for row in rows] == [
        ("R", 1, 0, 1),
        ("M", 0, 1, 1),
    ]


def test_applying_one_of_several_annotators_is_told(run: Any) -> None:
    edits = [f"A 0 1|||X|||{text}|||REQUIRED|||-NONE-|||{n}" for n, text in enumerate("bc")]
    Path("g.m2").write_text("\n".join(["S a", *edits, "", ""]))
    out, err = run("edits --gold g.m2 --apply")
    assert out == "b\n"
    assert (
        "edits of several annotators (0, 1); those of each sentence's first annotator are applied"
        in err
    )
    for more in ("--quiet", "--number 1"):
        assert run(f"edits --gold g.m2 --apply {more}").err == ""
