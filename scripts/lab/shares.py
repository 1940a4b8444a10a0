"""How well heads of evaluators, and sums of them, order the pairs of five sets.

    LEARNEDGEC_MIRROR=… python scripts/lab/shares.py NAME [NAME …] [--sum "fluency=1.24 …" …] [--pairs 800]

For each head, each sum of the package and each sum that is given, a row has the share of pairs in the right
order, and in brackets that of the pairs whose sides are equally far from the source in edited words. A weight
counts a head in standard deviations of its differences over all pairs where its part begins with `+`, so that
`preference +edits=1` gives both the same share. Outputs of further evaluators are named with their evaluator,
such as `joint-mini/residual`. No pair is CoNLL-2014 text, but joint-mpnet-3 learned from gmeg:wiki.
docs/lab/tried.md has what came of it.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from learnedgec import Runtime
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.stats.resampling import interval, resample
from learnedgec.training.pairs import RankedPair, RankingPairs, RatedPairs, ReferencedPairs
from learnedgec.training.pairs.base import BALANCE, PairSource, nearness
from learnedgec.types import Floats

SETS: Mapping[str, PairSource] = {
    "GPT-4's choice": RankingPairs(["pillars:dev"]),
    "ProQE": RatedPairs(["proqe:dev"], difference=0.66),
    "pillars:dev, balanced": ReferencedPairs(
        ["pillars:dev"], ["pillars:dev", "jelv:dev"], balance=dict.fromkeys(BALANCE, 1 / 3)
    ),
    "gmeg:fce": RatedPairs(["gmeg:fce"], difference=5),
    "gmeg:wiki": RatedPairs(["gmeg:wiki"], difference=5),
}


def main() -> None:
    """Score the pairs and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("evaluators", nargs="+")
    parser.add_argument("--sum", nargs="*", default=[], help='"PART=WEIGHT PART=WEIGHT …"')
    parser.add_argument("--pairs", type=int, default=800, help="pairs of a set, drawn at random")
    options = parser.parse_args()
    runtime = Runtime(dtype="auto", progress=True)
    pairs: dict[str, list[RankedPair]] = {}
    for name, source in SETS.items():
        with TemporaryDirectory() as folder:
            made = source.make(Path(folder), runtime)
        order = np.random.default_rng(0).permutation(len(made))[: options.pairs]
        pairs[name] = [made[place] for place in order]
    flat = [pair for of_set in pairs.values() for pair in of_set]
    sources, texts = (
        [pair.source for pair in flat] * 2,
        [pair.better for pair in flat] + [pair.worse for pair in flat],
    )
    differences: dict[str, Floats] = {}
    for place, of_package in enumerate(options.evaluators):
        evaluator = Evaluator.load(of_package)
        outputs = dict.fromkeys([*evaluator.model.config.heads, *evaluator.model.config.sums])
        values = evaluator.predict(sources, texts, list(outputs), runtime=runtime)
        for name, row in values.items():
            label = f"{of_package}/{name}" if place else name
            differences[label] = row[: len(flat)] - row[len(flat) :]
    for text in options.sum:
        differences[text] = _sum(text, differences)
    equal = np.array([nearness(pair) == "equal" for pair in flat])
    ends = np.cumsum([0, *map(len, pairs.values())])
    print(
        "| score |", " | ".join(f"{name} ({len(row)})" for name, row in pairs.items()), "| mean |"
    )
    print("| --- |" + " --- |" * (len(pairs) + 1))
    for name, row in differences.items():
        right = (row > 0).astype(float)
        parts = [(right[a:b], equal[a:b]) for a, b in pairwise(ends)]
        cells = [f"{all_.mean():.3f} ({all_[same].mean():.2f})" for all_, same in parts]
        print(f"| {name} | {' | '.join(cells)} | {_mean([part for part, _ in parts])} |")


def _sum(text: str, differences: Mapping[str, Floats]) -> Floats:
    """Return the differences of a sum; see above for what it may be."""
    first, *_ = (part.partition("=")[0].lstrip("+") for part in text.split())
    total: Floats = np.zeros_like(differences[first])
    for part in text.split():
        name, _, weight = part.lstrip("+").partition("=")
        unit = differences[first].std() / differences[name].std() if part[0] == "+" else 1.0
        total = total + float(weight or 1) * unit * differences[name]
    return total


def _mean(parts: list[Floats]) -> str:
    """Return the mean accuracy over the sets with a 95 % interval, pairs drawn anew within each set."""
    draws = [resample(len(part), 1000, seed=0) for part in parts]
    means = np.mean(
        [part[draw].mean(axis=1) for part, draw in zip(parts, draws, strict=True)], axis=0
    )
    low, high = interval(means, 0.95)
    return f"{np.mean([part.mean() for part in parts]):.3f} [{low:.3f}, {high:.3f}]"


if __name__ == "__main__":
    main()
