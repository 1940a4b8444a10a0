"""Corrupted pairs: the worse side is worse by edits that are wrong where nobody corrected anything."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learnedgec.data.catalog.cases import Labelled, TreebankWord
from learnedgec.data.catalog.parallel import Correction, Parallel, load_corrections
from learnedgec.data.m2 import Edit, apply_edits
from learnedgec.data.references import References
from learnedgec.edits.annotator import extract_edits
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs import RankedPair, corrupted
from learnedgec.training.pairs.corrupted import KINDS, CorruptedPairs, Sides
from learnedgec.training.pairs.mistakes import Inventory, Ngrams, Rules, undone

ANNOTATOR = "en-ewt-sm"
Made = list[tuple[str, RankedPair, Sides]]


def source(number: int = 40, **options: object) -> CorruptedPairs:
    return CorruptedPairs(["sample"], number, annotator=ANNOTATOR, **options)  # type: ignore[arg-type]


def sides_of(pairs: CorruptedPairs) -> Made:
    """Return what can be made of a corpus that is too small for some kinds."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*: found .* requested")
        return pairs.make_with_sides()


@cache
def made() -> Made:
    return sides_of(source())


def test_sides_are_what_their_edits_say_and_wrong_edits_touch_no_gold_edit() -> None:
    rows = load_corrections("sample")
    gold: dict[str, list[Edit]] = {}
    edits = extract_edits([(row.source, row.target) for row in rows], ANNOTATOR, types=False)
    for row, row_edits in zip(rows, edits, strict=True):
        gold.setdefault(row.source, []).extend(row_edits)
    wrong = 0
    for _, pair, sides in made():
        for text, side in zip((pair.better, pair.worse), sides, strict=True):
            assert text == apply_edits(pair.source, [change.edit for change in side])
        assert pair.better != pair.worse
        assert (pair.source, pair.worse) not in {(row.source, row.target) for row in rows}
        assert (pair.group, pair.origin) == (pair.source, "sample")
        assert pair.margin == len(set(sides.better) ^ set(sides.worse))
        replaced = {(c.edit.start, c.edit.end) for c in sides.better if not c.origin}
        for edit, origin in sides.worse:
            assert (edit in gold[pair.source]) == (not origin)
            touched = [e for e in gold[pair.source] if e.start <= edit.end and edit.start <= e.end]
            if origin and touched:
                assert (edit.start, edit.end) in replaced
                assert edit.correction.lower() not in {e.correction.lower() for e in touched}
            wrong += bool(origin)
    assert wrong > 20


def test_kinds_differ_as_they_say() -> None:
    for kind, _, sides in made():
        lost, new = (
            set(first) - set(other) for first, other in (sides, (sides.worse, sides.better))
        )
        assert not any(change.origin for change in lost)
        assert all(change.origin for change in new)
        expected = {
            "missing": len(lost) > 0 == len(new),
            "added": len(lost) == 0 < len(new),
            "miscorrected": {c.edit.start for c in lost} == {c.edit.start for c in new},
            "displaced": len(lost) == len(new) > 0,
            "mixed": abs(len(lost) - len(new)) == 1 and len(lost) > 0 < len(new),
        }
        assert expected[kind]
    assert {kind for kind, _, _ in made()} == set(KINDS)


def test_the_summary_counts_what_was_made() -> None:
    pairs = source(20, kinds={"added": 3.0, "missing": 0.0})
    rows = sides_of(pairs)
    summary = pairs.summary([pair for _, pair, _ in rows])
    assert (summary["pairs"], summary["nearer"]) == (len(rows), 1)
    assert sides_of(source(20, kinds={"added": 3.0, "missing": 0.0})) == rows
    assert sides_of(source(20, kinds={"added": 3.0, "missing": 0.0}, seed=1)) != rows


def test_warns_where_there_is_too_little(tmp_path: Path) -> None:
    path = tmp_path / "few.tsv"
    path.write_text("She go home .\tShe goes home .\n")
    pairs = CorruptedPairs([str(path)], 3, kinds={"missing": 1}, annotator=ANNOTATOR)
    with pytest.warns(UserWarning, match="found 1 pairs of 3 requested"):
        (pair,) = pairs.make(tmp_path, Runtime())
    texts = ("She go home .", "She goes home .", "She go home .")
    assert pair == RankedPair(*texts, 1.0, texts[0], str(path), texts[1])


def test_two_variants_of_a_case_keep_its_group(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        Correction(f"She go home {word} .", f"She goes home {word} .", None, "case")
        for word in ("now", "soon", "late")
    ]
    monkeypatch.setattr(corrupted, "load_corrections", lambda name: rows)
    sides = sides_of(CorruptedPairs(["cases"], 3, kinds={"missing": 1}, annotator=ANNOTATOR))
    assert {(pair.source, pair.group) for _, pair, _ in sides} == {
        ("She go home now .", "case"),
        ("She go home soon .", "case"),
    }


def test_clean_sentences_get_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    clean = sorted({row.target for row in load_corrections("sample") if row.target.endswith(".")})
    monkeypatch.setattr(corrupted, "load_sentences", lambda name: clean)
    pairs = source(15, sentences=["clean"], sentence_share=1.0, kinds={"missing": 1.0})
    sides = sides_of(pairs)
    assert pairs.datasets() == ["sample", "clean"]
    assert len(sides) > 10
    for _, pair, _ in sides:
        assert pair.group == pair.correct
        assert pair.group in clean
        assert pair.group not in (pair.source, pair.worse)
        assert pair.origin == "clean"


def treebank() -> list[TreebankWord]:
    forms = {"go": "go goes went gone", "book": "book books", "care": "care", "careful": "careful"}
    tags = {"go": "VERB", "book": "NOUN", "care": "NOUN", "careful": "ADJ"}
    return [
        TreebankWord(form, lemma, tags[lemma])
        for lemma, text in forms.items()
        for form in 2 * text.split()
    ]


def drawn(kind: str, text: str, rates: dict[str, float]) -> list[Edit]:
    inventory = Inventory(treebank(), {kind: 1}, rates)
    tokens, generator = tuple(text.split()), random.Random(1)
    return [edit for _ in range(300) for edit in inventory.draw(tokens, generator, 1)]


@pytest.mark.parametrize(
    ("kind", "text", "mistakes"),
    [
        ("R:VERB:FORM", "He goes .", {"He go .", "He went .", "He gone ."}),
        ("R:NOUN:NUM", "Books !", {"Book !"}),
        ("R:MORPH", "careful", {"care"}),
        ("R:WO", "I never go", {"I go never"}),
        ("M:DET", "Take the book", {"Take book"}),
        ("R:SPELL", "tsks", {"tks", "tssks", "tkss", "tss", "tskks", "tssk"}),
        ("M:NOUN", "say that it is so", {"say it is so", "say that it is"}),
    ],
)  # fmt: skip
def test_mistakes_of_a_type(kind: str, text: str, mistakes: set[str]) -> None:
    assert {apply_edits(text, [edit]) for edit in drawn(kind, text, {})} == mistakes


def test_words_that_are_seldom_wrong_are_seldom_drawn() -> None:
    edits = drawn("R:VERB:FORM", "goes", {"went": 0.01, "gone": 0.2})
    counts = Counter(edit.correction for edit in edits)
    assert counts["went"] < counts["go"] < counts["gone"]


def test_labelled_sentences_are_the_better_side(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Labelled("The boys goes to the school every day .", (0, 0, 1, 0, 1, 0, 0, 0, 0))]  # type: ignore[arg-type]
    monkeypatch.setattr(corrupted, "load_labelled", lambda name: rows)
    monkeypatch.setattr(corrupted, "load_words", lambda name: [treebank()])
    pairs = source(
        5, words=["treebank"], labelled=["labels"], labelled_share=1.0, kinds={"added": 1}
    )
    sides = sides_of(pairs)
    assert sides
    for _, pair, (_, worse) in sides:
        assert (pair.source, pair.better, pair.correct) == (rows[0].sentence, rows[0].sentence, "")
        assert not any(change.edit.start < 5 and change.edit.end > 2 for change in worse)


words = st.lists(st.sampled_from("abcd"), max_size=8)


@given(words, st.randoms(use_true_random=False))
def test_undone_edits_lead_back(tokens: list[str], generator: random.Random) -> None:
    edits, start = [], 0
    while start <= len(tokens):
        end = min(start + generator.randint(0, 2), len(tokens))
        text = generator.choice(["", "x", "y z"])
        if text != " ".join(tokens[start:end]):
            edits.append(Edit(start, end, text))
        start = end + 2
    changed, back = undone(tuple(tokens), edits)
    assert " ".join(changed) == apply_edits(" ".join(tokens), edits)
    assert apply_edits(" ".join(changed), back) == " ".join(tokens)


def test_edits_of_systems_are_mistakes_where_no_reference_has_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "I go to school every day with my best friends ."
    data = Parallel((text,), References.from_texts([text]))
    systems = {
        "one": (text.replace("every day", "every days"),),
        "source+error": (text.replace("my", "mine"),),
    }
    monkeypatch.setattr(corrupted, "load_parallel", lambda name: data)
    monkeypatch.setattr(corrupted, "load_outputs", lambda name: systems)
    path = tmp_path / "right.tsv"
    path.write_text("".join(f"{line}\t{line}\n" for line in [text, "He works every day ."]))
    triples = sides_of(
        CorruptedPairs(
            [str(path)], 3, outputs=["gmeg:fce"], kinds={"added": 1}, annotator=ANNOTATOR
        )
    )
    assert [change for _, _, sides in triples for change in sides.worse] == [
        (Edit(5, 6, "days"), "system")
    ]


def test_rules_and_ngrams() -> None:
    tokens = ("He", "is", "good", "in", "maths", ".")
    rules = Rules([(tokens, Edit(3, 4, "at"))])
    assert list(rules.at(tokens, 3, 4)) == [Edit(3, 4, "at")]
    assert list(rules.at(("in", "bed"), 0, 1)) == []
    assert list(rules.at(("in", "bed"), 0, 1, anywhere=True)) == [Edit(0, 1, "At")]
    assert list(rules.candidates(("good", "in", "it"))) == [Edit(1, 2, "at")]
    assert not Rules([(tokens, Edit(3, 4, "at"))], least=2).rules
    texts = [("we", "go", where) for where in ("home", "there", "out")]
    ngrams = Ngrams([*texts, ("he", "goes", "home"), ("she", "goes", "home")])
    text = ("we", "go", "home")
    assert ngrams.loss(text, Edit(1, 2, "cats")) > 0
    assert ngrams.loss(text, Edit(1, 2, "goes"), "cats") < 0
