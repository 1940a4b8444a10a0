"""Heads that rank: their losses, training them alone and beside regression, consistency on cases."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from embedded import SAMPLE_FOLDER
from training_files import arguments, batch_of, cases_file, pairs_file, ranked_pairs, trained

from learnedgec.errors import ConfigError, FormatError, LeakageError
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.training.examples import Example, pair_examples
from learnedgec.training.module import EvaluatorModule, HeadOptions, consistency_loss
from learnedgec.training.pairs import RankedPair, read_ranked_pairs


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


def loss_of(module: EvaluatorModule, head: str, values: torch.Tensor, batch: Any) -> float:
    return module.objectives[head].loss(values, batch["targets"][head]).item()


def test_losses_are_those_of_the_formulas(tiny_encoder: Path) -> None:
    heads = {
        "a": HeadOptions(objective="sigmoid"),
        "b": HeadOptions(objective="logistic", margin=0.3, input="pair"),
        "c": HeadOptions(),
    }
    module = EvaluatorModule(heads, encoder=str(tiny_encoder), dropout=0.0)
    module.eval()
    module.model.config.heads["c"] |= {"offset": 2.0, "scale": 0.5}
    module.objectives["c"].scale = 0.5
    pairs = [("s", "He goes .", "He go go ."), ("t", "A dog .", "A cat to the ."), ("u", "x", "y")]
    examples = [
        *pair_examples({"a": [RankedPair(*pairs[0]), RankedPair(*pairs[1])]}),
        *pair_examples({"b": [RankedPair(*pairs[2])]}),
        Example((("r", "They went ."),), {"c": 3.5, "other": 1.0}),
    ]
    batch = batch_of(module, examples)
    _, outputs = module._outputs(batch)

    def value(head: str, source: str, text: str) -> float:
        both = (source, text) if heads[head].input == "pair" else (text,)
        with torch.inference_mode():
            inputs = module.tokenizer(*both, return_tensors="pt")
            return float(module.model(inputs, [head])[head])

    first = [value("a", s, worse) - value("a", s, better) for s, better, worse in pairs[:2]]
    expected = sum(1 / (1 + math.exp(-x)) for x in first) / 2
    assert loss_of(module, "a", outputs["a"], batch) == pytest.approx(expected, abs=1e-5)
    behind = value("b", "u", "y") - value("b", "u", "x") + 0.3
    loss = loss_of(module, "b", outputs["b"], batch)
    assert loss == pytest.approx(math.log1p(math.exp(behind)), abs=1e-5)
    error = (value("c", "r", "They went .") - 3.5) / 0.5
    assert loss_of(module, "c", outputs["c"], batch) == pytest.approx(error**2, abs=1e-4)


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


def test_heads_without_pairs_and_pairs_without_heads(tmp_path: Path, tiny_encoder: Path) -> None:
    new = ("--model.heads.fluency", "{objective: logistic}")
    with pytest.raises(ConfigError, match=r"model\.heads\.fluency.*add data\.pairs\.fluency"):
        trained(options(tmp_path, tiny_encoder, *new))
    with pytest.raises(ConfigError, match=r"'style' is not the name of a head"):
        trained(options(tmp_path, tiny_encoder, pairs={"style": [tmp_path / "pairs.jsonl"]}))


@pytest.mark.realdata
def test_leaked_pairs_are_refused(tmp_path: Path, tiny_encoder: Path, mirror: Path) -> None:
    from learnedgec.data.catalog.parallel import load_parallel

    words = options(tmp_path, tiny_encoder)
    data = load_parallel("conll14")
    leaked = RankedPair("x", data.references[5][0].text, f"{data.sources[5]} !")
    pairs_file(tmp_path, [*ranked_pairs(), leaked])
    with pytest.raises(LeakageError, match=r"data\.pairs has .* CoNLL-2014"):
        trained(words)


def test_files_of_pairs(tmp_path: Path) -> None:
    pairs = [RankedPair("s", "b", "w", 0.5, "g", "o"), RankedPair("t", "b", "")]
    path = pairs_file(tmp_path, pairs)
    assert read_ranked_pairs(path) == [pairs[0], RankedPair("t", "b", "", group="t")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"source": "s", "better": 3, "worse": ""}', "'better' must be a text"),
        ('{"source": "s", "better": "b", "worse": "w", "margin": -1}', "'margin'"),
        ('{"source": "s", "better": "b", "worse": "b"}', "'better' and 'worse' are the same"),
    ],
)
def test_lines_that_are_no_pairs(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"source": "s", "better": "b", "worse": "w"}\n' + line + "\n")
    with pytest.raises(FormatError, match=rf"pairs\.jsonl:2: {message}"):
        read_ranked_pairs(path)
