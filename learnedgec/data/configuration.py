"""The included configurations by name, such as `some-mini` for `configs/some-mini.yaml`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from learnedgec.data.text import read_text
from learnedgec.errors import ConfigError, UnknownNameError
from learnedgec.runtime.search_paths import included_folder, local_path


def configurations() -> dict[str, Path]:
    """Return the included configurations by name: the same in a checkout and installed.

    Example:
        >>> sorted(configurations())[:3]
        ['impara', 'impara-consistent', 'impara-mini']
    """
    folder = included_folder("configs", "configs")
    return {
        path.relative_to(folder).with_suffix("").as_posix(): path
        for path in sorted(folder.rglob("*.yaml"))
    }


def with_configurations(arguments: Sequence[str]) -> list[str]:
    """Return a command's arguments with each name of an included configuration replaced by its file.

    A value of `--config` is a file if the file exists; otherwise it is a name if it has no suffix.

    Raises:
        UnknownNameError: no included configuration has the name; the message suggests the nearest.
        ConfigError: the file holds nothing.
        InputError: it is not UTF-8.
    """
    words = list(arguments)
    for place, word in enumerate(words):
        if word == "--config" and place + 1 < len(words):
            words[place + 1] = _configuration(words[place + 1])
        elif word.startswith("--config="):
            words[place] = "--config=" + _configuration(word.partition("=")[2])
    return words


def _configuration(value: str) -> str:
    """Return the file for a value of `--config`; the parser checks a value that is not a name."""
    path = local_path(value)
    if path is not None and path.is_file():
        if not re.sub(r"(?m)^\s*(#.*|---|\.\.\.)$", "", read_text(path)).strip():
            raise ConfigError(f"{value} holds no key; a configuration in YAML was expected.")
        return value
    # The value may also be YAML itself, which has a colon.
    if not value or ":" in value or value.startswith("-"):
        return value
    included = configurations()
    if value not in included:
        # Those in folders are of single experiments.
        candidates = [name for name in included if "/" not in name or "/" in value]
        raise UnknownNameError("file or configuration", value, candidates)
    return str(included[value])


_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text"}

_RESTRICTED = {
    "PositiveInt": "a whole number of at least 1",
    "NonNegativeInt": "a whole number of at least 0",
    "OpenUnitInterval": "a number between 0 and 1",
    "ClosedUnitInterval": "a number from 0 to 1",
}

_WRONG = re.compile(
    r'Parser key "([\w.]+)":\s*(?:Expected a '
    r"(?:<class '(int|float|bool|str)'>|typing\.Literal\[(.+)\])\. Got value: (.*)|"
    r"Not of type (\w+): .*?('[^']*'|\S+)(?: does not conform to restriction .*)?$)",
    re.DOTALL,
)


def wrong_value(message: str) -> str | None:
    r"""Return a sentence for a parser's message about a value of another type; `None` for other messages.

    Example:
        >>> wrong_value('Parser key "jobs": Expected a <class \'int\'>. Got value: two')
        "jobs is 'two'; a whole number was expected."
        >>> wrong_value('Parser key "bits": Expected a typing.Literal[16, 4]. Got value: 3')
        "bits is '3'; one of 16, 4 was expected."
        >>> wrong_value('Parser key "seed": Not of type PositiveInt: 0 does not conform to restriction v>0')
        "seed is '0'; a whole number of at least 1 was expected."
    """
    match = _WRONG.search(message)
    if match is None:
        return None
    key, kind, choices, value, restricted, restricted_value = match.groups()
    value = (value or restricted_value).strip().strip("'")
    expected = _KINDS.get(kind) or _RESTRICTED.get(restricted) or f"one of {choices}"
    return f"{key} is {value[:200]!r}; {expected} was expected."
