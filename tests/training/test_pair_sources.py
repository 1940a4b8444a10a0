"""Pair sources by name, and their pairs, which are read back while all that they were made of is the same."""

from __future__ import annotations

import gc
import importlib
import json
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import tiny
from embedded import SAMPLE_FOLDER
from training_files import training_data

from learnedgec.edits.annotator import describe_annotator
from learnedgec.errors import PluginError
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.pairs import (
    REGISTRY,
    CapitalPairs,
    CorruptedPairs,
    DistilledPairs,
    EditPairs,
    ImpactPairs,
    PairFile,
    PairSource,
    RankedPair,
    RankingPairs,
    RatedPairs,
    ReferencedPairs,
    base,
    write_ranked_pairs,
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


def sources_of(encoder: Path, *sources: dict[str, Any]) -> list[PairSource]:
    """Return the pair sources of a configuration."""
    model = ["--name", "x", "--model.encoder", str(encoder), "--model.heads", "{quality: {}}"]
    words = [*model, "--data.pairs", json.dumps({"quality": sources})]
    return training_data(words).pairs["quality"]


@pytest.mark.usefixtures("shouted")
def test_sources_of_other_packages_have_short_names(tiny_encoder: Path) -> None:
    source = {"class_path": "ShoutedPairs", "init_args": {"words": ["a b"]}}
    nested = {"class_path": "DistilledPairs", "init_args": {"pairs": [source], "teacher": "length"}}
    with pytest.warns(UserWarning, match="the pair source 'Renamed' .* is named 'ShoutedPairs'"):
        first, distilled = sources_of(tiny_encoder, source, nested)
    assert type(first) is REGISTRY.find("ShoutedPairs")
    assert first.describe() == {"words": ["a b"]}
    assert distilled.describe()["pairs"] == [{"source": "ShoutedPairs", "words": ["a b"]}]
    with pytest.raises(PluginError, match="update or uninstall"):
        REGISTRY.find("Renamed")


def test_sources_of_the_current_folder_are_found(
    tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "whispering.py").write_text(PLUGIN.replace("Shouted", "Whispered"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    importlib.invalidate_caches()
    source = {"class_path": "whispering.WhisperedPairs", "init_args": {"words": ["a b"]}}
    (first,) = sources_of(tiny_encoder, source)
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


@pytest.fixture
def rated(tmp_path: Path) -> Path:
    """Return a folder in the layout of a benchmark."""
    return Path(shutil.copytree(SAMPLE_FOLDER, tmp_path / "rated"))


def made(source: PairSource, folder: Path) -> list[RankedPair]:
    return source.load(folder, Runtime())[0]


def rate(folder: Path) -> RatedPairs:
    return RatedPairs([str(folder)], difference=2, dimension="fluency")


def shorten(file: Path) -> None:
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[: len(lines) // 2]) + "\n")


def test_an_edited_folder_makes_other_pairs(rated: Path, tmp_path: Path) -> None:
    first = made(rate(rated), tmp_path / "kept")
    shorten(rated / "ratings.csv")
    second = made(rate(rated), tmp_path / "kept")
    assert second == rate(rated).make(tmp_path, Runtime())
    assert len(second) < len(first)
    place = rate(rated).place(tmp_path)
    shorten(rated / "systems" / "weak.txt")
    assert rate(rated).place(tmp_path) != place


def test_an_encoder_trained_again_in_its_place_makes_other_pairs(tmp_path: Path) -> None:
    from transformers import BertModel

    encoder = tiny.save_encoder(tmp_path / "encoder")
    source = ImpactPairs(["sample"], number=50, encoder=str(encoder), edits="m2")
    first = made(source, tmp_path / "kept")
    assert made(source, tmp_path / "kept") == first
    BertModel(tiny.configuration(len(tiny.tokenizer()))).save_pretrained(encoder)
    second = made(source, tmp_path / "kept")
    assert [pair.margin for pair in second] != [pair.margin for pair in first]
    # Another tokenizer makes other vectors as well.
    place = source.place(tmp_path)
    tokenizer = encoder / "tokenizer_config.json"
    tokenizer.write_text(tokenizer.read_text().replace("256", "255"))
    assert source.place(tmp_path) != place


def test_an_annotator_is_part_of_the_key(
    tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [
        CorruptedPairs(["sample"], 20, annotator="en-ewt-sm"),
        ImpactPairs(["sample"], encoder=str(tiny_encoder), annotator="en-ewt-sm"),
    ]
    places = [source.place(tmp_path) for source in sources]
    for source in sources:
        assert describe_annotator("en-ewt-sm").items() <= source.digests().items()
    monkeypatch.setattr(base, "describe_annotator", lambda name: {"annotator-version": "2"})
    assert not set(places) & {source.place(tmp_path) for source in sources}


def test_a_folder_with_the_name_of_a_part_is_no_part_of_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = ImpactPairs(["jelv:train"], annotator="en-ewt-sm")
    place = source.place(tmp_path)
    Path("train").mkdir()
    Path("train", "notes").write_text("mine")
    assert source.place(tmp_path) == place


def test_a_teacher_and_what_is_below_it_are_part_of_the_key(
    tiny_evaluator: Path, rated: Path, tmp_path: Path
) -> None:
    teacher = Path(shutil.copytree(tiny_evaluator, tmp_path / "teacher"))
    source = DistilledPairs([rate(rated)], f"some(model='{teacher}')")
    places = {source.place(tmp_path)}
    config = json.loads((teacher / "config.json").read_text())
    config["heads"]["fluency"]["scale"] = 5.0
    (teacher / "config.json").write_text(json.dumps(config))
    tiny.sign(teacher, "config.json")
    places.add(source.place(tmp_path))
    shorten(rated / "ratings.csv")
    places.add(source.place(tmp_path))
    assert len(places) == 3


def test_a_file_and_a_dataset_of_the_catalog_are_part_of_the_key(
    put_dataset: Callable[[str, dict[str, str]], None], tmp_path: Path
) -> None:
    file = tmp_path / "pairs.jsonl"
    write_ranked_pairs(file, [RankedPair("a", "b", "c")])
    sources = [PairFile(str(file)), CorruptedPairs(["jfleg:dev"], 5, annotator="en-ewt-sm")]
    put_dataset("jfleg", {"dev/dev.src": "A b .\n"})
    first = [source.place(tmp_path) for source in sources]
    assert [source.place(tmp_path) for source in sources] == first
    write_ranked_pairs(file, [RankedPair("a", "b", "d")])
    put_dataset("jfleg", {"dev/dev.src": "A c .\n"})
    assert not set(first) & {source.place(tmp_path) for source in sources}


@pytest.mark.realdata
def test_pairs_of_strong_systems(mirror: Path) -> None:
    source = ReferencedPairs(["pillars:dev"], ["pillars:dev", "jelv:dev"])
    pairs = source.make(Path(), Runtime())
    summary = source.summary(pairs)
    assert summary["pairs"] > 1000
    assert summary["nearer"] > 0.1
    assert {pair.origin for pair in pairs} == {"pillars:dev"}
