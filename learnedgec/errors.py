"""Everything learnedgec raises on purpose, and its warnings about inputs.

    LearnedgecError                 any error below; the command line prints it and exits with 2
    ├── InputError                  sentences, references or judgements that cannot be used
    │   ├── FormatError             a line that is not what its file format says (names file and line)
    │   └── LengthError             parallel inputs of different lengths (names both and both counts)
    ├── BadNameError                a name that does not parse or is not in a table
    │   ├── UnknownNameError        no such metric, dataset, evaluator, benchmark (suggests the nearest)
    │   └── ParameterError          a known metric with an unknown, missing or ill-typed parameter
    ├── ConfigError                 a configuration key or value that cannot be used (names the key path)
    ├── DivergedError               a training whose loss or predictions became NaN or infinite
    ├── DataError                   a catalog dataset that is absent, unreachable or altered
    │   └── LeakageError            training or tuning on text that evaluation forbids
    ├── ModelError                  an encoder or language model that cannot be loaded
    │   └── PackageError            an evaluator package that is incomplete, altered or truncated
    ├── OutputError                 a path that cannot be written
    ├── PluginError                 a plug-in of another installed package that cannot be used
    └── MissingDependencyError      an optional dependency that is not installed (names the extra)

Every message says what was given, what was expected and what to do.

Warnings about inputs (`InputWarning`) are also issued when a result is read from a cache. Code that computes
a result warns with `warn_of_inputs`. Code that stores results stores these warnings too (`collected`), and
repeats them whenever it reads a result.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import FrameType


class LearnedgecError(Exception):
    """Any error that learnedgec raises on purpose.

    Args:
        message: what was given, what was expected and what to do.
        hint: appended to the message in Python, where it may name an argument.
        flag: appended in its place on the command line, where the argument is a flag.
    """

    def __init__(self, message: str, *, hint: str = "", flag: str = "") -> None:
        super().__init__(message + hint)
        self.for_command_line = message + flag


class InputError(LearnedgecError):
    """Sentences, references or judgements that cannot be used."""


class FormatError(InputError):
    """A line that is not what its file format says; the message starts with `file:line`."""


class LengthError(InputError):
    """Parallel inputs of different lengths."""


class BadNameError(LearnedgecError):
    """A name that does not parse or is not in a table."""


class UnknownNameError(BadNameError):
    """The name of a metric, dataset, evaluator or benchmark that does not exist.

    Args:
        kind: kind of thing, such as `metric`.
        name: the unknown name.
        known: names that exist; the nearest is suggested.
        suggestion: the name to suggest instead of the nearest one.
        hint: appended after a space, in Python and on the command line.
    """

    def __init__(
        self, kind: str, name: str, known: Iterable[str], *, suggestion: str = "", hint: str = ""
    ) -> None:
        names = {candidate.lower(): candidate for candidate in sorted(known)}
        nearest = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5)
        advice = (
            f"did you mean {suggestion or names[nearest[0]]!r}?"
            if suggestion or nearest
            else f"known: {', '.join(names.values()) or 'none'}."
        )
        super().__init__(
            f"no {kind} is named {name[:200]!r}; {advice}" + (f" {hint}" if hint else "")
        )
        self.kind, self.name, self.known = kind, name, tuple(names.values())


class ParameterError(BadNameError):
    """A known metric with an unknown, missing or ill-typed parameter."""


class ConfigError(LearnedgecError):
    """A configuration key or value that cannot be used."""


class DivergedError(LearnedgecError):
    """A training whose loss, predictions or weights became NaN or infinite."""


class DataError(LearnedgecError):
    """A catalog dataset that is absent, unreachable or altered."""


class LeakageError(DataError):
    """Training or tuning on text that evaluation forbids."""


class ModelError(LearnedgecError):
    """An encoder or language model that cannot be loaded."""


class PackageError(ModelError):
    """An evaluator package that is incomplete, altered or truncated."""


class OutputError(LearnedgecError):
    """A path that cannot be written."""


class PluginError(LearnedgecError):
    """A plug-in of another installed package that cannot be used."""


class MissingDependencyError(LearnedgecError):
    """An optional dependency that is not installed.

    Args:
        package: name of the missing package.
        extra: extra of learnedgec that installs it.
        feature: the feature that needs the package.
    """

    def __init__(self, package: str, extra: str, feature: str) -> None:
        super().__init__(
            f"{feature} needs the package {package!r}, which is not installed; "
            f"run: pip install 'learnedgec[{extra}]'"
        )
        self.package, self.extra = package, extra


@contextmanager
def needs(extra: str, feature: str) -> Iterator[None]:
    """Say what is missing if an import within the block fails.

    Args:
        extra: extra of learnedgec that installs it.
        feature: the feature that needs it.

    Raises:
        MissingDependencyError: an import fails.

    Example:
        >>> with needs("pandas", "a data frame"):  # doctest: +ELLIPSIS
        ...     import absent
        Traceback (most recent call last):
        learnedgec.errors.MissingDependencyError: a data frame needs the package 'absent', which is not...
    """
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(str(error.name), extra, feature) from None


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raise `ConfigError` unless a value is one of the choices.

    Args:
        name: the name of the option.
        value: the value.
        choices: the allowed values.
    """
    if value not in choices:
        raise ConfigError(f"{name} is {value!r}; one of {', '.join(choices)} was expected.")


class SetupWarning(UserWarning):
    """Warning that something is not installed, and what differs for that; commands print it once a day."""


class InputWarning(UserWarning):
    """Warning that some inputs make results less reliable than they seem."""


class TextWarning(InputWarning):
    """Warning that something in the texts looks like a mistake, such as a lost line."""


_COLLECTED: ContextVar[list[InputWarning] | None] = ContextVar("collected", default=None)


def warn_of_inputs(warning: InputWarning) -> None:
    """Issue a warning, or collect it if warnings are collected in this context."""
    collecting = _COLLECTED.get()
    if collecting is None:
        warnings.warn(warning, stacklevel=_level_of_user())
    else:
        collecting.append(warning)


def _level_of_user() -> int:
    """Return the level of the user's line, the nearest outside the package, in the stack of the caller."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith("learnedgec."):
        frame, level = frame.f_back, level + 1
    return level


@cache
def warn_once(message: str) -> None:
    """Issue a warning about inputs once in a process, however often this is called."""
    warnings.warn(InputWarning(message), stacklevel=_level_of_user())


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
