"""Tiny models, built on the spot: real architectures with random weights, so tests need no download."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from embedded import SAMPLE_FOLDER
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForSequenceClassification,
    BertModel,
    ByT5Tokenizer,
    PreTrainedTokenizerFast,
)

from learnedgec.data.text import read_lines
from learnedgec.evaluators.evaluator import EvaluatorModel, Gate, HeadConfig
from learnedgec.evaluators.package import Parts
from learnedgec.evaluators.precision import Bits, round_weights
from learnedgec.runtime.files import file_digest
from learnedgec.training.package import TrainingRecord, write_package

SOME_HEADS = {
    "grammaticality": HeadConfig("hypothesis", 3.0, 0.5),
    "fluency": HeadConfig("hypothesis", 2.8, 0.5),
    "meaning": HeadConfig("pair", 3.5, 0.4),
}
SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def tokenizer() -> PreTrainedTokenizerFast:
    """Return a WordPiece tokenizer over the sample's words and all letters."""
    words = sorted(
        {word.lower() for line in read_lines(SAMPLE_FOLDER / "ref0.txt") for word in line.split()}
    )
    letters = [chr(code) for code in range(33, 127)]
    pieces = [*SPECIALS, *letters, *("##" + letter for letter in letters)]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys([*pieces, *words]))}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = ("pad", "unk", "cls", "sep", "mask")
    specials = {f"{name}_token": token for name, token in zip(names, SPECIALS, strict=True)}
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=256,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **specials,
    )


def configuration(vocabulary: int, width: int = 32, **settings: object) -> BertConfig:
    return BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=256,
        **settings,
    )


def save_encoder(folder: Path, width: int = 32) -> Path:
    """Write a two-layer BERT with its tokenizer."""
    torch.manual_seed(0)
    fast_tokenizer = tokenizer()
    return _save(folder, BertModel(configuration(len(fast_tokenizer), width)), fast_tokenizer)


def save_encoder_of_bytes(folder: Path) -> Path:
    """Write a two-layer BERT with a tokenizer that is written in Python."""
    torch.manual_seed(0)
    byte_tokenizer = ByT5Tokenizer()
    return _save(folder, BertModel(configuration(len(byte_tokenizer))), byte_tokenizer)


def save_regressor(folder: Path, seed: int = 0) -> Path:
    """Write a sequence classifier with one label, the layout of SOME's official release."""
    torch.manual_seed(seed)
    fast_tokenizer = tokenizer()
    model = BertForSequenceClassification(configuration(len(fast_tokenizer), num_labels=1))
    torch.nn.init.normal_(model.classifier.weight, std=1.0)
    return _save(folder, model, fast_tokenizer)


def save_evaluator(
    folder: Path,
    seed: int = 0,
    heads: Mapping[str, HeadConfig] = SOME_HEADS,
    width: int = 32,
    sums: Mapping[str, Parts] | None = None,
    gate: Gate = "characters",
    **about: Any,
) -> Path:
    """Write an evaluator package with random weights; `about` is what `save_package` takes besides."""
    torch.manual_seed(seed)
    fast_tokenizer = tokenizer()
    encoder_model = BertModel(configuration(len(fast_tokenizer), width))
    model = EvaluatorModel.from_encoder(encoder_model, heads, max_tokens=256, sums=sums, gate=gate)
    for head in model.heads.values():
        torch.nn.init.normal_(head.weight, std=1.0)
    return save_package(folder, model, seed=seed, **about)


def save_package(
    folder: Path,
    model: EvaluatorModel,
    encoder: str = "tiny",
    datasets: Sequence[str] = ("none",),
    bits: Bits = 16,
    seed: int = 0,
    learned: bytes = b"",
) -> Path:
    """Write a model as an evaluator package, with a manifest as if it had been trained."""
    part = {"ratings": 1, "pairs": 0, "cases": 0, "sha256": ""}
    data = {
        "datasets": list(datasets),
        "ratings": ["none"],
        "auxiliary": [],
        "pairs": {},
        "cases": {},
    }
    data |= {"split": "by-source", "check_leakage": True}
    record = TrainingRecord(
        configuration="name: tiny\n",
        data=data | dict.fromkeys(("train", "dev", "test"), part),
        learned=learned,
        results={},
        seed=seed,
        encoder=encoder,
    )
    write_package(folder, model.config, round_weights(model, bits), tokenizer(), record)
    return folder


def sign(package: Path, *names: str, **changes: Any) -> None:
    """Change a manifest, and let it vouch for files as they are now."""
    manifest = json.loads((package / "manifest.json").read_text()) | changes
    for name in names:
        manifest["files"][name] = file_digest(package / name)
    (package / "manifest.json").write_text(json.dumps(manifest))


def save_sequence_model(folder: Path) -> Path:
    """Write a BART of one layer each side with its tokenizer."""
    torch.manual_seed(0)
    fast_tokenizer = tokenizer()
    settings = {
        f"{name}_token_id": fast_tokenizer.convert_tokens_to_ids(token)
        for name, token in (("pad", "[PAD]"), ("bos", "[CLS]"), ("eos", "[SEP]"))
    }
    model = BartForConditionalGeneration(
        BartConfig(
            vocab_size=len(fast_tokenizer),
            d_model=32,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=64,
            decoder_ffn_dim=64,
            max_position_embeddings=256,
            decoder_start_token_id=settings["eos_token_id"],
            forced_eos_token_id=settings["eos_token_id"],
            init_std=0.5,
            **settings,
        )
    )
    return _save(folder, model, fast_tokenizer)


def _save(folder: Path, model: Any, its_tokenizer: Any) -> Path:
    model.save_pretrained(folder)
    its_tokenizer.save_pretrained(folder)
    return folder
