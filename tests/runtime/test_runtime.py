from __future__ import annotations

import io
import os
import sys
import time

import pytest

from learnedgec.errors import ConfigError
from learnedgec.runtime.runtime import ProgressLines, Runtime, parallel_map, track


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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_on_a_terminal_and_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ProgressLines, "_due", 0)
    for kind, notebook, drawn in (
        (Terminal, False, True),
        (io.StringIO, False, False),
        (io.StringIO, True, True),
    ):
        monkeypatch.setattr("sys.stderr", kind())
        if notebook:
            monkeypatch.setitem(sys.modules, "ipykernel", sys)
        assert list(track(iter("abc"), "reading", weights=[1, 2, 3])) == list("abc")
        assert ("reading" in sys.stderr.getvalue()) == drawn  # type: ignore[attr-defined]


def test_a_log_has_a_line_each_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = iter(range(0, 10_000, 20))
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    monkeypatch.setattr(ProgressLines, "_due", 0)
    for show in (True, False):
        assert list(track("abcdef", "reading", show=show)) == list("abcdef")
    assert list(track(iter("ab"), "writing")) == ["a", "b"]
    assert capsys.readouterr().err.splitlines() == [
        "reading: 1 of 6, about 0:01:40 (h:mm:ss) left.",
        "reading: 4 of 6, about 0:00:40 (h:mm:ss) left.",
        "writing: 1.",
    ]


def test_long_work_shows_once_what_would_make_it_faster(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seconds = iter(range(0, 10_000, 6))
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    monkeypatch.setattr(ProgressLines, "_due", 1e9)
    for _ in range(2):
        assert list(track("abcdef", "reading", hint="use another option.")) == list("abcdef")
    assert list(track("a", "writing", hint="be brief.")) == ["a"]
    assert capsys.readouterr().err == "reading: use another option.\n"
