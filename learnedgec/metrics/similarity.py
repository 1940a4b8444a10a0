"""Similarity of two sentences by a pretrained model: BERTScore and BARTScore.

Both score pairs of texts. The original tools score each pair alone, with two runs of an encoder. Here the
pairs of all systems, references (and, for PT-M2, edits) are scored together:

1. Texts become token numbers. Texts with equal tokens are one sentence, so that their scores are
   equal to the last digit, and a pair of sentences is scored once however often it occurs.
2. Pairs are cut into parts whose sentences' token states fit a gibibyte of memory. Pairs that share a
   sentence stay together, so that no sentence is encoded twice unless a part alone is too large.
3. In each part every sentence is encoded once, in batches of similar length; then the pairs are scored from
   these states, also in batches; then the states are freed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from learnedgec.data.references import References
from learnedgec.errors import ModelError
from learnedgec.evaluators.inference import (
    Batch,
    TokenStates,
    autocast,
    group_by_length,
    model_inputs,
    pad,
    token_states,
    tokenise,
)
from learnedgec.evaluators.loading import load_model, load_tokenizer
from learnedgec.metrics.base import PretrainedMetric, Statistics
from learnedgec.metrics.reference_choice import count_references
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Indices, Ints, Texts

TextPair = tuple[str, str]

# The largest size of the encoder states in memory at a time.
_STATES_BYTES = 2**30

_FLOAT32_BYTES = 4


class Similarity(PretrainedMetric):
    """A metric whose sentence score is the best similarity of the hypothesis to a reference."""

    @abstractmethod
    def compare(
        self, pairs: Sequence[TextPair], runtime: Runtime, documents: Sequence[str] = ()
    ) -> dict[str, Floats]:
        """Return one or more similarities of each pair (text, reference) by name, float64 (P,).

        Args:
            pairs: the P pairs.
            runtime: how to run.
            documents: all references, for a similarity in which frequent tokens weigh less.
        """

    @abstractmethod
    def chosen(self, similarities: dict[str, Array]) -> Floats:
        """Return the similarity that the parameters choose, in the shape of the given ones."""

    def pair_scores(self, pairs: Sequence[TextPair], runtime: Runtime) -> Floats:
        """Return the similarity of each pair (text, reference), float64 (P,)."""
        return self.chosen(self.compare(pairs, runtime)) if pairs else np.zeros(0)

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return each similarity of `compare`, float64 (N, R)."""
        counts = count_references(references)
        real = np.arange(references.most) < counts[:, None]
        pairs = [
            (hypothesis, reference.text)
            for hypothesis, choices in zip(hypotheses, references, strict=True)
            for reference in choices
        ]
        # A row of references is repeated for each distinct hypothesis, but its documents count once.
        documents = [reference.text for row in dict.fromkeys(references) for reference in row]
        arrays: dict[str, Array] = {"references": counts}
        for name, values in self.compare(pairs, runtime, documents).items():
            arrays[name] = np.zeros(real.shape)
            arrays[name][real] = values
        return Statistics(arrays)

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the similarity to the most similar reference."""
        return best_reference(self.chosen(dict(statistics.arrays)), statistics)


def best_reference(values: Floats, statistics: Statistics) -> Floats:
    """Return the largest value among each sentence's references, (N,) from (N, R)."""
    real = np.arange(values.shape[1]) < statistics["references"][:, None]
    best: Floats = np.where(real, values, -np.inf).max(axis=1)
    return best


def number_pairs(
    tokenizer: Any, pairs: Sequence[TextPair]
) -> tuple[list[tuple[int, ...]], Ints, Indices]:
    """Number the distinct sentences of some pairs, and the distinct pairs.

    Returns:
        The tokens of each distinct sentence; the distinct pairs of sentence numbers, int (Q, 2); and the
        number of the distinct pair that each pair is, int (P,).
    """
    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    sentences: dict[tuple[int, ...], int] = {}
    number = {
        text: sentences.setdefault(tuple(ids), len(sentences))
        for text, ids in zip(texts, tokenise(tokenizer, texts)["input_ids"], strict=True)
    }
    numbered = np.array([(number[first], number[second]) for first, second in pairs])
    distinct, places = np.unique(numbered, axis=0, return_inverse=True)
    return list(sentences), distinct, places.reshape(-1)


class EncodedPart(NamedTuple):
    """A part of some pairs, with the states of the sentences that are encoded for them.

    Attributes:
        pairs: the numbers of its pairs, int (P,).
        sentences: the tokens of each distinct encoded sentence.
        states: the states of these sentences.
        rows: the rows of `states` that belong to each pair, int (P, K).
    """

    pairs: Indices
    sentences: list[tuple[int, ...]]
    states: TokenStates
    rows: Indices


def encode_in_parts(
    encode: Callable[[Batch], torch.Tensor],
    model: Any,
    tokenizer: Any,
    sentences: Sequence[tuple[int, ...]],
    read: Ints,
    runtime: Runtime,
) -> Iterator[EncodedPart]:
    """Yield pairs in parts whose sentences' token states fit `_STATES_BYTES`, with these states.

    Args:
        encode: function from a batch of sentences to their token states.
        model: the model that encodes.
        tokenizer: its tokenizer.
        sentences: the tokens of each sentence.
        read: numbers of the one or two sentences of each pair that are encoded, int (P, K).
        runtime: how to run.
    """
    lengths = np.array([len(ids) for ids in sentences], dtype=np.int64)
    bound = _STATES_BYTES // (_FLOAT32_BYTES * model.config.hidden_size)
    for pairs in _parts(read[:, 0], read[:, -1], lengths, bound):
        distinct, rows = np.unique(read[pairs], return_inverse=True)
        inputs = [sentences[number] for number in distinct]
        states = token_states(encode, tokenizer, inputs, runtime)
        yield EncodedPart(pairs, inputs, states, rows.reshape(read[pairs].shape))


def _parts(first: Ints, second: Ints, sizes: Ints, bound: int) -> Iterator[Indices]:
    """Cut pairs into parts whose distinct sentences together have at most `bound` tokens.

    Sentences that are linked by pairs stay in one part unless they alone exceed the bound; then pairs
    with the same second sentence stay near each other. A part has at least one pair.

    Args:
        first: sentence numbers, int (P,).
        second: sentence numbers, int (P,).
        sizes: the tokens of each sentence.
        bound: the largest number of tokens in a part.
    """
    links = coo_array((np.ones(len(first)), (first, second)), shape=(len(sizes), len(sizes)))
    family_of = connected_components(links, directed=False)[1]
    needs = np.bincount(family_of, weights=sizes)
    part: list[int] = []
    sentences: set[int] = set()
    total, family = 0, -1
    for pair in np.lexsort((first, second, family_of[second])):
        both = {int(first[pair]), int(second[pair])}
        is_new_family = family_of[second[pair]] != family
        family = family_of[second[pair]]
        new = sum(int(sizes[sentence]) for sentence in both - sentences)
        if part and total + (needs[family] if is_new_family else new) > bound:
            yield np.array(part)
            part, sentences, total = [], set(), 0
            new = sum(int(sizes[sentence]) for sentence in both)
        part.append(int(pair))
        sentences |= both
        total += new
    if part:
        yield np.array(part)


@dataclass(frozen=True)
class BertScore(Similarity):
    """BERTScore: the similarity of the tokens of two sentences in a pretrained encoder's space.

    The states of the text's tokens, x, and of the reference's tokens, y, are those of one layer of the
    encoder. P is the mean of `max_y cos(x, y)` over x, R is that of `max_x cos(x, y)` over y, and
    `F = 2·P·R/(P + R)`. Special tokens ([CLS], [SEP]) may be matched but are left out of the means.

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
