"""What makes a good reference-less evaluator: candidates, trained and compared on development data.

    python scripts/released_study.py nested corrupted --seeds 1 2 --work runs/study

Each candidate is `configs/released/study/NAME.yaml` on top of `base.yaml` there. None has seen the domain
gmeg:fce, nor the fifth of TMU-GFM's sources that the split by source keeps from training; on both, pairs of
outputs for one source that people rated apart are put in order. An evaluator that likes edits as such is
right where the better output has more edits and wrong where it has fewer, so the figure is the mean of three
accuracies: where the better output is farther from the source than the worse one, equally far, and nearer.
Candidates may continue from one another by name. Finished runs are not repeated, interrupted ones go on.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from rapidfuzz.distance import Levenshtein

from learnedgec import Runtime
from learnedgec.catalog.ratings import load_ratings
from learnedgec.cli.output import FORMATS, emit
from learnedgec.models.evaluator import Evaluator
from learnedgec.models.packages import is_package
from learnedgec.training.examples import rating_examples, split_examples
from learnedgec.training.fit import train
from learnedgec.training.pairs import RankedPair
from learnedgec.training.pairs.rated import RatedPairs

CONFIGS = Path(__file__).parent.parent / "configs" / "released" / "study"
# Ratings of GMEG go from 0 to 100, those of TMU-GFM from 1 to 4.
EQUAL = {"grammaticality": 1 / 3, "fluency": 1 / 3, "meaning": 1 / 3}
DEVELOPMENT = {
    "gmeg:fce": RatedPairs(["gmeg:fce"], difference=5),
    "tmu-gfm": RatedPairs(["tmu-gfm"], difference=1 / 3, dimension=EQUAL),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("candidates", nargs="+", help="names in configs/released/study")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--work", type=Path, default=Path("runs/study"))
    parser.add_argument("--train-only", action="store_true", help="train, and measure another time")
    parser.add_argument("--format", choices=FORMATS, default="table")
    options = parser.parse_args()
    os.environ["LEARNEDGEC_EVALUATORS"] = str(options.work / "checkpoints")
    for name in options.candidates:
        for seed in options.seeds:
            if not is_package(package(options.work, name, seed)):
                train(arguments(options.work, name, seed))
    if options.train_only:
        return
    pairs = development()
    rows: list[dict[str, float | str]] = []
    for name in options.candidates:
        found = [measure(package(options.work, name, seed), pairs) for seed in options.seeds]
        for heads in found[0]:
            row: dict[str, float | str] = {"candidate": name, "heads": heads}
            for figure in found[0][heads]:
                values = [run[heads][figure] for run in found]
                row[figure] = statistics.fmean(values)
                if len(values) > 1 and figure.endswith("balanced"):
                    row[f"{figure} range"] = max(values) - min(values)
            rows.append(row)
    emit(rows, options)


def development() -> dict[str, list[RankedPair]]:
    """Return the pairs on which candidates are compared, those that none has learned from."""
    pairs = {name: source.make(Path(), Runtime()) for name, source in DEVELOPMENT.items()}
    parts = split_examples(rating_examples(load_ratings("tmu-gfm")), "by-source", seed=0)
    held_out = {example.group for part in ("dev", "test") for example in parts[part]}
    pairs["tmu-gfm"] = [pair for pair in pairs["tmu-gfm"] if pair.group in held_out]
    return pairs


def package(work: Path, name: str, seed: int) -> Path:
    return work / "checkpoints" / f"{name}-seed-{seed}"


def arguments(work: Path, name: str, seed: int) -> list[str]:
    """Return the options of `learnedgec train` for one run; all share the pairs."""
    return [
        *("--config", str(CONFIGS / "base.yaml"), "--config", str(CONFIGS / f"{name}.yaml")),
        *("--name", f"{name}-seed-{seed}", "--seed_everything", str(seed), "--resume"),
        *("--output", str(work / "checkpoints"), "--runs", str(work / "runs")),
    ]


def measure(
    path: Path, development: Mapping[str, Sequence[RankedPair]]
) -> dict[str, dict[str, float]]:
    """Return the figures of each head, and of the sum of standardised heads for each two and for all."""
    evaluator = Evaluator.load(str(path))
    found: dict[str, dict[str, float]] = {}
    for name, pairs in development.items():
        texts = [(p.source, text) for p in pairs for text in (p.better, p.worse)]
        sources, hypotheses = zip(*texts, strict=True)
        values = evaluator.predict(
            sources, hypotheses, runtime=Runtime(progress=True, batch_tokens=4096)
        )
        standard = {head: (row - row.mean()) / row.std() for head, row in values.items()}
        for size in range(1, len(standard) + 1):
            for heads in combinations(standard, size):
                total = np.sum([standard[head] for head in heads], axis=0)
                high, low = total.reshape(-1, 2).T
                own = found.setdefault(" + ".join(heads), {})
                for figure, value in balanced(pairs, high > low).items():
                    own[f"{name} {figure}"] = value
    for own in found.values():
        own["mean balanced"] = statistics.fmean(own[f"{name} balanced"] for name in development)
    return found


def balanced(pairs: Sequence[RankedPair], right: np.ndarray) -> dict[str, float]:
    """Return the accuracy by which side is farther from the source, and the mean of the three."""
    sides = np.array(
        [
            np.sign(
                Levenshtein.distance(pair.source.split(), pair.better.split())
                - Levenshtein.distance(pair.source.split(), pair.worse.split())
            )
            for pair in pairs
        ]
    )
    parts = {
        label: float(right[sides == side].mean())
        for label, side in (("farther", 1), ("equal", 0), ("nearer", -1))
    }
    return {**parts, "all": float(right.mean()), "balanced": statistics.fmean(parts.values())}


if __name__ == "__main__":
    main()
