"""The options of a training run: their definition, parsing and error messages."""

from __future__ import annotations

import re
from argparse import SUPPRESS, ArgumentError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytorch_lightning as lightning
from lightning_fabric.utilities.exceptions import MisconfigurationException
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from pytorch_lightning.cli import LightningArgumentParser, LightningCLI

from learnedgec.data.configuration import with_configurations, wrong_value
from learnedgec.data.text import write_text
from learnedgec.errors import ConfigError, LearnedgecError
from learnedgec.evaluators.quantization import Bits
from learnedgec.runtime.plugins import see_current_folder
from learnedgec.runtime.progress import QUIET
from learnedgec.training.data import TrainingData
from learnedgec.training.module import EvaluatorModule
from learnedgec.training.pairs import REGISTRY, import_plugins

__all__ = ["NOT_EVALUATED", "Stopping", "parse", "run_folder"]

NOT_EVALUATED = (
    "trainer: training ended before an evaluation on the dev part; raise max_epochs or max_steps, and leave "
    "validation on."
)

_TRAINER_DEFAULTS = {
    "accelerator": "auto",
    "devices": 1,
    "max_epochs": 10,
    "gradient_clip_val": 1.0,
    "log_every_n_steps": 10,
    "enable_model_summary": False,
    # A run has its own log; loggers that a user names come beside it.
    "logger": False,
    # The batch sampler divides the data among processes itself.
    "use_distributed_sampler": False,
}

# What `--help` shows of Lightning's own options, in fewer words; `--help-all` shows every one.
_SHOWN = {
    "config": "YAML file, or the name of a bundled configuration",
    "print_config": "print the whole configuration, with defaults, and exit",
    "seed_everything": "seed of weights, dropout and the order of examples",
    "trainer.max_epochs": "maximum number of epochs",
    "trainer.max_steps": "maximum number of steps; -1: no limit besides the epochs",
    "trainer.max_time": "maximum training time, as DD:HH:MM:SS",
    "trainer.accelerator": "cpu, gpu, mps, …; auto: the best available",
    "trainer.devices": "number of devices",
    "trainer.precision": "32-true, or bf16-mixed, which halves the time on hardware with bfloat16",
    "trainer.accumulate_grad_batches": "batches per step",
    "last.every_n_train_steps": "steps between checkpoints for --resume",
    "early_stopping.patience": "evaluations (one per epoch) without improvement on dev before training stops",
}

# The groups of options in the order of the help, each with its heading there.
_GROUPS = {
    "name": "the run",
    "model": "model",
    "data": "data",
    "trainer": "trainer (Lightning's)",
    "best": "best: the checkpoint that becomes the package (Lightning's ModelCheckpoint)",
    "last": "last: the checkpoint to continue from (Lightning's ModelCheckpoint)",
    "early_stopping": "early_stopping (Lightning's EarlyStopping)",
}

_USAGE = """learnedgec train --config FILE_OR_NAME [--KEY VALUE ...] [--quiet]
       learnedgec train --init FILE [--for {ratings,pairs,parallel}]"""

_DESCRIPTION = (
    "Train an evaluator from a configuration, each key of which is also an option; --init writes a "
    "configuration to start from. "
    f"--quiet: {QUIET}."
)

_MORE = "--help-all lists the other options of Lightning's trainer and callbacks as well."


class Stopping(EarlyStopping):
    """Stop after `patience` evaluations without improvement on dev; raise an error if there was none."""

    def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        """Check whether to stop after an epoch of training."""
        with self._evaluated(trainer):
            super().on_train_epoch_end(trainer, pl_module)

    def on_validation_end(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        """Check whether to stop after an evaluation."""
        with self._evaluated(trainer):
            super().on_validation_end(trainer, pl_module)

    @contextmanager
    def _evaluated(self, trainer: lightning.Trainer) -> Iterator[None]:
        try:
            yield
        except RuntimeError:
            if self.monitor in trainer.callback_metrics:
                raise
            raise ConfigError(NOT_EVALUATED) from None

    @property
    def notice(self) -> str:
        """The notice about an early stop; empty if the run was not stopped early."""
        # Lightning counts epochs from 0, and its callback has 0 also where nothing was stopped.
        if not getattr(self, "stopping_reason_message", None):
            return ""
        return (
            f"Training stopped early, after epoch {self.stopped_epoch + 1}: {self.monitor} has not been "
            f"better than {float(self.best_score):.4f} for {self.wait_count} evaluations "
            "(early_stopping.patience); the best checkpoint is kept."
        )


class _ParsedRun(LightningCLI):
    """LightningCLI with the keys of a training run; it parses and builds but does not train."""

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_argument("--name", type=str, help="name of the package", required=True)
        parser.add_argument(
            "--output", type=str, default="checkpoints", help="folder for the package"
        )
        parser.add_argument(
            "--bits",
            type=Bits,
            default=16,
            help="bits per weight in the package: 16, or 4 in the encoder's matrices",
        )
        parser.add_argument(
            "--runs", type=str, default="runs", help="folder for logs and resumable checkpoints"
        )
        parser.add_argument(
            "--resume", action="store_true", help="continue this run from its last checkpoint"
        )
        parser.add_argument(
            "--overwrite",
            action="store_true",
            help="start from scratch; replace an evaluator or an unfinished run of this name",
        )
        parser.add_argument(
            "--tensorboard",
            action="store_true",
            help="write logs for TensorBoard in addition to CSV",
        )
        # Callbacks with separate keys: the best checkpoint, the one to resume from, and early stopping.
        parser.add_lightning_class_args(ModelCheckpoint, "best")
        parser.add_lightning_class_args(ModelCheckpoint, "last")
        parser.add_lightning_class_args(Stopping, "early_stopping")
        choice = {"monitor": "dev/score", "mode": "max"}
        defaults: dict[str, dict[str, Any]] = {
            # No run continues from it, so it has the weights alone.
            "best": {
                **choice,
                "filename": "best",
                "save_weights_only": True,
                "enable_version_counter": False,
            },
            "last": {
                "filename": "last",
                "every_n_train_steps": 100,
                "enable_version_counter": False,
            },
            "early_stopping": {**choice, "patience": 3},
        }
        for group, values in defaults.items():
            parser.set_defaults({f"{group}.{key}": value for key, value in values.items()})
        # Pairs are cached by what they depend on, so that runs with the same pairs share them.
        parser.link_arguments("runs", "data.folder")
        for group in ("best", "last"):
            parser.link_arguments(("runs", "name"), f"{group}.dirpath", compute_fn=run_folder)

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        whole = "--help-all" in args
        if whole or "-h" in args or "--help" in args:
            write_text("-", _help(parser, whole=whole))
            raise SystemExit(0)
        super().parse_arguments(parser, args)


def run_folder(runs: str, name: str) -> str:
    """Return the folder of a run's logs and checkpoints."""
    return str(Path(runs) / name)


def parse(arguments: Sequence[str], *, progress: bool) -> LightningCLI:
    """Build the Trainer, the module and the data from arguments.

    Raises:
        ConfigError: a key or a value is unusable; the message names the key path.
        UnknownNameError: no configuration or pair source has such a name.
        argparse.ArgumentError: an unknown key.
    """
    import_plugins()
    see_current_folder()  # for classes that a configuration names by their import path
    try:
        parsed = _ParsedRun(
            EvaluatorModule,
            TrainingData,
            save_config_callback=None,
            trainer_defaults={**_TRAINER_DEFAULTS, "enable_progress_bar": progress},
            seed_everything_default=1,
            parser_kwargs={"exit_on_error": False, "prog": "learnedgec train"},
            auto_configure_optimizers=False,
            args=with_configurations(arguments),
            run=False,
        )
    except ArgumentError as error:
        _explain(str(error))
        raise
    except (ValueError, OverflowError, RecursionError, MisconfigurationException) as error:
        raise _cause(error) from None
    parsed.datamodule.progress = progress
    return parsed


def _explain(message: str) -> None:
    """Raise a clearer error if the parser's message is about a common mistake.

    The parser's own message lists every type that it tried. Other messages are left unchanged.

    Raises:
        UnknownNameError: no pair source has the name that was given.
        ConfigError: a key is missing, or has a value of another type.
    """
    if re.search(r"\bcorrected_layers\b|\bmodel\.rank\b|option 'rank'", message):
        raise ConfigError(
            "model.rank and model.corrected_layers are now model.lora, such as lora: {rank: 4, layers: 5}."
        )
    if outside := re.search(
        r'Parser key "([\w.]+)":.*does not conform to restriction (.+)', message, re.S
    ):
        key, bounds = outside.group(1), re.sub(r"\bv", "", outside.group(2).partition("\n")[0])
        raise ConfigError(f"{key}: a number {bounds} was expected.")
    if "data.pairs" in message:
        for name in re.findall(r"'class_path': '(\w+)'", message):
            REGISTRY.find(name)
    for key, what in _NEEDED.items():
        if re.search(
            rf'arguments are required:.*\b{key}\b|key "{key}":.*value: None', message, re.DOTALL
        ):
            raise ConfigError(f"{key} is missing; {what}.")
    if sentence := wrong_value(message):
        raise ConfigError(sentence)
    found = re.search(r'Parser key "([\w.]+)":(.*)', message, re.DOTALL)
    if found is None:
        return
    key, rest = found.groups()
    value = re.search(r"Given value: (.*)", rest, re.DOTALL)
    given = value.group(1).strip() if value else ""
    if key == "data.pairs":
        for head, one in re.findall(r"'([\w-]+)': '([^']*)'", given):
            if head != "class_path":
                raise ConfigError(
                    f"data.pairs.{head} is {one[:200]}; a list was expected: [{one[:200]}]."
                )
    if "list[str]" in rest and "Given value type: <class 'str'>" in rest and given:
        raise ConfigError(f"{key} is {given[:200]}; a list was expected: [{given[:200]}].")


# Required keys and their purpose.
_NEEDED = {
    "name": "give the package a name, such as mine",
    "model.heads": "name the outputs to learn, such as {fluency: {input: hypothesis}}",
}


def _cause(error: BaseException) -> LearnedgecError:
    """Return the learnedgec error inside a parser's error, or the error's text as `ConfigError`."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, LearnedgecError):
            return inner
        inner = inner.__cause__ or inner.__context__
    if isinstance(error, MisconfigurationException):
        return ConfigError(f"trainer: {error}")
    return ConfigError(f"an option cannot be read ({error}).")


def _help(parser: LightningArgumentParser, *, whole: bool) -> str:
    """Return the options by group: all of Lightning's if `whole`, otherwise only the common ones."""
    parser.usage, parser.description = _USAGE, _DESCRIPTION
    groups = {
        prefix: group
        for group in parser._action_groups
        for prefix in _GROUPS
        if any(action.dest == prefix for action in group._group_actions)
    }
    for prefix, heading in _GROUPS.items():
        groups[prefix].title = heading
    if not whole:
        parser.epilog = _MORE
        for prefix, group in groups.items():
            for action in group._group_actions:
                lightnings = prefix in ("trainer", "best", "last", "early_stopping")
                # Options for a whole group or for the help of a class are hidden.
                special = action.dest == prefix != "name" or action.dest.endswith(".help")
                if special or (lightnings and action.dest not in _SHOWN):
                    action.help = SUPPRESS
                else:
                    action.help = _SHOWN.get(action.dest, action.help)
    # Linked options cannot be set by the user.
    parser._action_groups = [groups[prefix] for prefix in _GROUPS]
    return str(parser.format_help())
