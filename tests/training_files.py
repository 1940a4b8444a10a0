"""Runs of training on files that are easy to learn from: ranked pairs and cases."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from learnedgec.training.data import TrainingData
from learnedgec.training.examples import Example, stored
from learnedgec.training.fit import train
from learnedgec.training.module import EvaluatorModule
from learnedgec.training.pairs import RankedPair, write_ranked_pairs
from learnedgec.training.run import Run, TrainingResult, quiet_lightning
from learnedgec.training.settings import read_settings

WORDS = ["He", "She", "They", "go", "goes", "went", "to", "the", "a", "school", "house", "dog"]
WORDS += ["cat", "big", "small"]


def arguments(
    folder: Path,
    data: Mapping[str, Any],
    *words: str,
    trainer: Mapping[str, Any] | None = None,
    **model: Any,
) -> list[str]:
    """Write the settings of a run of one epoch on the CPU within the folder, and return its arguments."""
    settings = {
        "name": "tiny",
        "seed_everything": 2,
        "output": folder / "out",
        "runs": folder / "runs",
        "model": model,
        "data": data,
        "trainer": {"accelerator": "cpu", "max_epochs": 1, **(trainer or {})},
    }
    config = folder / "config.yaml"
    config.write_text(json.dumps(settings, default=str))
    return ["--config", str(config), *words]


def trained(words: Sequence[str]) -> TrainingResult:
    """Train with these arguments."""
    result = train(read_settings(words), progress=False)
    assert result is not None
    return result


def training_data(words: Sequence[str]) -> TrainingData:
    """Return the data of a run with these arguments."""
    with quiet_lightning():
        return Run(read_settings(words), progress=False).data


def batch_of(module: EvaluatorModule, examples: Iterable[Example]) -> dict[str, Any]:
    """Return a batch of examples for the heads of a module."""
    with TemporaryDirectory() as folder:
        rows = module.encoding.tokenised(stored(examples), Path(folder)).rows
        return module.encoding.collate(list(rows))


def pairs_file(folder: Path, pairs: Iterable[RankedPair]) -> Path:
    """Write ranked pairs, and return their file."""
    write_ranked_pairs(folder / "pairs.jsonl", pairs)
    return folder / "pairs.jsonl"


def ranked_pairs(count: int = 120) -> list[RankedPair]:
    """Return pairs whose worse side has one word twice more: easy to learn."""
    generator = np.random.default_rng(0)
    pairs = []
    for number in range(count):
        words = generator.choice(WORDS, 6).tolist()
        place = int(generator.integers(6))
        text = " ".join(words)
        worse = " ".join([*words[: place + 1], "dog", "dog", *words[place:]])
        pairs.append(RankedPair(f"{text} {number}", text, worse, correct=text))
    return pairs


def cases_file(folder: Path) -> Path:
    """Write thirty-two cases that differ from each other, with five variants each."""
    lines = []
    for number, (first, two) in enumerate(itertools.product(WORDS[6:14], WORDS[11:])):
        for label, extra in zip(("O", "A1", "A2", "A3", "A4", "A5"), WORDS, strict=False):
            lines.append(f"{label}-S {first} dog dog {two} {number} {extra}")
            lines.append(f"{label}-T {first} {two} {number} {extra}")
        lines.append("")
    path = folder / "cases.txt"
    path.write_text("\n".join(lines) + "\n")
    return path
