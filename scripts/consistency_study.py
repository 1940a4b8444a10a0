"""What context perturbation regularisation gives an evaluator, and what it costs.

    python scripts/consistency_study.py --seeds 1 2 3 --work runs/consistency

Trains `configs/impara-consistent.yaml` for every seed in three ways: without its cases; with the cases as
ranked pairs in both contexts, but no weight on consistency; and as it stands. Then measures, on the cases of
the test part, how often the preference for the correction is the same in all contexts (CRS), and
how well the evaluator agrees with people on GMEG dev, whose text it has not seen. Finished runs are
not repeated, interrupted ones go on. Prints a row for each run, then means and ranges.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from pathlib import Path

from learnedgec import Runtime, load_metric
from learnedgec.benchmarks.registry import load_benchmark
from learnedgec.catalog.cases import Case, load_cases
from learnedgec.cli.output import FORMATS, emit
from learnedgec.meta.evaluation import evaluate
from learnedgec.meta.protocol import Protocol
from learnedgec.models.packages import is_package
from learnedgec.robustness.preferences import evaluate_preferences
from learnedgec.training.fit import train, training_data

CONFIG = Path(__file__).parent.parent / "configs" / "impara-consistent.yaml"
WAYS = {
    "without-cases": ["--data.cases", "null"],
    "with-cases": ["--model.consistency", "0"],
    "consistent": [],
}
FIGURES = (
    "pair accuracy",
    "CRS",
    "P-CRS",
    "preference accuracy",
    "within",
    "Kendall",
    "grouped Kendall",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    parser.add_argument("--work", type=Path, default=Path("runs/consistency"))
    parser.add_argument("--train-only", action="store_true", help="train, and measure another time")
    parser.add_argument("--format", choices=FORMATS, default="table")
    options = parser.parse_args()
    runs = [(way, seed) for way in options.ways for seed in options.seeds]
    for way, seed in runs:
        if not is_package(options.work / "checkpoints" / run_name(way, seed)):
            train([*arguments(options.work, way, seed), "--resume"])
    if options.train_only:
        return
    cases = held_out(arguments(options.work, "consistent", options.seeds[0]))
    rows = [measure(options.work, way, seed, cases) for way, seed in runs]
    for way in options.ways:
        own = [row for row in rows if row["way"] == way]
        for label, summary in (("mean", statistics.fmean), ("range", spread)):
            figures = {name: summary([float(row[name]) for row in own]) for name in FIGURES}
            rows.append({"way": way, "seed": label, **figures})
    emit(rows, options)


def run_name(way: str, seed: int) -> str:
    return f"{way}-seed-{seed}"


def arguments(work: Path, way: str, seed: int) -> list[str]:
    """Return the options of `learnedgec train` for one run; all share the pairs."""
    return [
        *("--config", str(CONFIG), "--name", run_name(way, seed)),
        *("--seed_everything", str(seed), *WAYS[way]),
        *("--output", str(work / "checkpoints"), "--runs", str(work / "runs")),
    ]


def held_out(words: Sequence[str]) -> list[Case]:
    """Return the cases of the test part."""
    data = training_data(words)
    groups = {example.group for example in data.load()["test"] if example.consistent}
    names = {name for names in data.cases.values() for name in names}
    return [
        case
        for name in sorted(names)
        for case in load_cases(name)
        if case.original.source in groups
    ]


def measure(work: Path, way: str, seed: int, cases: Sequence[Case]) -> dict[str, float | str]:
    """Return one run's figures."""
    package = work / "checkpoints" / run_name(way, seed)
    manifest = json.loads((package / "manifest.json").read_text())
    # Without the gate: it is the same encoder for all runs.
    metric = load_metric(f"impara(quality={str(package)!r}, threshold=-1.0, activation='none')")
    runtime = Runtime(progress=True, cache_dir=str(work / "statistics"))
    (robustness,) = evaluate_preferences({"held-out": list(cases)}, [metric], runtime=runtime)
    benchmark = load_benchmark("gmeg:dev")
    protocol = Protocol(resamples=200)
    found = evaluate(benchmark, [metric], protocol, sentinels=False, runtime=runtime).metrics[0]
    return {
        "way": way,
        "seed": str(seed),
        "pair accuracy": manifest["results"]["test"]["quality"]["accuracy"],
        "CRS": robustness.crs.value,
        "P-CRS": robustness.p_crs.value,
        "preference accuracy": robustness.accuracy.value,
        "within": robustness.within.value,
        "Kendall": found.estimates["segment_kendall"].value,
        "grouped Kendall": found.estimates["grouped_kendall"].value,
        "cases": robustness.count,
    }


def spread(values: Sequence[float]) -> float:
    return max(values) - min(values)


if __name__ == "__main__":
    main()
