"""SOME: learned grammaticality, fluency and meaning, combined by weights."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from learnedgec.arrays import Array, Floats
from learnedgec.errors import ParameterError
from learnedgec.execution.runtime import Runtime
from learnedgec.formats.references import References
from learnedgec.metrics.base import Metric
from learnedgec.metrics.gate import GATE, character_similarities
from learnedgec.metrics.head import Head
from learnedgec.metrics.needs import need_classifier
from learnedgec.metrics.statistics import Statistics
from learnedgec.models.batching import Item
from learnedgec.models.loading import checkpoint_digest
from learnedgec.models.packages import check_outputs, is_evaluator, package_digest
from learnedgec.models.precision import evaluator_precision, model_precision
from learnedgec.models.ratings import classifier_ratings, package_ratings

__all__ = [
    "DIMENSIONS",
    "Some",
]

# Similarities are not negative.
_OPEN = -1.0

DIMENSIONS = ("grammaticality", "fluency", "meaning")


@dataclass(frozen=True)
class Some(Metric):
    """SOME: a weighted mean of predicted grammaticality, fluency and meaning preservation.

    `α·(g−1)/3 + β·(f−1)/3 + γ·(m−1)/3`, where g and f are predicted from the hypothesis alone and m from the
    pair (source, hypothesis), each by a regression on human ratings from 1 to 4. The system score is the mean
    over sentences. With an evaluator package, a hypothesis that has too few trigrams of characters in common
    with its source (`learnedgec.metrics.gate`) is not a correction and scores 0, the lowest rating. The paper
    has no such gate, nor have three sequence classifiers such as the official ones.

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
        model: name, directory or hub id of an evaluator package with the three heads; `joint-mpnet-3` is
            released with learnedgec, and differs from the paper's evaluator (BERT-base, three models).
        grammaticality: a model for this dimension in place of the package's head, or the output of one.
        fluency: likewise.
        meaning: likewise.
        weights: α, β and γ.
        threshold: a hypothesis whose share of common trigrams is at most this is rejected; −1 accepts
            everything. The default is 0.25 if an evaluator package is in use, else −1.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("some(weights=(0.01, 0.98, 0.01))").label
        'some(weights=(0.01, 0.98, 0.01))'
    """

    name: ClassVar[str] = "some"
    needs_references: ClassVar[bool] = False
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"weights", "threshold"})
    model: str = "joint-mpnet-3"
    grammaticality: str | None = None
    fluency: str | None = None
    meaning: str | None = None
    weights: tuple[float, float, float] = (0.55, 0.43, 0.02)
    threshold: float | None = None

    def __post_init__(self) -> None:
        if min(self.weights) < 0 or sum(self.weights) <= 0:
            raise ParameterError(f"{self}: weights must not be negative, nor all zero.")
        if None not in self._own:
            # `model` is not read, so it must not tell metrics apart.
            object.__setattr__(self, "model", type(self).model)

    @property
    def _own(self) -> tuple[str | None, ...]:
        """The separate model of each dimension, if it has one."""
        return self.grammaticality, self.fluency, self.meaning

    def __str__(self) -> str:
        """The name with only the models in use."""
        shared = None in self._own
        return self._format(
            [
                field
                for field in dataclasses.fields(self)
                if (shared if field.name == "model" else getattr(self, field.name) is not None)
            ]
        )

    def compute(
        self,
        sources: Sequence[str],
        hypotheses: Sequence[str],
        references: References | None,
        runtime: Runtime,
    ) -> Statistics:
        """Return `grammaticality`, `fluency` and `meaning` as (x − 1)/3, and `similarity`, float64 (N,)."""
        ratings: dict[str, Floats] = {}
        shared = [dimension for dimension in DIMENSIONS if getattr(self, dimension) is None]
        if shared:
            ratings |= package_ratings(self.model, shared, sources, hypotheses, runtime)
        for dimension in DIMENSIONS:
            if dimension not in shared:
                name = getattr(self, dimension)
                if head := _head(name):
                    found = head.compute(sources, hypotheses, None, runtime)
                    ratings[dimension] = head.sentence_scores(found)
                elif is_evaluator(name):
                    ratings |= package_ratings(name, [dimension], sources, hypotheses, runtime)
                else:
                    items: Sequence[Item] = (
                        list(zip(sources, hypotheses, strict=True))
                        if dimension == "meaning"
                        else hypotheses
                    )
                    ratings[dimension] = classifier_ratings(name, dimension, items, runtime)
        return Statistics(
            {dimension: (ratings[dimension] - 1) / 3 for dimension in DIMENSIONS}
            | {"similarity": character_similarities(sources, hypotheses)}
        )

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the weighted sum of the three dimensions, 0 where the gate rejects."""
        terms = [w * statistics[d] for w, d in zip(self.weights, DIMENSIONS, strict=True)]
        scores: Floats = np.where(self.accepted(statistics), np.sum(terms, axis=0), 0.0)
        return scores

    def accepted(self, statistics: Statistics) -> npt.NDArray[np.bool_]:
        """Return which hypotheses are similar enough to their source, bool (N,)."""
        accepted: npt.NDArray[np.bool_] = statistics["similarity"] > self._threshold()
        return accepted

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the mean of each dimension, and the share of hypotheses that were rejected."""
        means = {dimension: float(statistics[dimension].mean()) for dimension in DIMENSIONS}
        rejected = float(np.mean(~self.accepted(statistics)))
        return {**means, "rejected": rejected}

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return each dimension and the similarity."""
        return {name: statistics[name] for name in (*DIMENSIONS, "similarity")}

    def evaluators(self) -> tuple[str, ...]:
        """Return the packages in use."""
        names = dict.fromkeys(getattr(self, each) or self.model for each in DIMENSIONS)
        names = dict.fromkeys(head.model if (head := _head(name)) else name for name in names)
        return tuple(name for name in names if is_evaluator(name))

    def check(self, runtime: Runtime) -> None:
        """Raise unless every model is available and has the head."""
        for dimension in DIMENSIONS:
            own = getattr(self, dimension)
            if own is not None and (head := _head(own)):
                head.check(runtime)
            elif own is None or is_evaluator(own):
                check_outputs(own or self.model, [dimension])
            else:
                need_classifier(self, dimension, own)

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the weights' SHA-256 of each model in use, and the precision."""
        digests: list[str] = []
        precisions: list[str] = []
        sums: dict[str, str | int | float] = {}
        for dimension in DIMENSIONS:
            name = getattr(self, dimension) or self.model
            if head := _head(name):
                of_head = head.describe(runtime)
                digests.append(str(of_head["sha256"]))
                precisions.append(evaluator_precision(runtime))
                sums |= {key: terms for key, terms in of_head.items() if key.startswith("sum-")}
            elif getattr(self, dimension) is None or is_evaluator(name):
                digests.append(package_digest(name))
                precisions.append(evaluator_precision(runtime))
            else:
                digests.append(checkpoint_digest(name))
                precisions.append(model_precision(runtime))
        return {
            "sha256": ",".join(dict.fromkeys(digests)),
            **sums,
            **(
                {"gate": f"characters>{threshold:g}"}
                if (threshold := self._threshold()) >= 0
                else {}
            ),
            "dtype": ",".join(dict.fromkeys(precisions)),
        }

    def _threshold(self) -> float:
        """Return the threshold in use."""
        if self.threshold is not None:
            return self.threshold
        return GATE if self.evaluators() else _OPEN


def _head(name: str) -> Head | None:
    """Return the head that a model's name describes, if it is one like `head(model=…, name=…)`."""
    from learnedgec.metrics.registry import load_metric

    if not re.match(r"\s*head\s*\(", name):
        return None
    head = load_metric(name)
    assert isinstance(head, Head)
    return head
