"""Packages in transformers, and heads as plain models in a process that has no learnedgec."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny
import torch
from huggingface_hub import ModelCard
from safetensors.torch import load_file
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertModel,
    MPNetConfig,
    MPNetModel,
    RobertaConfig,
    RobertaModel,
)

from learnedgec.applications.export import export_evaluator
from learnedgec.cli.main import main
from learnedgec.errors import ConfigError, UnknownNameError
from learnedgec.evaluators.evaluator import Evaluator, EvaluatorModel, HeadConfig
from learnedgec.evaluators.lora import LoraLinear

SOURCES = ["He go home .", "She have a dog .", "", "It rain ."]
HYPOTHESES = ["He goes home .", "She has a dog .", "", "It rained the whole day and night long ."]


def alone(
    folder: Path, trust: bool, pair: bool, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> list[float]:
    """Return an exported head's labels as a machine without learnedgec computes them."""
    rows = list(zip(SOURCES, HYPOTHESES, strict=True))
    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in [name for name in sys.modules if name.partition(".")[0] == "learnedgec"]:
            patch.setitem(sys.modules, name, None)
        patch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(cache))
        patch.syspath_prepend(cache)
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=trust)
        model = AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=trust)
        texts = [row if pair else row[1:] for row in rows]
        columns = map(list, zip(*texts, strict=True))
        batch = tokenizer(*columns, truncation=True, padding=True, return_tensors="pt")
        with torch.inference_mode():
            labels: list[float] = model.eval()(**batch).logits.squeeze(-1).tolist()
    return labels


def save(folder: Path, encoder: Any, heads: Mapping[str, HeadConfig], **settings: Any) -> Path:
    """Write an evaluator of another kind than the fixtures'."""
    model = EvaluatorModel.from_encoder(encoder, heads, max_tokens=12, **settings)
    for head in model.heads.values():
        torch.nn.init.normal_(head.weight, std=1.0)
    for module in model.modules():
        if isinstance(module, LoraLinear):
            torch.nn.init.normal_(module.up, std=0.3)
    return tiny.save_package(folder, model)


def test_exported_heads_are_equal_without_learnedgec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = {
        "fluency": HeadConfig("hypothesis", 2.8, 0.5),
        "meaning": HeadConfig("pair", 3.5, 0.4),
        "wrong": HeadConfig("hypothesis", 0.3, 2.0, reads="tokens"),
        "early": HeadConfig("hypothesis", 0.3, 2.0, reads="tokens", layer=1),
    }
    torch.manual_seed(0)
    config = tiny.configuration(len(tiny.tokenizer()))
    bert = BertModel(config)
    roberta = RobertaModel(RobertaConfig.from_dict(config.to_dict()))
    mpnet = MPNetModel(MPNetConfig.from_dict(config.to_dict()))
    pooled = {name: head for name, head in heads.items() if head.reads == "pooled"}
    lora = {"rank": 2, "layers": None, "inputs": ["pair"]}
    packages = {
        "cls": save(tmp_path / "cls", roberta, heads, pooling="cls"),
        "mpnet": save(tmp_path / "mpnet", mpnet, pooled, pooling="mean"),
        "pooler": save(tmp_path / "pooler", bert, pooled, pooling="pooler"),
        "corrected": save(tmp_path / "corrected", bert, heads, pooling="mean", lora=lora),
        "four": tiny.save_evaluator(tmp_path / "four", heads=pooled, bits=4, width=128),
        "sixteen": tiny.save_evaluator(tmp_path / "sixteen", heads=pooled, width=128),
    }
    for name, package in packages.items():
        evaluator = Evaluator.load(str(package))
        with warnings.catch_warnings(record=True) as cut:
            warnings.simplefilter("always")
            predicted = evaluator.predict(SOURCES, HYPOTHESES)
        assert bool(cut) == (evaluator.model.config.max_tokens == 12)
        folders = export_evaluator(str(package), tmp_path / "exported" / name)
        assert set(folders) == set(predicted)
        for head, folder in folders.items():
            pair, trust = heads[head].input == "pair", name != "pooler"
            values = alone(folder, trust, pair, monkeypatch, tmp_path / "cache")
            assert values == pytest.approx(predicted[head], abs=1e-5), folder
            assert np.ptp(values) > 1e-3
    # BERT's pooler is read by transformers' own class, which needs no trust.
    plain = tmp_path / "exported" / "pooler" / "fluency"
    assert not (plain / "modeling_head.py").exists()
    assert json.loads((plain / "config.json").read_text())["architectures"] == [
        "BertForSequenceClassification"
    ]
    # Sixteen bits stay where they lose nothing; four have no counterpart in other libraries.
    key = "encoder.embeddings.word_embeddings.weight"
    for name, kind in (("sixteen", torch.float16), ("four", torch.float32)):
        file = tmp_path / "exported" / name / "fluency" / "model.safetensors"
        assert load_file(file)[key].dtype == kind


def test_the_command_exports_what_it_is_told(
    tmp_path: Path, tiny_evaluator: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluators", "export", str(tiny_evaluator), "--format", "sequence-classification"]
    words += ["--heads", "fluency", "--out", str(tmp_path / "out")]
    assert main(words) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'out' / 'fluency'}\n"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["fluency"]
    card = ModelCard.load(tmp_path / "out" / "fluency" / "README.md")
    assert card.data.library_name == "transformers"
    assert card.data.license_name == "licenseref-own-data"
    assert "`LicenseRef-own-data`" in card.text


def test_heads_that_cannot_be_exported_are_refused(tmp_path: Path, tiny_evaluator: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"no head of .* is named 'fluent'; did you mean"):
        export_evaluator(str(tiny_evaluator), tmp_path, heads=["fluent"])
    marked = {
        "wrong": HeadConfig("pair", reads="tokens"),
        "capitals": HeadConfig(reads="capitals"),
    }
    package = tiny.save_evaluator(tmp_path / "marked", heads={"plain": HeadConfig(), **marked})
    for head in marked:
        with pytest.raises(ConfigError, match="it reads capitals or the tokens of pairs"):
            export_evaluator(str(package), tmp_path / "out", heads=[head])
    assert set(export_evaluator(str(package), tmp_path / "rest")) == {"plain"}
    package = tiny.save_evaluator(tmp_path / "odd", heads={"a/b": HeadConfig()})
    with pytest.raises(ConfigError, match="no folder can have its name"):
        export_evaluator(str(package), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("bits", [16, 4])
def test_a_package_in_transformers_computes_what_it_computes_here(
    tmp_path: Path, bits: Any
) -> None:
    package = tiny.save_evaluator(tmp_path / "mine", bits=bits, width=128)
    config = AutoConfig.from_pretrained(package)
    assert set(config.heads) == {"grammaticality", "fluency", "meaning"}
    model = AutoModel.from_pretrained(package, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(package)
    expected = Evaluator.load(str(package)).predict(SOURCES, HYPOTHESES)
    with torch.inference_mode():
        outputs = model(**tokenizer(HYPOTHESES, padding=True, return_tensors="pt"))
        pairs = model(**tokenizer(SOURCES, HYPOTHESES, padding=True, return_tensors="pt"))
    assert outputs["fluency"].numpy() == pytest.approx(expected["fluency"], abs=1e-5)
    assert pairs["meaning"].numpy() == pytest.approx(expected["meaning"], abs=1e-5)
    # Saved by transformers, it is loaded by transformers.
    model.save_pretrained(tmp_path / "saved")
    again = AutoModel.from_pretrained(tmp_path / "saved").eval()
    with torch.inference_mode():
        same = again(**tokenizer(HYPOTHESES, padding=True, return_tensors="pt"))
    assert same["fluency"].numpy() == pytest.approx(expected["fluency"], abs=1e-5)
