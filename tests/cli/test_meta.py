"""`learnedgec meta` from the command line."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from embedded import SAMPLE_FOLDER

from learnedgec.analysis.meta.agreement import judged
from learnedgec.analysis.meta.measures import ALL_MEASURES, measures_of
from learnedgec.cli import flags
from learnedgec.data.benchmarks import load_benchmark
from learnedgec.metrics.green import Green

SAMPLE = "meta --benchmark sample --resamples 20 --window 3"


def test_json_holds_everything(run: Any) -> None:
    out = run(f"{SAMPLE} --metric green --human EW fluency --tests --format json").json
    ranked, rated = out["evaluations"]
    assert (ranked["human"], rated["human"]) == ("EW", "fluency")
    assert ranked["notices"] == ["source: no human score EW, left out."]
    green = ranked["metrics"][0]
    assert green["measures"]["sentence_accuracy"]["count"] == 313
    found = [set(entry["metrics"][0]["measures"]) for entry in out["evaluations"]]
    assert found[0] | found[1] == set(ALL_MEASURES)
    sample = load_benchmark("sample")
    assert found == [{*measures_of(judged(sample, human), human)} for human in ("EW", "fluency")]
    assert len(green["windows"]["pearson"]) == 2
    assert set(green["without"]["spearman"]) == set(ranked["human_scores"])
    assert "benchmark:sample|human:EW|aggregation:mean|ties:symmetric" in green["signature"]
    assert rated["metrics"][0]["measures"]["grouped_kendall"]["unit"] == "sources"
    assert {test["measure"] for test in rated["tests"]} == {
        "pearson",
        "sentence_accuracy",
        "segment_pearson",
    }


def test_a_measure_that_does_not_exist_is_refused_before_anything_is_scored(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flags, "read_bound", lambda options: pytest.fail("a metric was bound"))
    err = run(f"{SAMPLE} --metric quality --measure pearson sentence_acuracy", code=2).err
    assert err == (
        "learnedgec meta: no measure of sample is named 'sentence_acuracy'; did you mean "
        "'sentence_accuracy'?\n"
    )


def test_a_folder_of_ones_own_tells_each_notice_once(run: Any) -> None:
    shutil.copytree(SAMPLE_FOLDER, "mine")
    command = "meta --benchmark mine --metric 'gleu(n=2)' --resamples 9 --quiet"
    for human, new in (("EW", ["EW"]), ("EW TS", ["TS"])):
        lines = run(f"{command} --human {human}").err.splitlines()
        assert [line for line in lines if "left out" in line] == [
            f"mine: source: no human score {name}, left out." for name in new
        ]
    Path("mine/ratings.csv").unlink()
    (evaluation,) = run(f"{command} --format json").json["evaluations"]
    assert evaluation["benchmark"] == "mine"


def test_a_second_run_reads_the_statistics(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    command = f"{SAMPLE} --metric green --cache-dir cache"
    first = run(command)
    monkeypatch.setattr(Green, "compute", None)
    assert run(command).out == first.out


def test_few_comparisons_cannot_tell_metrics_apart(run: Any) -> None:
    shutil.copytree(SAMPLE_FOLDER, "mine")
    rankings = Path("mine/rankings.csv")
    lines = rankings.read_text("utf-8").splitlines(keepends=True)
    rankings.write_text("".join([lines[0], *lines[81:121]]), "utf-8")
    command = "meta --benchmark mine --metric 'gleu(iterations=5)' m2 green --human EW"
    printed = run(f"{command} --notes")
    # gleu is better than the edit count on each of the six sentences where they differ: 3 · 2/2^6.
    prose = " ".join(printed.out.split())
    assert "the best metrics are gleu 0.821 [0.64, 0.92] and green 0.821 [0.64, 0.92], and" in prose
    assert "39 comparisons cannot tell gleu from m2 (p = 1) and edit-count (p = .094)." in prose
    assert "\nEW: expected wins, a human score" in printed.out
    assert "\ncannot tell A from B: " in printed.out
    (evaluation,) = run(f"{command} --format json").json["evaluations"]
    assert evaluation["leaders"]["sentence_accuracy"]["sentinel"] == "edit-count"


def test_a_metric_below_chance_is_not_called_the_best(run: Any) -> None:
    shutil.copytree(SAMPLE_FOLDER, "mine")
    rankings = Path("mine/rankings.csv")
    swapped = rankings.read_text("utf-8").replace("better,worse", "worse,better", 1)
    rankings.write_text(swapped, "utf-8")
    gleu = "'gleu(iterations=5)'"
    alike = "\"ensemble('gleu(iterations=5)'=1)\""
    command = f"--metric {gleu} {alike} m2 --human EW --measure sentence_accuracy"
    out = " ".join(run(f"meta --benchmark mine {command}").out.split())
    assert "the best metric" not in out
    said = "mine, EW: by sentence accuracy, no metric is better than the best sentinel, {} 0."
    assert any(said.format(sentinel) in out for sentinel in ("random", "length"))
    cells = r"gleu 0\.163 \[0\.13, 0\.20\] and ensemble 0\.163 \[0\.13, 0\.20\]"
    assert re.search(
        rf"; the nearest: {cells}\. By PERM-INPUT, 313 comparisons cannot tell gleu from m2 \(p",
        out,
    )
    # Two metrics that agree equally are both the best.
    out = " ".join(run(f"meta --benchmark sample {command}").out.split())
    cell = r"0\.837 \[[^]]*\]"
    best = rf"the best metrics are gleu {cell} and ensemble {cell}, and the best sentinel is edit-count"
    assert re.search(best, out)
    assert "cannot tell gleu from m2 (p" in out
    out = run(f"meta --benchmark sample --metric {gleu} --human EW --measure sentence_accuracy").out
    assert "the best metric is gleu 0.837" in out
    assert "cannot tell" not in out


def test_a_folder_without_references_may_get_some(run: Any) -> None:
    shutil.copytree(SAMPLE_FOLDER, "mine")
    for file in Path("mine").glob("ref*.txt"):
        file.unlink()
    Path("mine/gold.m2").unlink()
    needed = "gleu needs references and the benchmark {} has none; choose another metric or another benchmark"
    write = ", or write one reference a line to mine/ref0.txt."
    for name in ("mine", "mine:dev"):
        said = run(f"meta --benchmark {name} --metric gleu", code=2).err
        assert f"{needed.format(name)}{write}" in said


def test_two_systems_and_four_comparisons_say_nothing(run: Any) -> None:
    shutil.copytree(SAMPLE_FOLDER, "mine")
    for system in ("eager", "weak"):
        Path(f"mine/systems/{system}.txt").unlink()
    Path("mine/ratings.csv").unlink()
    rows = ["0,strong,careful,0", "2,strong,careful,0", "4,careful,strong,0", "5,strong,careful,0"]
    Path("mine/rankings.csv").write_text("\n".join(["id,better,worse,tie", *rows, ""]), "utf-8")
    command = "meta --benchmark mine --metric 'gleu(iterations=5)' --human EW"
    out = run(command).out
    assert " ".join(out.split()).endswith(
        "mine, EW: too few comparisons (4) to say anything about the metrics; with 6 or more, a difference "
        "can be significant."
    )
    assert "the best metric" not in out
    (evaluation,) = run(f"{command} --format json").json["evaluations"]
    for entry in evaluation["metrics"]:
        for measure in ("pearson", "spearman", "kendall", "partial_pearson", "partial_spearman"):
            assert entry["measures"][measure]["value"] is None
            assert entry["measures"][measure]["over_systems"] == [None, None]
        assert entry["measures"]["sentence_accuracy"]["count"] == 4
    assert list(evaluation["leaders"]) == ["sentence_accuracy"]


def test_every_table_of_a_wide_evaluation_begins_with_the_metric(run: Any) -> None:
    out = run("meta --benchmark sample --metric 'gleu(iterations=5)' --human fluency").out
    assert "outputs 360, sources 68\n" in out
    assert len([line for line in out.splitlines() if line.startswith(" metric ")]) == 2


def test_ranks_by_several_human_scores_are_set_beside_the_nearest(run: Any) -> None:
    table = run(f"{SAMPLE} --metric edit-count --human EW TS --show ranks --format json").json
    distances: dict[str, list[int]] = {}
    for row in table["rows"]:
        if row["metric"] == "edit-count":
            distances.setdefault(row["system"], []).append(abs(row["difference"]))
    first, second, nearest = (row for row in table["totals"] if row["metric"] == "edit-count")
    assert [row["human"] for row in (first, second)] == ["EW", "TS"]
    assert first["difference"] == sum(distance for distance, _ in distances.values())
    assert nearest["system"] == "Σ|Δ| to the nearest of EW, TS"
    assert nearest["difference"] == sum(map(min, distances.values())) == 4
