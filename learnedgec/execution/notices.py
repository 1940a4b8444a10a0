"""Warnings about inputs, which come with a result also where it is read from a cache.

What computes a result warns by `warn_of_inputs`. What stores results stores these warnings with them
(`collected`), and gives them again whenever it reads one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["InputWarning", "collected", "warn_of_inputs"]


class InputWarning(UserWarning):
    """Some inputs are such that results may not be what one takes them for."""


_COLLECTED: ContextVar[list[InputWarning] | None] = ContextVar("collected", default=None)


def warn_of_inputs(warning: InputWarning) -> None:
    """Warn, unless warnings are collected in this context."""
    found = _COLLECTED.get()
    if found is None:
        warnings.warn(warning, stacklevel=3)
    else:
        found.append(warning)


@contextmanager
def collected() -> Iterator[list[InputWarning]]:
    """Collect the warnings about inputs of a block of code, instead of giving them.

    Example:
        >>> with collected() as found:
        ...     warn_of_inputs(InputWarning("1 of 2 inputs is too long."))
        >>> found
        [InputWarning('1 of 2 inputs is too long.')]
    """
    found: list[InputWarning] = []
    token = _COLLECTED.set(found)
    try:
        yield found
    finally:
        _COLLECTED.reset(token)
