"""`learnedgec rank` from the command line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from embedded import SAMPLE_FOLDER

from learnedgec.cli.main import main
from learnedgec.metrics.m2 import M2
from learnedgec.metrics.statistics import Statistics

Run = Callable[..., str]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str, code: int = 0) -> str:
        systems = sorted(map(str, (SAMPLE_FOLDER / "systems").glob("*.txt")))
        given = ["rank", "--src", str(SAMPLE_FOLDER / "source.txt"), "--hyp", *systems]
        given += ["--gold", str(SAMPLE_FOLDER / "gold.m2"), "--resamples", "150", *words]
        assert main(given) == code
        captured = capsys.readouterr()
        return captured.err if code else captured.out

    return call


def test_table_is_sorted_and_clustered(run: Run) -> None:
    lines = run("--metric", "gleu(iterations=5)").splitlines()
    assert lines[0].split() == ["system", "cluster", "ranks", "score", "low", "high", "beats"]
    assert [line.split()[0] for line in lines[2:]] == ["strong", "careful", "eager", "weak"]
    assert lines[2].split()[1:3] == ["1", "1"]


def test_json_holds_everything(run: Run) -> None:
    out = json.loads(
        run("--metric", "length", "edit-count", "--by", "trueskill", "--format", "json")
    )
    assert [each["metric"] for each in out["rankings"]] == ["length", "edit-count"]
    ranking = out["rankings"][1]
    names = [row["system"] for row in ranking["systems"]]
    scores = [row["score"] for row in ranking["systems"]]
    assert names[0] == "eager"
    assert scores == sorted(scores, reverse=True)
    for name in ("wins", "p_values", "adjusted_p_values"):
        assert list(ranking[name]) == names
        assert all(list(row) == names for row in ranking[name].values())
    assert "by:trueskill" in ranking["signature"]
    assert "order:sentences, then pairs of careful eager strong weak" in ranking["signature"]


@pytest.mark.parametrize("show", ["wins", "p-values"])
def test_matrices_as_csv(run: Run, show: str) -> None:
    rows = list(
        csv.DictReader(io.StringIO(run("--metric", "gleu", "--show", show, "--format", "csv")))
    )
    assert [row["system"] for row in rows] == ["strong", "careful", "eager", "weak"]
    for row in rows:
        assert row[row["system"]] == ""
        assert all(0 <= float(row[other["system"]]) <= 1 for other in rows if other is not row)


def test_plots_are_written(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run("--metric", "length", "--plot", str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "length.mean.intervals.pdf",
        "length.mean.intervals.png",
        "length.mean.wins.pdf",
        "length.mean.wins.png",
    ]


@pytest.mark.parametrize("command", ["rank", "compare"])
def test_metrics_share_statistics(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []
    compute = M2.compute

    def counted(self: M2, *given: Any) -> Statistics:
        computed.append(self.label)
        return compute(self, *given)

    monkeypatch.setattr(M2, "compute", counted)
    systems = sorted(map(str, (SAMPLE_FOLDER / "systems").glob("*.txt")))
    given = [command, "--gold", str(SAMPLE_FOLDER / "gold.m2"), "--hyp", *systems]
    given += ["--baseline", systems[0]] if command == "compare" else []
    assert main([*given, "--metric", "m2", "sentm2", "--resamples", "150"]) == 0
    assert computed == ["m2"]
