from __future__ import annotations

import math

import pytest

from learnedgec.cli.show import edit_rows, show_edits
from learnedgec.errors import InputError
from learnedgec.formats.m2 import AnnotatedSentence, Edit
from learnedgec.formats.references import References
from learnedgec.metrics.base import Score
from learnedgec.metrics.registry import load_metric

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


CHUNKS = References.from_annotated(
    [
        AnnotatedSentence("He go home now", {0: (Edit(1, 2, "goes"),), 3: (Edit(1, 2, "went"),)}),
        AnnotatedSentence("Fine .", {0: ()}),
        AnnotatedSentence("b", {0: (Edit(0, 1, "d"),)}),
    ]
)


def test_rows_name_every_chunk() -> None:
    metric = load_metric("cleme(edits='aligned')")
    score = metric.score(SOURCES, HYPOTHESES, CHUNKS)
    rows = edit_rows(metric, score.statistics)
    weight = pytest.approx(2 / (1 + math.exp(1 - 1)))
    assert [tuple(row.values()) for row in rows] == [
        (1, 0, "tn", 0, 1, "He", "He", "He||He", 1.0),
        (1, 0, "tp", 1, 2, "go", "goes", "goes||went", weight),
        (1, 0, "tn", 2, 3, "home", "home", "home||home", 1.0),
        (1, 0, "fp_un", 3, 4, "now", "", "now||now", weight),
        (2, 0, "tn", 0, 2, "Fine .", "Fine .", "Fine .", 1.0),
        (3, 0, "fp_ne", 0, 1, "b", "c", "d", weight),
    ]
    bare = load_metric("cleme(edits='aligned', weights='none')")
    assert "weight" not in edit_rows(bare, bare.score(SOURCES, HYPOTHESES, CHUNKS).statistics)[0]


@pytest.mark.parametrize("colour", [False, True])
def test_tables_of_chunks(colour: bool) -> None:
    from rich.text import Text

    metric = load_metric("cleme2(edits='aligned', weights='none')")
    scores = metric.score_systems(SOURCES, {"ours": HYPOTHESES}, CHUNKS)
    text = show_edits(metric, scores, SOURCES, {"ours": HYPOTHESES}, colour=colour)
    plain = Text.from_ansi(text).plain if colour else text
    lines = [line.rstrip() for line in plain.rstrip().splitlines()]
    assert lines[1:] == [
        "",
        "ours 1  annotator 0  tp 1  fp_ne 0  fp_un 1  fn 0  tn 2",
        "  source      He go home now",
        "  hypothesis  He goes home",
        "              source  hypothesis  annotator 0  annotator 3",
        "  tn     0:1  He      He          He           He",
        "  tp     1:2  go      goes        goes         went",
        "  tn     2:3  home    home        home         home",
        "  fp_un  3:4  now     ∅           now          now",
        "",
        "ours 3  annotator 0  tp 0  fp_ne 1  fp_un 0  fn 0  tn 0",
        "  source      b",
        "  hypothesis  c",
        "              source  hypothesis  annotator 0",
        "  fp_ne  0:1  b       c           d",
    ]
