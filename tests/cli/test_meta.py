"""`learnedgec meta` from the command line."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from embedded import SAMPLE_FOLDER

from learnedgec.metrics.green import Green

SAMPLE = "meta --benchmark sample --resamples 20 --window 3"


def test_json_holds_everything(run: Any) -> None:
    out = run(f"{SAMPLE} --metric green --human EW fluency --tests --format json").json
    ranked, rated = out["evaluations"]
    assert (ranked["human"], rated["human"]) == ("EW", "fluency")
    assert ranked["notices"] == ["source: no human score EW, left out."]
    green = ranked["metrics"][0]
    assert green["measures"]["sentence_accuracy"]["count"] == 313
    assert len(green["windows"]["pearson"]) == 2
    assert set(green["without"]["spearman"]) == set(ranked["human_scores"])
    assert "benchmark:sample|human:EW|aggregation:mean|ties:symmetric" in green["signature"]
    assert rated["metrics"][0]["measures"]["grouped_kendall"]["unit"] == "sources"
    assert {test["measure"] for test in rated["tests"]} == {
        "pearson",
        "sentence_accuracy",
        "segment_pearson",
    }


def test_measures_are_chosen_by_name(run: Any) -> None:
    header = run(f"{SAMPLE} --measure kendall tie_calibrated_accuracy").out.splitlines()[1].split()
    assert header == ["metric", "kendall", "tie", "calibrated", "accuracy"]
    assert "did you mean 'kendall'" in run(f"{SAMPLE} --measure kendal", code=2).err


def test_ranks_with_their_differences(run: Any) -> None:
    command = f"{SAMPLE} --metric green --human EW --format csv --show"
    rows, scores = run(f"{command} ranks").rows, run(f"{command} scores").rows
    by_metric = sorted(scores, key=lambda row: -float(row["green"]))
    ranks = {row["system"]: place for place, row in enumerate(by_metric, 1)}
    assert [row["human EW"] for row in rows[:-1]] == ["1", "2", "3", "4"]
    assert {row["system"]: int(row["green"]) for row in rows[:-1]} == ranks
    changes = [int(row["Δ green"]) for row in rows]
    assert changes[:-1] == [ranks[row["system"]] - place for place, row in enumerate(rows[:-1], 1)]
    assert (rows[-1]["system"], changes[-1]) == ("Σ|Δ|", sum(map(abs, changes[:-1])))


def test_several_aggregations_in_one_call(run: Any) -> None:
    command = f"{SAMPLE} --metric green --human EW --show best --format csv --aggregation"
    both = run(f"{command} mean trueskill").rows
    rows = [row for row in both if row["metric"] == "green"]
    assert [(row["aggregation"], row["correlation"]) for row in rows] == [
        (aggregation, kind)
        for aggregation in ("mean", "trueskill")
        for kind in ("pearson", "spearman")
    ]
    first = run(f"{command} trueskill").rows[0]
    assert first["best 4"] == rows[2]["best 4"]
    assert "aggregation" not in first


def test_a_folder_of_ones_own_tells_each_notice_once(run: Any) -> None:
    shutil.copytree(SAMPLE_FOLDER, "mine")
    command = "meta --benchmark mine --metric 'gleu(n=2)' --resamples 9 --quiet"
    for human in ("EW TS", "EW"):
        lines = run(f"{command} --human {human}").err.splitlines()
        assert [line for line in lines if "left out" in line] == [
            f"mine: source: no human score {name}, left out." for name in human.split()
        ]
    Path("mine/ratings.csv").unlink()
    (evaluation,) = run(f"{command} --format json").json["evaluations"]
    assert evaluation["benchmark"] == "mine"


def test_a_second_run_reads_the_statistics(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    command = f"{SAMPLE} --metric green --cache-dir cache"
    first = run(command)
    monkeypatch.setattr(Green, "compute", None)
    assert run(command) == first


def test_plots_are_written(run: Any) -> None:
    pytest.importorskip("matplotlib")
    run(f"{SAMPLE} --metric green --plot figures")
    assert len(list(Path("figures").glob("sample.EW.mean.*.pdf"))) == 6
