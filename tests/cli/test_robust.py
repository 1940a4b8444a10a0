"""`learnedgec robust` from the command line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from embedded import SAMPLE_FOLDER

from learnedgec import References
from learnedgec.cli import robust
from learnedgec.cli.main import main
from learnedgec.data.catalog import Parallel, read_cases
from learnedgec.data.text import read_lines, write_lines

Run = Callable[..., str]

PARA = SAMPLE_FOLDER / "robust" / "para.txt"
SYSTEM = SAMPLE_FOLDER / "robust" / "system.txt"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(command: str, *words: object, code: int = 0) -> str:
        few = [] if command == "perturb" else ["--resamples", "20"]
        assert main(["robust", command, *few, *map(str, words)]) == code
        captured = capsys.readouterr()
        return captured.err if code else captured.out

    return call


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


# -- systems ----------------------------------------------------------------------------------


def test_do_nothing_and_perfect_systems_as_csv(run: Run, tmp_path: Path) -> None:
    sources = run("systems", "--case", "sample", "--show", "sources")
    (tmp_path / "nothing.txt").write_text(sources)
    pairs = [pair for case in read_cases(PARA) for pair in case.pairs]
    assert sources.splitlines() == [pair.source for pair in pairs]
    write_lines(tmp_path / "perfect.txt", [pair.target for pair in pairs])
    words = ["--case", PARA, "--hyp", tmp_path / "nothing.txt", tmp_path / "perfect.txt"]
    words += ["--metric", "errant(annotator='en-ewt-sm')", "--format", "csv"]
    nothing, perfect = rows(run("systems", *words))
    for row, f in ((nothing, "0.0"), (perfect, "1.0")):
        assert row["original F"] == row["upper F"] == row["lower F low"] == f
        for rule in ("official", "edits"):
            assert row[f"CRS {rule}"] == row[f"P-CRS {rule}"] == "1.0"
            assert row[f"CRS {rule} low"] == row[f"P-CRS {rule} high"] == "1.0"
    assert perfect["system"] == "perfect"


def test_several_sets_from_folders_and_from_one_file(run: Run, tmp_path: Path) -> None:
    lines = read_lines(SYSTEM)
    text = PARA.read_text().split("\n\n")
    (tmp_path / "one.txt").write_text("\n\n".join(text[:2]))
    (tmp_path / "two.txt").write_text("\n\n".join(text[2:]))
    folder = tmp_path / "system"
    folder.mkdir()
    write_lines(folder / "one.txt", lines[:12])
    write_lines(folder / "two.txt", lines[12:])
    words = ["--case", tmp_path / "one.txt", tmp_path / "two.txt", "--metric", "m2"]
    together = run("systems", *words, "--hyp", SYSTEM, "--format", "json")
    assert run("systems", *words, "--hyp", folder, "--format", "json") == together
    results = json.loads(together)["results"]
    assert [result["cases"] for result in results] == ["one", "two", "total"]
    assert results[2]["crs"]["official"]["value"] == pytest.approx(0.5)
    assert results[2]["groups"][0]["consistent"]["edits"]["value"] == pytest.approx(13 / 17)


# -- metrics ----------------------------------------------------------------------------------


def test_preferences(run: Run) -> None:
    words = ["--case", "sample", "--metric", "gleu", "length", "--format", "csv"]
    gleu, length = rows(run("metrics", *words))
    assert (gleu["n"], gleu["left out"], gleu["accuracy"]) == ("5", "1", "1.0")
    assert (length["accuracy"], length["ties"], length["P-CRS"]) == ("0.2", "0.6", "1.0")
    variants = rows(run("metrics", *words, "--show", "variants"))
    assert {row["metric"] for row in variants} == {"gleu", "length"}
    assert sum(int(row["n"]) for row in variants if row["by"] == "action") == 50


# -- attacks ----------------------------------------------------------------------------------


def test_attack_from_files(run: Run, tmp_path: Path) -> None:
    systems = SAMPLE_FOLDER / "systems"
    words = ["--attack", systems / "weak.txt", "--src", SAMPLE_FOLDER / "source.txt"]
    words += ["--hyp", systems / "strong.txt", systems / "eager.txt", "--metric", "edit-count"]
    (pooled,) = rows(run("attack", *words, "--format", "csv"))
    cells = [pooled[column] for column in ("attack", "honest", "n", "rank")]
    assert cells == ["weak", "all", "144", "3"]
    honest = rows(run("attack", *words, "--show", "systems", "--format", "csv", "--plot", tmp_path))
    assert [row["honest"] for row in honest] == ["all", "strong", "eager"]
    shares = [float(row["attack preferred"]) for row in honest]
    assert shares[0] == pytest.approx((shares[1] + shares[2]) / 2)
    assert (tmp_path / "attacks.pdf").is_file()


def test_attacks_of_the_catalog(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = {"attack:conll14": {"some": ("a b", "a")}, "attack:bea19-dev": {"some": ("c", "d")}}
    data = Parallel(("a", "a"), References.from_texts(["a", "a"]))
    monkeypatch.setattr(robust, "load_outputs", outputs.__getitem__)
    monkeypatch.setattr(robust, "load_parallel", {"conll14": data}.__getitem__)
    monkeypatch.setattr(robust, "honest_outputs", lambda: {"T5": ("a", "a")})
    words = ["--metric", "length", "sentm2", "--format", "csv"]
    length, sentm2 = rows(run("attack", "--attack", "conll14", *words))
    assert (length["attack"], length["attack preferred"], length["ties"]) == ("some", "0.5", "0.5")
    assert (sentm2["attack score"], sentm2["honest score"]) == ("0.5", "1.0")
    write_lines(tmp_path / "ours.txt", ["a b c", "a b"])
    hyp = ["--hyp", tmp_path / "ours.txt"]
    systems = rows(run("attack", "--attack", "attack:conll14", *hyp, "--show", "systems", *words))
    assert [row["honest"] for row in systems] == ["all", "ours"] * 2
    assert systems[0]["attack preferred"] == "0.0"
    source = ["--src", tmp_path / "ours.txt", "--ref", tmp_path / "ours.txt"]
    (_, sentm2) = rows(run("attack", "--attack", "bea19-dev", *hyp, *source, *words))
    assert (sentm2["attack score"], sentm2["honest score"]) == ("0.0", "1.0")


# -- perturbation -----------------------------------------------------------------------------


def test_perturb_then_evaluate(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "cases.jsonl"
    words = [
        "--src",
        SAMPLE_FOLDER / "source.txt",
        "--ref",
        SAMPLE_FOLDER / "ref0.txt",
    ]
    assert run("perturb", *words, "--out", place, "--variants", 3, "--seed", 4) == ""
    cases = read_cases(place)
    assert max(len(case.variants) for case in cases) == 3
    assert len(cases) > 40
    scored = rows(run("metrics", "--case", place, "--metric", "length", "--format", "csv"))
    assert scored[0]["cases"] == place.stem
