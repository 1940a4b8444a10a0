"""The width of the terminal, and text folded at words to this width."""

from __future__ import annotations

import os
import shutil
import textwrap
from typing import TextIO

__all__ = ["folded", "width_of"]

# The narrowest width to which text is folded.
_NARROWEST = 40


def width_of(stream: TextIO) -> int | None:
    """Return the number of characters in a line of the terminal.

    A file or a pipe has no width, `None`, unless the environment variable COLUMNS gives one.
    """
    if not stream.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        return None
    return max(shutil.get_terminal_size().columns, _NARROWEST)


def folded(text: str, stream: TextIO) -> str:
    """Return one line folded at words, if it goes to a terminal that is narrower than the line."""
    width = width_of(stream)
    if width is None or len(text) <= width:
        return text
    # A long name or path may be copied from the terminal only if it stays in one piece.
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
