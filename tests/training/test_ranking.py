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
from training_files import cases_file, ranked_pairs

from learnedgec.errors import ConfigError, FormatError, LeakageError
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.training.examples import Example, pair_examples
from learnedgec.training.fit import train
from learnedgec.training.module import EvaluatorModule, HeadOptions, consistency_loss
from learnedgec.training.pairs import RankedPair, read_ranked_pairs, write_ranked_pairs

CONFIG = """
name: {name}
seed_everything: 2
model:
  encoder: {encoder}
  learning_rate: 5.0e-3
  consistency: 0.5
  heads:
    quality: {{input: hypothesis, objective: {objective}, margin: 0.1}}
    meaning: {{input: pair}}
data:
  ratings: [{ratings}]
  pairs:
    quality:
      - class_path: learnedgec.training.pairs.PairFile
        init_args: {{path: {pairs}}}
  batch_size: 16
  cases: {cases}
trainer:
  max_epochs: 6
  accelerator: cpu
"""


def arguments(folder: Path, encoder: Path, **values: str) -> list[str]:
    write_ranked_pairs(folder / "pairs.jsonl", ranked_pairs())
    settings = {"name": "tiny", "objective": "sigmoid", "cases": "{}"} | values
    config = folder / "config.yaml"
    config.write_text(
        CONFIG.format(
            encoder=encoder, pairs=folder / "pairs.jsonl", ratings=SAMPLE_FOLDER, **settings
        )
    )
    places = ["--output", str(folder / "out"), "--runs", str(folder / "runs")]
    return ["--config", str(config), *places]


def test_pairs_and_ratings_train_together(tmp_path: Path, tiny_encoder: Path) -> None:
    words = arguments(tmp_path, tiny_encoder, objective="logistic")
    result = train([*words, "--trainer.max_epochs", "4"], progress=False)
    assert result is not None
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


def batch_of(module: EvaluatorModule, examples: list[Example]) -> dict[str, Any]:
    rows = module.encoding.encode(examples)
    return module.encoding.collate([rows[number] for number in range(len(examples))])


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
    outputs = module._outputs(batch)

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
    cases = f"{{quality: [{cases_file(tmp_path)}]}}"
    words = arguments(tmp_path, tiny_encoder, cases=cases)
    result = train([*words, "--trainer.max_epochs", "1"], progress=False)
    assert result is not None
    manifest = json.loads((result.package / "manifest.json").read_text())
    # A case is five examples and on one side.
    counts = [manifest["data"][part]["cases"] for part in ("train", "dev", "test")]
    assert sum(counts) == 160
    assert all(count % 5 == 0 for count in counts)
    log = (tmp_path / "runs" / "tiny" / "log" / "version_0" / "metrics.csv").read_text()
    assert "train/quality/consistency" in log.partition("\n")[0]


def test_ratings_that_no_head_learns_from_are_left_out(tmp_path: Path, tiny_encoder: Path) -> None:
    ratings = tmp_path / "ratings.csv"
    rows = [f"s{n},dog cat {n},{n % 4}," for n in range(40)] + [
        f"s{n},dog {n},,{n}" for n in range(40)
    ]
    ratings.write_text("source,hypothesis,fluency,style\n" + "\n".join(rows) + "\n")
    words = arguments(tmp_path, tiny_encoder)
    extra = ["--data.ratings", f"[{ratings}]", "--data.pairs", "null", "--data.batch_size", "2"]
    heads = ["--model.heads", "{fluency: {input: hypothesis}}", "--trainer.max_epochs", "1"]
    result = train([*words, *extra, *heads], progress=False)
    assert result is not None
    assert result.results["test"]["fluency"]["n"] > 1


def test_heads_without_pairs_and_pairs_without_heads(tmp_path: Path, tiny_encoder: Path) -> None:
    words = arguments(tmp_path, tiny_encoder)
    with pytest.raises(ConfigError, match=r"model\.heads\.fluency.*add data\.pairs\.fluency"):
        train([*words, "--model.heads.fluency", "{objective: logistic}"], progress=False)
    config = tmp_path / "config.yaml"
    config.write_text(
        config.read_text().replace("    quality:\n      - class", "    style:\n      - class")
    )
    with pytest.raises(ConfigError, match=r"'style' is not the name of a head"):
        train(words, progress=False)


@pytest.mark.realdata
def test_leaked_pairs_are_refused(tmp_path: Path, tiny_encoder: Path, mirror: Path) -> None:
    from learnedgec.data.catalog.parallel import load_parallel

    words = arguments(tmp_path, tiny_encoder)
    data = load_parallel("conll14")
    leaked = RankedPair("x", data.references[5][0].text, f"{data.sources[5]} !")
    write_ranked_pairs(tmp_path / "pairs.jsonl", [*ranked_pairs(), leaked])
    with pytest.raises(LeakageError, match=r"data\.pairs has .* CoNLL-2014"):
        train(words, progress=False)


def test_files_of_pairs(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    pairs = [RankedPair("s", "b", "w", 0.5, "g", "o"), RankedPair("t", "b", "")]
    write_ranked_pairs(path, pairs)
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
