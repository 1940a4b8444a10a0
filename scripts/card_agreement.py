"""Write `learnedgec/metrics/cards/agreement.tsv`, the agreement with people, from the leaderboard's data.

Metrics whose evaluator was trained on a benchmark are left out there.

python scripts/card_agreement.py [--check]      --check: write nothing, fail if the file is not up to date
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rerun import bounds, number

from learnedgec.metrics.registry import split_name

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results" / "leaderboard.json"
TABLE = ROOT / "learnedgec" / "metrics" / "cards" / "agreement.tsv"
COLUMNS = ("card", "benchmark", "human", "metric", "r", "rho", "sentences")


def agreement(cells: Sequence[Mapping[str, Any]]) -> str:
    """Return a row for each metric, benchmark and human score."""
    rows = [COLUMNS]
    for cell in cells:
        if cell.get("trained"):
            continue
        metric, measures = cell["metric"], cell["measures"]
        figures = {key: shown(key, estimate) for key, estimate in measures.items()}
        sentences = "–"
        if figures.keys() & {"sentence_accuracy", "segment_pearson"}:
            key = "sentence_accuracy" if "sentence_accuracy" in figures else "segment_pearson"
            word = {"sentence_accuracy": "accuracy", "segment_pearson": "r of outputs"}[key]
            sentences = f"{word} {figures[key]}"
        rows.append(
            (
                split_name(metric)[0],
                cell["benchmark"],
                cell["human"],
                metric,
                figures.get("mean pearson", "–"),
                figures.get("mean spearman", "–"),
                sentences,
            )
        )
    return "".join("\t".join(row) + "\n" for row in rows)


def shown(measure: str, estimate: Sequence[Any]) -> str:
    """Return a value with its intervals, that over systems (`[–]`: too few) only of measures of systems."""
    value, *intervals = estimate
    ends = intervals if measure.startswith(("mean", "trueskill")) else intervals[1:]
    texts = (bounds(interval) if interval else "[–]" for interval in ends)
    return " ".join([number(value), *texts])


def main() -> None:
    """Write or check the table."""
    table = agreement(json.loads(RESULTS.read_text(encoding="utf-8"))["cells"])
    if "--check" not in sys.argv:
        TABLE.write_text(table, encoding="utf-8")
    elif not TABLE.exists() or TABLE.read_text(encoding="utf-8") != table:
        sys.exit(f"{TABLE} is not what {RESULTS.name} says; run scripts/card_agreement.py.")


if __name__ == "__main__":
    main()
