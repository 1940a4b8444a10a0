"""A package's vocabulary, without the tokens that no text has.

BERT's vocabularies, and those made from them, have about a thousand tokens `[unused0]`, `[unused1]`, … for
words of a user. Their tokenizers never produce these tokens, because they split off brackets, so a package
leaves out the tokens and their rows of the embeddings. In the released evaluator they were 0.4 MB of 46.6.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from learnedgec.models.evaluator import EvaluatorConfig

__all__ = ["leave_out_unused_tokens"]

_UNUSED = re.compile(r"\[unused\d+\]")


def leave_out_unused_tokens(
    folder: Path, config: EvaluatorConfig, weights: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Leave out the `[unused…]` tokens of a stored tokenizer, and return the weights without their rows.

    `tokenizer.json` is rewritten without them, and without indentation. The IDs of the other tokens change
    with the rows, so scores stay the same. All tokens stay if the tokenizer is not BERT's WordPiece, if the
    encoder has more rows than the tokenizer has tokens, if another tensor has as many rows, or if the ID for
    padding, from which some encoders count positions, would change.

    Args:
        folder: has the files of the tokenizer.
        config: the evaluator's; its vocabulary's size and the IDs of its special tokens are adapted.
        weights: the weights as they are stored.
    """
    file = folder / "tokenizer.json"
    if not file.is_file():  # a tokenizer written in Python
        return dict(weights)
    tokenizer = json.loads(file.read_text(encoding="utf-8"))
    new = _new_ids(tokenizer, config.encoder)
    size = config.encoder.get("vocab_size")
    rows = {name for name, tensor in weights.items() if tensor.dim() and len(tensor) == size}
    matrices = {name.removesuffix(".codes").removesuffix(".scales") for name in rows}
    if new and len(matrices) == 1:
        tokenizer["model"]["vocab"] = {
            token: new[place]
            for token, place in tokenizer["model"]["vocab"].items()
            if place in new
        }
        for token in tokenizer["added_tokens"]:
            token["id"] = new[token["id"]]
        _renumber(tokenizer["post_processor"], new)
        kept = torch.tensor(list(new))
        weights = {
            name: tensor[kept] if name in rows else tensor for name, tensor in weights.items()
        }
        config.encoder |= {
            key: new[value]
            for key, value in config.encoder.items()
            if key.endswith("_token_id") and value is not None
        }
        config.encoder["vocab_size"] = len(new)
        _renumber_settings(folder, new)
    file.write_text(
        json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")), encoding="utf-8"
    )
    return dict(weights)


def _new_ids(tokenizer: Mapping[str, Any], encoder: Mapping[str, Any]) -> dict[int, int]:
    """Return old ID -> new ID for all tokens that stay, ascending; empty if no token is to be left out."""
    model = tokenizer["model"]
    splits = (tokenizer.get("pre_tokenizer") or {}).get("type") == "BertPreTokenizer"
    if model.get("type") != "WordPiece" or not splits:
        return {}
    added = {token["content"] for token in tokenizer["added_tokens"]}
    known = {**model["vocab"], **{t["content"]: t["id"] for t in tokenizer["added_tokens"]}}
    stay = sorted(
        {place for token, place in known.items() if token in added or not _UNUSED.fullmatch(token)}
    )
    new = {old: place for place, old in enumerate(stay)}
    special = [value for key, value in encoder.items() if key.endswith("_token_id")]
    pads = [encoder.get("pad_token_id"), (tokenizer.get("padding") or {}).get("pad_id")]
    size = encoder.get("vocab_size")
    whole = len(set(known.values())) == size == max(known.values()) + 1
    usual = all(value is None or (isinstance(value, int) and value in new) for value in special)
    if not (whole and usual) or len(stay) == len(known):
        return {}
    return new if all(pad is None or new.get(pad) == pad for pad in pads) else {}


def _renumber(processor: Any, new: Mapping[int, int]) -> None:
    """Replace the IDs of special tokens in a post-processor, in place."""
    if not isinstance(processor, dict):
        return
    for part in processor.get("processors", ()):
        _renumber(part, new)
    for key in ("sep", "cls"):  # of BertProcessing and RobertaProcessing: token, ID
        if isinstance(processor.get(key), list):
            processor[key][1] = new[processor[key][1]]
    if processor.get("type") == "TemplateProcessing":
        for token in processor["special_tokens"].values():
            token["ids"] = [new[place] for place in token["ids"]]


def _renumber_settings(folder: Path, new: Mapping[int, int]) -> None:
    """Replace the IDs in the files that older versions of transformers write beside `tokenizer.json`."""
    for name in ("vocab.txt", "added_tokens.json"):  # copies of what tokenizer.json has
        (folder / name).unlink(missing_ok=True)
    file = folder / "tokenizer_config.json"
    settings = json.loads(file.read_text(encoding="utf-8"))
    if decoder := settings.get("added_tokens_decoder"):
        settings["added_tokens_decoder"] = {
            str(new[int(place)]): token for place, token in decoder.items()
        }
        file.write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
