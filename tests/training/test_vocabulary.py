"""A package leaves out tokens that no text has; its scores do not change."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertModel, PreTrainedTokenizerFast

from learnedgec.models.evaluator import Evaluator, EvaluatorConfig, EvaluatorModel
from learnedgec.models.quantization import Bits, round_weights
from learnedgec.training.vocabulary import leave_out_unused_tokens

TEXTS = ["He goes home .", "[unused1] he go", "a [MASK] of it", ""]
POST = {
    "RobertaProcessing": lambda ids: processors.RobertaProcessing(
        ("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"])
    ),
    "Sequence": lambda ids: processors.Sequence([POST["BertProcessing"](ids)]),
    "BertProcessing": lambda ids: processors.BertProcessing(
        ("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"])
    ),
    "TemplateProcessing": lambda ids: processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, ids[name]) for name in ("[CLS]", "[SEP]")],
    ),
}


def tokenizer(post: str, pad: int = 0, splits: bool = True) -> PreTrainedTokenizerFast:
    """Return a tokenizer whose vocabulary has unused tokens before and after its special tokens."""
    ordinary = [name for name in tiny.tokenizer().get_vocab() if name not in tiny.SPECIALS]
    names = ["[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused2]", *ordinary]
    names.insert(pad, "[PAD]")
    ids = {name: place for place, name in enumerate(names)}
    backend = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = (
        pre_tokenizers.BertPreTokenizer() if splits else pre_tokenizers.WhitespaceSplit()
    )
    backend.post_processor = POST[post](ids)
    specials = {f"{name[1:-1].lower()}_token": name for name in tiny.SPECIALS}
    return PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=256, **specials)


def saved(folder: Path, made: PreTrainedTokenizerFast, bits: Bits = 16) -> Evaluator:
    """Write an evaluator with this tokenizer, and return it as it was before."""
    torch.manual_seed(1)
    pad = made.convert_tokens_to_ids("[PAD]")
    settings: dict[str, Any] = {"pad_token_id": pad}
    encoder = BertModel(tiny.configuration(len(made), 128, **settings))
    model = EvaluatorModel.from_encoder(encoder, tiny.SOME_HEADS, max_tokens=256)
    for head in model.heads.values():
        torch.nn.init.normal_(head.weight, std=1.0)
    round_weights(model, bits)
    tiny.save_package(folder, model, bits=bits, made=made)
    return Evaluator(model.eval(), made)


@pytest.mark.parametrize("post", POST)
@pytest.mark.parametrize("bits", [16, 4])
def test_unused_tokens_are_left_out_and_scores_stay(tmp_path: Path, post: str, bits: Bits) -> None:
    made = tokenizer(post)
    before = saved(tmp_path / "small", made, bits)
    after = Evaluator.load(str(tmp_path / "small"))
    assert set(made.get_vocab()) - set(after.tokenizer.get_vocab()) == {
        "[unused0]",
        "[unused1]",
        "[unused2]",
    }
    assert after.model.config.encoder["vocab_size"] == len(made) - 3
    assert before.model.config.encoder["vocab_size"] == len(made)
    stored = load_file(tmp_path / "small" / "model.safetensors")
    rows = {len(tensor) for name, tensor in stored.items() if "word_embeddings" in name}
    assert rows == {len(made) - 3}
    for text in TEXTS:
        assert made.tokenize(text) == after.tokenizer.tokenize(text)
    sources = ["He go home ."] * len(TEXTS)
    expected, found = before.predict(sources, TEXTS), after.predict(sources, TEXTS)
    for head, values in expected.items():
        assert found[head].tolist() == pytest.approx(values.tolist(), abs=1e-5)
    text = (tmp_path / "small" / "tokenizer.json").read_text()
    assert "\n" not in text
    assert "unused" not in text


def added() -> PreTrainedTokenizerFast:
    """Return a tokenizer in which a user has given a meaning to an unused token."""
    made = tokenizer("BertProcessing")
    made.add_tokens(["[unused1]"], special_tokens=True)
    return made


def test_a_token_that_the_user_has_added_stays(tmp_path: Path) -> None:
    made = added()
    before = saved(tmp_path / "added", made)
    after = Evaluator.load(str(tmp_path / "added"))
    assert set(made.get_vocab()) - set(after.tokenizer.get_vocab()) == {"[unused0]", "[unused2]"}
    assert after.tokenizer.tokenize("[unused1] he") == ["[unused1]", "he"]
    expected, found = before.predict(TEXTS, TEXTS), after.predict(TEXTS, TEXTS)
    for head, values in expected.items():
        assert found[head].tolist() == pytest.approx(values.tolist(), abs=1e-5)


@pytest.mark.parametrize(
    "made",
    [tokenizer("BertProcessing", pad=2), tokenizer("BertProcessing", splits=False)],
    ids=["the ID for padding would change", "text may have them"],
)
def test_where_tokens_stay(tmp_path: Path, made: PreTrainedTokenizerFast) -> None:
    before = saved(tmp_path / "whole", made)
    after = Evaluator.load(str(tmp_path / "whole"))
    assert after.tokenizer.get_vocab() == made.get_vocab()
    expected, found = before.predict(TEXTS, TEXTS), after.predict(TEXTS, TEXTS)
    for head, values in expected.items():
        assert found[head].tolist() == pytest.approx(values.tolist(), abs=1e-5)


@pytest.mark.parametrize(
    "changes",
    [{"vocab_size": 700}, {"eos_token_id": [1, 2]}, {"bos_token_id": 1}],
    ids=["more rows than tokens", "several IDs", "the ID of an unused token"],
)
def test_tokens_stay_in_unusual_configurations(tmp_path: Path, changes: dict[str, Any]) -> None:
    made = tokenizer("BertProcessing")
    made.save_pretrained(tmp_path)
    size = changes.get("vocab_size", len(made))
    encoder = BertModel(tiny.configuration(len(made), pad_token_id=0)).config.to_dict()
    config = EvaluatorConfig(encoder=encoder | {"vocab_size": size} | changes, heads={})
    weights = {"encoder.embeddings.word_embeddings.weight": torch.ones(size, 4)}
    assert leave_out_unused_tokens(tmp_path, config, weights).keys() == weights.keys()
    assert config.encoder["vocab_size"] == size
    assert "[unused0]" in (tmp_path / "tokenizer.json").read_text()


def test_files_of_older_versions_of_transformers(tmp_path: Path) -> None:
    made = tokenizer("BertProcessing")
    made.save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("[unused0]\n")
    (tmp_path / "added_tokens.json").write_text("{}")
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    settings["added_tokens_decoder"] = {"3": {"content": "[UNK]"}, "0": {"content": "[PAD]"}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    encoder = BertModel(tiny.configuration(len(made), pad_token_id=0)).config.to_dict()
    config = EvaluatorConfig(encoder=encoder, heads={})
    weights = {"encoder.embeddings.word_embeddings.weight": torch.arange(len(made))[:, None]}
    left = leave_out_unused_tokens(tmp_path, config, weights)
    assert left["encoder.embeddings.word_embeddings.weight"][:4, 0].tolist() == [0, 3, 4, 5]
    assert {file.name for file in tmp_path.iterdir()} == {"tokenizer.json", "tokenizer_config.json"}
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert settings["added_tokens_decoder"] == {
        "1": {"content": "[UNK]"},
        "0": {"content": "[PAD]"},
    }


def test_the_released_evaluator_has_no_unused_tokens() -> None:
    folder = Path(__file__).parents[2] / "checkpoints" / "joint-mpnet-3"
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    assert not any(token.startswith("[unused") for token in vocabulary)
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 46_000_000
