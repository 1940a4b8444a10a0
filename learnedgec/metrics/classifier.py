"""Sequence classifiers that were trained elsewhere, as metrics."""

from __future__ import annotations

import importlib.metadata
import re
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from scipy.special import expit

from learnedgec.data.references import References
from learnedgec.errors import needs
from learnedgec.evaluators.classifier import MAX_LENGTH, PublishedClassifier
from learnedgec.evaluators.predictor import predict
from learnedgec.metrics.contract import Statistics
from learnedgec.metrics.learned import LearnedMetric, OutputSum
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Texts


@dataclass(frozen=True)
class Classifier(LearnedMetric):
    """Output of a sequence classifier with one label for the hypothesis, or for source and hypothesis.

    It reads models that were trained elsewhere and published with transformers. Their files do not say which
    input they expect, so the parameters here do. A PEFT adapter, such as LoRA, is merged into the model that
    it names (extra `published`). The system score is the mean over sentences. `impara` and `some` read the
    models of IMPARA and SOME as their authors do, and `head` reads the heads of a trained evaluator.

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
        detokenised: whether to detokenise the texts first (extra `published`).
        pooling: the pooling of a model whose kind leaves a choice (ModernBERT's `mean` or `cls`); by default,
            the pooling of its configuration.
        activation: `none`, or `sigmoid`, so that scores lie between 0 and 1.
        max_tokens: the longest input; longer ones are truncated.

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
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return `quality`, the model's output, float64 (N,)."""
        if self.detokenised:
            sources, hypotheses = detokenise(sources), detokenise(hypotheses)
        return Statistics(
            predict(self.predictor(runtime), sources, hypotheses, ["quality"], runtime)
        )

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the activated output."""
        quality: Floats = statistics["quality"]
        return expit(quality) if self.activation == "sigmoid" else quality

    def output_sums(self, runtime: Runtime) -> list[OutputSum]:
        """Return the classifier with its output `quality`."""
        names = (self.model, self.reads, self.pooling, self.max_tokens)
        model = runtime.open(PublishedClassifier, *names)
        return [OutputSum(model, {"quality": 1.0})]

    def check(self, runtime: Runtime) -> None:
        """Raise unless the model, and the detokeniser if it is used, are available."""
        if self.detokenised:
            _moses()
        super().check(runtime)

    def describe_processing(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the version of the detokeniser."""
        return {"sacremoses": importlib.metadata.version("sacremoses")} if self.detokenised else {}


# Moses neither splits these off nor joins them.
_CONTRACTED = re.compile(r" (n't|N'T)(?= |$)")


def detokenise(sentences: Texts) -> list[str]:
    """Return English sentences without the spaces that tokenisation puts before punctuation and inside words.

    The rules are Moses' (`sacremoses`), and `n't` joins its verb.

    Raises:
        MissingDependencyError: `sacremoses` is not installed.

    Example:
        >>> detokenise(["She did n't ( I 'm sure ) , he said ."])
        ["She didn't (I'm sure), he said."]
    """
    rules = _moses()(lang="en")
    return [
        str(rules.detokenize(_CONTRACTED.sub(r"\1", sentence).split(), unescape=False))
        for sentence in sentences
    ]


def _moses() -> Any:
    """Return the detokeniser's class."""
    with needs("published", "detokenised input"):
        from sacremoses import MosesDetokenizer
    return MosesDetokenizer
