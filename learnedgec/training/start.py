"""The model that a training run starts from: a pretrained encoder with new heads, or another evaluator."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import torch
from jsonargparse.typing import PositiveInt

from learnedgec.data.catalog.licences import check_permissive
from learnedgec.errors import ConfigError
from learnedgec.evaluators.evaluator import (
    Evaluator,
    EvaluatorConfig,
    EvaluatorModel,
    Gate,
    HeadConfig,
    Pooling,
)
from learnedgec.evaluators.loading import load_pretrained, load_tokenizer
from learnedgec.evaluators.lora import (
    encoder_layers,
    freeze_layers,
    is_lora,
    remove_lora,
    widen_lora,
)
from learnedgec.evaluators.packages import (
    check_package,
    find_evaluator,
    is_evaluator,
    manifest_datasets,
    open_package,
)


@dataclass
class Lora:
    """Low-rank weights that are trained beside a frozen encoder's matrices (`evaluators.lora`).

    Attributes:
        rank: their rank.
        layers: number of the encoder's uppermost layers that have them; all by default.
    """

    rank: PositiveInt
    layers: int | None = None


@dataclass(frozen=True)
class ModelOptions:
    """The options of `EvaluatorModule` that decide where training starts; see there."""

    encoder: str
    layer: int | None
    pooling: Pooling
    dropout: float
    max_tokens: int
    allow_pickle: bool
    sums: Mapping[str, Mapping[str, float]]
    lora: Lora | None
    frozen_layers: int | None
    gate: Gate


@dataclass
class Start:
    """Where a run starts.

    Attributes:
        model: the model with its heads; parameters that are not trained need no gradient.
        tokenizer: its tokenizer.
        encoder: name of the pretrained encoder.
        continued: manifest of the continued evaluator, if any.
        notice: one sentence on which heads and sums of the continued evaluator go on; `None` without one.
    """

    model: EvaluatorModel
    tokenizer: Any
    encoder: str
    continued: dict[str, Any] | None = None
    notice: str | None = None


def start_model(heads: Mapping[str, HeadConfig], options: ModelOptions) -> Start:
    """Return the model that training starts from, with the heads that it is to train.

    Raises:
        ConfigError: the options do not suit each other or the encoder.
    """
    build = _continued if is_evaluator(options.encoder) else _new
    start = build(heads, options)
    model = start.model
    if model.config.lora:
        for name, parameter in model.encoder.named_parameters():
            parameter.requires_grad_(is_lora(name))
    for name, head in model.heads.items():
        head.requires_grad_(name in heads)
    if options.frozen_layers is not None:
        freeze_layers(model.encoder, options.frozen_layers)
    model.train()
    return start


def check_start(encoder: str) -> None:
    """Raise `ConfigError` unless the encoder, or the evaluator to continue, allows commercial use."""
    if is_evaluator(encoder):
        manifest = open_package(encoder).manifest
        check_permissive(manifest["encoder"], manifest_datasets(manifest), evaluator=encoder)
    else:
        check_permissive(encoder, ())


def _new(heads: Mapping[str, HeadConfig], options: ModelOptions) -> Start:
    """Put new heads on a pretrained encoder."""
    encoder = load_pretrained(
        options.encoder, allow_pickle=options.allow_pickle, layer=options.layer
    )
    tokenizer = load_tokenizer(options.encoder)
    model = _model(encoder, heads, options, options.sums, _lora(heads, options))
    return Start(model, tokenizer, options.encoder)


def _continued(heads: Mapping[str, HeadConfig], options: ModelOptions) -> Start:
    """Take the encoder of an evaluator, the heads that stay as they are, and those that are trained on."""
    name = options.encoder
    if options.layer is not None:
        raise ConfigError(
            f"model.layer: {name} is already an evaluator and keeps its layers; leave the key out."
        )
    folder = find_evaluator(name)
    manifest = check_package(folder)
    first = copy.deepcopy(Evaluator.load(str(folder)).model).cpu().requires_grad_(True)
    config = first.config
    encoder, tokenizer = first.encoder, load_tokenizer(str(folder))
    frozen = options.lora is None and options.frozen_layers == len(encoder_layers(encoder))
    lora = config.lora if frozen else _lora(heads, options)
    earlier = {}
    if config.lora and config.lora != lora:
        if _is_wider(lora, config.lora, len(encoder_layers(encoder))):
            earlier = {
                name: weight for name, weight in encoder.state_dict().items() if is_lora(name)
            }
        remove_lora(encoder)
    staying = {
        head: config.head(head)
        for head in config.heads
        if head not in heads and (frozen or _unaffected(config, head, lora))
    }
    pooled = [head for head, settings in staying.items() if settings.reads == "pooled"]
    _check_pooling(options.pooling, config.pooling, pooled, str(folder))
    passed = {
        output: parts
        for output, parts in config.sums.items()
        if output not in heads and not set(parts) - set(staying)
    }
    sums = passed | dict(options.sums)
    model = _model(encoder, staying | dict(heads), options, sums, lora)
    widen_lora(model.encoder, earlier)
    untrained = [head for head, wanted in heads.items() if not _continues(head, wanted, config)]
    for head, settings in model.config.heads.items():
        if head not in untrained:
            model.heads[head].load_state_dict(first.heads[head].state_dict())
            settings |= {key: config.heads[head][key] for key in ("offset", "scale")}
    about = {
        "heads that continue": [head for head in heads if head not in untrained],
        "heads that start untrained": untrained,
        "sums that are not passed on (name them in model.sums)": [
            output for output in config.sums if output not in sums
        ],
    }
    parts = [f"; {what}: {', '.join(names)}" for what, names in about.items() if names]
    notice = f"Continuing {manifest['name']}{''.join(parts)}."
    return Start(model, tokenizer, str(manifest["encoder"]), manifest, notice)


def _check_pooling(new: Pooling, old: Pooling, pooled: Sequence[str], folder: str) -> None:
    """Raise `ConfigError` if heads that stay read other pooled states, or the evaluator lacks a pooler."""
    if pooled and new != old:
        raise ConfigError(
            f"model.pooling is {new}, but {', '.join(pooled)} of {folder} stay as they are and read {old}; "
            f"set model.pooling to {old}."
        )
    if new == "pooler" != old:
        raise ConfigError(f"model.pooling: the evaluator {folder} has no pooler; name {old}.")


def _model(
    encoder: torch.nn.Module,
    heads: Mapping[str, HeadConfig],
    options: ModelOptions,
    sums: Mapping[str, Mapping[str, float]],
    lora: Mapping[str, Any],
) -> EvaluatorModel:
    """Return a model of an encoder and new heads, after checking its heads and sums."""
    depth = len(encoder_layers(encoder))
    for name, head in heads.items():
        if head.layer is not None and not 1 <= head.layer <= depth:
            raise ConfigError(
                f"model.heads.{name}: layer is {head.layer}, but the encoder has {depth} layers; name one "
                "of them."
            )
    for name, parts in options.sums.items():
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
    settings: Any = encoder.config
    settings.name_or_path = options.encoder  # not the place of a `pkg:` encoder on this machine
    return EvaluatorModel.from_encoder(
        encoder,
        heads,
        pooling=options.pooling,
        dropout=options.dropout,
        max_tokens=options.max_tokens,
        sums=sums,
        lora=lora,
        gate=options.gate,
    )


def _lora(heads: Mapping[str, HeadConfig], options: ModelOptions) -> dict[str, Any]:
    """Return the settings of the low-rank weights: they serve the inputs that the trained heads read."""
    if options.lora is None:
        return {}
    inputs = sorted({head.input for head in heads.values()})
    return {"rank": options.lora.rank, "layers": options.lora.layers, "inputs": inputs}


def _is_wider(new: Mapping[str, Any], old: Mapping[str, Any], depth: int) -> bool:
    """Return whether low-rank weights for the same inputs have the earlier rank and layers, and more."""
    layers, old_layers = (settings.get("layers") or depth for settings in (new, old))
    return bool(
        new
        and new["inputs"] == old["inputs"]
        and new["rank"] >= old["rank"]
        and layers >= old_layers
    )


def _unaffected(config: EvaluatorConfig, head: str, lora: Mapping[str, Any]) -> bool:
    """Return whether an evaluator's head reads the same states with these low-rank weights as before."""
    kind = config.head(head).input
    if not lora or kind in lora["inputs"]:
        return False
    return bool(config.lora == lora) or not config.uses_lora(kind)


def _continues(name: str, wanted: HeadConfig, config: EvaluatorConfig) -> bool:
    """Return whether a head continues the evaluator's head of its name.

    A head of the same name that reads or learned something else is another head: the values of one that
    ranks pairs, for example, have no relation to a scale of ratings.
    """
    same = attrgetter("input", "reads", "layer", "rated")
    return name in config.heads and bool(same(config.head(name)) == same(wanted))
