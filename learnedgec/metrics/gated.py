"""Metrics of trained evaluators with a gate: SOME, IMPARA and `preference`.

A text that is too different from its source is not a correction. Metrics that read the hypothesis alone
cannot see that its meaning is another, and one fluent sentence can score high for every source. Common
trigrams of characters tell corrections and even free rewritings from unrelated texts, without a model and in
any language. The page of results of joint-mpnet-2 has the shares of both that the gate rejects.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy.special import expit

from learnedgec.data.references import References
from learnedgec.evaluators import RATED, RELEASED
from learnedgec.evaluators.classifier import MAX_LENGTH, find_predictor
from learnedgec.evaluators.inference import cosines, sentence_vectors
from learnedgec.evaluators.loading import checkpoint_digest
from learnedgec.evaluators.locations import open_package
from learnedgec.metrics.base import Metric, Statistics, need_model
from learnedgec.metrics.learned import LearnedMetric, OutputSum
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Array, Floats, Mask, Texts

# In development data, every correction by an honest system and every reference is more similar to its source
# than this, and nearly every unrelated text is less similar.
GATE = 0.25

# Similarities are not negative, so this threshold accepts everything.
OPEN = -1.0

CHARACTERS = "characters"

# Only this many characters at the beginning of a text are compared; encoders read fewer.
_MAX_CHARACTERS = 10_000


class GatedMetric(LearnedMetric):
    """A learned metric that rejects hypotheses too different from their source.

    Its statistics have `similarity`. A subclass has the field `threshold`.
    """

    if TYPE_CHECKING:
        threshold: float | None

    def gate(self, runtime: Runtime) -> tuple[str, float]:
        """Return what measures similarity, an encoder or `characters`, and the default of `threshold`."""
        return CHARACTERS, GATE

    def thresholds(self, statistics: Statistics) -> float | Floats:
        """Return the threshold in use: one for all sentences, or float64 (N,)."""
        return statistics["threshold"] if self.threshold is None else self.threshold

    def accepted(self, statistics: Statistics) -> Mask:
        """Return which hypotheses are similar enough to their source, bool (N,)."""
        return statistics["similarity"] > self.thresholds(statistics)

    def bounded(self, scores: Floats, statistics: Statistics, lowest: float) -> Floats:
        """Return bounded scores, so that no rejected hypothesis scores higher than an accepted one.

        Accepted hypotheses score at least `lowest`, and rejected ones at most that. With a negative threshold
        there is no gate and no bound.

        Args:
            scores: float64 (N,).
            statistics: statistics of the same N sentences.
            lowest: the bound between rejected and accepted hypotheses.
        """
        accepted, no_gate = self.accepted(statistics), np.less(self.thresholds(statistics), 0)
        bounded = np.where(accepted, np.maximum(scores, lowest), np.minimum(scores, lowest))
        return np.where(no_gate, scores, bounded)

    def details(self, statistics: Statistics) -> dict[str, float]:
        """Return the means, and the share of hypotheses that were rejected."""
        rejected = float(np.mean(~self.accepted(statistics)))
        return {**super().details(statistics), "rejected": rejected}

    def describe_processing(self, runtime: Runtime) -> dict[str, str | int | float]:
        """Return the gate and its encoder, if it has one; empty if the gate accepts everything."""
        similarity, usual = self.gate(runtime)
        threshold = usual if self.threshold is None else self.threshold
        if threshold < 0:
            return {}
        if similarity == CHARACTERS:
            return {"gate": f"{CHARACTERS}>{threshold:g}"}
        digest = checkpoint_digest(similarity)
        return {"gate": f"cosine>{threshold:g}", "encoder": similarity, "encoder-sha256": digest}


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
    several, name it as a metric: `some(meaning="head[mine.adequacy]")`.

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
            predictor: predictor.predict(sources, hypotheses, outputs, runtime)
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


# The threshold of the paper, for the cosine of an encoder.
_PAPER_THRESHOLD = 0.9

# The largest raw output of a rejected hypothesis; to four digits, its sigmoid is 0.
_LOWEST_QUALITY = -10.0


@dataclass(frozen=True)
class Impara(GatedMetric):
    """IMPARA: the estimated quality of the hypothesis, if it is similar enough to the source, else 0.

    `activation(quality(hypothesis))` where the similarity of hypothesis and source is above θ, else 0. In the
    paper similarity is cos(v(source), v(hypothesis)), where v is the mean over all tokens of a pretrained
    encoder's last states. With an evaluator package it is, unless that was trained as in the paper
    (`model.gate: cosine`), the share of common trigrams of characters (`character_similarities`), which
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
    per_sentence: ClassVar[tuple[str, ...]] = ("quality", "similarity")
    means: ClassVar[tuple[str, ...]] = ("similarity",)
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
        quality = self.predictor(runtime).predict(sources, hypotheses, ["quality"], runtime)
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
        bounded = self.bounded(quality, statistics, _LOWEST_QUALITY)
        return np.where(statistics["characters"], bounded, np.where(accepted, quality, 0.0))

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


# With this logit, fewer than one rater in a hundred prefers the hypothesis to the source.
_LOWEST_PREFERENCE = -5.0


@dataclass(frozen=True)
class Preference(GatedMetric):
    """The preference of human raters for the hypothesis over the unchanged source, as a logit.

    `h(source, hypothesis) − h(source, source)`, where h is a head that reads the pair and was trained on
    ranked pairs of any origin (`learnedgec.training.pairs`), or a sum of heads scaled like such a head
    (`model.sums`): σ of the difference of two hypotheses' scores is the estimated share of raters who prefer
    the first (Bradley and Terry 1952). The source itself scores 0. A hypothesis that has too few trigrams of
    characters in common with its source (`character_similarities`) is not a correction and scores at most
    −5; every other one scores at least −5. The system score is the mean over sentences.

    Attributes:
        model: name, directory or hub id of an evaluator package with the head or sum `preference`;
            `open-mpnet` is part of the installation.
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
    per_sentence: ClassVar[tuple[str, ...]] = ("similarity",)
    model: str = RELEASED
    threshold: float = GATE

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return `preference` before the gate, and `similarity`, both float64 (N,)."""
        preference = np.zeros(len(sources))
        # The preference for an unchanged source is 0, so the source need not be encoded.
        rows = [row for row, source in enumerate(sources) if hypotheses[row] != source]
        unchanged, changed = ([texts[row] for row in rows] for texts in (sources, hypotheses))
        pairs = [*unchanged, *unchanged], [*changed, *unchanged]
        values = self.predictor(runtime).predict(*pairs, ["preference"], runtime)["preference"]
        preference[rows] = values[: len(rows)] - values[len(rows) :]
        similarity = character_similarities(sources, hypotheses)
        return Statistics({"preference": preference, "similarity": similarity})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the preference: at most −5 for rejected hypotheses, and at least −5 for all others."""
        return self.bounded(statistics["preference"], statistics, _LOWEST_PREFERENCE)

    def output_sums(self, runtime: Runtime) -> list[OutputSum]:
        """Return the package with its output `preference`."""
        return [OutputSum(runtime.open(open_package, self.model), {"preference": 1.0})]


# -- the similarity of source and hypothesis --------------------------------------------------------


def character_similarities(sources: Texts, hypotheses: Texts) -> Floats:
    """Return the share of trigrams of characters that source and hypothesis have in common.

    The share is 2·|S ∩ H| / (|S| + |H|), where S and H are the multisets of trigrams (Dice 1945). Neither
    case nor the number of spaces counts; one space is added before and after each text. One common trigram is
    added to both texts, so that a text of a single short word may change as a whole. Only the first 10,000
    characters of a text count.

    Args:
        sources: N sentences.
        hypotheses: N sentences.

    Returns:
        float64 (N,), from 0 to 1.

    Example:
        >>> character_similarities(["He go ."] * 3, ["He goes .", "he go.", "It rains ."]).round(2).tolist()
        [0.67, 0.67, 0.21]
    """
    common, size, other_size = _trigram_counts(sources, hypotheses)
    similarities: Floats = 2 * (common + 1) / (size + other_size + 2)
    return similarities


def kept_shares(sources: Texts, hypotheses: Texts) -> Floats:
    """Return the share of trigrams of the longer text, source or hypothesis, that both have in common.

    The share is |S ∩ H| / max(|S|, |H|), with the trigrams of `character_similarities`. It is low for a text
    that was cut off, and for one that was padded.

    Args:
        sources: N sentences.
        hypotheses: N sentences.

    Returns:
        float64 (N,), from 0 to 1.

    Example:
        >>> kept_shares(["He go ."] * 3, ["He goes .", "He", "He go . I hope this helps !"]).round(2).tolist()
        [0.6, 0.38, 0.29]
    """
    common, size, other_size = _trigram_counts(sources, hypotheses)
    shares: Floats = (common + 1) / (np.maximum(size, other_size) + 1)
    return shares


def _trigram_counts(sources: Texts, hypotheses: Texts) -> Floats:
    """Return the numbers of trigrams: common, of source, of hypothesis, (3, N); 0 for unchanged sources."""
    counts = np.zeros((3, len(sources)))
    for row, (source, hypothesis) in enumerate(zip(sources, hypotheses, strict=True)):
        if hypothesis != source:
            first, second = _trigrams(source), _trigrams(hypothesis)
            counts[:, row] = (first & second).total(), first.total(), second.total()
    return counts


def _trigrams(text: str) -> Counter[str]:
    """Count the trigrams of characters in a text."""
    words = text[:_MAX_CHARACTERS].casefold().split()
    padded = f" {' '.join(words)} "
    return Counter(map("".join, zip(padded, padded[1:], padded[2:], strict=False)))
