"""The meaning of a score: its place among scores of rated outputs, and human preferences for such outputs.

A `ScoreReference` holds a metric's scores on a benchmark's outputs, with human preferences between output
and source. `find_reference` returns a released one (`score_references.json`, which
`scripts/calibrate_scores.py` makes), and `explain_score` puts a system's score in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from learnedgec.data.text import read_json
from learnedgec.metrics.registry import load_metric
from learnedgec.scoring import BoundMetric
from learnedgec.types import Floats


@dataclass(frozen=True, slots=True)
class PreferenceBin:
    """Outputs of similar gain: their predicted and their observed human preference.

    Attributes:
        predicted: mean predicted probability, by a calibration on other sources.
        preferred: the share of outputs that human raters put above their sources.
        low: lower end of that share's 95 % interval (Wilson).
        high: upper end of the interval.
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

    Only outputs that change their source count. The gain of an output is its score minus that of its source.
    The probability that human raters put an output above its source is interpolated from its gain. It is
    calibrated on the systems of the benchmark, most of whose changes are improvements. It is too high for a
    system whose changes are mostly not improvements.

    Attributes:
        metric: the metric's printed name, with every parameter.
        evaluators: evaluator -> digest of its package.
        benchmark: name of the benchmark.
        quantiles: float64 (101,), the percentiles 0 to 100 of the sentence scores.
        outputs: number of outputs that change their source, from which the percentiles come.
        gains: float64 (K,), ascending: the gains between which probabilities are interpolated.
        probabilities: float64 (K,), nondecreasing: the probability for each of these gains.
        pairs: number of outputs that human raters put above or below their source.
        accuracy: the share of these outputs whose gain has the sign of the human preference.
        bins: the same outputs in bins of about equal size, by predicted probability.
    """

    metric: str
    evaluators: Mapping[str, str]
    benchmark: str
    quantiles: Floats
    outputs: int
    gains: Floats
    probabilities: Floats
    pairs: int
    accuracy: float
    bins: tuple[PreferenceBin, ...]

    def percentiles(self, scores: Floats) -> Floats:
        """Return the percentage of the reference's outputs that score lower, float64 (…,)."""
        percentiles: Floats = np.interp(scores, self.quantiles, np.arange(101.0))
        return percentiles

    def preferred(self, gains: Floats) -> Floats:
        """Return the probability that human raters put an output above its source, float64 (…,).

        Args:
            gains: the score of an output minus that of its source.
        """
        probabilities: Floats = np.interp(gains, self.gains, self.probabilities)
        return probabilities


def explain_score(
    reference: ScoreReference,
    score: float,
    sentences: Floats,
    source_scores: Floats,
    changed: Sequence[bool] | npt.NDArray[np.bool_],
) -> str:
    """Explain in words the score of one system on N sentences.

    Args:
        reference: a reference of the same metric.
        score: the system's corpus score.
        sentences: float64 (N,), the score of each output.
        source_scores: float64 (N,), the score of each source as its own output.
        changed: bool (N,), whether an output has other tokens than its source (`changed_sentences`).
    """
    changed = np.asarray(changed, dtype=bool)
    if not changed.any():
        return f"{score:.4f}: it changes no sentence."
    percentile = np.median(reference.percentiles(sentences[changed]))
    preferred = reference.preferred((sentences - source_scores)[changed]).mean()
    return (
        f"{score:.4f}: it changes {changed.sum():,} of {len(changed):,} sentences; half of these score "
        f"above {percentile:.0f}% of {reference.outputs:,} changed sentences of {reference.benchmark}, and "
        f"human raters there put {preferred:.0%} of such changes above the source ({reference.pairs:,} rated "
        "outputs)."
    )


def find_reference(metric: BoundMetric) -> ScoreReference | None:
    """Return the reference of exactly this metric, with exactly these evaluators, if there is one.

    Example:
        >>> from learnedgec.scoring import bind_one
        >>> find_reference(bind_one("gleu")) is None
        True
    """
    for reference in _released():
        same = load_metric(reference.metric) == metric.metric
        if same and reference.evaluators == evaluators_of(metric):
            return reference
    return None


def evaluators_of(metric: BoundMetric) -> dict[str, str]:
    """Return the digest of each evaluator's package, which covers configuration, weights and tokenizer."""
    return {package.name: package.digest for package in metric.packages}


@cache
def _released() -> tuple[ScoreReference, ...]:
    path = files("learnedgec.analysis") / "score_references.json"
    return tuple(map(_from_json, read_json(str(path))))


def _from_json(record: Mapping[str, Any]) -> ScoreReference:
    arrays = {name: np.array(record[name]) for name in ("quantiles", "gains", "probabilities")}
    bins = tuple(PreferenceBin(**entry) for entry in record["bins"])
    return ScoreReference(**{**record, **arrays, "bins": bins})
