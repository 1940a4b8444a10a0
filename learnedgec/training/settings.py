"""The settings of a training: a value that a command line, a file or Python fills."""

from __future__ import annotations

from argparse import SUPPRESS, ArgumentError
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import pytorch_lightning as lightning
import yaml
from jsonargparse import ActionConfigFile, Namespace  # type: ignore[attr-defined]
from jsonargparse.typing import PositiveInt
from lightning_fabric.utilities.exceptions import MisconfigurationException
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from pytorch_lightning.cli import LightningArgumentParser

from learnedgec.data.catalog.ratings import Rating
from learnedgec.data.configuration import (
    check_arguments,
    explained,
    with_configurations,
)
from learnedgec.data.text import read_text, write_text
from learnedgec.errors import ConfigError, LearnedgecError
from learnedgec.evaluators.precision import Bits
from learnedgec.runtime.files import PathLike, local_path
from learnedgec.runtime.plugins import see_current_folder
from learnedgec.training.callbacks import LastCheckpoint
from learnedgec.training.data import DataSettings
from learnedgec.training.module import EvaluatorModule
from learnedgec.training.pairs import REGISTRY, RankedPair, import_plugins

_DEFAULTS: dict[str, dict[str, Any]] = yaml.safe_load(
    Path(__file__).with_name("defaults.yaml").read_text(encoding="utf-8")
)

# The groups of options in the order of the help, each with its heading there.
_GROUPS = {
    "name": "the run",
    "model": "model",
    "data": "data",
    "trainer": "trainer (Lightning's)",
    "best": "best: the checkpoint that becomes the package (Lightning's ModelCheckpoint)",
    "last": "last: the checkpoint to continue from",
    "early_stopping": "early_stopping (Lightning's EarlyStopping)",
}

CALLBACKS: Mapping[str, type[lightning.Callback]] = {
    "best": ModelCheckpoint,
    "last": LastCheckpoint,
    "early_stopping": EarlyStopping,
}
"""The groups of options that are a callback's."""

_USAGE = """learnedgec train --config FILE_OR_NAME [--KEY VALUE ...] [--quiet]
       learnedgec train --init FILE [--for {ratings,pairs,parallel}]"""

_DESCRIPTION = "Train an evaluator from a configuration, each key of which is also an option."


@dataclass(frozen=True)
class Settings:
    """What a training is. Nothing is loaded yet.

    Attributes:
        values: the value of each key, such as `values.model.encoder`, after the parser has checked it.
        tables: name -> ratings or ranked pairs in memory, for the names in `data` that are no files.
        module: the class of the `LightningModule`; the fields of its `Settings` are the keys of `model`.
    """

    values: Namespace
    tables: Mapping[str, Sequence[Rating | RankedPair]] = field(default_factory=dict)
    module: type[EvaluatorModule] = EvaluatorModule

    def but(self, **changes: Any) -> Settings:
        """Return the settings with other values, each checked; keys are complete: `model.dropout`."""
        values = deepcopy(self.values)
        for key, value in changes.items():
            *path, last = key.split(".")
            place = values
            for name in path:  # heads and sums are mappings within the values
                if name not in place:
                    place[name] = {}
                place = place[name]
            place[last] = value
        parser = _parser(self.module)
        with _clear_errors(parser):
            return replace(self, values=parser.parse_object(values))

    def built(self) -> Namespace:
        """Return the values with an object in place of each class that they name."""
        built: Namespace = _parser(self.module).instantiate_classes(self.values)
        return built

    def clear_errors(self) -> AbstractContextManager[None]:
        """Return the context in which errors of the parser become those that users understand."""
        return _clear_errors(_parser(self.module))

    def as_yaml(self) -> str:
        """Return the values as a configuration."""
        text: str = _parser(self.module).dump(self.values, skip_none=False)
        return text


def read_settings(
    arguments: Sequence[str], *, module: type[EvaluatorModule] = EvaluatorModule
) -> Settings:
    """Return the settings that arguments of `learnedgec train` give.

    Args:
        arguments: as on the command line: `["--config", "sample", …]`.
        module: the class of the module.

    Raises:
        ConfigError: a value is unusable or a key is missing; the message names the key path.
        UnknownNameError: no configuration, key or pair source has such a name.
        argparse.ArgumentError: an unknown flag.
    """
    parser = _parser(module)
    words = with_configurations(arguments)
    if "--help-all" in words:
        write_text("-", _help(parser))
        raise SystemExit(0)
    with _clear_errors(parser):
        check_arguments(words, parser)
        values = parser.parse_args(words)
    if not values.name:
        raise ConfigError("name is missing; give the package a name, such as mine.")
    values.pop("config")  # the names of files whose keys are now among the values
    return Settings(values, module=module)


def settings_of(given: Mapping[str, Any], config: PathLike | None = None) -> Settings:
    """Return the settings that values in Python give.

    Args:
        given: key -> value, or group -> key -> value.
        config: a configuration that the values complete: a file, or the name of a bundled one.

    Raises:
        ConfigError, UnknownNameError: as for `read_settings`.
    """
    values: dict[str, Any] = {}
    if config is not None:
        _, found = with_configurations(["--config", str(config)])
        path = local_path(found)
        values = yaml.safe_load(found if path is None else read_text(path))
    for key, value in given.items():
        inside = isinstance(value, Mapping) and isinstance(values.get(key), Mapping)
        values[key] = {**values[key], **value} if inside else value
    parser = _parser(EvaluatorModule)
    try:
        with _clear_errors(parser):
            return Settings(parser.parse_object(values))
    except ArgumentError as error:
        raise ConfigError(str(error)) from None


def _parser(module: type[EvaluatorModule]) -> LightningArgumentParser:
    """Return the parser of the settings, which knows the pair sources of other packages."""
    import_plugins()
    see_current_folder()  # for classes that a configuration names by their import path
    return _new_parser(module)  # type: ignore[arg-type]  # mypy takes a class for its instances


@cache
def _new_parser(module: type[EvaluatorModule]) -> LightningArgumentParser:
    parser = LightningArgumentParser(
        prog="learnedgec train",
        exit_on_error=False,
        dump_header=[f"pytorch_lightning=={metadata.version('pytorch-lightning')}"],
    )
    add = parser.add_argument
    add("-c", "--config", action=ActionConfigFile, help="a configuration")
    add("--seed_everything", type=int, default=1, help="seed of the training")
    _add_group(parser, "trainer", lightning.Trainer)
    _add_group(parser, "model", module.Settings)
    _add_group(parser, "data", DataSettings)
    add("--name", type=str, default="", help="name of the package, which must be given")
    add("--output", type=str, default="checkpoints", help="folder for the package")
    bits = "bits per weight in the package: 16, or 4 in the encoder's matrices"
    policy = "permissive: refuse data and encoders whose licence forbids commercial use"
    add("--licence-policy", type=Literal["any", "permissive"], default="any", help=policy)
    add("--bits", type=Bits, default=16, help=bits)
    add("--runs", type=str, default="runs", help="folder for logs and resumable checkpoints")
    seeds = "number of seeds, from seed_everything; the median run is packaged, of two the better"
    add("--seeds", type=PositiveInt, default=1, help=seeds)
    add("--jobs", type=PositiveInt, default=1, help="number of seeds trained side by side")
    flags = {
        "average": "package the mean of the seeds' weights in place of the median run",
        "resume": "continue this run from its last checkpoint",
        "overwrite": "start from scratch; replace an evaluator or an unfinished run of this name",
    }
    for flag, text in flags.items():
        add(f"--{flag}", action="store_true", help=text)
    # A seed of several, or a trial of a sweep, has its package beside its checkpoints.
    add("--part", type=str, default="", help=SUPPRESS)
    for group, callback in CALLBACKS.items():
        _add_group(parser, group, callback, "dirpath")
    return parser


def _add_group(parser: LightningArgumentParser, group: str, kind: type, *not_settings: str) -> None:
    """Add the arguments of a class as the keys of a group."""
    parser.add_class_arguments(
        kind,
        group,
        fail_untyped=False,
        instantiate=False,
        sub_configs=True,
        skip=set(not_settings),
    )
    values = _DEFAULTS.get(group, {}).items()
    parser.set_defaults({f"{group}.{key}": value for key, value in values})


@contextmanager
def _clear_errors(parser: LightningArgumentParser) -> Iterator[None]:
    """Raise what users understand in place of the errors of the parser, which list every type."""
    try:
        yield
    except ArgumentError as error:
        raise explained(error, parser, {"data.pairs": REGISTRY}) or error from None
    except (ValueError, OverflowError, RecursionError, MisconfigurationException) as error:
        raise _cause(error) from None


def _cause(error: BaseException) -> LearnedgecError:
    """Return the learnedgec error inside a parser's error, or the error's text as `ConfigError`."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, LearnedgecError):
            return inner
        inner = inner.__cause__ or inner.__context__
    where = (
        "trainer" if isinstance(error, MisconfigurationException) else "an option cannot be read"
    )
    return ConfigError(f"{where}: {error}")


def _help(parser: LightningArgumentParser) -> str:
    """Return every option by group; linked ones, which cannot be set, are left out."""
    parser.usage, parser.description = _USAGE, _DESCRIPTION
    groups = {
        action.dest: group
        for group in parser._action_groups
        for action in group._group_actions
        if action.dest in _GROUPS
    }
    for prefix, heading in _GROUPS.items():
        groups[prefix].title = heading
    parser._action_groups = [groups[prefix] for prefix in _GROUPS]
    return str(parser.format_help())
