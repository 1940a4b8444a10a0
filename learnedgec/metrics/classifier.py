"""A published quality model: a sequence classifier with one label."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass
from typing import ClassVar, Literal

from scipy.special import expit

from learnedgec.data.detokenisation import detokenise
from learnedgec.data.references import References
from learnedgec.evaluators.predictor import MAX_LENGTH, ClassifierPredictor
from learnedgec.metrics.learned import LearnedMetric, Reading
from learnedgec.metrics.statistics import Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Texts


@dataclass(frozen=True)
class Classifier(LearnedMetric):
    """Output of a sequence classifier with one label for the hypothesis, or for source and hypothesis.

    For models trained elsewhere and published with transformers. Their files do not say which input they
    expect; the parameters here do. A PEFT adapter, such as LoRA, is merged into the model that it names
    (extra `published`). The system score is the mean over sentences. `impara` and `some` read the models of
    IMPARA and SOME as their authors do; `head` reads the heads of a trained evaluator.

    IMPARA-GED (Sakai, Goto and Watanabe, Findings of ACL 2025) is IMPARA's estimator on ModernBERT with mean
    pooling, and without the gate of similarity:
    `classifier(model='naist-nlp/IMPARA-GED', pooling='mean', activation='sigmoid')`.

    SURE is such a model: DeBERTa-v3 with LoRA that reads source and hypothesis, both detokenised:
    `classifier(model=…, reads='pair', detokenised=True)`. Deviations are unknown because its authors' code
    was not available. Before comparing numbers, check against that code: the order of the pair (source
    first), the rules of detokenisation, the longest input, and whether a sigmoid follows.

    Attributes:
        model: a directory or hub id, of a model or of an adapter.
        reads: the `hypothesis` alone, or the `pair` (source, hypothesis).
        detokenised: undo tokenisation first (`learnedgec.data.detokenisation`; extra `published`).
        pooling: how the model pools, where its kind leaves a choice (ModernBERT's `mean` or `cls`); by
            default as its configuration says.
        activation: `none`, or `sigmoid`, so that scores lie between 0 and 1.
        max_tokens: longest input; longer ones are truncated.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("classifier(model='org/quality@1f2e3d', reads='pair')").label
        "classifier(model='org/quality@1f2e3d', reads='pair')"
    """

    name: ClassVar[str] = "classifier"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"activation"})
    model: str
    reads: Literal["hypothesis", "pair"] = "hypothesis"
    detokenised: bool = False
    pooling: Literal["mean", "cls"] | None = None
    activation: Literal["none", "sigmoid"] = "none"
    max_tokens: int = MAX_LENGTH

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References | None, runtime: Runtime
    ) -> Statistics:
        """Return `quality`, the model's output, float64 (N,)."""
        if self.detokenised:
            sources, hypotheses = detokenise(sources), detokenise(hypotheses)
        return Statistics(self.predictor.predict(sources, hypotheses, ["quality"], runtime))

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the activated output."""
        quality: Floats = statistics["quality"]
        return expit(quality) if self.activation == "sigmoid" else quality

    def find_readings(self) -> list[Reading]:
        """Return the model."""
        model = ClassifierPredictor(self.model, self.reads, self.pooling, self.max_tokens)
        return [Reading(model, {"quality": 1.0})]

    def describe_rest(self) -> dict[str, str | int | float]:
        """Return the detokeniser's version."""
        return {"sacremoses": importlib.metadata.version("sacremoses")} if self.detokenised else {}
