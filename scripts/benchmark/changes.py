"""Time a command of learnedgec before and after a change: two checkouts, one environment, taking turns.

    python scripts/benchmark/changes.py --before DIR [--rounds 3] -- filter --src data/sample/source.txt …

`DIR` is a checkout of the version before, such as `git worktree add --detach DIR COMMIT` makes. The command
runs in the current folder. Seconds are those of the processor, of the whole process and its children, the
least of the rounds. The last line says whether both wrote the same to stdout; if not, the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from measuring import make_table


def run_once(checkout: Path, command: list[str]) -> tuple[list[float], bytes]:
    """Return the seconds of the processor and by the clock that a command takes, and its output."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-P", "-m", "learnedgec", *command],
        env={**os.environ, "PYTHONPATH": str(checkout)},
        stdout=subprocess.PIPE,
        check=True,
    )
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [processor, wall], done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--before", type=Path, required=True, help="checkout of the version before")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("command", nargs="+", help="of learnedgec, after --")
    options = parser.parse_args()

    from rich.console import Console

    checkouts = {"before": options.before.resolve(), "after": Path(__file__).resolve().parents[2]}
    runs: dict[str, list[tuple[list[float], bytes]]] = {name: [] for name in checkouts}
    for _ in range(options.rounds):
        for name, checkout in checkouts.items():
            runs[name].append(run_once(checkout, options.command))
    table = make_table(" ".join(options.command[:1]), "", "processor s", "wall s")
    least = {
        name: [*map(min, zip(*(seconds for seconds, _ in runs[name]), strict=True))]
        for name in runs
    }
    for name, seconds in least.items():
        table.add_row(name, *(f"{value:.2f}" for value in seconds))
    ratios = [f"{a / b:.2f}" for a, b in zip(least["before"], least["after"], strict=True)]
    table.add_row("ratio", *ratios)
    Console().print(table)
    outputs = {name: rows[-1][1] for name, rows in runs.items()}
    same = outputs["before"] == outputs["after"]
    print(f"output: {'equal' if same else 'different'}, {len(outputs['after'])} bytes")
    sys.exit(not same)


if __name__ == "__main__":
    main()
