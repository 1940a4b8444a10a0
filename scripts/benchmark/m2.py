"""Time M2 against the literal algorithm and, where it is given, the official scorer.

    python scripts/benchmark/m2.py [--gold G.m2 --hyp H.txt]
        [--official "python2 m2scorer/scripts/m2scorer.py"]

Without files, the sample data is used. Two tables: sentences per CPU second by length of the source,
ours against the literal oracle of the tests (on the shortest sentences of each length; edits must be
equal); and seconds for the whole file, ours against the official scorer (P, R and F must be equal to four
decimals).
"""

from __future__ import annotations

import argparse
import importlib
import math
import shlex
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measuring import Stopwatch, make_table
from rich.console import Console

from learnedgec.data.m2 import Edit, read_m2
from learnedgec.data.references import References
from learnedgec.data.text import read_lines
from learnedgec.edits.max_match import max_match
from learnedgec.metrics.m2 import M2

ROOT = Path(__file__).resolve().parents[2]
LONGEST = (10, 20, 30, 40, 60, math.inf)

Case = tuple[str, str, list[tuple[Edit, ...]]]


def time_by_length(cases: Sequence[Case], oracle_cases: int) -> Any:
    """Return sentences per second by source length, ours and the oracle's."""
    sys.path.insert(0, str(ROOT / "tests"))
    oracle_edits = importlib.import_module("max_match_oracle").oracle_edits
    columns = ("tokens", "sentences", "ours per s", "oracle per s", "times")
    table = make_table("by length of the source", *columns)
    groups: dict[float, list[Case]] = defaultdict(list)
    for case in cases:
        groups[next(most for most in LONGEST if len(case[0].split()) <= most)].append(case)
    for most, group in sorted(groups.items()):
        watch = Stopwatch()
        overlaps = [max_match(*case) for case in group]
        ours = len(group) / watch.processor
        chosen = sorted(range(len(group)), key=lambda i: len(group[i][0]))[:oracle_cases]
        watch = Stopwatch()
        for i in chosen:
            source, hypothesis, annotations = group[i]
            for overlap, gold in zip(overlaps[i], annotations, strict=True):
                expected = oracle_edits(source.split(), hypothesis.split(), gold)
                if [(edit.start, edit.end, edit.correction) for edit in overlap.edits] != [
                    (edit.start, edit.end, " ".join(edit.correction)) for edit in expected
                ]:
                    raise SystemExit(f"edits differ from the oracle's: {source!r} {hypothesis!r}")
        oracle = len(chosen) / watch.processor
        speeds = (f"{ours:.0f}", f"{oracle:.1f}", f"{ours / oracle:.0f}")
        table.add_row(f"≤ {most}", str(len(group)), *speeds)
    return table


def time_whole(gold: Path, hypotheses: Path, command: str | None) -> Any:
    """Return seconds for a file, ours in one process, and the official scorer's."""
    watch = Stopwatch()
    blocks = read_m2(gold)
    sources, references = [block.source for block in blocks], References.from_annotated(blocks)
    score = M2().score(sources, read_lines(hypotheses), references)
    ours = watch.wall
    numbers = [score.details["precision"], score.details["recall"], score.value]
    expected = [f"{number:.4f}" for number in numbers]
    table = make_table(f"{hypotheses.name}, reading included", "scorer", "seconds", *"PRF", "times")
    table.add_row("ours", f"{ours:.2f}", *expected, "")
    if command:
        watch = Stopwatch()
        words = [*shlex.split(command), str(hypotheses), str(gold)]
        output = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        official = watch.wall
        printed = [line.split(":")[1].strip() for line in output.splitlines() if ":" in line][-3:]
        table.add_row("official", f"{official:.2f}", *printed, f"{official / ours:.0f}")
        if printed != expected:
            raise SystemExit(f"the official scorer prints other numbers: {printed}")
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sample = ROOT / "data" / "sample"
    parser.add_argument("--gold", type=Path, default=sample / "gold.m2")
    parser.add_argument("--hyp", type=Path, default=sample / "systems" / "eager.txt")
    parser.add_argument("--official", help="command of the official scorer, without its arguments")
    parser.add_argument("--oracle-cases", type=int, default=5, help="sentences per length")
    options = parser.parse_args()
    blocks = read_m2(options.gold)
    cases = [
        (block.source, hypothesis, list(block.annotations.values()))
        for block, hypothesis in zip(blocks, read_lines(options.hyp), strict=True)
    ]
    console = Console()
    console.print(time_by_length(cases, options.oracle_cases))
    console.print(time_whole(options.gold, options.hyp, options.official))


if __name__ == "__main__":
    main()
