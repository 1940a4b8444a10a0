"""The encoders that people use most: each trains, packages and scores again, or is refused with one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny
import torch
import transformers
import yaml
from training_files import arguments, trained

from learnedgec.errors import ConfigError
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.evaluators.locations import open_package
from learnedgec.runtime.runtime import Runtime
from learnedgec.training.module import EvaluatorModule, HeadOptions
from learnedgec.training.start import ModelSettings

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 160,
}
OPENING = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2}
# Kind of encoder -> the name of its class, its sizes, and the number of its positions, where it has a table.
KINDS: dict[str, tuple[str, dict[str, Any], int | None]] = {
    "bert": ("Bert", SIZES, 160),
    "roberta": ("Roberta", SIZES | {"pad_token_id": 1}, 158),
    "deberta-v2": ("DebertaV2", SIZES, 160),
    "deberta-v3": (
        "DebertaV2",
        SIZES
        | {
            "position_biased_input": False,
            "relative_attention": True,
            "pos_att_type": ["p2c", "c2p"],
        },
        None,
    ),
    "electra": ("Electra", SIZES | {"embedding_size": 16}, 160),
    "albert": ("Albert", SIZES | {"embedding_size": 16}, 160),
    "distilbert": (
        "DistilBert",
        {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 48, "max_position_embeddings": 160},
        160,
    ),
    "xlnet": ("XLNet", {"d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 48}, None),
    "mpnet": ("MPNet", SIZES | {"pad_token_id": 1}, 158),
    "modernbert": ("ModernBert", SIZES | OPENING | {"sep_token_id": 3}, None),
    "gpt2": ("GPT2", {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 160}, 160),
}


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    rows = [f"he go {n} .,he goes {n} .,{n % 4}" for n in range(24)]
    (tmp_path / "r.csv").write_text("\n".join(["source,hypothesis,fluency", *rows]) + "\n")
    return tmp_path / "r.csv"


@pytest.fixture
def encoder(tmp_path: Path, kind: str) -> Path:
    """Return the folder of an encoder of a kind."""
    name, sizes, _ = KINDS[kind]
    torch.manual_seed(0)
    tokenizer = tiny.tokenizer()
    config = getattr(transformers, f"{name}Config")(vocab_size=len(tokenizer), **sizes)
    folder = tmp_path / "encoder"
    getattr(transformers, f"{name}Model")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture
def train(tmp_path: Path, encoder: Path, ratings: Path) -> Callable[..., Any]:
    """Return a function that trains the encoder for one step."""

    def run(*options: str, **model: Any) -> Any:
        words = arguments(
            tmp_path,
            {"ratings": [ratings]},
            "--trainer.max_steps=1",
            encoder=encoder,
            heads={"fluency": {}},
            **model,
        )
        return trained([*words, *options])

    return run


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_trains_and_scores_again_from_its_package(
    train: Callable[..., Any], encoder: Path, kind: str
) -> None:
    positions = KINDS[kind][2]
    if positions is not None:
        with pytest.raises(
            ConfigError, match=rf"model\.max_tokens .* has {positions} positions; give"
        ):
            EvaluatorModule(
                ModelSettings({"fluency": HeadOptions()}, str(encoder), max_tokens=positions + 1)
            )
    result = train(max_tokens=positions or 512)
    rows = ["he go ."], ["he goes . " * 300]  # longer than any encoder reads
    with pytest.warns(UserWarning, match="truncated"):
        before = result.evaluator.predict(*rows)["fluency"]
    encoder.rename(encoder.with_name("hidden"))
    from learnedgec.evaluators import evaluator as module

    module._load.cache_clear()
    with pytest.warns(UserWarning, match="truncated"):
        after = Evaluator.of(open_package(str(result.package)), Runtime()).predict(*rows)["fluency"]
    assert after.tolist() == before.tolist()


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            "electra",
            ["--trainer.precision=bf16-true"],
            "choose one of 32-true, 16-mixed, bf16-mixed",
        ),
        ("electra", ["--trainer.precision=16-true"], "precision is 16-true"),
        ("electra", ["--trainer.precision=64-true"], "precision is 64-true"),
        ("electra", ["--model.pooling=pooler"], "pooler, but the encoder .electra. has none"),
        ("distilbert", ["--model.pooling=pooler"], "name mean or cls"),
    ],
)
def test_what_a_model_cannot_do_is_refused(
    train: Callable[..., Any], tmp_path: Path, options: list[str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        train(*options)
    assert not (tmp_path / "runs" / "rows").exists()


@pytest.mark.parametrize("kind", ["bert"])
def test_the_precision_that_ran_is_recorded(train: Callable[..., Any]) -> None:
    with pytest.warns(UserWarning, match="fp16 is not supported on CPU"):
        result = train("--trainer.precision=16-mixed")
    recorded = yaml.safe_load((result.package / "training.yaml").read_text())
    assert recorded["trainer"]["precision"] == "bf16-mixed"
