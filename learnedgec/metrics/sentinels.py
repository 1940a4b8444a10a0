"""Sentinels: baselines that ignore correctness but still correlate with human judgements.

On benchmarks of strong systems, counting how much each system changes goes a long way: on SEEDA's
twelve systems, the number of edited tokens alone has ρ = .82 with the human scores. A metric must beat these
four to be useful, so every meta-evaluation table includes them. The idea follows the sentinel metrics of
Perrella et al., "Guardians of the Machine Translation Meta-Evaluation" (ACL 2024).
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from learnedgec.data.references import References
from learnedgec.edits.tokenisation import Unit, units
from learnedgec.metrics.base import Metric, Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.types import Floats, Texts


@dataclass(frozen=True)
class _Sentinel(Metric):
    """A metric whose only statistic is its sentence score."""

    needs_references: ClassVar[bool] = False

    @abstractmethod
    def measure(self, source: str, hypothesis: str) -> float:
        """Return the score of a sentence."""

    def compute(
        self, sources: Texts, hypotheses: Texts, references: References, runtime: Runtime
    ) -> Statistics:
        """Return `score`, float64 (N,)."""
        scores = [self.measure(*pair) for pair in zip(sources, hypotheses, strict=True)]
        return Statistics({"score": np.array(scores, dtype=np.float64)})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the score of each sentence."""
        return statistics["score"]


@dataclass(frozen=True)
class EditCount(_Sentinel):
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
    unit: Unit = "word"

    def measure(self, source: str, hypothesis: str) -> float:
        """Return the distance."""
        from rapidfuzz.distance import Levenshtein

        return Levenshtein.distance(units(source, self.unit), units(hypothesis, self.unit))


@dataclass(frozen=True)
class Length(_Sentinel):
    """The number of tokens of the hypothesis; longer is "better".

    Attributes:
        unit: tokens, or characters with the spaces between tokens.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("length").score(["He go ."], ["He goes home ."]).value
        4.0
    """

    name: ClassVar[str] = "length"
    unit: Unit = "word"

    def measure(self, source: str, hypothesis: str) -> float:
        """Return the length of the hypothesis."""
        return len(units(hypothesis, self.unit))


@dataclass(frozen=True)
class Constant(_Sentinel):
    """The score 0 for every hypothesis, which shows how a meta-evaluation treats ties.

    Example:
        >>> from learnedgec import load_metric
        >>> load_metric("constant").score(["He go ."], ["He goes ."]).value
        0.0
    """

    name: ClassVar[str] = "constant"

    def measure(self, source: str, hypothesis: str) -> float:
        """Return 0."""
        return 0.0


@dataclass(frozen=True)
class Random(_Sentinel):
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
    seed: int = 0

    def measure(self, source: str, hypothesis: str) -> float:
        """Return the first 53 bits of a hash, as a fraction."""
        text = f"{self.seed}\0{source}\0{hypothesis}".encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(text, digest_size=8).digest()
        return (int.from_bytes(digest, "big") >> 11) * 2.0**-53
