"""`learnedgec robust COMMAND`: robustness of corrections and of metrics' preferences.

One module per command; a module is imported only when its command runs.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from learnedgec.cli.main import help_of_group
from learnedgec.errors import InputError, UnknownNameError

__all__ = ["COMMANDS", "main"]

# name of the command and its module -> one line
COMMANDS = {
    "systems": "evaluate whether a system's corrections stay the same when only the context changes",
    "metrics": "evaluate whether a metric prefers the correction in every context",
    "attack": "evaluate whether a metric prefers adversarial texts",
    "perturb": "write variants of a parallel corpus in which only the context differs",
}

_OPTIONS = "\n  -h, --help  show this help; `learnedgec robust COMMAND --help` explains a command"


def main(arguments: Sequence[str]) -> None:
    """Run the command that the first argument names."""
    if not arguments:
        raise InputError(
            f"no command was given; name one of {', '.join(COMMANDS)}; see `learnedgec robust --help`."
        )
    command, *words = arguments
    if command in ("-h", "--help"):
        about = "Evaluate robustness to changes of the context, and to attacks."
        print(help_of_group("learnedgec robust", about, COMMANDS, _OPTIONS))
        return
    if command not in COMMANDS:
        raise UnknownNameError("command of robust", command, COMMANDS)
    importlib.import_module(f"{__name__}.{command}").main(words)
