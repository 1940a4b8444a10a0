"""How likely each word of a hypothesis is wrong, by a head that reads single tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from learnedgec.errors import InputError
from learnedgec.evaluators.evaluator import Evaluator
from learnedgec.evaluators.inference import (
    autocast,
    encode,
    padded_batches,
    warn_of_truncation,
    word_places,
)
from learnedgec.evaluators.precision import evaluator_precision
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats


def word_log_odds(
    evaluator: Evaluator,
    sources: Sequence[str],
    hypotheses: Sequence[str],
    head: str,
    *,
    runtime: Runtime = Runtime(),
) -> list[Floats]:
    """Return the log-odds log(p / (1 − p)) that each word of N hypotheses is wrong.

    Args:
        evaluator: the evaluator.
        sources: N sources; a head that reads the hypothesis alone ignores them.
        hypotheses: N hypotheses, their words separated by white space.
        head: one of its heads with the objective `detection`.
        runtime: how to run.

    Returns:
        For each hypothesis of W words float64 (W + 1,): the mean over the tokens of each word, and the
        log-odds that a word is missing at the end. They are NaN for words that were truncated and then for
        the end.

    Raises:
        InputError: no head has this name and reads tokens.
    """
    config = evaluator.model.config
    if config.heads.get(head, {}).get("reads") != "tokens":
        raise InputError(f"{evaluator.name} has no head {head!r} that reads single words.")
    kind = config.head(head).input
    rows = list(zip(sources, hypotheses, strict=True))
    distinct = list(dict.fromkeys(rows))
    if not distinct:
        return []
    items = distinct if kind == "pair" else [text for _, text in distinct]
    marks = {"offset_mapping"} | ({"hypothesis"} if kind == "pair" else set())
    encoded, cut = encode(evaluator.tokenizer, items, max_length=config.max_tokens, marks=marks)
    warn_of_truncation(items, cut)
    of_hypothesis = encoded.get("hypothesis") or [[1] * len(ids) for ids in encoded["input_ids"]]
    precision = evaluator_precision(runtime)
    runtime = replace(runtime, dtype=precision)
    log_odds: dict[tuple[str, str], Floats] = {}
    with torch.inference_mode(), autocast(runtime):
        batches = padded_batches(evaluator.tokenizer, encoded, runtime, description=evaluator.name)
        for places, batch in batches:
            output = evaluator.encode(batch, kind, precision)
            logits = evaluator.model.token_logits(output, head).double().cpu().numpy()
            for place, values in zip(places, logits, strict=True):
                text = distinct[place][1]
                totals, counts = np.zeros((2, len(text.split()) + 1))
                words = word_places(text, encoded["offset_mapping"][place])
                for word, marked, value in zip(words, of_hypothesis[place], values, strict=False):
                    if word is not None and marked:
                        totals[word] += value
                        counts[word] += 1
                if cut[place]:
                    counts[-1] = 0
                log_odds[distinct[place]] = np.divide(
                    totals, counts, out=np.full(len(totals), np.nan), where=counts > 0
                )
    return [log_odds[row] for row in rows]
