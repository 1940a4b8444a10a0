from __future__ import annotations

import pytest

from learnedgec.cli.edit_text import edit_text
from learnedgec.data.m2 import AnnotatedSentence, Edit
from learnedgec.data.references import References
from learnedgec.metrics.cleme import Cleme
from learnedgec.metrics.gotoscorer import GotoScorer
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


def test_colour_says_the_same(scores: dict[str, Score]) -> None:
    from rich.text import Text

    shown = [
        edit_text(load_metric("m2"), scores, SOURCES, {"ours": HYPOTHESES}, colour=colour)
        for colour in (False, True)
    ]
    assert "\x1b[" in shown[1]
    assert Text.from_ansi(shown[1]).plain.rstrip() == shown[0].rstrip()


def test_weights_stand_behind_their_edits() -> None:
    systems = {"ours": HYPOTHESES, "theirs": ["He goes home now", "Fine .", "b"]}
    scores = GotoScorer().score_systems(SOURCES, systems, REFERENCES)
    lines = edit_text(GotoScorer(), scores, SOURCES, systems, colour=False).splitlines()
    assert "  - 2:2     ∅ → to||towards  [PREP]  weight 1.0000" in lines


CHUNKS = References.from_annotated(
    [
        AnnotatedSentence("He go home now", {0: (Edit(1, 2, "goes"),), 3: (Edit(1, 2, "went"),)}),
        AnnotatedSentence("Fine .", {0: ()}),
        AnnotatedSentence("b", {0: (Edit(0, 1, "d"),)}),
    ]
)


def test_rows_name_every_chunk() -> None:
    metric = Cleme(edits="aligned")
    rows = metric.edit_rows(metric.score(SOURCES, HYPOTHESES, CHUNKS).statistics)
    assert [tuple(row.values()) for row in rows] == [
        (1, 0, "unchanged", 0, 1, "He", "He", "", 1.0, "tn", "He||He"),
        (1, 0, "matched", 1, 2, "go", "goes", "", 1.0, "tp", "goes||went"),
        (1, 0, "unchanged", 2, 3, "home", "home", "", 1.0, "tn", "home||home"),
        (1, 0, "unmatched", 3, 4, "now", "", "", 1.0, "fp_un", "now||now"),
        (3, 0, "unmatched", 0, 1, "b", "c", "", 1.0, "fp_ne", "d"),
    ]
    missed = metric.edit_rows(metric.score(SOURCES, SOURCES, CHUNKS).statistics)[1]
    assert (missed["edit"], missed["correction"], missed["counts"]) == ("missed", "goes", "fn")
    bare = Cleme(edits="aligned", weights="none")
    assert "weight" not in bare.edit_rows(bare.score(SOURCES, HYPOTHESES, CHUNKS).statistics)[0]


def test_chunks_as_text() -> None:
    metric = load_metric("cleme2(edits='aligned', weights='none')")
    scores = metric.score_systems(SOURCES, {"ours": HYPOTHESES}, CHUNKS)
    text = edit_text(metric, scores, SOURCES, {"ours": HYPOTHESES}, colour=False)
    assert text.splitlines()[1:] == [
        "",
        "ours 1  annotator 0  tp 1  fp_ne 0  fp_un 1  fn 0  tn 2",
        "  source      He go home now",
        "  hypothesis  He goes home",
        "    0:1     He → He  counts tn  references He||He",
        "  = 1:2     go → goes  counts tp  references goes||went",
        "    2:3     home → home  counts tn  references home||home",
        "  + 3:4     now → ∅  counts fp_un  references now||now",
        "",
        "ours 3  annotator 0  tp 0  fp_ne 1  fp_un 0  fn 0  tn 0",
        "  source      b",
        "  hypothesis  c",
        "  + 0:1     b → c  counts fp_ne  references d",
    ]
