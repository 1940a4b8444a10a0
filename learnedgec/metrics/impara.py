"""IMPARA: learned quality of a hypothesis that is similar enough to its source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from learnedgec.arrays import Array, Floats
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.references import References
from learnedgec.metrics.base import Metric
from learnedgec.metrics.gate import GATE, character_similarities
from learnedgec.metrics.needs import need_classifier, need_model
from learnedgec.metrics.statistics import Statistics
from learnedgec.models.inference import cosines, sentence_vectors
from learnedgec.models.loading import checkpoint_digest
from learnedgec.models.packages import check_outputs, is_evaluator, package_digest
from learnedgec.models.precision import evaluator_precision, model_precision
from learnedgec.models.ratings import MAX_LENGTH, classifier_ratings, package_ratings

__all__ = [
    "Impara",
]

_CHARACTERS = "characters"


@dataclass(frozen=True)
class Impara(Metric):
    """IMPARA: the estimated quality of the hypothesis, if it is similar enough to the source, else 0.

    `activation(quality(hypothesis))` where the similarity of hypothesis and source is above θ, else 0. In the
    paper similarity is cos(v(source), v(hypothesis)), where v is the mean over all tokens of a pretrained
    encoder's last states; with an evaluator package it is the share of common trigrams of characters
    (`learnedgec.metrics.gate`), which rejects more unrelated texts and fewer corrections. The quality
    estimator was trained on pairs of partly corrected sentences to tell which side has more impact
    (`learnedgec.training.pairs.impact`). The system score is the mean over sentences.

    Source: Maeda, Kaneko and Okazaki, "IMPARA: Impact-Based Metric for GEC Using Parallel Data" (COLING
    2022). SEEDA's tables use the raw output, `activation='none'`. A rejected hypothesis then still gets 0, as
    in the authors' code, although 0 is no longer the lowest score. IMPARA-GED, which has no gate, is a
    `classifier`.

    Attributes:
        quality: an evaluator package with the head `quality`, such as the released `joint-mpnet-3`, or a
            directory or hub id with a sequence classifier of one label (the layout of `gotutiyan/IMPARA-QE`),
            read at up to 128 tokens.
        similarity: the encoder for the similarity, not fine-tuned, or `characters`. The default is
            `characters` for a package and `bert-base-cased`, as in the paper, for a sequence classifier.
        threshold: θ; −1 accepts everything. The default is 0.25 for characters and the paper's 0.9 for an
            encoder.
        activation: `sigmoid`, so that scores lie between 0 and 1, or `none`.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("impara(threshold=0.8)").label
        'impara(threshold=0.8)'
    """

    name: ClassVar[str] = "impara"
    needs_references: ClassVar[bool] = False
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"threshold", "activation"})
    quality: str = "joint-mpnet-3"
    similarity: str | None = None
    threshold: float | None = None
    activation: Literal["sigmoid", "none"] = "sigmoid"

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return `quality`, the raw output, and `similarity`, both float64 (N,)."""
        if is_evaluator(self.quality):
            rated = package_ratings(self.quality, ["quality"], sources, hypotheses, runtime)
            quality = rated["quality"]
        else:
            quality = classifier_ratings(self.quality, "quality", hypotheses, runtime)
        similarity = self._similarities(sources, hypotheses, runtime)
        return Statistics({"quality": quality, "similarity": similarity})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the activated quality, 0 where the similarity is at most the threshold."""
        quality = statistics["quality"]
        if self.activation == "sigmoid":
            quality = expit(quality)
        scores: Floats = np.where(self.accepted(statistics), quality, 0.0)
        return scores

    def accepted(self, statistics: Statistics) -> npt.NDArray[np.bool_]:
        """Return which hypotheses are similar enough to their source, bool (N,)."""
        accepted: npt.NDArray[np.bool_] = statistics["similarity"] > self._threshold()
        return accepted

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the mean similarity and the share of hypotheses that were rejected."""
        similarity = statistics["similarity"]
        return {
            "similarity": float(similarity.mean()),
            "rejected": float(np.mean(~self.accepted(statistics))),
        }

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return the raw quality and the similarity."""
        return {name: statistics[name] for name in ("quality", "similarity")}

    def evaluators(self) -> tuple[str, ...]:
        """Return the package of the quality estimator, if it is one."""
        return (self.quality,) if is_evaluator(self.quality) else ()

    def check(self, runtime: Runtime) -> None:
        """Raise unless both models are available."""
        if is_evaluator(self.quality):
            check_outputs(self.quality, ["quality"])
        else:
            need_classifier(self, "quality", self.quality)
        if (encoder := self._similarity()) != _CHARACTERS:
            need_model(self, "similarity", encoder)

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the SHA-256 of both models' weights, which encoder it is, and the precision."""
        similarity = self._similarity()
        packaged = is_evaluator(self.quality)
        return {
            "sha256": (package_digest if packaged else checkpoint_digest)(self.quality),
            "gate": f"{'characters' if similarity == _CHARACTERS else 'cosine'}>{self._threshold():g}",
            **(
                {}
                if similarity == _CHARACTERS
                else {"encoder": similarity, "encoder-sha256": checkpoint_digest(similarity)}
            ),
            "dtype": (evaluator_precision if packaged else model_precision)(runtime),
        }

    def _similarity(self) -> str:
        """Return the name of the encoder that measures similarity, or `characters`."""
        packaged = is_evaluator(self.quality)
        return self.similarity or (_CHARACTERS if packaged else "bert-base-cased")

    def _threshold(self) -> float:
        """Return the threshold in use."""
        if self.threshold is not None:
            return self.threshold
        return GATE if self._similarity() == _CHARACTERS else 0.9

    def _similarities(
        self, sources: Sequence[str], hypotheses: Sequence[str], runtime: Runtime
    ) -> Floats:
        """Return each hypothesis's similarity to its source, float64 (N,)."""
        encoder = self._similarity()
        if encoder == _CHARACTERS:
            return character_similarities(sources, hypotheses)
        found = np.ones(len(sources))
        # An unchanged output has similarity 1 without a pass through the encoder.
        rows = [row for row, source in enumerate(sources) if hypotheses[row] != source]
        texts = [side[row] for side in (sources, hypotheses) for row in rows]
        vectors = sentence_vectors(
            encoder, texts, runtime, max_length=MAX_LENGTH, description="impara: similarity"
        )
        found[rows] = cosines(vectors[: len(rows)], vectors[len(rows) :])
        return found
