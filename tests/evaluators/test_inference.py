from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import tiny
import torch
from transformers.utils import logging as transformers_logging

from learnedgec.errors import MissingDependencyError, ModelError
from learnedgec.evaluators import loading
from learnedgec.evaluators.inference import (
    Item,
    TruncationWarning,
    mean_pool,
    padded_batches,
    run,
    sentence_vectors,
    tokenise,
)
from learnedgec.evaluators.loading import (
    checkpoint_digest,
    load_model,
    load_tokenizer,
    quiet_transformers,
    torch_device,
)
from learnedgec.runtime.runtime import Runtime

TEXTS = ["the cat", "the cat sat on the mat and the dog did not", "", "a", "the cat", "who is it ?"]


def pooled(model: object, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    return mean_pool(model(**batch).last_hidden_state, batch["attention_mask"])  # type: ignore[operator]


@pytest.mark.parametrize("budget", [1, 30, 4096])
@pytest.mark.parametrize("items", [TEXTS, [(a, b) for a in TEXTS for b in TEXTS[:3]]])
def test_rows_equal_one_by_one_whatever_the_batch(
    tiny_encoder: Path, items: list[Item], budget: int
) -> None:
    runtime = Runtime(device="cpu", batch_tokens=budget)
    tokenizer = load_tokenizer(str(tiny_encoder))
    model = load_model(str(tiny_encoder), runtime)
    rows = run(lambda batch: pooled(model, batch), tokenizer, items, runtime)
    for item, row in zip(items, rows, strict=True):
        # Lists, because a single empty second text counts as none.
        sides = [[item]] if isinstance(item, str) else [[item[0]], [item[1]]]
        with torch.inference_mode():
            states = model(**tokenizer(*sides, return_tensors="pt")).last_hidden_state
        assert row == pytest.approx(states[0].mean(dim=0).numpy(), abs=1e-5)


def test_texts_with_equal_tokens_are_encoded_once(tiny_encoder: Path) -> None:
    seen: list[int] = []

    def forward(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        seen.append(len(batch["input_ids"]))
        return batch["input_ids"][:, 1:2] + batch["token_type_ids"].sum(dim=1, keepdim=True)

    pairs = [("The cat", "a"), ("the  cat", "A "), ("the cat a", ""), ("the", "cat a")]
    rows = run(forward, load_tokenizer(str(tiny_encoder)), pairs, Runtime(device="cpu"))
    # The last two have the tokens of the first, but for what separates them or which text they are of.
    assert sum(seen) == 3
    assert rows[0] == rows[1]
    assert rows[0] != rows[3]


def test_batches_keep_to_the_budget_and_pad_only_to_their_longest(tiny_encoder: Path) -> None:
    tokenizer = load_tokenizer(str(tiny_encoder))
    texts = ["a " * n for n in range(1, 40)]
    covered = []
    for positions, batch in padded_batches(
        tokenizer, tokenise(tokenizer, texts), Runtime(device="cpu", batch_tokens=100)
    ):
        covered += positions
        assert batch["input_ids"].numel() <= 100
        assert batch["attention_mask"].sum(dim=1).max() == batch["input_ids"].shape[1]
    assert sorted(covered) == list(range(len(texts)))


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("org/no-such-model", ModelError, "not in the local cache and HF_HUB_OFFLINE is set"),
        ("/nowhere/at-all", ModelError, "directory /nowhere/at-all does not exist"),
        ("pkg:no_such_package/model", MissingDependencyError, r"pip install 'learnedgec\[mini\]'"),
        ("pkg:learnedgec/nothing", ModelError, "has no folder 'nothing'"),
        (str(Path(__file__).parent), ModelError, "cannot be loaded"),
    ],
)
def test_names_that_cannot_be_had(
    name: str, error: type[Exception], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(error, match=message):
        load_model(name, Runtime())


def test_damaged_weights_are_named(tiny_encoder: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_encoder, tmp_path / "cut")
    weights = tmp_path / "cut" / "model.safetensors"
    os.truncate(weights, weights.stat().st_size // 2)
    with pytest.raises(ModelError, match=r"cut cannot be loaded: .*(header|[Ii]ncomplete)"):
        load_model(str(tmp_path / "cut"), Runtime())


def test_a_model_whose_files_change_is_loaded_again(tmp_path: Path) -> None:
    folder = tiny.save_encoder(tmp_path / "encoder")
    runtime = Runtime(device="cpu")
    tokenizer, model = load_tokenizer(str(folder)), load_model(str(folder), runtime)
    assert load_tokenizer(str(folder)) is tokenizer
    assert load_model(str(folder), runtime) is model
    assert tokenizer("CAT")["input_ids"] == tokenizer("cat")["input_ids"]
    text = (folder / "tokenizer.json").read_text()
    assert '"lowercase": true' in text
    (folder / "tokenizer.json").write_text(text.replace('"lowercase": true', '"lowercase": false'))
    changed = load_tokenizer(str(folder))
    assert changed("CAT")["input_ids"] != changed("cat")["input_ids"]
    before = sentence_vectors(str(folder), ["the cat"], runtime)
    with torch.no_grad():
        model.embeddings.word_embeddings.weight.normal_()
    model.save_pretrained(folder)
    assert load_model(str(folder), runtime) is not model
    assert np.abs(sentence_vectors(str(folder), ["the cat"], runtime) - before).max() > 0.01


def test_the_digest_of_a_directory_covers_what_is_loaded_from_it(tiny_encoder: Path) -> None:
    digest = checkpoint_digest(str(tiny_encoder))
    assert len(digest) == 12
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"):
        file = tiny_encoder / name
        content = file.read_bytes()
        file.write_bytes(content + b" ")
        assert checkpoint_digest(str(tiny_encoder)) != digest
        file.write_bytes(content)
    (tiny_encoder / "README.md").write_text("a card")
    assert checkpoint_digest(str(tiny_encoder)) == digest


def test_the_digest_of_several_files_of_weights_is_not_that_of_their_index(
    tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(tiny_encoder, tmp_path / "sharded")
    index = folder / "model.safetensors.index.json"
    index.write_text("{}")
    monkeypatch.setattr(loading, "cached_file", lambda *_: index)
    digest = checkpoint_digest("org/name")
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes() + b" ")
    assert checkpoint_digest("org/name") != digest


def test_tokenizers_in_python_cut_and_count_like_others(tmp_path: Path) -> None:
    tiny.save_encoder_of_bytes(tmp_path)
    tokenizer = load_tokenizer(str(tmp_path))
    assert not tokenizer.is_fast
    model, runtime = load_model(str(tmp_path), Runtime()), Runtime(device="cpu")
    expected = []
    for text in TEXTS:
        with torch.inference_mode():
            encoded = tokenizer(text, return_tensors="pt", truncation=True, max_length=20)
            states = model(encoded["input_ids"]).last_hidden_state
        expected.append(states[0].mean(dim=0).numpy())
    with pytest.warns(TruncationWarning, match="1 of 5 inputs were longer than 20 tokens"):
        vectors = sentence_vectors(str(tmp_path), TEXTS, runtime, max_length=20)
    assert vectors == pytest.approx(np.array(expected), abs=1e-5)


def test_no_code_of_a_model_runs(tiny_encoder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_encoder, tmp_path / "foreign")
    (folder / "code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    names = {"AutoConfig": "code.C", "AutoModel": "code.M", "AutoTokenizer": ["code.T", "code.T"]}
    for file in ("config.json", "tokenizer_config.json"):
        settings = json.loads((folder / file).read_text())
        settings |= {"auto_map": names, "model_type": "foreign", "tokenizer_class": "T"}
        (folder / file).write_text(json.dumps(settings))
    with pytest.raises(ModelError, match="foreign cannot be loaded"):
        load_model(str(folder), Runtime(device="cpu"))
    with pytest.raises(ModelError, match="foreign cannot be loaded"):
        load_tokenizer(str(folder))
    assert not (tmp_path / "ran").exists()


def test_unknown_device_is_named() -> None:
    with pytest.raises(ModelError, match="'cuda:99' is not available here"):
        torch_device(Runtime(device="cuda:99"))


def test_overlapping_silence_of_two_threads_ends_with_the_last() -> None:
    level, bars = (
        transformers_logging.get_verbosity(),
        transformers_logging.is_progress_bar_enabled(),
    )
    first, second = quiet_transformers(), quiet_transformers()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert transformers_logging.get_verbosity() == transformers_logging.ERROR
    assert not transformers_logging.is_progress_bar_enabled()
    second.__exit__(None, None, None)
    assert transformers_logging.get_verbosity() == level
    assert transformers_logging.is_progress_bar_enabled() == bars
