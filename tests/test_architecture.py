"""The picture of the architecture shows the import graph as it is; lint-imports sees to the layers."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_picture_is_up_to_date() -> None:
    committed = (ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8")
    picture = runpy.run_path(str(ROOT / "scripts" / "architecture.py"))["picture"]
    assert committed == picture(), "run: python scripts/architecture.py"
