"""A training run, which fits, selects, evaluates and writes a package, and its result."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import datasets
import pytorch_lightning as lightning
import torch
from jsonargparse import Namespace
from lightning_fabric.plugins import TorchCheckpointIO
from lightning_fabric.utilities.exceptions import MisconfigurationException
from lightning_fabric.utilities.rank_zero import rank_zero_only
from lightning_fabric.utilities.warnings import PossibleUserWarning
from pytorch_lightning.callbacks import ModelCheckpoint, RichProgressBar, WeightAveraging
from pytorch_lightning.loggers import CSVLogger

from learnedgec.data.catalog.registry import check_permissive
from learnedgec.data.tables import read_table
from learnedgec.data.text import read_json, write_json, write_jsonl
from learnedgec.errors import ConfigError, DivergedError, LeakageError
from learnedgec.evaluators.evaluator import Evaluator, EvaluatorModel
from learnedgec.evaluators.package import is_package, was_checked
from learnedgec.evaluators.precision import check_bits, round_weights
from learnedgec.runtime.files import check_writable, included_folder
from learnedgec.runtime.runtime import Runtime, has_bars
from learnedgec.table import Column, Table, bounded, columns_of
from learnedgec.training.callbacks import (
    ANEW,
    Announcement,
    LastCheckpoint,
    LastEvaluation,
    ProgressBar,
    StepLines,
    WholeCheckpoints,
    read_checkpoint,
)
from learnedgec.training.data import DataSettings, TrainingData
from learnedgec.training.evaluate import (
    Judgement,
    Verdict,
    judge_heads,
    main_figure,
    predictions,
    warnings_about,
)
from learnedgec.training.package import TrainingRecord, package_path, write_package
from learnedgec.training.settings import CALLBACKS, Settings
from learnedgec.training.start import check_start

_NOT_EVALUATED = (
    "trainer: training ended before an evaluation on the dev part; raise max_epochs or max_steps, and leave "
    "validation on."
)

# The precisions in which weights stay in float32.
_PRECISIONS = ("32-true", "16-mixed", "bf16-mixed")

# The file in a run's folder that records, after its end, why it ended.
_FINISHED = "finished.json"


@dataclass(frozen=True, slots=True, repr=False)
class TrainingResult:
    """The result of a training run.

    Attributes:
        package: the evaluator's folder.
        results: part -> head -> correlations, or share of pairs in the right order.
        notices: remarks about the run, such as that it stopped early.
        warnings: about heads that predict the dev part no better than chance, or are not to be trusted.
        seed: the run's seed. If several were trained, all of the above is about the run with the median dev
            score (of an even number, the better of the two in the middle), and this is its seed, or `None`
            for the mean of their weights.
        seeds: seed -> results, if several were trained.
        folder: folder of the logs of the run with this seed.
        verdicts: head -> verdict by the test part.

    Example: `train(frame, output="mine", heads={"fluency": "hypothesis"}).history`: the losses of each epoch.
    """

    package: Path
    results: dict[str, Any]
    notices: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    seed: int | None = 1
    seeds: Mapping[int, dict[str, Any]] = field(default_factory=dict)
    folder: Path | None = None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)

    @property
    def evaluator(self) -> Evaluator:
        """The trained evaluator, loaded from its package."""
        return Evaluator.load(str(self.package))

    @property
    def history(self) -> list[dict[str, float]]:
        """The values that the run logged, by step: losses, learning rates and results on the dev part.

        Empty for the mean of several runs, each of which has its own log.
        """
        return read_history(self.folder) if self.folder else []

    def table(self) -> Table:
        """Return a row for each part and head: all results, or the main one of several seeds."""
        rows = [
            {"part": part, "head": head, **self._row(part, head, figures)}
            for part, heads in self.results.items()
            for head, figures in heads.items()
        ]
        keys = columns_of(rows)
        columns: list[Column] = []
        for key in keys:
            if f"{key}_low" in keys:
                columns += bounded(key, f"{key} [95% interval]", digits=2)
            elif not key.endswith(("_low", "_high")):
                columns.append(Column(key, key.replace("seed_", "seed ", 1)))
        return Table(columns, rows)

    def _row(self, part: str, head: str, figures: dict[str, Any]) -> dict[str, Any]:
        """Return the results of a head and, on the test part, of its baselines; or the main one by seed."""
        if not self.seeds:
            verdict = self.verdicts.get(head) if part == "test" else None
            baselines = {} if verdict is None else verdict.baselines
            return {
                **figures,
                **{name.partition(" ")[0]: value for name, value in baselines.items()},
            }
        measure, value = main_figure(figures)
        values = {seed: results[part][head][measure] for seed, results in self.seeds.items()}
        numbers = [value for value in values.values() if value is not None]
        return {
            "measure": measure,
            "mean": fmean(numbers) if numbers else None,
            "sd": stdev(numbers) if len(numbers) > 1 else None,
            **{f"seed_{seed}": value for seed, value in values.items()},
            **({"average": value} if self.seed is None else {}),
        }

    def _repr_html_(self) -> str:
        return self.table().html()

    def __repr__(self) -> str:
        lines = [f"Evaluator in {self.package}"]
        for part, heads in self.results.items():
            for head, values in heads.items():
                if part == "test" and head in self.verdicts:
                    lines.append(f"  test: {self.verdicts[head].sentence}")
                    continue
                measure, value = main_figure(values)
                low, high = (values.get(measure + end) for end in ("_low", "_high"))
                interval = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
                figure = "-" if value is None else f"{value:.3f}{interval}"
                lines.append(f"  {part} {head}: {measure} {figure} (n = {values['n']:,})")
        return "\n".join(lines)


def read_history(folder: Path) -> list[dict[str, float]]:
    """Return the values that a run logged, by step; a run that was continued has several files of them.

    Args:
        folder: the run's folder.
    """
    logs = sorted(
        (folder / "log").glob("version_*/metrics.csv"), key=lambda file: int(file.parent.name[8:])
    )
    logged: list[dict[str, float]] = []
    for log in reversed(logs):
        cells = (record for _, record in read_table(log))
        numbers = ({name: float(cell) for name, cell in row.items() if cell} for row in cells)
        # A head without a result has NaN.
        rows = [
            {name: number for name, number in row.items() if not math.isnan(number)}
            for row in numbers
        ]
        # An earlier run that did not lead to this one may have logged the same steps.
        if logged and rows and rows[0]["step"] >= logged[0]["step"]:
            break
        logged = [row for row in rows if not logged or row["step"] < logged[0]["step"]] + logged
    return logged


def _trainer(
    options: Namespace, callbacks: Sequence[lightning.Callback], progress: bool
) -> lightning.Trainer:
    """Return a Trainer with a run's callbacks beside the callbacks of its options."""
    own = options.callbacks or []
    own = own if isinstance(own, list) else [own]
    more: dict[str, Any] = {"callbacks": [*own, *callbacks]}
    if options.enable_progress_bar is None:
        more["enable_progress_bar"] = progress
    return lightning.Trainer(**{**vars(options), **more})


class Run:
    """A training run: its settings, what they name, its folder and its package.

    Args:
        settings: the settings.
        progress: whether progress is shown on stderr.

    Raises:
        ConfigError: a setting cannot be used.
        ModelError: the encoder cannot be loaded.
    """

    def __init__(self, settings: Settings, *, progress: bool) -> None:
        self.settings = settings
        self.config: Any = settings.values
        config = self.config
        self.folder = Path(config.runs, config.name, config.part)
        if config.licence_policy == "permissive":
            check_start(config.model.encoder)  # loading the model takes long
        with settings.clear_errors():
            lightning.seed_everything(config.seed_everything, workers=True, verbose=False)
            built = settings.built()
            callbacks: dict[str, Any] = {
                group: kind(dirpath=self.folder, **vars(built[group]))
                if issubclass(kind, ModelCheckpoint)
                else kind(**vars(built[group]))
                for group, kind in CALLBACKS.items()
            }
            module = settings.module
            self.module = module(module.Settings(**vars(built.model)))
            # Pairs are cached by what they depend on, so that runs with the same pairs share them.
            self.data = TrainingData(
                DataSettings(**vars(built.data)),
                config.runs,
                tables=settings.tables,
                progress=progress,
            )
            self.trainer = _trainer(built.trainer, list(callbacks.values()), progress)
        output = self.folder if config.part else Path(config.output)
        self.package = package_path(output, config.name)
        self.last = self.folder / "last.ckpt"
        self.finished = self.folder / _FINISHED
        self.best_checkpoint: ModelCheckpoint = callbacks["best"]
        self.last_checkpoint: LastCheckpoint = callbacks["last"]
        self.last_checkpoint.digest = self.digest
        self.last_checkpoint.on_first = lambda: self.finished.unlink(missing_ok=True)
        self.diverged = ""  # where training ended because it diverged, in words

    def complete(self, notify: Callable[[str], None] | None) -> TrainingResult | None:
        """Train, evaluate and write the package; in all processes but the first, return `None`."""
        self.check()
        resumed = self.begin()
        if self.config.resume and not resumed and notify:
            notify("There is no checkpoint to resume, so training starts from the beginning.")
        self.fit(resumed, notify)
        if not self.trainer.is_global_zero:
            return None
        try:
            return self.finish()
        except KeyboardInterrupt:
            raise self._interrupted(resumed) from None

    @property
    def digest(self) -> str:
        """The digest of the settings that a run may not change when it continues."""
        # Training does not depend on sums, which are computed from trained heads, on processes, nor on where
        # pairs are stored.
        model, data = (
            {key: value for key, value in vars(group).items() if key not in ("sums", "jobs")}
            for group in (self.config.model, self.config.data)
        )
        settings = {"seed": self.config.seed_everything, "model": model, "data": data}
        text = json.dumps(
            settings, default=lambda value: getattr(value, "__dict__", None) or str(value)
        )
        return hashlib.sha256(text.encode()).hexdigest()

    def check(self) -> None:
        """Raise an error before hours of training, and before the files of an earlier run are removed.

        Raises:
            ConfigError: an option cannot be used.
            LeakageError: the evaluator that the run continues was not checked against test data.
        """
        trainer, module = self.trainer, self.module
        if trainer.precision not in _PRECISIONS:
            raise ConfigError(
                f"trainer.precision is {trainer.precision}, but heads compute in float32 beside the encoder; "
                f"choose one of {', '.join(_PRECISIONS)}."
            )
        check_writable(self.last)
        check_bits(module.model, self.config.bits)
        if self.config.licence_policy == "permissive":
            check_permissive(module.encoder_name, self.data.datasets(), self.data.tools())
        if 0 in (trainer.limit_val_batches, trainer.max_epochs, trainer.max_steps):
            raise ConfigError(_NOT_EVALUATED)
        if trainer.max_epochs == trainer.max_steps == -1:
            raise ConfigError(
                "trainer.max_epochs is -1, but the schedule needs to know the last step; give a number of "
                "epochs, or max_steps."
            )
        if (
            self.config.data.check_leakage
            and module.continued
            and not was_checked(module.continued.manifest)
        ):
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
        """Make the run's folder ready; return whether to continue from its last checkpoint.

        Nothing of an earlier run is removed: its files are replaced when this run has better ones.
        """
        resumed = self.config.resume and self._is_resumable()
        if not resumed:
            unfinished = self.last.exists() and not self.finished.exists()
            self.check_free(self.package.is_dir() or unfinished)
        if self.trainer.is_global_zero:
            self.folder.mkdir(parents=True, exist_ok=True)
            for partial in self.folder.glob(".*.partial"):  # left by a killed process
                partial.unlink(missing_ok=True)
        return resumed

    def check_free(self, exists: bool) -> None:
        """Raise `ConfigError` if an evaluator or a run of this name exists and is not to be replaced."""
        included = included_folder("checkpoints", "checkpoints") / self.package.name
        package = self.package.resolve()
        # Evaluators here are found before those of the installation.
        hides = package.parent == Path("checkpoints").resolve() and package != included.resolve()
        if hides and is_package(included):
            raise ConfigError(
                f"name: {included.name} is an evaluator of the installation, which the new one would hide; "
                "choose another name."
            )
        if exists and not self.config.overwrite:
            raise ConfigError(
                f"name: the evaluator {self.package} or a run in {self.folder} exists; choose another name, "
                "continue a run that has a checkpoint with ",
                hint="resume=True, or replace both with overwrite=True.",
                flag="--resume, or replace both with --overwrite.",
            )

    def fit(self, resumed: bool, notify: Callable[[str], None] | None) -> None:
        """Fit the heads, with logs in the run's folder.

        Raises:
            ConfigError: the Trainer's options do not suit each other.
            DivergedError: training diverged before its first checkpoint to package.
        """
        trainer: Any = self.trainer
        trainer.loggers = [CSVLogger(self.folder, name="log"), *trainer.loggers]
        progress = ProgressBar() if has_bars() else StepLines()
        trainer.callbacks = [
            progress if type(callback) is RichProgressBar else callback
            for callback in (*trainer.callbacks, LastEvaluation())
        ]
        if any(isinstance(callback, WeightAveraging) for callback in trainer.callbacks):
            for callback in trainer.checkpoint_callbacks:
                # Lightning puts averaged weights into whole checkpoints alone.
                callback.save_weights_only = False
        if notify:
            trainer.callbacks.append(Announcement(rank_zero_only(notify)))
        if type(trainer.strategy.checkpoint_io) is TorchCheckpointIO:
            trainer.strategy.checkpoint_io = WholeCheckpoints()
        checkpoint = str(self.last) if resumed else None
        handler = signal.getsignal(signal.SIGINT)
        if trainer.strategy.root_device.type == "cuda":
            torch.set_float32_matmul_precision("high")  # TF32
        try:
            trainer.fit(self.module, self.data, ckpt_path=checkpoint, weights_only=True)
        except SystemExit as error:
            # Lightning raises this after Ctrl-C and after SIGTERM, with which clusters end jobs. The caller
            # decides which message is printed and which status is returned.
            if isinstance(error.__context__, KeyboardInterrupt) or trainer.received_sigterm:
                raise self._interrupted(resumed) from None
            raise
        except MisconfigurationException as error:
            raise ConfigError(f"trainer: {error}") from None
        except DivergedError as error:
            if not self._has_best():
                raise
            self.diverged = (
                f"{str(error)[0].upper()}{str(error)[1:]} The best checkpoint before is packaged."
            )
            return
        finally:
            torch.set_float32_matmul_precision(
                "highest"
            )  # the evaluation is the same on every machine
            # After the first Ctrl-C, Lightning may keep ignoring it.
            if handler is not None and threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, handler)
        if trainer.interrupted:
            raise self._interrupted(resumed)

    def _interrupted(self, resumed: bool) -> KeyboardInterrupt:
        """Return the interruption, which says how to continue if this run has a checkpoint."""
        if not (resumed or self.last_checkpoint.saved):
            return KeyboardInterrupt(
                "interrupted before the first checkpoint; nothing was replaced."
            )
        return KeyboardInterrupt(
            "interrupted; the same command with --resume continues from the last checkpoint, as does "
            "resume=True in Python."
        )

    def _has_best(self) -> bool:
        """Return whether there is a best checkpoint; the file alone may be an earlier run's."""
        return bool(self.best_checkpoint.best_model_path) and self._best.exists()

    @property
    def _best(self) -> Path:
        return self.folder / "best.ckpt"

    def finish(self) -> TrainingResult:
        """Evaluate the best checkpoint and write it as a package.

        Raises:
            ConfigError: there is none.
        """
        if not self._has_best():
            raise ConfigError(_NOT_EVALUATED)
        state = read_checkpoint(self._best)
        self.module.on_load_checkpoint(state)
        self.module.load_state_dict(state["state_dict"])
        result = self.write(self.module.model)
        write_json(self.finished, self._end())
        return result

    def write(
        self, model: EvaluatorModel, averaged: Sequence[Mapping[str, Any]] = ()
    ) -> TrainingResult:
        """Evaluate a model and write it as a package.

        Args:
            model: the best of the run, or the mean of several runs.
            averaged: the manifests of these runs' packages.

        Raises:
            DivergedError: a weight is NaN or infinite.
        """
        module, config, continued = self.module, self.config, self.module.continued
        model = model.cpu().float().eval()
        weights = round_weights(model, config.bits)
        if not all(weight.isfinite().all() for weight in weights.values()):
            raise DivergedError(
                f"a weight of {config.name} is NaN or infinite, at the latest in the 16 bits of a package, "
                "so no package was written; lower model.learning_rate."
            )
        judgement = self._judge(model)
        results, verdicts = judgement.figures, judgement.verdicts
        record = TrainingRecord(
            configuration=self._configuration(average=bool(averaged)),
            data=self.data.fingerprint(),
            learned=self.data.hashes() + (continued.hashes if continued else b""),
            results=results,
            seed=[member["seed"] for member in averaged] or config.seed_everything,
            encoder=module.encoder_name,
            continued=continued.manifest if continued else None,
            averaged=averaged,
            verdicts=verdicts,
        )
        write_package(self.package, model.config, weights, module.tokenizer, record)
        doubts = [verdict.sentence for verdict in verdicts.values() if not verdict.trusted]
        if not averaged:
            write_jsonl(self.folder / "dev.jsonl", predictions(judgement.results["dev"]))
        return TrainingResult(
            self.package,
            results,
            self._notices(),
            (*filter(None, [self.diverged]), *warnings_about(results["dev"], verdicts), *doubts),
            seed=None if averaged else config.seed_everything,
            folder=None if averaged else self.folder,
            verdicts=verdicts,
        )

    def _judge(self, model: EvaluatorModel) -> Judgement:
        """Evaluate a model's heads on the device of the training."""
        module, config, device = self.module, self.config, self.trainer.strategy.root_device
        about = f"evaluation of {config.name}"
        # With float32, the results on a card are the same on every machine.
        runtime = Runtime(
            device=str(device),
            dtype="float32",
            progress=self.data.progress,
        )
        return judge_heads(
            Evaluator(model.to(device), module.tokenizer, name=about),
            Evaluator.of(module.continued, runtime) if module.continued else None,
            self.data.load(),
            heads=module.head_options,
            # An encoder with low-rank weights may be too large to be loaded a second time.
            encoder=None if module.continued or model.config.lora else module.encoder_name,
            runtime=runtime,
        )

    def _configuration(self, *, average: bool) -> str:
        """Return the configuration to record; training again with it overwrites no evaluator by default."""
        changes = {"overwrite": False, "resume": False, "part": "", "average": average}
        if self.config.trainer.precision is not None:
            # A processor that has no arithmetic in float16 computes in bfloat16 instead.
            changes["trainer.precision"] = self.trainer.precision
        return self.settings.but(**changes).as_yaml()

    def _notices(self) -> tuple[str, ...]:
        """Return a notice if the run stopped early."""
        return tuple(
            # Lightning counts epochs from 0.
            f"Training stopped early, after epoch {callback.stopped_epoch + 1}: {callback.monitor} has "
            + (
                f"not been better than {float(callback.best_score):.4f}"
                if callback.best_score.isfinite()
                else "had no value"
            )
            + f" for {callback.wait_count} evaluations (early_stopping.patience); the best checkpoint "
            "is kept."
            for callback in self.trainer.early_stopping_callbacks
            if getattr(callback, "stopping_reason_message", None)
        )

    def _is_resumable(self) -> bool:
        """Return whether there is a checkpoint to continue from; raise `ConfigError` if it does not fit."""
        finished = read_json(self.finished) if self.finished.exists() else {}
        if finished == self._end() and not self.config.part and self.package.is_dir():
            raise ConfigError(
                f"resume: the run in {self.folder} is finished, and there is nothing to resume; to "
                "train longer, give more epochs (trainer.max_epochs)."
            )
        if not self.last.exists():
            return False
        state = read_checkpoint(self.last)
        if state.get("settings") != self.digest:
            if self.config.overwrite:
                return False
            raise ConfigError(
                f"resume: the run in {self.folder} was started with other values of seed_everything, "
                "model or data; use the same values, or start again with ",
                **ANEW,
            )
        # The checkpoint names its epoch, counted from 0.
        epochs = state["epoch"] + 1
        for key, limit, reached in (
            ("max_epochs", self.trainer.max_epochs, epochs),
            ("max_steps", self.trainer.max_steps, state["global_step"]),
        ):
            if limit is not None and 0 <= limit < reached:
                raise ConfigError(
                    f"trainer.{key} is {limit}, but the run in {self.folder} has reached {reached}; give "
                    f"at least {reached}, or start again with ",
                    **ANEW,
                )
        # A finished run gets no more epochs, even if it stopped early.
        if finished.get("ended_by") == self._end()["ended_by"]:
            self.trainer.fit_loop.max_epochs = epochs
        return True

    def _end(self) -> dict[str, str]:
        """Return the settings that decide when a run ends, and those that only its package depends on."""
        trainer, model = self.config.trainer, self.config.model
        ends = [trainer.max_epochs, trainer.max_steps, trainer.max_time]
        return {
            "ended_by": f"{ends} {vars(self.config.early_stopping)}",
            "packaged_with": f"{self.config.bits} bits {model.sums}",
        }


@contextmanager
def quiet_lightning() -> Iterator[None]:
    """Silence Lightning's announcements and its advice that does not apply here.

    It advises loader workers, which tokenised data in memory does not need.
    """
    for name in ("pytorch_lightning", "lightning_fabric", "lightning.fabric"):
        logging.getLogger(name).setLevel(logging.WARNING)
    datasets.disable_progress_bars()
    with warnings.catch_warnings():
        # Warnings that, as Lightning says itself, may be none.
        warnings.filterwarnings("ignore", category=PossibleUserWarning)
        for pattern in (
            # This warning is about Lightning's own use of jsonargparse.
            r"(?s).*(JsonargparseDeprecationWarning|was deprecated in v4\.).*",
            ".*Checkpoint directory .* exists and is not empty.*",
            ".*`isinstance\\(treespec, LeafSpec\\)` is deprecated.*",
            ".*Early stopping conditioned on metric.*",
        ):
            warnings.filterwarnings("ignore", pattern)
        yield
