"""Train an evaluator from a configuration to a package: parse, fit, select, evaluate, write."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as lightning
import torch
from lightning_fabric.utilities.exceptions import MisconfigurationException
from lightning_fabric.utilities.warnings import PossibleUserWarning
from pytorch_lightning.cli import LightningCLI
from pytorch_lightning.loggers import CSVLogger

from learnedgec.data.text import read_json, write_json
from learnedgec.errors import ConfigError, LeakageError
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.evaluators.packages import was_checked
from learnedgec.evaluators.precision import has_bfloat16
from learnedgec.evaluators.quantization import check_bits, round_weights
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.writing import check_writable
from learnedgec.training.callbacks import Announcement, LastEvaluation, replace_bar
from learnedgec.training.data import TrainingData
from learnedgec.training.evaluate import evaluate, warnings_about
from learnedgec.training.module import EvaluatorModule
from learnedgec.training.options import NOT_EVALUATED, Stopping, parse, run_folder
from learnedgec.training.package import (
    continuation,
    package_path,
    write_package,
)

__all__ = ["Result", "train", "training_data"]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a training run.

    Attributes:
        package: the evaluator's folder.
        results: part -> head -> correlations, or share of pairs in the right order.
        notices: remarks about the run, such as that it stopped early.
        warnings: about heads that predict the dev part no better than chance.
    """

    package: Path
    results: dict[str, Any]
    notices: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


# In a run's folder: what its checkpoints belong to, and whether it came to its end.
_SETTINGS = "settings.json"


def train(
    arguments: Sequence[str],
    *,
    progress: bool = True,
    notify: Callable[[str], None] | None = None,
) -> Result | None:
    """Train an evaluator as `learnedgec train` does, and return after its package is written.

    Args:
        arguments: as on the command line: `["--config", "some-mini", …]`.
        progress: show progress bars on stderr.
        notify: called before the first epoch with a line about continued heads, the data and the device.

    Returns:
        The package and its results. With several processes, all but the first return `None`.

    Raises:
        ConfigError: an unknown key or an unusable value; the message names the key path.
        LearnedgecError: the data, the encoder or the output cannot be used.
    """
    # oneDNN keeps a compiled kernel for each shape, 1,024 of them. Batches have many shapes, and the kernels
    # of a 9-layer encoder took a gigabyte in 200 steps; with 64 the steps are as fast.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
    with warnings.catch_warnings():
        _silence_advice()
        return _fit(parse(arguments, progress=progress), notify)


def training_data(arguments: Sequence[str]) -> TrainingData:
    """Return the data of a run with these arguments, split as in that run."""
    with warnings.catch_warnings():
        _silence_advice()
        data: TrainingData = parse(arguments, progress=False).datamodule
        return data


def _fit(parsed: LightningCLI, notify: Callable[[str], None] | None) -> Result | None:
    """Fit, choose the best checkpoint, evaluate on dev and test, and write the package."""
    trainer: lightning.Trainer = parsed.trainer
    run = _Run.of(parsed)
    run.check()
    resumed = run.begin()
    _check_precision(trainer)
    loggers: list[Any] = [CSVLogger(run.folder, name="log")]
    if run.config.tensorboard:
        loggers.append(_tensorboard(run.folder))
    trainer.loggers = [*loggers, *trainer.loggers]
    replace_bar(trainer)
    callbacks: list[Any] = trainer.callbacks  # type: ignore[attr-defined]  # Lightning sets it
    callbacks.append(LastEvaluation())
    if notify:
        callbacks.append(Announcement(notify))
    try:
        with _kept_interrupts():
            start = str(run.last) if resumed else None
            trainer.fit(run.module, run.data, ckpt_path=start, weights_only=True)
    except SystemExit as error:
        # How Lightning ends after Ctrl-C; who called decides what is said and returned.
        if isinstance(error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
    except MisconfigurationException as error:
        raise ConfigError(f"trainer: {error}") from None
    if trainer.interrupted:
        raise KeyboardInterrupt
    return run.finish() if trainer.is_global_zero else None


@dataclass(frozen=True)
class _Run:
    """A training run: its settings, its folder and its package."""

    config: Any
    module: EvaluatorModule
    data: TrainingData
    trainer: lightning.Trainer
    configuration: str
    folder: Path
    package: Path

    @classmethod
    def of(cls, parsed: LightningCLI) -> _Run:
        """Return the run of parsed arguments."""
        config: Any = parsed.config
        recorded = config.clone()
        # Whoever trains with the package's configuration has to ask again to replace an evaluator.
        recorded.overwrite = False
        return cls(
            config,
            parsed.model,
            parsed.datamodule,
            parsed.trainer,
            parsed.parser.dump(recorded, skip_none=False),
            Path(run_folder(config.runs, config.name)),
            package_path(Path(config.output), config.name),
        )

    @property
    def last(self) -> Path:
        """The checkpoint that a run continues from."""
        return self.folder / "last.ckpt"

    @property
    def digest(self) -> str:
        """The digest of the settings that a run may not change when it continues."""
        # Sums are made of heads when these have learned.
        model = {key: value for key, value in vars(self.config.model).items() if key != "sums"}
        settings = {
            "seed": self.config.seed_everything,
            "model": model,
            "data": self.config.data,
        }
        return hashlib.sha256(json.dumps(settings, default=_plain).encode()).hexdigest()

    def check(self) -> None:
        """Raise an error before hours of training, and before the files of an earlier run are removed."""
        trainer, module = self.trainer, self.module
        check_writable(self.last)
        check_bits(module.model, self.config.bits)
        if 0 in (trainer.limit_val_batches, trainer.max_epochs, trainer.max_steps):
            raise ConfigError(NOT_EVALUATED)
        if self.data.check_leakage and module.continued and not was_checked(module.continued):
            raise LeakageError(
                f"model.encoder: {self.config.model.encoder} learned from text that was not checked against "
                "SEEDA, GJG15 and CoNLL-2014, so an evaluator that continues it cannot be tested on them; "
                "to accept that, set data.check_leakage: false."
            )
        for group in ("best", "last", "early_stopping"):
            monitor = getattr(self.config, group).monitor
            if monitor is not None and monitor not in module.logged:
                raise ConfigError(
                    f"{group}.monitor: {monitor!r} is not measured; choose one of "
                    f"{', '.join(module.logged)}."
                )

    def begin(self) -> bool:
        """Make the run's folder ready; return whether to continue from its last checkpoint."""
        resumed = bool(self.config.resume and self.last.exists())
        if resumed:
            if _read_settings(self.folder).get("sha256") != self.digest:
                raise ConfigError(
                    f"resume: the run in {self.folder} was started with other values of seed_everything, "
                    "model or data; use the same values, or start again with overwrite=True."
                )
            _check_length(self.trainer, self.folder, _read_checkpoint(self.last))
        else:
            if not self.config.overwrite:
                _check_free(self.package, self.folder, resume=self.config.resume)
            # A fresh start under a used name: old checkpoints must not be mistaken for this run's.
            for old in self.folder.glob("*.ckpt"):
                old.unlink(missing_ok=True)  # another process of this run may have been faster
        if self.trainer.is_global_zero:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._write_settings(finished=False)
        return resumed

    def finish(self) -> Result:
        """Evaluate the best checkpoint and write it as a package."""
        module, config = self.module, self.config
        best = self.folder / "best.ckpt"
        if not best.exists():
            raise ConfigError(NOT_EVALUATED)
        module.load_state_dict(_read_checkpoint(best)["state_dict"])
        model = module.model.cpu().float().eval()
        weights = round_weights(model, config.bits)
        device = self.trainer.strategy.root_device
        evaluator = Evaluator(model.to(device), module.tokenizer, name=config.name)
        # In float32, so that the results on a card are the same on every machine.
        runtime = Runtime(device=str(device), dtype="float32")
        parts = self.data.load()
        results = {
            part: evaluate(evaluator, parts[part], runtime=runtime) for part in ("dev", "test")
        }
        write_package(
            self.package,
            model.config,
            weights,
            module.tokenizer,
            configuration=self.configuration,
            data=self.data.fingerprint(),
            results=results,
            seed=config.seed_everything,
            encoder=module.encoder_name,
            continued=module.continued and continuation(module.continued),
        )
        self._write_settings(finished=True)
        callbacks = self.trainer.early_stopping_callbacks
        notices = [callback.notice for callback in callbacks if isinstance(callback, Stopping)]
        return Result(
            self.package, results, tuple(filter(None, notices)), warnings_about(results["dev"])
        )

    def _write_settings(self, *, finished: bool) -> None:
        write_json(self.folder / _SETTINGS, {"sha256": self.digest, "finished": finished})


def _check_free(package: Path, folder: Path, *, resume: bool) -> None:
    """Raise `ConfigError` if a new run would replace an evaluator or discard an unfinished run."""
    left = (folder / "last.ckpt").exists()
    if package.is_dir():
        ways = ", or continue its run with --resume" if left else ""
        if resume:
            ways = f"; there is no checkpoint in {folder} to continue from"
        raise ConfigError(
            f"name: the evaluator {package} exists; choose another name, or replace it with "
            f"--overwrite{ways}."
        )
    if left and not _read_settings(folder).get("finished"):
        raise ConfigError(
            f"name: the run in {folder} is not finished; continue it with --resume, or discard it with "
            "--overwrite."
        )


def _check_length(trainer: lightning.Trainer, folder: Path, state: Mapping[str, Any]) -> None:
    """Raise `ConfigError` if a resumed run has already been trained for longer than requested."""
    for key, asked, done, unit in (
        # The epoch that the checkpoint lies in, counted from 0.
        ("max_epochs", trainer.max_epochs, state["epoch"] + 1, "epoch"),
        ("max_steps", trainer.max_steps, state["global_step"], "step"),
    ):
        if asked is not None and 0 <= asked < done:
            raise ConfigError(
                f"trainer.{key} is {asked}, but the run in {folder} is already in {unit} {done}; give at "
                f"least {done}, or start again with --overwrite."
            )


def _read_checkpoint(path: Path) -> dict[str, Any]:
    """Return the content of a run's checkpoint: tensors and plain values.

    Raises:
        ConfigError: it is damaged, or holds other objects, which might run code.
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
        "again with --overwrite."
    )


@contextmanager
def _kept_interrupts() -> Iterator[None]:
    """Restore the handler of Ctrl-C, because Lightning may leave it ignored after the first one."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def _read_settings(folder: Path) -> dict[str, Any]:
    """Return the digest of the settings of the run in a folder, and whether it is finished."""
    file = folder / _SETTINGS
    return dict(read_json(file)) if file.exists() else {}


def _plain(value: Any) -> Any:
    """Return a value of a parsed configuration in a form that JSON can hold."""
    return vars(value) if hasattr(value, "__dict__") else str(value)


def _check_precision(trainer: lightning.Trainer) -> None:
    """Warn if bfloat16 was requested and the processor can only emulate it."""
    device = trainer.strategy.root_device
    asked = str(trainer.precision).startswith("bf16")
    if device.type == "cpu" and asked and not has_bfloat16(device):
        warnings.warn(
            f"this processor has no instructions for bfloat16, so trainer.precision={trainer.precision} "
            "is many times slower than 32-true here; set trainer.precision: 32-true.",
            stacklevel=2,
        )


def _tensorboard(folder: Path) -> Any:
    """Return a TensorBoard logger, or say which extra it needs."""
    import importlib.util

    from pytorch_lightning.loggers import TensorBoardLogger

    from learnedgec.errors import MissingDependencyError

    if importlib.util.find_spec("tensorboard") is None:
        raise MissingDependencyError("tensorboard", "tensorboard", "tensorboard: true")
    return TensorBoardLogger(folder, name="tensorboard")


def _silence_advice() -> None:
    """Silence Lightning's announcements and its advice that does not apply here.

    Tokenised data in memory needs no loader workers; the arguments are given as it wants them given
    only when they are read from the command line itself.
    """
    for name in ("pytorch_lightning", "lightning_fabric", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # Warnings that, as Lightning says itself, may be none.
    warnings.filterwarnings("ignore", category=PossibleUserWarning)
    for pattern in (
        ".*LightningCLI's args parameter is intended.*",
        # LightningCLI's own use of jsonargparse.
        r"(?s).*(JsonargparseDeprecationWarning|was deprecated in v4\.).*",
        ".*does not have many workers.*",
        # Logs go to a CSV file.
        r"(?s).*`tensorboardX` has been removed.*",
        ".*Checkpoint directory .* exists and is not empty.*",
        ".*The number of training batches .* is smaller than the logging interval.*",
        ".*`isinstance\\(treespec, LeafSpec\\)` is deprecated.*",
    ):
        warnings.filterwarnings("ignore", pattern)
