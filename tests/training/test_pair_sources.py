"""Pair sources by name in a training configuration: learnedgec's own, and those of other packages."""

from __future__ import annotations

import gc
import importlib
import json
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from training_files import training_data

from learnedgec.errors import PluginError
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs import (
    PAIR_SOURCES,
    REGISTRY,
    CapitalPairs,
    EditPairs,
    PairSource,
    RankingPairs,
    RatedPairs,
    ReferencedPairs,
)

InstallPackage = Callable[..., Path]

PLUGIN = """
from learnedgec.training.pairs import PairFile, PairSource, RankedPair


class ShoutedPairs(PairSource):
    def __init__(self, words: list[str]) -> None:
        self.words = words

    def make(self, folder, runtime):
        return [RankedPair(word, word, word.upper()) for word in self.words]

    def describe(self):
        return {"words": self.words}

    def datasets(self):
        return []
"""


@pytest.fixture
def shouted(install_package: InstallPackage) -> None:
    points = {"ShoutedPairs": "shouting:ShoutedPairs", "Renamed": "shouting:ShoutedPairs"}
    install_package("shouting", {"learnedgec.pairs": points}, {"shouting.py": PLUGIN})


@pytest.fixture
def words(tiny_encoder: Path) -> Callable[[list[dict[str, Any]]], list[str]]:
    """Return a function that returns the arguments of a run with pair sources."""

    def build(sources: list[dict[str, Any]]) -> list[str]:
        model = ["--model.encoder", str(tiny_encoder), "--model.heads", "{quality: {}}"]
        return ["--name", "x", *model, "--data.pairs", json.dumps({"quality": sources})]

    return build


def test_every_source_is_in_the_table() -> None:
    builtin = {
        kind for kind in PairSource.__subclasses__() if kind.__module__.startswith("learnedgec.")
    }
    assert set(PAIR_SOURCES.values()) == builtin
    assert all(kind.__name__ == name for name, kind in PAIR_SOURCES.items())


@pytest.mark.usefixtures("shouted")
def test_sources_of_other_packages_have_short_names(words: Callable[..., list[str]]) -> None:
    source = {"class_path": "ShoutedPairs", "init_args": {"words": ["a b"]}}
    nested = {"class_path": "DistilledPairs", "init_args": {"pairs": [source], "teacher": "length"}}
    with pytest.warns(UserWarning, match="the pair source 'Renamed' .* is named 'ShoutedPairs'"):
        first, distilled = training_data(words([source, nested])).pairs["quality"]
    assert type(first) is REGISTRY.find("ShoutedPairs")
    assert first.describe() == {"words": ["a b"]}
    assert distilled.describe()["pairs"] == [{"source": "ShoutedPairs", "words": ["a b"]}]
    with pytest.raises(PluginError, match="update or uninstall"):
        REGISTRY.find("Renamed")


def test_sources_of_the_current_folder_are_found(
    words: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "whispering.py").write_text(PLUGIN.replace("Shouted", "Whispered"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    importlib.invalidate_caches()
    source = {"class_path": "whispering.WhisperedPairs", "init_args": {"words": ["a b"]}}
    (first,) = training_data(words([source])).pairs["quality"]
    assert first.describe() == {"words": ["a b"]}
    del sys.modules["whispering"], first
    gc.collect()  # classes are in cycles; PairSource must forget this one


@pytest.mark.parametrize(
    "new",
    [
        partial(CapitalPairs, ["sample"]),
        partial(EditPairs, ["sample"], ["sample"], annotator="en-ewt-sm"),
        partial(RankingPairs, ["sample"]),
        partial(RatedPairs, ["sample"], 1.0, "fluency"),
        partial(ReferencedPairs, ["sample"], ["sample"]),
    ],
    ids=lambda new: new.func.__name__,
)
def test_a_number_is_drawn_by_the_seed(new: Callable[..., PairSource]) -> None:
    whole, first, again, other = (
        new(**options).make(Path(), Runtime())
        for options in ({}, {"number": 9}, {"number": 9}, {"number": 9, "seed": 1})
    )
    assert first == again != other
    assert len(first) == len(other) == 9
    assert first != whole[:9]
    assert not Counter(first) - Counter(whole)
    assert new(number=len(whole)).make(Path(), Runtime()) == whole
