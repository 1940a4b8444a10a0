"""`learnedgec robust COMMAND`: robustness of corrections and of metrics' preferences.

One module per command; a module is imported only when its command runs.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from learnedgec.errors import InputError, UnknownNameError
from learnedgec.formats.text import write_text

__all__ = ["COMMANDS", "main"]

# name of the command and its module -> one line
COMMANDS = {
    "systems": "evaluate whether a system's corrections stay the same when only the context changes",
    "metrics": "evaluate whether a metric prefers the correction in every context",
    "attack": "evaluate whether a metric prefers adversarial texts",
    "perturb": "write variants of a parallel corpus in which only the context differs",
}


def main(arguments: Sequence[str]) -> None:
    """Run the command that the first argument names."""
    words = list(arguments)
    if not words:
        raise InputError(
            f"no command was given; name one of {', '.join(COMMANDS)}; see `learnedgec robust --help`."
        )
    if words[0] in ("-h", "--help"):
        write_text("-", _help())
        return
    if words[0] not in COMMANDS:
        raise UnknownNameError("command of robust", words[0], COMMANDS)
    importlib.import_module(f"{__name__}.{words[0]}").main(words[1:])


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [
        "usage: learnedgec robust COMMAND [options]",
        "",
        "Evaluate robustness to changes of the context, and to attacks.",
        "",
        "commands:",
        *(f"  {name:{width}}  {summary}" for name, summary in COMMANDS.items()),
        "",
        "options:",
        "  -h, --help  show this help; `learnedgec robust COMMAND --help` explains a command",
    ]
    return "\n".join(lines) + "\n"
