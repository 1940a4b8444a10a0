"""What the default reward charges for a changed meaning, beside what corrections earn.

    LEARNEDGEC_MIRROR=… python scripts/lab/penalty.py [--number 60]

Corrections of JFLEG's test part, each with a copy in which one meaning has changed, as in meaning.py.
docs/explanation/hacking.md has the table.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from meaning import changed_corrections

from learnedgec import Runtime, load_metric, reward
from learnedgec.applications.safeguards import MeaningPenalty, changed_negations
from learnedgec.training.pairs.corrections import CHANGES
from learnedgec.types import Floats

# A small correction changes up to two tokens.
SMALL = 2


def figures(
    rows: Sequence[tuple[str, str, str]], penalty: MeaningPenalty | None, runtime: Runtime
) -> dict[str, float]:
    """Return the shares of the table for corrections, each with a copy whose meaning has changed."""
    sources, texts, changed = (list(column) for column in zip(*rows, strict=True))

    def earned(completions: list[str], meaning: MeaningPenalty | None) -> Floats:
        function = reward(floor=None, meaning=meaning, runtime=runtime)
        return np.array(function(completions=completions, source=sources), dtype=float)

    right, wrong, gain = earned(texts, penalty), earned(changed, penalty), earned(texts, None)
    small = np.array(load_metric("edit-count").score(sources, texts).sentences) <= SMALL
    negated = np.array([changed_negations(*pair) > 0 for pair in zip(texts, changed, strict=True)])
    earns, cost = gain[small & (gain > 0)], right - wrong
    return {
        "changes above a small gain": float((cost[:, None] > earns).mean()),
        "negations above it": float((cost[negated][:, None] > earns).mean()),
        "median cost of a negation": float(np.median(cost[negated])),
        "changed below the source": float((wrong < 0).mean()),
        "corrections above it": float((right > 0).mean()),
        "small corrections above it": float((right > 0)[small].mean()),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=60, help="pairs of a kind")
    options = parser.parse_args()
    made = changed_corrections(options.number)
    rows = [row for kind in CHANGES for row in made[kind]]
    print(f"{len(rows)} corrections")
    charges = {
        "none": None,
        "3 · max(0, loss − 2)": MeaningPenalty(fact=0.0),
        "the default": MeaningPenalty(),
        "5 · max(0, loss − 3), 6 for each fact": MeaningPenalty(weight=5.0, slack=3.0, fact=6.0),
    }
    for name, penalty in charges.items():
        values = figures(rows, penalty, Runtime(dtype="auto"))
        cells = " | ".join(f"{value:.3f}" for value in values.values())
        print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
