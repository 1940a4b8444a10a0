from __future__ import annotations

from pathlib import Path
from typing import Any


def test_text_to_m2_and_back(run: Any) -> None:
    Path("s.txt").write_text("She go to school .\nFine .\n\n")
    Path("a.txt").write_text("She goes to school .\nFine .\nNew .\n")
    Path("b.txt").write_text("She went to the school .\nFine !\n\n")
    printed = run("edits --src s.txt --hyp a.txt b.txt --out x.m2 --annotator en-ewt-sm")
    assert "en-ewt-sm|annotator-version:0.1.0" in printed.err
    assert Path("x.m2").read_text().split("\n\n")[0] == (
        "S She go to school .\n"
        "A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0\n"
        "A 1 2|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||1\n"
        "A 3 3|||M:DET|||the|||REQUIRED|||-NONE-|||1"
    )
    assert run("edits --gold x.m2 --apply").out == Path("a.txt").read_text()
