"""The log-probabilities of tokens in a causal language model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from learnedgec.errors import ModelError
from learnedgec.evaluators.inference import autocast, model_inputs, padded_batches
from learnedgec.evaluators.loading import load_model, load_tokenizer
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Ints, Texts

# The largest number of logits at a time, which take 256 MiB in float32.
_LOGITS = 1 << 26


@dataclass(frozen=True, slots=True)
class TokenScores:
    """A language model's output for a sentence of T tokens: token IDs and natural log-probabilities.

    Attributes:
        ids: int64 (T,).
        logs: float64 (T,), the log-probability of each token given all tokens before it, including the
            beginning-of-sentence token.
    """

    ids: Ints
    logs: Floats


def token_scores(name: str, texts: Texts, runtime: Runtime) -> list[TokenScores]:
    """Return the log-probability of every token of every text; each distinct text runs once.

    A text longer than the model's context is read in windows that overlap by half, so every token after the
    first window has at least half a context before it.

    Args:
        name: hub id or directory of a causal language model.
        texts: N texts; `""` has no tokens.
        runtime: device, precision, token budget, progress.

    Raises:
        ModelError: the model cannot be loaded, or its tokenizer has no beginning-of-sentence token.
    """
    tokenizer = load_tokenizer(name)
    model: Any = load_model(name, runtime, "AutoModelForCausalLM")
    start = tokenizer.bos_token_id
    if start is None:
        raise ModelError(
            f"the tokenizer of {name} has no beginning-of-sentence token; use a model that has one."
        )
    if not texts:
        return []
    distinct = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    encoded = tokenizer(list(distinct), add_special_tokens=False, verbose=False)["input_ids"]
    scores = [TokenScores(np.array(ids, dtype=np.int64), np.zeros(len(ids))) for ids in encoded]
    context = getattr(model.config, "max_position_embeddings", None) or 1 << 30
    # The text of each window, and the parts of it that the window reads and scores.
    places = [(n, *place) for n, ids in enumerate(encoded) for place in _windows(len(ids), context)]
    windows = [[start, *encoded[number]][first:end] for number, first, _, end in places]
    budget = max(min(runtime.batch_tokens, _LOGITS // model.config.vocab_size), 1)
    limited = replace(runtime, batch_tokens=budget)
    with torch.inference_mode(), autocast(runtime):
        for group, batch in padded_batches(
            tokenizer, {"input_ids": windows}, limited, description="language model"
        ):
            logits = model(**model_inputs(batch, model)).logits[:, :-1].float()
            targets = batch["input_ids"][:, 1:, None]
            logs = logits.log_softmax(dim=-1).gather(2, targets)[..., 0].double().cpu().numpy()
            for row, window in zip(logs, group, strict=True):
                number, first, scored, end = places[window]
                scores[number].logs[scored : end - 1] = row[scored - first : end - 1 - first]
    return [scores[distinct[text]] for text in texts]


def _windows(tokens: int, context: int) -> Iterator[tuple[int, int, int]]:
    """Yield the windows in which a text is read, after a token that begins it.

    Args:
        tokens: number of the text's tokens.
        context: the largest number of tokens in a window.

    Yields:
        The window's first position, the number of tokens that earlier windows score, and its end.
    """
    first = scored = 0
    while scored < tokens:
        end = min(first + context, tokens + 1)
        yield first, scored, end
        scored = end - 1
        first += context - context // 2
