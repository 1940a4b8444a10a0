"""Metrics that a fine-tuned encoder computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit

from learnedgec.encoding import (
    Item,
    checkpoint_digest,
    cosines,
    load_model,
    load_tokenizer,
    locate,
    model_inputs,
    run,
    sentence_vectors,
)
from learnedgec.errors import ModelError, ParameterError
from learnedgec.evaluator import Evaluator
from learnedgec.metrics.base import Array, Floats, Metric, Statistics
from learnedgec.packages import find_evaluator, is_evaluator
from learnedgec.references import References
from learnedgec.runtime import Runtime

__all__ = ["Impara", "Preference", "Some"]

DIMENSIONS = ("grammaticality", "fluency", "meaning")
_MAX_LENGTH = 128
_EMBEDDINGS = "embeddings"


@dataclass(frozen=True)
class Some(Metric):
    """SOME: a weighted mean of predicted grammaticality, fluency and meaning preservation.

    `α·(g−1)/3 + β·(f−1)/3 + γ·(m−1)/3`, where g and f are read off the hypothesis alone and m off the
    pair (source, hypothesis), each a regression on human ratings from 1 to 4. The system score is the
    mean over sentences.

    The evaluator is one package with the heads `grammaticality`, `fluency` and `meaning` (`model=`), or
    three models given one by one, each a package or a directory (or hub id) with a sequence
    classifier of one label, the layout of the official release. Inputs are cut at the package's
    maximum length, 128 tokens in the official release.

    Source: Yoshimura et al., "SOME: Reference-less Sub-Metrics Optimized for Manual Evaluations of
    Grammatical Error Correction" (COLING 2020). The default weights are the paper's, tuned for the
    sentence level on GJG15; at the system level, on JFLEG, it found 0.01, 0.98 and 0.01.

    Attributes:
        model: name or directory of an evaluator package with the three heads; `joint-mpnet` is released with
            learnedgec, and is not the paper's (BERT-base, three models).
        grammaticality: a model for this dimension in place of the package's head.
        fluency: likewise.
        meaning: likewise.
        weights: α, β and γ.

    Example:
        >>> from learnedgec import parse_metric
        >>> parse_metric("some(weights=(0.01, 0.98, 0.01))").label
        'some(weights=(0.01, 0.98, 0.01))'
    """

    name: ClassVar[str] = "some"
    needs_references: ClassVar[bool] = False
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"weights"})
    model: str = "joint-mpnet"
    grammaticality: str | None = None
    fluency: str | None = None
    meaning: str | None = None
    weights: tuple[float, float, float] = (0.55, 0.43, 0.02)

    def __post_init__(self) -> None:
        if min(self.weights) < 0 or sum(self.weights) <= 0:
            raise ParameterError(f"{self}: weights must not be negative, nor all zero.")

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return `grammaticality`, `fluency` and `meaning`, float64 (N,), each as (x − 1)/3."""
        ratings: dict[str, Floats] = {}
        shared = [dimension for dimension in DIMENSIONS if getattr(self, dimension) is None]
        if shared:
            ratings |= _package_ratings(self.model, shared, sources, hypotheses, runtime)
        for dimension in DIMENSIONS:
            if dimension not in shared:
                name = getattr(self, dimension)
                if is_evaluator(name):
                    ratings |= _package_ratings(name, [dimension], sources, hypotheses, runtime)
                else:
                    ratings[dimension] = _classifier_ratings(
                        name, dimension, sources, hypotheses, runtime
                    )
        return Statistics({dimension: (ratings[dimension] - 1) / 3 for dimension in DIMENSIONS})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the weighted sum of the three dimensions."""
        terms = [w * statistics[d] for w, d in zip(self.weights, DIMENSIONS, strict=True)]
        scores: Floats = np.sum(terms, axis=0)
        return scores

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the mean of each dimension."""
        return {dimension: float(statistics[dimension].mean()) for dimension in DIMENSIONS}

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return each dimension."""
        return {dimension: statistics[dimension] for dimension in DIMENSIONS}

    def evaluators(self) -> tuple[str, ...]:
        """Return the packages in use."""
        names = dict.fromkeys(getattr(self, each) or self.model for each in DIMENSIONS)
        return tuple(name for name in names if is_evaluator(name))

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the weights' SHA-256 of each model in use, and the precision."""
        digests = []
        for dimension in DIMENSIONS:
            name = getattr(self, dimension) or self.model
            digests.append(
                Evaluator.load(name, runtime=runtime).digest
                if getattr(self, dimension) is None or is_evaluator(name)
                else checkpoint_digest(name)
            )
        return {"sha256": ",".join(dict.fromkeys(digests)), "dtype": runtime.dtype}


@dataclass(frozen=True)
class Impara(Metric):
    """IMPARA: the estimated quality of the hypothesis, if it is similar enough to the source, else 0.

    `activation(quality(hypothesis))` where cos(v(source), v(hypothesis)) > θ, else 0; v is the mean over all
    tokens of a pretrained encoder's last states, or of the evaluator's own input embeddings. The quality estimator has learned from pairs of partly
    corrected sentences which side has more of the impact (`learnedgec.training.pairs.impact`). The system score
    is the mean over sentences.

    Source: Maeda, Kaneko and Okazaki, "IMPARA: Impact-Based Metric for GEC Using Parallel Data" (COLING
    2022). The scores in SEEDA's tables are those of the bare output, `activation='none'`. With it a
    rejected hypothesis still gets 0, as in the authors' code, which is no longer the lowest score.

    Attributes:
        quality: an evaluator package with the head `quality`, such as the released `joint-mpnet`, or a
            directory or hub id with a sequence classifier of one label (the layout of `gotutiyan/IMPARA-QE`),
            read at up to 128 tokens.
        similarity: the encoder for the similarity, not fine-tuned, or `embeddings`: the package's own,
            which takes neither another model nor a pass through one. By default `embeddings` for a
            package, and `bert-base-cased`, the paper's, beside a sequence classifier.
        threshold: θ, the paper's 0.9; −1 lets everything pass.
        activation: `sigmoid`, so that scores lie between 0 and 1, or `none`.

    Example:
        >>> from learnedgec import parse_metric
        >>> parse_metric("impara(threshold=0.8)").label
        'impara(threshold=0.8)'
    """

    name: ClassVar[str] = "impara"
    needs_references: ClassVar[bool] = False
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"threshold", "activation"})
    quality: str = "joint-mpnet"
    similarity: str | None = None
    threshold: float = 0.9
    activation: Literal["sigmoid", "none"] = "sigmoid"

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return `quality`, the bare output, and `similarity`, both float64 (N,)."""
        if is_evaluator(self.quality):
            rated = _package_ratings(self.quality, ["quality"], sources, hypotheses, runtime)
            quality = rated["quality"]
        else:
            quality = _classifier_ratings(self.quality, "quality", sources, hypotheses, runtime)
        texts = [*sources, *hypotheses]
        encoder = self._encoder()
        if encoder == _EMBEDDINGS:
            evaluator = Evaluator.load(self.quality, runtime=runtime)
            vectors = evaluator.embedding_vectors(texts, runtime=runtime)
        else:
            vectors = sentence_vectors(
                encoder, texts, runtime, max_length=_MAX_LENGTH, description="similarity"
            )
        similarity = cosines(vectors[: len(sources)], vectors[len(sources) :])
        return Statistics({"quality": quality, "similarity": similarity})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the activated quality, 0 where the similarity is at most the threshold."""
        quality = statistics["quality"]
        if self.activation == "sigmoid":
            quality = expit(quality)
        scores: Floats = np.where(statistics["similarity"] > self.threshold, quality, 0.0)
        return scores

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the mean similarity and the share of hypotheses that were rejected."""
        similarity = statistics["similarity"]
        return {
            "similarity": float(similarity.mean()),
            "rejected": float(np.mean(similarity <= self.threshold)),
        }

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return the bare quality and the similarity."""
        return {name: statistics[name] for name in ("quality", "similarity")}

    def evaluators(self) -> tuple[str, ...]:
        """Return the package of the quality estimator, if it is one."""
        return (self.quality,) if is_evaluator(self.quality) else ()

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the SHA-256 of both models' weights, which encoder it is, and the precision."""
        encoder = self._encoder()
        packaged = is_evaluator(self.quality)
        return {
            "sha256": Evaluator.load(self.quality, runtime=runtime).digest
            if packaged
            else checkpoint_digest(self.quality),
            "encoder": encoder,
            **({} if encoder == _EMBEDDINGS else {"encoder-sha256": checkpoint_digest(encoder)}),
            "dtype": runtime.dtype,
        }

    def _encoder(self) -> str:
        """Return the name of the encoder that measures similarity, or `embeddings`."""
        packaged = is_evaluator(self.quality)
        if self.similarity == _EMBEDDINGS and not packaged:
            raise ParameterError(
                f"{self}: {self.quality} is no evaluator package, so it lends no embeddings; name an encoder."
            )
        return self.similarity or (_EMBEDDINGS if packaged else "bert-base-cased")


@dataclass(frozen=True)
class Preference(Metric):
    """How much a person would prefer the hypothesis to leaving the source as it is, as a logit.

    `h(source, hypothesis) − h(source, source)`, where h is a head that reads the pair and has learned from
    ranked pairs of any origin (`learnedgec.training.pairs`), or a sum of heads as steep as such a head
    (`model.sums`): σ of the difference of two hypotheses' scores is
    the estimated share of people who prefer the first (Bradley and Terry 1952). The source itself scores 0.
    The system score is the mean over sentences.

    Attributes:
        model: name or directory of an evaluator package with the head or sum `preference`; `joint-mpnet` is
            released with learnedgec.

    Example:
        >>> from learnedgec import parse_metric
        >>> parse_metric("preference(model='mine')").label
        "preference(model='mine')"
    """

    name: ClassVar[str] = "preference"
    needs_references: ClassVar[bool] = False
    model: str = "joint-mpnet"

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return `preference`, float64 (N,)."""
        heads = ["preference"]
        both = _package_ratings(
            self.model, heads, [*sources, *sources], [*hypotheses, *sources], runtime
        )["preference"]
        return Statistics({"preference": both[: len(sources)] - both[len(sources) :]})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the preference."""
        scores: Floats = statistics["preference"]
        return scores

    def evaluators(self) -> tuple[str, ...]:
        """Return the package."""
        return (self.model,)

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the SHA-256 of the weights, what is summed, and the precision."""
        evaluator = Evaluator.load(self.model, runtime=runtime)
        # The weights do not tell how a sum is made.
        parts = evaluator.model.config.sums.get("preference", {})
        terms = "+".join(f"{weight:g}*{head}" for head, weight in parts.items())
        return {
            "sha256": evaluator.digest,
            **({"sum": terms} if terms else {}),
            "dtype": runtime.dtype,
        }


def _package_ratings(
    name: str,
    dimensions: Sequence[str],
    sources: Sequence[str],
    hypotheses: Sequence[str],
    runtime: Runtime,
) -> dict[str, Floats]:
    """Return the ratings that a package's heads predict."""
    evaluator = Evaluator.load(name, runtime=runtime)
    absent = [dimension for dimension in dimensions if dimension not in evaluator.heads]
    if absent:
        raise ModelError(
            f"the evaluator {name} has the heads {', '.join(evaluator.heads)} but not {absent[0]}, "
            "which this metric reads; name an evaluator that has it."
        )
    return evaluator.predict(sources, hypotheses, dimensions, runtime=runtime)


def _classifier_ratings(
    name: str,
    dimension: str,
    sources: Sequence[str],
    hypotheses: Sequence[str],
    runtime: Runtime,
) -> Floats:
    """Return the ratings that a sequence classifier with one label predicts."""
    if "/" not in name and not Path(name).expanduser().is_dir():
        # No published model is named like this: it is an evaluator that has not been trained yet.
        find_evaluator(name)
    model: Any = load_model(name, runtime, "AutoModelForSequenceClassification")
    if model.config.num_labels != 1:
        raise ModelError(
            f"{locate(name)} has {model.config.num_labels} labels; a regressor with one was expected."
        )
    items: list[Item] = (
        list(zip(sources, hypotheses, strict=True)) if dimension == "meaning" else list(hypotheses)
    )
    rows = run(
        lambda batch: model(**model_inputs(batch, model)).logits,
        load_tokenizer(name),
        items,
        runtime,
        max_length=_MAX_LENGTH,
        description=dimension,
    )
    return rows[:, 0].astype(np.float64)
