"""Published quality models: tiny look-alikes of their files, each read as its authors read it."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from embedded import Sample
from peft import LoraConfig, TaskType, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertForSequenceClassification,
    BertTokenizer,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    ModernBertConfig,
    ModernBertForSequenceClassification,
)

from learnedgec.errors import ModelError
from learnedgec.evaluators.loading import checkpoint_digest
from learnedgec.metrics.classifier import Classifier, detokenise
from learnedgec.metrics.registry import load_metric
from learnedgec.metrics.some import Some
from learnedgec.runtime.runtime import Runtime

WITH_PICKLES = Runtime(allow_pickle=True)


def save_as_pickle(folder: Path, seed: int) -> Path:
    """Write a BERT regressor as of 2020: a pickle, and a vocabulary in a text file."""
    torch.manual_seed(seed)
    vocabulary = tiny.tokenizer().get_vocab()
    model = BertForSequenceClassification(tiny.configuration(len(vocabulary), num_labels=1))
    torch.nn.init.normal_(model.classifier.weight, std=1.0)
    folder.mkdir(parents=True)
    model.config.architectures = ["BertForSequenceClassification"]
    model.config.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    words = sorted(vocabulary, key=vocabulary.__getitem__)
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}))
    specials = {"unk": "UNK", "sep": "SEP", "pad": "PAD", "cls": "CLS", "mask": "MASK"}
    (folder / "special_tokens_map.json").write_text(
        json.dumps({f"{key}_token": f"[{token}]" for key, token in specials.items()})
    )
    return folder


def save_tiny(folder: Path, kind: type[Any], config: type[Any], **options: Any) -> Path:
    """Write a model of some kind with random weights; a DeBERTa as published, without a head."""
    torch.manual_seed(3)
    tokenizer = tiny.tokenizer()
    model = kind(
        config(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=2,
            max_position_embeddings=256,
            **options,
        )
    )
    torch.nn.init.normal_(model.classifier.weight, std=1.0)
    getattr(model, "deberta", model).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_modern(folder: Path, pooling: str) -> Path:
    """Write a ModernBERT regressor."""
    tokenizer = tiny.tokenizer()
    ids = {
        f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "cls", "sep")
    }
    ids |= {"bos_token_id": tokenizer.cls_token_id, "eos_token_id": tokenizer.sep_token_id}
    options = {"classifier_pooling": pooling, "num_labels": 1}
    kinds = ModernBertForSequenceClassification, ModernBertConfig
    return save_tiny(folder, *kinds, **ids, **options)


def save_deberta(folder: Path) -> Path:
    """Write a pretrained DeBERTa-v3, which has no head yet."""
    return save_tiny(
        folder,
        DebertaV2ForSequenceClassification,
        DebertaV2Config,
        relative_attention=True,
        position_buckets=32,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type=["p2c", "c2p"],
        position_biased_input=False,
        type_vocab_size=0,
        pooler_hidden_size=32,
    )


def save_adapter(folder: Path, base: Path, keep: Sequence[str] = ("classifier", "pooler")) -> Path:
    """Write a LoRA adapter with a head of one label."""
    torch.manual_seed(5)
    model = AutoModelForSequenceClassification.from_pretrained(base, num_labels=1)
    settings = LoraConfig(
        task_type=TaskType.SEQ_CLS,
        r=4,
        lora_alpha=8,
        target_modules=["query_proj", "value_proj"],
        modules_to_save=list(keep),
    )
    with warnings.catch_warnings():
        # PEFT's, about a name in transformers.
        warnings.simplefilter("ignore", FutureWarning)
        adapted: Any = get_peft_model(model, settings)
    for name, weights in adapted.named_parameters():
        if "lora_B" in name or "modules_to_save" in name:
            torch.nn.init.normal_(weights, std=0.5)
    adapted.save_pretrained(folder)
    return folder


def logits(model: Any, tokenizer: Any, rows: Sequence[tuple[str, ...]]) -> list[float]:
    """Return the label of each row, one at a time."""
    model.eval()
    values = []
    for row in rows:
        # In lists, as the authors do; alone, an empty second text would be none.
        texts = [[text] for text in row]
        batch = tokenizer(*texts, truncation=True, max_length=128, return_tensors="pt")
        if getattr(model.config, "type_vocab_size", 0) == 0:
            batch.pop("token_type_ids", None)
        with torch.inference_mode():
            values.append(model(**batch).logits.item())
    return values


def test_some_s_three_folders(tmp_path: Path, sample: Sample) -> None:
    # The official release: gfm-models/{grammer, fluency, meaning}, regressors from 1 to 4.
    names = {"grammaticality": "grammer", "fluency": "fluency", "meaning": "meaning"}
    folders = {
        dimension: save_as_pickle(tmp_path / "gfm-models" / name, seed)
        for seed, (dimension, name) in enumerate(names.items())
    }
    hypotheses = sample.systems["weak"]
    metric = Some(**{name: str(folder) for name, folder in folders.items()})  # type: ignore[arg-type]
    score = metric.score(sample.sources, hypotheses, runtime=WITH_PICKLES)
    total = np.zeros(len(hypotheses))
    for weight, (dimension, folder) in zip((0.55, 0.43, 0.02), folders.items(), strict=True):
        pairs = list(zip(sample.sources, hypotheses, strict=True))
        rows = pairs if dimension == "meaning" else [(h,) for h in hypotheses]
        model = BertForSequenceClassification.from_pretrained(folder, use_safetensors=False)
        values = np.array(logits(model, BertTokenizer.from_pretrained(folder), rows))
        total += weight * (values - 1) / 3
    assert score.sentences == pytest.approx(total, abs=1e-5)


@pytest.mark.parametrize("stored", ["mean", "cls"])
def test_impara_ged(tmp_path: Path, sample: Sample, stored: str) -> None:
    # naist-nlp/IMPARA-GED: ModernBERT, mean pooling whatever its configuration says, sigmoid, no gate.
    folder = save_modern(tmp_path / "IMPARA-GED", stored)
    hypotheses = sample.systems["eager"]
    metric = load_metric(f"classifier(model={str(folder)!r}, pooling='mean', activation='sigmoid')")
    score = metric.score(sample.sources, hypotheses)
    model = ModernBertForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    expected = []
    for hypothesis in hypotheses:
        batch = tokenizer(hypothesis, return_tensors="pt", return_token_type_ids=False)
        with torch.inference_mode():
            states = model.model(**batch).last_hidden_state[0]
            value = model.classifier(model.head(states.mean(dim=0, keepdim=True))).item()
        expected.append(1 / (1 + math.exp(-value)))
    assert score.sentences == pytest.approx(expected, abs=1e-5)
    assert np.ptp(expected) > 1e-3
    assert f"|sha256:{checkpoint_digest(str(folder))}|dtype:float32|" in score.signature
    # As its configuration says, if it is not asked.
    asked = Classifier(str(folder), activation="sigmoid").score(sample.sources, hypotheses)
    assert (np.abs(asked.sentences - score.sentences).max() < 1e-6) == (stored == "mean")


def test_a_kind_without_a_choice_of_pooling_is_refused(tiny_regressor: Path) -> None:
    with pytest.raises(ModelError, match="unexpected keyword argument 'classifier_pooling'"):
        Classifier(str(tiny_regressor), pooling="mean").score(["a"], ["b"])


def test_sure_s_kind_is_an_adapter_that_reads_detokenised_pairs(
    tmp_path: Path, sample: Sample
) -> None:
    base = save_deberta(tmp_path / "deberta-v3")
    folder = save_adapter(tmp_path / "SURE", base)
    assert not (folder / "config.json").exists()
    hypotheses = sample.systems["eager"]
    metric = Classifier(str(folder), reads="pair", detokenised=True)
    score = metric.score(sample.sources, hypotheses)

    # By hand: W + (alpha / r) · B · A, and the head that the adapter brings.
    torch.manual_seed(9)
    model = DebertaV2ForSequenceClassification.from_pretrained(base, num_labels=1)
    state, adapter = model.state_dict(), load_file(folder / "adapter_model.safetensors")
    changed = set()
    for key, weights in adapter.items():
        name = key.removeprefix("base_model.model.")
        if ".lora_A" in name:
            target = name.replace(".lora_A", "")
            state[target] = (
                state[target] + 8 / 4 * adapter[key.replace("lora_A", "lora_B")] @ weights
            )
            changed.add(target)
        elif ".lora_B" not in name:
            state[name] = weights
    assert len(changed) == 4
    model.load_state_dict(state)
    rows = list(zip(detokenise(sample.sources), detokenise(hypotheses), strict=True))
    assert rows != list(zip(sample.sources, hypotheses, strict=True))
    expected = logits(model, AutoTokenizer.from_pretrained(base), rows)
    assert np.ptp(expected) > 1e-2
    assert score.sentences == pytest.approx(expected, abs=1e-5)
    bounded = Classifier(str(folder), reads="pair", detokenised=True, activation="sigmoid")
    assert bounded.score(sample.sources, hypotheses).sentences == pytest.approx(
        [1 / (1 + math.exp(-value)) for value in expected], abs=1e-5
    )
    # Both models are in the signature, and what detokenised.
    both = checkpoint_digest(str(folder))
    assert both.endswith(f"+{checkpoint_digest(str(base))}")
    assert f"|sha256:{both}|sacremoses:" in score.signature


def test_an_adapter_that_leaves_weights_random_is_refused(tmp_path: Path) -> None:
    base = save_deberta(tmp_path / "deberta-v3")
    # PEFT keeps the classifier by itself, and not the pooler before it.
    folder = save_adapter(tmp_path / "without", base, keep=["classifier"])
    with pytest.raises(
        ModelError, match=r"lacks the weights pooler\.dense\.bias, pooler\.dense\.we"
    ):
        Classifier(str(folder)).score(["a"], ["b"])


def test_damaged_adapters_are_one_sentence(tmp_path: Path) -> None:
    base = save_deberta(tmp_path / "deberta-v3")
    folder = save_adapter(tmp_path / "adapter", base)
    weights = load_file(folder / "adapter_model.safetensors")
    other = {
        key: value[..., :3].contiguous() if "lora_A" in key else value
        for key, value in weights.items()
    }
    save_file(other, folder / "adapter_model.safetensors")
    with pytest.raises(ModelError, match="does not fit"):
        Classifier(str(folder)).score(["a"], ["b"])
    (folder / "adapter_model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelError, match="it must hold adapter_model"):
        Classifier(str(folder)).score(["a"], ["b"])
    (folder / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelError, match="does not name the model that it adapts"):
        Classifier(str(folder)).score(["a"], ["b"])


def test_what_is_read_is_said(tiny_regressor: Path, sample: Sample) -> None:
    hypotheses = sample.systems["weak"]
    alone = Classifier(str(tiny_regressor)).score(sample.sources, hypotheses)
    turned = Classifier(str(tiny_regressor)).score(sample.sources[::-1], hypotheses)
    assert alone.sentences == pytest.approx(turned.sentences, abs=1e-6)
    pair = Classifier(str(tiny_regressor), reads="pair").score(sample.sources, hypotheses)
    assert np.abs(pair.sentences - alone.sentences).max() > 1e-3
    joined = Classifier(str(tiny_regressor), detokenised=True).score(sample.sources, hypotheses)
    assert np.abs(joined.sentences - alone.sentences).max() > 1e-4
