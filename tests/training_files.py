"""Files that tests of training learn from: ranked pairs and cases."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

from learnedgec.training.pairs import RankedPair

WORDS = ["He", "She", "They", "go", "goes", "went", "to", "the", "a", "school", "house", "dog"]
WORDS += ["cat", "big", "small"]


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
