"""Train from Python: on tables in memory, with the keys of a configuration as arguments."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from pytorch_lightning import Trainer
from pytorch_lightning.callbacks import EarlyStopping

from learnedgec.data.configuration import OTHER_KEYS
from learnedgec.data.records import Columns, Rows, is_row, name_of, rows_of
from learnedgec.errors import ConfigError, InputError, UnknownNameError
from learnedgec.evaluators.precision import Bits
from learnedgec.runtime.files import PathLike, key_of
from learnedgec.table import plain
from learnedgec.training import fit
from learnedgec.training.data import DataSettings, divided_columns
from learnedgec.training.pairs.judged import grouped_ratings, read_ranked_pairs
from learnedgec.training.run import TrainingResult
from learnedgec.training.settings import settings_of
from learnedgec.training.start import ModelSettings

if TYPE_CHECKING:
    from typing_extensions import Unpack


# A table, the name of one (a file, a dataset of the catalog, `hf:OWNER/NAME`), or a list of these.
Tables: TypeAlias = Rows | PathLike | Sequence[PathLike | Rows]


class FurtherKeys(TypedDict, total=False):
    """Further keys of a configuration: the groups `model`, `data`, `trainer`, …, and the run's own."""

    model: Mapping[str, Any]
    data: Mapping[str, Any]
    trainer: Mapping[str, Any]
    best: Mapping[str, Any]
    last: Mapping[str, Any]
    early_stopping: Mapping[str, Any]
    seed_everything: int
    seeds: int
    average: bool
    jobs: int
    bits: Bits
    licence_policy: Literal["any", "permissive"]
    runs: PathLike
    resume: bool
    overwrite: bool


def train(
    ratings: Tables | None = None,
    *,
    output: PathLike,
    heads: Mapping[str, Literal["hypothesis", "pair"] | Mapping[str, Any]]
    | Sequence[str]
    | None = None,
    encoder: PathLike | None = None,
    pairs: Mapping[str, Tables] | None = None,
    columns: Columns | None = None,
    config: PathLike | None = None,
    progress: bool = True,
    notify: Callable[[str], None] | None = None,
    **settings: Unpack[FurtherKeys],
) -> TrainingResult:
    """Train an evaluator on tables of human judgements, and return after its package is written.

    What `learnedgec train` checks is checked, and the groups of its configuration are arguments:
    `trainer={"max_epochs": 3}` is what `trainer: {max_epochs: 3}` is there. A table in memory has a name that
    depends on its content, such as `table:DataFrame-0c4e1b2a9d3f`, in the package and its card.

    A table is a data frame of pandas or Polars, a `datasets.Dataset`, a list of its rows, the name of a file
    or dataset, or a list of such tables.

    Args:
        ratings: rated outputs, with the columns `hypothesis`, `source` or `group`, one for each rated
            dimension, and perhaps `system` (`read_ratings`).
        output: the folder of the package. Its last part is the evaluator's name.
        heads: name of each head -> what it reads (`hypothesis` or `pair`), or its options (`HeadOptions`); or
            the names alone, of heads that read the hypothesis. A regression head learns the dimension with
            its name.
        encoder: a pretrained encoder, or an evaluator to continue, such as `open-mpnet`.
        pairs: head -> ranked pairs, with the columns `source`, `better` and `worse`, or other judgements
            (`read_ranked_pairs`).
        columns: our name of a column -> its name in the tables, or several names.
        config: a configuration that the other arguments complete: a file, or the name of a bundled one.
        progress: show progress on stderr.
        notify: called before the first epoch with a line about continued heads, the data and the device.
        settings: further keys of the configuration.

    Raises:
        ConfigError: an unusable value; the message names the key path. Several devices need the command.
        UnknownNameError: an unknown argument or key; the message suggests what has its meaning, or the
            nearest.
        InputError, FormatError: a table cannot be used; the message names the row.
        LearnedgecError: the data, the encoder or the output cannot be used.
        KeyboardInterrupt: Ctrl-C or SIGTERM. The current step is completed and kept in a checkpoint, from
            which `resume=True` continues, and no package is written.

    Example: `train(frame, output="checkpoints/mine", heads={"fluency": "hypothesis"}).results["test"]` is the
    agreement with ratings of sources that the evaluator has not seen, where `frame` has the columns `source`,
    `hypothesis` and `fluency`.
    """
    _check_settings(settings)
    given: dict[str, Any] = {
        **settings,
        "name": Path(output).name,
        "output": str(Path(output).parent),
    }
    tables: dict[str, Rows] = {}
    if encoder is not None or heads is not None:
        model = {} if encoder is None else {"encoder": os.fspath(encoder)}
        model |= {} if heads is None else {"heads": _options_of(heads)}
        given["model"] = model | dict(settings.get("model", {}))
    data: dict[str, Any] = {} if columns is None else {"columns": columns}
    if ratings is not None:
        data["ratings"] = _named(ratings, "ratings", tables)
    if pairs is not None:
        data["pairs"] = {
            head: _named(several, "pairs", tables)
            for head, several in _mapping("pairs", pairs).items()
        }
    given["data"] = data | dict(settings.get("data", {}))
    read = settings_of(_plain(given), config)
    judged, rated = divided_columns(read.values.data.columns or {})
    rows: dict[str, Sequence[Any]] = {
        name: list(grouped_ratings(table, rated))
        if name in data.get("ratings", ())
        else read_ranked_pairs(table, judged)
        for name, table in tables.items()
    }
    result = fit.train(replace(read, tables=rows), progress=progress, notify=notify, alone=True)
    assert result is not None
    return result


def _plain(value: Any) -> Any:
    """Return a value as a configuration has it: lists and mappings of numbers and texts."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    return os.fspath(value) if isinstance(value, os.PathLike) else plain(value)


_GROUPS = {
    "model": ModelSettings,
    "data": DataSettings,
    "trainer": Trainer,
    "early_stopping": EarlyStopping,
}


def _check_settings(settings: Mapping[str, Any]) -> None:
    """Raise unless settings are arguments of `train`, and groups of keys are mappings.

    Raises:
        UnknownNameError: an argument does not exist; the message says what has its meaning.
        ConfigError: a group is something else.
    """
    arguments = [*inspect.signature(train).parameters, *FurtherKeys.__annotations__]
    places = {
        key: f"{group}={{{key!r}: …}}"
        for group, kind in _GROUPS.items()
        for key in inspect.signature(kind).parameters
    }
    places |= {name: f"{name}=…" for name in arguments if name != "settings"}
    for name, value in settings.items():
        if name not in FurtherKeys.__annotations__:
            names = [OTHER_KEYS.get(name, name), *get_close_matches(name, places, n=1)]
            suggestion = next((places[other] for other in names if other in places), "")
            known = [argument for argument in arguments if argument != "settings"]
            raise UnknownNameError("argument of train", name, known, suggestion=suggestion)
        if name in (*_GROUPS, "best", "last"):
            _mapping(name, value)


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    """Return an argument that must be a mapping, or raise `ConfigError`."""
    if isinstance(value, Mapping):
        return value
    examples = {
        "model": "learning_rate': 1e-5",
        "pairs": "quality': table",
        "trainer": "max_epochs': 3",
    }
    advice = " An encoder is named by encoder=…." if name == "model" else ""
    raise ConfigError(
        f"{name} is of type {type(value).__name__}; a mapping was expected, such as "
        f"{{'{examples.get(name, 'KEY: VALUE')}}}.{advice}"
    )


def _options_of(heads: Any) -> Any:
    """Return the options of each head, which may be given by its name alone, or by what it reads."""
    if isinstance(heads, Mapping):
        return {
            name: {"input": head} if isinstance(head, str) else head for name, head in heads.items()
        }
    return {name: {} for name in ([heads] if isinstance(heads, str) else heads)}


def _named(tables: Tables, kind: str, in_memory: dict[str, Rows]) -> list[str]:
    """Return the names of tables; a name of a table in memory depends on its content.

    Args:
        tables: one or more tables, or their names.
        kind: the argument that holds the tables.
        in_memory: name -> table in memory; these tables are added.

    Raises:
        InputError: a table has no rows, or is none.
    """
    several: Any = tables
    if not isinstance(tables, list | tuple) or not tables or any(map(is_row, tables)):
        several = [tables]
    named = []
    for table in several:
        if isinstance(table, str | os.PathLike):
            named.append(os.fspath(table))
            continue
        about = f"{kind} ({name_of(table)})"
        lines = [json.dumps(row, ensure_ascii=False, default=str) for row in rows_of(table, about)]
        if not lines:
            raise InputError(f"{about} is empty; give a table with rows.")
        name = f"table:{name_of(table)}-{key_of(lines)[:12]}"
        in_memory[name] = table
        named.append(name)
    return named
