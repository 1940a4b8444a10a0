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

from learnedgec import Runtime, reward
from learnedgec.applications.safeguards import MeaningPenalty
from learnedgec.training.pairs.corrections import CHANGES

# A small correction changes up to two words.
SMALL = 2


def edited_words(source: str, text: str) -> int:
    """Return how many words differ, by a bag of words."""
    before, after = source.split(), text.split()
    return max(len(set(before) - set(after)), len(set(after) - set(before)))


def figures(
    rows: Sequence[tuple[str, str, str]], penalty: MeaningPenalty | None, runtime: Runtime
) -> dict[str, float]:
    """Return the shares of the table for corrections, each with a copy whose meaning has changed."""
    sources = [source for source, _, _ in rows]
    both = [text for _, text, _ in rows] + [wrong for _, _, wrong in rows]
    function, plain = (
        reward(floor=None, meaning=meaning, runtime=runtime) for meaning in (penalty, None)
    )
    right, wrong = np.array(function(completions=both, source=sources * 2), float).reshape(2, -1)
    gain = np.array(plain(completions=both, source=sources * 2), float)[: len(rows)]
    small = np.array([edited_words(source, text) <= SMALL for source, text, _ in rows])
    earns = gain[small & (gain > 0)]
    cost = right - wrong
    negated = np.array([("not" in text.split()) != ("not" in bad.split()) for _, text, bad in rows])
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
