"""`learnedgec robust` from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from learnedgec import References
from learnedgec.cli import robust
from learnedgec.data.catalog import Parallel
from learnedgec.data.catalog.cases import read_cases
from learnedgec.data.text import read_lines, write_lines

PARA, SYSTEM = "embedded/robust/para.txt", "embedded/robust/system.txt"
FEW = "--resamples 20"


def test_several_sets_from_folders_and_from_one_file(run: Any) -> None:
    lines = read_lines(SYSTEM)
    text = Path(PARA).read_text().split("\n\n")
    Path("one.txt").write_text("\n\n".join(text[:2]))
    Path("two.txt").write_text("\n\n".join(text[2:]))
    write_lines("system/one.txt", lines[:12])
    write_lines("system/two.txt", lines[12:])
    command = f"robust systems --case one.txt two.txt --metric m2 --format json {FEW} --hyp"
    together = run(f"{command} {SYSTEM}")
    assert run(f"{command} system").out == together.out
    rows, variants = together.json["rows"], together.json["variants"]
    assert [row["cases"] for row in rows] == ["one", "two", "total"]
    assert rows[2]["crs_official"] == pytest.approx(0.5)
    of_all = next(row for row in variants if row["cases"] == "total")
    assert of_all["p_crs_edits"] == pytest.approx(13 / 17)


def test_attacks_of_the_catalog(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = {"attack:conll14": {"some": ("a b", "a")}, "attack:bea19-dev": {"some": ("c", "d")}}
    data = Parallel(("a", "a"), References.from_texts(["a", "a"]))
    monkeypatch.setattr(robust, "load_outputs", outputs.__getitem__)
    monkeypatch.setattr(robust, "load_parallel", {"conll14": data}.__getitem__)
    monkeypatch.setattr(robust, "honest_outputs", lambda: {"T5": ("a", "a")})
    write_lines("ours.txt", ["a b c", "a b"])
    command = f"robust attack --metric length sentm2 --format csv {FEW} --attack"
    length, sentm2 = run(f"{command} conll14").rows
    assert (length["attack"], length["preferred"], length["ties"]) == ("some", "0.5", "0.5")
    assert (sentm2["attack_score"], sentm2["honest_score"]) == ("0.5", "1.0")
    systems = run(f"{command} attack:conll14 --hyp ours.txt --show systems").rows
    assert [row["honest"] for row in systems] == ["all", "ours"] * 2
    assert systems[0]["preferred"] == "0.0"
    (_, sentm2) = run(f"{command} bea19-dev --hyp ours.txt --src ours.txt --ref ours.txt").rows
    assert (sentm2["attack_score"], sentm2["honest_score"]) == ("0.0", "1.0")


def test_perturb_then_evaluate(run: Any) -> None:
    files = "--src embedded/source.txt --ref embedded/ref0.txt --out cases.jsonl"
    assert run(f"robust perturb {files} --variants 3 --seed 4").out == ""
    cases = read_cases("cases.jsonl")
    assert max(len(case.variants) for case in cases) == 3
    assert len(cases) > 40
    (row,) = run(f"robust metrics --case cases.jsonl --metric length --format csv {FEW}").rows
    assert row["cases"] == "cases"
