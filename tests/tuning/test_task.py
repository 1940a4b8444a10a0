"""Tuning from Python: it writes what the command writes, and refuses what the command refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import learnedgec
from learnedgec.errors import ConfigError, InputError, LeakageError, OutputError, UnknownNameError

MIX = "ensemble(length=0.25, random=0.75)"
SHORT: Any = {"objective": "sentence-accuracy", "trials": 12}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_it_finds_and_writes_what_the_command_does() -> None:
    from learnedgec.cli.main import main

    command = (
        "tune --metric MIX --benchmark sample --objective sentence-accuracy --trials 12 --folds 2"
    )
    command += " --compare sample --resamples 20 --quiet --output command"
    assert main([MIX if word == "MIX" else word for word in command.split()]) == 0
    tuned = learnedgec.tune(MIX, "sample", **SHORT, folds=2, compare=["sample"], resamples=20)
    assert tuned.file == Path("checkpoints/ensemble@sample+sentence-accuracy.json")
    assert json.loads(tuned.file.read_text()) == json.loads(
        Path("command", tuned.file.name).read_text()
    )
    assert learnedgec.load_metric(tuned.name) == tuned.metric
    assert len(tuned.history) == 12
    assert tuned.gain == tuned.tuning.gain
    assert [row["metric"] for row in tuned.rows()] == ["tuned", "given", "uniform"] * 2
    assert "expect no gain" in tuned.conclusions[0]
    lines = repr(tuned).splitlines()
    assert lines[0] == f"{tuned.name}: {tuned.metric.label}"
    assert len(lines) == 3
    assert tuned._repr_html_().count("<tr>") == 7


def test_a_benchmark_may_be_an_object_and_nothing_need_be_written() -> None:
    benchmark = learnedgec.load_benchmark("sample")
    tuned = learnedgec.tune(
        learnedgec.load_metric(MIX), benchmark, **SHORT, validation="none", output=None
    )
    assert tuned.file is None
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"metric": "gleu"}, ConfigError, "space: gleu has no weights"),
        ({"benchmark": "smaple"}, UnknownNameError, "did you mean 'sample'"),
        ({"benchmark": "seeda:dev"}, InputError, "stands for seeda-s:dev and seeda-e:dev"),
        ({"objective": "bleu"}, InputError, "no objective 'bleu'"),
        ({"sampler": "grid"}, ConfigError, "sampler is 'grid'; one of tpe, cma-es, gp was"),
        ({"validation": "x"}, ConfigError, "validation is 'x'; one of k-fold, systems, none was"),
        ({"trials": 0}, ConfigError, "trials is 0; a number of at least 1 was expected"),
        ({"name": "plain"}, ConfigError, "'plain' is not a name for a tuned metric"),
        ({"space": {"weights": 3}}, ConfigError, "3 is not a range"),
        ({"validation": "systems", "objective": "kendall"}, ConfigError, "Hold out"),
    ],
)
def test_what_the_command_refuses_is_refused(
    options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        learnedgec.tune(**{"metric": MIX, "benchmark": "sample", **SHORT, **options})
    assert list(Path().iterdir()) == []


def test_a_tuned_metric_is_not_replaced_unless_asked() -> None:
    given: Any = {**SHORT, "validation": "none"}
    learnedgec.tune(MIX, "sample", **given)
    with pytest.raises(OutputError, match=r"or replace it with overwrite=True\.$"):
        learnedgec.tune(MIX, "sample", **given)
    learnedgec.tune(MIX, "sample", **given, overwrite=True)


@pytest.mark.realdata
def test_test_data_are_refused_or_marked() -> None:
    with pytest.raises(LeakageError, match=r"tuned_on_test=True"):
        learnedgec.tune(MIX, "seeda-s", **SHORT)
