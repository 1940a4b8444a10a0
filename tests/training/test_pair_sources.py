"""Pair sources by name in a training configuration: learnedgec's own, and those of other packages."""

from __future__ import annotations

import gc
import importlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from training_files import training_data

from learnedgec.errors import ConfigError, PluginError, UnknownNameError
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs import (
    PAIR_SOURCES,
    REGISTRY,
    CapitalPairs,
    CorruptedPairs,
    DistilledPairs,
    EditPairs,
    PairFile,
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


def test_own_sources_have_short_names(words: Callable[..., list[str]]) -> None:
    source = {"class_path": "PairFile", "init_args": {"path": "pairs.jsonl"}}
    (first,) = training_data(words([source])).pairs["quality"]
    assert isinstance(first, PairFile)
    assert first.path == "pairs.jsonl"


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


@pytest.mark.usefixtures("shouted")
@pytest.mark.filterwarnings("ignore:the pair source 'Renamed'")
def test_unknown_names_are_suggested(words: Callable[..., list[str]]) -> None:
    arguments = words([{"class_path": "ShoutingPairs", "init_args": {}}])
    with pytest.raises(UnknownNameError, match="'ShoutingPairs'; did you mean 'ShoutedPairs'"):
        training_data(arguments)


@pytest.mark.parametrize(
    ("name", "options", "problem"),
    [
        (
            "PairFile",
            {"pth": "pairs.jsonl"},
            "no key of data.pairs is named 'pth'; did you mean 'path'?",
        ),
        ("RatedPairs", {"ratings": ["sample"]}, "data.pairs: difference is missing;"),
    ],
)
def test_wrong_options_of_a_source_are_named(
    words: Callable[..., list[str]], name: str, options: Mapping[str, Any], problem: str
) -> None:
    arguments = words([{"class_path": name, "init_args": options}])
    with pytest.raises((ConfigError, UnknownNameError)) as error:
        training_data(arguments)
    assert str(error.value) == (
        f"{problem} `learnedgec train --data.pairs.help {name}` lists the options."
    )


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


CORRUPTED = partial(CorruptedPairs, ["sample"], 3)
REFERENCED = partial(ReferencedPairs, ["sample"], ["sample"])


@pytest.mark.parametrize(
    ("new", "options", "error", "message"),
    [
        (CORRUPTED, {"sentence_share": 0.5}, ConfigError, "sentence_share is 0.5"),
        (CORRUPTED, {"kinds": {"added": -1.0}}, ConfigError, "shares of 0 or more"),
        (CORRUPTED, {"kinds": {"other": 1.0}}, ConfigError, "for some of missing, added"),
        (REFERENCED, {"metrics": ["length"]}, ConfigError, "length needs no references"),
        (REFERENCED, {"metrics": ["gleuu"]}, UnknownNameError, "gleu"),
        (REFERENCED, {"balance": {"far": 1}}, ConfigError, "nearer, equal, farther"),
        (REFERENCED, {"balance": {"equal": 0}}, ConfigError, "not all 0"),
        (RankingPairs, {"rankings": [], "balance": {"far": 1}}, ConfigError, "balance is"),
        (DistilledPairs, {"pairs": [], "teacher": "gleu"}, ConfigError, "needs references; name"),
        (
            DistilledPairs,
            {"pairs": [], "teacher": "length", "references": ["sample"]},
            ConfigError,
            "needs no references; .* or leave the key out",
        ),
    ],
)
def test_arguments_that_cannot_be_used(
    new: Callable[..., PairSource],
    options: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        new(**options)
