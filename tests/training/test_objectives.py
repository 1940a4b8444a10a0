"""Objectives by name and by import path, and what a package says of them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from learnedgec.data.text import read_json
from learnedgec.errors import BadNameError, UnknownNameError
from learnedgec.evaluators.evaluator import HeadConfig
from learnedgec.training.fit import train
from learnedgec.training.objectives import OBJECTIVES, Objective, Targets, find_objective

HINGE = """
from learnedgec.training.objectives import Objective


class Hinge(Objective):
    def terms(self, values, targets):
        high, low = values[targets.pairs].float().unbind(dim=1)
        return (low - high + self.margin).relu()
"""


def test_every_objective_has_a_loss_that_falls_and_a_measure() -> None:
    targets = Targets(
        ratings=torch.tensor([3.0, float("nan"), 1.0, 2.0]),
        pairs=torch.tensor([[0, 1], [2, 3]]),
        margins=torch.tensor([1.0, 0.5]),
        cases=torch.zeros((0, 4), dtype=torch.long),
        wrong=torch.tensor([[0.0, 1.0]] * 4),
        capitals=torch.tensor([[1, 2]] * 4),
    )
    for kind in OBJECTIVES.values():
        objective = kind(0.1)
        values = torch.nn.Parameter(torch.zeros(4 if objective.reads == "pooled" else (4, 2)))
        before = objective.loss(values, targets)
        before.backward()
        assert objective.loss(values - 0.1 * values.grad, targets) < before  # type: ignore[operator]
        measure = objective.new_measure()
        objective.update(measure, torch.tensor([2.0, 1.0, 0.0, 1.5]), targets)
        best = 0.5 if objective.measure == "accuracy" else 0.9608
        assert float(measure.compute()) == pytest.approx(best, abs=1e-3)


def test_objectives_of_other_packages_and_of_the_current_folder(
    install_package: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_package(
        "hinges", {"learnedgec.objectives": {"hinge": "hinges:Hinge"}}, {"hinges.py": HINGE}
    )
    (tmp_path / "mine.py").write_text(HINGE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder])
    importlib.invalidate_caches()
    values, pairs = torch.tensor([1.0, 0.5, 2.0, 0.0]), torch.tensor([[0, 1], [2, 3]])
    targets = Targets(torch.zeros(0), pairs, torch.zeros(0), torch.zeros((0, 4)))
    for name in ("hinge", "mine.Hinge", "mine:Hinge"):
        objective = find_objective(name)(margin=1.0)
        assert isinstance(objective, Objective)
        assert float(objective.loss(values, targets)) == 0.25
    with pytest.raises(
        UnknownNameError, match="no training objective is named 'hinges'; did you mean"
    ):
        find_objective("hinges")
    with pytest.raises(BadNameError, match="has no Loss"):
        find_objective("mine.Loss")
    del sys.modules["mine"]


def test_a_package_says_the_objective_and_the_range_of_each_head(
    tmp_path: Path, tiny_encoder: Path
) -> None:
    rows = [f"he go {n},he goes {n},{2 + 3 * n},{n % 3 - 1}" for n in range(32)]
    (tmp_path / "r.csv").write_text("\n".join(["source,hypothesis,fluency,style", *rows]))
    words = ["--name", "mine", "--output", str(tmp_path), "--runs", str(tmp_path / "runs")]
    words += ["--model.encoder", str(tiny_encoder), "--data.ratings", f"[{tmp_path / 'r.csv'}]"]
    words += ["--model.heads", "{fluency: {}, style: {}}", "--trainer.accelerator", "cpu"]
    words += ["--data.ranges", "{fluency: [0, 100]}", "--trainer.max_steps", "1"]
    result = train(words, progress=False)
    assert result is not None
    config = read_json(result.package / "config.json")
    heads = {name: HeadConfig(**head) for name, head in config["heads"].items()}
    assert [head.objective for head in heads.values()] == ["regression", "regression"]
    assert [head.range for head in heads.values()] == [(0, 100), (-1, 1)]
    # The mean rating of style is about 0, and its head is one of ratings all the same.
    assert heads["style"].rated
