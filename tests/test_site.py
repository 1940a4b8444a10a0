"""The site builds without a warning: every link in it leads somewhere. It has a page for everything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import learnedgec
from learnedgec.cli.main import COMMANDS
from learnedgec.metrics.cards import cards

pytest.importorskip("furo", reason="the extra docs is not installed")
DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    words = ["-q", "-j", "2", "--fail-on-warning", "--keep-going", "-d", str(tmp_path / "doctrees")]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words, str(DOCS), str(tmp_path / "html")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    reference = tmp_path / "html" / "reference"
    for folder, names in {"metrics": cards(), "cli": list(COMMANDS)}.items():
        pages = {path.stem for path in (reference / folder).glob("*.html")}
        assert pages == {*names, "index"}
    top = (reference / "api" / "learnedgec.html").read_text(encoding="utf-8")
    for name in {*learnedgec.__all__} - {"__version__"}:
        assert f'id="learnedgec.{name}"' in top
    keys = (reference / "configuration" / "training.html").read_text(encoding="utf-8")
    for key in ("model.encoder", "data.pairs", "trainer.max_epochs", "early_stopping.patience"):
        assert key in keys
    # Nothing is fetched from elsewhere when a page is read.
    page = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
    assert 'src="http' not in page
    assert 'rel="stylesheet" href="http' not in page
