"""YAML within limits: a text that would expand without bound is refused before it is loaded.

With aliases, a text of a kilobyte can expand to 10⁸ values, or to a value that contains itself. A
configuration has at most 1 MiB, 100,000 values once its aliases are written out, 100 levels and numbers of 30
digits; its texts hold no NUL character. Any other error is reported by its loader.

The included configurations have names, such as `some-mini` for `configs/some-mini.yaml`, wherever learnedgec
is installed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from learnedgec.errors import ConfigError, InputError, UnknownNameError
from learnedgec.execution.lookup import local_path
from learnedgec.formats.text import read_text

if TYPE_CHECKING:
    import yaml

__all__ = [
    "check_yaml",
    "configurations",
    "parser_mode",
    "with_configurations",
    "wrong_value",
]

_MODE = "yaml-within-limits"

_LARGEST, _VALUES, _DEEPEST, _DIGITS = 1 << 20, 100_000, 100, 30

_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


def check_yaml(text: str) -> None:
    r"""Raise `ConfigError` if a YAML text exceeds a limit; a text that is not YAML passes.

    Example:
        >>> check_yaml("a: &some [1, 2]\nb: *some")
        >>> check_yaml("a: &some [*some]")
        Traceback (most recent call last):
            ...
        learnedgec.errors.ConfigError: configuration line 1: *some contains itself; write it out.
    """
    import yaml

    if len(text) > _LARGEST:
        raise ConfigError(
            f"a configuration has {len(text)} characters; at most {_LARGEST} are read."
        )
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    sizes: dict[str, int] = {}  # anchor -> values, once it is complete
    # Of each open list or mapping: its anchor, and its values so far.
    within: list[tuple[str | None, int]] = []
    try:
        for event in yaml.parse(text, Loader=loader):
            line = event.start_mark.line + 1 if event.start_mark else 0
            size = 1
            if isinstance(event, yaml.CollectionStartEvent):
                within.append((event.anchor, 1))
                if len(within) > _DEEPEST:
                    raise ConfigError(
                        f"configuration line {line}: values nested more than {_DEEPEST} deep."
                    )
                continue
            if isinstance(event, yaml.AliasEvent):
                if any(anchor == event.anchor for anchor, _ in within):
                    raise ConfigError(
                        f"configuration line {line}: *{event.anchor} contains itself; write it out."
                    )
                size = sizes.get(str(event.anchor), 1)
            elif isinstance(event, yaml.ScalarEvent):
                _check_scalar(event, line)
                if event.anchor:
                    sizes[event.anchor] = 1
            elif isinstance(event, yaml.CollectionEndEvent):
                name, size = within.pop()
                if name:
                    sizes[name] = size
            if within:
                name, before = within[-1]
                within[-1] = name, before + size
                if before + size > _VALUES:
                    raise ConfigError(
                        f"configuration line {line}: more than {_VALUES} values once aliases are written out."
                    )
    except yaml.YAMLError:
        return


def _check_scalar(event: yaml.ScalarEvent, line: int) -> None:
    """Raise `ConfigError` for a text that no path or name can be, or an endless number."""
    import yaml

    if "\0" in event.value:
        raise ConfigError(f"configuration line {line}: {event.value[:60]!r} holds a NUL character.")
    resolver: Any = yaml.resolver.Resolver()
    tag = event.tag or resolver.resolve(yaml.ScalarNode, event.value, event.implicit)
    if tag in _NUMBERS and len(event.value) > _DIGITS:
        raise ConfigError(f"configuration line {line}: a number of more than {_DIGITS} digits.")


def configurations() -> dict[str, Path]:
    """Return the included configurations by name: the same in a checkout and installed.

    Example:
        >>> sorted(configurations())[:3]
        ['impara', 'impara-consistent', 'impara-mini']
    """
    package = Path(__file__).parents[1]
    # An installed package carries them; a checkout has them beside the package.
    for folder in (package / "configs", package.parent / "configs"):
        if folder.is_dir():
            return {
                path.relative_to(folder).with_suffix("").as_posix(): path
                for path in sorted(folder.rglob("*.yaml"))
            }
    return {}


def with_configurations(arguments: Sequence[str]) -> list[str]:
    """Return a command's arguments with each name of an included configuration replaced by its file.

    A value of `--config` is a file if the file exists; otherwise it is a name if it has no suffix.

    Raises:
        UnknownNameError: no included configuration has the name; the message suggests the nearest.
        ConfigError: the file holds nothing.
        InputError: it is a folder, or is not UTF-8.
    """
    words = list(arguments)
    for place, word in enumerate(words):
        if word == "--config" and place + 1 < len(words):
            words[place + 1] = _configuration(words[place + 1])
        elif word.startswith("--config="):
            words[place] = "--config=" + _configuration(word.partition("=")[2])
    return words


def _configuration(given: str) -> str:
    """Return the file for a value of `--config`; the parser checks a value that is not a name."""
    path = local_path(given)
    if path is not None and given and path.is_dir() and given not in configurations():
        raise InputError(
            f"{given} is a directory; a YAML file or the name of a configuration was expected."
        )
    if path is not None and path.is_file():
        if not re.sub(r"(?m)^\s*(#.*|---|\.\.\.)$", "", read_text(path)).strip():
            raise ConfigError(f"{given} holds no key; a configuration in YAML was expected.")
        return given
    # The value may also be YAML itself, which has a colon.
    if not given or Path(given).suffix or ":" in given or given.startswith("-"):
        return given
    known = configurations()
    if given not in known:
        raise UnknownNameError(
            "configuration", given, known, hint="The path of a YAML file is also accepted."
        )
    return str(known[given])


_KINDS = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a text"}

_WRONG = re.compile(
    r'Parser key "([\w.]+)":\s*Expected a '
    r"(?:<class '(int|float|bool|str)'>|typing\.Literal\[(.+)\])\. Got value: (.*)",
    re.DOTALL,
)


def wrong_value(message: str) -> str | None:
    r"""Return a sentence for a parser's message about a value of another type; `None` for other messages.

    Example:
        >>> wrong_value('Parser key "jobs": Expected a <class \'int\'>. Got value: two')
        "jobs is 'two'; a whole number was expected."
        >>> wrong_value('Parser key "bits": Expected a typing.Literal[16, 4]. Got value: 3')
        "bits is '3'; one of 16, 4 was expected."
    """
    found = _WRONG.search(message)
    if found is None:
        return None
    key, kind, choices, given = found.groups()
    expected = _KINDS[kind] if kind else f"one of {choices}"
    return f"{key} is {given.strip()[:200]!r}; {expected} was expected."


def parser_mode() -> str:
    """Return the name under which argument parsers (jsonargparse's `parser_mode`) load YAML within limits."""
    import yaml
    from jsonargparse import get_loader, set_loader

    load = get_loader("yaml")

    def load_within_limits(text: str) -> object:
        check_yaml(text)
        return load(text)

    set_loader(_MODE, load_within_limits, (yaml.YAMLError,))
    return _MODE
