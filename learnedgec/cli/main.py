"""`learnedgec COMMAND …`: find the command, run it, turn errors into one sentence and an exit code."""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from argparse import ArgumentError
from collections.abc import Sequence

from learnedgec._version import __version__
from learnedgec.errors import LearnedgecError, UnknownNameError

__all__ = ["COMMANDS", "main", "run"]

# name -> (module, one line); a module is imported only when its command runs.
COMMANDS: dict[str, tuple[str, str]] = {
    "score": ("learnedgec.cli.score", "score system outputs with any metric"),
    "rank": ("learnedgec.cli.rank", "rank systems, with intervals and significance"),
    "compare": ("learnedgec.cli.compare", "compare systems with a baseline, for a paper"),
    "meta": ("learnedgec.cli.meta", "compare metrics with people's judgements"),
    "report": (
        "learnedgec.cli.report",
        "write an HTML report: scores, sentences, edits, error types",
    ),
    "robust": ("learnedgec.cli.robust", "see what holds when only unrelated context changes"),
    "train": ("learnedgec.cli.train", "fine-tune an evaluator from a configuration"),
    "tune": ("learnedgec.cli.tune", "tune a metric's parameters on human judgements"),
    "rerank": ("learnedgec.cli.rerank", "choose the best of several corrections"),
    "edits": ("learnedgec.cli.edits", "find the edits between texts, or apply those of an M2 file"),
    "data": ("learnedgec.cli.data", "list, download and verify the public datasets"),
    "metrics": ("learnedgec.cli.metrics", "list the metrics, or explain one"),
    "evaluators": ("learnedgec.cli.evaluators", "list the trained evaluators, or explain one"),
}

_USER_ERROR, _INTERRUPTED = 2, 130


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {summary}" for name, (_, summary) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: learnedgec COMMAND [options]",
            "",
            "Train, tune, prove and run learned evaluators for grammatical error correction.",
            "",
            "commands:",
            *lines,
            "",
            "options:",
            "  -h, --help  this text; `learnedgec COMMAND --help` explains a command",
            "  --version   the version",
            "  --debug     after COMMAND: show the traceback of an error",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code: 0 done, 2 user error, 130 interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words or words[0] in ("-h", "--help"):
        print(_help())
        return 0 if words else _USER_ERROR
    if words[0] == "--version":
        print(f"learnedgec {__version__}")
        return 0
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    try:
        if words[0] not in COMMANDS:
            raise UnknownNameError("command", words[0], COMMANDS)
        warnings.showwarning = _show_warning
        importlib.import_module(COMMANDS[words[0]][0]).main(words[1:])
    except (LearnedgecError, ArgumentError) as error:
        if debug:
            raise
        print(f"learnedgec {words[0]}: {_one_sentence(error)}", file=sys.stderr)
        return _USER_ERROR
    except KeyboardInterrupt:
        print(f"learnedgec {words[0]}: interrupted.", file=sys.stderr)
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader (`head`, say) has left; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return 0


def run() -> None:
    """Be the console script."""
    sys.exit(main())


def _one_sentence(error: Exception) -> str:
    """Return the message on one line."""
    return " ".join(str(error).split())


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as one line on stderr, without the source line that raised it."""
    print(f"learnedgec: {_one_sentence(Exception(str(message)))}", file=sys.stderr)
