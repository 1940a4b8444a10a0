"""Completion in shells: the script that completes commands, options and names."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from learnedgec.cli.commands import COMMANDS, GROUPS, SUBCOMMANDS, find_command
from learnedgec.cli.flags import PRINT_PARSER, FoundParser
from learnedgec.data.benchmarks import REGISTRY as BENCHMARKS
from learnedgec.errors import InputError, needs
from learnedgec.metrics.registry import METRICS

# Options whose values are files, and those whose values are names.
_FILES = ("src", "hyp", "ref", "gold", "config", "out", "baseline", "plot", "cache_dir")
_NAMES: dict[str, Iterable[str]] = {
    "metric": METRICS,
    "benchmark": BENCHMARKS,
    "compare": BENCHMARKS,
}


def completion(shell: str) -> str:
    """Return the script by which a shell completes commands, options and names.

    Args:
        shell: `bash`, `zsh` or another one that shtab knows.

    Raises:
        MissingDependencyError: shtab is not installed.
        InputError: it knows no such shell.
    """
    with needs("completion", "--print-completion"):
        import shtab
    if shell not in shtab.SUPPORTED_SHELLS:
        shells = ", ".join(shtab.SUPPORTED_SHELLS)
        raise InputError(f"--print-completion: no shell {shell!r}; name one of {shells}.")
    root = argparse.ArgumentParser(prog="learnedgec")
    parsers = root.add_subparsers()
    for name, summary in COMMANDS.items():
        parsers.add_parser(name, help=summary)
        parsers.choices[name] = _with_subcommands(name)
    script: str = shtab.complete(root, shell)
    return script


def _with_subcommands(name: str) -> argparse.ArgumentParser:
    """Return the parser of a command, with those of its own commands."""
    if name not in SUBCOMMANDS:
        return _parser_of(name)
    # A parser of jsonargparse has no subparsers of argparse.
    own = [] if name in GROUPS else [_parser_of(name)]
    parser = argparse.ArgumentParser(parents=own, add_help=not own)
    parsers = parser.add_subparsers()
    for word in SUBCOMMANDS[name]:
        parsers.add_parser(word)
        parsers.choices[word] = _parser_of(f"{name} {word}")
    return parser


def _parser_of(name: str) -> argparse.ArgumentParser:
    """Return the parser of a command, which says what takes files and what takes names."""
    import shtab

    parser = argparse.ArgumentParser()
    if name == "train":
        # The command's own parser takes seconds to build, so only the commonest options are completed.
        for option in ("--config", "--init", "--name", "--output", "--runs", "--seeds"):
            parser.add_argument(option)
        parser.add_argument("--for", choices=("ratings", "pairs", "parallel"))
        for flag in ("--resume", "--overwrite", "--average", "--quiet"):
            parser.add_argument(flag, action="store_true")
    else:
        try:
            find_command(name)([PRINT_PARSER])
        except FoundParser as found:
            parser = found.parser
    for action in parser._actions:
        if action.dest in _NAMES:
            action.choices = list(_NAMES[action.dest])
        if action.dest in _FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    return parser
