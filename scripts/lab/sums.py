"""Weigh the heads of an evaluator's outputs `quality` and `preference` by free pairs.

    LEARNEDGEC_MIRROR=… python scripts/lab/sums.py EVALUATOR CONFIG [--runs DIRECTORY]

CONFIG is the configuration that trained the evaluator. No text of the training part is used: pairs of the
teacher and of changed meanings are those of the dev part, and corrupted pairs are new ones. Both outputs have
4 · `likelihood`. `quality` gets the smallest share of `relative` whose accuracy on corrupted pairs with
equally many edits is within a standard error of the best, of shares that cost at most one on the teacher's
pairs. `preference` gets the largest share of `meaning` besides that costs at most one on corrupted and on the
teacher's pairs. A share counts standard deviations of a head's differences on corrupted pairs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from learnedgec import Evaluator, Runtime
from learnedgec.training.data import DataSettings, TrainingData
from learnedgec.training.pairs import CorruptedPairs
from learnedgec.training.settings import settings_of
from learnedgec.types import Floats

NUMBER = 4000
WEIGHT = 4.0
RELATIVE = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
MEANING = tuple(number / 20 for number in range(11))


def right(differences: Floats) -> tuple[float, float]:
    """Return the share of pairs in the right order, and its standard error."""
    share = float((differences > 0).mean())
    return share, float(np.sqrt(share * (1 - share) / len(differences)))


def main() -> None:
    """Print the shares of each sum, and the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("evaluator")
    parser.add_argument("config")
    parser.add_argument("--runs", default="runs")
    options = parser.parse_args()
    runtime = Runtime(dtype="auto")
    evaluator = Evaluator.load(options.evaluator, runtime=runtime)
    data = TrainingData(
        DataSettings(**vars(settings_of({}, options.config).built().data)), options.runs
    )
    parts = data.load()

    def differences(rows: Sequence[Sequence[Sequence[str]]]) -> dict[str, Floats]:
        """Return how much higher each head is for the better text, for each pair."""
        sources, texts = (
            list(side) for side in zip(*(t for row in rows for t in row), strict=True)
        )
        heads = evaluator.predict(
            sources, texts, ["likelihood", "relative", "meaning"], runtime=runtime
        )
        return {head: values[::2] - values[1::2] for head, values in heads.items()}

    seen = {t for (texts,) in parts["train"].columns("texts") for pair in texts for t in pair if t}
    made = data.pairs["relative"][0]
    assert isinstance(made, CorruptedPairs)
    pairs = [
        (len(sides.better) == len(sides.worse), pair)
        for _, pair, sides in replace(made, number=NUMBER, seed=9).make_with_sides(runtime)
        if seen.isdisjoint((pair.source, pair.better, pair.worse))
    ]
    equal = np.array([is_equal for is_equal, _ in pairs])
    corrupted = differences([((p.source, p.better), (p.source, p.worse)) for _, p in pairs])
    taught, meant = (
        differences(
            [texts for texts, heads in parts["dev"].columns("texts", "heads") if head in heads]
        )
        for head in ("likelihood", "meaning")
    )
    deviations = {head: float(values.std()) for head, values in corrupted.items()}
    print(
        f"{len(equal)} corrupted pairs, {equal.sum()} of them with equally many edits; "
        f"{len(taught['meaning'])} of the teacher, {len(meant['meaning'])} of changed meanings"
    )

    def table(shares: Sequence[float], head: str, kept: float) -> dict[float, tuple[float, ...]]:
        """Print and return what a share of a head gains and costs beside the other heads."""
        rows: dict[float, tuple[float, ...]] = {}
        for share in shares:
            weights = {"likelihood": 1.0, "relative": kept}
            weights[head] = share
            sums = [
                np.sum([w * part[each] / deviations[each] for each, w in weights.items()], axis=0)
                for part in (corrupted, taught, meant)
            ]
            figures = (*right(sums[0]), *right(sums[0][equal]), *right(sums[1]), *right(sums[2]))
            rows[share] = figures
            weight = WEIGHT * share * deviations["likelihood"] / deviations[head]
            print(
                f"| {head} {share:.2f} | {weight:.3f} | "
                + " | ".join(f"{figures[k]:.3f} ± {figures[k + 1]:.3f}" for k in (0, 2, 4, 6))
                + " |",
                flush=True,
            )
        return rows

    print("| share | weight | corrupted | with equally many edits | teacher's | meaning |")
    rows = table(RELATIVE, "relative", 0.0)
    kept = {k: row for k, row in rows.items() if row[4] >= rows[0.0][4] - rows[0.0][5]}
    best = max(kept.values(), key=lambda row: row[2])
    relative = min(k for k, row in kept.items() if row[2] >= best[2] - best[3])
    print(f"relative: {relative:g}")
    rows = table(MEANING, "meaning", relative)
    affordable = {
        k: row
        for k, row in rows.items()
        if all(row[j] >= rows[0.0][j] - rows[0.0][j + 1] for j in (0, 4))
    }
    print(f"meaning of `preference`: {max(affordable):g}")


if __name__ == "__main__":
    main()
