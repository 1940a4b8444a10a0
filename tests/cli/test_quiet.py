"""`--quiet` means the same in every command: nothing on stderr but errors and what makes a result invalid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

# Without the system that has a blank hypothesis, which is warned of.
STRONG = "--src embedded/source.txt --hyp embedded/systems/strong.txt"
INPUT = f"{STRONG} embedded/systems/careful.txt --metric length"
CASES = "--case sample --resamples 9 --metric"
# What must be said: nobody judged the sources, and few trials may gain nothing.
UNJUDGED = "sample: source: no human score EW, left out."

# Every command, as it is typed where there is nothing to warn of, and what is said all the same.
COMMANDS: dict[str, list[str]] = {
    f"score {INPUT}": [],
    f"rank {INPUT}": [],
    f"compare {INPUT} --baseline careful": [],
    "meta --benchmark sample --metric length --resamples 9": [UNJUDGED],
    f"report {INPUT} --annotator plain --out report.html": [],
    f"robust metrics {CASES} length": [],
    f"robust systems {CASES} m2 --hyp embedded/robust/system.txt": [],
    f"robust attack {INPUT} --attack embedded/systems/eager.txt --resamples 9": [],
    "robust cases --case sample": [],
    # Where spaCy is older than the pipeline.
    "robust perturb --src embedded/source.txt --ref embedded/source.txt --variants 1 --out cases.jsonl": [
        "[W095] Model 'en_ewt_sm'"
    ],
    "train --init mine.yaml": [],
    "tune --metric 'ensemble(length=0.25, random=0.75)' --benchmark sample --trials 4 --folds 2 "
    "--objective sentence-accuracy": [UNJUDGED, "expect no gain"],
    f"rerank {STRONG} --by length": [],
    f"edits {STRONG} --annotator plain": [],
    "data fetch sample": [],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_said_where_there_is_nothing_to_warn_of(run: Any, command: str) -> None:
    err = run(f"{command} --quiet").err
    assert all(any(text in line for text in COMMANDS[command]) for line in err.splitlines())


def test_what_makes_a_result_invalid_is_said(run: Any) -> None:
    sources = Path("embedded/source.txt").read_text(encoding="utf-8").splitlines()
    Path("shifted.txt").write_text("\n".join([*sources[1:], ""]) + "\n", encoding="utf-8")
    command = f"rank {STRONG} shifted.txt --metric length --resamples 9 --quiet"
    blank, shifted, few = run(command).err.splitlines()
    assert blank == (
        f"shifted: 1 of {len(sources)} hypotheses is blank where the source is not (line {len(sources)})."
    )
    assert "correct the source of a line nearby, not their own (first in line 1)" in shifted
    assert few.startswith("With 9 resamples, no p-value of the comparison can be below 0.1")
