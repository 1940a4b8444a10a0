from __future__ import annotations

import pytest

from learnedgec.cli.show import edit_rows, show_edits
from learnedgec.errors import InputError
from learnedgec.formats.m2 import AnnotatedSentence, Edit
from learnedgec.formats.references import References
from learnedgec.metrics.registry import load_metric
from learnedgec.metrics.scores import Score

SOURCES = ["He go home now", "Fine .", "b"]
HYPOTHESES = ["He goes home", "Fine .", "c"]
REFERENCES = References.from_annotated(
    [
        AnnotatedSentence(
            SOURCES[0], {4: (Edit(1, 2, "goes", "SVA"), Edit(2, 2, "to", "PREP", ("towards",)))}
        ),
        AnnotatedSentence(SOURCES[1], {0: ()}),
        AnnotatedSentence(SOURCES[2], {0: (Edit(0, 1, "d"),)}),
    ]
)


@pytest.fixture
def scores() -> dict[str, Score]:
    return load_metric("m2").score_systems(SOURCES, {"ours": HYPOTHESES}, REFERENCES)


def test_rows_name_every_edit(scores: dict[str, Score]) -> None:
    rows = edit_rows(load_metric("m2"), scores["ours"].statistics)
    assert [tuple(row.values()) for row in rows] == [
        (1, 4, "matched", 1, 2, "go", "goes", "SVA"),
        (1, 4, "missed", 2, 2, "", "to||towards", "PREP"),
        (1, 4, "unmatched", 2, 4, "home now", "home", ""),
        (3, 0, "unmatched", 0, 1, "b", "c", ""),
        (3, 0, "missed", 0, 1, "b", "d", ""),
    ]


def test_plain_text(scores: dict[str, Score]) -> None:
    text = show_edits(load_metric("m2"), scores, SOURCES, {"ours": HYPOTHESES}, colour=False)
    assert text.splitlines()[1:] == [
        "",
        "ours 1  annotator 4  tp 1  proposed 2  gold 2",
        "  source      He go home now",
        "  hypothesis  He goes home",
        "  = 1:2     go → goes  [SVA]",
        "  - 2:2     ∅ → to||towards  [PREP]",
        "  + 2:4     home now → home",
        "",
        "ours 3  annotator 0  tp 0  proposed 1  gold 1",
        "  source      b",
        "  hypothesis  c",
        "  + 0:1     b → c",
        "  - 0:1     b → d",
    ]


def test_colour_says_the_same(scores: dict[str, Score]) -> None:
    from rich.text import Text

    shown = [
        show_edits(load_metric("m2"), scores, SOURCES, {"ours": HYPOTHESES}, colour=colour)
        for colour in (False, True)
    ]
    assert "\x1b[" in shown[1]
    assert Text.from_ansi(shown[1]).plain.rstrip() == shown[0].rstrip()


def test_other_metrics_are_refused() -> None:
    metric = load_metric("gleu")
    score = metric.score(SOURCES, HYPOTHESES, REFERENCES)
    with pytest.raises(InputError, match="does not compare edits"):
        edit_rows(metric, score.statistics)
