"""Flags that are made from the fields of a dataclass."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from learnedgec.cli import sweep, tune
from learnedgec.cli.commands import COMMANDS
from learnedgec.cli.flags import read_fields, read_runtime
from learnedgec.cli.main import main
from learnedgec.runtime.runtime import Runtime
from learnedgec.tuning.objective import Goal
from learnedgec.tuning.search import SearchPlan


def test_tune_has_the_defaults_of_its_plan_and_goal() -> None:
    options = tune.build_parser().parse_args([])
    assert read_fields(SearchPlan, options) == SearchPlan()
    assert read_fields(Goal, options) == Goal()
    assert read_runtime(options) == Runtime(progress=True)
    words = ["--validation", "none", "--folds", "3", "--seed", "3"]
    plan = read_fields(SearchPlan, tune.build_parser().parse_args(words))
    assert plan == SearchPlan(validation="none", folds=3)


def test_sweep_shows_the_defaults_of_its_plan() -> None:
    text = sweep.build_sweep_parser().format_help()
    assert "(default: 20)" in text
    assert "(default: hyperband)" in " ".join(text.split())
    assert "None" not in text


# `train` has a test of its own.
@pytest.mark.parametrize(
    "command", sorted({*COMMANDS} - {"data", "robust", "train"} | {"data list", "robust attack"})
)
def test_help_shows_ten_options_and_help_all_every_one(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = []
    for word in ("--help", "--help-all"):
        with suppress(SystemExit):
            main([*command.split(), *(["--help"] if command == "sweep" else [word])])
        texts.append(capsys.readouterr().out)
    short, whole = (set(re.findall(r"^  (?:-[mrsy].*, )?--([\w-]+)", text, re.M)) for text in texts)
    assert len(short) <= (12 if command == "sweep" else 10)
    assert short <= whole
    assert f"--help-all lists {len(whole - short)} more options" in texts[0] or short == whole


def test_what_is_typed_most_has_short_flags(run: Any) -> None:
    files = (
        "-s embedded/source.txt -y embedded/systems/weak.txt -r embedded/ref0.txt embedded/ref1.txt"
    )
    assert run(f"score {files} -m gleu").out.split() == [
        "system",
        "gleu",
        "─" * 15,
        "weak",
        "0.2910",
    ]


def test_one_value_in_a_configuration_stands_for_a_list(run: Any) -> None:
    Path("mine.yaml").write_text(
        "src: embedded/source.txt\nhyp: embedded/systems\nmetric: length\n"
    )
    files = "--src embedded/source.txt --hyp embedded/systems --metric length"
    assert run("score --config mine.yaml").out == run(f"score {files}").out
