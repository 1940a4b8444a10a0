"""Heads that rank: their losses, training them alone and beside regression, consistency on cases."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from embedded import SAMPLE_FOLDER

from learnedgec.errors import ConfigError, FormatError, LeakageError
from learnedgec.models.evaluator import Evaluator
from learnedgec.training.examples import Example, case_examples, pair_examples, split_examples
from learnedgec.training.fit import train
from learnedgec.training.module import EvaluatorModule, HeadOptions, consistency_loss
from learnedgec.training.pairs import RankedPair, read_ranked_pairs, write_ranked_pairs

WORDS = [
    "He",
    "She",
    "They",
    "go",
    "goes",
    "went",
    "to",
    "the",
    "a",
    "school",
    "house",
    "dog",
    "cat",
    "big",
    "small",
]


def ranked_pairs(count: int = 120) -> list[RankedPair]:
    """Pairs whose worse side has one word doubled: easy to learn."""
    generator = np.random.default_rng(0)
    pairs = []
    for number in range(count):
        words = generator.choice(WORDS, 6).tolist()
        place = int(generator.integers(6))
        worse = [*words[: place + 1], "dog", "dog", *words[place:]]
        pairs.append(RankedPair(f"{' '.join(words)} {number}", " ".join(words), " ".join(worse)))
    return pairs


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


@pytest.mark.parametrize("objective", ["sigmoid", "logistic"])
def test_pairs_and_ratings_train_together(
    tmp_path: Path, tiny_encoder: Path, objective: str
) -> None:
    result = train(arguments(tmp_path, tiny_encoder, objective=objective), progress=False)
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


def batch_of(module: EvaluatorModule, examples: list[Example]) -> dict[str, torch.Tensor]:
    from learnedgec.training.data import TrainingData

    data = TrainingData(ratings=["unused"])
    data.tokenizer = module.tokenizer
    data.inputs = {name: options.input for name, options in module.head_options.items()}
    encoded = data._encode(examples, 128)
    return data.collate([encoded[row] for row in range(len(examples))])


def test_losses_are_those_of_the_formulas(tiny_encoder: Path) -> None:
    heads = {
        "a": HeadOptions(objective="sigmoid"),
        "b": HeadOptions(objective="logistic", margin=0.3, input="pair"),
        "c": HeadOptions(),
    }
    module = EvaluatorModule(heads, encoder=str(tiny_encoder), dropout=0.0)
    module.eval()
    module.model.config.heads["c"] |= {"offset": 2.0, "scale": 0.5}
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
    assert module._loss("a", outputs["a"], batch).item() == pytest.approx(expected, abs=1e-5)
    behind = value("b", "u", "y") - value("b", "u", "x") + 0.3
    loss = module._loss("b", outputs["b"], batch).item()
    assert loss == pytest.approx(math.log1p(math.exp(behind)), abs=1e-5)
    error = (value("c", "r", "They went .") - 3.5) / 0.5
    assert module._loss("c", outputs["c"], batch).item() == pytest.approx(error**2, abs=1e-4)


def test_a_head_that_ranks_learns_from_both_contexts_of_a_case(tiny_encoder: Path) -> None:
    module = EvaluatorModule(
        {"quality": HeadOptions(objective="logistic")}, encoder=str(tiny_encoder), dropout=0.0
    ).eval()
    texts = (("s", "He goes ."), ("s", "He go ."), ("t", "A dog goes ."), ("t", "A dog go ."))
    examples = [
        *pair_examples({"quality": [RankedPair("u", "x", "y")]}),
        Example(texts, consistent=("quality",)),
    ]
    batch = batch_of(module, examples)
    with torch.inference_mode():
        values = module._outputs(batch)["quality"]
        loss = module._loss("quality", values, batch).item()
        alone = [
            float(module.model(module.tokenizer(text, return_tensors="pt"), ["quality"])["quality"])
            for text in ("x", "y", *(hypothesis for _, hypothesis in texts))
        ]
    terms = [math.log1p(math.exp(alone[i + 1] - alone[i])) for i in (0, 2, 4)]
    assert loss == pytest.approx(sum(terms) / 3, abs=1e-5)


def test_consistency_is_the_mean_of_both_divergences() -> None:
    values = torch.tensor([[2.0, 1.0, 0.5, 0.7], [0.0, 1.0, 3.0, -1.0]])
    expected = []
    for row in values.tolist():
        p, q = (1 / (1 + math.exp(-(row[i] - row[i + 1]))) for i in (0, 2))

        def divergence(p: float, q: float) -> float:
            return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))

        expected.append(0.5 * (divergence(p, q) + divergence(q, p)))
    assert consistency_loss(values).item() == pytest.approx(sum(expected) / 2, abs=1e-6)


def cases_file(folder: Path) -> Path:
    """Thirty-two cases that differ from each other, with five variants each."""
    lines = []
    for number, (one, two) in enumerate(itertools.product(WORDS[6:14], WORDS[11:])):
        for label, extra in zip(("O", "A1", "A2", "A3", "A4", "A5"), WORDS, strict=False):
            lines.append(f"{label}-S {one} dog dog {two} {number} {extra}")
            lines.append(f"{label}-T {one} {two} {number} {extra}")
        lines.append("")
    path = folder / "cases.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_consistency_on_cases_is_trained(tmp_path: Path, tiny_encoder: Path) -> None:
    cases = f"{{quality: [{cases_file(tmp_path)}]}}"
    result = train(arguments(tmp_path, tiny_encoder, cases=cases), progress=False)
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


def test_examples_of_cases_and_shared_pairs(tmp_path: Path) -> None:
    from learnedgec.catalog.cases import read_cases

    cases = read_cases(cases_file(tmp_path))
    examples = case_examples({"a": cases[:2], "b": cases[:1]})
    assert [example.consistent for example in examples] == [("a", "b")] * 5 + [("a",)] * 5
    original, variant = cases[0].original, cases[0].variants[0]
    assert examples[0].texts == (
        (original.source, original.target),
        (original.source, original.source),
        (variant.source, variant.target),
        (variant.source, variant.source),
    )
    drawn = case_examples({"a": cases}, variants=2, seed=4)
    assert len(drawn) == 64
    assert drawn == case_examples({"a": cases}, variants=2, seed=4)
    assert drawn != case_examples({"a": cases}, variants=2, seed=5)
    everything = case_examples({"a": cases})
    assert all(example in everything for example in drawn)
    pair = RankedPair("s", "x", "y")
    shared = pair_examples({"a": [pair, pair], "b": [pair]})
    assert [example.ranked for example in shared] == [("a", "b"), ("a",)]
    parts = split_examples(examples + pair_examples({"a": ranked_pairs(60)}), "by-source")
    assert len({e.group for e in parts["train"]} & {e.group for e in parts["test"]}) == 0


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
    from learnedgec.catalog.parallel import load_parallel

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
    path.write_text(
        '{"source": "s", "better": "b", "worse": "w"}\n{"source": "s", "better": 3, "worse": ""}\n'
    )
    with pytest.raises(FormatError, match=r"pairs\.jsonl:2: 'better' must be a text"):
        read_ranked_pairs(path)
    path.write_text('{"source": "s", "better": "b", "worse": "w", "margin": -1}\n')
    with pytest.raises(FormatError, match=r":1: 'margin'"):
        read_ranked_pairs(path)
