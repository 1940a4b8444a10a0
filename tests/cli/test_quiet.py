"""`--quiet` means the same in every command: nothing on stderr but errors and what makes a result invalid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

# Without the system that has a blank hypothesis, which is warned of.
STRONG = "--src embedded/source.txt --hyp embedded/systems/strong.txt"
SHORT = {
    "STRONG": STRONG,
    "INPUT": f"{STRONG} embedded/systems/careful.txt --metric length",
    "CASES": "--case sample --resamples 9 --metric",
}
LINES = Path(__file__).with_name("quiet.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("line", [line for line in LINES if line and not line.startswith("#")])
def test_nothing_is_said_where_there_is_nothing_to_warn_of(run: Any, line: str) -> None:
    command, *said = line.format(**SHORT).split(" | ")
    err = run(f"{command} --quiet").err
    assert all(any(text in line for text in said) for line in err.splitlines())


def test_what_makes_a_result_invalid_is_said(run: Any) -> None:
    sources = Path("embedded/source.txt").read_text(encoding="utf-8").splitlines()
    Path("shifted.txt").write_text("\n".join([*sources[1:], ""]) + "\n", encoding="utf-8")
    command = f"rank {STRONG} shifted.txt --metric length --resamples 9 --quiet"
    _, err = run(command)
    blank, shifted = err.splitlines()
    assert blank == (
        f"shifted: 1 of {len(sources)} hypotheses is blank where the source is not (line {len(sources)})."
    )
    assert "correct the source of a line nearby, not their own (first in line 1)" in shifted
