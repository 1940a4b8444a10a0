"""The sentinels: baselines that ignore correctness but still correlate with human judgements.

On benchmarks of strong systems, counting how much each system changes goes a long way: on SEEDA's twelve
systems, the number of edited tokens alone has ρ = .82 with the human scores. A metric must beat the four
sentinels to be useful, so every meta-evaluation table includes them. The idea follows the sentinel metrics of
Perrella et al., "Guardians of the Machine Translation Meta-Evaluation" (ACL 2024).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

from learnedgec.data.tokenisation import Unit, units
from learnedgec.metrics.counts import CountingMetric
from learnedgec.types import Texts

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
class Random(CountingMetric):
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

    def count(self, source: str, hypothesis: str, references: Texts) -> tuple[float, ...]:
        """Return the first 53 bits of a hash, as a fraction."""
        text = f"{self.seed}\0{source}\0{hypothesis}".encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(text, digest_size=8).digest()
        return ((int.from_bytes(digest, "big") >> 11) * 2.0**-53,)
