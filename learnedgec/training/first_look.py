"""What a training configuration's mistakes are, as far as they show before torch is imported.

A first look at the values as they are written, for the slips that people make most; it takes a fraction of a
second, where the import takes ten. What it does not understand it leaves to the parser (`options`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import yaml

from learnedgec.catalog.ratings import RATINGS
from learnedgec.errors import ConfigError, InputError
from learnedgec.execution.lookup import local_path
from learnedgec.formats.configuration import check_yaml
from learnedgec.training.heads import HeadOptions

__all__ = ["look"]


def look(arguments: Sequence[str]) -> None:
    """Raise for what cannot be right in the arguments of `learnedgec train`.

    Args:
        arguments: with files for the names of configurations (`with_configurations`).

    Raises:
        ConfigError: a head has an option of another value; the message names the key path.
        UnknownNameError: no rated dataset is named so.
        InputError: a file of ratings or pairs does not exist.
    """
    found = dict(_values(arguments))
    heads = _mapping(found.get("model.heads"))
    for head, options in heads.items():
        for key, value in _mapping(options).items():
            _check_choice(f"model.heads.{head}.{key}", key, value)
    for key in ("data.ratings", "data.auxiliary"):
        for name in _list(found.get(key)):
            RATINGS.expand(name)
    for sources in _mapping(found.get("data.pairs")).values():
        for name in _list(sources):
            if name.endswith((".jsonl", ".jsonl.gz")) and local_path(name) is None:
                raise InputError(f"{name[:200]} does not exist; check the path.")


def _check_choice(place: str, key: str, value: Any) -> None:
    """Raise unless the value of a head's option is one of its choices, where it has choices."""
    kind = get_type_hints(HeadOptions).get(key)
    if get_origin(kind) is not Literal or value in (choices := get_args(kind)):
        return
    *others, last = choices
    raise ConfigError(
        f"{place} is {str(value)[:200]!r}; {', '.join(others)} or {last} was expected."
    )


def _values(arguments: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield keys such as `data.ratings` with their values, later ones as they replace earlier ones."""
    words = list(arguments)
    for place, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if not flag.startswith("--"):
            continue
        text = value if equals else "".join(words[place + 1 : place + 2])
        if flag == "--config":
            path = local_path(text)
            for group, values in _mapping(_load(path) if path else None).items():
                for key, each in _mapping(values).items():
                    yield f"{group}.{key}", each
        elif flag.rstrip("+") in ("--model", "--data"):
            for key, each in _mapping(_parse(text)).items():
                yield f"{flag[2:]}.{key}", each
        else:
            # A value that is appended or set in part (`--data.ratings+`) replaces nothing.
            yield flag[2:], _parse(text)


def _load(path: Path) -> Any:
    """Return what a YAML file holds; nothing where it cannot be read."""
    try:
        return _parse(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


def _parse(text: str) -> Any:
    """Return what a YAML text holds; nothing where it is none."""
    try:
        check_yaml(text)
        return yaml.safe_load(text)
    except (yaml.YAMLError, ConfigError, ValueError):
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[str]:
    """Return the texts of a list."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
