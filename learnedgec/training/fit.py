"""Train an evaluator from a configuration to a package: parse, fit, select, evaluate, write."""

from __future__ import annotations

import hashlib
import json
import logging
import re
import signal
import threading
import warnings
from argparse import ArgumentError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as lightning
import torch
from lightning_fabric.utilities.exceptions import MisconfigurationException
from pytorch_lightning.callbacks import EarlyStopping, ModelCheckpoint
from pytorch_lightning.cli import LightningArgumentParser, LightningCLI
from pytorch_lightning.loggers import CSVLogger

from learnedgec.errors import ConfigError, LeakageError, LearnedgecError
from learnedgec.execution.plugins import see_current_folder
from learnedgec.execution.runtime import Runtime
from learnedgec.execution.writing import check_writable
from learnedgec.formats.configuration import parser_mode, with_configurations
from learnedgec.formats.text import read_json, write_json
from learnedgec.models.evaluator import Evaluator
from learnedgec.models.packages import was_checked
from learnedgec.models.quantization import Bits, check_bits, round_weights
from learnedgec.training.data import TrainingData
from learnedgec.training.evaluate import evaluate
from learnedgec.training.module import EvaluatorModule
from learnedgec.training.package import (
    continuation,
    package_path,
    write_package,
)
from learnedgec.training.pairs.registry import REGISTRY, import_plugins

__all__ = ["Result", "train", "training_data"]


@dataclass(frozen=True, slots=True)
class Result:
    """What a training run gave: the package and its correlations by part and head."""

    package: Path
    results: dict[str, Any]


class _Stopping(EarlyStopping):
    """Early stopping, which says so where a run has no evaluation on the dev part to go by."""

    def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        with self._evaluated(trainer):
            super().on_train_epoch_end(trainer, pl_module)

    def on_validation_end(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        with self._evaluated(trainer):
            super().on_validation_end(trainer, pl_module)

    @contextmanager
    def _evaluated(self, trainer: lightning.Trainer) -> Iterator[None]:
        try:
            yield
        except RuntimeError:
            if self.monitor in trainer.callback_metrics:
                raise
            raise ConfigError(_NOT_EVALUATED) from None


class _Parser(LightningCLI):
    """LightningCLI with the keys of a training run; it parses and builds, `train` does the rest."""

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_argument("--name", type=str, help="name of the package", required=True)
        parser.add_argument(
            "--output", type=str, default="checkpoints", help="folder that the package goes into"
        )
        parser.add_argument(
            "--bits",
            type=Bits,
            default=16,
            help="of a weight in the package: 16, or 4 in the encoder's matrices",
        )
        parser.add_argument(
            "--runs", type=str, default="runs", help="folder for logs and resumable checkpoints"
        )
        parser.add_argument(
            "--resume", action="store_true", help="continue after the last checkpoint of this run"
        )
        parser.add_argument(
            "--tensorboard", action="store_true", help="log for TensorBoard as well as CSV"
        )
        # Callbacks with keys of their own: what is kept, what a resume continues from, when to stop.
        parser.add_lightning_class_args(ModelCheckpoint, "best")
        parser.add_lightning_class_args(ModelCheckpoint, "last")
        parser.add_lightning_class_args(_Stopping, "early_stopping")
        choice = {"monitor": "dev/score", "mode": "max"}
        defaults: dict[str, dict[str, Any]] = {
            "best": {**choice, "filename": "best", "enable_version_counter": False},
            "last": {
                "filename": "last",
                "every_n_train_steps": 100,
                "enable_version_counter": False,
            },
            "early_stopping": {**choice, "patience": 3},
        }
        for group, values in defaults.items():
            parser.set_defaults({f"{group}.{key}": value for key, value in values.items()})
        # Pairs are kept by what they depend on, so runs that ask for the same share them.
        parser.link_arguments("runs", "data.folder")
        for group in ("best", "last"):
            parser.link_arguments(("runs", "name"), f"{group}.dirpath", compute_fn=_run_folder)


def _run_folder(runs: str, name: str) -> str:
    """Return the folder of a run's logs and checkpoints."""
    return str(Path(runs) / name)


# In a run's folder: what its checkpoints belong to.
_SETTINGS = "settings.json"

_NOT_EVALUATED = (
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
    # The batch sampler divides the data among processes itself.
    "use_distributed_sampler": False,
}


def train(arguments: Sequence[str], *, progress: bool = True) -> Result | None:
    """Run `learnedgec train`: returns when the package is written.

    Args:
        arguments: as on the command line: `["--config", "some-mini", …]`.
        progress: show progress bars on stderr.

    Returns:
        The package and its correlations; `None` on every process of several but the first.

    Raises:
        ConfigError: an unknown key or an unusable value; the message names the key path.
        LearnedgecError: the data, the encoder or the output cannot be used.
    """
    with warnings.catch_warnings():
        _silence_advice()
        return _fit(_parse(arguments, progress=progress))


def training_data(arguments: Sequence[str]) -> TrainingData:
    """Return the data of a run with these arguments, split as the run splits it."""
    with warnings.catch_warnings():
        _silence_advice()
        data: TrainingData = _parse(arguments, progress=False).datamodule
        return data


def _parse(arguments: Sequence[str], *, progress: bool) -> LightningCLI:
    """Build the Trainer, the module and the data from arguments."""
    import_plugins()
    see_current_folder()  # for classes that a configuration names by their import path
    try:
        parsed = _Parser(
            EvaluatorModule,
            TrainingData,
            save_config_callback=None,
            trainer_defaults={**_TRAINER_DEFAULTS, "enable_progress_bar": progress},
            seed_everything_default=1,
            parser_kwargs={
                "exit_on_error": False,
                "prog": "learnedgec train",
                "parser_mode": parser_mode(),
            },
            auto_configure_optimizers=False,
            args=with_configurations(arguments),
            run=False,
        )
    except ArgumentError as error:
        _check_pair_sources(str(error))
        raise
    except (ValueError, OverflowError, RecursionError, MisconfigurationException) as error:
        raise _cause(error) from None
    parsed.datamodule.progress = progress
    return parsed


def _check_pair_sources(message: str) -> None:
    """Raise `UnknownNameError` if the parser's message quotes a name that no pair source has.

    The parser itself only says that it expected an import path; its message stands if nothing is found.
    """
    if "data.pairs" in message:
        for name in re.findall(r"'class_path': '(\w+)'", message):
            REGISTRY.find(name)


def _cause(error: BaseException) -> LearnedgecError:
    """Return our own error that the parser has wrapped, or another's as one of ours."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, LearnedgecError):
            return inner
        inner = inner.__cause__ or inner.__context__
    if isinstance(error, MisconfigurationException):
        return ConfigError(f"trainer: {error}")
    return ConfigError(f"an option cannot be read ({error}).")


def _fit(parsed: LightningCLI) -> Result | None:
    """Fit, choose the best checkpoint, evaluate on dev and test, and write the package."""
    config: Any = parsed.config
    module: EvaluatorModule = parsed.model
    data: TrainingData = parsed.datamodule
    trainer: lightning.Trainer = parsed.trainer
    package = package_path(Path(config.output), config.name)
    folder = Path(_run_folder(config.runs, config.name))
    check_writable(folder / "last.ckpt")
    check_bits(module.model, config.bits)  # before hours of training rather than after them
    if data.check_leakage and module.continued and not was_checked(module.continued):
        raise LeakageError(
            f"model.encoder: {config.model.encoder} learned from text that was not checked against "
            "SEEDA, GJG15 and CoNLL-2014; what continues from it cannot be tested on them either, so say "
            "data.check_leakage: false."
        )
    for group in ("best", "last", "early_stopping"):
        monitor = getattr(config, group).monitor
        if monitor is not None and monitor not in (known := module.logged):
            raise ConfigError(
                f"{group}.monitor: {monitor!r} is not measured; choose one of {', '.join(known)}."
            )
    configuration = parsed.parser.dump(config, skip_none=False)
    last = folder / "last.ckpt"
    # Sums are made of heads when these have learned.
    model_settings = {key: value for key, value in vars(config.model).items() if key != "sums"}
    settings = {"seed": config.seed_everything, "model": model_settings, "data": config.data}
    digest = hashlib.sha256(json.dumps(settings, default=_plain).encode()).hexdigest()
    if not config.resume:
        # A fresh start under a used name: old checkpoints must not be mistaken for this run's.
        for old in folder.glob("*.ckpt"):
            old.unlink(missing_ok=True)  # another process of this run may have been faster
    elif last.exists() and _started_with(folder) != digest:
        raise ConfigError(
            f"resume: the run in {folder} was started with other values of seed_everything, model or data; "
            "use those, or start anew with resume: false."
        )
    if trainer.is_global_zero:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / _SETTINGS, {"sha256": digest})
    _check_precision(trainer)
    loggers: list[Any] = [CSVLogger(folder, name="log")]
    if config.tensorboard:
        loggers.append(_tensorboard(folder))
    trainer.loggers = loggers
    resumed = config.resume and last.exists()
    if resumed:
        _read_checkpoint(last)  # in one sentence if it is damaged, and before anything else
    try:
        with _kept_interrupts():
            trainer.fit(module, data, ckpt_path=str(last) if resumed else None, weights_only=True)
    except SystemExit as error:
        # How Lightning ends after Ctrl-C; who called decides what is said and returned.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
    except MisconfigurationException as error:
        raise ConfigError(f"trainer: {error}") from None
    if trainer.interrupted:
        raise KeyboardInterrupt
    if not trainer.is_global_zero:
        return None
    if not (folder / "best.ckpt").exists():
        raise ConfigError(_NOT_EVALUATED)
    module.load_state_dict(_read_checkpoint(folder / "best.ckpt")["state_dict"])
    model = module.model.cpu().float().eval()
    weights = round_weights(model, config.bits)
    device = trainer.strategy.root_device
    evaluator = Evaluator(model.to(device), module.tokenizer)
    runtime = Runtime(device=str(device))
    results = {
        part: evaluate(evaluator, data.load()[part], runtime=runtime) for part in ("dev", "test")
    }
    write_package(
        package,
        model.config,
        weights,
        module.tokenizer,
        configuration=configuration,
        data=data.fingerprint(),
        results=results,
        seed=config.seed_everything,
        encoder=module.encoder_name,
        continued=module.continued and continuation(module.continued),
    )
    return Result(package, results)


def _read_checkpoint(path: Path) -> dict[str, Any]:
    """Return what a run's checkpoint holds: tensors and plain values.

    Raises:
        ConfigError: it is damaged, or holds anything else, which might run code.
    """
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", mmap=True, weights_only=True)
        if isinstance(state["state_dict"], dict):
            return state
        problem = "no weights"
    except Exception as error:  # reading bytes of any kind raises errors of any kind
        problem = type(error).__name__
    raise ConfigError(
        f"the checkpoint {path} is damaged, or holds more than tensors and plain values ({problem}); start "
        "anew with resume: false."
    )


@contextmanager
def _kept_interrupts() -> Iterator[None]:
    """Give Ctrl-C its handler back: Lightning may leave it ignored after the first one."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def _started_with(folder: Path) -> str | None:
    """Return the digest of the settings that a run was started with."""
    file = folder / _SETTINGS
    return str(read_json(file)["sha256"]) if file.exists() else None


def _plain(value: Any) -> Any:
    """Return what JSON can hold of a parsed configuration."""
    return vars(value) if hasattr(value, "__dict__") else str(value)


def _check_precision(trainer: lightning.Trainer) -> None:
    """Warn where bfloat16 was asked for and the processor has to imitate it."""
    on_cpu = trainer.strategy.root_device.type == "cpu"
    if on_cpu and str(trainer.precision).startswith("bf16") and not _has_bfloat16():
        warnings.warn(
            f"this processor has no instructions for bfloat16, so trainer.precision={trainer.precision} "
            "is many times slower than 32-true here; say trainer.precision: 32-true.",
            stacklevel=2,
        )


def _has_bfloat16() -> bool:
    """Return whether the processor multiplies in bfloat16 itself."""
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _tensorboard(folder: Path) -> Any:
    """Return a TensorBoard logger, or say which extra it needs."""
    import importlib.util

    from pytorch_lightning.loggers import TensorBoardLogger

    from learnedgec.errors import MissingDependencyError

    if importlib.util.find_spec("tensorboard") is None:
        raise MissingDependencyError("tensorboard", "tensorboard", "tensorboard: true")
    return TensorBoardLogger(folder, name="tensorboard")


def _silence_advice() -> None:
    """Leave out Lightning's announcements, and its advice that does not apply here.

    Tokenised data in memory needs no loader workers; the arguments are given as it wants them given
    only when they are read from the command line itself.
    """
    logging.getLogger("pytorch_lightning").setLevel(logging.WARNING)
    logging.getLogger("lightning.fabric").setLevel(logging.WARNING)
    for pattern in (
        ".*LightningCLI's args parameter is intended.*",
        # LightningCLI's own use of jsonargparse.
        r"(?s).*(JsonargparseDeprecationWarning|was deprecated in v4\.).*",
        ".*does not have many workers.*",
        ".*Checkpoint directory .* exists and is not empty.*",
        ".*The number of training batches .* is smaller than the logging interval.*",
        ".*`isinstance\\(treespec, LeafSpec\\)` is deprecated.*",
    ):
        warnings.filterwarnings("ignore", pattern)
