"""The LightningModule that fine-tunes an evaluator: one encoder, named heads, a loss for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytorch_lightning as lightning
import torch
from torchmetrics import MetricCollection, PearsonCorrCoef

from learnedgec.encoding import load_pretrained, load_tokenizer
from learnedgec.errors import ConfigError
from learnedgec.evaluator import EvaluatorModel, Head, Pooling

__all__ = ["EvaluatorModule", "HeadOptions"]


@dataclass
class HeadOptions:
    """How one head is trained.

    Attributes:
        input: what it reads: the `hypothesis` alone or the `pair` (source, hypothesis).
        weight: of its loss in the sum.
    """

    input: Literal["hypothesis", "pair"] = "hypothesis"
    weight: float = 1.0


class EvaluatorModule(lightning.LightningModule):
    """Fine-tune an encoder with one or more regression heads.

    The loss of a head is the mean squared error on standardised ratings, over the ratings that the
    batch has for it; the total is the weighted sum over heads. Heads that read the same input share
    one pass through the encoder. `dev/pearson`, the mean over heads of the Pearson correlation on the
    dev part, selects the checkpoint.

    Args:
        heads: name of each rated dimension -> how its head is trained.
        encoder: hub id, directory or `pkg:module/folder` of the pretrained encoder.
        pooling: what a head reads of the encoder's states: their `mean`, the first one (`cls`), or
            BERT's pretrained `pooler` on top of it (what `BertForSequenceClassification` does).
        dropout: before the heads.
        max_tokens: longest input in tokens; longer ones are cut.
        learning_rate: peak, reached after warm-up, then falling linearly to 0.
        weight_decay: of AdamW, not on biases and normalisation.
        warmup: share of all steps.
        allow_pickle: accept an encoder that is stored only as a pickle.
    """

    def __init__(
        self,
        heads: dict[str, HeadOptions],
        encoder: str = "bert-base-cased",
        pooling: Pooling = "mean",
        dropout: float = 0.1,
        max_tokens: int = 128,
        learning_rate: float = 2e-5,
        weight_decay: float = 0.01,
        warmup: float = 0.1,
        allow_pickle: bool = False,
    ) -> None:
        super().__init__()
        if not heads:
            raise ConfigError("model.heads is empty; name at least one rated dimension.")
        if not 0 <= warmup < 1:
            raise ConfigError(f"model.warmup is {warmup}; a share from 0 up to 1 was expected.")
        self.head_options = heads
        self.encoder_name = encoder
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.warmup = warmup
        self.tokenizer = load_tokenizer(encoder)
        self.model = EvaluatorModel.from_encoder(
            load_pretrained(encoder, allow_pickle=allow_pickle),
            {name: Head(options.input) for name, options in heads.items()},
            pooling=pooling,
            dropout=dropout,
            max_tokens=max_tokens,
        )
        self.model.train()
        self.correlations = MetricCollection(
            {name: PearsonCorrCoef() for name in heads}, prefix="dev/", postfix="/pearson"
        )
        self._generators: Mapping[str, Any] | None = None

    def setup(self, stage: str) -> None:
        """Give each head the mean and spread of its ratings, so that it learns standardised targets."""
        if stage == "fit":
            data: Any = self.trainer.datamodule  # type: ignore[attr-defined]
            for name, (mean, deviation) in data.target_statistics(list(self.head_options)).items():
                self.model.config.heads[name] |= {"offset": mean, "scale": deviation}

    def _outputs(self, batch: Mapping[str, Any]) -> dict[str, torch.Tensor]:
        """Return each head's values, (B,)."""
        outputs: dict[str, torch.Tensor] = {}
        for kind, inputs in batch["inputs"].items():
            names = [name for name, head in self.head_options.items() if head.input == kind]
            outputs |= self.model(inputs, names)
        return outputs

    def training_step(self, batch: Mapping[str, Any], index: int) -> torch.Tensor:
        """Return the weighted sum of the heads' losses."""
        outputs = self._outputs(batch)
        size = len(next(iter(outputs.values())))
        total = torch.zeros((), device=self.device)
        for name, options in self.head_options.items():
            target = batch["targets"][name]
            error = (outputs[name] - target.nan_to_num()) / self.model.config.head(name).scale
            rated = ~target.isnan()
            loss = (error.square() * rated).sum() / rated.sum().clamp(min=1)
            self.log(f"train/{name}/loss", loss, batch_size=size)
            total = total + options.weight * loss
        self.log("train/loss", total, batch_size=size, prog_bar=True)
        return total

    def validation_step(self, batch: Mapping[str, Any], index: int) -> None:
        """Collect predictions for the correlations."""
        outputs = self._outputs(batch)
        for name, metric in self.correlations.items(keep_base=True):
            target = batch["targets"][name]
            rated = ~target.isnan()
            if rated.any():
                metric.update(outputs[name][rated].float(), target[rated])

    def on_validation_epoch_end(self) -> None:
        """Log each head's Pearson correlation on the dev part, and their mean."""
        found = self.correlations.compute()
        self.correlations.reset()
        # Computed over all processes already; the mean of equal numbers keeps the loggers content.
        self.log_dict(found, sync_dist=True)
        mean = torch.stack(list(found.values())).nan_to_num().mean()
        self.log("dev/pearson", mean, prog_bar=True, sync_dist=True)

    def configure_optimizers(self) -> Any:
        """Return AdamW with linear warm-up and decay."""
        from transformers import get_linear_schedule_with_warmup

        decayed: list[torch.nn.Parameter] = []
        plain: list[torch.nn.Parameter] = []
        for name, parameter in self.model.named_parameters():
            spared = name.endswith("bias") or "LayerNorm" in name or "layer_norm" in name
            (plain if spared else decayed).append(parameter)
        groups = [
            {"params": decayed, "weight_decay": self.weight_decay},
            {"params": plain, "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(groups, lr=self.learning_rate)
        steps = int(self.trainer.estimated_stepping_batches)
        schedule = get_linear_schedule_with_warmup(optimizer, int(self.warmup * steps), steps)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "interval": "step"},
        }

    # Dropout after a resume must continue, not repeat: the generators belong to the checkpoint.

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Keep the random state."""
        checkpoint["generators"] = {
            "cpu": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        }

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Take back the random state, to be set when training begins."""
        self._generators = checkpoint.get("generators")

    def on_train_batch_start(self, batch: Any, index: int) -> None:
        """Set the random state of a resumed checkpoint before its first step."""
        if self._generators is not None:
            torch.set_rng_state(self._generators["cpu"].cpu())
            if self._generators["cuda"]:
                torch.cuda.set_rng_state_all([s.cpu() for s in self._generators["cuda"]])
            self._generators = None
