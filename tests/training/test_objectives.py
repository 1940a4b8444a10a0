"""Objectives by name and by import path; heads that rank, alone and beside regression; consistency."""

from __future__ import annotations

import importlib
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from embedded import SAMPLE_FOLDER
from torch.nn.functional import binary_cross_entropy_with_logits, softplus
from training_files import (
    arguments,
    batch_of,
    cases_file,
    pairs_file,
    ranked_pairs,
    trained,
)

from learnedgec.data.text import read_json
from learnedgec.errors import BadNameError, LeakageError, UnknownNameError
from learnedgec.evaluators.evaluator import Evaluator, HeadConfig
from learnedgec.training.examples import Example, pair_examples
from learnedgec.training.module import EvaluatorModule, HeadOptions, consistency_loss
from learnedgec.training.objectives import OBJECTIVES, Objective, Targets, find_objective
from learnedgec.training.pairs import RankedPair
from learnedgec.training.start import ModelSettings


def options(folder: Path, encoder: Path, *words: str, **data: object) -> list[str]:
    quality = {"objective": "logistic", "margin": 0.1}
    heads = {"quality": quality, "meaning": {"input": "pair"}}
    pairs = {"quality": [pairs_file(folder, ranked_pairs())]}
    data = {"ratings": [SAMPLE_FOLDER], "pairs": pairs, **data}
    model = {"encoder": encoder, "learning_rate": 5e-3, "consistency": 0.5, "heads": heads}
    return arguments(folder, data, *words, **model)


def test_pairs_and_ratings_train_together(tmp_path: Path, tiny_encoder: Path) -> None:
    result = trained(options(tmp_path, tiny_encoder, "--trainer.max_epochs", "4"))
    assert result.results["test"]["quality"]["accuracy"] > 0.9
    assert result.results["test"]["quality"]["n"] == 12
    evaluator = Evaluator.load(str(result.package))
    assert sorted(evaluator.outputs) == ["meaning", "quality"]
    pairs = ranked_pairs()
    high, low = (
        evaluator.predict([p.source for p in pairs], texts, ["quality"])["quality"]
        for texts in ([p.better for p in pairs], [p.worse for p in pairs])
    )
    assert np.mean(high > low) > 0.9
    manifest = json.loads((result.package / "manifest.json").read_text())
    assert manifest["data"]["train"]["pairs"] == 96
    assert manifest["data"]["datasets"] == [str(SAMPLE_FOLDER), str(tmp_path / "pairs.jsonl")]
    card = (result.package / "README.md").read_text()
    assert "120 ranked pairs for `quality` (PairFile)" in card
    assert "| test | quality | " in card


def test_the_total_is_the_weighted_sum_of_losses_and_consistency(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = {
        "logistic": HeadOptions(objective="logistic", weight=0.3),
        "sigmoid": HeadOptions("pair", "sigmoid", margin=0.2),
        "fluency": HeadOptions(weight=2.0),
    }
    module = EvaluatorModule(
        ModelSettings(heads, encoder=str(tiny_encoder), dropout=0.0, consistency=0.7)
    ).eval()
    for head in module.model.heads.values():
        torch.nn.init.normal_(head.weight)
    module.model.configure_head("fluency", offset=2.0, scale=0.5)
    module.objectives["fluency"].scale = 0.5
    case = (("s", "He goes ."), ("s", "He go ."), ("t", "A dog goes ."), ("t", "A dog go ."))
    examples = [
        *pair_examples({"logistic": [RankedPair("u", "x", "y")]}),
        *pair_examples({"sigmoid": [RankedPair("u", "dog", "a"), RankedPair("v", "cat", "the")]}),
        Example([("r", "They went .")], "ratings", ["fluency", "other"], [3.5, 1.0], [[], []]),
        Example(case, "cases", ["logistic", "fluency"]),
    ]
    batch = batch_of(module, examples)
    with torch.inference_mode():
        # Outside a Trainer there is nothing to log to.
        monkeypatch.setattr(module, "log", lambda *_, **__: None)
        monkeypatch.setattr(module, "_require_finite", lambda is_finite: None)  # needs a trainer
        total = module.training_step(batch, 0).item()

        def values(name: str, *texts: tuple[str, str]) -> torch.Tensor:
            start = 0 if heads[name].input == "pair" else 1
            inputs = [module.tokenizer(*text[start:], return_tensors="pt") for text in texts]
            return torch.cat([module.model(single, [name])[name] for single in inputs])

        logistic = values("logistic", ("u", "x"), ("u", "y"), *case)
        sigmoid = values("sigmoid", ("u", "dog"), ("u", "a"), ("v", "cat"), ("v", "the"))
        expected = 0.3 * softplus(logistic[1::2] - logistic[::2]).mean()
        expected += (sigmoid[1::2] - sigmoid[::2] + 0.2).sigmoid().mean()
        expected += 2.0 * ((values("fluency", ("r", "They went .")) - 3.5) / 0.5).square().mean()
        expected += 0.7 * consistency_loss(logistic[None, 2:])
        expected += 0.7 * consistency_loss(values("fluency", *case)[None] / 0.5)
    assert consistency_loss(logistic[None, 2:]).item() > 1e-4
    assert total == pytest.approx(expected.item(), abs=1e-4)


def test_consistency_is_the_mean_of_both_divergences() -> None:
    values = torch.tensor([[2.0, 1.0, 0.5, 0.7], [0.0, 1.0, 3.0, -1.0]])
    expected = []
    for row in values.tolist():
        p, q = (1 / (1 + math.exp(-(row[i] - row[i + 1]))) for i in (0, 2))

        def divergence(p: float, q: float) -> float:
            return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))

        expected.append(0.5 * (divergence(p, q) + divergence(q, p)))
    assert consistency_loss(values).item() == pytest.approx(sum(expected) / 2, abs=1e-6)


def test_detection_learns_from_the_tokens_that_both_contexts_share(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = {"wrong": HeadOptions(objective="detection")}
    module = EvaluatorModule(
        ModelSettings(heads, encoder=str(tiny_encoder), dropout=0.0, consistency=0.7)
    ).eval()
    torch.nn.init.normal_(module.model.heads["wrong"].weight)
    texts = ("We saw dogs .", "We saw dog .", "We all saw dogs .", "We all saw dog .")
    batch = batch_of(module, [Example([("s", text) for text in texts], "cases", ["wrong"])])
    with torch.inference_mode():
        monkeypatch.setattr(module, "log", lambda *_, **__: None)
        monkeypatch.setattr(module, "_require_finite", lambda is_finite: None)  # needs a trainer
        total = module.training_step(batch, 0).item()
        logits, labels, ids = [], [], []
        for text in texts:
            inputs = module.tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
            spans = inputs.pop("offset_mapping")[0].tolist()
            encoded = module.model.encode(inputs, "hypothesis")
            logits.append(module.model.token_logits(encoded, "wrong")[0])
            start = text.index("dog")
            wrong = "dog " in text
            labels += [float(wrong and start <= a < b <= start + 3) for a, b in spans]
            ids.append(inputs["input_ids"][0].tolist())
        size = len(ids[1]) - ids[1].index(module.tokenizer.convert_tokens_to_ids("saw"))
        first = len(ids[1]) - size
        p, q = (torch.cat((logits[row][:first], logits[row][-size:])).sigmoid() for row in (1, 3))
        assert ids[1] == [*ids[3][:first], *ids[3][-size:]]
        assert len(ids[3]) > len(ids[1])
        divergence = p * (p / q).log() + (1 - p) * ((1 - p) / (1 - q)).log()
        back = q * (q / p).log() + (1 - q) * ((1 - q) / (1 - p)).log()
        consistency = (0.5 * (divergence + back)).mean()
        loss = binary_cross_entropy_with_logits(torch.cat(logits), torch.tensor(labels))
    assert sum(labels) > 0
    assert consistency.item() > 1e-4
    assert total == pytest.approx((loss + 0.7 * consistency).item(), abs=1e-4)


def test_consistency_of_detection_is_trained(tmp_path: Path, tiny_encoder: Path) -> None:
    data = {
        "pairs": {"wrong": [pairs_file(tmp_path, ranked_pairs())]},
        "cases": {"wrong": [cases_file(tmp_path)]},
    }
    heads = {"wrong": {"objective": "detection"}}
    trained(arguments(tmp_path, data, encoder=tiny_encoder, heads=heads))
    (log,) = (tmp_path / "runs").rglob("metrics.csv")
    assert "train/wrong/consistency" in log.read_text().partition("\n")[0]


def test_consistency_on_cases_is_trained(tmp_path: Path, tiny_encoder: Path) -> None:
    cases = {"quality": [cases_file(tmp_path)]}
    result = trained(options(tmp_path, tiny_encoder, cases=cases))
    manifest = json.loads((result.package / "manifest.json").read_text())
    # A case is five examples and on one side.
    counts = [manifest["data"][part]["cases"] for part in ("train", "dev", "test")]
    assert sum(counts) == 160
    assert all(count % 5 == 0 for count in counts)
    (log,) = (tmp_path / "runs").rglob("metrics.csv")
    assert "train/quality/consistency" in log.read_text().partition("\n")[0]


def test_ratings_that_no_head_learns_from_are_left_out(tmp_path: Path, tiny_encoder: Path) -> None:
    ratings = tmp_path / "ratings.csv"
    rows = [f"s{n},dog cat {n},{n % 4}," for n in range(40)] + [
        f"s{n},dog {n},,{n}" for n in range(40)
    ]
    ratings.write_text("\n".join(["source,hypothesis,fluency,style", *rows]))
    heads = ("--model.heads", "{fluency: {}}")
    result = trained(options(tmp_path, tiny_encoder, *heads, ratings=[ratings], pairs=None))
    assert result.results["test"]["fluency"]["n"] > 1


@pytest.mark.realdata
def test_leaked_pairs_are_refused(tmp_path: Path, tiny_encoder: Path, mirror: Path) -> None:
    from learnedgec.data.catalog.parallel import load_parallel

    words = options(tmp_path, tiny_encoder)
    data = load_parallel("conll14")
    leaked = RankedPair("x", data.references[5][0].text, f"{data.sources[5]} !")
    pairs_file(tmp_path, [*ranked_pairs(), leaked])
    with pytest.raises(LeakageError, match=r"data\.pairs has .* CoNLL-2014"):
        trained(words)


HINGE = """
from learnedgec.training.objectives import Objective


class Hinge(Objective):
    def terms(self, values, targets):
        high, low = values[targets.pairs].float().unbind(dim=1)
        return (low - high + self.margin).relu()
"""


def test_every_objective_is_explained_and_has_a_loss_that_falls_and_a_measure() -> None:
    targets = Targets(
        ratings=torch.tensor([3.0, float("nan"), 1.0, 2.0]),
        pairs=torch.tensor([[0, 1], [2, 3]]),
        margins=torch.tensor([1.0, 0.5]),
        cases=torch.zeros((0, 4), dtype=torch.long),
        wrong=torch.tensor([[0.0, 1.0]] * 4),
        capitals=torch.tensor([[1, 2]] * 4),
    )
    for name, kind in OBJECTIVES.items():
        assert f"`{name}`" in str(HeadOptions.__doc__)
        objective = kind(0.1)
        values = torch.nn.Parameter(torch.zeros(4 if objective.reads == "pooled" else (4, 2)))
        before = objective.loss(values, targets)
        before.backward()
        assert objective.loss(values - 0.1 * values.grad, targets) < before  # type: ignore[operator]
        measure = objective.new_measure()
        objective.update(measure, torch.tensor([2.0, 1.0, 0.0, 1.5]), targets)
        # One of the two ranked pairs is in order.
        best = 0.9608 if objective.rated else 0.5
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
    with pytest.raises(BadNameError, match="has no subclass of Objective named Loss"):
        find_objective("mine.Loss")
    del sys.modules["mine"]


def test_a_package_says_the_objective_and_the_range_of_each_head(
    tmp_path: Path, tiny_encoder: Path
) -> None:
    rows = [f"he go {n},he goes {n},{2 + 3 * n},{n % 3 - 1}" for n in range(32)]
    (tmp_path / "r.csv").write_text("\n".join(["source,hypothesis,fluency,style", *rows]))
    data = {"ratings": [tmp_path / "r.csv"], "ranges": {"fluency": [0, 100]}}
    heads = {"fluency": {}, "style": {}}
    words = arguments(tmp_path, data, "--trainer.max_steps=1", encoder=tiny_encoder, heads=heads)
    result = trained(words)
    config = read_json(result.package / "config.json")
    fluency, style = (HeadConfig(**config["heads"][name]) for name in heads)
    assert fluency.objective == style.objective == "regression"
    assert (fluency.range, style.range) == ((0, 100), (-1, 1))
    # The mean rating of style is about 0, and its head is one of ratings all the same.
    assert style.rated
