"""Time and memory of `learnedgec rank` by the numbers of systems, sentences and resamples.

    python scripts/benchmark/ranking.py [--checkout DIR] [--metric gleu] SYSTEMS:SENTENCES[:RESAMPLES] …

Seconds are those of the processor, of the whole command; MB are its peak memory. The sentences are drawn
from fourteen words, and system n of S has the reference's sentence with probability n/S. `--checkout` runs
another version, such as `git worktree add --detach DIR COMMIT` makes.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measuring import make_table

WORDS = [
    "the",
    "a",
    "cat",
    "dog",
    "go",
    "goes",
    "went",
    "to",
    "home",
    "today",
    "he",
    "she",
    "it",
    "is",
    "are",
]


def write_texts(folder: Path, systems: int, sentences: int) -> list[str]:
    """Write sources, references and outputs; return the arguments of the command that name them."""
    random.seed(0)
    sources = [" ".join(random.choices(WORDS, k=7)) + " ." for _ in range(sentences)]
    references = [text.replace("go ", "goes ").replace("are ", "is ") for text in sources]
    outputs = folder / "outputs"
    outputs.mkdir()
    for number in range(systems):
        lines = [
            reference if random.random() < number / systems else source
            for source, reference in zip(sources, references, strict=True)
        ]
        (outputs / f"s{number:03}.txt").write_text("\n".join(lines) + "\n")
    (folder / "src.txt").write_text("\n".join(sources) + "\n")
    (folder / "ref.txt").write_text("\n".join(references) + "\n")
    return ["--src", f"{folder}/src.txt", "--hyp", str(outputs), "--ref", f"{folder}/ref.txt"]


def measure(checkout: Path, command: list[str]) -> tuple[float, float]:
    """Return the seconds of the processor that a command takes, and its peak memory in MB."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, "-P", "-m", "learnedgec", *command]
    process = subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(words)} failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--checkout", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--metric", default="gleu")
    parser.add_argument("sizes", nargs="+", metavar="SYSTEMS:SENTENCES[:RESAMPLES]")
    options = parser.parse_args()

    from rich.console import Console

    rows = []
    for size in options.sizes:
        systems, sentences, *resamples = map(int, size.split(":"))
        with tempfile.TemporaryDirectory() as folder:
            command = ["rank", *write_texts(Path(folder), systems, sentences)]
            command += ["--metric", options.metric, "--out", f"{folder}/ranks.csv"]
            command += ["--resamples", str(resamples[0])] if resamples else []
            begun = time.perf_counter()
            seconds, megabytes = measure(options.checkout, command)
            wall = time.perf_counter() - begun
        drawn = f"{resamples[0]:,}" if resamples else "default"
        print(
            f"{size}: {seconds:.1f} s of the processor, {wall:.0f} s, {megabytes:.0f} MB",
            file=sys.stderr,
        )
        rows.append([str(systems), f"{sentences:,}", drawn, f"{seconds:.1f}", f"{megabytes:.0f}"])
    columns = ("systems", "sentences", "resamples", "processor, s", "peak, MB")
    table = make_table(f"learnedgec rank --metric {options.metric}", *columns)
    for row in rows:
        table.add_row(*row)
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
