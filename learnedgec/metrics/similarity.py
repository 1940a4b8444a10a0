"""The base of metrics of the similarity of two sentences by a pretrained model: BERTScore and BARTScore.

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
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from learnedgec.data.references import References
from learnedgec.evaluators.inference import (
    Batch,
    TokenStates,
    token_states,
    tokenise,
)
from learnedgec.metrics.contract import PretrainedMetric, Statistics
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
