"""Metrics that read the outputs of trained packages or published classifiers.

`Head`, `Preference` and `Classifier` show outputs as they are; `some` and `impara` combine them.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from learnedgec.data.references import References
from learnedgec.errors import MissingDependencyError, ModelError, ParameterError
from learnedgec.evaluators.classifier import MAX_LENGTH, Predictor, PublishedClassifier
from learnedgec.evaluators.packages import RELEASED, Package, open_package
from learnedgec.metrics.base import Metric, Statistics
from learnedgec.metrics.registry import EVALUATOR
from learnedgec.metrics.similarity_gate import GATE, character_similarities
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Texts


class Reading(NamedTuple):
    """The outputs of a predictor that a metric reads.

    Attributes:
        predictor: the predictor.
        weights: output -> its weight in the sum of outputs.
    """

    predictor: Predictor
    weights: Mapping[str, float]


class LearnedMetric(Metric):
    """A metric that reads predictors, which its parameters name.

    Its printed name has the evaluator in brackets, since scores of another one are those of another metric.
    """

    needs_references: ClassVar[bool] = False

    @abstractmethod
    def readings(self, runtime: Runtime) -> list[Reading]:
        """Return what the metric reads; the runtime opens the predictors."""

    def describe_rest(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return what the score depends on besides the predictors, such as a gate."""
        return {}

    def _format(self, fields: Sequence[dataclasses.Field[Any]], name: str) -> str:
        evaluator = getattr(self, self.evaluator_parameter, "")
        if not EVALUATOR.fullmatch(evaluator):
            return super()._format(fields, name)
        rest = [field for field in fields if field.name != self.evaluator_parameter]
        return super()._format(rest, f"{name}[{evaluator}]")

    def predictor(self, runtime: Runtime) -> Predictor:
        """Return the predictor of a metric that reads only one."""
        [reading] = self.readings(runtime)
        return reading.predictor

    def outputs(self, runtime: Runtime) -> dict[Predictor, list[str]]:
        """Return the outputs that are read of each distinct predictor."""
        outputs: dict[Predictor, list[str]] = {}
        for predictor, weights in self.readings(runtime):
            names = outputs.setdefault(predictor, [])
            names += [name for name in weights if name not in names]
        return outputs

    def packages(self, runtime: Runtime = Runtime()) -> tuple[Package, ...]:
        """Return the packages in use."""
        return tuple(read for read in self.outputs(runtime) if isinstance(read, Package))

    def check(self, runtime: Runtime) -> None:
        """Raise unless every predictor is available and has the outputs that are read."""
        try:
            for predictor, names in self.outputs(runtime).items():
                predictor.check(names)
        except ModelError as error:
            raise ModelError(f"{self.label}: {error}") from None

    def describe(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return digests of the predictors, terms of sums, `describe_rest` and precisions."""
        outputs = self.outputs(runtime)
        return {
            "sha256": ",".join(dict.fromkeys(predictor.digest for predictor in outputs)),
            **{
                f"sum-{output}": terms
                for predictor, names in outputs.items()
                for output, terms in predictor.sums(names).items()
            },
            **self.describe_rest(runtime),
            "dtype": ",".join(dict.fromkeys(predictor.precision(runtime) for predictor in outputs)),
        }


class GatedMetric(LearnedMetric):
    """A learned metric that rejects hypotheses too different from their source; see `similarity_gate`.

    Its statistics have `similarity`. A subclass has the field `threshold`.
    """

    if TYPE_CHECKING:
        threshold: float | None

    def usual_threshold(self, runtime: Runtime) -> float:
        """Return the default of `threshold`, where that is `None`; the statistics then have it, too."""
        return GATE

    def measure(self, runtime: Runtime) -> str:
        """Return what measures the similarity, as signatures name it."""
        return "characters"

    def thresholds(self, statistics: Statistics) -> float | Floats:
        """Return the threshold in use, one for all sentences or (N,)."""
        return statistics["threshold"] if self.threshold is None else self.threshold

    def accepted(self, statistics: Statistics) -> npt.NDArray[np.bool_]:
        """Return which hypotheses are similar enough to their source, bool (N,)."""
        accepted: npt.NDArray[np.bool_] = statistics["similarity"] > self.thresholds(statistics)
        return accepted

    def bounded(self, scores: Floats, statistics: Statistics, lowest: float) -> Floats:
        """Return scores so bounded that no rejected hypothesis has a higher one than any accepted hypothesis.

        Accepted hypotheses score at least `lowest`, and rejected ones at most that. A negative threshold
        means no gate, and no bound.

        Args:
            scores: float64 (N,).
            statistics: of the same N sentences.
            lowest: the bound between rejected and accepted hypotheses.
        """
        accepted, no_gate = self.accepted(statistics), np.less(self.thresholds(statistics), 0)
        bounded = np.where(accepted, np.maximum(scores, lowest), np.minimum(scores, lowest))
        return np.where(no_gate, scores, bounded)

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the share of hypotheses that were rejected."""
        return {"rejected": float(np.mean(~self.accepted(statistics)))}

    def describe_rest(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the gate; nothing where everything is accepted."""
        threshold = self.usual_threshold(runtime) if self.threshold is None else self.threshold
        return {"gate": f"{self.measure(runtime)}>{threshold:g}"} if threshold >= 0 else {}


@dataclass(frozen=True)
class Head(LearnedMetric):
    """The output of an evaluator's head, in the head's own units; for several heads, `Σ wₖ·xₖ`.

    A head trained on ratings predicts in their units: scores for adequacy rated from 1 to 5 lie roughly in
    that range. Any output of the package can be named: a head, by its name in the training configuration, or
    one of its `sums`. The system score is the mean over sentences.

    A metric's name may say `name='adequacy'` for one head, as in `head(model='mine', name='adequacy')`, and
    `weights={'adequacy': 0.7, 'fluency': 0.3}` for a sum.

    Attributes:
        model: name, directory or hub id (`org/name@revision`) of an evaluator package.
        heads: names of K outputs.
        weights: K weights; by default 1/K each.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("head(heads=('fluency', 'meaning'), weights=(0.7, 0.3))").label
        "head(model='joint-mpnet-3', weights={'fluency': 0.7, 'meaning': 0.3})"
    """

    name: ClassVar[str] = "head"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"weights"})
    model: str = RELEASED
    heads: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        size = len(self.heads)
        if not size or len(set(self.heads)) < size:
            raise ParameterError(
                f"head: name an output of the evaluator, such as head(model={self.model!r}, "
                "name='fluency'), or several of them, each once."
            )
        if not self.weights:
            object.__setattr__(self, "weights", (1 / size,) * size)
        if len(self.weights) != size:
            raise ParameterError(f"head: {len(self.weights)} weights for {size} heads.")
        self.check_weights(self.weights)

    @classmethod
    def expand(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields `heads` and `weights` for `name='adequacy'` or `weights={'adequacy': 0.7, …}`.

        Raises:
            ParameterError: the outputs are named in two ways.
        """
        expanded = dict(parameters)
        weights = expanded.get("weights")
        ways = ["name" in expanded, "heads" in expanded, isinstance(weights, Mapping)]
        if sum(ways) > 1:
            raise ParameterError("head: name the outputs once: by name, heads or weights.")
        if "name" in expanded:
            expanded["heads"] = (expanded.pop("name"),)
        if isinstance(weights, Mapping):
            expanded |= {"heads": tuple(weights), "weights": tuple(weights.values())}
        return expanded

    @property
    def label(self) -> str:
        """The short name: the model, and its head or heads."""
        if self.weights == (1.0,):
            return f"{self.name}(model={self.model!r}, name={self.heads[0]!r})"
        return f"{self.name}(model={self.model!r}, weights={self._head_weights!r})"

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References | None, runtime: Runtime
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

    def readings(self, runtime: Runtime) -> list[Reading]:
        """Return the package and its outputs."""
        return [Reading(runtime.open(open_package, self.model), self._head_weights)]

    @property
    def _head_weights(self) -> dict[str, float]:
        return dict(zip(self.heads, self.weights, strict=True))


# As a logit: fewer than one rater in a hundred prefers it to the source.
_LOWEST = -5.0


@dataclass(frozen=True)
class Preference(GatedMetric):
    """How strongly human raters prefer the hypothesis to the unchanged source, as a logit.

    `h(source, hypothesis) − h(source, source)`, where h is a head that reads the pair and was trained on
    ranked pairs of any origin (`learnedgec.training.pairs`), or a sum of heads scaled like such a head
    (`model.sums`): σ of the difference of two hypotheses' scores is the estimated share of raters who prefer
    the first (Bradley and Terry 1952). The source itself scores 0. A hypothesis that has too few trigrams of
    characters in common with its source (`metrics.similarity_gate`) is not a correction and scores at most
    −5; every other one scores at least −5. The system score is the mean over sentences.

    Attributes:
        model: name, directory or hub id of an evaluator package with the head or sum `preference`;
            `joint-mpnet-3` is released with learnedgec.
        threshold: a hypothesis whose share of common trigrams is at most this is rejected; −1 accepts
            everything, and bounds no score.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("preference(model='mine')").label
        'preference[mine]'
    """

    name: ClassVar[str] = "preference"
    evaluator_parameter: ClassVar[str] = "model"
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"threshold"})
    model: str = RELEASED
    threshold: float = GATE

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References | None, runtime: Runtime
    ) -> Statistics:
        """Return `preference` before the gate, and `similarity`, both float64 (N,)."""
        preference = np.zeros(len(sources))
        # The difference is 0 for an unchanged source, which need not be encoded.
        rows = [row for row, source in enumerate(sources) if hypotheses[row] != source]
        unchanged, changed = ([texts[row] for row in rows] for texts in (sources, hypotheses))
        values = self.predictor(runtime).predict(
            [*unchanged, *unchanged], [*changed, *unchanged], ["preference"], runtime
        )["preference"]
        preference[rows] = values[: len(rows)] - values[len(rows) :]
        similarity = character_similarities(sources, hypotheses)
        return Statistics({"preference": preference, "similarity": similarity})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the preference: at most −5 where the gate rejects, else at least −5."""
        return self.bounded(statistics["preference"], statistics, _LOWEST)

    def sentence_details(self, statistics: Statistics) -> dict[str, Array]:
        """Return the similarity."""
        return {"similarity": statistics["similarity"]}

    def readings(self, runtime: Runtime) -> list[Reading]:
        """Return the package and its output."""
        return [Reading(runtime.open(open_package, self.model), {"preference": 1.0})]


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
        detokenised: undo tokenisation first (`learnedgec.metrics.learned`; extra `published`).
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
        return Statistics(
            self.predictor(runtime).predict(sources, hypotheses, ["quality"], runtime)
        )

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the activated output."""
        quality: Floats = statistics["quality"]
        return expit(quality) if self.activation == "sigmoid" else quality

    def readings(self, runtime: Runtime) -> list[Reading]:
        """Return the model."""
        names = (self.model, self.reads, self.pooling, self.max_tokens)
        model = runtime.open(PublishedClassifier, *names)
        return [Reading(model, {"quality": 1.0})]

    def describe_rest(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the detokeniser's version."""
        return {"sacremoses": importlib.metadata.version("sacremoses")} if self.detokenised else {}


# Moses does not split these off, so it does not join them either.
_CONTRACTED = re.compile(r" (n't|N'T)(?= |$)")


def detokenise(sentences: Sequence[str]) -> list[str]:
    """Return English sentences without the spaces that tokenisation puts before punctuation and inside words.

    The rules are those of Moses (`sacremoses`), and `n't` joins its verb.

    Raises:
        MissingDependencyError: `sacremoses` is not installed.

    Example:
        >>> detokenise(["She did n't ( I 'm sure ) , he said ."])
        ["She didn't (I'm sure), he said."]
    """
    try:
        from sacremoses import MosesDetokenizer
    except ImportError:
        raise MissingDependencyError("sacremoses", "published", "detokenised input") from None
    rules = MosesDetokenizer(lang="en")
    return [
        str(rules.detokenize(_CONTRACTED.sub(r"\1", sentence).split(), unescape=False))
        for sentence in sentences
    ]
