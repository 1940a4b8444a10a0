from __future__ import annotations

import io
import sys

import pytest

from learnedgec.runtime.progress import pace, track, track_pace


def test_without_a_terminal_a_line_comes_every_half_minute(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seconds = iter([0.0, 10.0, 31.0, 40.0, 62.0])
    items = [("a", 100), ("b", 210), ("c", 90), ("d", 220)]
    assert list(track_pace(items, 10_000, 380, clock=lambda: next(seconds))) == list("abcd")
    assert capsys.readouterr().err.splitlines() == [
        "690 of 10,000 sentences, 10/s, 15 min 31 s left",
        "1,000 of 10,000 sentences, 10/s, 15 min 0 s left",
    ]
    assert list(track_pace(items, 1000, show=False, clock=lambda: 99.0)) == list("abcd")
    assert capsys.readouterr().err == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for kind, drawn in ((Terminal, True), (io.StringIO, False)):
        monkeypatch.setattr("sys.stderr", kind())
        assert list(track(iter("abc"), "reading", weights=[1, 2, 3])) == list("abc")
        assert ("reading" in sys.stderr.getvalue()) == drawn  # type: ignore[attr-defined]


def test_a_terminal_has_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", Terminal())
    seconds = iter([0.0, 1.0, 2.0])
    list(track_pace([("a", 4), ("b", 4)], 8, clock=lambda: next(seconds)))
    assert isinstance(sys.stderr, Terminal)
    assert sys.stderr.getvalue() == (
        "\r\x1b[K4 of 8 sentences, 4/s, 1 s left\r\x1b[K8 of 8 sentences, 4/s, 0 s left\r\x1b[K"
    )


def test_pace() -> None:
    assert pace(10, 20_000, 10, 20) == "10 of 20,000 sentences, 0.5/s, 11 h 6 min left"
    assert pace(5, 5, 0, 0) == "5 of 5 sentences, 0/s, 0 s left"
