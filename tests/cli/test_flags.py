"""Flags that are made from the fields of a dataclass."""

from __future__ import annotations

from learnedgec.cli import sweep, tune
from learnedgec.cli.flags import read_fields, read_runtime
from learnedgec.runtime.runtime import Runtime
from learnedgec.tuning.objective import Goal
from learnedgec.tuning.trials import SearchPlan


def test_tune_has_the_defaults_of_its_plan_and_goal() -> None:
    options = tune.build_parser().parse_args([])
    assert read_fields(SearchPlan, options) == SearchPlan()
    assert read_fields(Goal, options) == Goal()
    assert read_runtime(options) == Runtime(progress=True)
    words = ["--validation", "none", "--storage", "s.db", "--seed", "3"]
    plan = read_fields(SearchPlan, tune.build_parser().parse_args(words))
    assert plan == SearchPlan(validation="none", storage="s.db", seed=3)


def test_sweep_shows_the_defaults_of_its_plan() -> None:
    text = sweep.build_parser().format_help()
    assert "(default: 20)" in text
    assert "(default: hyperband)" in " ".join(text.split())
    assert "None" not in text
