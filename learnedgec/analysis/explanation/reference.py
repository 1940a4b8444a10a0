"""Scores of a metric on a benchmark's outputs, with which other scores are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from learnedgec.types import Floats

__all__ = ["PreferenceBin", "ScoreReference"]


@dataclass(frozen=True, slots=True)
class PreferenceBin:
    """Outputs of similar gain: their predicted and their observed human preference.

    Attributes:
        predicted: mean predicted probability, by a calibration on other sources.
        preferred: the share that human raters put above its source.
        low: lower end of that share's 95 % interval (Wilson).
        high: upper end.
        count: number of outputs.
    """

    predicted: float
    preferred: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class ScoreReference:
    """A metric's scores for the outputs of a benchmark, with human preferences between output and source.

    Only outputs that change their source count. Of an output with score x whose source has score s, the
    probability that human raters put it above its source is read off a line through points that rise with the
    gain x − s (`fit_preference`). It holds for systems like those of the benchmark, most of whose changes are
    improvements; it overestimates a system whose changes are mostly not improvements.

    Attributes:
        metric: the metric's printed name, with every parameter.
        evaluators: evaluator -> digest of its package (`package_digest`).
        benchmark: name of the benchmark.
        quantiles: float64 (101,), the percentiles 0 to 100 of the sentence scores.
        outputs: the number of these scores.
        systems: system -> corpus score.
        gains: float64 (K,), rising: where the probability is known.
        probabilities: float64 (K,), never falling: that human raters prefer an output with this gain.
        pairs: number of outputs that human raters put above or below their source.
        accuracy: the share of pairs in which the sign of x − s agrees with the human preference.
        bins: pairs in bins of about equal size, by predicted probability.
    """

    metric: str
    evaluators: Mapping[str, str]
    benchmark: str
    quantiles: Floats
    outputs: int
    systems: Mapping[str, float]
    gains: Floats
    probabilities: Floats
    pairs: int
    accuracy: float
    bins: tuple[PreferenceBin, ...]

    def percentiles(self, scores: Floats) -> Floats:
        """Return how many percent of the reference's outputs score lower, float64 (…,), from 0 to 100."""
        places: Floats = np.interp(scores, self.quantiles, np.arange(101.0))
        return places

    def preferred(self, gains: Floats) -> Floats:
        """Return the probability that human raters put an output above its source, float64 (…,).

        Args:
            gains: the score of an output minus that of its source.
        """
        found: Floats = np.interp(gains, self.gains, self.probabilities)
        return found

    def below(self, score: float) -> list[str]:
        """Return the reference's systems whose corpus score is lower, the best of them first."""
        found = [name for name, other in self.systems.items() if other < score]
        return sorted(found, key=lambda name: -self.systems[name])
