"""A head that learns capitals on a frozen encoder, whose other heads stay."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny
from safetensors.torch import load_file
from training_files import arguments, trained

from learnedgec.errors import ConfigError
from learnedgec.evaluators.evaluator import Evaluator, HeadConfig
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.module import EvaluatorModule, Lora
from learnedgec.training.objectives import HeadOptions
from learnedgec.training.pairs import CapitalPairs


def options(folder: Path, encoder: Path, *words: str, **model: object) -> list[str]:
    source = {"class_path": "CapitalPairs", "init_args": {"corrections": ["sample"]}}
    heads = {"capitals": {"objective": "capitals", "layer": 1}}
    defaults = {"encoder": encoder, "frozen_layers": 2, "learning_rate": 3e-2, "dropout": 0.0}
    settings = {
        "model": {**defaults, "heads": heads, **model},
        "data": {"pairs": {"capitals": [source]}},
        "trainer": {"max_epochs": 8},
    }
    return arguments(folder, settings, *words)


def test_pairs_differ_in_the_case_of_one_to_three_words(tmp_path: Path) -> None:
    source = CapitalPairs(["sample"])
    pairs = source.make(tmp_path, Runtime())
    assert len(pairs) > 50
    for pair in pairs:
        words = zip(pair.better.split(" "), pair.worse.split(" "), strict=True)
        changed = [(first, other) for first, other in words if first != other]
        assert 1 <= len(changed) <= 3
        assert all(first[0].swapcase() + first[1:] == other for first, other in changed)
    with pytest.raises(ConfigError, match="CapitalPairs finds no pair in no data"):
        CapitalPairs([]).made(tmp_path, Runtime())


def test_capitals_are_learned_and_other_heads_stay(tmp_path: Path) -> None:
    start = tiny.save_evaluator(tmp_path / "start", heads=tiny.SOME_HEADS, width=64)
    sums = {"fluency": {"fluency": 1, "capitals": 0.5}}
    result = trained(options(tmp_path, start, sums=sums))
    assert result.results["dev"]["capitals"]["accuracy"] > 0.8
    before, after = (load_file(p / "model.safetensors") for p in (start, result.package))
    assert {name for name in after if name not in before} == {
        "heads.capitals.weight",
        "heads.capitals.bias",
    }
    assert all((after[name] == before[name]).all() for name in before)
    first, second = Evaluator.load(str(start)), Evaluator.load(str(result.package))
    assert set(second.outputs) == {*tiny.SOME_HEADS, "capitals"}
    texts = ["The cat is here .", "the Cat is here ."]
    old, new = first.predict(texts, texts), second.predict(texts, texts)
    for name in ("grammaticality", "meaning"):
        assert new[name].tolist() == pytest.approx(old[name].tolist())
    assert new["fluency"].tolist() == pytest.approx(
        (old["fluency"] + 0.5 * new["capitals"]).tolist(), abs=1e-6
    )
    assert new["capitals"][0] > new["capitals"][1]


def test_sums_of_heads_that_stay_are_passed_on(tmp_path: Path) -> None:
    heads = {
        "fluency": HeadConfig("hypothesis"),
        "meaning": HeadConfig("pair"),
        "capitals": HeadConfig("hypothesis", reads="capitals", layer=1),
    }
    sums = {"fluency": {"fluency": 1.0, "capitals": 0.5}, "all": {"fluency": 1.0, "meaning": 2.0}}
    folder = str(tiny.save_evaluator(tmp_path / "first", heads=heads, sums=sums))
    relative = {"relative": HeadOptions("pair", "logistic")}
    extended = EvaluatorModule(relative, encoder=folder, lora=Lora(1))
    assert extended.model.config.sums == {"fluency": sums["fluency"]}
    assert extended.start.notice == (
        "Continuing first; heads that start untrained: relative; sums that are not passed on (name them in "
        "model.sums): all."
    )
    frozen = EvaluatorModule(
        relative, encoder=folder, frozen_layers=2, sums={"all": {"meaning": 1}}
    )
    assert frozen.model.config.sums == {"fluency": sums["fluency"], "all": {"meaning": 1}}
    # A new head is not hidden by a sum of its name.
    renewed = EvaluatorModule(
        {"all": HeadOptions("pair", "logistic")}, encoder=folder, frozen_layers=2
    )
    assert renewed.model.config.sums == {"fluency": sums["fluency"]}
    whole = EvaluatorModule({"fluency": HeadOptions()}, encoder=folder)
    assert whole.model.config.sums == {}
    assert whole.start.notice is not None
    assert "(name them in model.sums): all, fluency." in whole.start.notice
    with pytest.raises(ConfigError, match=r"read mean; set model\.pooling to mean"):
        EvaluatorModule(relative, encoder=folder, lora=Lora(1), pooling="cls")
