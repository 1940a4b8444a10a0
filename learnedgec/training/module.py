"""The LightningModule that fine-tunes an evaluator: one encoder, and heads with an objective each."""

from __future__ import annotations

import hashlib
import math
import time
import warnings
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import pytorch_lightning as lightning
import torch
from pytorch_lightning.strategies import DDPStrategy, SingleDeviceStrategy
from torchmetrics import MeanMetric
from transformers import get_scheduler
from transformers.pytorch_utils import ALL_LAYERNORM_LAYERS
from transformers.trainer_pt_utils import get_parameter_names

from learnedgec.errors import ConfigError, DivergedError
from learnedgec.evaluators.evaluator import EvaluatorModel, HeadConfig
from learnedgec.evaluators.lora import checkpoint_layers, is_lora
from learnedgec.training.batches import Encoding
from learnedgec.training.callbacks import ANEW
from learnedgec.training.objectives import (
    HeadOptions,
    Objective,
    find_objective,
    measurable_heads,
)
from learnedgec.training.start import ModelSettings, start_model

# Names of parameters without weight decay: those of transformers' `Trainer.get_decay_parameter_names`.
_NOT_DECAYED = ["bias", "layernorm", "rmsnorm", r"(?:^|\.)norm(?:$|\.)", r"_norm(?:$|\.)"]

# Learning rate of low-rank weights relative to heads: LoRA's usual 5e-4 would be far too high for a head.
_LORA_RATE = 10.0


class EvaluatorModule(lightning.LightningModule):
    """Fine-tune an encoder with heads that learn from ratings or from ranked pairs.

    The loss is the weighted sum of the heads' objectives (`learnedgec.training.objectives`), each the mean
    over its examples in the batch. Heads that read the same input share one pass through the encoder. Where
    `data.cases` gives a head cases, `consistency` times this is added: the mean of ½·(KL(p ‖ q) + KL(q ‖ p)),
    where p = σ(value(correction) − value(source)) is the preference in the original context and q that in a
    perturbed one; the values of a head with a scale are divided by it first. For `detection`, p and q are the
    probabilities that a token is wrong, over the tokens that both sources share by edit distance. This is the
    regularisation of Zhang et al. (RobustGEC, EMNLP 2023, equations 1 to 3), which is per token; for other
    heads, it is applied per pair. A head without any preference would minimise this term. Therefore a head
    that learns the order of pairs (`sigmoid`, `logistic`) also learns in both contexts that the correction is
    better, whatever `consistency` is.

    `dev/score`, the mean over heads of the Pearson correlation (ratings) or of the share of pairs in the
    right order on the dev part, selects the checkpoint. It leaves out heads that the dev part cannot measure,
    such as a head whose ratings there are all equal. It is NaN, which is never the best, where another head
    has no result, such as one whose predictions are all equal.

    Args:
        settings: the keys of `model` in a configuration. A subclass may name a dataclass with more of them as
            its `Settings`.
    """

    Settings: ClassVar[type[ModelSettings]] = ModelSettings

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__()
        self.settings = settings
        self.head_options = heads = settings.heads
        if not heads:
            raise ConfigError(
                "model.heads is missing; name the outputs to learn, such as {fluency: {input: hypothesis}}."
            )
        self.objectives = {name: _objective(name, head) for name, head in heads.items()}
        self.goals = torch.nn.ModuleDict(self.objectives)  # so that their parameters are trained
        self.start = start_model(
            {name: _head_config(head, self.objectives[name]) for name, head in heads.items()},
            settings,
        )
        self.model = self.start.model
        self.frozen = {name for name, w in self.named_parameters() if not w.requires_grad}
        self.encoder_name, self.continued = self.start.encoder, self.start.continued
        self.tokenizer = self.start.tokenizer
        if settings.gradient_checkpointing:
            checkpoint_layers(self.model.encoder)
        self.encoding = Encoding(self.tokenizer, settings.max_tokens, heads, self.objectives)
        self.figures = torch.nn.ModuleDict(
            {name: goal.new_measure() for name, goal in self.objectives.items()}
        )
        self.losses = torch.nn.ModuleDict({name: MeanMetric() for name in heads})
        self.measurable: set[str] = set()  # the heads that the dev part can measure
        self._is_finite = True  # what the current evaluation has predicted
        self._tokens, self._since = 0, time.perf_counter()
        self._generators: Mapping[str, Any] | None = None

    def setup(self, stage: str) -> None:
        """Give each head the units of its training data, and its record of them.

        Raises:
            ConfigError: a head has nothing to learn from, or reads sources that its data do not have.
        """
        data: Any = self.trainer.datamodule  # type: ignore[attr-defined]
        examples, dev = (data.load()[part] for part in ("train", "dev"))
        self.measurable = measurable_heads(self.objectives, dev)
        for name, goal in self.objectives.items():
            objective = self.head_options[name].objective
            labelled = goal.reads == "tokens" and data.labelled.get(name)
            if not goal.rated and not data.pairs.get(name) and not labelled:
                raise ConfigError(
                    f"model.heads.{name}: its objective is {objective!r}, but data.pairs has no pairs for "
                    f"it; add data.pairs.{name}."
                )
            if goal.reads == "capitals" and data.cases.get(name):
                raise ConfigError(
                    f"data.cases.{name}: a head with the objective {objective} does not compare texts; name "
                    "another head."
                )
            rated = (row.texts[0][0] for row in examples if name in row.values)
            reads_sources = self.head_options[name].input == "pair"
            if reads_sources and len(examples.numbers["ratings", name]) and not any(rated):
                raise ConfigError(
                    f"model.heads.{name} reads pairs of source and hypothesis, and its ratings have no "
                    "source; add the column 'source', or let the head read the hypothesis alone (input: "
                    "hypothesis)."
                )
            head = self.model.head_configs[name]
            offset, goal.scale = goal.standardise(name, examples) or (head.offset, head.scale)
            scale_of_ratings = data.ratings_range(name) if goal.measure == "pearson" else None
            self.model.configure_head(name, offset=offset, scale=goal.scale, range=scale_of_ratings)

    def _outputs(
        self, batch: Mapping[str, Any], *, measured: bool = False
    ) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
        """Return each head's values for the texts of its input, (M,), and what its loss reads.

        The loss reads the values, too, except where a head reads single tokens: there it reads their logits,
        (M, T), and the values are only made with `measured`.
        """
        values: dict[str, torch.Tensor] = {}
        outputs: dict[str, torch.Tensor] = {}
        for kind, inputs in batch["inputs"].items():
            names = self.encoding.readers[kind]
            tokens = [name for name in names if self.objectives[name].reads != "pooled"]
            encoded = self.model.encode(inputs, kind)
            pooled = [name for name in names if name not in tokens]
            values |= self.model.values(encoded, inputs, names if measured else pooled)
            outputs |= {name: values[name] for name in pooled}
            outputs |= {name: self.model.token_logits(encoded, name) for name in tokens}
        return values, outputs

    def training_step(self, batch: Mapping[str, Any], index: int) -> torch.Tensor:
        """Return the weighted sum of the heads' losses."""
        _, outputs = self._outputs(batch)
        self._tokens += sum(inputs["input_ids"].numel() for inputs in batch["inputs"].values())
        size = sum(len(inputs["input_ids"]) for inputs in batch["inputs"].values())
        # Several processes wait for the gradient of every head, even if a batch has nothing for the head.
        waited = [*self.model.heads.parameters(), *self.goals.parameters()]
        total = 0.0 * torch.stack([weight.sum() for weight in waited]).sum()
        consistency = float(self.settings.consistency)
        for name, values in outputs.items():
            goal, targets = self.objectives[name], batch["targets"][name]
            loss = goal.loss(values, targets)
            self.log(f"train/{name}/loss", loss, batch_size=size)
            total = total + self.head_options[name].weight * loss
            if consistency and len(targets.cases):
                if targets.aligned is None:
                    loss = consistency_loss(values[targets.cases] / goal.scale)
                else:
                    rows, columns = targets.aligned.unbind(dim=2)
                    loss = _divergence(*values[rows, columns].unbind(dim=1))
                self.log(f"train/{name}/consistency", loss, batch_size=size)
                total = total + consistency * loss
        self.log("train/loss", total, batch_size=size, prog_bar=True)
        self._require_finite(bool(total.isfinite()))
        return total

    def _require_finite(self, is_finite: bool) -> None:
        """Raise `DivergedError` in all processes if something is NaN or infinite in one of them."""
        if self.trainer.strategy.reduce_boolean_decision(not is_finite, all=False):
            raise DivergedError(
                f"the loss or the predictions became NaN or infinite at step {self.global_step + 1}, so "
                "training stopped; lower model.learning_rate, or compute in float32 (trainer.precision: "
                "32-true)."
            )

    def validation_step(self, batch: Mapping[str, Any], index: int) -> None:
        """Collect the predictions that each head is measured on; a repeated batch counts once."""
        if index >= self.trainer.val_dataloaders.batch_sampler.distinct:  # type: ignore[union-attr]
            return
        values, outputs = self._outputs(batch, measured=True)
        for name, goal in self.objectives.items():
            if name in values:
                measure: Any = self.figures[name]
                goal.update(measure, values[name], batch["targets"][name])
                terms = goal.terms(outputs[name], batch["targets"][name])
                finite = values[name].isfinite().all() & terms.isfinite().all()
                self._is_finite = self._is_finite and bool(finite)
                if len(terms):
                    self.losses[name].update(terms)  # type: ignore[operator]

    @property
    def logged(self) -> list[str]:
        """The names of what a run measures on the dev part, by which it may choose a checkpoint."""
        heads = self.objectives.items()
        figures = [f"dev/{name}/{goal.measure}" for name, goal in heads]
        return ["dev/score", *figures, "dev/loss", *(f"dev/{name}/loss" for name, _ in heads)]

    def on_validation_epoch_end(self) -> None:
        """Log each head's measure and loss on the dev part, their mean and their weighted sum.

        A figure that the dev part does not give is NaN.

        Raises:
            DivergedError: a prediction is NaN or infinite.
        """
        is_finite, self._is_finite = self._is_finite, True
        self._require_finite(is_finite)
        values, losses = {}, {}
        for name, goal in self.objectives.items():
            measure: Any = self.figures[name]
            with warnings.catch_warnings():
                # A small dev part may hold nothing for a head.
                warnings.simplefilter("ignore", UserWarning)
                values[f"dev/{name}/{goal.measure}"] = measure.compute()
                loss: Any = self.losses[name]
                losses[f"dev/{name}/loss"] = loss.compute()
            measure.reset()
            loss.reset()
        # The values are the same in all processes, so the mean that loggers require does not change them.
        self.log_dict(values | losses, sync_dist=True)
        weighted = [
            head.weight * loss
            for head, loss in zip(self.head_options.values(), losses.values(), strict=True)
            if not loss.isnan()
        ]
        self.log("dev/loss", sum(weighted) if weighted else math.nan, sync_dist=True)
        measured = [
            value
            for name, value in zip(self.objectives, values.values(), strict=True)
            if name in self.measurable or not value.isnan()
        ]
        mean = torch.stack(measured).mean() if measured else math.nan
        self.log("dev/score", mean, prog_bar=True, sync_dist=True)

    def on_train_epoch_start(self) -> None:
        """Begin to count tokens and time, without the evaluation before."""
        self._tokens, self._since = 0, time.perf_counter()

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Log the norm of all gradients before clipping and the speed, for the steps that are logged."""
        trainer: Any = self.trainer
        every = trainer.log_every_n_steps
        if not every or (trainer.global_step + 1) % every:
            return
        gradients = [weight.grad for weight in self.parameters() if weight.grad is not None]
        norm = torch.stack([gradient.norm() for gradient in gradients]).norm()
        speed = self._tokens / (time.perf_counter() - self._since)
        rate = optimizer.param_groups[-1]["lr"]  # that of the heads
        values = {"learning_rate": rate, "gradient_norm": norm, "tokens_per_second": speed}
        self.log_dict({f"train/{name}": value for name, value in values.items()})

    def optimizer_step(self, *arguments: Any, **options: Any) -> None:
        """Free the gradients after the step, whose memory the next forward pass can then take."""
        super().optimizer_step(*arguments, **options)
        self.zero_grad()

    def configure_optimizers(self) -> Any:
        """Return AdamW and the schedule of its rates."""
        settings = self.settings
        rate, decay = float(settings.learning_rate), float(settings.weight_decay)
        groups = parameter_groups(self.model, self.goals, rate, decay)
        # On a CPU the fused step is several times faster, up to a fifth of the training time of a small
        # model; on a GPU it would refuse gradient clipping in float16.
        fused = self.trainer.strategy.root_device.type == "cpu"
        optimizer: Any = torch.optim.AdamW(groups, fused=fused)
        # The Trainer refuses to clip gradients for a fused optimizer that might scale them. Only float16
        # scales gradients, and only on a GPU, where this one is not fused.
        optimizer._step_supports_amp_scaling = False
        steps = int(self.trainer.estimated_stepping_batches)
        name = "constant_with_warmup" if settings.schedule == "constant" else settings.schedule
        scheduler = get_scheduler(name, optimizer, int(float(settings.warmup) * steps), steps)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": scheduler, "interval": "step"},
        }

    @cached_property
    def _frozen_digest(self) -> str:
        """The SHA-256 of the frozen weights."""
        digest = hashlib.sha256()
        for name, weight in self.named_parameters():
            if name in self.frozen:
                content = weight.detach().cpu().contiguous().flatten().view(torch.uint8)
                digest.update(content.numpy().data)
        return digest.hexdigest()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Save the random state, and leave out frozen weights, which a resumed run has from its encoder.

        Averaged weights, which differ from them in rounding, and those of strategies that divide the weights
        are saved whole.
        """
        divided = type(self.trainer.strategy) not in (SingleDeviceStrategy, DDPStrategy)
        if self.frozen and not divided and "current_model_state" not in checkpoint:
            frozen = {
                name
                for name, weight in self.named_parameters()
                if name in self.frozen and not weight.requires_grad
            }
            weights = checkpoint["state_dict"].items()
            checkpoint["state_dict"] = {name: w for name, w in weights if name not in frozen}
            checkpoint["frozen"] = self._frozen_digest
        # Dropout after a resume must continue, not repeat.
        checkpoint["generators"] = {
            "cpu": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Read the random state of a checkpoint, which is set when training begins, and add frozen weights.

        Raises:
            ConfigError: the encoder has other weights than when the checkpoint was written.
        """
        if "frozen" in checkpoint:
            if checkpoint["frozen"] != self._frozen_digest:
                raise ConfigError(
                    f"resume: the weights of {self.encoder_name}, which the run leaves as they are, have "
                    "changed since; start again with ",
                    **ANEW,
                )
            checkpoint["state_dict"] = self.state_dict() | checkpoint["state_dict"]
        self._generators = checkpoint.get("generators")

    def on_train_batch_start(self, batch: Any, index: int) -> None:
        """Set the random state of a resumed checkpoint before its first step."""
        if self._generators is not None:
            torch.set_rng_state(self._generators["cpu"].cpu())
            if self._generators["cuda"]:
                torch.cuda.set_rng_state_all([s.cpu() for s in self._generators["cuda"]])
            self._generators = None


def _objective(name: str, head: HeadOptions) -> Objective:
    """Return the objective of a head, or raise `ConfigError` if its name or its options cannot be."""
    goal = find_objective(head.objective)(head.margin)
    # torch stores heads under their names, beside the attributes of its own containers.
    if not name or "." in name or hasattr(torch.nn.ModuleDict(), name):
        raise ConfigError(
            f"model.heads: no head can have the name {name!r}; choose another, without dots."
        )
    if goal.reads == "capitals" and head.input != "hypothesis":
        raise ConfigError(
            f"model.heads.{name}: the objective {head.objective} is for the hypothesis alone, and its input "
            f"is {head.input!r}; set input: hypothesis."
        )
    if goal.reads == "pooled" and head.layer is not None:
        raise ConfigError(
            f"model.heads.{name}: only detection and capitals read a layer other than the last; leave the "
            "key layer out."
        )
    return goal


def _head_config(head: HeadOptions, goal: Objective) -> HeadConfig:
    """Return the configuration of a head that is to be trained."""
    objective = goal.recorded_as(head.objective)
    return HeadConfig(head.input, reads=goal.reads, layer=head.layer, objective=objective)


def consistency_loss(values: torch.Tensor) -> torch.Tensor:
    """Return the mean of ½·(KL(p ‖ q) + KL(q ‖ p)) of the preferences in two contexts.

    Args:
        values: (C, 4): values of the correction and the source of the original, then of those of the variant.

    Example:
        >>> consistency_loss(torch.tensor([[2.0, 1.0, 5.0, 4.0]]))
        tensor(0.)
    """
    return _divergence(*(values[:, ::2] - values[:, 1::2]).unbind(dim=1))


def _divergence(original: torch.Tensor, variant: torch.Tensor) -> torch.Tensor:
    """Return the mean of ½·(KL(p ‖ q) + KL(q ‖ p)) over logits of p and q, (K,); 0 if there are none."""
    original, variant = original.float(), variant.float()
    # For Bernoulli distributions the two divergences sum to (p − q)·(logit p − logit q).
    terms = (original.sigmoid() - variant.sigmoid()) * (original - variant)
    return 0.5 * terms.sum() / max(len(terms), 1)


def parameter_groups(
    model: EvaluatorModel,
    goals: torch.nn.Module,
    rate: float,
    weight_decay: float,
) -> list[dict[str, Any]]:
    """Return the trained parameters in groups of one rate and one weight decay, those of the heads last.

    Args:
        model: the model.
        goals: the objectives, whose own parameters have the rate of the heads and no decay.
        rate: learning rate of the heads; low-rank weights have ten times as much.
        weight_decay: weight decay of matrices; biases, normalisation and low-rank weights have none.
    """
    decayed = set(get_parameter_names(model, ALL_LAYERNORM_LAYERS, _NOT_DECAYED))
    groups: dict[tuple[float, float], list[torch.nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        factor = _LORA_RATE if is_lora(name) else 1
        decay = weight_decay if name in decayed and not is_lora(name) else 0.0
        groups.setdefault((rate * factor, decay), []).append(parameter)
    groups.setdefault((rate, 0.0), []).extend(goals.parameters())
    return [
        {"params": parameters, "lr": group_rate, "weight_decay": decay}
        for (group_rate, decay), parameters in groups.items()
    ]
