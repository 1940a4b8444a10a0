"""The page as text: escaped, self-contained, the same each time. What it does is in test_browser."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from pathlib import Path
from typing import Any

from learnedgec.report.page import render_report, write_report


def block(page: str, start: str, end: str) -> str:
    """Return what stands between two tags."""
    return page.split(start, 1)[1].split(end, 1)[0]


def test_the_data_come_back(case: Any) -> None:
    page = render_report(case.report)
    packed = block(page, 'id="data">', "</script>")
    unpacked = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert unpacked == json.loads(json.dumps(case.report))
    assert render_report(case.report) == page


def test_only_our_own_script_may_run(case: Any) -> None:
    page = render_report(case.report)
    scripts = ['<script type="application/gzip" id="data">', "<script>"]
    assert re.findall("<script[^>]*>", page) == scripts
    for name, tag in (("script", "<script>"), ("style", "<style>")):
        digest = hashlib.sha256(block(page, tag, f"</{name}>").encode()).digest()
        assert f"{name}-src 'sha256-{base64.b64encode(digest).decode()}'" in page
    assert "default-src 'none'" in page
    assert "<title>Four systems &lt;b&gt;" in page
    assert "&lt;script&gt;" in page
    assert "unsafe" not in page
    assert not re.search(r"(src|href)=\"?(https?:|//)", page)
    assert not re.search(r"\.(innerHTML|outerHTML|insertAdjacentHTML)|document\.write|eval\(", page)


def test_the_best_system_has_a_star_unless_a_sentinel_says_so(case: Any) -> None:
    page = render_report(case.report)
    overview = block(page, "<tbody>", "</tbody>")
    for number, metric in enumerate(case.report["metrics"]):
        cells = [row.split("<td ")[number + 1] for row in overview.split("<tr ")[1:]]
        assert sum("★" in cell for cell in cells) == (not metric["sentinel"]), metric
    assert "is bold with a star; a sentinel has no best score." in page
    alone = case.report | {
        "metrics": [metric for metric in case.report["metrics"] if metric["sentinel"]],
        "overview": case.report["overview"]
        | {key: [case.report["overview"][key][2]] for key in ("rankings",)},
    }
    assert "★" not in block(render_report(alone), "<tbody>", "</tbody>")
    assert "with a star" not in render_report(alone)


def test_the_first_card_says_what_decides(case: Any) -> None:
    page = render_report(case.report)
    before = block(page, '<h2 id="overview-heading">', '<h3 id="scores-heading">')
    assert html.escape(case.report["overview"]["warning"][:40], quote=False) in before
    assert html.escape(case.report["overview"]["leaders"][:40], quote=False) in before
    judged = render_report(
        case.report | {"evaluations": [{"people": "People decide.", "metrics": []}]}
    )
    assert block(judged, '<div class="card verdict">', "</p>").strip() == "<p>People decide."


def test_the_test_is_the_one_that_was_made(case: Any) -> None:
    page = render_report(case.report)
    [test] = re.findall(r"Differences are tested by ([^;]*);", page)
    assert test == case.report["provenance"]["tests"]
    assert "bootstrap interval over sentences (200 resamples)" in page
    assert test == (
        "paired bootstrap, paired bootstrap with a Student tail, paired permutation and paired permutation "
        "with a Student tail"
    )


def test_write(case: Any, tmp_path: Path) -> None:
    write_report(tmp_path / "deep" / "report.html", case.report)
    assert (tmp_path / "deep" / "report.html").read_text("utf-8").startswith("<!doctype html>")
