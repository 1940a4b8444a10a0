"""The model that a training run starts from: a pretrained encoder with new heads, or another evaluator."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from operator import attrgetter
from pathlib import Path
from typing import Any

import torch
from jsonargparse.typing import PositiveInt

from learnedgec.data.catalog.registry import ENCODERS, check_permissive
from learnedgec.errors import ConfigError, ModelError
from learnedgec.evaluators import RELEASES
from learnedgec.evaluators.evaluator import Evaluator, EvaluatorModel, HeadConfig
from learnedgec.evaluators.loading import load_pretrained, load_tokenizer
from learnedgec.evaluators.locations import is_evaluator, list_evaluators, open_package
from learnedgec.evaluators.lora import (
    encoder_layers,
    freeze_layers,
    is_lora,
    keep_layers,
    remove_lora,
)
from learnedgec.evaluators.package import Package, manifest_tools, read_terms
from learnedgec.runtime.runtime import Runtime


@dataclass
class Lora:
    """Low-rank weights that are trained beside a frozen encoder's matrices (`evaluators.lora`).

    Attributes:
        rank: their rank.
        layers: number of the encoder's uppermost layers that have them; all by default.
    """

    rank: PositiveInt
    layers: int | None = None


@dataclass
class Start:
    """The model and the tokenizer with which a run starts.

    Attributes:
        model: the model with its heads; parameters that are not trained need no gradient.
        tokenizer: its tokenizer.
        encoder: name of the pretrained encoder.
        continued: the package of the continued evaluator, if any.
        notice: one sentence on the heads and sums of the continued evaluator; `None` without one.
    """

    model: EvaluatorModel
    tokenizer: Any
    encoder: str
    continued: Package | None = None
    notice: str | None = None


def start_model(
    heads: Mapping[str, HeadConfig],
    encoder: str,
    *,
    layer: int | None,
    lora: Lora | None,
    frozen_layers: int | None,
    **settings: Any,
) -> Start:
    """Return the model that training starts from.

    New weights, those of heads and of low rank, begin alike whatever the seed; seeds differ in the order of
    the data and in dropout. Heads that begin apart teach the encoder different directions, so the mean of
    their runs' weights is too small: it had .4 of their spread (docs/lab/tried.md).

    Args:
        heads: the heads that it is to train.
        encoder: a pretrained encoder, or an evaluator to continue.
        layer: the encoder's last layer (`EvaluatorModule`).
        lora: the low-rank weights (`EvaluatorModule`).
        frozen_layers: number of frozen layers (`EvaluatorModule`).
        settings: other attributes of `EvaluatorConfig`.

    Raises:
        ConfigError: the options do not suit each other or the encoder.
        ModelError: the encoder cannot be loaded; the message suggests a similar name.
    """
    inputs = sorted({head.input for head in heads.values()})
    settings["lora"] = {**asdict(lora), "inputs": inputs} if lora else {}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if encoder in RELEASES or is_evaluator(encoder):
            start = _continued(heads, open_package(encoder), layer, frozen_layers, settings)
        else:
            try:
                pretrained = load_pretrained(encoder, layer=layer)
            except ModelError as error:
                raise ModelError(f"{error}{_suggestion(encoder)}") from None
            model = _model(pretrained, encoder, heads, settings)
            start = Start(model, load_tokenizer(encoder), encoder)
    model = start.model
    if model.config.pooling == "cls":
        _check_first_token(start.tokenizer, encoder)
    if model.config.lora:
        for name, parameter in model.encoder.named_parameters():
            parameter.requires_grad_(is_lora(name))
    for name, head in model.heads.items():
        head.requires_grad_(name in heads)
    if frozen_layers is not None:
        freeze_layers(model.encoder, frozen_layers)
    model.train()
    return start


def _suggestion(encoder: str) -> str:
    """Return a question about the evaluator or encoder whose name is most like one that cannot be loaded."""
    known = [*list_evaluators(), *RELEASES, *ENCODERS, *ENCODERS.values()]
    # Many leave out the owner of a model.
    names = {name.rpartition("/")[2].lower(): name for name in known if not name.startswith("pkg:")}
    names |= {name.lower(): name for name in known}
    nearest = [names[name] for name in get_close_matches(encoder.lower(), names, n=1, cutoff=0.75)]
    return "".join(f" Did you mean {name!r}?" for name in nearest if name != encoder)


def check_start(encoder: str) -> None:
    """Raise `ConfigError` unless the encoder, or the evaluator to continue, allows commercial use."""
    if is_evaluator(encoder):
        package = open_package(encoder)
        tools = manifest_tools(package.manifest)
        check_permissive(package.encoder, package.datasets, tools, evaluator=encoder)
    else:
        check_permissive(encoder, ())


def _continued(
    heads: Mapping[str, HeadConfig],
    package: Package,
    layer: int | None,
    frozen_layers: int | None,
    settings: Mapping[str, Any],
) -> Start:
    """Return a model with an evaluator's encoder, its heads that stay as they are, and the heads to train."""
    first = copy.deepcopy(Evaluator.of(package, Runtime()).model).cpu().requires_grad_(True)
    config, encoder = first.config, first.encoder
    if layer is not None:
        keep_layers(encoder, layer)
    frozen = not settings["lora"] and frozen_layers == len(encoder_layers(encoder))
    lora = config.lora if frozen else settings["lora"]
    if config.lora != lora:
        remove_lora(encoder)

    def reads_the_same(kind: str) -> bool:
        return kind not in lora["inputs"] and (config.lora == lora or not config.uses_lora(kind))

    staying = {
        head: config.head(head)
        for head in config.heads
        if head not in heads
        and layer is None  # else the states that it reads are gone or about to change
        and (frozen or (lora and reads_the_same(config.head(head).input)))
    }
    _check_pooling(package.path, settings["pooling"], config.pooling, staying)
    sums = {
        output: parts
        for output, parts in config.sums.items()
        if output not in heads and not set(parts) - set(staying)
    }
    sums |= settings["sums"]
    options = {**settings, "sums": sums, "lora": lora}
    model = _model(encoder, package.name, staying | dict(heads), options)
    untrained = _continue_heads(model, first, heads)
    about = {
        "heads that continue": [head for head in heads if head not in untrained],
        "heads that start untrained": untrained,
        "heads that stay as they are": list(staying),
        "sums that are not passed on (name them in model.sums)": [
            output for output in config.sums if output not in sums
        ],
    }
    parts = [f"; {heading}: {', '.join(names)}" for heading, names in about.items() if names]
    notice = f"Continuing {package.manifest['name']}{''.join(parts)}."
    return Start(model, load_tokenizer(str(package.path)), package.encoder, package, notice)


def _check_first_token(tokenizer: Any, encoder: str) -> None:
    """Raise `ConfigError` unless a text begins with the token whose state `cls` reads."""
    first = tokenizer("a")["input_ids"][0]
    if first not in (tokenizer.cls_token_id, tokenizer.bos_token_id):
        raise ConfigError(
            f"model.pooling is cls, but no text begins with such a token for the encoder {encoder}; set "
            "model.pooling to mean."
        )


def _check_pooling(folder: Path, new: str, old: str, staying: Mapping[str, HeadConfig]) -> None:
    """Raise `ConfigError` unless heads that stay can read the pooling, and the evaluator has it."""
    pooled = [head for head, options in staying.items() if options.reads == "pooled"]
    if pooled and new != old:
        raise ConfigError(
            f"model.pooling is {new}, but {', '.join(pooled)} of {folder} stay as they are and read {old}; "
            f"set model.pooling to {old}."
        )
    if new == "pooler" != old:
        raise ConfigError(f"model.pooling: the evaluator {folder} has no pooler; name {old}.")


def _continue_heads(
    model: EvaluatorModel, first: EvaluatorModel, heads: Mapping[str, HeadConfig]
) -> list[str]:
    """Give a model the heads of the first one that continue, and return the names of the untrained ones."""
    config = first.config
    # Heads of the same name continue only if they read and learn the same: the values of a head that ranks
    # pairs, for example, have no relation to a scale of ratings.
    kind = attrgetter("input", "reads", "layer", "rated")
    untrained = [
        head
        for head, new in heads.items()
        if head not in config.heads or kind(config.head(head)) != kind(new)
    ]
    for head in model.heads:
        if head not in untrained:
            model.heads[head].load_state_dict(first.heads[head].state_dict())
            old = first.head_configs[head]
            model.configure_head(head, offset=old.offset, scale=old.scale)
    return untrained


def _model(
    encoder: torch.nn.Module,
    name: str,
    heads: Mapping[str, HeadConfig],
    settings: Mapping[str, Any],
) -> EvaluatorModel:
    """Return a model of an encoder and new heads, after checking its heads and sums."""
    depth = len(encoder_layers(encoder))
    for head, options in heads.items():
        if options.layer is not None and not 1 <= options.layer <= depth:
            raise ConfigError(
                f"model.heads.{head}: layer is {options.layer}, but the encoder has {depth} layers; name "
                "one of them."
            )
    for output, parts in settings["sums"].items():
        try:
            read_terms(parts)
        except TypeError:
            raise ConfigError(
                f"model.sums.{output}: a part is a weight, or {{weight: …, below: …}}; {parts} was given."
            ) from None
        if not parts or set(parts) - set(heads):
            raise ConfigError(
                f"model.sums.{output}: a sum needs parts among the heads {', '.join(heads)}; its parts are "
                f"{', '.join(parts) or 'none'}."
            )
    encoder_config: Any = encoder.config
    encoder_config.name_or_path = name  # not the place of a `pkg:` encoder on this machine
    return EvaluatorModel.from_encoder(encoder, heads, **settings)
