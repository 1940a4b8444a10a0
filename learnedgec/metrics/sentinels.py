"""The sentinels: baselines that ignore correctness but still correlate with human judgements.

On benchmarks of strong systems, counting how much each system changes goes a long way: on SEEDA's twelve
systems, the number of edited tokens alone has ρ = .82 with the human scores. A metric must beat the four
sentinels to be useful, so every meta-evaluation table includes them. The idea follows the sentinel metrics of
Perrella et al., "Guardians of the Machine Translation Meta-Evaluation" (ACL 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import ClassVar

import numpy as np

from learnedgec.data.references import References
from learnedgec.data.tokenisation import Unit, units
from learnedgec.metrics.contract import Metric, Statistics
from learnedgec.metrics.counts import CountingMetric
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Texts

SENTINELS = ("edit-count", "length", "constant", "random")
"""Names of the sentinels, in the order of tables."""


def is_sentinel(metric: str) -> bool:
    """Return whether a metric is a sentinel, so that its highest score is not the best.

    Args:
        metric: the metric's name or label.

    Example:
        >>> is_sentinel("length(unit='char')"), is_sentinel("gleu")
        (True, False)
    """
    return metric.partition("(")[0] in SENTINELS


@dataclass(frozen=True)
class EditCount(CountingMetric):
    """Token edit distance between source and hypothesis; more edits are "better".

    It is the Levenshtein distance over `.split()` tokens, in which every insertion, deletion and substitution
    costs 1. The corpus score is the mean of the sentences.

    Attributes:
        unit: whether edits change tokens, or characters with the spaces between tokens.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("edit-count").score(["He go to school ."], ["He goes to a school ."]).value
        2.0
    """

    name: ClassVar[str] = "edit-count"
    needs_references: ClassVar[bool] = False
    unit: Unit = "word"

    def count(self, source: str, hypothesis: str, references: Texts) -> tuple[float, ...]:
        """Return the distance."""
        from rapidfuzz.distance import Levenshtein

        return (Levenshtein.distance(units(source, self.unit), units(hypothesis, self.unit)),)


@dataclass(frozen=True)
class Length(CountingMetric):
    """The number of tokens of the hypothesis; longer is "better".

    Attributes:
        unit: tokens, or characters with the spaces between tokens.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("length").score(["He go ."], ["He goes home ."]).value
        4.0
    """

    name: ClassVar[str] = "length"
    needs_references: ClassVar[bool] = False
    unit: Unit = "word"

    def count(self, source: str, hypothesis: str, references: Texts) -> tuple[float, ...]:
        """Return the length of the hypothesis."""
        return (len(units(hypothesis, self.unit)),)


@dataclass(frozen=True)
class Constant(CountingMetric):
    """The score 0 for every hypothesis, which shows how a meta-evaluation treats ties.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("constant").score(["He go ."], ["He goes ."]).value
        0.0
    """

    name: ClassVar[str] = "constant"
    needs_references: ClassVar[bool] = False

    def count(self, source: str, hypothesis: str, references: Texts) -> tuple[float, ...]:
        """Return 0."""
        return (0.0,)


@dataclass(frozen=True)
class Random(Metric):
    """A number in [0, 1) drawn from the seed, the source and the hypothesis: the chance baseline.

    The same correction of the same source always gets the same number, whatever else is scored. In an
    evaluation against people, the measures of `random` are means over 20 seeds.

    Attributes:
        seed: the seed; another seed gives other numbers.

    Example:
        >>> from learnedgec import load_metric
        >>> random = load_metric("random(seed=7)")
        >>> random.score(["He go ."], ["He goes ."]).value == random.score(["He go ."], ["He goes ."]).value
        True
    """

    name: ClassVar[str] = "random"
    needs_references: ClassVar[bool] = False
    seed: int = 0

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return the `score`, float64 (N,)."""
        return Statistics({"score": random_numbers([self.seed], sources, hypotheses)[0]})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the number of each sentence."""
        return statistics["score"]


def random_numbers(seeds: Sequence[int], sources: Texts, hypotheses: Texts) -> Floats:
    """Return the scores by `Random` of N hypotheses with each of R seeds, float64 (R, N).

    A number is the first 53 bits of a hash, as a fraction.

    Args:
        seeds: R seeds.
        sources: N texts.
        hypotheses: N texts.
    """
    beginnings = [f"{seed}\0".encode() for seed in seeds]
    ends = [
        f"{source}\0{hypothesis}".encode("utf-8", "surrogatepass")
        for source, hypothesis in zip(sources, hypotheses, strict=True)
    ]
    digests = b"".join(
        blake2b(beginning + end, digest_size=8).digest() for beginning in beginnings for end in ends
    )
    bits = np.frombuffer(digests, dtype=">u8").reshape(len(seeds), len(sources)) >> 11
    numbers: Floats = bits.astype(np.float64) * 2.0**-53
    return numbers
