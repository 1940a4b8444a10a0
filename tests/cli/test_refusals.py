"""Each option of each command, given a wrong value, is refused before anything is computed."""

from __future__ import annotations

import argparse
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

import jsonargparse
import pytest

from learnedgec.cli.main import main

FILES = "--src embedded/source.txt --hyp embedded/systems"
RIGHT = [
    f"score {FILES} --metric length --show attribution --annotator plain",
    f"rank {FILES} --metric length",
    f"compare {FILES} --metric length --baseline weak",
    "meta --benchmark sample --metric gleu",
    f"report {FILES} --metric length --annotator plain",
    "robust systems --case sample --hyp embedded/robust/system.txt --metric m2",
    "robust metrics --case sample --metric length",
    f"robust attack {FILES} --metric length --attack embedded/systems/eager.txt",
    "robust cases --case sample",
    "tune --benchmark sample --metric 'ensemble(length=0.25, random=0.75)'",
    f"rerank {FILES} --by vote --annotator plain",
    f"edits {FILES} --confidence --annotator plain",
    "filter --src embedded/source.txt --hyp embedded/systems/weak.txt --annotator plain",
    f"score {FILES} --metric length --stream --out-dir scores",
    "report --benchmark sample --metric length --annotator plain",
    "reproduce zhang2023",
    "serve --metric length --port 0",
    f"judge {FILES} --out study",
]
# What fits no input, though each option is right by itself.
UNFIT = [
    f"score {FILES} --metric length --show edits",
    f"score {FILES} --metric length --by type",
    f"score {FILES} --metric length --dry-run",
    f"score {FILES} --metric gleu",
    f"rank {FILES} --metric length --by trueskill --significance paired-permutation",
    "rank --src embedded/source.txt --hyp embedded/systems/weak.txt --metric length --by trueskill",
    "meta --benchmark ONE --metric length --aggregation trueskill",
    "meta --benchmark ONE --metric gleu",
    "meta --benchmark ONE --metric length --measure sentence_accuracy",
    "meta --benchmark ONE --metric length --human EW",
    "meta --benchmark sample --metric gleu --show windows --window 50",
    "report --benchmark ONE --metric gleu",
    f"report {FILES} --metric length --annotator plain --attribution gleu",
    "compare --src embedded/source.txt --hyp embedded/systems/weak.txt --metric length --baseline weak",
    "robust systems --case sample --hyp embedded/robust/system.txt --metric length",
    f"robust attack {FILES} --metric gleu --attack embedded/systems/eager.txt",
    "tune --benchmark sample --metric gleu",
    "tune --benchmark ONE --metric 'ensemble(length=0.25, random=0.75)'",
    f"rerank {FILES} --by 'mbr(length)'",
    "filter --src embedded/source.txt --hyp embedded/systems",
    f"edits {FILES} --confidence --out edits.m2",
    "reproduce zhang2023 --with gleu=gleu",
]
# An option's value that is wrong, where any text would be right otherwise.
WRONG = {
    "out": "embedded/source.txt/x.json",
    "plot": "embedded/source.txt",
    "cache-dir": "embedded/source.txt",
    "out-dir": "embedded/source.txt",
    "output": "embedded/source.txt",
    "name": "a/b",
    "pages": "embedded/source.txt",
    "export": "embedded/source.txt",
}
# Texts and addresses, which nothing contradicts.
FREE = {"title", "address", "host", "root-path", "questions", "help", "config", "print_config"}


# What scores and extracts edits.
COMPUTES = (
    "learnedgec.metrics.bound.BoundMetric.compute",
    "learnedgec.cli.edits.extract_edits",
    "learnedgec.analysis.attribution.extract_edits",
    "learnedgec.applications.rerank.extract_edits",
    "learnedgec.applications.confidence.extract_edits",
    "learnedgec.evaluators.evaluator.Evaluator.load",
    "learnedgec.analysis.reproduction.Reproduction.run",
    "learnedgec.applications.serve.prepare",
    "learnedgec.judging.page.application",
)


class Found(BaseException):
    """Ends a command that has made its parser."""


def options_of(command: str) -> list[str]:
    """Return the options of a command that take a value."""
    found: list[argparse.Action] = []

    def give(parser: argparse.ArgumentParser, *arguments: Any) -> str:
        found.extend(parser._actions)
        raise Found

    with pytest.MonkeyPatch.context() as patch, suppress(Found):
        patch.setattr(jsonargparse.ArgumentParser, "format_help", give)
        patch.setattr(argparse.ArgumentParser, "format_help", give)
        main([*command.split(), "--help-all", "--help"])
    return [
        action.option_strings[-1] for action in found if action.option_strings and action.nargs != 0
    ]


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail wherever something is computed."""

    def computed(*arguments: Any, **options: Any) -> None:
        raise AssertionError("something was computed")

    for name in COMPUTES:
        monkeypatch.setattr(name, computed)


@pytest.mark.usefixtures("run", "idle")
@pytest.mark.parametrize("line", RIGHT, ids=lambda line: line.partition(" --")[0])
def test_wrong_values_are_refused_before_anything_is_computed(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = line.partition(" --")[0].removesuffix(" zhang2023")
    options = options_of(command)
    assert options
    accepted = {}
    for option in options:
        name = option.lstrip("-")
        if name not in FREE:
            wrong = WRONG.get(name, "WRONG")
            with suppress(AssertionError, SystemExit):
                if main([*shlex.split(line), option, wrong]) == 2:
                    continue
            accepted[f"{option} {wrong}"] = capsys.readouterr().err[-300:]
    assert accepted == {}


@pytest.mark.usefixtures("run", "idle")
@pytest.mark.parametrize("line", UNFIT)
def test_what_does_not_fit_is_refused_before_anything_is_computed(line: str) -> None:
    columns = "source,hypothesis,system,fluency"
    Path("one.csv").write_text(f"{columns}\nHe go .,He goes .,ours,4\nI is .,I am .,ours,5\n")
    assert main(shlex.split(line.replace("ONE", "one.csv"))) == 2
