"""Tokenise texts and pack them into padded batches of similar length.

Inputs are sorted by length and packed by a token budget. Each batch is padded to its longest input.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch

from learnedgec.evaluators.capitals import mark_capitals
from learnedgec.evaluators.loading import torch_device
from learnedgec.runtime.notices import InputWarning, warn_of_inputs
from learnedgec.runtime.profile import PROFILE
from learnedgec.runtime.progress import track
from learnedgec.runtime.runtime import Runtime

# A batch of so many tokens keeps a processor busy.
_ENOUGH_TOKENS = 512

# What a tokenised input may have: one number for each token, 0 where it is padded.
TOKEN_COLUMNS = ("input_ids", "token_type_ids", "capitals", "hypothesis")

# Tokenizers without a maximum length say that it is 10^30.
_UNLIMITED = 1_000_000

Item: TypeAlias = str | tuple[str, str]

Batch: TypeAlias = dict[str, torch.Tensor]


class TruncationWarning(InputWarning):
    """Warning that some inputs were longer than the encoder accepts and were truncated."""


def warn_of_truncation(limits: Iterable[float]) -> None:
    """Warn if some inputs were truncated.

    Args:
        limits: the number of tokens to which each input was truncated, or 0.
    """
    each = [int(limit) for limit in limits]
    if cut := [limit for limit in each if limit]:
        warn_of_inputs(
            TruncationWarning(
                f"{len(cut)} of {len(each)} inputs were longer than {cut[0]} tokens and were truncated."
            )
        )


def tokenise(tokenizer: Any, items: Sequence[Item]) -> Mapping[str, list[list[int]]]:
    """Return the columns of `encode`, with one warning if inputs were truncated."""
    columns, limits = encode(tokenizer, items)
    warn_of_truncation(limits)
    return columns


def encode(
    tokenizer: Any,
    items: Sequence[Item],
    *,
    max_length: int | None = None,
    special_tokens: bool = True,
    marks: Collection[str] = (),
) -> tuple[Mapping[str, list[list[int]]], list[int]]:
    """Tokenise texts (or pairs of texts) without padding.

    Args:
        tokenizer: tokenizer of the model.
        items: at least one text, or pair of texts, but not both. `run` removes duplicates first.
        max_length: maximum length of an input in tokens; longer inputs are truncated.
        special_tokens: add [CLS], [SEP] and the like.
        marks: columns that a fast tokenizer adds: for texts `capitals` (`mark_capitals`), for pairs
            `hypothesis` (`hypothesis_marks`). Other names, such as that of the mask, add nothing.

    Returns:
        `input_ids`, from some tokenizers `token_type_ids`, and the marks, one list for each item; and the
        number of tokens to which each item was truncated, or 0.
    """
    # The texts; or the first texts, and the second texts.
    sides = (
        [list(items)] if isinstance(items[0], str) else list(map(list, zip(*items, strict=True)))
    )
    unlimited = tokenizer.model_max_length >= _UNLIMITED
    limit = max_length or (None if unlimited else int(tokenizer.model_max_length))
    call = partial(
        tokenizer,
        *sides,
        add_special_tokens=special_tokens,
        return_attention_mask=False,
        return_offsets_mapping="capitals" in marks,
        verbose=False,
    )
    encoded = call(truncation=limit is not None, max_length=limit)
    limits = [0] * len(items)
    if limit is not None:
        if encoded.encodings is not None:
            cut = [bool(encoding.overflowing) for encoding in encoded.encodings]
        else:
            # Tokenizers that are written in Python do not say what they cut.
            cut = [len(ids) > limit for ids in call()["input_ids"]]
        limits = [limit * is_cut for is_cut in cut]
    columns = dict(encoded)
    if "capitals" in marks:
        offsets = columns.pop("offset_mapping")
        columns["capitals"] = [
            mark_capitals(text, places) for text, places in zip(sides[0], offsets, strict=True)
        ]
    if "hypothesis" in marks:
        columns["hypothesis"] = hypothesis_marks(encoded)
    return columns, limits


def hypothesis_marks(encoded: Any) -> list[list[int]]:
    """Return for each token of pairs whether it belongs to the second text or ends it (1), or not (0).

    Args:
        encoded: pairs encoded by a fast tokenizer.
    """
    marks = []
    for encoding in encoded.encodings:
        sides = encoding.sequence_ids
        start = sides.index(1) if 1 in sides else len(sides) - 1
        marks.append([0] * start + [1] * (len(sides) - start))
    return marks


def padded_batches(
    tokenizer: Any,
    encoded: Mapping[str, Sequence[Sequence[int]]],
    runtime: Runtime,
    *,
    description: str = "encoding",
) -> Iterator[tuple[list[int], Batch]]:
    """Yield tokenised inputs in batches of similar length on the device.

    Args:
        tokenizer: tokenizer of the model, for its padding token.
        encoded: columns of `encode`.
        runtime: token budget, device and progress bar.
        description: label of the progress bar.

    Yields:
        The positions of the batch's inputs, and the batch: int64 tensors of shape (B, T).
    """
    groups = group_by_length([len(ids) for ids in encoded["input_ids"]], runtime.batch_tokens)
    device = torch_device(runtime)
    weights = [len(group) for group in groups]
    with PROFILE.timed():
        for group in track(groups, description, weights=weights, show=runtime.progress):
            batch = pad(tokenizer, encoded, group)
            tokens = int(batch["attention_mask"].sum())
            PROFILE.encoded += len(group)
            PROFILE.tokens += tokens
            PROFILE.padding += batch["attention_mask"].numel() - tokens
            yield group, {key: tensor.to(device) for key, tensor in batch.items()}


def group_by_length(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Return the positions of inputs in groups of similar length that fit a token budget when padded.

    A group of 512 tokens or more also ends before an input that is shorter than three quarters of its longest
    one. Otherwise a few inputs of very different lengths would be mostly padding.

    Example:
        >>> group_by_length([2, 9, 3, 3], batch_tokens=9)
        [[1], [2, 3, 0]]
    """
    # Longest first: running out of memory shows at once, and the progress bar errs on the safe side.
    order = np.argsort(-np.asarray(lengths, dtype=np.int64), kind="stable")
    starts = [0]
    while starts[-1] < len(order):
        longest = max(int(lengths[order[starts[-1]]]), 1)
        end = starts[-1] + max(batch_tokens // longest, 1)
        similar = starts[-1] + max(math.ceil(_ENOUGH_TOKENS / longest), 1)
        while similar < min(end, len(order)) and 4 * lengths[order[similar]] >= 3 * longest:
            similar += 1
        starts.append(min(end, similar))
    return [order[a:b].tolist() for a, b in itertools.pairwise(starts)]


def pad(tokenizer: Any, encoded: Mapping[str, Any], group: Sequence[int]) -> Batch:
    """Stack tokenised inputs, padded on the right to the longest, with their attention mask.

    Args:
        tokenizer: tokenizer of the model, for its padding token.
        encoded: columns of `encode`.
        group: the places of the inputs to stack.
    """
    longest = max(max(len(encoded["input_ids"][i]) for i in group), 1)
    batch: Batch = {}
    for key in TOKEN_COLUMNS:
        if key in encoded:
            fill = tokenizer.pad_token_id or 0 if key == "input_ids" else 0
            rows = np.full((len(group), longest), fill, dtype=np.int64)
            for row, i in enumerate(group):
                rows[row, : len(encoded[key][i])] = encoded[key][i]
            batch[key] = torch.from_numpy(rows)
    lengths = torch.tensor([len(encoded["input_ids"][i]) for i in group])
    mask = torch.arange(longest)[None] < lengths[:, None]
    batch["attention_mask"] = mask.to(torch.int64)
    return batch


def model_inputs(batch: Mapping[str, torch.Tensor], model: Any) -> Batch:
    """Return the inputs that a model's `forward` accepts; RoBERTa, for example, has no token types."""
    accepted = {"input_ids", "attention_mask"}
    if getattr(model.config, "type_vocab_size", 0) > 1:
        accepted.add("token_type_ids")
    return {key: value for key, value in batch.items() if key in accepted}
