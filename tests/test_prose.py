"""The linter of prose: what it finds in a text, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("proselint", reason="a tool of make check")
ROOT = Path(__file__).parent.parent


def complaints(folder: Path, text: str) -> list[str]:
    """Return what scripts/prose.py prints of a text."""
    (folder / "page.md").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "prose.py"), str(folder / "page.md")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == (1 if done.stdout else 0)
    return [line.rpartition("/")[2] for line in done.stdout.splitlines()]


def test_private_words_and_advice_are_found_in_prose_alone(tmp_path: Path) -> None:
    text = (
        "# Title\n\nThe pipeline comes along.\n\n    it comes along\n\n```text\ncomes along\n```\n\n"
        "`comes along`, [here](comes-along.md)\n\nWhat it reaches <!-- prose: quoted -->\n\n"
        "It is very unique, and nobody knows why.\n"
    )
    found = complaints(tmp_path, text)
    assert found[:2] == [
        "page.md:3: 'comes along'; write: is part of, is installed with",
        "page.md:15: 'nobody knows'; write: is unknown",
    ]
    assert len(found) > 2
    assert all(line.startswith("page.md:15: ") for line in found[2:])
    assert complaints(tmp_path, "# Title\n\nThe pipeline is part of the wheel.\n") == []
