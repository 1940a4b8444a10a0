from __future__ import annotations

import io
import sys

import pytest

from learnedgec.runtime.progress import track


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for kind, drawn in ((Terminal, True), (io.StringIO, False)):
        monkeypatch.setattr("sys.stderr", kind())
        assert list(track(iter("abc"), "reading", weights=[1, 2, 3])) == list("abc")
        assert ("reading" in sys.stderr.getvalue()) == drawn  # type: ignore[attr-defined]
