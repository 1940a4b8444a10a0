"""One head of an evaluator of learnedgec as a sequence classifier; it needs torch and transformers alone.

This file is written beside exported heads (`learnedgec.applications.export`), and loaded by
`trust_remote_code=True`.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput


class ExportedHeadConfig(PretrainedConfig):  # type: ignore[misc]
    """An encoder's configuration, and how its states become one number.

    Attributes:
        encoder: the encoder's configuration.
        pooling: the label is linear in the `mean` of the states, in that of `cls`, or in the `pooler`'s
            output; or it is the logarithm of the probability that none of the `tokens` is wrong.
        scale: the factor of the label.
        offset: added to the scaled label.
        layer: the encoder's layer whose states are read, counted from 1; the last one by default.
        others: what every configuration of transformers has.
    """

    model_type = "learnedgec-head"

    def __init__(
        self,
        encoder: dict[str, Any] | None = None,
        pooling: str = "mean",
        scale: float = 1.0,
        offset: float = 0.0,
        layer: int | None = None,
        **others: Any,
    ) -> None:
        self.encoder = dict(encoder or {})
        self.pooling = pooling
        self.scale = scale
        self.offset = offset
        self.layer = layer
        super().__init__(**others)


class ExportedHead(PreTrainedModel):  # type: ignore[misc]
    """An encoder with one output, the `label`."""

    config_class = ExportedHeadConfig
    base_model_prefix = "encoder"

    def __init__(self, config: ExportedHeadConfig) -> None:
        super().__init__(config)
        settings = dict(config.encoder)
        settings.pop("dtype", None)
        encoder = AutoModel.from_config(
            AutoConfig.for_model(settings.pop("model_type"), **settings)
        )
        if config.pooling != "pooler" and getattr(encoder, "pooler", None) is not None:
            encoder.pooler = None
        self.encoder = encoder
        self.classifier = torch.nn.Linear(int(config.encoder["hidden_size"]), 1)
        self.post_init()

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        token_type_ids: torch.Tensor | None = None,
        **_: Any,
    ) -> SequenceClassifierOutput:
        """Return the label as `logits`, (B, 1), for (B, T) ids."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        # Some tokenizers give token types to encoders that know none.
        types = (
            {"token_type_ids": token_type_ids}
            if token_type_ids is not None and getattr(self.encoder.config, "type_vocab_size", 0) > 1
            else {}
        )
        layer = self.config.layer
        output = self.encoder(
            input_ids=input_ids,
            attention_mask=mask,
            output_hidden_states=layer is not None,
            **types,
        )
        states = output.last_hidden_state if layer is None else output.hidden_states[layer]
        if self.config.pooling == "tokens":
            # The logarithm of the probability that a token is not wrong.
            log_right = torch.nn.functional.logsigmoid(-self.classifier(states).squeeze(-1).float())
            label = (log_right * mask).sum(dim=1, keepdim=True)
        elif self.config.pooling == "pooler":
            label = self.classifier(output.pooler_output)
        elif self.config.pooling == "cls":
            label = self.classifier(states[:, 0])
        else:
            weights = mask.unsqueeze(-1).to(states.dtype)
            mean = (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)
            label = self.classifier(mean)
        return SequenceClassifierOutput(logits=label * self.config.scale + self.config.offset)
