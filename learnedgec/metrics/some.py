"""SOME: predicted ratings of grammaticality, fluency and meaning preservation."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from learnedgec.data.references import References
from learnedgec.evaluators import RATED
from learnedgec.evaluators.locations import open_package
from learnedgec.evaluators.predictor import find_predictor, predict
from learnedgec.metrics.contract import Metric, Statistics
from learnedgec.metrics.gate import CHARACTERS, GATE, OPEN, GatedMetric, character_similarities
from learnedgec.metrics.learned import OutputSum
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Texts

DIMENSIONS = ("grammaticality", "fluency", "meaning")

# The scale of the human ratings from which SOME's evaluators learned (TMU-GFM).
_RATINGS = (1.0, 4.0)


@dataclass(frozen=True)
class Some(GatedMetric):
    """SOME: a weighted mean of predicted grammaticality, fluency and meaning preservation.

    `α·(g−1)/3 + β·(f−1)/3 + γ·(m−1)/3`. Regressions on human ratings from 1 to 4 predict g and f from the
    hypothesis alone, and m from the pair (source, hypothesis). If a package's head learned from ratings from
    a to b, it counts as (x − a)/(b − a). The system score is the mean over sentences.

    With an evaluator package, a hypothesis that has too few trigrams of characters in common with its source
    is not a correction, and scores at most 0, the lowest rating. Every other hypothesis scores at least 0.
    The paper has no such gate. There is none either with three sequence classifiers, such as the official
    ones, and with packages that were trained as in the paper (`model.gate: none`).

    The evaluator is one package with the heads `grammaticality`, `fluency` and `meaning` (`model=`), or three
    models. Each of these is a package, or a directory (or hub id) with a sequence classifier of one label.
    The official release has three such folders:
    `some(grammaticality='gfm-models/grammer', fluency='gfm-models/fluency', meaning='gfm-models/meaning')`.
    If they hold only pickles, `Runtime(allow_pickle=True)` loads these. Inputs are truncated to the package's
    maximum length, 128 tokens in the official release. To use an output with another name, or a sum of
    several outputs, name it as a metric: `some(meaning="head[mine.adequacy]")`.

    Source: Yoshimura et al., "SOME: Reference-less Sub-Metrics Optimized for Manual Evaluations of
    Grammatical Error Correction" (COLING 2020). The default weights are the paper's, tuned at the sentence
    level on GJG15; at the system level, on JFLEG, the paper found 0.01, 0.98 and 0.01.

    Attributes:
        model: name, directory or hub id of an evaluator package with the three heads. By default, it is
            `joint-mpnet-3`, because no other released evaluator learned these three from human ratings. It is
            for research only (`learnedgec evaluators fetch joint-mpnet-3`), and differs from the paper's
            evaluator (BERT-base, three models).
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
    per_sentence: ClassVar[tuple[str, ...]] = (*DIMENSIONS, "similarity")
    means: ClassVar[tuple[str, ...]] = DIMENSIONS
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

    def gate(self, runtime: Runtime) -> tuple[str, float]:
        """Return `characters`, and the default of `threshold` by the gates of the packages' training."""
        gates = {predictor.gate for predictor, _ in self.output_sums(runtime)}
        return CHARACTERS, GATE if CHARACTERS in gates else OPEN

    def output_sums(self, runtime: Runtime) -> list[OutputSum]:
        """Return each dimension's predictor with the weights of its outputs."""
        runtime = runtime.bound()
        sums: list[OutputSum] = []
        for dimension in DIMENSIONS:
            name = getattr(self, dimension)
            if name is None:
                package = runtime.open(open_package, self.model)
                sums.append(OutputSum(package, {dimension: 1.0}))
            elif re.match(r"\s*head\s*\(", name):
                sums += load_metric(name).output_sums(runtime)  # type: ignore[attr-defined]
            else:
                reads = "pair" if dimension == "meaning" else "hypothesis"
                predictor = runtime.open(find_predictor, name, reads)
                sums.append(OutputSum(predictor, {dimension: 1.0}))
        return sums
