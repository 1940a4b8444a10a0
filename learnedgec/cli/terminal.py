"""How wide the reader's terminal is, and prose that is folded at words for it."""

from __future__ import annotations

import os
import shutil
import textwrap
from typing import TextIO

__all__ = ["folded", "width_of"]

# Nothing is folded for a terminal narrower than this.
_NARROWEST = 40


def width_of(stream: TextIO) -> int | None:
    """Return how many characters a line of the terminal has.

    A file or a pipe has lines of any length, `None`, unless the environment's COLUMNS says how many.
    """
    if not stream.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        return None
    return max(shutil.get_terminal_size().columns, _NARROWEST)


def folded(text: str, stream: TextIO) -> str:
    """Return one line as several that end at words, if it goes to a terminal and is longer than its lines."""
    width = width_of(stream)
    if width is None or len(text) <= width:
        return text
    # A long name or path may be copied from the terminal only if it stays in one piece.
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
