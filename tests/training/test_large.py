"""Architectures of large encoders from training to meta-evaluation, with tiny random models of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
import yaml
from embedded import SAMPLE_FOLDER
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from training_files import arguments, pairs_file, trained
from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedTokenizerFast

from learnedgec import Runtime
from learnedgec.cli.main import main
from learnedgec.data.text import read_lines
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.training.batches import wrong_tokens
from learnedgec.training.pairs import RankedPair

LARGE = yaml.safe_load(
    (Path(__file__).parents[2] / "configs/released/joint-large.yaml").read_text()
)
SIZES: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
}
# As in the pretrained configurations: relative positions in DeBERTa, and narrower embeddings in ELECTRA.
ARCHITECTURES: dict[str, dict[str, Any]] = {
    "deberta-v2": {
        "type_vocab_size": 0,
        "relative_attention": True,
        "position_buckets": 16,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False,
    },
    "modernbert": {"global_attn_every_n_layers": 2, "local_attention": 16, "cls_token_id": 2}
    | {"sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3},
    "electra": {"embedding_size": 16, "type_vocab_size": 2},
}


def wrapped(backend: Tokenizer, *inputs: str) -> PreTrainedTokenizerFast:
    """Return a tokenizer that puts `[CLS]` before a text and `[SEP]` behind each."""
    places = [(token, backend.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=places
    )
    names = ("pad", "unk", "cls", "sep", "mask")
    specials = {f"{n}_token": token for n, token in zip(names, tiny.SPECIALS, strict=True)}
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=256,
        model_input_names=["input_ids", *inputs, "attention_mask"],
        **specials,
    )


def sentencepieces() -> PreTrainedTokenizerFast:
    """Return a tokenizer like DeBERTa's: a piece begins with the space before it."""
    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.decoder = decoders.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=200, special_tokens=tiny.SPECIALS, unk_token="[UNK]", show_progress=False
    )
    backend.train_from_iterator(read_lines(SAMPLE_FOLDER / "ref0.txt"), trainer)
    return wrapped(backend, "token_type_ids")


def byte_pairs() -> PreTrainedTokenizerFast:
    """Return a tokenizer like ModernBERT's, which has no token types."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=tiny.SPECIALS,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(read_lines(SAMPLE_FOLDER / "ref0.txt"), trainer)
    return wrapped(backend)


TOKENIZERS: dict[str, Callable[[], PreTrainedTokenizerFast]] = {
    "deberta-v2": sentencepieces,
    "modernbert": byte_pairs,
    "electra": tiny.tokenizer,
}


@pytest.fixture
def pretrained(kind: str, tmp_path: Path) -> Path:
    """Return the folder of a masked language model, whose output is tied to its embeddings."""
    torch.manual_seed(0)
    tokenizer = TOKENIZERS[kind]()
    settings = SIZES | ARCHITECTURES[kind] | {"vocab_size": len(tokenizer)}
    model = AutoModelForMaskedLM.from_config(
        AutoConfig.for_model(kind, tie_word_embeddings=True, **settings)
    )
    folder = tmp_path / "pretrained"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_an_architecture_from_training_to_meta(
    kind: str,
    pretrained: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pairs = [
        RankedPair(
            f"He go to {n} .", f"He goes to {n} .", f"He goed to {n} .", correct=f"He goes to {n} ."
        )
        for n in range(40)
    ]
    file = pairs_file(tmp_path, pairs)
    data = {"pairs": {name: [file] for name in ("quality", "detection", "relative")}}
    heads = {name: LARGE["model"]["heads"][name] for name in data["pairs"]}
    model: dict[str, Any] = {
        **LARGE["model"],
        "encoder": pretrained,
        "heads": heads,
        "max_tokens": 256,
        "lora": {"rank": 4},  # test_encoders.py trains the whole of each,
    }
    precision = {"precision": LARGE["trainer"]["precision"], "max_steps": 3}
    result = trained(arguments(tmp_path, data, trainer=precision, **model))
    assert set(result.results["test"]) == set(heads)
    evaluator = Evaluator.load(str(result.package))
    texts = ["He goes .", "", "He goes to school in a big old house ."]
    alone, together = (
        {name: [] for name in heads},
        evaluator.predict(["He go ."] * 3, texts, list(heads), runtime=Runtime()),
    )
    for text in texts:
        for name, row in evaluator.predict(["He go ."], [text], list(heads)).items():
            alone[name] += row.tolist()
    for name, row in together.items():  # padding changes nothing
        assert row.tolist() == pytest.approx(alone[name], abs=1e-4), name
    monkeypatch.setenv("LEARNEDGEC_EVALUATORS", str(result.package.parent))
    words = ["meta", "--benchmark", "sample", "--resamples", "10", "--format", "json"]
    assert main([*words, "--metric", "quality[tiny]", "head(model='tiny', name='relative')"]) == 0
    metrics = json.loads(capsys.readouterr().out)
    assert "quality[tiny]" in json.dumps(metrics)


@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_tokens_are_those_of_their_words(kind: str) -> None:
    text = "He goed to the schools ."
    encoded = TOKENIZERS[kind]()(text, return_offsets_mapping=True)
    labels = wrong_tokens(
        text, [False, True, False, False, False, False, False], encoded["offset_mapping"]
    )
    words = [
        text[a:b].strip()
        for (a, b), wrong in zip(encoded["offset_mapping"], labels, strict=True)
        if wrong
    ]
    assert "".join(words) == "goed"
