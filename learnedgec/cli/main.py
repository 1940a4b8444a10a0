"""`learnedgec COMMAND …`: find the command, run it, turn errors into one sentence and an exit code."""

from __future__ import annotations

import io
import os
import sys
import warnings
from argparse import ArgumentError
from collections.abc import Mapping, Sequence
from typing import Any

from learnedgec._version import __version__
from learnedgec.cli.commands import COMMANDS, GROUPS, SUBCOMMANDS, find_command
from learnedgec.errors import (
    InputWarning,
    LearnedgecError,
    SetupWarning,
    TextWarning,
    UnknownNameError,
)
from learnedgec.runtime.runtime import PROFILE

# What users of other tools type first, and the command that they mean.
_MEANT = {
    "m2scorer": "score --metric m2",
    "errant_compare": "score --metric errant",
    "errant_parallel": "edits",
    "sacrebleu": "score --metric gleu",
    "evaluate": "score",
    "get_metric": "metrics",
    "significance": "compare",
}

_USER_ERROR, _INTERRUPTED = 2, 130

_OPTIONS = """\
  -h, --help  show this help; `learnedgec COMMAND --help` explains a command, and --help-all every option
  --version   show the version
  --print-completion SHELL
              print a script with which a shell (bash, zsh, …) completes commands, options and names
  --debug     after COMMAND: show the traceback of an error"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    0: done. 1: done except for parts that a message names, or a gate failed. 2: user error. 130: interrupted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    has_command = bool(words) and not words[0].startswith("-")
    name = f"learnedgec {words[0]}" if has_command else "learnedgec"
    with warnings.catch_warnings():
        warnings.showwarning = _one_line_warnings()
        warnings.simplefilter("always", InputWarning)
        try:
            return _run_command(words)
        except KeyboardInterrupt as error:
            code, message = _INTERRUPTED, str(error) or "interrupted."
        except BrokenPipeError:
            # The reader, such as `head`, has closed the pipe. What Python still flushes at exit goes nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except (LearnedgecError, ArgumentError, OSError, MemoryError, RuntimeError) as error:
            unexpected = isinstance(error, RuntimeError) and not _is_of_memory(error)
            if debug or unexpected:
                raise
            code, message = _USER_ERROR, _one_sentence(error)
    print(f"{name}: {message}", file=sys.stderr)
    return code


def _run_command(words: list[str]) -> int:
    """Find the command and run it."""
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if not words or words[0] in ("-h", "--help", "--help-all"):
        about = "Train, tune, evaluate and run learned evaluators for grammatical error correction."
        print(_help("learnedgec", about, COMMANDS, _OPTIONS))
        return 0 if words else _USER_ERROR
    if words[0] == "--version":
        print(f"learnedgec {__version__}")
        return 0
    if words[0] == "--print-completion":
        from learnedgec.cli.completion import completion

        print(completion(words[1] if len(words) > 1 else "bash"))
        return 0
    command, *words = words
    if command not in COMMANDS:
        raise UnknownNameError("command", command, COMMANDS, suggestion=_suggestion(command))
    inner = SUBCOMMANDS.get(command, {})
    if words and words[0] in inner:
        command, words = f"{command} {words[0]}", words[1:]
    elif command in GROUPS:
        if words and words[0] not in ("-h", "--help"):
            raise UnknownNameError(f"command of {command}", words[0], inner)
        name = f"learnedgec {command}"
        options = f"  -h, --help  show this help; `{name} COMMAND --help` explains a command"
        print(_help(name, GROUPS[command], inner, options))
        return 0 if words else _USER_ERROR
    code = find_command(command)(words)
    sys.stdout.flush()
    if PROFILE.enabled:
        print(*PROFILE.lines(), sep="\n", file=sys.stderr)
        PROFILE.enabled = False
    return code or 0


def _suggestion(word: str) -> str:
    """Return the command that a user means who typed another tool's name, or the name of a metric."""
    from learnedgec.metrics.registry import METRICS

    name = word.removesuffix(".py").lower()
    return _MEANT.get(name, f"score --metric {name}" if name in METRICS else "")


def run() -> None:
    """Console entry point: run a command, and exit with its code."""
    # On a busy machine, threads of torch that wait in a loop keep each other from the processor.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Pipes and files get UTF-8. A terminal keeps its encoding; characters that it lacks are escaped.
        encoding = None if sys.stdout.isatty() else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")
    sys.exit(main())


def _help(name: str, about: str, commands: Mapping[str, str], options: str) -> str:
    """Return the help of a program with these commands and the lines about its options."""
    width = max(map(len, commands))
    lines = [f"  {command:{width}}  {summary}" for command, summary in commands.items()]
    head = f"usage: {name} COMMAND [options]\n\n{about}\n\ncommands:\n"
    return head + "\n".join(lines) + f"\n\noptions:\n{options}"


def _one_sentence(error: BaseException) -> str:
    """Return an error's message on one line."""
    if isinstance(error, OSError) and not isinstance(error, LearnedgecError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename}: "
        return f"{place}{error.strerror}."
    if isinstance(error, MemoryError) or _is_of_memory(error):
        return (
            "there is not enough memory; use less input, smaller batches (--batch-tokens, in training "
            "--data.batch_size) or fewer --jobs."
        )
    message = error.for_command_line if isinstance(error, LearnedgecError) else str(error)
    return " ".join(message.split())


def _is_of_memory(error: BaseException) -> bool:
    """Return whether a device has not enough memory, without importing torch."""
    return type(error).__name__ == "OutOfMemoryError"


def _one_line_warnings() -> Any:
    """Return a function that prints each warning once, as one line without the code that raised it.

    Deprecation warnings of libraries are for developers, not for users of a command.
    """
    shown: set[str] = set()
    hidden = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        text = " ".join(str(message).split())
        if not issubclass(category, hidden) and text not in shown:
            shown.add(text)
            # Notices about texts begin with the name of a system or a file.
            text = text if issubclass(category, TextWarning) else f"learnedgec: {text}"
            from learnedgec.cli.output import notice, notice_daily

            (notice_daily if issubclass(category, SetupWarning) else notice)(text)

    return show
