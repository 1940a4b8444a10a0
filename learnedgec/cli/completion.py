"""`learnedgec --print-completion SHELL`: a script by which a shell completes commands, options and names."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from learnedgec.cli.flags import PRINT_PARSER, FoundParser
from learnedgec.cli.main import find_command, subcommands
from learnedgec.data.benchmarks import REGISTRY as BENCHMARKS
from learnedgec.errors import InputError, MissingDependencyError
from learnedgec.metrics.registry import METRICS

# Options whose values are files, and those whose values are names.
_FILES = ("src", "hyp", "ref", "gold", "config", "out", "baseline", "plot", "cache_dir")
_NAMES: dict[str, Iterable[str]] = {
    "metric": METRICS,
    "benchmark": BENCHMARKS,
    "compare": BENCHMARKS,
}


def completion(shell: str, commands: Mapping[str, str]) -> str:
    """Return the script for a shell.

    Args:
        shell: `bash`, `zsh` or another one that shtab knows.
        commands: each command, with one line about it.

    Raises:
        MissingDependencyError: shtab is not installed.
        InputError: it knows no such shell.
    """
    try:
        import shtab
    except ImportError:
        raise MissingDependencyError("shtab", "completion", "--print-completion") from None
    if shell not in shtab.SUPPORTED_SHELLS:
        shells = ", ".join(shtab.SUPPORTED_SHELLS)
        raise InputError(f"--print-completion: no shell {shell!r}; name one of {shells}.")
    root = argparse.ArgumentParser(prog="learnedgec")
    subparsers = root.add_subparsers()
    for name, summary in commands.items():
        parser = subparsers.add_parser(name, help=summary)
        inner = None
        for words, found in _parsers(name):
            if words:
                inner = inner or parser.add_subparsers()
                parser = inner.add_parser(words)
            for action in found._actions:
                if action.option_strings and action.help != argparse.SUPPRESS:
                    _add(parser, action, shtab.FILE)
    script: str = shtab.complete(root, shell)
    return script


def _parsers(name: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the parser of a command, and those of its own commands with their names."""
    if name == "train":
        yield "", _train()
        return
    command, inner = find_command(name), subcommands(name)
    if name == "sweep":  # whose parser is not `flags.make_parser`'s
        yield "", sys.modules[command.__module__].build_sweep_parser()
        return
    for word in inner if name in ("data", "robust") else ["", *inner]:
        try:
            command([*filter(None, [word]), PRINT_PARSER])
        except FoundParser as found:
            yield word, found.parser


def _train() -> argparse.ArgumentParser:
    """Return a parser of the commonest options of `train`, whose own takes seconds to build."""
    parser = argparse.ArgumentParser()
    for option in ("--config", "--init", "--name", "--output", "--runs", "--seeds"):
        parser.add_argument(option)
    parser.add_argument("--for", choices=("ratings", "pairs", "parallel"))
    for flag in ("--resume", "--overwrite", "--average", "--quiet"):
        parser.add_argument(flag, action="store_true")
    return parser


def _add(parser: argparse.ArgumentParser, action: argparse.Action, file: object) -> None:
    """Add an option with what completes its value."""
    if action.dest == "help":
        return
    kind: dict[str, Any] = (
        {"nargs": action.nargs} if action.nargs != 0 else {"action": "store_true"}
    )
    added = parser.add_argument(*action.option_strings, help=action.help, **kind)
    added.choices = list(_NAMES[action.dest]) if action.dest in _NAMES else action.choices
    if action.dest in _FILES:
        added.complete = file  # type: ignore[attr-defined]
