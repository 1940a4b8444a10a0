from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from embedded import Sample

from learnedgec.data.catalog import load_parallel
from learnedgec.data.m2 import apply_edits
from learnedgec.edits.annotator import describe_annotator, extract_edits, find_annotator
from learnedgec.errors import InputError, PluginError, UnknownNameError
from learnedgec.runtime.runtime import Runtime

InstallPackage = Callable[..., Path]

ANNOTATOR = """
from learnedgec.data.m2 import Edit


class Whole:
    version = "7"

    def annotate(self, pairs, *, types):
        return [
            [Edit(0, len(source.split()), target, "R:ALL" if types else "")]
            for source, target in pairs
        ]


WHOLE = Whole()
TEXT = "no annotator"
"""


def plain(source: str, target: str) -> list[tuple[int, int, str, str]]:
    (edits,) = extract_edits([(source, target)], "plain")
    return [(edit.start, edit.end, edit.correction, edit.type) for edit in edits]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("Hon gå hem", "Hon går hem", [(1, 2, "går", "R")]),
        ("Hon gick hem", "Hon gick hem .", [(3, 3, ".", "M")]),
        ("Hon så gick", "Hon gick", [(1, 2, "", "U")]),
        # In another order.
        ("Idag jag går", "Idag går jag", [(1, 3, "går jag", "R")]),
        # Spelt the same but for a space or a hyphen.
        ("svensk läraren kom", "svenskläraren kom", [(0, 2, "svenskläraren", "R")]),
        ("e post kom", "e-post kom", [(0, 2, "e-post", "R")]),
        # Case with the punctuation before, and with the word before.
        ("Ja , vi går", "Ja . Vi går", [(1, 3, ". Vi", "R")]),
        ("Katten kom", "Den katten kom", [(0, 1, "Den katten", "M")]),
        # Two substitutions are two edits.
        ("en bra dag", "ett braa dag", [(0, 1, "ett", "R"), (1, 2, "braa", "R")]),
        ("猫 が いる", "犬 が いる", [(0, 1, "犬", "R")]),
        ("", "Ny text", [(0, 0, "Ny text", "M")]),
        ("Gammal text", "", [(0, 2, "", "U")]),
        ("lika", " lika ", []),
    ],
)
def test_edits(source: str, target: str, expected: list[tuple[int, int, str, str]]) -> None:
    assert plain(source, target) == expected


@pytest.mark.parametrize("annotator", ["en-ewt-sm", "plain"])
def test_edits_make_the_target(annotator: str, sample: Sample) -> None:
    numbers = random.Random(0)
    pairs = [
        (s, h) for row in sample.systems.values() for s, h in zip(sample.sources, row, strict=True)
    ]
    for _ in range(200):
        words = (numbers.choices("a b A B aa . , ab'", k=numbers.randrange(9)) for _ in range(2))
        source, target = map(" ".join, words)
        pairs.append((source, target))
    for (source, target), edits in zip(pairs, extract_edits(pairs, annotator), strict=True):
        assert apply_edits(source, edits).split() == target.split()


@pytest.mark.parametrize("annotator", ["en-ewt-sm", "plain"])
def test_several_processes_find_the_same(
    annotator: str, sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("learnedgec.edits.annotator._BLOCK", 32)
    pairs = list(zip(sample.sources, sample.systems["eager"], strict=True))
    two = extract_edits(pairs, annotator, runtime=Runtime(jobs=2))
    assert two == extract_edits(pairs, annotator)


def test_what_must_be_parsed_is_refused() -> None:
    with pytest.raises(InputError, match="the annotator plain parses nothing"):
        find_annotator("plain")


def test_a_package_brings_an_annotator(install_package: InstallPackage) -> None:
    points = {"whole": "whole_:WHOLE", "broken": "whole_:TEXT"}
    install_package("whole", {"learnedgec.annotators": points}, {"whole_.py": ANNOTATOR})
    ((edit,),) = extract_edits([("a b", "c d")], "whole")
    assert (edit.start, edit.end, edit.correction, edit.type) == (0, 2, "c d", "R:ALL")
    assert describe_annotator("whole") == {"annotator-version": "7"}
    with pytest.raises(PluginError, match="whole_:TEXT is not of the type Annotator"):
        extract_edits([("a", "b")], "broken")
    with pytest.raises(UnknownNameError, match="did you mean 'whole'"):
        extract_edits([("a", "b")], "wole")


@pytest.mark.realdata
def test_real_edits_are_mostly_those_of_errant() -> None:
    parallel = load_parallel("pillars:dev")
    pairs = [
        (source, row[0].text)
        for source, row in zip(parallel.sources, parallel.references, strict=True)
        if source.split() != row[0].text.split()
    ]
    theirs, ours = (
        Counter(
            (number, edit.start, edit.end, edit.correction, edit.type[:1])
            for number, row in enumerate(extract_edits(pairs, annotator))
            for edit in row
        )
        for annotator in ("en-ewt-sm", "plain")
    )
    equal = (theirs & ours).total()
    assert equal / theirs.total() == pytest.approx(0.946, abs=5e-3)
    assert equal / ours.total() == pytest.approx(0.963, abs=5e-3)
