"""Similarity of two sentences by a pretrained model: BERTScore and BARTScore.

Both score pairs of texts, and a pair costs two runs of an encoder where the original tools score it
alone. Here the pairs of all systems, references (and, for PT-M2, edits) come together:

1. Texts become token numbers. Texts with equal tokens are one sentence, so that their scores are
   equal to the last digit, and a pair of sentences is scored once however often it occurs.
2. Pairs are cut into parts whose sentences' token states fit `runtime.cache_mb`. Pairs that share a
   sentence stay together, so that no sentence is encoded twice unless a part alone is too large.
3. In each part every sentence is encoded once, in batches of similar length; then the pairs are
   scored from the states that are held, in batches too; then the states go.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from learnedgec.cache import key_of
from learnedgec.encoding import (
    TokenStates,
    autocast,
    checkpoint_digest,
    group_by_length,
    load_model,
    load_tokenizer,
    model_inputs,
    pad,
    token_states,
    tokenise,
)
from learnedgec.errors import ModelError, ParameterError
from learnedgec.metrics.base import Array, Floats, Metric, Statistics
from learnedgec.references import References
from learnedgec.runtime import Runtime
from learnedgec.text import read_lines

__all__ = ["BartScore", "BertScore", "Similarity"]

Ints = npt.NDArray[np.int64]
Pair = tuple[str, str]

_MIB = 2**20
_FLOAT32 = 4
# Numbers in one batch's logits: 256 MiB, times two or three for the log-softmax.
_LOGITS = 2**26


class Similarity(Metric):
    """A metric whose sentence score is the best similarity of the hypothesis to a reference."""

    @abstractmethod
    def compare(self, pairs: Sequence[Pair], runtime: Runtime) -> dict[str, Floats]:
        """Return one or more similarities of each pair (text, reference) by name, float64 (P,)."""

    @abstractmethod
    def chosen(self, similarities: dict[str, Array]) -> Floats:
        """Return the similarity that the parameters ask for, of the shape of those given."""

    def pair_scores(self, pairs: Sequence[Pair], runtime: Runtime) -> Floats:
        """Return the similarity of each pair (text, reference), float64 (P,)."""
        return self.chosen(self.compare(pairs, runtime)) if pairs else np.zeros(0)

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return each similarity of `compare`, float64 (N, R)."""
        assert references is not None
        counts = np.array([len(choices) for choices in references], dtype=np.int64)
        real = np.arange(references.most) < counts[:, None]
        pairs = [
            (hypothesis, reference.text)
            for hypothesis, choices in zip(hypotheses, references, strict=True)
            for reference in choices
        ]
        arrays: dict[str, Array] = {"references": counts}
        for name, values in self.compare(pairs, runtime).items():
            arrays[name] = np.zeros(real.shape)
            arrays[name][real] = values
        return Statistics(arrays)

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the similarity to the most similar reference."""
        return _best(self.chosen(dict(statistics.arrays)), statistics)


def _best(values: Floats, statistics: Statistics) -> Floats:
    """Return the largest value among each sentence's references, (N,) from (N, R)."""
    real = np.arange(values.shape[1]) < statistics["references"][:, None]
    best: Floats = np.where(real, values, -np.inf).max(axis=1)
    return best


@dataclass(frozen=True)
class BertScore(Similarity):
    """BERTScore: how well the tokens of two sentences match in a pretrained encoder's space.

    With the states x of the text's tokens and y of the reference's, at one layer of the encoder, and
    token weights v: `P = Σ v(x)·max_y cos(x, y) / Σ v(x)`, `R = Σ v(y)·max_x cos(x, y) / Σ v(y)` and
    `F = 2·P·R/(P + R)`. Special tokens ([CLS], [SEP]) may be matched but do not weigh. v is 1, or the
    inverse document frequency `log((D + 1)/(d + 1))` of the token, which d of the D documents have.

    The sentence score is the best F (or P, or R) among the references, shown as `(F − b)/(1 − b)` with
    the baseline b of `rescale`; the corpus score is the mean. A sentence without tokens has P = R = F = 0
    with every other, itself included.

    Equal to the package `bert-score` 0.3 (its `score` with several references, `idf=True` and
    `rescale_with_baseline` included). Deviations: texts are tokenised by the model's own fast
    tokenizer (the package puts a space before the first word for RoBERTa's); a sentence in which all
    weights are 0 scores 0, not NaN; and the documents of the frequencies are always a file, so that a
    score does not depend on what else is scored (the package takes the references at hand).

    Source: Zhang et al., "BERTScore: Evaluating Text Generation with BERT" (ICLR 2020).

    Attributes:
        encoder: hub id, directory or `pkg:module/folder` of an encoder.
        layer: whose states: 1 is the first layer above the embeddings, -1 the last. The authors found 9
            best for bert-base-uncased, 17 for roberta-large.
        idf: a file with one document per line, or `None` for equal weights.
        rescale: the baseline, such as 0.35219112 for F with the defaults (from the package's tables).
        measure: `f`, `p` or `r`.

    Example:
        >>> from learnedgec import parse_metric
        >>> parse_metric("bertscore(encoder='roberta-large', layer=17)").label
        "bertscore(encoder='roberta-large', layer=17)"
    """

    name: ClassVar[str] = "bertscore"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"rescale", "measure"})
    encoder: str = "bert-base-uncased"
    layer: int = 9
    idf: str | None = None
    rescale: float = 0.0
    measure: Literal["f", "p", "r"] = "f"

    def __post_init__(self) -> None:
        if not self.rescale < 1:
            raise ParameterError(f"{self}: rescale must be below 1, the similarity of equal texts.")

    def compare(self, pairs: Sequence[Pair], runtime: Runtime) -> dict[str, Floats]:
        """Return `p`, `r` and `f`, not rescaled."""
        model: Any = load_model(self.encoder, runtime, layer=self.layer)
        if model.config.is_encoder_decoder:
            raise ModelError(f"{self.encoder} is an encoder with a decoder; give an encoder alone.")
        tokenizer = load_tokenizer(self.encoder)
        sentences, numbered, places = _number_pairs(tokenizer, pairs)
        weights = self._token_weights(tokenizer)
        lengths = np.array([len(ids) for ids in sentences], dtype=np.int64)

        def encode(batch: dict[str, torch.Tensor]) -> torch.Tensor:
            states = model(**model_inputs(batch, model)).last_hidden_state
            return torch.nn.functional.normalize(states.float(), dim=-1)

        found = np.empty((len(numbered), 2))
        bound = runtime.cache_mb * _MIB // (_FLOAT32 * model.config.hidden_size)
        for part in _parts(numbered[:, 0], numbered[:, 1], lengths, bound):
            held, rows = np.unique(numbered[part], return_inverse=True)
            inputs = [sentences[number] for number in held]
            states = token_states(encode, tokenizer, inputs, runtime)
            shares = torch.from_numpy(np.concatenate([weights(ids) for ids in inputs]))
            found[part] = _match(states, shares.to(states.values), rows.reshape(-1, 2), runtime)
        precision, recall = found[places].T
        total = precision + recall
        f = np.where(total != 0, 2 * precision * recall / np.where(total != 0, total, 1), 0)
        return {"p": precision, "r": recall, "f": f}

    def chosen(self, similarities: dict[str, Array]) -> Floats:
        """Return P, R or F, rescaled."""
        rescaled: Floats = (similarities[self.measure] - self.rescale) / (1 - self.rescale)
        return rescaled

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the mean precision, recall and F, not rescaled."""
        return {
            name: float(column.mean()) for name, column in self.sentence_details(statistics).items()
        }

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return the best precision, recall and F among the references, not rescaled."""
        names = {"precision": "p", "recall": "r", "f": "f"}
        return {name: _best(statistics[key], statistics) for name, key in names.items()}

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the weights' SHA-256, that of the documents, and the precision."""
        found: dict[str, str | int | float] = {"sha256": checkpoint_digest(self.encoder)}
        if self.idf is not None:
            found["documents"] = key_of(read_lines(self.idf))[:12]
        return {**found, "dtype": runtime.dtype}

    def _token_weights(self, tokenizer: Any) -> Callable[[Sequence[int]], npt.NDArray[np.float32]]:
        """Return the function from a sentence's tokens to their weights, which sum to 1 or are 0."""
        if self.idf is None:
            table: dict[int, float] = {}
            other = 1.0
        else:
            documents = tuple(read_lines(self.idf))
            table, other = _inverse_document_frequencies(self.encoder, documents)
        ends = tokenise(tokenizer, [""])["input_ids"][0]
        table = {**table, **dict.fromkeys(ends, 0.0)}

        def weigh(ids: Sequence[int]) -> npt.NDArray[np.float32]:
            weights = np.array([table.get(number, other) for number in ids], dtype=np.float32)
            return weights / (weights.sum() or 1)

        return weigh


@lru_cache(maxsize=4)
def _inverse_document_frequencies(
    encoder: str, documents: tuple[str, ...]
) -> tuple[dict[int, float], float]:
    """Return `log((D + 1)/(d + 1))` of each token in D documents, and that of a token in none."""
    tokenised = tokenise(load_tokenizer(encoder), documents)["input_ids"]
    counts = Counter(number for ids in tokenised for number in set(ids))
    size = len(documents) + 1
    table = {number: math.log(size / (count + 1)) for number, count in counts.items()}
    return table, math.log(size)


def _match(
    states: TokenStates, shares: torch.Tensor, pairs: npt.NDArray[np.intp], runtime: Runtime
) -> Floats:
    """Return BERTScore's precision and recall of pairs of rows in `states`, float64 (P, 2).

    Args:
        states: of length 1 each.
        shares: (T,), what part of its sentence's weight each token has.
        pairs: int (P, 2).
        runtime: token budget.
    """
    lengths = np.diff(states.starts.cpu().numpy())[pairs].sum(axis=1)
    found = np.zeros((len(pairs), 2))
    with torch.inference_mode():
        for group in group_by_length(lengths, runtime.batch_tokens):
            (left, left_real), (right, right_real) = (states.index(c) for c in pairs[group].T)
            cosine = states.values[left] @ states.values[right].transpose(1, 2)
            cosine = cosine.masked_fill(~(left_real[:, :, None] & right_real[:, None, :]), -1.0)
            precision = (cosine.amax(dim=2) * shares[left] * left_real).sum(dim=1)
            recall = (cosine.amax(dim=1) * shares[right] * right_real).sum(dim=1)
            empty = (shares[left] * left_real).sum(dim=1) * (shares[right] * right_real).sum(dim=1)
            both = torch.stack([precision, recall], dim=1) * (empty != 0)[:, None]
            found[group] = both.cpu().double().numpy()
    return found


@dataclass(frozen=True)
class BartScore(Similarity):
    """BARTScore: how probable a sequence-to-sequence model finds one sentence, given the other.

    `Σ log p(y_t | y_<t, x) / T` over the T tokens of y, special tokens included. x → y is
    `ref->hyp` (precision: the model reads the reference and writes the text), `hyp->ref` (recall), or
    both, `ref<->hyp`, their mean. Scores are logarithms: at most 0. The sentence score is the best among the
    references; the corpus score is the mean. Give the sources as references for the direction `src->hyp`.

    Equal to the authors' `bart_score.py` (`multi_ref_score` with `agg='max'`).

    Source: Yuan et al., "BARTScore: Evaluating Generated Text as Text Generation" (NeurIPS 2021).

    Attributes:
        model: hub id, directory or `pkg:module/folder` of an encoder with a decoder.
        direction: see above.

    Example:
        >>> from learnedgec import parse_metric
        >>> parse_metric("bartscore(model='facebook/bart-base')").label
        "bartscore(model='facebook/bart-base')"
    """

    name: ClassVar[str] = "bartscore"
    model: str = "facebook/bart-large-cnn"
    direction: Literal["ref->hyp", "hyp->ref", "ref<->hyp"] = "ref->hyp"

    def compare(self, pairs: Sequence[Pair], runtime: Runtime) -> dict[str, Floats]:
        """Return `precision`, `recall` or both: the mean log-likelihood of a token."""
        found = {}
        if self.direction != "hyp->ref":
            turned = [(reference, text) for text, reference in pairs]
            found["precision"] = self._log_likelihoods(turned, runtime)
        if self.direction != "ref->hyp":
            found["recall"] = self._log_likelihoods(pairs, runtime)
        return found

    def chosen(self, similarities: dict[str, Array]) -> Floats:
        """Return the log-likelihood in the given direction, or the mean of both."""
        directions = [
            similarities[name] for name in ("precision", "recall") if name in similarities
        ]
        mean: Floats = np.mean(directions, axis=0)
        return mean

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the weights' SHA-256 and the precision."""
        return {"sha256": checkpoint_digest(self.model), "dtype": runtime.dtype}

    def _log_likelihoods(self, pairs: Sequence[Pair], runtime: Runtime) -> Floats:
        """Return the mean log-likelihood per token of each pair's second text given its first."""
        model: Any = load_model(self.model, runtime, "AutoModelForSeq2SeqLM")
        tokenizer = load_tokenizer(self.model)
        sentences, numbered, places = _number_pairs(tokenizer, pairs)
        lengths = np.array([len(ids) for ids in sentences], dtype=np.int64)
        found = np.empty(len(numbered))
        bound = runtime.cache_mb * _MIB // (_FLOAT32 * model.config.hidden_size)
        read = numbered[:, 0]
        for part in _parts(read, read, lengths, bound):
            held, rows = np.unique(read[part], return_inverse=True)
            states = token_states(
                lambda batch: model.get_encoder()(**model_inputs(batch, model)).last_hidden_state,
                tokenizer,
                [sentences[number] for number in held],
                runtime,
            )
            targets = [sentences[number] for number in numbered[part, 1]]
            found[part] = _write(model, tokenizer, states, rows, targets, runtime)
        return found[places]


def _write(
    model: Any,
    tokenizer: Any,
    states: TokenStates,
    rows: npt.NDArray[np.intp],
    targets: Sequence[Sequence[int]],
    runtime: Runtime,
) -> Floats:
    """Return the mean log-likelihood per token of each target, given the row of `states` that it has."""
    found = np.empty(len(targets))
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
            found[group] = means.cpu().double().numpy()
    return found


def _number_pairs(
    tokenizer: Any, pairs: Sequence[Pair]
) -> tuple[list[tuple[int, ...]], Ints, npt.NDArray[np.intp]]:
    """Number the distinct sentences of some pairs, and the distinct pairs.

    Returns:
        The tokens of each distinct sentence; the distinct pairs of sentence numbers, int (Q, 2); and which
        of them each pair is, int (P,).
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


def _parts(first: Ints, second: Ints, sizes: Ints, bound: int) -> Iterator[npt.NDArray[np.intp]]:
    """Cut pairs into parts whose distinct sentences together have at most `bound` tokens.

    Sentences that are linked by pairs stay in one part unless they alone exceed the bound; then pairs
    with the same second sentence stay near each other. A part has at least one pair.

    Args:
        first: sentence numbers, int (P,).
        second: sentence numbers, int (P,).
        sizes: the tokens of each sentence.
        bound: in tokens.
    """
    links = coo_array((np.ones(len(first)), (first, second)), shape=(len(sizes), len(sizes)))
    family_of = connected_components(links, directed=False)[1]
    needs = np.bincount(family_of, weights=sizes)
    part: list[int] = []
    held: set[int] = set()
    total, family = 0, -1
    for pair in np.lexsort((first, second, family_of[second])):
        new = {int(first[pair]), int(second[pair])} - held
        extra = sum(int(sizes[sentence]) for sentence in new)
        entered = family_of[second[pair]] != family
        family = family_of[second[pair]]
        if part and total + (needs[family] if entered else extra) > bound:
            yield np.array(part)
            part, held, total = [], set(), 0
            new = {int(first[pair]), int(second[pair])}
            extra = sum(int(sizes[sentence]) for sentence in new)
        part.append(int(pair))
        held |= new
        total += extra
    if part:
        yield np.array(part)
