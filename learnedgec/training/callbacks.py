"""Callbacks of a training run: its announcement, progress, checkpoints and last evaluation."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytorch_lightning as lightning
import torch
from lightning_fabric.plugins import TorchCheckpointIO
from pytorch_lightning.callbacks import ModelCheckpoint, RichProgressBar

from learnedgec.errors import ConfigError
from learnedgec.evaluators.precision import has_bfloat16
from learnedgec.runtime.files import atomic_path
from learnedgec.runtime.runtime import ProgressLines


class LastEvaluation(lightning.Callback):
    """Evaluate after the last step, whatever Lightning's intervals of evaluation."""

    def on_train_batch_end(self, trainer: lightning.Trainer, *rest: Any) -> None:
        """Ask the Trainer to stop after the last step, because it evaluates before it stops."""
        if trainer.global_step >= trainer.estimated_stepping_batches:
            trainer.check_val_every_n_epoch = 1
            trainer.should_stop = True


class Announcement(lightning.Callback):
    """Report data, device and plan of a run before its first step."""

    def __init__(self, notify: Callable[[str], None]) -> None:
        self.notify = notify

    def on_fit_start(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        """Report the division of the data, and the device."""
        data: Any = trainer.datamodule  # type: ignore[attr-defined]  # Lightning sets it
        parts = "; ".join(
            f"{part} " + (", ".join(f"{n:,} {kind}" for kind, n in sizes.items() if n) or "none")
            for part, sizes in data.sizes().items()
        )
        if pl_module.start.notice:
            self.notify(pl_module.start.notice)
        self.notify(
            f"Split {data.settings.split}: {parts}. Training on {trainer.strategy.root_device}."
        )
        for notice in data.notices():
            self.notify(notice)
        device = trainer.strategy.root_device
        if trainer.precision.startswith("bf16") and not has_bfloat16(device):
            self.notify(
                f"{device} has no arithmetic in bfloat16, so trainer.precision {trainer.precision} takes "
                "longer than float32, the default."
            )

    def on_train_start(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        """Report the number of steps, where a resumed run goes on, and what ends training."""
        steps = int(trainer.estimated_stepping_batches)
        ends = "".join(
            f"; fewer after {stopping.patience} evaluations without a better "
            f"{stopping.monitor} (early_stopping.patience)"
            for stopping in trainer.early_stopping_callbacks
        )
        if trainer.global_step:
            self.notify(f"The run is resumed after step {trainer.global_step:,}.")
        self.notify(f"At most {steps:,} step{'s' if steps > 1 else ''}{ends}.")


class StepLines(lightning.Callback):
    """Print steps and evaluations, the time left and the latest dev score, each minute; for logs."""

    def on_validation_start(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        """Begin to count the batches of an evaluation."""
        self._evaluated = ProgressLines("batches of the dev part", sum(trainer.num_val_batches))

    def on_validation_batch_end(self, trainer: lightning.Trainer, *rest: Any) -> None:
        """Print a line if one is due, in the first process."""
        if trainer.is_global_zero:
            self._evaluated.advance()

    def on_train_start(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        """Begin to count, where a run that continues has come to."""
        total = int(trainer.estimated_stepping_batches)
        self._lines = ProgressLines("training steps", total, trainer.global_step)

    def on_train_batch_end(self, trainer: lightning.Trainer, *rest: Any) -> None:
        """Print a line if one is due, in the first process."""
        if not trainer.is_global_zero:
            return
        score = trainer.callback_metrics.get("dev/score")
        note = "" if score is None or score.isnan() else f"; dev/score {float(score):.4f}"
        self._lines.advance(trainer.global_step - self._lines.done, note)


class ProgressBar(RichProgressBar):
    """Lightning's bar, on stderr and without `v_num`, the number of the log."""

    def __init__(self) -> None:
        super().__init__(console_kwargs={"stderr": True})

    def get_metrics(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> Any:
        """Return the values shown beside the bar."""
        values = super().get_metrics(trainer, pl_module)
        return {key: value for key, value in values.items() if key != "v_num"}

    def _get_train_description(self, current_epoch: int) -> str:
        """Return which epoch it is, counted from 1; Lightning counts from 0."""
        last = self.trainer.max_epochs
        return f"Epoch {current_epoch + 1}" + (f"/{last} " if last and last > 0 else " ")


# The words of errors for starting again, in Python and on the command line.
ANEW = {"hint": "overwrite=True.", "flag": "--overwrite."}


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Return the content of a run's checkpoint: tensors and plain values.

    Raises:
        ConfigError: it is damaged, or holds other objects, which might run code.
    """
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", mmap=True, weights_only=True)
    except Exception as error:  # reading bytes of any kind raises errors of any kind
        raise ConfigError(
            f"the checkpoint {path} is damaged, or holds more than tensors and plain values "
            f"({type(error).__name__}); start again with ",
            **ANEW,
        ) from None
    return state


class WholeCheckpoints(TorchCheckpointIO):
    """Checkpoints that replace their predecessors whole, written beside them and not in memory first."""

    def save_checkpoint(
        self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None
    ) -> None:
        """Write a checkpoint; until it is complete, an earlier one stays; see `CheckpointIO`."""
        with atomic_path(path) as temporary:
            torch.save(checkpoint, temporary)


class LastCheckpoint(ModelCheckpoint):
    """The last checkpoint, saved at the end of each epoch, within epochs, and at Ctrl-C or SIGTERM.

    After the first of these signals, the run completes the current step and the evaluation that may follow
    it, and ends. A second signal ends it at once, with the previous checkpoint. Several processes would have
    to agree on a step, so they end with the last checkpoint of an epoch or interval.

    A run that continues has to evaluate what an uninterrupted one evaluates. So no checkpoint is saved
    between a step and its evaluation.

    Args:
        every_n_train_steps: steps between checkpoints within an epoch; the time counts by default.
        train_time_interval: time between checkpoints within an epoch, if no steps are given.
        every_n_epochs: epochs between checkpoints at their end.
        save_on_train_epoch_end: without effect.
        options: see `ModelCheckpoint`.
    """

    def __init__(
        self,
        every_n_train_steps: int | None = None,
        train_time_interval: timedelta | None = timedelta(minutes=1),
        every_n_epochs: int | None = None,
        save_on_train_epoch_end: bool | None = None,
        **options: Any,
    ) -> None:
        super().__init__(
            every_n_epochs=every_n_epochs or 1, save_on_train_epoch_end=True, **options
        )
        self.steps, self.interval = every_n_train_steps, train_time_interval
        # The settings of the run, which its checkpoints name.
        self.digest = ""
        # The function to call when the first checkpoint has replaced those of an earlier run.
        self.on_first: Callable[[], None] = lambda: None
        self.saved = self.is_interrupted = False
        self._due, self._since = False, 0.0

    def on_train_start(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        """Take over Ctrl-C and SIGTERM; the Trainer restores what they did before."""
        self._since = time.monotonic()
        if trainer.world_size == 1 and threading.current_thread() is threading.main_thread():
            self.is_interrupted = trainer.received_sigterm  # a signal that came before training
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, self._interrupt)

    def _interrupt(self, number: int, frame: Any) -> None:
        self.is_interrupted = True
        signal.signal(number, signal.default_int_handler)

    def on_train_batch_end(self, trainer: lightning.Trainer, pl_module: Any, *rest: Any) -> None:
        """Save a checkpoint if one is due or the run is to end, unless an evaluation follows."""
        loop = trainer.fit_loop.epoch_loop
        if loop._should_accumulate():
            return
        if self.steps:
            self._due = self._due or trainer.global_step % self.steps == 0
        elif self.interval is not None:
            late = time.monotonic() - self._since >= self.interval.total_seconds()
            self._due = self._due or trainer.strategy.broadcast(late)
        follows = loop._num_ready_batches_reached() or loop._should_check_val_fx(
            trainer.fit_loop._data_fetcher  # type: ignore[arg-type]  # there is one within an epoch
        )
        if (self._due or self.is_interrupted) and not follows:
            self._save_topk_checkpoint(trainer, self._monitor_candidates(trainer))
            self._end_if_interrupted()

    def on_train_epoch_end(self, trainer: lightning.Trainer, pl_module: Any) -> None:
        """Save a checkpoint at once, or after the next step if `max_steps` limits the run."""
        # A run with a limit of steps that continued here would count the epoch twice.
        if trainer.max_steps != -1 and not (trainer.should_stop or trainer.fit_loop.done):
            self._due = True
            return
        super().on_train_epoch_end(trainer, pl_module)
        self._end_if_interrupted()

    def _end_if_interrupted(self) -> None:
        if self.is_interrupted:
            raise KeyboardInterrupt

    def on_save_checkpoint(
        self, trainer: lightning.Trainer, pl_module: Any, checkpoint: dict[str, Any]
    ) -> None:
        """Name the settings of the run."""
        checkpoint["settings"] = self.digest

    def _save_checkpoint(self, trainer: lightning.Trainer, filepath: str) -> None:
        super()._save_checkpoint(trainer, filepath)
        if not self.saved and trainer.is_global_zero:
            self.on_first()
        self.saved, self._due, self._since = True, False, time.monotonic()
