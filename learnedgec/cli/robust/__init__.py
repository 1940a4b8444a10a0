"""`learnedgec robust COMMAND`: do corrections, and a metric's preferences, hold when only context changes?

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
    "systems": "does a system correct the same when only the context changes?",
    "metrics": "does a metric prefer the correction whatever the context?",
    "attack": "does a metric prefer texts that were made to fool one?",
    "perturb": "write variants of a parallel corpus whose context alone differs",
}


def main(arguments: Sequence[str]) -> None:
    """Run the command that the first argument names."""
    words = list(arguments)
    if not words:
        raise InputError(
            f"say what to look at: {', '.join(COMMANDS)}; `learnedgec robust --help` explains them."
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
        "Evaluate robustness against changes of the context, and against attacks.",
        "",
        "commands:",
        *(f"  {name:{width}}  {summary}" for name, summary in COMMANDS.items()),
        "",
        "options:",
        "  -h, --help  this text; `learnedgec robust COMMAND --help` explains a command",
    ]
    return "\n".join(lines) + "\n"
