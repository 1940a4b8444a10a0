from __future__ import annotations

import os

import pytest

from learnedgec.errors import ConfigError
from learnedgec.runtime.runtime import Runtime, parallel_map


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 100])
def test_results_are_in_order(jobs: int, count: int) -> None:
    words = [f"word {number}" for number in range(count)]
    assert parallel_map(str.upper, words, "shouting", Runtime(jobs=jobs)) == [
        word.upper() for word in words
    ]


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_the_work_comes_through(jobs: int) -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        parallel_map(int, ["1"] * 60 + ["one"], "counting", Runtime(jobs=jobs))


def test_killed_processes_are_one_clear_error() -> None:
    with pytest.raises(ConfigError, match="use jobs=1"):
        parallel_map(os._exit, [3] * 100, "dying", Runtime(jobs=2))
