"""An evaluator's heads as plain models, which transformers loads without learnedgec.

    OUT/HEAD/config.json             of a sequence classifier with one label
    OUT/HEAD/model.safetensors       encoder and head; the label is in the units of the ratings
    OUT/HEAD/tokenizer.json …        the tokenizer, which truncates inputs as the evaluator does
    OUT/HEAD/README.md               how to load it
    OUT/HEAD/modeling_head.py        the head's class, if transformers has none that fits

transformers' own classifiers put a layer with a non-linearity between the states and the label, or read the
first token; ours read the mean of all states directly. So most heads need their own class, in
`modeling_head.py`, which transformers loads with `trust_remote_code=True`. A head that reads BERT's pooler
(`pooling: pooler`) needs none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import yaml
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification, BertModel

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
    configs = {head: model.config.head(head) for head in model.config.heads}
    # The marks that say which tokens have capitals, or belong to the hypothesis, are our own.
    marked = {
        head
        for head, config in configs.items()
        if config.reads == "capitals" or (config.reads, config.input) == ("tokens", "pair")
    }
    chosen = heads or [head for head in configs if head not in marked]
    for head in chosen:
        if head not in configs:
            raise UnknownNameError(f"head of {name}", head, configs)
        if head in marked:
            raise ConfigError(
                f"the head {head!r} cannot be exported: it reads capitals or the tokens of pairs, whose "
                "marks the tokenizer of a plain model does not pass on; name other heads."
            )
        if Path(head).name != head or head.startswith("."):
            raise ConfigError(f"the head {head!r} cannot be exported: no folder can have its name.")
    folders = {head: Path(output) / head for head in chosen}
    for head, target in folders.items():
        exported = _plain_model(model, head)
        with atomic_folder(target) as folder:
            with quiet_transformers():
                exported.save_pretrained(folder, state_dict=_stored(exported.state_dict()))
                tokenizer = AutoTokenizer.from_pretrained(
                    package.path, model_max_length=model.config.max_tokens
                )
                tokenizer.save_pretrained(folder)
            card = _card(package, head, configs[head], own_class=isinstance(exported, ExportedHead))
            (folder / CARD).write_text(card, encoding="utf-8")
            for file in folder.iterdir():
                file.chmod(0o644)
    return folders


def _plain_model(model: EvaluatorModel, head: str) -> Any:
    """Return a head as a sequence classifier: BERT's if that computes the same, else one of its own class."""
    config = model.config.head(head)
    linear = model.heads[head]
    weights = {"classifier.weight": linear.weight, "classifier.bias": linear.bias}
    settings = model.encoder.config.to_dict()
    label = {"id2label": {0: head}, "label2id": {head: 0}, "problem_type": "regression"}
    pooling = "tokens" if config.reads == "tokens" else model.config.pooling
    exported: Any
    if pooling == "pooler" and isinstance(model.encoder, BertModel):
        exported = BertForSequenceClassification(BertConfig(**(settings | label)))
        weights["classifier.weight"] = linear.weight * config.scale
        weights["classifier.bias"] = linear.bias * config.scale + config.offset
    else:
        # Only heads of tokens may read a lower layer.
        layer = config.layer if pooling == "tokens" else None
        exported = ExportedHead(
            ExportedHeadConfig(settings, pooling, config.scale, config.offset, layer, **label)
        )
    # Low-rank matrices are added where they apply to the head's input.
    encoder = merged(model.encoder.state_dict(), on=model.config.uses_lora(config.input))
    weights |= {f"{exported.base_model_prefix}.{key}": encoder[key] for key in encoder}
    # A pooler that the head does not read is left out.
    exported.load_state_dict({key: weights[key] for key in exported.state_dict()})
    return exported


def _stored(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Return weights in 16 bits where these hold them exactly."""
    stored = {}
    for name, tensor in weights.items():
        half = tensor.half() if tensor.is_floating_point() else tensor
        stored[name] = half if torch.equal(half.to(tensor.dtype), tensor) else tensor
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
