"""The picture of the architecture shows the import graph as it is."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "architecture.py"))


def test_the_picture_is_up_to_date(script: dict[str, Any]) -> None:
    committed = (ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8")
    assert committed == script["picture"](), "run: python scripts/architecture.py"


def test_every_part_is_drawn_and_arrows_point_down(script: dict[str, Any]) -> None:
    root = ElementTree.fromstring((ROOT / "docs" / "architecture.svg").read_text(encoding="utf-8"))
    drawn = {text.text for text in root.iter("{http://www.w3.org/2000/svg}text")}
    folders = {path.parent.name for path in (ROOT / "learnedgec").glob("*/__init__.py")}
    assert folders <= drawn
    row = {part: place for place, parts in enumerate(script["read_layers"]()) for part in parts}
    imports = script["read_imports"](list(row))
    assert imports["analysis"] >= {"metrics", "stats"}
    assert all(row[part] < row[other] for part, others in imports.items() for other in others)
