"""The LightningModule that fine-tunes an evaluator: one encoder with named heads, and a loss for each head.

One file, though long: it is one class, whose methods Lightning calls one after the other.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from typing import Any

import pytorch_lightning as lightning
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, softplus
from torchmetrics import MeanMetric, PearsonCorrCoef

from learnedgec.errors import ConfigError
from learnedgec.models.capitals import CAPITAL, UNMARKED
from learnedgec.models.evaluator import (
    Evaluator,
    EvaluatorConfig,
    EvaluatorModel,
    HeadConfig,
    Pooling,
)
from learnedgec.models.loading import load_pretrained, load_tokenizer
from learnedgec.models.low_rank import (
    encoder_layers,
    freeze_layers,
    is_correction,
    remove_corrections,
)
from learnedgec.models.packages import check_package, find_evaluator, is_evaluator
from learnedgec.training.heads import HeadOptions

__all__ = ["EvaluatorModule", "HeadOptions"]


# Learning rate of corrections relative to heads: LoRA's usual 5e-4 would be far too high for a head.
_CORRECTION_RATE = 10.0


class EvaluatorModule(lightning.LightningModule):
    """Fine-tune an encoder with heads that learn from ratings or from ranked pairs.

    The loss of a head, over its examples in the batch, is

    - `regression`: the mean squared error on standardised ratings;
    - `sigmoid`: the mean of σ(low − high + margin), where high and low are the values of the better and
      the worse text of a ranked pair (Maeda et al. 2022, equation 2, with margin 0);
    - `logistic`: the mean of log(1 + exp(low − high + margin)), which is cross entropy: the
      likelihood of the Bradley-Terry model;
    - `difference`: the mean of ((high − low − m)/s)², where m is the pair's own margin and s the root mean
      square of all margins that the head is trained on, so that the head's values have their units;
    - `detection`: the mean binary cross entropy of each token being part of a wrong word, in the texts of
      ranked pairs whose correct side is known. The head's value is the log-probability that no token is
      wrong, so the head also ranks;
    - `capitals`: the mean binary cross entropy of each word of the better text beginning with a capital. An
      uncased encoder does not see which do, so it learns which should. The head's value is the
      log-probability of the capitals that a text has.

    The total is the weighted sum over heads. Heads that read the same input share one pass through the
    encoder. Where `data.cases` gives a head cases, `consistency` times this is added: the mean of
    ½·(KL(p ‖ q) + KL(q ‖ p)), where p = σ(value(correction) − value(source)) is the preference in the
    original context and q that in a perturbed one; a regression head's values are standardised first. It is
    the regularisation of Zhang et al. (RobustGEC, EMNLP 2023, equations 1 to 3), there per token, here per
    pair.
    A head without any preference would minimise this term. Therefore a head that learns the order of pairs
    (`sigmoid`, `logistic`) also learns in both contexts that the correction is better, whatever
    `consistency` is.

    `dev/score`, the mean over heads of the Pearson correlation (regression) or of the share of pairs in
    the right order (ranking) on the dev part, selects the checkpoint.

    Args:
        heads: name of each head (for regression, of a rated dimension) -> its training options.
        encoder: hub id, directory or `pkg:module/folder` of the pretrained encoder; or an evaluator, by
            name or directory, to continue from its encoder and from its heads with the same name, input and
            kind of data (ratings, ranked pairs, wrong words). Other heads start untrained.
        layer: leave out the pretrained encoder's layers above this one, counted from 1.
        pooling: the input of a head: the `mean` of the encoder's states, the first state (`cls`), or BERT's
            pretrained `pooler` on top of it (as in `BertForSequenceClassification`).
        dropout: dropout rate before the heads.
        max_tokens: maximum length of an input in tokens; longer ones are truncated.
        learning_rate: peak learning rate, reached after warm-up; it then falls linearly to 0.
        weight_decay: weight decay of AdamW, except for biases and normalisation.
        warmup: share of all steps for the warm-up.
        consistency: weight of the loss on `data.cases`, the paper's α.
        allow_pickle: accept an encoder that is stored only as a pickle.
        sums: output -> head -> weight. A sum may replace the head of its name. Sums of unchanged heads stay.
        rank: freeze the encoder and train low-rank corrections of its matrices (`models.low_rank`). Required
            for 4-bit encoders. The corrections learn ten times as fast as the heads, and affect only the
            inputs that your heads read. The package also has the continued evaluator's heads that read the
            other input, unless `heads` names them; their values stay the same. Without a rank the whole
            encoder is trained. Corrections of the continued evaluator are trained further if rank, layers
            and inputs are the same, and removed otherwise.
        corrected_layers: number of the encoder's uppermost layers with corrections; all by default.
        frozen_layers: number of the encoder's lowest layers to freeze, with its embeddings. If all are
            frozen, a continued evaluator's corrections and other heads stay as they are.
    """

    def __init__(
        self,
        heads: dict[str, HeadOptions],
        encoder: str = "bert-base-cased",
        layer: int | None = None,
        pooling: Pooling = "mean",
        dropout: float = 0.1,
        max_tokens: int = 128,
        learning_rate: float = 2e-5,
        weight_decay: float = 0.01,
        warmup: float = 0.1,
        consistency: float = 1.0,
        allow_pickle: bool = False,
        sums: dict[str, dict[str, float]] | None = None,
        rank: int | None = None,
        corrected_layers: int | None = None,
        frozen_layers: int | None = None,
    ) -> None:
        super().__init__()
        if not heads:
            raise ConfigError("model.heads is empty; name at least one head.")
        if layer is not None and layer < 1:
            raise ConfigError(f"model.layer is {layer}; at least 1 was expected.")
        if rank is not None and rank < 1:
            raise ConfigError(f"model.rank is {rank}; at least 1 was expected.")
        if rank is None and corrected_layers is not None:
            raise ConfigError(
                "model.corrected_layers needs model.rank; name the rank of the corrections."
            )
        if not 0 <= warmup < 1:
            raise ConfigError(f"model.warmup is {warmup}; a share from 0 up to 1 was expected.")
        if not 0 <= dropout < 1:
            raise ConfigError(f"model.dropout is {dropout}; a share from 0 up to 1 was expected.")
        if max_tokens < 3:
            raise ConfigError(f"model.max_tokens is {max_tokens}; at least 3 was expected.")
        if min(learning_rate, weight_decay, consistency) < 0:
            raise ConfigError(
                "model.learning_rate, model.weight_decay and model.consistency must not be negative."
            )
        for name, options in heads.items():
            # torch stores heads under their names, beside the attributes of its own containers.
            if not name or "." in name or hasattr(torch.nn.ModuleDict(), name):
                raise ConfigError(
                    f"model.heads: no head can have the name {name!r}; choose another, without dots."
                )
            if options.reads != "pooled" and options.input != "hypothesis":
                raise ConfigError(
                    f"model.heads.{name}: the objective {options.objective} is for the hypothesis alone, and "
                    f"its input is {options.input!r}; set input: hypothesis."
                )
            if options.reads == "pooled" and options.layer is not None:
                raise ConfigError(
                    f"model.heads.{name}: only detection and capitals read a layer other than the last; "
                    "leave the key layer out."
                )
        self.head_options = heads
        self.encoder_name = encoder
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.warmup = warmup
        self.consistency = consistency
        self.continued: dict[str, Any] | None = None
        self.anew: dict[str, str | None] = {}
        started: EvaluatorModel | None = None
        if is_evaluator(encoder):
            if layer is not None:
                raise ConfigError(
                    f"model.layer: {encoder} is already an evaluator and keeps its layers; leave the key out."
                )
            folder = find_evaluator(encoder)
            self.continued = check_package(folder)
            self.encoder_name = str(self.continued["encoder"])
            started = copy.deepcopy(Evaluator.load(str(folder)).model).cpu().requires_grad_(True)
            pretrained, encoder = started.encoder, str(folder)
        else:
            pretrained = load_pretrained(encoder, allow_pickle=allow_pickle, layer=layer)
        self.tokenizer = load_tokenizer(encoder)
        corrections: dict[str, Any] = {}
        if rank is not None:
            corrected = sorted({options.input for options in heads.values()})
            corrections = {"rank": rank, "layers": corrected_layers, "inputs": corrected}
        earlier = started.config.corrections if started else {}
        unchanged = (
            started is not None
            and rank is None
            and frozen_layers == len(encoder_layers(pretrained))
        )
        if unchanged:
            corrections = earlier
        if earlier and earlier != corrections:
            remove_corrections(pretrained)
        kept: dict[str, HeadConfig] = {}
        if started and (corrections or unchanged):
            kept = {
                name: started.config.head(name)
                for name, head in started.config.heads.items()
                if name not in heads
                # A head cannot stay as it is where the encoder or the corrections that it reads do not.
                and (
                    unchanged
                    or (
                        head["input"] not in corrections["inputs"]
                        and (earlier == corrections or not started.config.corrects(head["input"]))
                    )
                )
            }
        trained = {
            name: HeadConfig(options.input, reads=options.reads, layer=options.layer)
            for name, options in heads.items()
        }
        depth = len(encoder_layers(pretrained))
        for name, head in trained.items():
            if head.layer is not None and not 1 <= head.layer <= depth:
                raise ConfigError(
                    f"model.heads.{name}: layer is {head.layer}, but the encoder has {depth} layers; name "
                    "one of them."
                )
        known = kept | trained
        _check_sums(sums or {}, known)
        earlier_sums = started.config.sums if started else {}
        passed = {
            name: parts
            for name, parts in earlier_sums.items()
            if name not in trained and not set(parts) - set(kept)
        }
        sums = passed | (sums or {})
        self.dropped_sums = [name for name in earlier_sums if name not in sums]
        pooled = [name for name, head in kept.items() if head.reads == "pooled"]
        if started is not None and pooled and pooling != started.config.pooling:
            raise ConfigError(
                f"model.pooling is {pooling}, but {', '.join(pooled)} of {encoder} stay as they are and read "
                f"{started.config.pooling}; set model.pooling to {started.config.pooling}."
            )
        self.model = EvaluatorModel.from_encoder(
            pretrained,
            known,
            pooling=pooling,
            dropout=dropout,
            max_tokens=max_tokens,
            sums=sums,
            corrections=corrections,
        )
        if started is not None:
            if pooling == "pooler" and started.config.pooling != "pooler":
                raise ConfigError(
                    f"model.pooling: the evaluator {encoder} has no pooler; name {started.config.pooling}."
                )
            self.anew = {
                name: _what_differs(name, options, started.config)
                for name, options in heads.items()
            }
            for name, own in self.model.config.heads.items():
                if self.anew.get(name) is None:
                    self.model.heads[name].load_state_dict(started.heads[name].state_dict())
                    own |= {key: started.config.heads[name][key] for key in ("offset", "scale")}
        if corrections:
            for name, parameter in self.model.encoder.named_parameters():
                parameter.requires_grad_(is_correction(name))
        for name in kept:
            self.model.heads[name].requires_grad_(False)
        if frozen_layers is not None:
            freeze_layers(self.model.encoder, frozen_layers)
        self.model.train()
        self.figures = torch.nn.ModuleDict(
            {
                name: MeanMetric() if options.ranks else PearsonCorrCoef()
                for name, options in heads.items()
            }
        )
        self._generators: Mapping[str, Any] | None = None

    def setup(self, stage: str) -> None:
        """Set the mean and spread of each regression head's ratings, which standardise its targets.

        Raises:
            ConfigError: a head has nothing to learn from.
        """
        if stage != "fit":
            return
        data: Any = self.trainer.datamodule  # type: ignore[attr-defined]
        rated = [name for name, options in self.head_options.items() if not options.ranks]
        for name, (mean, deviation) in data.target_statistics(rated).items():
            self.model.config.heads[name] |= {"offset": mean, "scale": deviation}
        for name in self.head_options:
            if self.head_options[name].objective == "difference":
                self.model.config.heads[name] |= {"offset": 0.0, "scale": data.margin_scale(name)}
        for name in set(self.head_options) - set(rated):
            if not data.pairs.get(name):
                raise ConfigError(
                    f"model.heads.{name}: its objective is {self.head_options[name].objective!r}, but "
                    f"data.pairs has no pairs for it; add data.pairs.{name}."
                )
            if self.head_options[name].detects and not data.tells_wrong_words(name):
                raise ConfigError(
                    f"model.heads.{name}: no pair of data.pairs.{name} has a correct text, so there is no "
                    "wrong word to detect; use pairs made from corrections, or files of pairs with `correct`."
                )
            if self.head_options[name].reads != "pooled" and data.cases.get(name):
                raise ConfigError(
                    f"data.cases.{name}: a head with the objective {self.head_options[name].objective} does "
                    "not compare texts; name another head."
                )

    def _outputs(
        self, batch: Mapping[str, Any], *, tokens: bool = False
    ) -> dict[str, torch.Tensor]:
        """Return each head's values for the texts of its input, (M,).

        With `tokens`, a head that reads tokens returns their logits instead, (M, T).
        """
        outputs: dict[str, torch.Tensor] = {}
        for kind, inputs in batch["inputs"].items():
            heads = {name: head for name, head in self.head_options.items() if head.input == kind}
            single = [name for name, head in heads.items() if tokens and head.reads != "pooled"]
            encoded = self.model.encode(inputs, kind)
            values = self.model.values(
                encoded, inputs, [name for name in heads if name not in single]
            )
            outputs |= values | {name: self.model.token_logits(encoded, name) for name in single}
        return outputs

    def training_step(self, batch: Mapping[str, Any], index: int) -> torch.Tensor:
        """Return the weighted sum of the heads' losses."""
        outputs = self._outputs(batch, tokens=True)
        size = sum(len(inputs["input_ids"]) for inputs in batch["inputs"].values())
        # Several processes wait for the gradient of every head, also where a batch has nothing for it.
        total = 0.0 * torch.stack([weight.sum() for weight in self.model.heads.parameters()]).sum()
        for name, values in outputs.items():
            loss = self._loss(name, values, batch)
            self.log(f"train/{name}/loss", loss, batch_size=size)
            total = total + self.head_options[name].weight * loss
            if self.consistency and len(cases := batch["consistent"][name]):
                scale = self.model.config.head(name).scale
                loss = consistency_loss(values[cases] / scale)
                self.log(f"train/{name}/consistency", loss, batch_size=size)
                total = total + self.consistency * loss
        self.log("train/loss", total, batch_size=size, prog_bar=True)
        return total

    def _loss(self, name: str, values: torch.Tensor, batch: Mapping[str, Any]) -> torch.Tensor:
        """Return one head's loss: the mean over its examples in the batch, 0 if there are none."""
        options = self.head_options[name]
        if options.detects:
            wrong = batch["wrong"][name]
            known = ~wrong.isnan()
            logits = values[known].float()
            terms = binary_cross_entropy_with_logits(logits, wrong[known], reduction="none")
        elif options.objective == "capitals":
            better = batch["ranked"][name][:, 0]
            marks = batch["inputs"]["hypothesis"]["capitals"][better]
            known = marks != UNMARKED
            capital = (marks[known] == CAPITAL).float()
            logits = values[better][known].float()
            terms = binary_cross_entropy_with_logits(logits, capital, reduction="none")
        elif options.objective == "difference":
            high, low = values[batch["ranked"][name]].float().unbind(dim=1)
            error = high - low - batch["margins"][name]
            terms = (error / self.model.config.head(name).scale).square()
        elif options.ranks:
            pairs = torch.cat((batch["ranked"][name], batch["consistent"][name].view(-1, 2)))
            high, low = values[pairs].float().unbind(dim=1)
            behind = low - high + options.margin
            terms = behind.sigmoid() if options.objective == "sigmoid" else softplus(behind)
        else:
            target = batch["targets"][name]
            rated = ~target.isnan()
            error = (values[rated] - target[rated]) / self.model.config.head(name).scale
            terms = error.square()
        # The sum of nothing is 0 and keeps the graph; the mean would not be a number.
        mean: torch.Tensor = terms.sum() / max(len(terms), 1)
        return mean

    def validation_step(self, batch: Mapping[str, Any], index: int) -> None:
        """Collect the predictions that each head is evaluated on."""
        for name, values in self._outputs(batch).items():
            figure: Any = self.figures[name]
            if self.head_options[name].ranks:
                high, low = values[batch["ranked"][name]].unbind(dim=1)
                if len(high):
                    figure.update((high > low).float())
                continue
            target = batch["targets"][name]
            rated = ~target.isnan()
            if rated.any():
                figure.update(values[rated].float(), target[rated])

    @property
    def beginnings(self) -> str | None:
        """One sentence on which heads go on from the continued evaluator; `None` without one."""
        if self.continued is None:
            return None
        name = self.continued["name"]
        known = [head for head, reason in self.anew.items() if reason is None]
        parts = [f"{', '.join(known)} continue{'s' * (len(known) == 1)}"] if known else []
        for head, reason in self.anew.items():
            if reason is not None:
                parts.append(
                    f"{head} starts untrained" + (f" (in {name} {reason})" if reason else "")
                )
        if self.dropped_sums:
            parts.append(
                f"its sums {', '.join(self.dropped_sums)} are not passed on (name them in model.sums)"
            )
        return f"Continuing {name}: {'; '.join(parts)}."

    @property
    def logged(self) -> list[str]:
        """The names of the values that a run logs, those on the dev part first."""
        heads = self.head_options.items()
        return [
            "dev/score",
            *(f"dev/{name}/{'accuracy' if head.ranks else 'pearson'}" for name, head in heads),
            "train/loss",
            *(f"train/{name}/{term}" for name, _ in heads for term in ("loss", "consistency")),
        ]

    def on_validation_epoch_end(self) -> None:
        """Log each head's correlation or accuracy on the dev part, and their mean."""
        found = {}
        for name, options in self.head_options.items():
            figure: Any = self.figures[name]
            with warnings.catch_warnings():
                # A small dev part may hold nothing for a head; its figure is then 0.
                warnings.simplefilter("ignore", UserWarning)
                value = figure.compute().nan_to_num()
            figure.reset()
            found[f"dev/{name}/{'accuracy' if options.ranks else 'pearson'}"] = value
        # Computed over all processes already; the mean of equal numbers keeps the loggers content.
        self.log_dict(found, sync_dist=True)
        mean = torch.stack(list(found.values())).mean()
        self.log("dev/score", mean, prog_bar=True, sync_dist=True)

    def configure_optimizers(self) -> Any:
        """Return AdamW with linear warm-up and decay."""
        from transformers import get_linear_schedule_with_warmup

        decayed: list[torch.nn.Parameter] = []
        plain: list[torch.nn.Parameter] = []
        corrections: list[torch.nn.Parameter] = []
        for name, parameter in self.model.named_parameters():
            if not parameter.requires_grad:
                continue
            spared = name.endswith("bias") or "LayerNorm" in name or "layer_norm" in name
            group = corrections if is_correction(name) else plain if spared else decayed
            group.append(parameter)
        rate = self.learning_rate
        groups: list[dict[str, Any]] = [
            {"params": decayed, "weight_decay": self.weight_decay, "lr": rate},
            {"params": plain, "weight_decay": 0.0, "lr": rate},
            {"params": corrections, "weight_decay": 0.0, "lr": rate * _CORRECTION_RATE},
        ]
        # On a CPU the fused step is several times faster, up to a fifth of the training time of a small
        # model; on a GPU it would refuse gradient clipping in float16.
        fused = self.trainer.strategy.root_device.type == "cpu"
        optimizer = torch.optim.AdamW([group for group in groups if group["params"]], fused=fused)
        steps = int(self.trainer.estimated_stepping_batches)
        schedule = get_linear_schedule_with_warmup(optimizer, int(self.warmup * steps), steps)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        """Clip gradients, also with a fused optimizer in bfloat16, where the Trainer refuses to.

        The Trainer refuses because gradients might still be scaled. Only float16 scales them, and only on a
        GPU, where the optimizer here is not fused.
        """
        if self.trainer.precision == "bf16-mixed" and gradient_clip_algorithm in (None, "norm"):
            if gradient_clip_val:
                torch.nn.utils.clip_grad_norm_(self.parameters(), gradient_clip_val)
            return
        self.clip_gradients(
            optimizer,
            gradient_clip_val=gradient_clip_val,
            gradient_clip_algorithm=gradient_clip_algorithm,
        )

    # Dropout after a resume must continue, not repeat: the generators belong to the checkpoint.

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Save the random state in the checkpoint."""
        checkpoint["generators"] = {
            "cpu": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Read the random state of a checkpoint; it is set when training begins."""
        self._generators = checkpoint.get("generators")

    def on_train_batch_start(self, batch: Any, index: int) -> None:
        """Set the random state of a resumed checkpoint before its first step."""
        if self._generators is not None:
            torch.set_rng_state(self._generators["cpu"].cpu())
            if self._generators["cuda"]:
                torch.cuda.set_rng_state_all([s.cpu() for s in self._generators["cuda"]])
            self._generators = None


def _check_sums(sums: Mapping[str, Mapping[str, float]], heads: Mapping[str, HeadConfig]) -> None:
    """Raise `ConfigError` for a sum without parts, of unknown heads, or that hides the head of its name."""
    for name, parts in sums.items():
        if not parts or set(parts) - set(heads):
            raise ConfigError(
                f"model.sums.{name}: a sum needs parts among the heads {', '.join(heads)}; its parts are "
                f"{', '.join(parts) or 'none'}."
            )
        if name in heads and name not in parts:
            raise ConfigError(
                f"model.sums.{name} replaces the head {name} and must contain it; its parts are "
                f"{', '.join(parts)}. Add {name}, or give the sum another name."
            )


def _what_differs(name: str, options: HeadOptions, earlier: EvaluatorConfig) -> str | None:
    """Return what the continued evaluator's head of this name does otherwise; `None` if nothing.

    A head of the same name that reads or learned something else is another head: the values of one that
    ranks pairs, for example, have no relation to a scale of ratings. Where there is none, it is "".
    """
    if name not in earlier.heads:
        return ""
    head = earlier.head(name)
    if head.input != options.input:
        return f"it reads the {head.input}"
    if head.reads != options.reads:
        learned = {"tokens": "detects wrong words", "capitals": "learned capitals"}
        return f"it {learned.get(head.reads, 'reads pooled states')}"
    if head.layer != options.layer:
        return "it reads another layer"
    if head.rated == options.ranks:
        return "it predicts ratings" if head.rated else "it ranks pairs"
    return None


def consistency_loss(values: torch.Tensor) -> torch.Tensor:
    """Return the mean of ½·(KL(p ‖ q) + KL(q ‖ p)) of the preferences in two contexts.

    Args:
        values: (C, 4): values of the correction and the source of the original, then of those of the variant.

    Example:
        >>> consistency_loss(torch.tensor([[2.0, 1.0, 5.0, 4.0]]))
        tensor(0.)
    """
    original, variant = (values[:, ::2] - values[:, 1::2]).float().unbind(dim=1)
    # For Bernoulli distributions the two divergences sum to (p − q)·(logit p − logit q).
    return 0.5 * ((original.sigmoid() - variant.sigmoid()) * (original - variant)).mean()
