"""Metrics of trained evaluators: SOME, of grammaticality, fluency and meaning, and IMPARA, of quality."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit

from learnedgec.data.references import References
from learnedgec.evaluators.classifier import MAX_LENGTH, find_predictor, predict
from learnedgec.evaluators.inference import cosines, sentence_vectors
from learnedgec.evaluators.packages import open_package
from learnedgec.evaluators.released import RATED, RELEASED
from learnedgec.metrics.base import Metric, Statistics, need_model
from learnedgec.metrics.learned import (
    CHARACTERS,
    GATE,
    OPEN,
    GatedMetric,
    Head,
    OutputSum,
    character_similarities,
)
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Texts

DIMENSIONS = ("grammaticality", "fluency", "meaning")

# The scale of the human ratings from which SOME's evaluators learned (TMU-GFM).
_RATINGS = (1.0, 4.0)


@dataclass(frozen=True)
class Some(GatedMetric):
    """SOME: a weighted mean of predicted grammaticality, fluency and meaning preservation.

    `α·(g−1)/3 + β·(f−1)/3 + γ·(m−1)/3`, where g and f are predicted from the hypothesis alone and m from the
    pair (source, hypothesis), each by a regression on human ratings from 1 to 4; a head of a package that
    learned from ratings from a to b counts as (x − a)/(b − a). The system score is the mean over sentences.
    With an evaluator package, a hypothesis that has too few trigrams of characters in common
    with its source is not a correction and scores at most 0, the lowest rating;
    every other one scores at least 0. The paper has no such gate, nor have three sequence classifiers such as
    the official ones, nor packages that were trained as in the paper (`model.gate: none`).

    The evaluator is one package with the heads `grammaticality`, `fluency` and `meaning` (`model=`), or
    three models given separately, each a package or a directory (or hub id) with a sequence
    classifier of one label. The official release is three such folders:
    `some(grammaticality='gfm-models/grammer', fluency='gfm-models/fluency', meaning='gfm-models/meaning')`;
    if they hold only pickles, `Runtime(allow_pickle=True)` loads these. Inputs are truncated to the package's
    maximum length, 128 tokens in the official release. To use an output with another name, or a sum of
    several, name it as a metric: `some(meaning="head(model='mine', name='adequacy')")`.

    Source: Yoshimura et al., "SOME: Reference-less Sub-Metrics Optimized for Manual Evaluations of
    Grammatical Error Correction" (COLING 2020). The default weights are the paper's, tuned at the sentence
    level on GJG15; at the system level, on JFLEG, the paper found 0.01, 0.98 and 0.01.

    Attributes:
        model: name, directory or hub id of an evaluator package with the three heads; `joint-mpnet-3`, for
            research only (`learnedgec evaluators fetch joint-mpnet-3`), differs from the paper's evaluator
            (BERT-base, three models).
        grammaticality: a model, or the output of one, that predicts this dimension instead of the package.
        fluency: the same for fluency.
        meaning: the same for meaning.
        weights: α, β and γ.
        threshold: a hypothesis whose share of common trigrams is at most this is rejected; −1 accepts
            everything, and bounds no score. The default is 0.25 with an evaluator package, unless it was
            trained with another `model.gate` than `characters`, else −1.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("some(weights=(0.01, 0.98, 0.01))").label
        'some[joint-mpnet-3](weights=(0.01, 0.98, 0.01))'
    """

    name: ClassVar[str] = "some"
    evaluator_parameter: ClassVar[str] = "model"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"weights", "threshold"})
    model: str = RATED
    grammaticality: str | None = None
    fluency: str | None = None
    meaning: str | None = None
    weights: tuple[float, float, float] = (0.55, 0.43, 0.02)
    threshold: float | None = None

    def __post_init__(self) -> None:
        self.check_weights(self.weights)
        if not self._shares:
            # An unused `model` must not make two metrics differ.
            object.__setattr__(self, "model", type(self).model)

    @property
    def _shares(self) -> bool:
        """Whether a dimension has no model of its own, so that `model` predicts it."""
        return None in (self.grammaticality, self.fluency, self.meaning)

    def _format(self, fields: Sequence[dataclasses.Field[Any]], name: str) -> str:
        # Without a package, there is no name to put in brackets.
        return super()._format(fields, name) if self._shares else Metric._format(self, fields, name)

    def printed(self, name: str = "", usual: Mapping[str, Any] | None = None) -> str:
        """Return the name with only the models in use; see `Metric.printed`."""
        if usual is None:
            usual = {field.name: None for field in dataclasses.fields(self)}
            if not self._shares:
                usual["model"] = self.model
        return super().printed(name, usual)

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return `grammaticality`, `fluency` and `meaning` from 0 to 1, and `similarity`, float64 (N,).

        `threshold`, float64 (N,), is the default of the parameter `threshold`.
        """
        runtime = runtime.bound()
        values = {
            predictor: predict(predictor, sources, hypotheses, outputs, runtime)
            for predictor, outputs in self.outputs(runtime).items()
        }
        scaled: dict[str, Array] = {}
        for dimension, (predictor, weights) in zip(
            DIMENSIONS, self.output_sums(runtime), strict=True
        ):
            rating = np.sum(
                [weight * values[predictor][output] for output, weight in weights.items()], axis=0
            )
            low, high = predictor.range(weights) or _RATINGS
            scaled[dimension] = (rating - low) / (high - low)
        scaled["similarity"] = character_similarities(sources, hypotheses)
        scaled["threshold"] = np.full(len(sources), self.gate(runtime)[1])
        return Statistics(scaled)

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the weighted sum of the dimensions: at most 0 for rejected hypotheses, else at least 0."""
        terms = [w * statistics[d] for w, d in zip(self.weights, DIMENSIONS, strict=True)]
        return self.bounded(np.sum(terms, axis=0), statistics, lowest=0)

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the mean of each dimension, and the share of hypotheses that were rejected."""
        means = {dimension: float(statistics[dimension].mean()) for dimension in DIMENSIONS}
        return {**means, **super().details(statistics)}

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return each dimension and the similarity."""
        return {name: statistics[name] for name in (*DIMENSIONS, "similarity")}

    def gate(self, runtime: Runtime) -> tuple[str, float]:
        """Return `characters`, and the default of `threshold` by the gates of the packages' training."""
        gates = {predictor.gate for predictor, _ in self.output_sums(runtime)}
        return CHARACTERS, GATE if CHARACTERS in gates else OPEN

    def output_sums(self, runtime: Runtime) -> list[OutputSum]:
        """Return each dimension's predictor with the weights of its outputs."""
        shared = runtime.open(open_package, self.model) if self._shares else None
        sums = []
        for dimension in DIMENSIONS:
            name = getattr(self, dimension)
            if name is None:
                assert shared is not None
                sums.append(OutputSum(shared, {dimension: 1.0}))
            elif re.match(r"\s*head\s*\(", name):
                head = load_metric(name)
                assert isinstance(head, Head)
                sums += head.output_sums(runtime)
            else:
                reads = "pair" if dimension == "meaning" else "hypothesis"
                predictor = runtime.open(find_predictor, name, reads)
                sums.append(OutputSum(predictor, {dimension: 1.0}))
        return sums


# The threshold of the paper, for the cosine of an encoder.
_PAPER_THRESHOLD = 0.9

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
        quality: an evaluator package with the output `quality`, such as the released `open-mpnet`, or a
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
        'impara[open-mpnet](threshold=0.8)'
    """

    name: ClassVar[str] = "impara"
    evaluator_parameter: ClassVar[str] = "quality"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"threshold", "activation"})
    quality: str = RELEASED
    similarity: str | None = None
    threshold: float | None = None
    activation: Literal["sigmoid", "none"] = "sigmoid"

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return `quality`, the raw output, and `similarity`, both float64 (N,).

        `characters`, bool (N,), is whether the similarity is that of characters, and `threshold`, float64
        (N,), the default of the parameter `threshold`.
        """
        runtime = runtime.bound()
        quality = predict(self.predictor(runtime), sources, hypotheses, ["quality"], runtime)
        encoder, threshold = self.gate(runtime)
        if encoder == CHARACTERS:
            similarity = character_similarities(sources, hypotheses)
        else:
            similarity = _encoder_similarities(encoder, sources, hypotheses, runtime)
        return Statistics(
            {
                **quality,
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
