"""Objectives by name and by import path, and what a package says of them."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from training_files import arguments, trained, training_data

from learnedgec.data.text import read_json
from learnedgec.errors import BadNameError, UnknownNameError
from learnedgec.evaluators.evaluator import HeadConfig
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
        groups=torch.zeros(4),
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
        # All three pairs of rated texts are in order, and one of the two ranked pairs is.
        best = 0.9608 if objective.measure == "pearson" else 1 if objective.rated else 0.5
        assert float(measure.compute()) == pytest.approx(best, abs=1e-3)


def test_listwise_compares_the_rated_outputs_of_each_source(
    tmp_path: Path, tiny_encoder: Path
) -> None:
    nan, empty = float("nan"), torch.zeros(0)
    ratings = torch.tensor([3.0, 1.0, nan, 2.0, 0.0, 4.0])
    targets = Targets(ratings, empty, empty, empty, torch.tensor([0, 0, 0, 1, 1, 2]))
    objective = OBJECTIVES["listwise"]()
    objective.scale = 2.0
    values = torch.tensor([2.0, 2.0, 9.0, 2.0, 0.0, 7.0])
    # Σ softmax(rating / 2) is 1, so equal values cost log 2; the second source is fitted exactly.
    share = 1 / (1 + math.exp(-1))
    entropy = -share * math.log(share) - (1 - share) * math.log(1 - share)
    assert objective.terms(values, targets).tolist() == pytest.approx([math.log(2), entropy])
    assert (
        len(objective.terms(values[-1:], Targets(ratings[-1:], *[empty] * 3, torch.ones(1)))) == 0
    )

    rows = [f"he go {n},he goes {n} {m * '.'},{m}" for m in range(3) for n in range(32)]
    (tmp_path / "r.csv").write_text("\n".join(["source,hypothesis,order", *rows]))
    model = {"encoder": tiny_encoder, "heads": {"order": {"objective": "listwise"}}}
    settings = {
        "model": {**model, "learning_rate": 5e-3},
        "data": {"ratings": [tmp_path / "r.csv"], "batch_size": 4},
        "trainer": {"max_epochs": 3},
    }
    words = arguments(tmp_path, settings)
    data = training_data(words)
    result = trained(words)
    assert not HeadConfig(**read_json(result.package / "config.json")["heads"]["order"]).rated
    assert result.results["dev"]["order"]["accuracy"] > 0.8
    assert result.results["dev"]["order"]["n"] == data.sizes()["dev"]["ratings"]  # 3 pairs of 3


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
    with pytest.raises(BadNameError, match="has no subclass of Objective named Loss"):
        find_objective("mine.Loss")
    del sys.modules["mine"]


def test_a_package_says_the_objective_and_the_range_of_each_head(
    tmp_path: Path, tiny_encoder: Path
) -> None:
    rows = [f"he go {n},he goes {n},{2 + 3 * n},{n % 3 - 1}" for n in range(32)]
    (tmp_path / "r.csv").write_text("\n".join(["source,hypothesis,fluency,style", *rows]))
    settings = {
        "model": {"encoder": tiny_encoder, "heads": {"fluency": {}, "style": {}}},
        "data": {"ratings": [tmp_path / "r.csv"], "ranges": {"fluency": [0, 100]}},
        "trainer": {"max_steps": 1},
    }
    result = trained(arguments(tmp_path, settings))
    config = read_json(result.package / "config.json")
    heads = {name: HeadConfig(**head) for name, head in config["heads"].items()}
    assert [head.objective for head in heads.values()] == ["regression", "regression"]
    assert [head.range for head in heads.values()] == [(0, 100), (-1, 1)]
    # The mean rating of style is about 0, and its head is one of ratings all the same.
    assert heads["style"].rated
