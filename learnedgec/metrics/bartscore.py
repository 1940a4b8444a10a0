"""BARTScore: the probability of one sentence given the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch

from learnedgec.evaluators.inference import (
    Batch,
    TokenStates,
    autocast,
    group_by_length,
    model_inputs,
    pad,
)
from learnedgec.evaluators.loading import load_model, load_tokenizer
from learnedgec.metrics.similarity import Similarity, TextPair, encode_in_parts, number_pairs
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Indices

# The largest number of logits in a batch: 256 MiB, and two or three times as much for the log-softmax.
_LOGITS = 2**26


@dataclass(frozen=True)
class BartScore(Similarity):
    """BARTScore: the probability of one sentence, given the other, in a sequence-to-sequence model.

    The score is `Σ log p(y_t | y_<t, x) / T` over the T tokens of y, special tokens included. x → y is
    `ref->hyp` (precision: the model reads the reference and generates the text), `hyp->ref` (recall), or
    both, `ref<->hyp`, their mean. Scores are logarithms: at most 0. The sentence score is the best among the
    references; the corpus score is the mean. Give the sources as references for the direction `src->hyp`.

    Equal to the authors' `bart_score.py` (`multi_ref_score` with `agg='max'`).

    Source: Yuan et al., "BARTScore: Evaluating Generated Text as Text Generation" (NeurIPS 2021).

    Attributes:
        model: hub id, directory or `pkg:module/folder` of an encoder with a decoder.
        direction: `ref->hyp` (precision), `hyp->ref` (recall) or `ref<->hyp` (their mean).

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("bartscore(model='facebook/bart-base')").label
        "bartscore(model='facebook/bart-base')"
    """

    name: ClassVar[str] = "bartscore"
    model: str = "facebook/bart-large-cnn"
    direction: Literal["ref->hyp", "hyp->ref", "ref<->hyp"] = "ref->hyp"

    def compare(
        self, pairs: Sequence[TextPair], runtime: Runtime, documents: Sequence[str] = ()
    ) -> dict[str, Floats]:
        """Return `precision`, `recall` or both: the mean log-likelihood of a token."""
        likelihoods = {}
        if self.direction != "hyp->ref":
            turned = [(reference, text) for text, reference in pairs]
            likelihoods["precision"] = self._log_likelihoods(turned, runtime)
        if self.direction != "ref->hyp":
            likelihoods["recall"] = self._log_likelihoods(pairs, runtime)
        return likelihoods

    def chosen(self, similarities: dict[str, Array]) -> Floats:
        """Return the log-likelihood in the given direction, or the mean of both."""
        directions = [
            similarities[name] for name in ("precision", "recall") if name in similarities
        ]
        mean: Floats = np.mean(directions, axis=0)
        return mean

    def _log_likelihoods(self, pairs: Sequence[TextPair], runtime: Runtime) -> Floats:
        """Return the mean log-likelihood per token of each pair's second text given its first."""
        model: Any = load_model(self.model, runtime, "AutoModelForSeq2SeqLM")
        tokenizer = load_tokenizer(self.model)
        sentences, numbered, places = number_pairs(tokenizer, pairs)

        def encode(batch: Batch) -> torch.Tensor:
            encoded = model.get_encoder()(**model_inputs(batch, model))
            states: torch.Tensor = encoded.last_hidden_state
            return states

        likelihoods = np.empty(len(numbered))
        read = numbered[:, :1]
        for part in encode_in_parts(encode, model, tokenizer, sentences, read, runtime):
            targets = [sentences[number] for number in numbered[part.pairs, 1]]
            likelihoods[part.pairs] = _write(
                model, tokenizer, part.states, part.rows[:, 0], targets, runtime
            )
        return likelihoods[places]


def _write(
    model: Any,
    tokenizer: Any,
    states: TokenStates,
    rows: Indices,
    targets: Sequence[Sequence[int]],
    runtime: Runtime,
) -> Floats:
    """Return the mean log-likelihood per token of each target, given its row of `states`."""
    likelihoods = np.empty(len(targets))
    budget = max(min(runtime.batch_tokens, _LOGITS // model.config.vocab_size), 1)
    with torch.inference_mode(), autocast(runtime):
        for group in group_by_length([len(ids) for ids in targets], budget):
            index, real = states.index(rows[group])
            batch = pad(tokenizer, {"input_ids": targets}, group)
            labels, mask = (batch[key].to(index.device) for key in ("input_ids", "attention_mask"))
            logits = model(
                encoder_outputs=(states.values[index],),
                attention_mask=real.long(),
                decoder_input_ids=model.prepare_decoder_input_ids_from_labels(labels),
                use_cache=False,
            ).logits.float()
            chosen = logits.gather(2, labels[:, :, None])[:, :, 0] - logits.logsumexp(dim=2)
            means = (chosen * mask).sum(dim=1) / mask.sum(dim=1)
            likelihoods[group] = means.cpu().double().numpy()
    return likelihoods
