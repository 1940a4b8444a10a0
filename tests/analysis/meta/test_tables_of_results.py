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

from learnedgec import Resampling, load_metric
from learnedgec.analysis.meta.evaluation import evaluate
from learnedgec.analysis.meta.measures import Protocol
from learnedgec.data.benchmarks import load_benchmark

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
        [load_metric("green")],
        load_benchmark("sample"),
        Protocol(resampling=Resampling(20)),
        sentinels=False,
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
