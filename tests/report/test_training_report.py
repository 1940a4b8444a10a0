"""The report of a training run is made from its logs, its package's manifest and its predictions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from learnedgec.data.text import write_jsonl
from learnedgec.report.page import write_training_report


@pytest.fixture
def page(tmp_path: Path) -> str:
    """Return the report of a run that was continued once, after another that was discarded."""
    logs = {0: [(9, 7.0), (19, 7.0)], 1: [(9, 4.0), (19, 2.0), (29, 9.0)], 2: [(29, 1.0)]}
    for version, rows in logs.items():
        file = tmp_path / "log" / f"version_{version}" / "metrics.csv"
        file.parent.mkdir(parents=True)
        lines = [f"0,{step},,{loss},,{loss}" for step, loss in rows]
        header = "epoch,step,dev/loss,train/loss,dev/quality/loss,train/quality/loss"
        file.write_text("\n".join([header, *lines, "0,30,0.5,,0.5,", ""]))
    (tmp_path / "mine").mkdir()
    accuracy = {"accuracy": 0.75, "accuracy_low": 0.5, "accuracy_high": 0.9, "n": 4}
    pearson = {"pearson": 0.5, "pearson_low": 0.1, "pearson_high": 0.8, "spearman": 0.4, "n": 30}
    manifest = {
        "name": "mine",
        "seed": 1,
        "encoder": "tiny",
        "continued": {"name": "earlier"},
        "versions": {"learnedgec": "1"},
        "data": {"datasets": ["mine.csv"]},
        "results": {"dev": {"quality": accuracy, "fluency": pearson}},
        "verdicts": {
            "quality": {
                "baselines": {"edit-count": 0.8, "before": 0.7},
                "trusted": False,
                "sentence": "quality is not trusted.",
            }
        },
    }
    (tmp_path / "mine" / "manifest.json").write_text(json.dumps(manifest))
    rated = {"head": "fluency", "source": "", "rating": 3.0}
    write_jsonl(
        tmp_path / "dev.jsonl",
        [
            *({**rated, "hypothesis": f"<b>{n}", "value": 3.0 + n / 10} for n in range(30)),
            {"head": "quality", "source": "s", "better": "x", "worse": "y", "values": [1.0, 2.0]},
            {"head": "quality", "source": "s", "better": "u", "worse": "v", "values": [2.0, 1.0]},
        ],
    )
    assert write_training_report(tmp_path, tmp_path / "mine") == tmp_path / "report.html"
    return (tmp_path / "report.html").read_text()


def test_the_worst_come_first_and_texts_are_no_markup(page: str) -> None:
    assert re.findall(r"&lt;b&gt;(\d+)", page) == [str(n) for n in range(29, 9, -1)]
    assert "<b>" not in page
    assert page.index("<td>x</td>") < page.index("<td>u</td>")


def test_agreement_verdicts_and_the_evaluator_that_was_continued_are_named(page: str) -> None:
    for text in (
        *("0.7500", "[0.5000, 0.9000]", "[0.1000, 0.8000]", "0.4000"),
        "quality is not trusted.",
        "edit-count 0.8000, before 0.7000.",
        "Continued from earlier, seed 1",
    ):
        assert text in page


def test_the_curve_of_a_continued_run_is_one(page: str) -> None:
    # Steps 9 and 19 of the run before it was continued, then its step 29; losses from 4 to 0.5.
    # A series is a group, as in the other charts: its colour would fill the area of the line itself.
    lines = re.findall(r'<g class="series-1"><polyline class="line" points="([^"]+)"', page)
    assert len(lines[0].split()) == 3
    # The loss of all heads is that of the only one.
    assert re.findall(r'aria-label="(.*?loss) by step, from 0.5 to 4"', page) == ["quality loss"]
