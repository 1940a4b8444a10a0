"""`learnedgec tune`: from judgements to a named metric that `score` knows."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from learnedgec.errors import FormatError, UnknownNameError
from learnedgec.metrics.registry import load_metric, read_name
from learnedgec.metrics.tuned import TunedMetric, list_tuned, read_tuned, write_tuned

TUNE = "tune --benchmark sample --objective sentence-accuracy --trials 12"
MIX = f"{TUNE} --metric 'ensemble(length=0.25, random=0.75)'"
ALONE = f"{MIX} --validation none"
SCORE = "score --src embedded/source.txt --hyp embedded/ref1.txt --ref embedded/ref0.txt --metric"
FOLDER = Path("checkpoints")
NAME = "ensemble@sample+sentence-accuracy"


@pytest.fixture(autouse=True)
def folder(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look up evaluators and tuned metrics in the folder of `run`."""
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", str(tmp_path / "checkpoints"))


def test_writes_a_metric_that_score_knows(run: Any) -> None:
    out, err = run(f"{MIX} --folds 2 --compare sample --resamples 20 --wide --plot figures")
    table, mark, prose = out.partition("* tuned on sentences of this benchmark: no evidence")
    lines, prose = table.splitlines(), " ".join(prose.split())
    assert lines[0] == (
        "Agreement with people by sentence-accuracy on 313 comparisons in 60 sentences, 12 trials"
    )
    assert [line.split()[:2] for line in lines[3:]] == [
        ["sample", label] for label in ("tuned", "given", "uniform") * 2
    ]
    # The value is marked wherever the sentences chose the parameters, and only the folds' gain is not.
    values = [line.split()[2] for line in lines[3:]]
    assert [value.endswith("*") for value in values] == [True, False, False] * 2
    assert ["]*" in line for line in lines[3:]] == [False] * 4 + [True] * 2
    assert mark
    assert "expect no gain" in prose
    assert "ensemble@sample+sentence-accuracy is on a standardised scale: 0 is the" in prose
    assert "sample: 72 of its 72 sentences are in sample, so its results are no evidence" in err
    assert f"wrote checkpoints/{NAME}.json; use it as --metric {NAME}" in err
    assert Path("figures/ensemble_sample+sentence-accuracy.history.pdf").is_file()
    content = json.loads((FOLDER / "ensemble@sample+sentence-accuracy.json").read_text())
    assert set(content) == {"metric", "tuned_on_test", "study"}
    assert len(content["study"]["trials"]) == 12
    assert len(content["study"]["folds"]) == 2
    tuned = read_name("ensemble@sample+sentence-accuracy")
    assert tuned.label == "ensemble@sample+sentence-accuracy"
    assert str(tuned) == content["metric"].replace(
        "ensemble(", "ensemble@sample+sentence-accuracy(", 1
    )
    (record,) = run(f"{SCORE} ensemble@sample+sentence-accuracy --format json").json["rows"]
    assert record["metric"] == tuned.label
    assert "ensemble tuned for sentence-accuracy on sample" in run("metrics").out
    assert run("metrics ensemble@sample+sentence-accuracy").out.startswith(
        f"{content['metric']}\n\n{{\n"
    )


def test_json_and_csv(run: Any) -> None:
    command = f"{ALONE} --name mix@mine --format"
    content = run(f"{command} json").json
    tuned = content["tuned"]
    assert tuned["name"] == "mix@mine+sample"
    assert load_metric(tuned["metric"]) == load_metric("mix@mine+sample")
    assert tuned["study"]["held_out"] is None
    rows = run(f"{command} csv --overwrite").rows
    assert [key for key, cell in rows[0].items() if cell] == [
        key for key, value in content["rows"][0].items() if value is not None
    ]
    assert [(row["name"], row["candidate"], row["tuned_here"]) for row in rows] == [
        ("mix@mine+sample", label, "70") for label in ("tuned", "given", "uniform")
    ]


def test_configuration_file_and_other_parameters(run: Any) -> None:
    Path("c.yaml").write_text(
        "metric: ['gleu(iterations=1)']\nspace:\n  n: {low: 1, high: 3}\nvalidation: none\n"
    )
    study = run(f"{TUNE} --config c.yaml --format json").json["tuned"]["study"]
    assert study["space"] == {"n": "1 to 3"}
    assert {trial["parameters"]["n"] for trial in study["trials"]} <= {1, 2, 3}
    Path("d.yaml").write_text("metrik: gleu\n")
    assert "metrik" in run(f"{TUNE} --config d.yaml", code=2).err


def test_a_tuned_metric_is_not_replaced_unless_asked(run: Any) -> None:
    mix = "tune --benchmark sample --trials 6 --validation none --metric 'ensemble(length=1, random=1)'"
    run(f"{mix} --objective sentence-accuracy")
    run(mix)
    run(f"{mix} --objective pearson")
    objectives = {
        name: read_tuned(f"ensemble@sample{name}").study["objective"]
        for name in ("", "+pearson", "+sentence-accuracy")
    }
    assert objectives == {
        "": "kendall",
        "+pearson": "pearson",
        "+sentence-accuracy": "sentence-accuracy",
    }
    message = "checkpoints/ensemble@sample+pearson.json exists; choose another name, or replace it"
    assert message in run(f"{mix} --objective pearson --seed 1", code=2).err
    named = f"{mix} --name ensemble@sample"
    assert "--overwrite" in run(f"{named} --objective pearson", code=2).err
    assert read_tuned("ensemble@sample").study["objective"] == "kendall"
    run(f"{named} --objective pearson --overwrite")
    assert read_tuned("ensemble@sample").study["objective"] == "pearson"


def test_tables_mark_a_metric_on_sentences_that_it_was_tuned_on(run: Any) -> None:
    run(f"{MIX} --folds 2")
    meta = "meta --benchmark sample --resamples 10 --window 3 --metric ensemble@sample+sentence-accuracy"
    members = "ensemble(ensemble@sample+sentence-accuracy=0.5, edit-count=0.5)"
    out, err = run(f"{meta} '{members}' hter --measure sentence_accuracy")
    marked = [line.split()[0] for line in out.splitlines() if re.search(r"\d\* ", line)]
    assert len(marked) == 2
    assert "* tuned on sentences of this benchmark" in out
    assert (
        "ensemble@sample+sentence-accuracy was tuned on 70 of the 72 sentences here; only its held-out "
        in err
    )
    metrics = run(f"{meta} --format json").json["evaluations"][0]["metrics"]
    assert [entry["tuned_here"] for entry in metrics[:2]] == [70, 0]
    first = run(f"{meta} --format csv").rows[0]
    assert (first["metric"], first["tuned_here"]) == ("ensemble@sample+sentence-accuracy", "70")
    for shown in ("scores", "windows", "leave-one-out", "tests"):
        out = "".join(run(f"{meta} --show {shown} --wide").out.split())
        assert "ensemble@sample+sentence-accuracy*" in out
    out, err = run(f"{SCORE} ensemble@sample+sentence-accuracy")
    assert (
        "ensemble@sample+sentence-accuracy is on a standardised scale: 0 is the mean score" in out
    )
    assert "ensemble@sample+sentence-accuracy was tuned on 70 of the 72 sentences" in err


# -- files of tuned metrics ------------------------------------------------------------------------


def test_tuned_names() -> None:
    write_tuned(FOLDER, "gleu@mine", TunedMetric("gleu(n=2, iterations=9)", {"benchmark": "mine"}))
    assert list(list_tuned()) == ["gleu@mine"]
    assert load_metric("gleu@mine") == load_metric("gleu(n=2, iterations=9)")
    assert load_metric("gleu@mine(n=3)") == load_metric("gleu@mine", n=3)
    assert load_metric("gleu@mine(n=3)") == load_metric("gleu(n=3, iterations=9)")
    both = load_metric("ensemble(members={'gleu@mine': 0.5, 'length': 0.5})")
    assert both.label == "ensemble(gleu@mine=0.5, length=0.5)"
    assert "gleu@mine(n=2" in str(both)
    assert load_metric(str(both)) == both
    with pytest.raises(UnknownNameError, match="did you mean 'gleu@mine'"):
        load_metric("gleu@min")


@pytest.mark.filterwarnings("ignore:.* was tuned on test data")
def test_a_tuned_metric_keeps_its_name_and_the_mark(run: Any) -> None:
    write_tuned(FOLDER, "gleu@x+test", TunedMetric("gleu(n=2)", {"benchmark": "x"}, True))
    with pytest.warns(UserWarning, match=r"gleu@x\+test was tuned on test data \(x\)"):
        named = read_name("gleu@x+test")
    assert named.label == "gleu@x+test"
    assert read_name("gleu@x+test(n=3)").label == "gleu@x+test(n=3)"
    assert str(named).startswith("gleu@x+test(n=2, ")
    for name in (str(named), named.label):
        assert read_name(name) == named
    assert pickle.loads(pickle.dumps(named)) == named
    assert read_name("ensemble(gleu@x+test=0.5, length=0.5)").tuned_on_test
    # It is the metric with these parameters.
    assert named.metric == load_metric("gleu(n=2)")

    assert "gleu@x+test" in run(f"{SCORE} gleu@x+test").out.splitlines()[0]
    (score,) = run(f"{SCORE} gleu@x+test --format json").json["rows"]
    assert score["metric"] == "gleu@x+test"
    assert score["signature"].startswith("gleu@x+test(n=2, ")

    # Tuned anew, elsewhere, it is still made of what test data taught.
    run(f"{TUNE} --validation none --metric 'ensemble(gleu@x+test=0.5, length=0.5)'")
    assert [path.name for path in FOLDER.glob("ensemble*")] == [
        "ensemble@sample+sentence-accuracy+test.json"
    ]


def test_equal_metrics_under_two_names_have_a_column_and_a_signature_each(run: Any) -> None:
    write_tuned(FOLDER, "gleu@mine", TunedMetric("gleu(iterations=10)", {"benchmark": "mine"}))
    command = f"{SCORE} gleu@mine 'gleu(iterations=10)'"
    assert run(command).out.splitlines()[0].split() == [
        "system",
        "gleu@mine",
        "gleu(iterations=10)",
    ]
    scores = run(f"{command} --format json").json["rows"]
    assert [score["metric"] for score in scores[:: len(scores) // 2]] == [
        "gleu@mine",
        "gleu(iterations=10)",
    ]
    assert [score["signature"].partition("(")[0] for score in scores[:: len(scores) // 2]] == [
        "gleu@mine",
        "gleu",
    ]


def test_a_file_cannot_hide_the_mark() -> None:
    path = write_tuned(FOLDER, "gleu@x", TunedMetric("gleu(n=2)", {"benchmark": "x"}, True))
    with pytest.raises(FormatError, match=rf"{path}:1: .*rename the file to gleu@x\+test\.json"):
        load_metric("gleu@x")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "not a tuned metric"),
        ('{"metric": "gleu@mine", "study": {}, "tuned_on_test": false}', "with its parameters"),
        ('{"metric": "gleu", "study": 3, "tuned_on_test": false}', "must be an object"),
    ],
)
def test_damaged_files_are_named(content: str, message: str) -> None:
    FOLDER.mkdir()
    (FOLDER / "gleu@mine.json").write_text(content)
    with pytest.raises(FormatError, match=rf"gleu@mine\.json:1: .*{message}"):
        read_tuned("gleu@mine")
