"""Sphinx extension: the leaderboard, from docs/results/leaderboard.json, in a page and as one HTML file.

    python docs/_extensions/leaderboard.py leaderboard.html      the file alone

The directive `leaderboard` puts it into a page. Its scripts are leaderboard.js and two of the report's, and its
styles are the report's, in a shadow root, so that those of the site and of the leaderboard do not meet.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

DOCS = Path(__file__).parent.parent
DATA = DOCS / "results" / "leaderboard.json"
REPORT = DOCS.parent / "learnedgec" / "report" / "assets"
FOLDER = DOCS / "leaderboard"
STYLES = [REPORT / "page.css", FOLDER / "leaderboard.css"]
SCRIPTS = [REPORT / "dom.js", REPORT / "charts.js", FOLDER / "leaderboard.js"]
FILE = "leaderboard-file.html"


def fragment(data: str) -> str:
    """Return the element, the data and the scripts."""
    # The site or the file chooses between light and dark.
    style = _joined(STYLES).replace("color-scheme: light dark;", "").replace(":root", ":host")
    return (
        '<div id="metric-board"></div>\n'
        "<noscript><p>The table needs JavaScript; docs/results/leaderboard.json has its figures.</p></noscript>\n"
        f'<script type="application/json" id="metric-board-data">{_embedded(json.loads(data))}</script>\n'
        f"<script>\n(() => {{\n'use strict';\nconst STYLE = {_embedded(style)};\n{_joined(SCRIPTS)}}})();\n"
        "</script>\n"
    )


def page(data: str) -> str:
    """Return the leaderboard as one HTML file, which needs no network."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<title>Metrics of GEC: leaderboard</title>\n'
        "<style>html { color-scheme: light dark; } body { margin: 1rem auto; max-width: 100rem; padding: 0 1rem;"
        " font-family: system-ui, sans-serif; }</style>\n</head>\n<body>\n"
        f"<h1>Metrics of GEC on human judgements</h1>\n{fragment(data)}</body>\n</html>\n"
    )


def _joined(paths: list[Path]) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in paths)


def _embedded(value: Any) -> str:
    """Return JSON that cannot end the script that holds it; browsers refuse NaN, and so does this."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("</", "<\\/")


class Leaderboard(SphinxDirective):
    """`{leaderboard}`, without options."""

    def run(self) -> list[nodes.Node]:
        """Return the leaderboard as raw HTML."""
        for path in (DATA, Path(__file__), *STYLES, *SCRIPTS):
            self.env.note_dependency(str(path))
        return [nodes.raw("", fragment(DATA.read_text(encoding="utf-8")), format="html")]


def write_file(app: Sphinx, error: Exception | None) -> None:
    """Write the one file beside the pages."""
    if error is None and app.builder.format == "html":
        text = page(DATA.read_text(encoding="utf-8"))
        (Path(app.outdir) / FILE).write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_directive("leaderboard", Leaderboard)
    app.connect("build-finished", write_file)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(DATA.read_text(encoding="utf-8")), encoding="utf-8")
