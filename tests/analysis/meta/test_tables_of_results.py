"""The scripts that write docs/results: cells are computed once, and every figure is in its place."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from learnedgec import load_metric
from learnedgec.analysis.meta.evaluation import evaluate
from learnedgec.analysis.meta.measures import Protocol
from learnedgec.data.benchmarks.registry import load_benchmark

SCRIPTS = Path(__file__).parents[3] / "scripts"


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return a function that imports a script."""
    loaded = set(sys.modules)
    monkeypatch.syspath_prepend(str(SCRIPTS))
    yield importlib.import_module
    for name in set(sys.modules) - loaded:
        if str(SCRIPTS) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def rows(document: Path, first: str) -> list[list[str]]:
    """Return the cells of the table rows that begin with a cell."""
    rows = [line.strip("| ").split(" | ") for line in document.read_text().splitlines()]
    return [cells for cells in rows if cells[0] == first]


def cells_of(board: Path, metric: str) -> list[dict[str, Any]]:
    """Return the cells of a metric."""
    return [cell for cell in json.loads(board.read_text())["cells"] if cell["metric"] == metric]


def test_a_cell_is_computed_once(
    scripts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rerun = scripts("rerun")
    monkeypatch.setattr(rerun, "BENCHMARKS", ("sample",))
    monkeypatch.setattr(rerun, "ProcessPoolExecutor", lambda *_: ThreadPoolExecutor(1))
    board, cells = tmp_path / "board.json", tmp_path / "cells"
    base = ["--benchmark", "sample", "--cells", str(cells), "--board", str(board)]
    base += ["--resamples", "20", "--metric"]
    rerun.main([*base, "green", "hter"])
    first = {path.name: path.read_bytes() for path in cells.iterdir()}
    assert len(first) == 2
    (cell,) = cells_of(board, "green")
    expected = evaluate(
        [load_metric("green")], load_benchmark("sample"), Protocol(resamples=20), sentinels=False
    )
    estimates = expected.metrics[0].estimates
    pearson, accuracy = estimates["pearson"], estimates["sentence_accuracy"]
    # The sample has four systems, which say nothing about systems in general.
    value, over_systems, over_sentences = cell["measures"]["mean pearson"]
    assert over_systems is None
    assert [value, *over_sentences] == pytest.approx(
        [pearson.value, *pearson.over_sentences], abs=5e-4
    )
    assert cell["measures"]["sentence_accuracy"][0] == pytest.approx(accuracy.value, abs=5e-4)
    # An interval that is not known is null: browsers refuse NaN.
    assert cell["measures"]["sentence_accuracy"][1] is None
    about = json.loads(board.read_text())["metrics"]["green"]
    assert (about["origin"], about["references"]) == (rerun.METRICS["green"], True)
    assert about["speed"] > 0

    with monkeypatch.context() as patched:
        # What is there is not computed again.
        patched.setattr(rerun, "cell", None)
        patched.setattr(rerun, "speed", None)
        rerun.main([*base, "green", "hter"])
    # What is added is in the board beside what was there, also if that is no longer among the cells.
    for name in first:
        (cells / name).unlink()
    rerun.main([*base, "edit-count"])
    assert len(list(cells.iterdir())) == 1
    assert len(cells_of(board, "green")) == len(cells_of(board, "edit-count")) == 1


def test_the_board_is_what_the_program_would_write(scripts: Any) -> None:
    rerun = scripts("rerun")
    file = rerun.RESULTS / "leaderboard.json"
    board = json.loads(file.read_text())
    assert rerun.board_text(board) == file.read_text()
    assert {cell["metric"] for cell in board["cells"]} == set(board["metrics"])
    assert {cell["benchmark"] for cell in board["cells"]} == set(board["benchmarks"])
    trained = {cell["benchmark"] for cell in board["cells"] if cell.get("trained")}
    assert trained == {"gmeg:wiki", "tmu-gfm"}


def test_published_figures_have_a_source_and_an_answer(scripts: Any) -> None:
    figures = scripts("published").read_figures()
    for figure in figures:
        assert (figure.value is None) == (figure.read == ""), figure
        assert figure.value is None or -1 <= figure.value <= 1
        if figure.metric:
            assert scripts("rerun").load_quietly(figure.metric)
            assert figure.benchmark.startswith(("seeda-s:", "seeda-e:", "gjg15"))
            assert figure.measure.split()[-1] in (
                *("pearson", "spearman", "sentence_accuracy", "sentence_kendall", "AMU"),
            )
    places = [(figure.paper, figure.table, figure.row, figure.column) for figure in figures]
    assert len(places) == len(set(places))


def test_published_figures_beside_ours(scripts: Any, tmp_path: Path) -> None:
    evaluation = evaluate(
        [load_metric("green")], load_benchmark("sample"), Protocol(resamples=20), human="EW"
    )
    value = evaluation.metrics[0].estimates["pearson"].value
    of_green = "green,sample,EW,mean pearson,here"
    figures = tmp_path / "figures.csv"
    figures.write_text(
        "paper,table,row,column,value,metric,benchmark,human,measure,read\n"
        + "".join(
            f"Green et al.,1,{row},r,{cells}\n"
            for row, cells in {
                "A": f"{value - 0.004:.5f},{of_green}",
                "B": f"{value - 0.04:.5f},{of_green}",
                "C": f"{value - 0.2:.5f},{of_green}",
                "D": "0.5,scribendi,sample,EW,mean pearson,here",
                "E": ",green,sample,EW,mean pearson,",
                "F": "0.5,,,,,here",
            }.items()
        )
    )
    out = tmp_path / "page.md"
    published = scripts("published")
    base = ["--figures", str(figures), "--cells", str(tmp_path / "cells"), "--resamples", "20"]
    published.main([*base, "--paper", "Green", "--out", str(out)])
    shown = {row: rows(out, row)[0][2:] for row in "ABCDEF"}
    ours = published.number(value)
    assert [cells[0] for cells in shown.values()][3:] == [".500", "–", ".500"]
    assert all(shown[row][1].startswith(f"{ours} [") for row in "ABCE")
    assert [cells[2] for cells in shown.values()][:3] == [".004", ".040", ".200"]
    assert {row: cells[3] for row, cells in shown.items()} == {
        "A": "met",
        "B": "near",
        "C": "not met",
        "D": "not run",
        "E": "not at hand",
        "F": "not run",
    }
    assert shown["D"][4].startswith("needs gpt2")
    assert shown["F"][4].startswith("needs F")
    (counts,) = rows(out, "Green et al.")
    assert counts[1:8] == ["1", "6", "1", "1", "1", "2", "1"]
    assert counts[8] == "1 of 3"
