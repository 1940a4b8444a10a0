"""Flags that are made from the fields of a dataclass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest
from jsonargparse import ArgumentParser

from learnedgec.cli import tune
from learnedgec.cli.options import add_field_arguments, read_fields, read_runtime
from learnedgec.execution.runtime import Runtime
from learnedgec.tuning.objective import Goal
from learnedgec.tuning.trials import SearchPlan


@dataclass(frozen=True)
class Trip:
    """How to go.

    Attributes:
        by: `train` or
            `ferry`.
        days: how many.
        return_ticket: come back.
        seat: which one; any if absent.
    """

    by: Literal["train", "ferry"] = "train"
    days: int = 2
    return_ticket: bool = False
    seat: str | None = None


def trip(*words: str, **options: list[str]) -> Trip:
    parser = ArgumentParser(exit_on_error=False)
    add_field_arguments(parser.add_argument, Trip, **options)
    return read_fields(Trip, parser.parse_args(list(words)), seat="none")


def test_a_flag_for_each_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert trip("--by", "ferry", "--return-ticket", leave_out=["seat"]) == Trip(
        "ferry", 2, True, "none"
    )
    assert trip("--days", "5", leave_out=["seat", "by"]).days == 5
    assert trip("--by", "foot", leave_out=["seat"], checked=["by"]).by == "foot"
    with pytest.raises(Exception, match="invalid choice: 'foot'"):
        trip("--by", "foot", leave_out=["seat"])
    with pytest.raises(SystemExit):
        trip("--help")
    assert "train or ferry (default: train)" in capsys.readouterr().out


def test_tune_has_the_defaults_of_its_plan_and_goal() -> None:
    options = tune.build_parser().parse_args([])
    assert read_fields(SearchPlan, options) == SearchPlan()
    assert read_fields(Goal, options) == Goal()
    assert read_runtime(options) == Runtime(progress=True)
    words = ["--prune", "--validation", "none", "--storage", "s.db", "--seed", "3"]
    plan = read_fields(SearchPlan, tune.build_parser().parse_args(words))
    assert plan == SearchPlan(prune=True, validation="none", storage="s.db", seed=3)
