from __future__ import annotations

import re
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from annotated import references_of
from embedded import Sample

from learnedgec.data.m2 import AnnotatedSentence, Edit, format_m2
from learnedgec.data.references import References
from learnedgec.edits import annotator
from learnedgec.edits.annotator import TIERS, extract_edits
from learnedgec.errors import InputError, TextWarning
from learnedgec.metrics.contract import Score
from learnedgec.metrics.errant import Errant
from learnedgec.metrics.registry import load_metric
from learnedgec.scoring import bind_one

NAME = "en-ewt-sm"
SOURCE = "a b c d e f"


def scored(edits: Sequence[Edit], *gold: Sequence[Edit], **parameters: Any) -> Score:
    """Return the score of one sentence's edits against those of some annotators."""
    metric = Errant(annotator=NAME, **parameters)
    return bind_one(metric).score_of(
        metric.compare([SOURCE], [edits], references_of(SOURCE, *gold))
    )


def counts(score: Score) -> tuple[float, ...]:
    return tuple(score.details[name] for name in ("tp", "proposed", "gold"))


MADE = (Edit(0, 1, "A", "R:NOUN"), Edit(2, 2, "x", "M:DET"), Edit(3, 5, "D", "R:VERB"))
GOLD = (Edit(0, 1, "A", "R:ORTH"), Edit(2, 2, "y", "M:DET"), Edit(4, 5, "", "U:PREP"))


def test_found_but_not_corrected_counts_in_detection_only() -> None:
    edit = Edit(1, 2, "b", "UNK")
    assert counts(scored([edit], [edit])) == (0, 0, 0)
    assert counts(scored([edit], [edit], mode="span-detection")) == (1, 1, 1)


def test_each_correction_of_a_gold_edit_is_right() -> None:
    gold = [Edit(0, 1, "A", "R", ("B",))]
    assert counts(scored([Edit(0, 1, "B")], gold)) == (1, 1, 1)
    assert counts(scored([Edit(0, 1, "C")], gold)) == (0, 1, 1)


def test_repeated_edits() -> None:
    comma = Edit(2, 2, ",", "M:PUNCT")
    # No more is right than was made.
    assert counts(scored([comma], [comma, comma])) == (1, 1, 2)
    # As in the official tool, what is right is seen once.
    repeated = scored([comma, comma], [comma])
    assert counts(repeated) == (1, 1, 1)
    assert len(repeated.statistics.records[0][0]["edits"]) == 1


# -- against errant_compare, run as it is ------------------------------------------------------------

MODES: Mapping[str, Mapping[str, bool]] = {
    "span-correction": {},
    "span-detection": {"ds": True},
    "token-detection": {"dt": True},
    "type-correction": {"cse": True},
}
FILTERS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "none": ({}, {}),
    "single": ({"single": True}, {"tokens": "single"}),
    "multi": ({"multi": True}, {"tokens": "multi"}),
    "types": ({"filt": ["M:DET", "R:PREP"]}, {"ignore": ("M:DET", "R:PREP")}),
}


def official(system: Sequence[str], gold: Sequence[str], arguments: Namespace) -> Any:
    """Return what `errant_compare` counts, in all and by type."""
    compare = pytest.importorskip("errant.commands.compare_m2")
    best: Counter[str] = Counter({"tp": 0, "fp": 0, "fn": 0})
    categories: dict[str, list[int]] = {}
    for number, pair in enumerate(zip(system, gold, strict=True)):
        ours, theirs = (
            compare.process_edits(compare.simplify_edits(block), arguments) for block in pair
        )
        counts, kinds = compare.evaluate_edits(ours, theirs, best, number, "", arguments)
        best += Counter(counts)
        categories = compare.merge_dict(categories, kinds)
    return best, categories, compare


def blocks(annotated: Sequence[AnnotatedSentence]) -> list[str]:
    return "\n".join(format_m2(annotated)).strip().split("\n\n")


@pytest.fixture(scope="module")
def annotated(sample: Sample) -> dict[str, list[tuple[Edit, ...]]]:
    """Return the typed edits of all systems, and of the first and last reference."""
    texts = {
        **sample.systems,
        "first": [row[0].text for row in sample.references],
        "last": [row[-1].text for row in sample.references],
    }
    pairs = [(s, t) for lines in texts.values() for s, t in zip(sample.sources, lines, strict=True)]
    edits = extract_edits(pairs, NAME)
    size = len(sample.sources)
    return {name: edits[n * size : (n + 1) * size] for n, name in enumerate(texts)}


@pytest.mark.parametrize("filters", FILTERS)
@pytest.mark.parametrize("mode", MODES)
def test_equals_errant_compare(
    mode: str, filters: str, sample: Sample, annotated: Mapping[str, list[tuple[Edit, ...]]]
) -> None:
    flags, parameters = FILTERS[filters]
    switches = {"dt": False, "ds": False, "cse": False, "single": False, "multi": False}
    arguments = Namespace(
        **{**switches, "filt": [], "beta": 0.5, "verbose": False, **MODES[mode], **flags}
    )
    metric = load_metric("errant", mode=mode, annotator=NAME, types=True, **parameters)
    assert isinstance(metric, Errant)
    gold = [
        AnnotatedSentence(source, {0: first, 1: last})
        for source, first, last in zip(
            sample.sources, annotated["first"], annotated["last"], strict=True
        )
    ]
    references = References.from_annotated(gold)
    for system in sample.systems:
        edits = annotated[system]
        score = bind_one(metric).score_of(metric.compare(sample.sources, edits, references))
        sentence_blocks = [
            AnnotatedSentence(s, {0: e}) for s, e in zip(sample.sources, edits, strict=True)
        ]
        best, categories, compare = official(blocks(sentence_blocks), blocks(gold), arguments)
        tp, proposed, wanted = counts(score)
        assert (tp, proposed - tp, wanted - tp) == (best["tp"], best["fp"], best["fn"])
        f = compare.computeFScore(best["tp"], best["fp"], best["fn"], 0.5)[2]
        assert round(score.value, 4) == f
        for tier, setting in zip(TIERS, (3, 2, 1), strict=True):
            table = metric.by_type(score.statistics, tier)
            assert {
                kind: [row["tp"], row["fp"], row["fn"]] for kind, row in table.items()
            } == compare.processCategories(categories, setting)


# -- types, names, signature ---------------------------------------------------------------------------


def test_tables_by_type() -> None:
    metric = Errant(annotator=NAME, types=True)
    statistics = scored(MADE, GOLD, types=True).statistics
    assert list(metric.by_type(statistics, "category")) == ["DET", "ORTH", "PREP", "VERB"]
    assert list(metric.by_type(statistics)) == ["M:DET", "R:ORTH", "U:PREP", "R:VERB"]
    with pytest.raises(InputError, match=r"score with errant\(types=True\)"):
        Errant(annotator=NAME).by_type(statistics)


def test_the_default_annotator_is_decided_when_the_metric_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("learnedgec.edits.annotator.USUAL", "no_such_package")
    annotator._warn_of_other_edits.cache_clear()
    with pytest.warns(UserWarning, match="edits are made by annotator='en-ewt-sm'"):
        metric = load_metric("senterrant")
    # Every warning is an error here, and a process warns once.
    assert load_metric("senterrant") == metric
    assert metric.label == "errant(level='sentence', annotator='en-ewt-sm')"
    assert load_metric(metric.label) == metric


def test_signature_names_the_annotator() -> None:
    references = References.from_texts(["a c"])
    signature = bind_one(Errant(annotator=NAME)).signature(references)
    parts = r"annotator='en-ewt-sm'.*\|annotator-version:0\.1\.0 \(sha256 .*\|errant:.*\|spacy:"
    assert re.search(parts + r".*\|gold:aligned$", signature)


def gold_of(kind: str) -> References:
    return references_of("He go home .", [Edit(1, 2, "goes", kind), Edit(3, 4, "!", kind)])


PLAIN = "errant(annotator='plain')"


@pytest.mark.parametrize(
    ("mode", "tp"), [("span-correction", 0), ("type-correction", 0), ("span-detection", 1)]
)
def test_gold_edits_without_corrections_are_noticed(mode: str, tp: int) -> None:
    metric, message = replace(load_metric(PLAIN), mode=mode), "every gold edit has the type UNK"
    with nullcontext() if tp else pytest.warns(UserWarning, match=message):
        score = metric.score(["He go home ."], ["He goes home ."], gold_of("UNK"))
    assert score.details["tp"] == tp


@pytest.mark.filterwarnings("error::learnedgec.errors.TextWarning")
@pytest.mark.parametrize(
    ("mode", "edits", "notice"),
    [
        ("span-correction", [Edit(1, 2, "", "SVA"), Edit(3, 4, "!", "Mec")], None),
        (
            "span-correction",
            [Edit(1, 3, "went", "U"), Edit(3, 4, "!", "R")],
            "1 of 2 gold edits are not those",
        ),
        ("span-correction", [Edit(1, 2, "has", "R", ("",))], None),
        (
            "type-correction",
            [Edit(1, 2, "", "SVA"), Edit(3, 4, "!", "R")],
            "1 of 2 gold edits are not those",
        ),
        ("token-detection", [Edit(1, 3, "went", "U")], "1 of 1 gold edits are not those"),
    ],
)
def test_gold_edits_that_the_annotator_does_not_make_are_counted(
    mode: str, edits: list[Edit], notice: str | None
) -> None:
    metric = replace(load_metric(PLAIN), mode=mode)
    texts = ["He have went ."], ["He went ."], references_of("He have went .", edits)
    with pytest.warns(TextWarning, match=notice) if notice else nullcontext():
        metric.score(*texts)
    metric.reannotated().score(*texts)


def test_gold_edits_are_counted_by_annotator() -> None:
    edits = {0: (Edit(1, 2, "", "U"),), 2: (Edit(1, 3, "went", "R"), Edit(3, 4, "!", "R"))}
    references = References.from_annotated([AnnotatedSentence("He have went .", edits)])
    message = r"^errant: 1 of 3 gold edits \(of annotator 0: 0 of 1\) are not those that plain"
    with pytest.warns(TextWarning, match=message):
        load_metric(PLAIN).score(["He have went ."], ["He went ."], references)


def test_gold_edits_of_a_sample_of_many_sentences_are_counted() -> None:
    texts = ["He have went ."] * 700, ["He went ."] * 700
    references = References(references_of("He have went .", [Edit(1, 3, "went", "R")]).rows * 700)
    message = r"^errant: 234 of 234 gold edits in 234 of 700 sentences are not those that plain"
    with pytest.warns(TextWarning, match=message):
        load_metric(PLAIN).score(*texts, references)


def test_counts_by_type_do_not_mix_two_sets_of_types() -> None:
    metric = load_metric(PLAIN).typed()
    texts = ["He go home ."], ["He goes home ."]
    message = r"types \(ArtOrDet\) are not ERRANT's, so counts by type would mix two sets; give"
    with pytest.raises(InputError, match=message):
        metric.score(*texts, gold_of("ArtOrDet"))
    anew = metric.reannotated()
    assert anew.by_type(anew.score(*texts, gold_of("ArtOrDet")).statistics)["R"]["tp"] == 1
    assert metric.by_type(metric.score(*texts, gold_of("R")).statistics)["R"]["tp"] == 1


def test_reannotated_references_are_texts() -> None:
    metric = load_metric(f"{PLAIN[:-1]}, reannotate=True)")
    references = gold_of("UNK")
    score = metric.score(["He go home ."], ["He goes home ."], references)
    assert (score.details["tp"], score.details["gold"]) == (1, 2)
    assert score.signature.endswith("|gold:aligned")
    texts = References.from_texts(["He goes home !"])
    assert (
        load_metric(PLAIN).score(["He go home ."], ["He goes home ."], texts).value == score.value
    )
    assert load_metric(PLAIN).reannotated() == metric
