"""Train from Python: on tables in memory, with the keys of a configuration as arguments.

Tables become files in the folder of all runs. So a run from Python is one that the command could have begun:
the same parser checks it, its configuration is in its package, and it can be continued.
"""

from __future__ import annotations

import dataclasses
import json
import os
from argparse import ArgumentError
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict

from learnedgec.data.catalog.ratings import Rating
from learnedgec.data.records import Columns
from learnedgec.data.rows import plain
from learnedgec.data.text import write_lines
from learnedgec.errors import ConfigError, InputError
from learnedgec.evaluators.quantization import Bits
from learnedgec.runtime.digests import key_of
from learnedgec.runtime.writing import PathLike
from learnedgec.training import fit
from learnedgec.training.pairs import RankedPair
from learnedgec.training.result import TrainingResult

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Frame(Protocol):
    """A data frame of pandas."""

    def iterrows(self) -> Any:
        """Return the rows."""

    def to_dict(self, orient: Literal["records"]) -> Any:
        """Return the rows as mappings."""


# A table in memory: a data frame, a `datasets.Dataset`, or a list of its rows.
Rows: TypeAlias = Frame | Iterable[Mapping[str, Any] | Rating | RankedPair]

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
    tensorboard: bool


def train(
    ratings: Tables | None = None,
    *,
    output: PathLike,
    heads: Mapping[str, Literal["hypothesis", "pair"] | Mapping[str, Any]] | None = None,
    encoder: PathLike | None = None,
    pairs: Mapping[str, Tables] | None = None,
    columns: Columns | None = None,
    config: PathLike | None = None,
    progress: bool = True,
    notify: Callable[[str], None] | None = None,
    **settings: Unpack[Settings],
) -> TrainingResult:
    """Train an evaluator on tables of human judgements, and return after its package is written.

    What `learnedgec train` checks is checked, and every key of its configuration is an argument:
    `trainer={"max_epochs": 3}` is what `trainer: {max_epochs: 3}` is there. A table in memory is kept in
    `runs/tables`, under a name that depends on its content.

    A table is a data frame, a `datasets.Dataset`, a list of its rows, the name of a file or dataset, or a
    list of such tables.

    Args:
        ratings: rated outputs, with the columns `hypothesis`, one for each rated dimension and perhaps
            `source`, `system` and `group` (`read_ratings`).
        output: the folder of the package. Its last part is the evaluator's name.
        heads: name of each head -> what it reads (`hypothesis` or `pair`), or its options (`HeadOptions`). A
            regression head learns the dimension with its name.
        encoder: a pretrained encoder, or an evaluator to continue, such as `joint-mpnet-3`.
        pairs: head -> ranked pairs, with the columns `source`, `better` and `worse`, or other judgements
            (`read_ranked_pairs`).
        columns: our name of a column -> its name in the tables, or several names.
        config: a configuration that the other arguments complete: a file, or the name of a bundled one.
        progress: show progress on stderr.
        notify: called before the first epoch with a line about continued heads, the data and the device.
        settings: further keys of the configuration.

    Raises:
        ConfigError: an unusable value; the message names the key path. Several devices need the command.
        UnknownNameError: an unknown key; the message suggests the nearest.
        InputError, FormatError: a table cannot be used; the message names the row.
        LearnedgecError: the data, the encoder or the output cannot be used.

    Example: `train(frame, output="checkpoints/mine", heads={"fluency": "hypothesis"}).results["test"]` is the
    agreement with ratings of sources that the evaluator has not seen, where `frame` has the columns `source`,
    `hypothesis` and `fluency`.
    """
    runs = os.fspath(settings.get("runs", "runs"))
    folder = Path(runs, "tables")
    model: dict[str, Any] = {} if encoder is None else {"encoder": os.fspath(encoder)}
    if heads is not None:
        model["heads"] = {
            name: {"input": head} if isinstance(head, str) else dict(head)
            for name, head in heads.items()
        }
    data: dict[str, Any] = {} if columns is None else {"columns": columns}
    if ratings is not None:
        data["ratings"] = _named(ratings, folder, "ratings")
    if pairs is not None:
        data["pairs"] = {head: _named(tables, folder, "pairs") for head, tables in pairs.items()}
    path = Path(output)
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
    try:
        result = fit.train(words, progress=progress, notify=notify, alone=True)
    except ArgumentError as error:
        raise ConfigError(str(error)) from None
    assert result is not None
    return result


def _named(tables: Tables, folder: Path, kind: str) -> list[str]:
    """Return the names of tables; those in memory become files in the folder."""
    several: Any = tables
    if not isinstance(tables, list | tuple) or not tables or any(map(_is_row, tables)):
        several = [tables]
    named = []
    for table in several:
        if isinstance(table, str | os.PathLike):
            named.append(os.fspath(table))
            continue
        lines = [json.dumps(row, ensure_ascii=False, default=str) for row in _rows(table)]
        if not lines:
            raise InputError(f"a table of {kind} is empty; give one with rows.")
        path = folder / f"{kind}-{key_of(lines)[:12]}.jsonl"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            write_lines(path, lines)
        named.append(str(path))
    return named


def _is_row(value: Any) -> bool:
    return isinstance(value, Mapping | Rating | RankedPair)


def _rows(table: Any) -> Iterable[dict[str, Any]]:
    """Yield the rows of a table in memory as plain values."""
    if hasattr(table, "iterrows"):
        table = table.to_dict("records")
    if not isinstance(table, Iterable):
        table = [table]
    for number, row in enumerate(table, 1):
        if not _is_row(row):
            raise InputError(
                f"row {number} of a table is of type {type(row).__name__}; a data frame, a dataset or a list "
                "of mappings from columns to values was expected."
            )
        record = dict(row) if isinstance(row, Mapping) else dataclasses.asdict(row)
        if isinstance(row, Rating):
            del record["raters"]
            record |= record.pop("values")
        yield plain(record)
