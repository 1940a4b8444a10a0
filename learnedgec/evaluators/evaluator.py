"""Trained evaluators: one encoder with named heads, loaded from a package (`package`).

Once this module is imported, which `from learnedgec import Evaluator` does, `AutoConfig.from_pretrained` and
`AutoModel.from_pretrained` of transformers load packages too. `import learnedgec` alone does not: it loads
neither torch nor transformers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch.nn.functional import logsigmoid
from transformers import AutoConfig, AutoModel, AutoTokenizer, PretrainedConfig, PreTrainedModel

from learnedgec._version import __version__
from learnedgec.data.sentences import Sentences, as_sentences
from learnedgec.data.text import check_lengths
from learnedgec.errors import ConfigError, InputError, PackageError, UnknownNameError
from learnedgec.evaluators.inference import (
    CAPITAL,
    UNMARKED,
    Batch,
    Item,
    KnownRows,
    mean_pool,
    model_inputs,
    run,
)
from learnedgec.evaluators.loading import Uninitialised, quiet_transformers, torch_device
from learnedgec.evaluators.locations import (
    copy_package,
    fetch_package,
    open_package,
    push_evaluator,
)
from learnedgec.evaluators.lora import add_lora, inference_encoder, using_lora
from learnedgec.evaluators.package import (
    MODEL_TYPE,
    Package,
    Parts,
    open_folder,
    output_names,
    read_terms,
)
from learnedgec.evaluators.package import HeadConfig as HeadConfig
from learnedgec.evaluators.precision import Precision, evaluator_precision, read_weights
from learnedgec.runtime.files import PathLike
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats

Pooling = Literal["mean", "cls", "pooler"]
Gate = Literal["characters", "cosine", "none"]
# The lower bound of the log-probability of a word's capitals, so that a rare name does not outweigh the rest.
_LEAST_OF_WORD = -4.0
# The lower bound for a text, so that a long text in another style is not worse than an unrelated text.
_LEAST_OF_TEXT = -40.0

# The number of inputs of one kind whose values stay in memory, unless one call has more.
_MAX_REMEMBERED = 100_000


class EvaluatorConfig(PretrainedConfig):  # type: ignore[misc]
    """Architecture of an evaluator: configuration of the encoder, pooling, heads and their sums.

    Attributes:
        sums: name of an output -> head -> weight of the head's value in the sum, or `weight` and `below` of a
            guard (`package.Term`). A sum with the name of a head is the output of this name in place of the
            head's bare value.
        lora: `rank` and `layers` of the low-rank matrices beside the encoder's (`evaluators.lora`), and
            `inputs`, the kinds of input that use them; empty if there are none.
        corrections: the name of `lora` in older packages.
        encoder: configuration of the encoder.
        heads: head -> fields of its `HeadConfig`.
        pooling: `mean` of the encoder's states, the first state (`cls`), or BERT's `pooler`.
        dropout: dropout rate before the heads.
        max_tokens: maximum length of an input in tokens.
        gate: which hypotheses count as corrections by default where `some`, `quality` or `impara` reads the
            package: those with enough `characters` in common with their source, those near to it by the
            `cosine` of the pretrained encoder (IMPARA's paper), or all (`none`, SOME's paper).
        others: options of `PretrainedConfig`.
    """

    model_type = MODEL_TYPE

    def __init__(
        self,
        encoder: Mapping[str, Any] | None = None,
        heads: Mapping[str, Mapping[str, Any]] | None = None,
        pooling: Pooling = "mean",
        dropout: float = 0.1,
        max_tokens: int = 128,
        sums: Mapping[str, Parts] | None = None,
        lora: Mapping[str, Any] | None = None,
        corrections: Mapping[str, Any] | None = None,
        gate: Gate = "characters",
        **others: Any,
    ) -> None:
        self.encoder = dict(encoder or {})
        self.heads = {name: dict(head) for name, head in (heads or {}).items()}
        self.sums = {name: dict(parts) for name, parts in (sums or {}).items()}
        self.lora = dict(lora or corrections or {})
        self.pooling = pooling
        self.dropout = dropout
        self.max_tokens = max_tokens
        self.gate = gate
        super().__init__(**others)

    def head(self, name: str) -> HeadConfig:
        """Return one head's configuration."""
        return HeadConfig(**self.heads[name])

    def uses_lora(self, kind: str) -> bool:
        """Return whether inputs of this kind use the encoder's low-rank matrices."""
        return kind in self.lora.get("inputs", ())


def check_encoder(encoder: Any, config: EvaluatorConfig) -> None:
    """Raise `ConfigError` unless an encoder can read and pool texts as an evaluator's configuration says.

    Args:
        encoder: a transformer.
        config: the configuration.
    """
    kind = encoder.config.model_type
    if encoder.config.is_encoder_decoder:
        raise ConfigError(
            f"model.encoder: {kind} is an encoder with a decoder, of which no head reads the states; name a "
            "model of one of the two, such as bert-base-cased."
        )
    most = max_positions(encoder)
    if most is not None and config.max_tokens > most:
        raise ConfigError(
            f"model.max_tokens is {config.max_tokens}, but the encoder ({kind}) has {most} positions; give "
            f"at most {most}."
        )
    if config.pooling == "pooler" and getattr(encoder, "pooler", None) is None:
        raise ConfigError(
            f"model.pooling is pooler, but the encoder ({kind}) has none; name mean or cls."
        )


def max_positions(encoder: torch.nn.Module) -> int | None:
    """Return the number of tokens for which an encoder has positions, or `None` if it has no table of them.

    Example:
        >>> encoder = torch.nn.ModuleDict({"position_embeddings": torch.nn.Embedding(514, 8, padding_idx=1)})
        >>> max_positions(encoder)
        512
    """
    tables = [
        # Where the table has a row for padding, as in RoBERTa, positions are counted from the next row on.
        module.num_embeddings - (0 if module.padding_idx is None else module.padding_idx + 1)
        for name, module in encoder.named_modules()
        if isinstance(module, torch.nn.Embedding)
        and name.rpartition(".")[2] in ("position_embeddings", "wpe")
    ]
    return min(tables, default=None)


class EvaluatorModel(PreTrainedModel):  # type: ignore[misc]
    """One encoder and a linear head per output.

    `forward` returns the value of each requested head for each input, in the units of the ratings. It calls
    `encode`, and then `values` and `token_logits`, which read the encoder's output.
    """

    config_class = EvaluatorConfig
    base_model_prefix = "encoder"

    def __init__(self, config: EvaluatorConfig, encoder: torch.nn.Module | None = None) -> None:
        super().__init__(config)
        if encoder is None:
            settings = {key: value for key, value in config.encoder.items() if key != "dtype"}
            encoder = AutoModel.from_config(
                AutoConfig.for_model(**settings), trust_remote_code=False
            )
        if config.pooling != "pooler" and getattr(encoder, "pooler", None) is not None:
            encoder.pooler = None
        if config.lora:
            add_lora(encoder, config.lora["rank"], config.lora["layers"])
        self.encoder: Any = encoder
        self.dropout = torch.nn.Dropout(config.dropout)
        check_encoder(encoder, config)
        # Its names are mapped: DistilBERT calls the width `dim`, and GPT-2 `n_embd`.
        architecture: Any = self.encoder.config
        width = int(architecture.hidden_size)
        self.heads = torch.nn.ModuleDict({name: torch.nn.Linear(width, 1) for name in config.heads})
        self.head_configs = {name: HeadConfig(**head) for name, head in config.heads.items()}
        self.post_init()

    @classmethod
    def from_pretrained(cls, path: str | os.PathLike[str], **options: Any) -> EvaluatorModel:
        """Load the model of a package with transformers' options; its weights may be packed.

        Args:
            path: directory of the package, or a hub ID.
            options: options of transformers, such as `config`, `revision` and `dtype`.
        """
        revision = options.pop("revision", None)
        folder = Path(path)
        if not folder.is_dir():
            folder = fetch_package(os.fspath(path) + (f"@{revision}" if revision else ""))
        config = options.pop("config", None)
        if config is None:
            config = EvaluatorConfig.from_pretrained(folder, local_files_only=True)
        weights = read_weights(folder)
        model: EvaluatorModel = super().from_pretrained(
            None, config=config, state_dict=weights, **options
        )
        return model

    @classmethod
    def from_encoder(
        cls, encoder: Any, heads: Mapping[str, HeadConfig], **settings: Any
    ) -> EvaluatorModel:
        """Put new heads on a pretrained encoder.

        Args:
            encoder: pretrained encoder.
            heads: head -> its configuration.
            settings: other attributes of `EvaluatorConfig`.
        """
        config = EvaluatorConfig(
            encoder=encoder.config.to_dict(),
            heads={name: asdict(head) for name, head in heads.items()},
            **settings,
        )
        return cls(config, encoder)

    def _init_weights(self, module: torch.nn.Module) -> None:
        """Initialise heads with small weights, so that the first predictions are near the mean rating."""
        if isinstance(module, torch.nn.Linear) and module.out_features == 1:
            torch.nn.init.normal_(module.weight, std=0.02)
            torch.nn.init.zeros_(module.bias)

    def configure_head(self, name: str, **changes: Any) -> None:
        """Change fields of a head's configuration, such as its units."""
        self.head_configs[name] = replace(self.head_configs[name], **changes)
        self.config.heads[name] = asdict(self.head_configs[name])

    def encode(self, batch: Batch, kind: str, encoder: Any = None) -> Any:
        """Return the encoder's output for (B, T) token IDs of one kind of input, `hypothesis` or `pair`.

        Args:
            batch: the token IDs, with their mask.
            kind: the kind of input.
            encoder: an encoder that computes the same as the model's (`inference_encoder`).
        """
        encoder = encoder or self.encoder
        lower = any(head.layer is not None for head in self.head_configs.values())
        with using_lora(self.config.uses_lora(kind)):
            return encoder(
                **model_inputs(batch, encoder), output_hidden_states=True if lower else None
            )

    def pool(self, output: Any, batch: Batch) -> torch.Tensor:
        """Return one vector per input, (B, H), pooled from the encoder's output."""
        if self.config.pooling == "pooler":
            pooled: torch.Tensor = output.pooler_output
        elif self.config.pooling == "cls":
            pooled = output.last_hidden_state[:, 0]
        else:
            pooled = mean_pool(output.last_hidden_state.float(), batch["attention_mask"])
        return pooled.float()

    def token_logits(self, output: Any, name: str) -> torch.Tensor:
        """Return a token head's logits that each token is wrong, or begins with a capital, (B, T)."""
        layer = self.head_configs[name].layer
        states = output.last_hidden_state if layer is None else output.hidden_states[layer]
        return self._head(name, self.dropout(states))

    def values(self, output: Any, batch: Batch, heads: Sequence[str]) -> dict[str, torch.Tensor]:
        """Return each head's value, (B,), for the encoder's output.

        Args:
            output: the encoder's output.
            batch: the batch, for its attention mask, its `capitals` where a head reads them, and its
                `hypothesis` where a head reads the tokens of pairs.
            heads: names of the heads.

        Raises:
            InputError: the batch has no marks of the capitals or of the hypothesis that a head reads.
        """
        values = {}
        pooled: torch.Tensor | None = None
        for name in heads:
            head = self.head_configs[name]
            if head.marks not in batch:
                raise InputError(
                    f"the head {name} reads the marks {head.marks!r}, which the batch does not have; name "
                    "other heads, or use Evaluator.predict."
                )
            if head.reads == "tokens":
                right = logsigmoid(-self.token_logits(output, name).float())
                value = (right * batch[head.marks]).sum(dim=1)
            elif head.reads == "capitals":
                logits = self.token_logits(output, name).float()
                value = capitals_likelihood(logits, batch[head.marks])
            else:
                pooled = self.dropout(self.pool(output, batch)) if pooled is None else pooled
                value = self._head(name, pooled)
            values[name] = value * head.scale + head.offset
        return values

    def _head(self, name: str, states: torch.Tensor) -> torch.Tensor:
        """Return a head's output for states (…, H), in float32 even if the encoder runs in bfloat16.

        bfloat16 has only 64 values between the ratings 3 and 4, too few to rank similar sentences.
        """
        with torch.autocast(states.device.type, enabled=False):
            output: torch.Tensor = self.heads[name](states.float()).squeeze(-1)
        return output

    def forward(
        self, batch: Batch | None = None, heads: Sequence[str] | None = None, **inputs: torch.Tensor
    ) -> dict[str, torch.Tensor]:
        """Return each head's value, (B,), with a pass through the encoder for each kind of input.

        Args:
            batch: `input_ids`, `attention_mask` and, for some encoders, `token_type_ids`, each (B, T);
                `capitals` and `hypothesis` (B, T) for heads that read them.
            heads: names of the heads; by default all, even if some expect another kind of input.
            inputs: the batch as keyword arguments, as for models of transformers.
        """
        batch = dict(inputs) if batch is None else batch
        heads = list(self.config.heads) if heads is None else heads
        kinds = {name: self.head_configs[name].input for name in heads}
        values: dict[str, torch.Tensor] = {}
        for kind in dict.fromkeys(kinds.values()):
            names = [name for name in heads if kinds[name] == kind]
            values |= self.values(self.encode(batch, kind), batch, names)
        return {name: values[name] for name in heads}


def capitals_likelihood(logits: torch.Tensor, marks: torch.Tensor) -> torch.Tensor:
    """Return the log-probability of each text's capitals, (B,): the sum over its words, −4 each at the least.

    Args:
        logits: (B, T), log-odds that a token begins with a capital.
        marks: (B, T), from `mark_capitals`.

    Example:
        >>> likely, unlikely = torch.tensor([[9.0, 9.0]]), torch.tensor([[2, 1]])
        >>> round(float(capitals_likelihood(likely, unlikely)), 1)
        -4.0
    """
    terms = logsigmoid(torch.where(marks == CAPITAL, logits, -logits)).clamp(min=_LEAST_OF_WORD)
    return (terms * (marks != UNMARKED)).sum(dim=1).clamp(min=_LEAST_OF_TEXT)


AutoConfig.register(MODEL_TYPE, EvaluatorConfig, exist_ok=True)
AutoModel.register(EvaluatorConfig, EvaluatorModel, exist_ok=True)


class Evaluator:
    """A loaded package, ready to predict.

    Attributes:
        path: folder of the package; `None` for an evaluator without one.
        digest: digest of the package when it was loaded; empty for an evaluator without one.
        name: name in progress bars.
        model: encoder and heads.
        tokenizer: tokenizer of the encoder.

    Example:
        >>> evaluator = Evaluator.load("open-mpnet")
        >>> likelihood = evaluator.predict(["He go ."] * 2, ["He go .", "He goes ."])["likelihood"]
        >>> bool(likelihood[0] < likelihood[1])
        True
    """

    def __init__(
        self,
        model: EvaluatorModel,
        tokenizer: Any,
        digest: str = "",
        name: str = "evaluator",
        path: Path | None = None,
    ) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.digest, self.name, self.path = digest, name, path
        # (kind of input, precision) -> input -> values. Threads share it and may add a row at any
        # time. A full memory is replaced, not emptied, so that readers keep their rows.
        self._memory: dict[tuple[str, str], dict[Item, Floats]] = {}
        # (low-rank matrices on, precision, number of layers) -> the encoder that computes with them.
        self._encoders: dict[tuple[bool, Precision, int | None], Any] = {}

    @classmethod
    def from_pretrained(cls, name: PathLike, *, runtime: Runtime = Runtime()) -> Evaluator:
        """Load a package after checking every file's SHA-256; packages are cached.

        Args:
            name: its name, its directory, or `org/name` or `org/name@revision` on a hub.
            runtime: with the device to load it on.

        Raises:
            UnknownNameError: no evaluator has this name.
            PackageError: a file is missing, altered or truncated.
        """
        return cls.of(open_package(os.fspath(name)), runtime)

    load = from_pretrained

    def save_pretrained(self, folder: PathLike) -> Path:
        """Copy the package to a folder, which is replaced, and return it.

        Raises:
            InputError: the evaluator has no package.
            PackageError, OutputError: it is damaged, or the folder cannot be written.
        """
        return copy_package(self._package(), folder)

    def push_to_hub(self, repository: str, *, private: bool = False) -> str:
        """Upload the package to a hub, and return its name there with the new commit (`push_evaluator`)."""
        return push_evaluator(str(self._package()), repository, private=private)

    def _package(self) -> Path:
        if self.path is None:
            raise InputError(f"the evaluator {self.name} has no package; training writes one.")
        return self.path

    def __repr__(self) -> str:
        return f"Evaluator({self.name!r}, outputs={list(self.outputs)})"

    @classmethod
    def of(cls, package: Package, runtime: Runtime) -> Evaluator:
        """Return the evaluator of a package, loaded once for each device.

        Raises:
            PackageError: its weights do not fit its configuration.
        """
        return _load(package, str(torch_device(runtime)))

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the outputs: heads first, then sums."""
        return tuple(output_names(vars(self.model.config)))

    def predict(
        self,
        sources: Sentences,
        hypotheses: Sentences,
        outputs: Sequence[str] | None = None,
        *,
        runtime: Runtime = Runtime(),
    ) -> dict[str, Floats]:
        """Return each output's value for N (source, hypothesis) rows, float64 (N,).

        Heads that read the same input share a pass. Each distinct input is encoded once, even if it occurs
        again in a later call.

        Args:
            sources: N sources; heads that read the hypothesis alone ignore them.
            hypotheses: N hypotheses.
            outputs: names of heads and sums (`UnknownNameError` for others); all by default.
            runtime: how to run.

        Raises:
            LengthError, InputError: as for `score`.
        """
        sources = as_sentences(sources, "sources")
        hypotheses = as_sentences(hypotheses, "hypotheses")
        check_lengths(("sources", sources), ("hypotheses", hypotheses))
        names = [outputs] if isinstance(outputs, str) else list(outputs or self.outputs)
        for name in set(names).difference(self.outputs):
            raise UnknownNameError("output of the evaluator", name, self.outputs)
        sums = self.model.config.sums
        heads = {head for name in names for head in sums.get(name, (name,))}
        kinds = {self.model.head_configs[head].input for head in heads}
        pairs = list(zip(sources, hypotheses, strict=True))
        values: dict[str, Floats] = {}
        for kind in sorted(kinds):
            items: Sequence[Item] = pairs if kind == "pair" else hypotheses
            values |= self._values(kind, items, runtime)
        # A sum may have the name of a head.
        values |= {
            name: np.sum(
                [term.of(values[head]) for head, term in read_terms(sums[name]).items()], axis=0
            )
            for name in names
            if name in sums
        }
        return {name: values[name] for name in names}

    def encode(
        self, batch: Batch, kind: str, precision: Precision, layers: int | None = None
    ) -> Any:
        """Return what `EvaluatorModel.encode` does in a precision, with weights merged and rounded once."""
        key = self.model.config.uses_lora(kind), precision, layers
        if key not in self._encoders:
            dtype = getattr(torch, precision)
            self._encoders[key] = inference_encoder(self.model.encoder, key[0], dtype, layers)
        enabled = precision == "bfloat16"
        with torch.autocast(self.model.device.type, dtype=torch.bfloat16, enabled=enabled):
            return self.model.encode(batch, kind, self._encoders[key])

    def _values(self, kind: str, items: Sequence[Item], runtime: Runtime) -> dict[str, Floats]:
        """Return the values of every head that reads `kind`, (N,) float64 each.

        Heads cost little compared with the pass that they share. So the values of all stay in memory, for
        metrics that read other heads or the same systems again. A cache folder keeps them for later runs.
        """
        heads = {name: h for name, h in self.model.head_configs.items() if h.input == kind}
        precision = evaluator_precision(runtime)
        memory = self._memory.setdefault((kind, precision), {})
        if len(memory) + sum(item not in memory for item in set(items)) > _MAX_REMEMBERED:
            memory = self._memory[kind, precision] = {}
        depends_on = ["evaluator", self.digest, kind, precision, *heads, __version__]

        def forward(batch: Batch) -> torch.Tensor:
            values = self.model.values(self.encode(batch, kind, precision), batch, list(heads))
            return torch.stack(list(values.values()), dim=1)

        values = run(
            forward,
            self.tokenizer,
            items,
            runtime,
            KnownRows(len(heads), depends_on if self.digest else (), memory),
            max_length=self.model.config.max_tokens,
            marks={head.marks for head in heads.values()},
            description=f"{self.name} ({kind})",
        )
        return {name: values[:, column] for column, name in enumerate(heads)}


@lru_cache(maxsize=8)
def _load(package: Package, device: str) -> Evaluator:
    """Load a package's model and tokenizer; its digest makes the cache miss when files change."""
    path = package.path
    with quiet_transformers():
        try:
            # `from_pretrained` takes a tenth of a second more.
            config = EvaluatorConfig.from_dict(package.config)
            with Uninitialised():
                model = EvaluatorModel(config)
            model.load_state_dict(read_weights(path, package.digest), assign=True)
            tokenizer = AutoTokenizer.from_pretrained(path, local_files_only=True)
        except Exception as error:  # safetensors, torch, tokenizers and transformers have their own
            raise PackageError(
                f"the evaluator {path} cannot be loaded ({error}); fetch or train it again."
            ) from None
    if open_folder(path, package.name) != package:
        raise PackageError(f"the evaluator {path} was replaced before it was loaded; run again.")
    model = model.eval().requires_grad_(False).to(device)
    return Evaluator(model, tokenizer, package.digest, package.manifest["name"], path)
