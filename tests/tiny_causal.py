"""A tiny GPT-2, built on the spot: real architecture and a byte-level tokenizer, random weights."""

from __future__ import annotations

from pathlib import Path

import torch
from embedded import SAMPLE_FOLDER
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from learnedgec.data.text import read_lines

BOS = "<|endoftext|>"


def causal_tokenizer() -> PreTrainedTokenizerFast:
    """Return GPT-2's kind of tokenizer, its merges learnt from the sample."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=[BOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    files = [SAMPLE_FOLDER / f"{name}.txt" for name in ("ref0", "ref1", "source")]
    backend.train_from_iterator([line for file in files for line in read_lines(file)], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=BOS, eos_token=BOS, unk_token=BOS
    )


def save_causal(folder: Path, positions: int = 1024, seed: int = 0) -> Path:
    """Write a two-layer GPT-2 with its tokenizer; its weights are large, so that texts differ."""
    torch.manual_seed(seed)
    tokenizer = causal_tokenizer()
    configuration = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=positions,
        n_embd=32,
        n_layer=2,
        n_head=2,
        initializer_range=0.3,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    GPT2LMHeadModel(configuration).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
