"""IMPARA: learned quality of a hypothesis that is similar enough to its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import expit

from learnedgec.data.references import References
from learnedgec.evaluators.classifier import MAX_LENGTH, find_predictor, predict
from learnedgec.evaluators.inference import cosines, sentence_vectors
from learnedgec.evaluators.loading import checkpoint_digest
from learnedgec.evaluators.packages import RELEASED
from learnedgec.metrics.base import Statistics, need_model
from learnedgec.metrics.learned import GATE, OPEN, GatedMetric, OutputSum, character_similarities
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Texts

_CHARACTERS, _PAPER_THRESHOLD = "characters", 0.9

# As a raw output: the sigmoid of it is 0 to four digits.
_LOWEST = -10.0


@dataclass(frozen=True)
class Impara(GatedMetric):
    """IMPARA: the estimated quality of the hypothesis, if it is similar enough to the source, else 0.

    `activation(quality(hypothesis))` where the similarity of hypothesis and source is above θ, else 0. In the
    paper similarity is cos(v(source), v(hypothesis)), where v is the mean over all tokens of a pretrained
    encoder's last states. With an evaluator package it is, unless that was trained as in the paper
    (`model.gate: cosine`), the share of common trigrams of characters (`metrics.learned`), which
    rejects more unrelated texts and fewer corrections. The quality estimator was trained on pairs of partly
    corrected sentences to tell which side has more impact (`learnedgec.training.pairs.corrections`). The
    system score is the mean over sentences.

    Source: Maeda, Kaneko and Okazaki, "IMPARA: Impact-Based Metric for GEC Using Parallel Data" (COLING
    2022). IMPARA-GED, which has no gate, is a `classifier`.

    SEEDA's tables use the raw output, `activation='none'`. A rejected hypothesis then scores at most −10, and
    every other one at least −10. Only where an encoder measures the similarity, as in the paper, a rejected
    hypothesis gets 0, as in the authors' code: accepted ones with a negative output score lower than that, so
    do not rank single hypotheses by it.

    Attributes:
        quality: an evaluator package with the head `quality`, such as the released `joint-mpnet-3`, or a
            directory or hub id with a sequence classifier of one label (the layout of `gotutiyan/IMPARA-QE`),
            read at up to 128 tokens.
        similarity: the encoder for the similarity, not fine-tuned, or `characters`. The default is what the
            package was trained for: `characters`, the encoder that it was trained from (`model.gate: cosine`,
            as in the paper), or no gate; and `bert-base-cased`, as in the paper, for a sequence classifier.
        threshold: θ; −1 accepts everything. The default is 0.25 for characters, the paper's 0.9 for an
            encoder, and −1 for a package without a gate.
        activation: `sigmoid`, so that scores lie between 0 and 1, or `none`.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("impara(threshold=0.8)").label
        'impara[joint-mpnet-3](threshold=0.8)'
    """

    name: ClassVar[str] = "impara"
    evaluator_parameter: ClassVar[str] = "quality"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"threshold", "activation"})
    quality: str = RELEASED
    similarity: str | None = None
    threshold: float | None = None
    activation: Literal["sigmoid", "none"] = "sigmoid"

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References | None, runtime: Runtime
    ) -> Statistics:
        """Return `quality`, the raw output, and `similarity`, both float64 (N,).

        `characters`, bool (N,), is whether the similarity is that of characters, and `threshold`, float64
        (N,), the default of the parameter `threshold`.
        """
        runtime = runtime.bound()
        quality = predict(self.predictor(runtime), sources, hypotheses, ["quality"], runtime)
        encoder = self._encoder(runtime)
        if encoder == _CHARACTERS:
            similarity = character_similarities(sources, hypotheses)
        else:
            similarity = _encoder_similarities(encoder, sources, hypotheses, runtime)
        return Statistics(
            {
                **quality,
                "similarity": similarity,
                "characters": np.full(len(sources), encoder == _CHARACTERS),
                "threshold": np.full(len(sources), self.usual_threshold(runtime)),
            }
        )

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the activated quality; rejected hypotheses score 0 or at most −10 (see the class)."""
        quality, accepted = statistics["quality"], self.accepted(statistics)
        if self.activation == "sigmoid":
            return np.where(accepted, expit(quality), 0.0)
        bounded = self.bounded(quality, statistics, _LOWEST)
        return np.where(statistics["characters"], bounded, np.where(accepted, quality, 0.0))

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the mean similarity and the share of hypotheses that were rejected."""
        similarity = float(statistics["similarity"].mean())
        return {"similarity": similarity, **super().details(statistics)}

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return the raw quality and the similarity."""
        return {name: statistics[name] for name in ("quality", "similarity")}

    def output_sums(self, runtime: Runtime) -> list[OutputSum]:
        """Return the quality estimator with its output."""
        return [OutputSum(runtime.open(find_predictor, self.quality), {"quality": 1.0})]

    def check(self, runtime: Runtime) -> None:
        """Raise unless both models are available."""
        super().check(runtime)
        if (encoder := self._encoder(runtime)) != _CHARACTERS:
            need_model(self, "similarity", encoder)

    def describe_processing(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the gate and, if an encoder measures similarity, which one it is."""
        rest, encoder = super().describe_processing(runtime), self._encoder(runtime)
        if rest and encoder != _CHARACTERS:
            rest |= {"encoder": encoder, "encoder-sha256": checkpoint_digest(encoder)}
        return rest

    def measure(self, runtime: Runtime) -> str:
        """Return the name of the similarity in signatures."""
        return _CHARACTERS if self._encoder(runtime) == _CHARACTERS else "cosine"

    def _encoder(self, runtime: Runtime) -> str:
        """Return the name of the encoder that measures similarity, or `characters`."""
        if self.similarity:
            return self.similarity
        predictor = self.predictor(runtime)
        return predictor.encoder if predictor.gate == "cosine" else _CHARACTERS

    def usual_threshold(self, runtime: Runtime) -> float:
        """Return the default of `threshold`, by the similarity and by the package's own gate."""
        if self.similarity is None and self.predictor(runtime).gate == "none":
            return OPEN
        return GATE if self._encoder(runtime) == _CHARACTERS else _PAPER_THRESHOLD


def _encoder_similarities(
    encoder: str, sources: Sequence[str], hypotheses: Sequence[str], runtime: Runtime
) -> Floats:
    """Return the cosine of each hypothesis's vector with that of its source, float64 (N,)."""
    similarities = np.ones(len(sources))
    # The similarity of an unchanged output is 1, so it need not be encoded.
    rows = [row for row, source in enumerate(sources) if hypotheses[row] != source]
    texts = [side[row] for side in (sources, hypotheses) for row in rows]
    vectors = sentence_vectors(
        encoder, texts, runtime, max_length=MAX_LENGTH, description="impara: similarity"
    )
    similarities[rows] = cosines(vectors[: len(rows)], vectors[len(rows) :])
    return similarities
