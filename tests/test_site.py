"""The site, once `make docs` has built it without a warning, has a page for everything."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

import learnedgec
from learnedgec.cli.commands import COMMANDS
from learnedgec.metrics.cards import cards, load_card

pytest.importorskip("furo", reason="the extra docs is not installed")
DOCS = Path(__file__).parent.parent / "docs"
SITE = os.environ.get("LEARNEDGEC_SITE")


@pytest.mark.skipif(SITE is None, reason="`make docs` builds the site and runs this")
def test_the_site_has_a_page_for_everything() -> None:
    assert SITE is not None
    html = Path(SITE)
    reference = html / "reference"
    for folder, names in {"metrics": cards(), "cli": list(COMMANDS)}.items():
        pages = {path.stem for path in (reference / folder).glob("*.html")}
        assert pages == {*names, "index"}
    top = (reference / "api" / "learnedgec.html").read_text(encoding="utf-8")
    for name in {*learnedgec.__all__} - {"__version__"}:
        assert f'id="learnedgec.{name}"' in top
    keys = (reference / "configuration" / "training.html").read_text(encoding="utf-8")
    for key in ("model.encoder", "data.pairs", "trainer.max_epochs", "early_stopping.patience"):
        assert key in keys
    # The leaderboard is in a page and one file, with all its data.
    cells = json.loads((DOCS / "results" / "leaderboard.json").read_text(encoding="utf-8"))["cells"]
    for name in ("leaderboard.html", "leaderboard-file.html"):
        board = (html / name).read_text(encoding="utf-8")
        data = board.partition('id="metric-board-data">')[2].partition("</script>")[0]
        assert json.loads(data)["cells"] == cells
        assert 'src="http' not in board
    # Nothing is fetched from elsewhere when a page is read.
    page = (html / "index.html").read_text(encoding="utf-8")
    assert 'src="http' not in page
    assert 'rel="stylesheet" href="http' not in page


def test_a_card_says_which_parameters_are_required_and_which_have_a_default() -> None:
    spec = importlib.util.spec_from_file_location("reference", DOCS / "_extensions/reference.py")
    assert spec is not None
    assert spec.loader is not None
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    card = reference._card
    assert not any(" at 0x" in card(load_card(name)) for name in cards())
    # Which annotator is the default depends on what is installed.
    assert ": The spaCy pipeline that finds edits: see `errant`.\n" in card(load_card("uot-errant"))
    assert "or of an adapter; required.\n" in card(load_card("classifier"))
    assert "twice as much; default: `0.5`.\n" in card(load_card("uot-errant"))
