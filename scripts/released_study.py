"""What makes a good reference-less evaluator: candidates, trained and compared on development data.

    python scripts/released_study.py nested corrupted --seeds 1 2 --work runs/study

Each candidate is `configs/released/study/NAME.yaml` on top of `base.yaml` there, or the folder of a package.
None has seen the domain gmeg:fce, nor the fifth of TMU-GFM's sources that the split by source keeps from
training; on both, pairs of outputs for one source that people rated apart are put in order. A third set has
outputs of strong systems, pillars:dev, in the order on which GLEU and GREEN agree. An evaluator that likes
edits as such is right where the better output has more edits and wrong where it has fewer, so the figure is
the mean of three accuracies: where the better output is farther from the source than the worse one, equally
far, and nearer. Candidates may continue from one another by name. Finished runs are not repeated,
interrupted ones go on.

`--weights` gives the grid of weights that sums of heads are measured with. Each head's values are divided by
the spread of their differences over all pairs first.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Literal

import numpy as np

from learnedgec import Runtime
from learnedgec.catalog.ratings import load_ratings
from learnedgec.cli.output import FORMATS, emit
from learnedgec.models.evaluator import Evaluator
from learnedgec.models.packages import is_package
from learnedgec.training.examples import rating_examples, split_examples
from learnedgec.training.fit import train
from learnedgec.training.pairs import RankedPair
from learnedgec.training.pairs.balance import nearness
from learnedgec.training.pairs.base import PairSource
from learnedgec.training.pairs.rated import RatedPairs
from learnedgec.training.pairs.referenced import ReferencedPairs

CONFIGS = Path(__file__).parent.parent / "configs" / "released" / "study"
# Ratings of GMEG go from 0 to 100, those of TMU-GFM from 1 to 4.
EQUAL = {"grammaticality": 1 / 3, "fluency": 1 / 3, "meaning": 1 / 3}
DEVELOPMENT: dict[str, PairSource] = {
    "gmeg:fce": RatedPairs(["gmeg:fce"], difference=5),
    "tmu-gfm": RatedPairs(["tmu-gfm"], difference=1 / 3, dimension=EQUAL),
    "pillars:dev": ReferencedPairs(["pillars:dev"], ["pillars:dev", "jelv:dev"]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "candidates", nargs="+", help="names in configs/released/study, or folders of packages"
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--work", type=Path, default=Path("runs/study"))
    parser.add_argument("--heads", nargs="+", help="which to measure; all by default")
    parser.add_argument(
        "--most", type=int, default=3, help="heads in a sum; all heads together also"
    )
    parser.add_argument(
        "--weights", nargs="+", type=float, default=[1.0], help="grid of the weights in a sum"
    )
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--train-only", action="store_true", help="train, and measure another time")
    parser.add_argument("--format", choices=FORMATS, default="table")
    options = parser.parse_args()
    os.environ["LEARNEDGEC_EVALUATORS"] = str(options.work / "checkpoints")
    for name in options.candidates:
        for seed in options.seeds:
            if "/" not in name and not is_package(package(options.work, name, seed)):
                train(arguments(options.work, name, seed))
    if options.train_only:
        return
    pairs = development()
    rows: list[dict[str, float | str]] = []
    for name in options.candidates:
        folders = (
            [Path(name)]
            if "/" in name
            else [package(options.work, name, seed) for seed in options.seeds]
        )
        found = [
            measure(
                values(each, pairs, options.heads, options.dtype),
                pairs,
                options.weights,
                options.most,
            )
            for each in folders
        ]
        for heads in found[0]:
            row: dict[str, float | str] = {"candidate": name, "heads": heads}
            for figure in found[0][heads]:
                own = [run[heads][figure] for run in found]
                row[figure] = statistics.fmean(own)
                if len(own) > 1 and figure.endswith("balanced"):
                    row[f"{figure} range"] = max(own) - min(own)
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


def values(
    path: Path,
    development: Mapping[str, Sequence[RankedPair]],
    heads: Sequence[str] | None,
    dtype: Literal["float32", "bfloat16"],
) -> dict[str, dict[str, np.ndarray]]:
    """Return the difference of each pair's two texts, set -> head -> (pairs,), in units of its spread."""
    evaluator = Evaluator.load(str(path))
    names = list(heads or evaluator.model.config.heads)
    runtime = Runtime(progress=True, batch_tokens=4096, dtype=dtype)
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, pairs in development.items():
        texts = [(p.source, text) for p in pairs for text in (p.better, p.worse)]
        sources, hypotheses = zip(*texts, strict=True)
        rows = evaluator.predict(sources, hypotheses, names, runtime=runtime)
        found[name] = {head: -np.diff(row.reshape(-1, 2))[:, 0] for head, row in rows.items()}
    for head in names:
        spread = np.concatenate([own[head] for own in found.values()]).std()
        for own in found.values():
            own[head] = own[head] / spread
    return found


def measure(
    differences: Mapping[str, Mapping[str, np.ndarray]],
    development: Mapping[str, Sequence[RankedPair]],
    weights: Sequence[float],
    most: int,
) -> dict[str, dict[str, float]]:
    """Return the figures of each head, and of weighted sums of up to `most` heads, and of all."""
    heads = list(next(iter(differences.values())))
    sizes = sorted({*range(1, min(most, len(heads)) + 1), len(heads)})
    sides = {name: nearness_sides(pairs) for name, pairs in development.items()}
    found: dict[str, dict[str, float]] = {}
    for names in (names for size in sizes for names in combinations(heads, size)):
        grid = [row for row in product(weights, repeat=len(names)) if max(row) == max(weights)]
        for row in [(1.0,)] if len(names) == 1 else grid:
            label = " + ".join(
                f"{weight:g} {name}" for weight, name in zip(row, names, strict=True)
            )
            own = found[label] = {}
            for name in development:
                total = sum(
                    weight * differences[name][head]
                    for weight, head in zip(row, names, strict=True)
                )
                for figure, value in balanced(sides[name], np.asarray(total) > 0).items():
                    own[f"{name} {figure}"] = value
            own["mean balanced"] = statistics.fmean(own[f"{name} balanced"] for name in development)
    return found


def nearness_sides(pairs: Sequence[RankedPair]) -> np.ndarray:
    """Return 1 where the better text is farther from the source, 0 equally far, −1 nearer."""
    sides = {"farther": 1, "equal": 0, "nearer": -1}
    return np.array([sides[nearness(pair)] for pair in pairs])


def balanced(sides: np.ndarray, right: np.ndarray) -> dict[str, float]:
    """Return the accuracy by which side is farther from the source, and the mean of the three."""
    parts = {
        label: float(right[sides == side].mean())
        for label, side in (("farther", 1), ("equal", 0), ("nearer", -1))
    }
    return {**parts, "all": float(right.mean()), "balanced": statistics.fmean(parts.values())}


if __name__ == "__main__":
    main()
