"""BERTScore: the similarity of the tokens of two sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch

from learnedgec.errors import ModelError
from learnedgec.evaluators.inference import (
    TokenStates,
    group_by_length,
    model_inputs,
    tokenise,
)
from learnedgec.evaluators.loading import load_model, load_tokenizer
from learnedgec.metrics.contract import Statistics
from learnedgec.metrics.similarity import (
    Similarity,
    TextPair,
    best_reference,
    encode_in_parts,
    number_pairs,
)
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Indices


@dataclass(frozen=True)
class BertScore(Similarity):
    """BERTScore: the similarity of the tokens of two sentences in a pretrained encoder's space.

    One layer of the encoder gives the states of the text's tokens, x, and of the reference's tokens, y. P is
    the mean of `max_y cos(x, y)` over x, R is the mean of `max_x cos(x, y)` over y, and `F = 2·P·R/(P + R)`.
    Special tokens ([CLS], [SEP]) may be matched but are left out of the means.

    The sentence score is the best F among the references; the corpus score is the mean. A sentence without
    tokens has P = R = F = 0 against every sentence, itself included.

    With `idf='references'` the means are weighted by `log((M + 1)/(m + 1))` for a token that m of the M
    references contain. A sentence's score then depends on the references of all sentences, and is 0 if there
    is only one reference.

    Equal to the package `bert-score` 0.3 (its `score` with several references included, without
    `rescale_with_baseline`). Deviations: texts are tokenised by the model's own fast tokenizer (the package
    puts a space before the first word for RoBERTa's); for `idf`, sentences with the same references count
    once.

    Source: Zhang et al., "BERTScore: Evaluating Text Generation with BERT" (ICLR 2020).

    Attributes:
        encoder: hub id, directory or `pkg:module/folder` of an encoder.
        layer: the layer whose states are used: 1 is the first above the embeddings, -1 the last. The
            authors found 9 best for bert-base-uncased, 17 for roberta-large.
        idf: whether tokens that are rare in the references weigh more.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("bertscore(encoder='roberta-large', layer=17)").label
        "bertscore(encoder='roberta-large', layer=17)"
    """

    name: ClassVar[str] = "bertscore"
    means: ClassVar[tuple[str, ...]] = ("precision", "recall", "f")
    model_parameter: ClassVar[str] = "encoder"
    encoder: str = "bert-base-uncased"
    layer: int = 9
    idf: Literal["none", "references"] = "none"

    def compare(
        self, pairs: Sequence[TextPair], runtime: Runtime, documents: Sequence[str] = ()
    ) -> dict[str, Floats]:
        """Return `p`, `r` and `f`.

        Raises:
            ModelError: the encoder has a decoder.
        """
        model: Any = load_model(self.encoder, runtime, layer=self.layer)
        if model.config.is_encoder_decoder:
            raise ModelError(f"{self.encoder} is an encoder with a decoder; give an encoder alone.")
        tokenizer = load_tokenizer(self.encoder)
        sentences, numbered, places = number_pairs(tokenizer, pairs)
        weights = np.ones(len(tokenizer))
        if self.idf == "references":
            tokens = [set(ids) for ids in tokenise(tokenizer, documents)["input_ids"]]
            counts = np.bincount([ids for row in tokens for ids in row], minlength=len(weights))
            weights = np.log((len(documents) + 1) / (counts + 1))
        weights[list(tokenise(tokenizer, [""])["input_ids"][0])] = 0.0

        def encode(batch: dict[str, torch.Tensor]) -> torch.Tensor:
            states = model(**model_inputs(batch, model)).last_hidden_state
            return torch.nn.functional.normalize(states.float(), dim=-1)

        scores = np.empty((len(numbered), 2))
        for part in encode_in_parts(encode, model, tokenizer, sentences, numbered, runtime):
            token_shares = np.concatenate([_shares(weights[list(ids)]) for ids in part.sentences])
            shares = torch.from_numpy(token_shares).to(part.states.values)
            scores[part.pairs] = _match(part.states, shares, part.rows, runtime)
        precision, recall = scores[places].T
        total = precision + recall
        f = np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total != 0)
        return {"p": precision, "r": recall, "f": f}

    @property
    def statistics_depend_on_others(self) -> str:
        """Why similarities depend on others: the references of all sentences decide the weight of a token."""
        if self.idf == "none":
            return ""
        return "the weight of a token depends on the references of all sentences; give idf='none'"

    def chosen(self, similarities: dict[str, Array]) -> Floats:
        """Return F."""
        return similarities["f"]

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return the best precision, recall and F among the references."""
        names = {"precision": "p", "recall": "r", "f": "f"}
        return {name: best_reference(statistics[key], statistics) for name, key in names.items()}


def _shares(weights: Floats) -> npt.NDArray[np.float32]:
    """Return each token's share of its sentence's weight."""
    return (weights / (weights.sum() or 1.0)).astype(np.float32)


def _match(states: TokenStates, shares: torch.Tensor, pairs: Indices, runtime: Runtime) -> Floats:
    """Return BERTScore's precision and recall of pairs of rows in `states`, float64 (P, 2).

    Args:
        states: states, each of length 1.
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
