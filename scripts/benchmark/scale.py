"""How the cost of scoring a corpus in blocks grows: with sentences, with systems, with workers of Ray.

    python scripts/benchmark/scale.py [--metric gleu] [--sentences 5000 10000 20000 40000] [--systems 1 2 4]
        [--workers 1 2] [--block-size 2500] [--plot DIR] [--out results.json]

Sentences are made from the embedded sample: two random lines of it and a number, so that all are distinct.
Every run is a `learnedgec score --stream` (or `--engine ray`) in a process of its own. Cost is the processor
time of the blocks, from their entries, without the start of Python and the models; so it can be measured on a
machine that others use too, where the time by the clock says little. The exponent is the slope of a line
through the logarithms of size and cost: 1 says that twice the sentences cost twice as much. Memory is the
largest resident memory of the command and, of Ray, of its workers. Scores of all runs on one corpus must be
equal.

With 2 workers of Ray, efficiency by processor time is that of 1 worker over that of both: 1 says that the
work is shared without loss. Efficiency by the clock is the time of 1 worker over twice the time of 2, both
without the time of a run over a single block, which is Ray's start. It is meaningful only on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from learnedgec.formats.text import read_lines

SAMPLE = Path(__file__).parents[2] / "data" / "sample"


def write_corpus(folder: Path, size: int, systems: int) -> list[str]:
    """Write a corpus of distinct sentences, and return the flags that name it."""
    folder.mkdir(parents=True)
    names = ["careful", "eager", "strong", "weak"]
    columns = [read_lines(SAMPLE / "source.txt"), read_lines(SAMPLE / "ref0.txt")]
    columns += [read_lines(SAMPLE / "systems" / f"{name}.txt") for name in names]
    rows = list(zip(*columns, strict=True))
    generator = random.Random(0)
    picks = [(generator.randrange(len(rows)), generator.randrange(len(rows))) for _ in range(size)]
    wanted = {"source": 0, "reference": 1} | {
        f"system{number}": 2 + number % len(names) for number in range(systems)
    }
    for name, column in wanted.items():
        with (folder / f"{name}.txt").open("w", encoding="utf-8") as file:
            for number, (one, other) in enumerate(picks):
                # Systems that are copies differ, or their work would be shared.
                end = f"{number} {name}" if name.startswith("system") else number
                file.write(f"{rows[one][column]} {rows[other][column]} {end}\n")
    hypotheses = [str(folder / f"system{number}.txt") for number in range(systems)]
    source, reference = (str(folder / f"{name}.txt") for name in ("source", "reference"))
    return ["--src", source, "--ref", reference, "--hyp", *hypotheses]


def run(words: Sequence[str], folder: Path) -> dict[str, Any]:
    """Run `learnedgec score` in blocks, and return what it cost and what it found."""
    program = "from learnedgec.cli.main import run\n\nif __name__ == '__main__':\n    run()\n"
    script = folder.with_suffix(".py")
    script.write_text(program, encoding="utf-8")
    start = time.perf_counter()
    command = [sys.executable, str(script), "score", "--quiet", "--out-dir", str(folder), *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    entries = list(read_entries(folder))
    ends = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    return {
        "processor_seconds": sum(entry["processor_seconds"] for entry in entries),
        "seconds": seconds,
        "driver_mb": used.ru_maxrss >> 10,
        "worker_mb": max(entry["peak_mb"] for entry in entries),
        "workers": len({entry["worker"] for entry in entries}),
        "written_mb": sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 2**20,
        "scores": [[score["system"], score["score"]] for score in ends["scores"]],
    }


def read_entries(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the entry of every block of a run."""
    for path in sorted((folder / "blocks").rglob("*.json")):
        yield json.loads(path.read_text(encoding="utf-8"))


def exponent(rows: Sequence[dict[str, Any]], key: str) -> float:
    """Return the slope of cost over size, both as logarithms."""
    sizes = np.log([row[key] for row in rows])
    costs = np.log([row["processor_seconds"] for row in rows])
    return float(np.polyfit(sizes, costs, 1)[0])


def print_table(rows: Sequence[dict[str, Any]], key: str) -> None:
    """Print the runs as a table in Markdown."""
    print(f"\n| {key} | processor s | per s | driver MiB | worker MiB | written MiB | clock s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        rate = row["sentences"] * row["systems"] / row["processor_seconds"]
        print(
            f"| {row[key]:,} | {row['processor_seconds']:.2f} | {rate:,.0f} | {row['driver_mb']} | "
            f"{row['worker_mb']} | {row['written_mb']:.2f} | {row['seconds']:.0f} |"
        )
    if key != "workers" and len(rows) > 1:
        print(f"\nexponent: {exponent(rows, key):.3f}")


def plot(tables: dict[str, list[dict[str, Any]]], folder: Path) -> None:
    """Draw cost over sentences and systems (extra `plot`)."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(tables), figsize=(4 * len(tables), 3.2), squeeze=False)
    for axis, (key, rows) in zip(axes[0], tables.items(), strict=True):
        axis.plot([row[key] for row in rows], [row["processor_seconds"] for row in rows], "o-")
        axis.set(xlabel=key, ylabel="processor seconds", ylim=(0, None), xlim=(0, None))
    figure.tight_layout()
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "scale.png", dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--metric", default="gleu")
    parser.add_argument("--sentences", nargs="*", type=int, default=[5000, 10000, 20000, 40000])
    parser.add_argument("--systems", nargs="*", type=int, default=[1, 2, 4])
    parser.add_argument("--workers", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--block-size", type=int, default=2500)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    tables: dict[str, list[dict[str, Any]]] = {"sentences": [], "systems": [], "workers": []}
    shared = ["--metric", options.metric, "--block-size", str(options.block_size)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # With the fewest sentences, so that a run with many systems is no longer than one of many sentences.
        size = min(options.sentences, default=options.block_size * 4)
        runs = [("sentences", each, each, 1) for each in options.sentences]
        runs += [("systems", each, size, each) for each in options.systems]
        largest = max(options.sentences, default=size)
        runs += [("workers", each, largest, 1) for each in options.workers]
        starts: dict[int, float] = {}
        for number, (key, value, sentences, systems) in enumerate(runs):
            words = [*write_corpus(folder / f"corpus{number}", sentences, systems), *shared]
            words += (
                ["--engine", "ray", "--workers", str(value)] if key == "workers" else ["--stream"]
            )
            if key == "workers":
                block = write_corpus(folder / f"start{number}", options.block_size, 1)
                block += words[-len(shared) - 4 :]
                starts[value] = run(block, folder / f"first{number}")["seconds"]
            found = run(words, folder / f"run{number}")
            tables[key].append({"sentences": sentences, "systems": systems, **found, key: value})
    alike = [*tables["workers"], *(r for r in tables["sentences"] if r["sentences"] == largest)]
    if any(row["scores"] != alike[0]["scores"] for row in alike):
        raise SystemExit(f"the scores of one corpus differ: {[row['scores'] for row in alike]}")
    for key, rows in tables.items():
        if rows:
            print_table(rows, key)
    if len(tables["workers"]) > 1:
        first, *others = tables["workers"]
        for row in others:
            shared_well = first["processor_seconds"] / row["processor_seconds"]
            print(
                f"\nefficiency with {row['workers']} workers, by processor time: {shared_well:.3f}"
            )
            alone, together = (each["seconds"] - starts[each["workers"]] for each in (first, row))
            share = first["workers"] / row["workers"]
            print(
                f"by the clock: {share * alone / together:.3f} ({alone:.1f} s and {together:.1f} s, "
                f"after {starts[first['workers']]:.1f} s and {starts[row['workers']]:.1f} s of start)"
            )
    if options.out:
        options.out.write_text(json.dumps(tables, indent=2) + "\n", encoding="utf-8")
    if options.plot:
        plot({key: tables[key] for key in ("sentences", "systems") if tables[key]}, options.plot)


if __name__ == "__main__":
    main()
