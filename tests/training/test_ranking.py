"""Heads that rank: their losses, training them alone and beside regression, consistency on cases."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from embedded import SAMPLE_FOLDER
from torch.nn.functional import softplus
from training_files import arguments, cases_file, pairs_file, ranked_pairs, trained

from learnedgec.errors import LeakageError
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.training.examples import Example, pair_examples
from learnedgec.training.module import EvaluatorModule, HeadOptions, consistency_loss
from learnedgec.training.pairs import RankedPair


def options(folder: Path, encoder: Path, *words: str, **data: object) -> list[str]:
    quality = {"objective": "logistic", "margin": 0.1}
    heads = {"quality": quality, "meaning": {"input": "pair"}}
    pairs = {"quality": [pairs_file(folder, ranked_pairs())]}
    settings = {
        "model": {"encoder": encoder, "learning_rate": 5e-3, "consistency": 0.5, "heads": heads},
        "data": {"ratings": [SAMPLE_FOLDER], "pairs": pairs, **data},
    }
    return arguments(folder, settings, *words)


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
    module = EvaluatorModule(heads, encoder=str(tiny_encoder), dropout=0.0, consistency=0.7).eval()
    for head in module.model.heads.values():
        torch.nn.init.normal_(head.weight)
    module.model.config.heads["fluency"] |= {"offset": 2.0, "scale": 0.5}
    module.objectives["fluency"].scale = 0.5
    case = (("s", "He goes ."), ("s", "He go ."), ("t", "A dog goes ."), ("t", "A dog go ."))
    examples = [
        *pair_examples({"logistic": [RankedPair("u", "x", "y")]}),
        *pair_examples({"sigmoid": [RankedPair("u", "dog", "a"), RankedPair("v", "cat", "the")]}),
        Example((("r", "They went ."),), {"fluency": 3.5, "other": 1.0}),
        Example(case, consistent=("logistic", "fluency")),
    ]
    batch = module.encoding.collate(examples)
    with torch.inference_mode():
        # Outside a Trainer there is nothing to log to.
        monkeypatch.setattr(module, "log", lambda *_, **__: None)
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
