"""Corrupted pairs: the worse side is worse by edits that are wrong where nobody corrected anything."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learnedgec.catalog.corrections import Correction, load_corrections
from learnedgec.catalog.parallel import Parallel
from learnedgec.edits.annotator import extract_edits
from learnedgec.errors import ConfigError, UnknownNameError
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.m2 import Edit, apply_edits
from learnedgec.formats.references import References
from learnedgec.training.pairs import RankedPair, read_ranked_pairs
from learnedgec.training.pairs.corruption import pairs as corrupted
from learnedgec.training.pairs.corruption.inventory import Inventory, Replacement
from learnedgec.training.pairs.corruption.kinds import KINDS, Sides
from learnedgec.training.pairs.corruption.mistakes import Material, Mistakes, spoilt
from learnedgec.training.pairs.corruption.naturalness import Naturalness
from learnedgec.training.pairs.corruption.observations import (
    Change,
    Parsed,
    observe,
    parse_corrections,
    plain,
    related,
)
from learnedgec.training.pairs.corruption.pairs import CorruptedPairs

ANNOTATOR = "en-ewt-sm"
Made = list[tuple[str, RankedPair, Sides]]


def source(number: int = 40, **options: object) -> CorruptedPairs:
    return CorruptedPairs(["sample"], number, annotator=ANNOTATOR, **options)  # type: ignore[arg-type]


@cache
def made() -> Made:
    return sides_of(source())


def sides_of(pairs: CorruptedPairs) -> Made:
    """Return what can be made of a corpus that is too small for some plans."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*: found .* requested")
        return pairs.make_with_sides()


@cache
def parsed(text: str) -> Parsed:
    return parse_corrections([(text, text)], ANNOTATOR)[0][0]


def gold_edits() -> dict[str, list[Edit]]:
    rows = load_corrections("sample")
    found: dict[str, list[Edit]] = {}
    edits = extract_edits([(row.source, row.target) for row in rows], ANNOTATOR, types=False)
    for row, each in zip(rows, edits, strict=True):
        found.setdefault(row.source, []).extend(each)
    return found


# -- pairs -----------------------------------------------------------------------------------------


def test_sides_are_what_their_edits_say() -> None:
    rows = load_corrections("sample")
    references = {(row.source, row.target) for row in rows}
    for _, pair, sides in made():
        assert pair.better == apply_edits(pair.source, [change.edit for change in sides.better])
        assert pair.worse == apply_edits(pair.source, [change.edit for change in sides.worse])
        assert pair.better != pair.worse
        assert (pair.source, pair.worse) not in references
        assert pair.group == pair.source
        assert pair.origin == "sample"
        better, worse = set(sides.better), set(sides.worse)
        assert pair.margin == len(better ^ worse)


def test_wrong_edits_touch_no_gold_edit_but_the_one_they_stand_for() -> None:
    gold = gold_edits()
    wrong = 0
    for _, pair, sides in made():
        for change in sides.worse:
            edit = change.edit
            keys = {(e.start, e.end, e.correction.lower()) for e in gold[pair.source]}
            assert bool(change.origin) == (
                (edit.start, edit.end, edit.correction.lower()) not in keys
            )
            if not change.origin:
                continue
            wrong += 1
            touched = [e for e in gold[pair.source] if e.start <= edit.end and edit.start <= e.end]
            if touched:
                replaced = {(c.edit.start, c.edit.end) for c in sides.better if not c.origin}
                assert (edit.start, edit.end) in replaced
                assert edit.correction.lower() not in {e.correction.lower() for e in touched}
                assert edit.correction.split() != pair.source.split()[edit.start : edit.end]
    assert wrong > 25


def test_kinds_differ_as_they_say() -> None:
    for kind, _, sides in made():
        better, worse = set(sides.better), set(sides.worse)
        lost, new = better - worse, worse - better
        assert all(not change.origin for change in lost)
        assert all(change.origin for change in new)
        if kind == "missing":
            assert lost
            assert not new
        if kind == "added":
            assert not lost
            assert new
        if kind in ("miscorrected", "displaced"):
            assert len(lost) == len(new) > 0
        if kind == "miscorrected":
            spans = {(change.edit.start, change.edit.end) for change in lost}
            assert {(change.edit.start, change.edit.end) for change in new} == spans
        if kind == "mixed":
            assert abs(len(lost) - len(new)) == 1
            assert min(len(lost), len(new)) > 0
    assert {kind for kind, _, _ in made()} == set(KINDS)


def test_the_number_of_edits_says_little() -> None:
    generator = random.Random(0)
    plans = [
        KINDS[kind](generator.choice((1, 2, 3)), generator)
        for kind in generator.choices(
            list(corrupted.SHARES), list(corrupted.SHARES.values()), k=10_000
        )
    ]
    # Edits that the worse side has more.
    more = [plan.replaced + plan.added - plan.missing for plan in plans]
    assert abs(sum(each > 0 for each in more) - sum(each < 0 for each in more)) < 300
    assert abs(sum(more)) < 500
    assert sum(each == 0 for each in more) == pytest.approx(4000, abs=200)


def test_the_summary_counts_what_was_made() -> None:
    pairs = source()
    found = sides_of(pairs)
    summary = pairs.summary([pair for _, pair, _ in found])
    assert summary["kinds"] == Counter(kind for kind, _, _ in found)
    more = sum(len(sides.better) > len(sides.worse) for _, _, sides in found)
    assert summary["better_more_edits"] == pytest.approx(more / len(found))
    assert sum(
        summary[key] for key in ("better_more_edits", "better_fewer_edits", "equally_many")
    ) == pytest.approx(1)
    wrong = Counter(c.origin for _, _, sides in found for c in sides.worse if c.origin)
    assert summary["wrong_edits"] == wrong


def test_shares_choose_kinds() -> None:
    pairs = source(30, kinds={"added": 3.0, "missing": 0.0})
    assert {kind for kind, _, _ in sides_of(pairs)} == {"added"}


def test_same_seed_same_pairs_in_any_process(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    options = {"number": 10, "kinds": {"missing": 1, "added": 1}, "annotator": ANNOTATOR}
    program = (
        "import json, sys; from pathlib import Path; from learnedgec.execution.runtime import Runtime;"
        "from learnedgec.training.pairs.corruption.pairs import CorruptedPairs;"
        "from learnedgec.training.pairs import write_ranked_pairs;"
        "pairs = CorruptedPairs(['sample'], **json.loads(sys.argv[1]));"
        "write_ranked_pairs(sys.argv[2], pairs.make(Path(), Runtime()))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    arguments = [sys.executable, "-c", program, json.dumps(options), str(path)]
    subprocess.run(arguments, check=True, env=environment)
    first, other = (
        CorruptedPairs(["sample"], seed=seed, **options).make(tmp_path, Runtime())  # type: ignore[arg-type]
        for seed in (0, 1)
    )
    assert read_ranked_pairs(path) == first
    assert first != other


def test_warns_where_there_is_too_little(tmp_path: Path) -> None:
    path = tmp_path / "few.tsv"
    path.write_text("She go home .\tShe goes home .\n")
    pairs = CorruptedPairs([str(path)], 3, kinds={"missing": 1}, annotator=ANNOTATOR)
    with pytest.warns(UserWarning, match="found 1 pairs of 3 requested"):
        (pair,) = pairs.make(tmp_path, Runtime())
    assert (pair.better, pair.worse) == ("She goes home .", "She go home .")
    assert (pair.margin, pair.group, pair.origin) == (1.0, "She go home .", str(path))


def test_variants_of_a_case_keep_their_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = {
        "source": "She go home now .",
        "target": "She goes home now .",
        "variants": [
            {"source": f"She go home {word} .", "target": f"She goes home {word} ."}
            for word in ("soon", "late")
        ],
    }
    rows = [
        Correction(each["source"], each["target"], None, case["source"])  # type: ignore[index, arg-type]
        for each in (case, *case["variants"])
    ]
    monkeypatch.setattr(corrupted, "load_corrections", lambda name: rows)
    pairs = CorruptedPairs(["cases"], 2, kinds={"missing": 1}, annotator=ANNOTATOR)
    found = pairs.make(tmp_path, Runtime())
    assert {pair.group for pair in found} == {case["source"]}
    assert {pair.source for pair in found} == {"She go home now .", "She go home soon ."}


# -- clean sentences ---------------------------------------------------------------------------------


def test_clean_sentences_get_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    clean = sorted({row.target for row in load_corrections("sample") if row.target.endswith(".")})
    monkeypatch.setattr(corrupted, "load_sentences", lambda name: clean)
    kinds = {"missing": 1.0, "added": 1.0}
    pairs = source(20, sentences=["clean"], sentence_share=1.0, kinds=kinds)
    found = sides_of(pairs)
    assert pairs.datasets() == ["sample", "clean"]
    assert sum(pair.source != pair.group for _, pair, _ in found) > 10
    for _, pair, sides in found:
        assert pair.group in clean
        assert pair.worse != pair.group
        assert pair.origin == "clean"
        assert bool(pair.source != pair.group) >= any(not c.origin for c in sides.better)
    half = sides_of(source(20, sentences=["clean"], kinds=kinds))
    assert 3 < Counter(pair.origin for _, pair, _ in half)["clean"] < 17


WORDS = st.sampled_from(["a", "b", "c", "d"])


@given(st.lists(WORDS, min_size=1, max_size=8), st.data())
def test_spoilt_text_is_corrected_to_the_clean_one(words: list[str], data: st.DataObject) -> None:
    clean = Parsed(tuple(words), tuple("T" for _ in words), tuple(words))
    errors, start = [], 0
    while start <= len(words):
        end = data.draw(st.integers(start, min(start + 2, len(words))))
        text = data.draw(st.lists(WORDS, max_size=2))
        if data.draw(st.booleans()) and " ".join(text) != " ".join(words[start:end]):
            edit = Edit(start, end, " ".join(text))
            errors.append(Change(edit, Parsed(tuple(text), tuple("E" for _ in text), tuple(text))))
        start = end + 1
    material = spoilt(clean, errors)
    bad = " ".join(material.source.tokens)
    assert bad == apply_edits(" ".join(words), [error.edit for error in errors])
    assert apply_edits(bad, [seen.edit for seen in material.gold]) == " ".join(words)
    assert len(material.gold) == len(errors)
    assert material.accepted == {" ".join(words)}


# -- what mistakes are learnt from ----------------------------------------------------------------------


def test_outputs_of_systems_are_mistakes_where_no_reference_has_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = "I go to school every day with my best friends ."
    data = Parallel((text,), References.from_texts([text]))
    monkeypatch.setattr(corrupted, "load_parallel", lambda name: data)
    systems = {
        "one": (text.replace("every day", "every days"),),
        "source+error": (text.replace("my", "mine"),),
    }
    monkeypatch.setattr(corrupted, "load_outputs", lambda name: systems)
    path = tmp_path / "right.tsv"
    days = [text, *(f"{who} works every day {where} ." for who in ("He", "She") for where in "ab")]
    path.write_text("".join(f"{day}\t{day}\n" for day in days))
    pairs = CorruptedPairs(
        [str(path), "sample"], 5, outputs=["gmeg:fce"], kinds={"added": 1}, annotator=ANNOTATOR
    )
    stock = pairs._prepare(Runtime())
    (material,) = stock.groups[0]
    assert [(c.start, c.end, c.text.tokens) for c in material.mistakes] == [(5, 6, ("days",))]
    changes = [stock.mistakes.elsewhere(material, (), random.Random(seed)) for seed in range(5)]
    assert ("days", "system") in [(c.edit.correction, c.origin) for c in changes if c]


@settings(deadline=None)
@given(st.integers(0, 71), st.randoms(use_true_random=False))
def test_free_places_are_those_that_nothing_touches(number: int, generator: random.Random) -> None:
    text = load_corrections("sample")[number].source
    sentence = parsed(text)
    spans = []
    for _ in range(generator.randint(0, 4)):
        start = generator.randint(0, len(sentence))
        spans.append((start, min(start + generator.randint(0, 2), len(sentence))))
    material = Material(sentence, (), tuple(spans), frozenset(), frozenset())
    expected = [
        all(end < token or token + 1 < start for start, end in spans)
        for token in range(len(sentence))
    ]
    assert material.free() == expected


def test_rules_apply_in_their_context_alone() -> None:
    rows = [
        ("He is good in maths .", "He is good at maths ."),
        ("I am at home .", "I am at home ."),
    ]
    (first, target, edits), (other, _, _) = parse_corrections(rows, ANNOTATOR)
    inventory = Inventory(observe(first, target, edits), "misapplied")
    (candidate,) = inventory.at(first, 3, 4)
    assert (candidate.text.tokens, candidate.origin) == (("at",), "misapplied")
    turned = Inventory([seen.reversed() for seen in observe(first, target, edits)], "reversed")
    assert [c.text.tokens for c in turned.at(target, 3, 4)] == [("in",)]
    # "at" stands between other words here; anywhere it may be changed all the same.
    found = list(turned.at(other, 2, 3))
    assert all(c.weight < 1 for c in found)
    assert [c.text.tokens for c in turned.at(other, 2, 3, anywhere=True)] == [("in",)]
    assert list(Inventory(observe(first, target, edits), "x", least=2).at(first, 3, 4)) == []


def test_changes_fit_their_place() -> None:
    sentence = parsed("The apple is an old fruit .")

    def fitted(start: int, end: int, word: str) -> str | None:
        text = Parsed((word,), ("DT",), (word,)) if word else Parsed()
        change = Replacement(start, end, text, 1.0, "").fitted(sentence)
        return change and change.edit.correction

    assert fitted(0, 1, "a") == "An"
    assert fitted(0, 1, "those") == "Those"
    assert fitted(4, 4, "an") is None
    assert fitted(4, 5, "new") is None
    assert fitted(4, 5, "ugly") == "ugly"
    assert fitted(4, 5, "") is None
    assert fitted(3, 4, "the") == "the"
    assert fitted(5, 5, "fruit") is None
    assert fitted(3, 4, "The") == "the"


def test_style_is_no_mistake() -> None:
    def of(*words: tuple[str, str, str]) -> Parsed:
        return Parsed(*map(tuple, zip(*words, strict=True))) if words else Parsed()

    can_not, cannot = of(("can", "MD", "can"), ("not", "RB", "not")), of(("cannot", "MD", "cannot"))
    assert not plain(can_not, cannot)
    assert not plain(of(("not", "RB", "not")), of(("n't", "RB", "not")))
    assert not plain(of(("'s", "VBZ", "be")), of(("has", "VBZ", "have")))
    assert plain(of(("is", "VBZ", "be")), of(("has", "VBZ", "have")))
    assert not plain(of((",", ",", ",")), of())
    assert not plain(of(("house", "NN", "house")), of(("<unk>", "NN", "<unk>")))
    assert not plain(of(("goes", "VBZ", "go")), of(("went", "VBD", "go")))
    assert not plain(of(("can", "MD", "can")), of(("may", "MD", "may")))
    assert plain(of(("goes", "VBZ", "go")), of(("going", "VBG", "go")))
    assert plain(of(("the", "DT", "the")), of())
    assert related(of(("the", "DT", "the")), of())
    assert related(of(("their", "PRP$", "their")), of(("there", "RB", "there")))
    assert not related(of(("house", "NN", "house")), of())
    assert not related(of(("the", "DT", "the")), of(("in", "IN", "in")))


def test_agreement_is_more_natural() -> None:
    texts = [
        f"{subject} {verb} {where} ."
        for subject, verb in (("He", "goes"), ("She", "goes"), ("They", "go"), ("We", "go"))
        for where in ("home", "to school", "to work", "out")
    ]
    naturalness = Naturalness([[parsed(text)] for text in texts])
    sentence = parsed("He goes home .")
    old = sentence.piece(1, 2)
    worse = naturalness.loss(sentence, 1, 2, old, Parsed(("go",), ("VB",), ("go",)))
    assert worse > 1
    assert naturalness.loss(sentence, 1, 2, old, old) == pytest.approx(0)
    assert naturalness.knows(old)
    assert not naturalness.knows(Parsed(("gose",), ("VB",), ("gose",)))


def test_wrong_edits_are_drawn_for_a_correct_sentence() -> None:
    rows = load_corrections("sample")
    results = parse_corrections([(row.source, row.target) for row in rows], ANNOTATOR)
    seen = [each for result in results for each in observe(*result)]
    mistakes = Mistakes(seen, [], [[target] for _, target, _ in results])
    sentence = parsed("Last year my company sent me to the old town for three months .")
    text = " ".join(sentence.tokens)
    material = Material(sentence, (), (), frozenset(), frozenset({text}))
    found = [mistakes.elsewhere(material, (), random.Random(seed)) for seed in range(20)]
    edits = [change.edit for change in found if change is not None]
    assert len(set(edits)) > 1
    assert all(apply_edits(text, [edit]) != text for edit in edits)


# -- parameters ----------------------------------------------------------------------------------------


def test_describes_itself() -> None:
    described = source(7, kinds={"added": 1.0}, seed=3).describe()
    assert json.loads(json.dumps(described)) == described
    assert (described["number"], described["seed"], described["kinds"]) == (7, 3, {"added": 1.0})
    again = CorruptedPairs(**described)
    assert again.describe() == described
    assert source(7).place(Path("p")) != source(8).place(Path("p"))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"corrections": []}, ConfigError, "corrections is empty"),
        ({"number": 0}, ConfigError, "number is 0"),
        ({"kinds": {"nested": 1.0}}, UnknownNameError, "no kind of corrupted pairs"),
        ({"kinds": {"added": -1.0}}, ConfigError, "kinds.added is -1.0"),
        ({"kinds": {}}, ConfigError, "no share above 0"),
        ({"outputs": ["seeda"]}, UnknownNameError, "no set of outputs with references"),
        ({"sentence_share": 0.5}, ConfigError, "sentence_share is 0.5"),
        ({"sentences": ["x"], "sentence_share": 1.5}, ConfigError, "sentence_share is 1.5"),
    ],
)
def test_says_what_is_wrong(
    options: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        CorruptedPairs(**{"corrections": ["sample"], "number": 5, **options})  # type: ignore[arg-type]
