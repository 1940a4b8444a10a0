"""The model that a training run starts from: a pretrained encoder with new heads, or another evaluator."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, Literal

import torch
from jsonargparse.typing import NonNegativeFloat, PositiveInt, restricted_number_type

from learnedgec.data.catalog.registry import ENCODERS, check_permissive
from learnedgec.errors import ConfigError, ModelError
from learnedgec.evaluators import RELEASES
from learnedgec.evaluators.evaluator import (
    Evaluator,
    EvaluatorModel,
    Gate,
    HeadConfig,
    Pooling,
)
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
from learnedgec.training.objectives import HeadOptions


@dataclass
class Lora:
    """Low-rank weights that are trained beside a frozen encoder's matrices (`evaluators.lora`).

    Attributes:
        rank: their rank.
        layers: number of the encoder's uppermost layers that have them; all by default.
    """

    rank: PositiveInt
    layers: int | None = None


Share = restricted_number_type("Share", float, [(">=", 0), ("<", 1)])
Tokens = restricted_number_type("Tokens", int, (">=", 3))


@dataclass(frozen=True)
class ModelSettings:
    """The model of a training and its optimisation: the keys of `model` in a configuration.

    Attributes:
        heads: name of each head (for regression, of a rated dimension) -> its training options
            (`--model.heads.help` explains them).
        encoder: hub id, directory or `pkg:module/folder` of the pretrained encoder; or an evaluator, by
            name or directory, to continue from its encoder and from its heads with the same name, input and
            kind of data (ratings, ranked pairs, wrong words). Other heads start untrained.
        layer: leave out the encoder's layers above this one, counted from 1. If it is an evaluator's, only
            the heads that are named here go on.
        pooling: the input of a head: the `mean` of the encoder's states, the first state (`cls`), or BERT's
            pretrained `pooler` on top of it (as in `BertForSequenceClassification`).
        dropout: dropout rate before the heads.
        max_tokens: maximum length of an input in tokens; longer ones are truncated.
        learning_rate: peak learning rate of the heads, reached after warm-up.
        weight_decay: weight decay, except for biases and normalisation.
        warmup: share of all steps for the warm-up.
        schedule: the learning rate after warm-up: it falls to 0, `linear` or as a `cosine`, or stays
            `constant`.
        gradient_checkpointing: compute the encoder's states twice instead of keeping them, which takes less
            memory and about a third more time.
        consistency: weight of the loss on `data.cases`, α in the paper RobustGEC.
        sums: output -> head -> weight, or `{weight: w, below: t}` for w · min(head − t, 0), a guard that only
            charges. A sum may replace the head of its name. Sums of unchanged heads stay.
        lora: freeze the encoder and train low-rank weights beside its matrices, of this `rank`, in its
            uppermost `layers` (all by default), ten times as fast as the heads. Required for 4-bit encoders.
            Heads that read the other input stay the same. An evaluator's own low-rank weights are trained
            further if rank, layers and inputs are equal, else removed. By default the whole encoder is
            trained.
        frozen_layers: number of the encoder's lowest layers to freeze, with its embeddings. If all are
            frozen, a continued evaluator's low-rank weights and other heads stay as they are.
        gate: which hypotheses `some`, `quality` and `impara` take for corrections when they read the package:
            those with enough `characters` in common with their source; those whose `cosine` with it, by the
            pretrained encoder, is above 0.9, as in IMPARA's paper; or all (`none`), as in SOME's.
    """

    heads: dict[str, HeadOptions] = field(default_factory=dict)
    encoder: str = "bert-base-cased"
    layer: PositiveInt | None = None
    pooling: Pooling = "mean"
    dropout: Share = 0.1  # type: ignore[valid-type]
    max_tokens: Tokens = 128  # type: ignore[valid-type]
    learning_rate: NonNegativeFloat = 2e-5
    weight_decay: NonNegativeFloat = 0.01
    warmup: Share = 0.1  # type: ignore[valid-type]
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    gradient_checkpointing: bool = False
    consistency: NonNegativeFloat = 1.0
    sums: dict[str, dict[str, float | dict[str, float]]] | None = None
    lora: Lora | None = None
    frozen_layers: int | None = None
    gate: Gate = "characters"


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


def start_model(heads: Mapping[str, HeadConfig], settings: ModelSettings) -> Start:
    """Return the model that training starts from.

    New weights, those of heads and of low rank, begin alike whatever the seed; seeds differ in the order of
    the data and in dropout. Heads that begin apart teach the encoder different directions, so the mean of
    their runs' weights is too small: it had .4 of their spread (docs/lab/tried.md).

    Args:
        heads: the heads that it is to train.
        settings: the settings of the training.

    Raises:
        ConfigError: the options do not suit each other or the encoder.
        ModelError: the encoder cannot be loaded; the message suggests a similar name.
    """
    inputs = sorted({head.input for head in heads.values()})
    encoder, frozen_layers = settings.encoder, settings.frozen_layers
    # Numbers are made plain, because a configuration or a checkpoint may not hold the parser's own types.
    options: dict[str, Any] = {
        "pooling": settings.pooling,
        "dropout": float(settings.dropout),
        "max_tokens": int(settings.max_tokens),
        "sums": settings.sums or {},
        "lora": {**asdict(settings.lora), "inputs": inputs} if settings.lora else {},
        "gate": settings.gate,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        if encoder in RELEASES or is_evaluator(encoder):
            start = _continued(heads, open_package(encoder), settings, options)
        else:
            try:
                pretrained = load_pretrained(encoder, layer=settings.layer)
            except ModelError as error:
                raise ModelError(f"{error}{_suggestion(encoder)}") from None
            model = _model(pretrained, encoder, heads, options)
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
    settings: ModelSettings,
    options: Mapping[str, Any],
) -> Start:
    """Return a model with an evaluator's encoder, its heads that stay as they are, and the heads to train."""
    first = copy.deepcopy(Evaluator.of(package, Runtime()).model).cpu().requires_grad_(True)
    config, encoder = first.config, first.encoder
    if settings.layer is not None:
        keep_layers(encoder, settings.layer)
    frozen = not settings.lora and settings.frozen_layers == len(encoder_layers(encoder))
    lora = config.lora if frozen else options["lora"]
    if config.lora != lora:
        remove_lora(encoder)

    def reads_the_same(kind: str) -> bool:
        return kind not in lora["inputs"] and (config.lora == lora or not config.uses_lora(kind))

    staying = {
        head: config.head(head)
        for head in config.heads
        if head not in heads
        and settings.layer is None  # else the states that it reads are gone or about to change
        and (frozen or (lora and reads_the_same(config.head(head).input)))
    }
    _check_pooling(package.path, settings.pooling, config.pooling, staying)
    sums = {
        output: parts
        for output, parts in config.sums.items()
        if output not in heads and not set(parts) - set(staying)
    }
    sums |= options["sums"]
    options = {**options, "sums": sums, "lora": lora}
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
    """Give a model the heads of the first one that continue, and return the names of the untrained ones.

    A head with the name of a sum, and of no head, begins as the sum's heaviest part.
    """
    config = first.config

    def origin(head: str) -> tuple[str, float]:
        """Return the head that a head continues, and the weight of its values."""
        terms = read_terms(config.sums[head]) if head in config.sums else {}
        weights = {part: term.weight for part, term in terms.items() if term.below is None}
        return max(weights.items(), key=itemgetter(1)) if weights else (head, 1.0)

    origins = {head: (head, 1.0) if head in config.heads else origin(head) for head in model.heads}
    # Heads continue only if they read and learn the same: the values of a head that ranks pairs, for example,
    # have no relation to a scale of ratings.
    kind = attrgetter("input", "reads", "layer", "rated")
    untrained = [
        head
        for head, new in heads.items()
        if origins[head][0] not in config.heads or kind(config.head(origins[head][0])) != kind(new)
    ]
    for head, (name, weight) in origins.items():
        if head not in untrained:
            model.heads[head].load_state_dict(first.heads[name].state_dict())
            old = first.head_configs[name]
            model.configure_head(head, offset=weight * old.offset, scale=weight * old.scale)
    return untrained


def _model(
    encoder: torch.nn.Module,
    name: str,
    heads: Mapping[str, HeadConfig],
    options: Mapping[str, Any],
) -> EvaluatorModel:
    """Return a model of an encoder and new heads, after checking its heads and sums."""
    depth = len(encoder_layers(encoder))
    for head, config in heads.items():
        if config.layer is not None and not 1 <= config.layer <= depth:
            raise ConfigError(
                f"model.heads.{head}: layer is {config.layer}, but the encoder has {depth} layers; name "
                "one of them."
            )
    for output, parts in options["sums"].items():
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
    return EvaluatorModel.from_encoder(encoder, heads, **options)
