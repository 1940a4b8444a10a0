"""What Python prints of a result fits a line or a screen, however large the result is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from embedded import Sample

import learnedgec
from learnedgec import Edit, References, load_benchmark
from learnedgec.applications.confidence import JudgedEdits

SOURCE = "He go home <b> ."
MANY = [SOURCE] * 1000


def scores() -> Any:
    return learnedgec.score("length", MANY, {f"system {n}": MANY for n in range(40)})


def comparison() -> Any:
    systems = {"ours": ["He goes home ."] * 20, "theirs": ["He go ."] * 20}
    return learnedgec.compare("length", ["He go ."] * 20, systems, baseline="theirs")[0]


def judged() -> Any:
    edit = Edit(1, 2, "goes", "R:VERB:SVA")
    return JudgedEdits(tuple(MANY), (((edit, 0.875),),) * 1000)


PRINTED: dict[str, tuple[Callable[[], Any], str]] = {
    "references": (
        lambda: References.from_texts(MANY, MANY),
        "References(sentences=1,000, references=2,000)",
    ),
    "benchmark": (
        lambda: load_benchmark("sample"),
        "Benchmark('sample': 72 sentences, 5 systems, references, 351 rankings, ratings of "
        "grammaticality, fluency, meaning)",
    ),
    "judged edits": (judged, "JudgedEdits(sentences=1,000, edits=1,000)"),
    "comparison": (
        comparison,
        "BaselineComparison(length: ours 4.0000, theirs 3.0000, +1.0000 [+1.0000, +1.0000], p ≤ .001)",
    ),
    "scores": (scores, "system      score\nsystem 0   5.0000\n"),
    "one of them": (lambda: scores()["system 0"], "Score(metric=\"length(unit='word')\", value=5,"),
    "reward": (
        lambda: learnedgec.reward("length", centre=True, watch="edit-count"),
        "Reward('length', source='source', centre=True, watch='edit-count')",
    ),
    "bound metrics": (lambda: learnedgec.bind("gleu"), "[BoundMetric('gleu')]"),
    "statistics": (
        lambda: learnedgec.load_metric("length").statistics(MANY, MANY),
        "Statistics(sentences=1000, score (1000,))",
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_is_printed_fits_a_screen(name: str) -> None:
    make, expected = PRINTED[name]
    made = make()
    lines = repr(made).splitlines()
    assert repr(made).startswith(expected)
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 120
    if hasattr(made, "_repr_html_"):
        table = made._repr_html_()
        assert "<b>" not in table
        assert 2 <= table.count("<tr>") <= 24


def test_a_long_table_says_how_many_rows_are_left_out() -> None:
    assert repr(scores()).endswith("\n… 20 more rows.")
    assert "<small>… 980 more rows.</small>" in judged()._repr_html_()


def test_notebooks_show_tables(sample: Sample) -> None:
    assert '<td style="text-align: left">goes</td>' in judged()._repr_html_()
    assert "R:VERB:SVA" in judged()._repr_html_()
    assert "<th>0</th><th>1</th>" in sample.references._repr_html_()
    assert comparison()._repr_html_().count("<td") == 12
