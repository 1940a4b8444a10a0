"""What the commands print by default fits a terminal of 24 lines and 100 columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

FILES = "--src embedded/source.txt --hyp embedded/systems --gold embedded/gold.m2"
MIX = "--metric 'ensemble(length=0.25, gleu=0.75)' --benchmark sample --objective sentence-accuracy"


def lines_of(printed: Any) -> int:
    """Return how many lines of 100 columns the output takes; progress is left out, as it is erased."""
    lines = (printed.out + printed.err).splitlines()
    kept = [line for line in lines if "(h:mm:ss) left" not in line and "steps:" not in line]
    return sum(max(1, -(-len(line) // 100)) for line in kept)


@pytest.mark.parametrize(
    "command",
    [
        f"score {FILES} --metric gleu m2 green",
        f"rank {FILES} --metric gleu m2 green",
        f"rank {FILES} --metric gleu m2 --baseline weak",
        f"compare {FILES} --metric gleu m2 --baseline weak --fail-if-worse",
        "meta --benchmark sample --metric gleu m2 green",
        f"tune {MIX} --trials 4 --folds 2 --compare sample",
    ],
    ids=lambda command: command.split()[0],
)
def test_results_fit_a_screen(run: Any, command: str) -> None:
    assert 5 <= lines_of(run(command)) <= 24


def test_a_training_fits_a_screen(run: Any, tiny_encoder: Path) -> None:
    short = "--trainer.max_epochs 1 --trainer.limit_train_batches 2 --trainer.accelerator cpu"
    printed = run(f"train --config sample {short} --model.encoder", tiny_encoder)
    assert "The evaluator is in checkpoints/sample." in printed.err
    assert lines_of(printed) <= 26


def test_a_notice_is_printed_once_a_day(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    command = "meta --benchmark sample --metric length --resamples 9"
    notice = "source: no human score EW, left out."
    assert f"sample: {notice}" in run(command).err
    assert notice not in run(command).err
    assert notice in run(f"{command} --format json").out
    monkeypatch.setenv("LEARNEDGEC_CACHE", "another")
    assert notice in run(command).err
