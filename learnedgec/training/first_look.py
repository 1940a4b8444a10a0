"""Quick check of a training configuration for common mistakes, before torch is imported.

It reads the values as they are written and takes a fraction of a second, whereas the import takes ten
seconds. Values that it does not understand are left to the parser (`options`).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import yaml

from learnedgec.data.catalog.ratings import RATINGS
from learnedgec.errors import ConfigError, InputError
from learnedgec.runtime.search_paths import local_path
from learnedgec.training.heads import HeadOptions

__all__ = ["look"]


def look(arguments: Sequence[str]) -> None:
    """Check the arguments of `learnedgec train` for values that cannot be right.

    Args:
        arguments: the arguments, with files in place of names of configurations (`with_configurations`).

    Raises:
        ConfigError: an option of a head has an unknown value, or a head is no column of the ratings; the
            message names the key path.
        UnknownNameError: no rated dataset has this name.
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
    rated = [
        head
        for head, options in heads.items()
        if _mapping(options).get("objective", "regression") == "regression"
    ]
    _check_columns(rated, [*_list(found.get("data.ratings")), *_list(found.get("data.auxiliary"))])
    for sources in _mapping(found.get("data.pairs")).values():
        for name in _list(sources):
            if name.endswith((".jsonl", ".jsonl.gz")) and local_path(name) is None:
                raise InputError(f"{name[:200]} does not exist; check the path.")


def _check_choice(place: str, key: str, value: Any) -> None:
    """Raise if a head's option has choices and the value is none of them."""
    kind = get_type_hints(HeadOptions).get(key)
    if get_origin(kind) is not Literal or value in (choices := get_args(kind)):
        return
    *others, last = choices
    raise ConfigError(
        f"{place} is {str(value)[:200]!r}; {', '.join(others)} or {last} was expected."
    )


def _check_columns(heads: Sequence[str], names: Sequence[str]) -> None:
    """Raise for a head that is no column of the files of ratings, where all of them are tables."""
    columns: dict[str, None] = {}
    for name in names:
        path = local_path(name)
        if path is None or path.suffix not in (".csv", ".tsv"):
            return
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                delimiter = "\t" if path.suffix == ".tsv" else ","
                columns |= dict.fromkeys(next(csv.reader(file, delimiter=delimiter), []))
        except (OSError, UnicodeDecodeError, csv.Error):
            return
    for head in heads:
        if columns and head not in columns:
            raise ConfigError(
                f"model.heads.{head}: {', '.join(names)} has the columns {', '.join(columns)[:500]}, "
                f"not {head!r}; name a column of ratings."
            )


def _values(arguments: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield keys such as `data.ratings` with their values; later values replace earlier ones."""
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
    """Return the content of a YAML file; `None` if it cannot be read."""
    try:
        return _parse(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return None


def _parse(text: str) -> Any:
    """Return the value of a YAML text; `None` if it is not YAML."""
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[str]:
    """Return the strings in a list."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
