"""Time ERRANT against `errant_parallel` and `errant_compare`, with the same spaCy pipeline.

    python scripts/benchmark/errant.py [--src S --ref R0 R1 --hyp A B C] [--annotator NAME]

Without files, the sample data is used. Both sides are whole processes from texts to scores, loading included:
ours is one `learnedgec score`; the official tools are one `errant_parallel` for the references, and one with
one `errant_compare` for each system. TP, FP and FN must be equal. Seconds are the processor's, of one
thread and process, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measuring import Stopwatch, make_table
from rich.console import Console

from learnedgec.data.text import read_lines
from learnedgec.edits.annotator import RELEASED, find_annotator

ROOT = Path(__file__).resolve().parents[2]

# `errant_parallel` loads en_core_web_sm; this gives it another pipeline and changes nothing else.
OFFICIAL = """
import sys, errant, spacy
from errant.commands.parallel_to_m2 import main
load, path = errant.load, sys.argv.pop(1)
errant.load = lambda language: load(language, spacy.load(path, exclude=["ner"]))
main()
"""

Counts = list[int]


def run(command: Sequence[str]) -> tuple[str, float, float]:
    """Return the output of a process, and its processor and wall seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    watch = Stopwatch()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    output = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    wall = watch.wall
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return output.stdout, cpu, wall


def ours(
    source: Path, references: Sequence[Path], systems: Sequence[Path], annotator: str
) -> tuple[dict[str, Counts], float, float]:
    """Return TP, FP and FN of each system, and seconds."""
    command = [str(Path(sys.executable).with_name("learnedgec")), "score", "--metric"]
    command += [f"errant(annotator={annotator!r})", "--format", "json", "--quiet"]
    command += ["--src", str(source), "--ref", *map(str, references)]
    output, cpu, wall = run([*command, "--hyp", *map(str, systems)])
    counts = {}
    for record in json.loads(output)["rows"]:
        tp, proposed, gold = (int(record[key]) for key in ("tp", "proposed", "gold"))
        counts[record["system"]] = [tp, proposed - tp, gold - tp]
    return counts, cpu, wall


def official(
    source: Path, references: Sequence[Path], systems: Sequence[Path], annotator: str, folder: Path
) -> tuple[dict[str, Counts], float, float]:
    """Return the same from the official tools."""
    cpu = wall = 0.0

    def step(command: Sequence[str]) -> str:
        nonlocal cpu, wall
        output, used, passed = run(command)
        cpu, wall = cpu + used, wall + passed
        return output

    def extract(texts: Sequence[Path], out: Path) -> None:
        pipeline = str(find_annotator(annotator).resolve())
        arguments = ["-orig", str(source), "-cor", *map(str, texts), "-out", str(out)]
        step([sys.executable, "-c", OFFICIAL, pipeline, *arguments])

    gold = folder / "gold.m2"
    extract(references, gold)
    compare = str(Path(sys.executable).with_name("errant_compare"))
    counts = {}
    for system in systems:
        extract([system], folder / "system.m2")
        output = step([compare, "-hyp", str(folder / "system.m2"), "-ref", str(gold)])
        counts[system.stem] = [int(text) for text in output.strip().split("\n")[2].split("\t")[:3]]
    return counts, cpu, wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sample = ROOT / "data" / "sample"
    parser.add_argument("--src", type=Path, default=sample / "source.txt")
    parser.add_argument(
        "--ref", type=Path, nargs="+", default=[sample / "ref0.txt", sample / "ref1.txt"]
    )
    parser.add_argument(
        "--hyp", type=Path, nargs="+", default=sorted((sample / "systems").glob("*.txt"))
    )
    parser.add_argument("--annotator", default=RELEASED)
    options = parser.parse_args()
    given = (options.src, options.ref, options.hyp, options.annotator)
    with tempfile.TemporaryDirectory() as folder:
        expected, cpu, wall = official(*given, Path(folder))
    computed, our_cpu, our_wall = ours(*given)
    different = [system for system in expected if expected[system] != computed[system]]
    if different:
        raise SystemExit(
            "TP, FP, FN differ: "
            + "; ".join(f"{system} {computed[system]} {expected[system]}" for system in different)
        )
    sentences = len(read_lines(options.src))
    title = f"{len(expected)} systems, {sentences} sentences, equal TP, FP and FN"
    table = make_table(title, "", "processor s", "wall s", "times")
    table.add_row("errant_parallel + errant_compare", f"{cpu:.1f}", f"{wall:.1f}", "")
    table.add_row("learnedgec score", f"{our_cpu:.1f}", f"{our_wall:.1f}", f"{cpu / our_cpu:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
