"""Metrics that score with trained packages or published classifiers.

`Head` and `Classifier` show outputs as they are; the metrics of `learnedgec.metrics.gated` combine them.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.special import expit

from learnedgec.data.references import References
from learnedgec.errors import ModelError, ParameterError, needs, warn_once
from learnedgec.evaluators import RELEASED
from learnedgec.evaluators.classifier import MAX_LENGTH, Predictor, PublishedClassifier
from learnedgec.evaluators.locations import open_package
from learnedgec.evaluators.packages import EVALUATOR, Package, output_metric
from learnedgec.metrics.base import Metric, Statistics
from learnedgec.metrics.registry import output_metrics
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Texts


class OutputSum(NamedTuple):
    """A weighted sum of the outputs of one predictor.

    Attributes:
        predictor: the predictor.
        weights: output -> its weight in the sum.
    """

    predictor: Predictor
    weights: Mapping[str, float]


class LearnedMetric(Metric):
    """A metric that scores with predictors, which its parameters name.

    Its printed name has the evaluator in brackets, because another evaluator makes it another metric.
    """

    needs_references: ClassVar[bool] = False

    @abstractmethod
    def output_sums(self, runtime: Runtime) -> list[OutputSum]:
        """Return the sums of outputs that the metric scores with; the runtime opens the predictors."""

    def describe_processing(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return what else the score depends on, such as the gate or a detokeniser."""
        return {}

    def _format(self, fields: Sequence[dataclasses.Field[Any]], name: str) -> str:
        evaluator = getattr(self, self.evaluator_parameter, "")
        if not EVALUATOR.fullmatch(evaluator):
            return super()._format(fields, name)
        rest = [field for field in fields if field.name != self.evaluator_parameter]
        return super()._format(rest, f"{name}[{evaluator}]")

    def predictor(self, runtime: Runtime) -> Predictor:
        """Return the predictor of a metric that has only one."""
        [output_sum] = self.output_sums(runtime)
        return output_sum.predictor

    def outputs(self, runtime: Runtime) -> dict[Predictor, list[str]]:
        """Return the names of the outputs that each distinct predictor computes."""
        outputs: dict[Predictor, list[str]] = {}
        for predictor, weights in self.output_sums(runtime):
            names = outputs.setdefault(predictor, [])
            names += [name for name in weights if name not in names]
        return outputs

    def packages(self, runtime: Runtime = Runtime()) -> tuple[Package, ...]:
        """Return the packages among the predictors."""
        predictors = [predictor for predictor, _ in self.output_sums(runtime)]
        return tuple(dict.fromkeys([each for each in predictors if isinstance(each, Package)]))

    def check(self, runtime: Runtime) -> None:
        """Raise unless every predictor has its outputs; warn of heads that training does not trust."""
        try:
            for predictor, names in self.outputs(runtime).items():
                predictor.check(names)
                for doubt in predictor.doubts(names):
                    warn_once(doubt)
        except ModelError as error:
            raise ModelError(f"{self.label}: {error}") from None

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the predictors' digests, the terms of sums, `describe_processing`, and the precisions."""
        outputs = self.outputs(runtime)
        return {
            "sha256": ",".join(dict.fromkeys(predictor.digest for predictor in outputs)),
            **{
                f"sum-{output}": terms
                for predictor, names in outputs.items()
                for output, terms in predictor.sums(names).items()
            },
            **self.describe_processing(runtime),
            "dtype": ",".join(dict.fromkeys(predictor.precision(runtime) for predictor in outputs)),
        }


@dataclass(frozen=True)
class Head(LearnedMetric):
    """The output of an evaluator's head, in the head's own units; for several heads, `Σ wₖ·xₖ`.

    A head trained on ratings predicts in their units: scores for adequacy rated from 1 to 5 lie roughly in
    that range. Any output of the package can be named: a head, by its name in the training configuration, or
    one of its `sums`. The system score is the mean over sentences.

    The name of a metric may give one head in brackets or by `name`, as in `head[mine.adequacy]` and
    `head(model='org/mine', name='adequacy')`, and a sum as `weights={'adequacy': 0.7, 'fluency': 0.3}`.

    Attributes:
        model: name, directory or hub id (`org/name@revision`) of an evaluator package.
        heads: names of K outputs.
        weights: K weights; by default 1/K each.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("head(heads=('likelihood', 'meaning'), weights=(0.7, 0.3))").label
        "head(model='open-mpnet', weights={'likelihood': 0.7, 'meaning': 0.3})"
    """

    name: ClassVar[str] = "head"
    evaluator_parameter: ClassVar[str] = "output"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"weights"})
    model: str = RELEASED
    heads: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        size = len(self.heads)
        if not size or len(set(self.heads)) < size:
            raise ParameterError(
                "head: name an output of the evaluator, such as "
                f"{output_metric(self.model, 'quality')}, or several of them, each once."
            )
        if not self.weights:
            object.__setattr__(self, "weights", (1 / size,) * size)
        if len(self.weights) != size:
            raise ParameterError(f"head: {len(self.weights)} weights for {size} heads.")
        self.check_weights(self.weights)

    @classmethod
    def expand(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields for `[mine.adequacy]`, `name='adequacy'` or `weights={'adequacy': 0.7, …}`.

        Raises:
            ParameterError: the outputs are named in two ways, or the brackets name none.
        """
        expanded = dict(parameters)
        weights = expanded.get("weights")
        ways = [
            "output" in expanded,
            "name" in expanded,
            "heads" in expanded,
            isinstance(weights, Mapping),
        ]
        if sum(ways) > 1:
            raise ParameterError(
                "head: name the outputs once: in brackets, or by name, heads or weights."
            )
        if "output" in expanded:
            package, _, output = (named := expanded.pop("output")).rpartition(".")
            if not package or "model" in expanded:
                outputs = output_metrics(named) or f"head[{named}.quality]"
                raise ParameterError(
                    f"head[{named}]: an evaluator and its output were expected, such as {outputs}."
                )
            expanded |= {"model": package, "name": output}
        if "name" in expanded:
            expanded["heads"] = (expanded.pop("name"),)
        if isinstance(weights, Mapping):
            expanded |= {"heads": tuple(weights), "weights": tuple(weights.values())}
        return expanded

    @property
    def label(self) -> str:
        """The short name: the model, and its head or heads."""
        if self.weights == (1.0,):
            return output_metric(self.model, self.heads[0])
        return f"{self.name}(model={self.model!r}, weights={self._head_weights!r})"

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return each head's values, float64 (N,)."""
        return Statistics(self.predictor(runtime).predict(sources, hypotheses, self.heads, runtime))

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the weighted sum of the heads."""
        terms = [weight * statistics[head] for head, weight in self._head_weights.items()]
        scores: Floats = np.sum(terms, axis=0)
        return scores

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the mean of each head if there are several."""
        details = self.sentence_details(statistics)
        return {head: float(values.mean()) for head, values in details.items()}

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return the values of each head if there are several; a single head's are the scores themselves."""
        return {head: statistics[head] for head in self.heads} if len(self.heads) > 1 else {}

    def output_sums(self, runtime: Runtime) -> list[OutputSum]:
        """Return the package with the weights of its heads."""
        return [OutputSum(runtime.open(open_package, self.model), self._head_weights)]

    @property
    def _head_weights(self) -> dict[str, float]:
        return dict(zip(self.heads, self.weights, strict=True))


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
        detokenised: whether to detokenise the texts first (extra `published`).
        pooling: the pooling of a model whose kind leaves a choice (ModernBERT's `mean` or `cls`); by default,
            that of its configuration.
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
            self.predictor(runtime).predict(sources, hypotheses, ["quality"], runtime)
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

    The rules are those of Moses (`sacremoses`), and `n't` joins its verb.

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
