"""An evaluator's heads as plain models, which transformers loads without learnedgec.

    OUT/HEAD/config.json             of a sequence classifier with one label
    OUT/HEAD/model.safetensors       encoder and head; the label is in the units of the ratings
    OUT/HEAD/tokenizer.json …        the tokenizer, which truncates inputs as the evaluator does
    OUT/HEAD/README.md               how to load it
    OUT/HEAD/modeling_head.py        the head's class, if transformers has none that fits

transformers' own classifiers put a layer with a non-linearity between the states and the label, or read the
first token; ours read the mean of all states directly. So most heads need their own class, in
`modeling_head.py`, which transformers loads with `trust_remote_code=True`. A head that reads its encoder's
pooler (`pooling: pooler`, such as BERT's) needs none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import yaml
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from learnedgec.applications.modeling_head import ExportedHead, ExportedHeadConfig
from learnedgec.errors import ConfigError, UnknownNameError
from learnedgec.evaluators.evaluator import Evaluator, EvaluatorModel, HeadConfig
from learnedgec.evaluators.loading import quiet_transformers
from learnedgec.evaluators.lora import merged
from learnedgec.evaluators.packages import CARD, Package, manifest_licence, open_package
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.writing import atomic_folder
from learnedgec.training.card import metadata

# So that transformers writes their module beside what it saves.
ExportedHeadConfig.register_for_auto_class()
ExportedHead.register_for_auto_class("AutoModelForSequenceClassification")


def export_evaluator(
    name: str, output: str | Path, *, heads: Sequence[str] | None = None
) -> dict[str, Path]:
    """Write heads of an evaluator as sequence classifiers of one label each.

    The label's logit is the head's value, offset and scale included, to 1e-5. Weights are stored as float16
    where that loses nothing; computation is in float32.

    Args:
        name: name, directory or hub id of the evaluator.
        output: the folder to write to; each head gets a subfolder of its name, which replaces an existing
            one.
        heads: the heads to export; by default, all but those that read capitals or the tokens of pairs,
            which no plain model can read. Sums of heads cannot be exported, as their parts may read different
            inputs. If the evaluator has a head and a sum of the same name, the head is exported.

    Returns:
        Head -> its folder.

    Raises:
        UnknownNameError: there is no such evaluator or head.
        ConfigError: a head's name is not a valid name of a folder, or the head is one of those that no plain
            model can read.
        OutputError: the folder cannot be written.

    Example: `export_evaluator("joint-mpnet-3", "exported", heads=["fluency"])` writes `exported/fluency/`.
    """
    package = open_package(name)
    model = Evaluator.of(package, Runtime(device="cpu")).model
    all_heads = model.config.heads
    for head in heads or ():
        if head not in all_heads:
            raise UnknownNameError(f"head of {name}", head, all_heads)
    marked = [head for head in all_heads if _needs_marks(model.config.head(head))]
    chosen = list(heads or [head for head in all_heads if head not in marked])
    for head in chosen:
        if head in marked:
            raise ConfigError(
                f"the head {head!r} cannot be exported: it reads capitals or the tokens of pairs, whose "
                "marks the tokenizer of a plain model does not pass on; name other heads."
            )
        if Path(head).name != head or head.startswith("."):
            raise ConfigError(f"the head {head!r} cannot be exported: no folder can have its name.")
    return {head: _export(package, model, head, Path(output) / head) for head in chosen}


def _needs_marks(head: HeadConfig) -> bool:
    """Return whether a head reads which tokens have capitals, or which belong to the hypothesis."""
    return head.reads == "capitals" or (head.reads, head.input) == ("tokens", "pair")


def _export(package: Package, model: EvaluatorModel, head: str, target: Path) -> Path:
    """Write one head, and return where."""
    head_config = model.config.head(head)
    classifier = _classifier(model.heads[head], head_config)
    plain = _plain(model, head, head_config, classifier)
    exported = plain or _with_own_class(model, head, head_config, classifier)
    with atomic_folder(target) as folder:
        with quiet_transformers():
            exported.save_pretrained(folder, state_dict=_stored(exported.state_dict()))
            tokenizer = AutoTokenizer.from_pretrained(
                package.path, model_max_length=model.config.max_tokens
            )
            tokenizer.save_pretrained(folder)
        card = _card(package, head, head_config, own_class=plain is None)
        (folder / CARD).write_text(card, encoding="utf-8")
        for file in folder.iterdir():
            file.chmod(0o644)
    return target


def _classifier(linear: Any, head_config: HeadConfig) -> dict[str, torch.Tensor]:
    """Return the weights of the classifier, with offset and scale unless the head reads tokens.

    The value of a head of tokens is a sum over them, which its own class scales.
    """
    reads_tokens = head_config.reads == "tokens"
    scale, offset = (1.0, 0.0) if reads_tokens else (head_config.scale, head_config.offset)
    return {
        "classifier.weight": linear.weight * scale,
        "classifier.bias": linear.bias * scale + offset,
    }


def _encoder_weights(model: EvaluatorModel, head_config: HeadConfig) -> dict[str, torch.Tensor]:
    """Return the encoder's weights for a head's input, with low-rank matrices added where they apply."""
    return merged(model.encoder.state_dict(), on=model.config.uses_lora(head_config.input))


def _plain(
    model: EvaluatorModel,
    head: str,
    head_config: HeadConfig,
    classifier: dict[str, torch.Tensor],
) -> Any | None:
    """Return the head as one of transformers' own sequence classifiers, if one computes the same."""
    if head_config.reads != "pooled" or model.config.pooling != "pooler":
        return None
    config = type(model.encoder.config)(**{**model.encoder.config.to_dict(), **_labels(head)})
    try:
        plain: Any = AutoModelForSequenceClassification.from_config(config, trust_remote_code=False)
        prefix = plain.base_model_prefix
        encoder = _encoder_weights(model, head_config)
        plain.load_state_dict({f"{prefix}.{key}": encoder[key] for key in encoder} | classifier)
    except (ValueError, RuntimeError):  # there is no such class, or it has other weights
        return None
    plain.eval()
    # Another class may compute something else from the same weights, so its output is compared.
    numbers = torch.Generator().manual_seed(0)
    ids = torch.randint(0, config.vocab_size, (4, 12), generator=numbers)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with torch.inference_mode():
        pooled = model.pool(model.encode(batch, head_config.input), batch)
        expected = torch.nn.functional.linear(
            pooled, classifier["classifier.weight"], classifier["classifier.bias"]
        )
        equal = torch.allclose(plain(**batch).logits, expected, rtol=1e-5, atol=1e-6)
    return plain if equal else None


def _with_own_class(
    model: EvaluatorModel,
    head: str,
    head_config: HeadConfig,
    classifier: dict[str, torch.Tensor],
) -> ExportedHead:
    """Return the head as a model of its own class, which transformers saves beside the weights."""
    tokens = head_config.reads == "tokens"
    exported = ExportedHead(
        ExportedHeadConfig(
            encoder=model.encoder.config.to_dict(),
            pooling="tokens" if tokens else model.config.pooling,
            scale=head_config.scale if tokens else 1.0,
            offset=head_config.offset if tokens else 0.0,
            **_labels(head),
        )
    )
    encoder = _encoder_weights(model, head_config)
    weights = {f"encoder.{key}": value for key, value in encoder.items()} | classifier
    # A pooler that the head does not read is left out.
    exported.load_state_dict({key: weights[key] for key in exported.state_dict()})
    return exported


def _labels(head: str) -> dict[str, Any]:
    """Return what the configuration of a classifier says of its only label."""
    return {"id2label": {0: head}, "label2id": {head: 0}, "problem_type": "regression"}


def _stored(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return weights in 16 bits where these hold them exactly."""
    stored = {}
    for name, tensor in weights.items():
        half = tensor.half() if tensor.is_floating_point() else tensor
        exact = torch.equal(half.to(tensor.dtype), tensor)
        stored[name] = (half if exact else tensor).detach().clone().contiguous()
    return stored


def _card(package: Package, head: str, head_config: HeadConfig, *, own_class: bool) -> str:
    """Return the card of an exported head, with its evaluator's metadata."""
    manifest = package.manifest
    fields = {key: value for key, value in metadata(manifest).items() if key != "metrics"}
    front = yaml.safe_dump(fields | {"library_name": "transformers"}, sort_keys=False)
    if head_config.input == "hypothesis":
        reads, inputs = "a sentence alone", "[sentence]"
    else:
        reads, inputs = "the source and the sentence, as a pair", "[source], [sentence]"
    trust = why = ""
    if own_class:
        trust = ", trust_remote_code=True"
        why = (
            "\n`trust_remote_code=True` lets transformers run `modeling_head.py`, which is next to this "
            "file, because\ntransformers has no class of its own for this head. Read that file first.\n"
        )
    return f"""---
{front}---

# {head}

The head `{head}` of the evaluator `{manifest["name"]}` (`{package.digest}`), exported from learnedgec. It
reads {reads}; its one logit is the rating.

```python
from transformers import AutoModelForSequenceClassification, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(folder{trust})
model = AutoModelForSequenceClassification.from_pretrained(folder{trust}).eval()
rating = model(**tokenizer({inputs}, truncation=True, return_tensors="pt")).logits.item()
```
{why}
The card of the evaluator describes its training data, its results and its licence,
`{manifest_licence(manifest)}`, which also applies to this model.
"""
