"""Train from Python: on tables in memory, with the keys of a configuration as arguments.

Tables become files in the folder of all runs. So a run from Python is one that the command could have begun:
the same parser checks it, its configuration is in its package, and it can be continued.
"""

from __future__ import annotations

import inspect
import json
import os
import re
from argparse import ArgumentError
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from pytorch_lightning import Trainer
from pytorch_lightning.callbacks import EarlyStopping

from learnedgec.data.configuration import OTHER_KEYS
from learnedgec.data.records import Columns, Rows, is_row, rows_of
from learnedgec.data.text import write_lines
from learnedgec.errors import ConfigError, InputError, LearnedgecError, UnknownNameError
from learnedgec.evaluators.precision import Bits
from learnedgec.runtime.files import PathLike, key_of
from learnedgec.table import plain
from learnedgec.training import fit
from learnedgec.training.data import TrainingData, divided_columns
from learnedgec.training.module import EvaluatorModule
from learnedgec.training.pairs.judged import iterate_rated, read_ranked_pairs
from learnedgec.training.run import TrainingResult

if TYPE_CHECKING:
    from typing_extensions import Unpack


# A table, the name of one (a file, a dataset of the catalog, `hf:OWNER/NAME`), or a list of these.
Tables: TypeAlias = Rows | PathLike | Sequence[PathLike | Rows]


class Settings(TypedDict, total=False):
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
    **settings: Unpack[Settings],
) -> TrainingResult:
    """Train an evaluator on tables of human judgements, and return after its package is written.

    What `learnedgec train` checks is checked, and the groups of its configuration are arguments:
    `trainer={"max_epochs": 3}` is what `trainer: {max_epochs: 3}` is there. A table in memory is kept in
    `runs/tables`, under a name that depends on its content.

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

    Example: `train(frame, output="checkpoints/mine", heads={"fluency": "hypothesis"}).results["test"]` is the
    agreement with ratings of sources that the evaluator has not seen, where `frame` has the columns `source`,
    `hypothesis` and `fluency`.
    """
    _check_settings(settings)
    runs = os.fspath(settings.get("runs", "runs"))
    folder = Path(runs, "tables")
    model: dict[str, Any] = {} if encoder is None else {"encoder": os.fspath(encoder)}
    if heads is not None:
        model["heads"] = _options_of(heads)
    data: dict[str, Any] = {} if columns is None else {"columns": columns}
    in_memory: dict[str, str] = {}
    path = Path(output)
    try:
        if ratings is not None:
            data["ratings"] = _named(ratings, folder, "ratings", in_memory)
        if pairs is not None:
            data["pairs"] = {
                head: _named(tables, folder, "pairs", in_memory)
                for head, tables in _mapping("pairs", pairs).items()
            }
        if config is None or columns is not None:
            # The tables are read before the encoder, which may have to be downloaded.
            _check_tables(in_memory, columns or {})
        given = {
            **settings,
            "model": model | dict(settings.get("model", {})),
            "data": data | dict(settings.get("data", {})),
            "name": path.name,
            "output": str(path.parent),
            "runs": runs,
        }
        words = [] if config is None else ["--config", os.fspath(config)]
        words += ["--config", json.dumps(plain(given), default=str)]
        result = fit.train(words, progress=progress, notify=notify, alone=True)
    except ArgumentError as error:
        raise ConfigError(str(error)) from None
    except LearnedgecError as error:
        error.args = (_about_tables(str(error), in_memory),)
        raise
    assert result is not None
    return result


_GROUPS = {
    "model": EvaluatorModule,
    "data": TrainingData,
    "trainer": Trainer,
    "early_stopping": EarlyStopping,
}


def _check_settings(settings: Mapping[str, Any]) -> None:
    """Raise unless settings are arguments of `train`, and groups of keys are mappings.

    Raises:
        UnknownNameError: an argument does not exist; the message says what has its meaning.
        ConfigError: a group is something else.
    """
    arguments = [*inspect.signature(train).parameters, *Settings.__annotations__]
    places = {
        key: f"{group}={{{key!r}: …}}"
        for group, kind in _GROUPS.items()
        for key in inspect.signature(kind).parameters
    }
    places |= {name: f"{name}=…" for name in arguments if name != "settings"}
    for name, value in settings.items():
        if name not in Settings.__annotations__:
            names = [OTHER_KEYS.get(name, name), *get_close_matches(name, places, n=1)]
            suggestion = next((places[other] for other in names if other in places), "")
            known = [argument for argument in arguments if argument != "settings"]
            raise UnknownNameError("argument of train", name, known, suggestion=suggestion)
        if name in (*_GROUPS, "best", "last"):
            _mapping(name, value)


def _about_tables(message: str, in_memory: Mapping[str, str]) -> str:
    """Return a message that names tables in memory in place of their files, which the user does not know."""
    for file, table in in_memory.items():
        message = re.sub(rf"{re.escape(file)}:(\d+)", rf"{table}, row \1", message)
        message = message.replace(file, table)
    return message


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


def _check_tables(in_memory: Mapping[str, str], columns: Columns) -> None:
    """Raise what reading the tables in memory raises."""
    judged, rated = divided_columns(columns)
    for file, table in in_memory.items():
        if table.startswith("pairs"):
            read_ranked_pairs(file, judged)
        else:
            deque(iterate_rated(file, rated), 0)


def _named(tables: Tables, folder: Path, kind: str, in_memory: dict[str, str]) -> list[str]:
    """Return the names of tables; those in memory become files in the folder.

    Args:
        tables: one or more tables, or their names.
        folder: the folder.
        kind: the argument that holds the tables.
        in_memory: file -> the table that it holds, for messages; the files of these tables are added.
    """
    several: Any = tables
    if not isinstance(tables, list | tuple) or not tables or any(map(is_row, tables)):
        several = [tables]
    named = []
    for table in several:
        if isinstance(table, str | os.PathLike):
            named.append(os.fspath(table))
            continue
        about = f"{kind} ({type(table).__name__})"
        lines = [json.dumps(row, ensure_ascii=False, default=str) for row in rows_of(table, about)]
        if not lines:
            raise InputError(f"{about} is empty; give a table with rows.")
        path = folder / f"{kind}-{key_of(lines)[:12]}.jsonl"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            write_lines(path, lines)
        in_memory[str(path)] = about
        named.append(str(path))
    return named
