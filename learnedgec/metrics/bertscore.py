"""BERTScore: tokens of hypothesis and reference, matched by their states in an encoder."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch

from learnedgec.errors import ModelError
from learnedgec.evaluators.inference import TokenStates, group_by_length, model_inputs, tokenise
from learnedgec.evaluators.loading import load_model, load_tokenizer
from learnedgec.metrics.similarity import (
    Similarity,
    TextPair,
    best_reference,
    encode_in_parts,
    number_pairs,
)
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats


@dataclass(frozen=True)
class BertScore(Similarity):
    """BERTScore: how well the tokens of two sentences match in a pretrained encoder's space.

    With the states x of the text's tokens and y of the reference's, at one layer of the encoder: P is the
    mean of `max_y cos(x, y)` over x, R that of `max_x cos(x, y)` over y, and `F = 2·P·R/(P + R)`. Special
    tokens ([CLS], [SEP]) may be matched but are left out of the means.

    The sentence score is the best F among the references; the corpus score is the mean. A sentence without
    tokens has P = R = F = 0 against every sentence, itself included.

    Equal to the package `bert-score` 0.3 (its `score` with several references included, without `idf` and
    `rescale_with_baseline`). Deviation: texts are tokenised by the model's own fast tokenizer (the package
    puts a space before the first word for RoBERTa's).

    Source: Zhang et al., "BERTScore: Evaluating Text Generation with BERT" (ICLR 2020).

    Attributes:
        encoder: hub id, directory or `pkg:module/folder` of an encoder.
        layer: the layer whose states are used: 1 is the first above the embeddings, -1 the last. The
            authors found 9 best for bert-base-uncased, 17 for roberta-large.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("bertscore(encoder='roberta-large', layer=17)").label
        "bertscore(encoder='roberta-large', layer=17)"
    """

    name: ClassVar[str] = "bertscore"
    model_parameter: ClassVar[str] = "encoder"
    encoder: str = "bert-base-uncased"
    layer: int = 9

    def compare(self, pairs: Sequence[TextPair], runtime: Runtime) -> dict[str, Floats]:
        """Return `p`, `r` and `f`.

        Raises:
            ModelError: the encoder has a decoder.
        """
        model: Any = load_model(self.encoder, runtime, layer=self.layer)
        if model.config.is_encoder_decoder:
            raise ModelError(f"{self.encoder} is an encoder with a decoder; give an encoder alone.")
        tokenizer = load_tokenizer(self.encoder)
        sentences, numbered, places = number_pairs(tokenizer, pairs)
        special = tokenise(tokenizer, [""])["input_ids"][0]

        def encode(batch: dict[str, torch.Tensor]) -> torch.Tensor:
            states = model(**model_inputs(batch, model)).last_hidden_state
            return torch.nn.functional.normalize(states.float(), dim=-1)

        scores = np.empty((len(numbered), 2))
        for part in encode_in_parts(encode, model, tokenizer, sentences, numbered, runtime):
            of_tokens = np.concatenate([_token_shares(ids, special) for ids in part.sentences])
            shares = torch.from_numpy(of_tokens).to(part.states.values)
            scores[part.pairs] = _match(part.states, shares, part.rows, runtime)
        precision, recall = scores[places].T
        total = precision + recall
        f = np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total != 0)
        return {"p": precision, "r": recall, "f": f}

    def chosen(self, similarities: dict[str, Array]) -> Floats:
        """Return F."""
        return similarities["f"]

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the mean precision, recall and F."""
        details = self.sentence_details(statistics)
        return {name: float(column.mean()) for name, column in details.items()}

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return the best precision, recall and F among the references."""
        names = {"precision": "p", "recall": "r", "f": "f"}
        return {name: best_reference(statistics[key], statistics) for name, key in names.items()}


def _token_shares(ids: Sequence[int], special: Collection[int]) -> npt.NDArray[np.float32]:
    """Return each token's share of its sentence's weight: equal shares, and 0 for special tokens."""
    weights = np.array([number not in special for number in ids], dtype=np.float32)
    return weights / (weights.sum() or 1)


def _match(
    states: TokenStates, shares: torch.Tensor, pairs: npt.NDArray[np.intp], runtime: Runtime
) -> Floats:
    """Return BERTScore's precision and recall of pairs of rows in `states`, float64 (P, 2).

    Args:
        states: of length 1 each.
        shares: (T,), each token's share of its sentence's weight.
        pairs: int (P, 2).
        runtime: token budget.
    """
    lengths = np.diff(states.starts.cpu().numpy())[pairs].sum(axis=1)
    scores = np.zeros((len(pairs), 2))
    with torch.inference_mode():
        for group in group_by_length(lengths, runtime.batch_tokens):
            (left, left_real), (right, right_real) = (states.index(c) for c in pairs[group].T)
            cosine = states.values[left] @ states.values[right].transpose(1, 2)
            cosine = cosine.masked_fill(~(left_real[:, :, None] & right_real[:, None, :]), -1.0)
            precision = (cosine.amax(dim=2) * shares[left] * left_real).sum(dim=1)
            recall = (cosine.amax(dim=1) * shares[right] * right_real).sum(dim=1)
            empty = (shares[left] * left_real).sum(dim=1) * (shares[right] * right_real).sum(dim=1)
            both = torch.stack([precision, recall], dim=1) * (empty != 0)[:, None]
            scores[group] = both.cpu().double().numpy()
    return scores
