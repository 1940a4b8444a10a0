"""`learnedgec tune`: from judgements to a named metric that `score` knows."""

from __future__ import annotations

import csv
import io
import json
import pickle
import re
from pathlib import Path

import pytest
from embedded import SAMPLE_FOLDER

from learnedgec.cli.main import main
from learnedgec.errors import FormatError, UnknownNameError
from learnedgec.metrics.registry import load_metric
from learnedgec.metrics.tuned import TunedMetric, list_tuned, read_tuned, write_tuned

MIX = "ensemble(length=0.25, random=0.75)"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, in which evaluators and tuned metrics are looked up."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", str(tmp_path / "checkpoints"))
    return tmp_path / "checkpoints"


def run(*words: str) -> int:
    common = ["--benchmark", "sample", "--objective", "sentence-accuracy", "--trials", "12"]
    return main(["tune", *common, *words])


def test_writes_a_metric_that_score_knows(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--folds", "2", "--compare", "sample", "--resamples", "20", "--wide"]
    assert run("--metric", MIX, *words) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0] == "sentence-accuracy, 12 trials"
    assert [line.split()[:2] for line in lines[3:]] == [
        ["sample", label] for label in ("tuned", "given", "uniform") * 2
    ]
    # The value is marked wherever the sentences chose the parameters, and only the folds' gain is not.
    values = [line.split()[2] for line in lines[3:]]
    assert [value.endswith("*") for value in values] == [True, False, False] * 2
    assert ["]*" in line for line in lines[3:]] == [False] * 4 + [True] * 2
    assert "* tuned on sentences of this benchmark: no evidence" in err
    assert "sample: 72 of its 72 sentences are in sample, so its results are no evidence" in err
    assert "wrote checkpoints/ensemble@sample.json; use it as --metric ensemble@sample" in err
    content = json.loads((folder / "ensemble@sample.json").read_text())
    assert set(content) == {"metric", "tuned_on_test", "study"}
    assert len(content["study"]["trials"]) == 12
    assert len(content["study"]["folds"]) == 2
    tuned = load_metric("ensemble@sample")
    assert tuned.label == "ensemble@sample"
    assert str(tuned) == content["metric"].replace("ensemble(", "ensemble@sample(", 1)
    files = [str(SAMPLE_FOLDER / "systems" / f"{name}.txt") for name in ("strong", "weak")]
    source = str(SAMPLE_FOLDER / "source.txt")
    words = ["score", "--src", source, "--hyp", *files, "--metric", "ensemble@sample"]
    assert main([*words, "--format", "json"]) == 0
    records = json.loads(capsys.readouterr().out)["scores"]
    assert [record["metric"] for record in records] == [tuned.label] * 2
    assert main(["metrics"]) == 0
    assert "ensemble tuned for sentence-accuracy on sample" in capsys.readouterr().out
    assert main(["metrics", "ensemble@sample"]) == 0
    assert capsys.readouterr().out.startswith(f"{content['metric']}\n\n{{\n")


def test_json_and_csv(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--metric", MIX, "--validation", "none", "--name", "mix@mine"]
    assert run(*words, "--format", "json") == 0
    tuned = json.loads(capsys.readouterr().out)
    assert tuned["name"] == "mix@mine+sample"
    assert load_metric(tuned["metric"]) == load_metric("mix@mine+sample")
    assert tuned["study"]["held_out"] is None
    assert run(*words, "--format", "csv") == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["name"], row["metric"], row["tuned_here"]) for row in rows] == [
        ("mix@mine+sample", label, "70") for label in ("tuned", "given", "uniform")
    ]


def test_configuration_file_and_other_parameters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.yaml").write_text(
        "metric: ['gleu(iterations=1)']\nspace:\n  n: {low: 1, high: 3}\n"
        "validation: none\nsampler: gp\n"
    )
    assert run("--config", "c.yaml", "--format", "json") == 0
    tuned = json.loads(capsys.readouterr().out)
    assert tuned["study"]["space"] == {"n": "1 to 3"}
    assert {trial["parameters"]["n"] for trial in tuned["study"]["trials"]} <= {1, 2, 3}
    (tmp_path / "d.yaml").write_text("metrik: gleu\n")
    assert run("--config", "d.yaml") == 2
    assert "metrik" in capsys.readouterr().err


def test_a_storage_is_continued(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--metric", MIX, "--validation", "none", "--storage", "study.journal"]
    assert run(*words) == 0
    assert run(*words, "--trials", "15", "--format", "json") == 0
    tuned = json.loads(capsys.readouterr().out.partition("{")[2].join(["{", ""]))
    assert len(tuned["study"]["trials"]) == 15
    assert run(*words, "--seed", "1") == 2
    assert "holds a study ensemble@sample with another seed" in capsys.readouterr().err


def test_figures(tmp_path: Path) -> None:
    metric = "ensemble(length=0.25, random=0.5, gleu=0.25)"
    assert run("--metric", metric, "--folds", "2", "--plot", "figures") == 0
    two = ["--metric", MIX, "--validation", "none", "--name", "two@sample"]
    assert run(*two, "--plot", "figures") == 0
    written = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert written == [
        f"{name}_sample.{kind}.{suffix}"
        for name in ("ensemble", "two")
        for kind in ("history", "importance")
        for suffix in ("pdf", "png")
    ]


# -- files of tuned metrics ------------------------------------------------------------------------


def test_tuned_names(folder: Path) -> None:
    write_tuned(folder, "gleu@mine", TunedMetric("gleu(n=2, iterations=9)", {"benchmark": "mine"}))
    assert list_tuned() == {"gleu@mine": folder / "gleu@mine.json"}
    assert load_metric("gleu@mine") == load_metric("gleu(n=2, iterations=9)")
    assert load_metric("gleu@mine(n=3)") == load_metric("gleu@mine", n=3)
    assert load_metric("gleu@mine(n=3)") == load_metric("gleu(n=3, iterations=9)")
    both = load_metric("ensemble(members={'gleu@mine': 0.5, 'length': 0.5})")
    assert both.label == "ensemble(gleu@mine=0.5, length=0.5)"
    assert "gleu@mine(n=2" in str(both)
    assert load_metric(str(both)) == both
    assert load_metric("GLEU@Mine").label == "gleu@mine"
    with pytest.raises(UnknownNameError, match="did you mean 'gleu@mine'"):
        load_metric("gleu@min")


@pytest.mark.filterwarnings("ignore:.* was tuned on test data")
def test_a_tuned_metric_keeps_its_name_and_the_mark(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_tuned(folder, "gleu@x+test", TunedMetric("gleu(n=2)", {"benchmark": "x"}, True))
    with pytest.warns(UserWarning, match=r"gleu@x\+test was tuned on test data \(x\)"):
        metric = load_metric("gleu@x+test")
    assert metric.label == "gleu@x+test"
    assert load_metric("gleu@x+test(n=3)").label == "gleu@x+test(n=3)"
    assert str(metric).startswith("gleu@x+test(n=2, ")
    for name in (str(metric), metric.label):
        assert str(load_metric(name)) == str(metric)
    assert str(pickle.loads(pickle.dumps(metric))) == str(metric)
    assert load_metric("ensemble(gleu@x+test=0.5, length=0.5)").tuned_on_test
    # Its statistics are those of the metric that it is.
    assert str(metric.for_statistics) == str(load_metric("gleu(n=2)"))

    source, hypothesis = str(SAMPLE_FOLDER / "source.txt"), str(SAMPLE_FOLDER / "ref1.txt")
    words = ["--src", source, "--hyp", hypothesis, "--ref", str(SAMPLE_FOLDER / "ref0.txt")]
    out = tmp_path / "scores.json"
    assert main(["score", *words, "--metric", "gleu@x+test"]) == 0
    assert "gleu@x+test" in capsys.readouterr().out.splitlines()[0]
    assert (
        main(["score", *words, "--metric", "gleu@x+test", "--format", "json", "--out", str(out)])
        == 0
    )
    (score,) = json.loads(out.read_text())["scores"]
    assert score["metric"] == "gleu@x+test"
    assert score["signature"].startswith("gleu@x+test(n=2, ")

    # Tuned anew, elsewhere, it is still made of what test data taught.
    assert run("--metric", "ensemble(gleu@x+test=0.5, length=0.5)", "--validation", "none") == 0
    assert [path.name for path in folder.glob("ensemble*")] == ["ensemble@sample+test.json"]


def test_a_file_cannot_hide_the_mark(folder: Path) -> None:
    path = write_tuned(folder, "gleu@x", TunedMetric("gleu(n=2)", {"benchmark": "x"}, True))
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
def test_damaged_files_are_named(folder: Path, content: str, message: str) -> None:
    folder.mkdir()
    (folder / "gleu@mine.json").write_text(content)
    with pytest.raises(FormatError, match=rf"gleu@mine\.json:1: .*{message}"):
        read_tuned("gleu@mine")


def test_tables_mark_a_metric_on_sentences_that_it_was_tuned_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--metric", MIX, "--folds", "2") == 0
    capsys.readouterr()
    words = ["meta", "--benchmark", "sample", "--resamples", "10", "--window", "3"]
    members = "ensemble(ensemble@sample=0.5, edit-count=0.5)"
    table = [
        *words,
        "--measure",
        "sentence_accuracy",
        "--metric",
        "ensemble@sample",
        members,
        "hter",
    ]
    assert main(table) == 0
    out, err = capsys.readouterr()
    marked = [line.split()[0] for line in out.splitlines() if re.search(r"\d\* ", line)]
    assert len(marked) == 2
    assert "* tuned on sentences of this benchmark" in out + err
    assert (
        "ensemble@sample was tuned on 70 of the 72 sentences here; only its held-out folds "
        "(sentence-accuracy on sample "
    ) in err
    words += ["--metric", "ensemble@sample"]
    assert main([*words, "--format", "json"]) == 0
    metrics = json.loads(capsys.readouterr().out)["evaluations"][0]["metrics"]
    assert [entry["tuned_here"] for entry in metrics[:2]] == [70, 0]
    assert main([*words, "--format", "csv"]) == 0
    first = next(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert (first["metric"], first["tuned_here"]) == ("ensemble@sample", "70")
    for shown in ("scores", "windows", "leave-one-out", "tests"):
        assert main([*words, "--show", shown, "--format", "tsv"]) == 0
        assert "ensemble@sample*" in capsys.readouterr().out
    source, hypothesis = str(SAMPLE_FOLDER / "source.txt"), str(SAMPLE_FOLDER / "ref1.txt")
    words = ["score", "--src", source, "--hyp", hypothesis, "--metric", "ensemble@sample"]
    assert main(words) == 0
    assert "ensemble@sample was tuned on 70 of the 72 sentences" in capsys.readouterr().err
