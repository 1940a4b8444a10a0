"""`learnedgec COMMAND …`: find the command, run it, turn errors into one sentence and an exit code."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import signal
import sys
import threading
import time
import warnings
from argparse import ArgumentError
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

from learnedgec._version import __version__
from learnedgec.cli.flags import with_flags
from learnedgec.cli.terminal import folded
from learnedgec.errors import LearnedgecError, UnknownNameError
from learnedgec.execution.profile import PROFILE
from learnedgec.formats.text import write_text

__all__ = ["COMMANDS", "main", "run"]

# name -> (module, one line); a module is imported only when its command runs.
COMMANDS: dict[str, tuple[str, str]] = {
    "score": ("learnedgec.cli.score", "score system outputs with any metric"),
    "rank": ("learnedgec.cli.rank", "rank systems, with intervals and significance"),
    "compare": (
        "learnedgec.cli.compare",
        "compare systems with a baseline, with intervals and tests",
    ),
    "meta": ("learnedgec.cli.meta", "meta-evaluate metrics against human judgements"),
    "report": (
        "learnedgec.cli.report",
        "write an HTML report: scores, sentences, edits, error types",
    ),
    "robust": (
        "learnedgec.cli.robust",
        "evaluate robustness to changes of unrelated context, and to attacks",
    ),
    "train": ("learnedgec.cli.train", "fine-tune an evaluator from a configuration"),
    "tune": ("learnedgec.cli.tune", "tune a metric's parameters on human judgements"),
    "rerank": ("learnedgec.cli.rerank", "choose the best of several corrections"),
    "serve": ("learnedgec.cli.serve", "serve metrics over HTTP"),
    "edits": (
        "learnedgec.cli.edits",
        "extract the edits between texts, or apply those of an M2 file",
    ),
    "data": ("learnedgec.cli.data", "list, download and verify the public datasets"),
    "metrics": ("learnedgec.cli.metrics", "list the metrics, or explain one"),
    "evaluators": (
        "learnedgec.cli.evaluators",
        "list the trained evaluators, or print a model card",
    ),
}

_USER_ERROR, _INTERRUPTED, _TERMINATED = 2, 130, 143

# Seconds that a command has for its clean-up after SIGTERM.
_GRACE = 5.0


class _Terminated(BaseException):
    """SIGTERM was received."""


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:{width}}  {summary}" for name, (_, summary) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: learnedgec COMMAND [options]",
            "",
            "Train, tune, evaluate and run learned evaluators for grammatical error correction.",
            "",
            "commands:",
            *lines,
            "",
            "options:",
            "  -h, --help  show this help; `learnedgec COMMAND --help` explains a command",
            "  --version   show the version",
            "  --debug     after COMMAND: show the traceback of an error",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    0 done, 1 done but for parts that are named, 2 user error, 130 interrupted, 143 terminated.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    words = [word for word in words if word != "--debug"]
    name = " ".join(["learnedgec", *(word for word in words[:1] if not word.startswith("-"))])
    show_warning = warnings.showwarning
    # A warning that several metrics share is shown once.
    warnings.showwarning = _once(_show_warning)
    try:
        return _command(words)
    except (LearnedgecError, ArgumentError) as error:
        if debug:
            raise
        _say(f"{name}: {_one_sentence(error)}")
        return _USER_ERROR
    except KeyboardInterrupt:
        _say(f"{name}: interrupted.")
        return _INTERRUPTED
    except _Terminated:
        _say(_FAREWELL)
        return _TERMINATED
    except BrokenPipeError:
        # The reader (`head`, say) has closed the pipe, so no message can be shown.
        _silence(sys.stdout)
        return 0
    except (OSError, MemoryError) as error:
        if debug:
            raise
        _silence(sys.stdout)
        _say(f"{name}: {_one_sentence(error)}")
        return _USER_ERROR
    finally:
        warnings.showwarning = show_warning


def _command(words: Sequence[str]) -> int:
    """Find the command, run it and flush its output."""
    if not words or words[0] in ("-h", "--help"):
        write_text("-", _help() + "\n")
        return 0 if words else _USER_ERROR
    if words[0] == "--version":
        write_text("-", f"learnedgec {__version__}\n")
        return 0
    if words[0] not in COMMANDS:
        raise UnknownNameError("command", words[0], COMMANDS)
    try:
        code: int | None = importlib.import_module(COMMANDS[words[0]][0]).main(words[1:])
    finally:
        sys.stdout.flush()
    if PROFILE.wanted:
        for line in PROFILE.lines():
            _say(line)
        PROFILE.wanted = False
    return code or 0


def run() -> None:
    """Console entry point."""
    try:
        _prepare_streams()
        _prepare_termination()
        code = main()
    except KeyboardInterrupt:
        # The interrupt came before the command or after it.
        _say("learnedgec: interrupted.")
        code = _INTERRUPTED
    except _Terminated:
        _say(_FAREWELL)
        code = _TERMINATED
    if code in (_INTERRUPTED, _TERMINATED):
        # The clean-up is done; unfinished threads are not waited for.
        os._exit(code)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.exit(code)


def _prepare_streams() -> None:
    """Make the standard streams usable, whatever state the caller left them in.

    A closed stream is replaced by one that fails on use; otherwise the next file to be opened would take its
    descriptor. Output to a program is UTF-8. A terminal, or a user who sets PYTHONIOENCODING, gets that
    encoding, and characters that it lacks are escaped.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    sys.stdin = sys.stdin or Path(os.devnull).open("w")  # noqa: SIM115 - open to the end
    sys.stdout = sys.stdout or Path(os.devnull).open()  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        own = sys.stdout.isatty() or bool(os.environ.get("PYTHONIOENCODING"))
        sys.stdout.reconfigure(
            encoding=sys.stdout.encoding if own else "utf-8", errors="backslashreplace"
        )


def _prepare_termination() -> None:
    """Let SIGTERM end the command by an exception, and at the latest after a grace period.

    The exception may be delayed by a long computation in the main thread, or be swallowed. A thread that the
    signal itself wakes then ends the process.
    """
    if os.name == "nt":
        return
    asleep, awake = os.pipe()
    os.set_blocking(awake, False)
    signal.signal(signal.SIGTERM, _terminate)
    signal.set_wakeup_fd(awake, warn_on_full_buffer=False)

    def watch() -> None:
        while signal.SIGTERM not in os.read(asleep, 64):
            pass
        time.sleep(_GRACE)
        with contextlib.suppress(OSError):
            os.write(2, f"{_FAREWELL}\n".encode())
        os._exit(_TERMINATED)

    threading.Thread(target=watch, daemon=True).start()


_FAREWELL = "learnedgec: terminated."


def _terminate(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _Terminated


def _say(text: str) -> None:
    """Print a line on stderr; if stderr is closed, the exit code still reports the error."""
    try:
        print(folded(text, sys.stderr), file=sys.stderr, flush=True)
    except OSError:
        _silence(sys.stderr)


def _silence(stream: IO[str]) -> None:
    """Discard what a stream still buffers, so that the interpreter does not fail when it flushes at exit."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _one_sentence(error: BaseException) -> str:
    """Return the message on one line, with flags for arguments."""
    if isinstance(error, OSError) and error.strerror and not isinstance(error, LearnedgecError):
        place = "" if error.filename is None else f"{str(error.filename)[:200]}: "
        return f"{place}{error.strerror}."
    if isinstance(error, MemoryError):
        return "there is not enough memory; use less input or smaller batches."
    return with_flags(str(error))


def _once(show: Callable[..., None]) -> Callable[..., None]:
    """Return a function that shows each message no more than once."""
    told: set[str] = set()

    def shown(message: Warning | str, *more: Any, **others: Any) -> None:
        if str(message) not in told:
            told.add(str(message))
            show(message, *more, **others)

    return shown


def _show_warning(
    message: Warning | str, category: type[Warning] = UserWarning, *_: object, **__: object
) -> None:
    """Print a warning as one line on stderr, without the source line that raised it.

    Deprecation warnings of libraries are for the developers, not for users of a command.
    """
    if issubclass(category, DeprecationWarning | PendingDeprecationWarning | FutureWarning):
        return
    _say(f"learnedgec: {_one_sentence(Exception(str(message)))}")
