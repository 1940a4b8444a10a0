"""Warnings about inputs, which are also issued when a result is read from a cache.

Code that computes a result warns with `warn_of_inputs`. Code that stores results stores these warnings too
(`collected`), and repeats them whenever it reads a result.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class InputWarning(UserWarning):
    """Warning that some inputs make results less reliable than they seem."""


class TextWarning(InputWarning):
    """Warning that something in the texts looks like a mistake, such as a lost line."""


_COLLECTED: ContextVar[list[InputWarning] | None] = ContextVar("collected", default=None)


def warn_of_inputs(warning: InputWarning) -> None:
    """Issue a warning, or collect it if warnings are collected in this context."""
    collecting = _COLLECTED.get()
    if collecting is None:
        warnings.warn(warning, stacklevel=3)
    else:
        collecting.append(warning)


@contextmanager
def collected() -> Iterator[list[InputWarning]]:
    """Collect the warnings about inputs in a `with` block instead of issuing them.

    Example:
        >>> with collected() as notices:
        ...     warn_of_inputs(InputWarning("1 of 2 inputs is too long."))
        >>> notices
        [InputWarning('1 of 2 inputs is too long.')]
    """
    notices: list[InputWarning] = []
    token = _COLLECTED.set(notices)
    try:
        yield notices
    finally:
        _COLLECTED.reset(token)
