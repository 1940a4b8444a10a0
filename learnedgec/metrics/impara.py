"""IMPARA: the estimated quality of a hypothesis that is similar enough to its source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import expit

from learnedgec.data.references import References
from learnedgec.errors import ModelError
from learnedgec.evaluators import RELEASED
from learnedgec.evaluators.classifier import MAX_LENGTH
from learnedgec.evaluators.inference import cosines, sentence_vectors
from learnedgec.evaluators.package import Package, output_names
from learnedgec.evaluators.predictor import find_predictor, predict
from learnedgec.metrics.contract import Statistics, need_model
from learnedgec.metrics.gate import CHARACTERS, GATE, OPEN, GatedMetric, character_similarities
from learnedgec.metrics.learned import OutputSum
from learnedgec.metrics.quality import LOWEST_QUALITY, Quality
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Texts

# The threshold of the paper, for the cosine of an encoder.
_PAPER_THRESHOLD = 0.9

# The output of a package that is IMPARA's estimator.
_OUTPUT = "impara"


@dataclass(frozen=True)
class Impara(GatedMetric):
    """IMPARA: the estimated quality of the hypothesis, if it is similar enough to the source, else 0.

    `activation(quality(hypothesis))` where the similarity of hypothesis and source is above θ, else 0. The
    quality estimator was trained on pairs of partly corrected sentences, to tell which side has the more
    impact (`learnedgec.training.pairs.corrections`). In the paper, similarity is cos(v(source),
    v(hypothesis)), where v is the mean over all tokens of a pretrained encoder's last states. The system
    score is the mean over sentences.

    The estimator in the released `open-mpnet` is a head on its frozen encoder, trained on free parallel data;
    the paper's is BERT-base, trained on CoNLL-2013, and `learnedgec train --config impara` trains that one.

    Source: Maeda, Kaneko and Okazaki, "IMPARA: Impact-Based Metric for GEC Using Parallel Data" (COLING
    2022). IMPARA-GED, which has no gate, is a `classifier`.

    SEEDA's tables use the raw output, `activation='none'`. A hypothesis that the encoder's gate rejects then
    gets 0, as in the authors' code. Accepted hypotheses with a negative output score lower than that, so do
    not rank single hypotheses by it. The gate of characters instead bounds the raw output: rejected
    hypotheses score at most −10, and all others at least −10.

    Attributes:
        quality: an evaluator package with the output `impara`, such as `open-mpnet`, which is part of the
            installation; or a directory or hub id with a sequence classifier of one label (the layout of
            `gotutiyan/IMPARA-QE`), read at up to 128 tokens.
        similarity: the encoder for the similarity, not fine-tuned, or `characters`, the share of common
            trigrams of characters (`character_similarities`). By default, the gate of the package's training
            (`model.gate`) decides: `characters`; `cosine`, as in the paper, by the encoder that the package
            was trained from; or no gate. For a sequence classifier, it is `bert-base-cased`, as in the paper.
        threshold: θ; −1 accepts everything. The default is 0.25 for characters, the paper's 0.9 for an
            encoder, and −1 for a package without a gate.
        activation: `sigmoid`, so that scores lie between 0 and 1, or `none`.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("impara(threshold=0.8)").label
        'impara[open-mpnet](threshold=0.8)'
    """

    name: ClassVar[str] = "impara"
    evaluator_parameter: ClassVar[str] = "quality"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"threshold", "activation"})
    per_sentence: ClassVar[tuple[str, ...]] = ("quality", "similarity")
    means: ClassVar[tuple[str, ...]] = ("similarity",)
    quality: str = RELEASED
    similarity: str | None = None
    threshold: float | None = None
    activation: Literal["sigmoid", "none"] = "sigmoid"

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return `quality`, the raw output, and `similarity`, both float64 (N,).

        `characters`, bool (N,), says whether characters measure the similarity, and `threshold`, float64
        (N,), the default of the parameter `threshold`.
        """
        runtime = runtime.bound()
        predicted = predict(self.predictor(runtime), sources, hypotheses, [_OUTPUT], runtime)
        encoder, threshold = self.gate(runtime)
        if encoder == CHARACTERS:
            similarity = character_similarities(sources, hypotheses)
        else:
            similarity = _encoder_similarities(encoder, sources, hypotheses, runtime)
        return Statistics(
            {
                "quality": predicted[_OUTPUT],
                "similarity": similarity,
                "characters": np.full(len(sources), encoder == CHARACTERS),
                "threshold": np.full(len(sources), threshold),
            }
        )

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the activated quality; rejected hypotheses score 0 or at most −10 (see the class)."""
        quality, accepted = statistics["quality"], self.accepted(statistics)
        if self.activation == "sigmoid":
            return np.where(accepted, expit(quality), 0.0)
        bounded = self.bounded(quality, statistics, LOWEST_QUALITY)
        return np.where(statistics["characters"], bounded, np.where(accepted, quality, 0.0))

    def output_sums(self, runtime: Runtime) -> list[OutputSum]:
        """Return the quality estimator with its output."""
        return [OutputSum(runtime.open(find_predictor, self.quality), {_OUTPUT: 1.0})]

    def check(self, runtime: Runtime) -> None:
        """Raise unless both models are available, and the package has IMPARA's estimator."""
        predictor = self.predictor(runtime)
        if isinstance(predictor, Package):
            outputs = output_names(predictor.config)
            if _OUTPUT not in outputs and "quality" in outputs:
                raise ModelError(
                    f"{self.label}: the evaluator {predictor.name} has no output impara, IMPARA's estimator; "
                    f"use {Quality(model=self.quality).label}, which reads its output quality, or a package "
                    "whose head impara was trained with configs/impara.yaml."
                )
        super().check(runtime)
        if (encoder := self.gate(runtime)[0]) != CHARACTERS:
            need_model(self, "similarity", encoder)

    def gate(self, runtime: Runtime) -> tuple[str, float]:
        """Return the similarity and the default of `threshold`, which the package's own gate decides."""
        similarity = self.similarity
        if not similarity:
            predictor = self.predictor(runtime)
            gate = predictor.gate
            if gate == "none":
                return CHARACTERS, OPEN
            similarity = predictor.encoder if gate == "cosine" else CHARACTERS
        return similarity, GATE if similarity == CHARACTERS else _PAPER_THRESHOLD


def _encoder_similarities(
    encoder: str, sources: Texts, hypotheses: Texts, runtime: Runtime
) -> Floats:
    """Return the cosine of the vectors of each hypothesis and its source, float64 (N,)."""
    similarities = np.ones(len(sources))
    # The similarity of an unchanged output is 1, so it need not be encoded.
    rows = [row for row, source in enumerate(sources) if hypotheses[row] != source]
    texts = [side[row] for side in (sources, hypotheses) for row in rows]
    vectors = sentence_vectors(
        encoder, texts, runtime, max_length=MAX_LENGTH, description="impara: similarity"
    )
    similarities[rows] = cosines(vectors[: len(rows)], vectors[len(rows) :])
    return similarities
