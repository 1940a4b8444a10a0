"""What a score means: the place of its outputs among rated ones, and how human raters judged such outputs.

A `ScoreReference` holds a metric's scores on a benchmark's outputs, with human preferences between output
and source. `make_reference` builds one, `find_reference` returns a released one
(`score_references.json`), and `explain_score` puts a system's score in words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from learnedgec.data.text import read_json, write_json
from learnedgec.errors import InputError
from learnedgec.evaluators.packages import package_digest
from learnedgec.metrics.base import Metric
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.writing import PathLike
from learnedgec.types import Floats

_FOLDS = 10
_BINS = 10
_PARTS = 20


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

    Only outputs that change their source count. The gain of an output is its score minus that of its source.
    The probability that human raters put an output above its source is interpolated from its gain
    (`fit_preference`). It is calibrated on the systems of the benchmark, most of whose changes are
    improvements. It is too high for a system whose changes are mostly not improvements.

    Attributes:
        metric: the metric's printed name, with every parameter.
        evaluators: evaluator -> digest of its package (`package_digest`).
        benchmark: name of the benchmark.
        quantiles: float64 (101,), the percentiles 0 to 100 of the sentence scores.
        outputs: number of outputs that change their source, from which the percentiles are.
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
        """Return how many percent of the reference's outputs score lower, float64 (…,), from 0 to 100."""
        percentiles: Floats = np.interp(scores, self.quantiles, np.arange(101.0))
        return percentiles

    def preferred(self, gains: Floats) -> Floats:
        """Return the probability that human raters put an output above its source, float64 (…,).

        Args:
            gains: the score of an output minus that of its source.
        """
        probabilities: Floats = np.interp(gains, self.gains, self.probabilities)
        return probabilities


# -- a score in words ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Explanation:
    """A system's score, explained by a reference.

    Attributes:
        percentiles: float64 (N,), the percentile of each output among the reference's outputs, 0 to 100.
        preferred: float64 (N,), the probability that human raters put each output above its source; NaN where
            the output is its source.
        sentence: the explanation in words.
    """

    percentiles: Floats
    preferred: Floats
    sentence: str


def explain_score(
    reference: ScoreReference,
    score: float,
    sentences: Floats,
    source_scores: Floats,
    changed: Sequence[bool] | npt.NDArray[np.bool_],
) -> Explanation:
    """Explain the score of one system on N sentences.

    Args:
        reference: a reference of the same metric.
        score: the system's corpus score.
        sentences: float64 (N,), the score of each output.
        source_scores: float64 (N,), the score of each source as its own output.
        changed: bool (N,), which outputs have other tokens than their source (`changed_sentences`).
    """
    changed = np.asarray(changed, dtype=bool)
    percentiles = reference.percentiles(sentences)
    preferred = np.where(changed, reference.preferred(sentences - source_scores), np.nan)
    if not changed.any():
        return Explanation(percentiles, preferred, f"{score:.4f}: it changes no sentence.")
    return Explanation(
        percentiles,
        preferred,
        f"{score:.4f}: it changes {changed.sum():,} of {len(changed):,} sentences; half of these score "
        f"above {np.median(percentiles[changed]):.0f}% of {reference.outputs:,} changed sentences of "
        f"{reference.benchmark}, and human raters there put {np.nanmean(preferred):.0%} of such changes "
        f"above the source ({reference.pairs:,} rated outputs).",
    )


# -- released references ---------------------------------------------------------------------------


def find_reference(metric: Metric) -> ScoreReference | None:
    """Return the reference of exactly this metric, with exactly these evaluators, if there is one.

    Example:
        >>> from learnedgec import load_metric
        >>> find_reference(load_metric("gleu")) is None
        True
    """
    for reference in _released():
        same = load_metric(reference.metric) == metric
        if same and reference.evaluators == evaluators_of(metric):
            return reference
    return None


def evaluators_of(metric: Metric) -> dict[str, str]:
    """Return evaluator -> digest of its package (`package_digest`): configuration, weights and tokenizer."""
    return {name: package_digest(name) for name in metric.evaluators()}


@cache
def _released() -> tuple[ScoreReference, ...]:
    return read_references(str(files("learnedgec.analysis") / "score_references.json"))


def read_references(path: PathLike) -> tuple[ScoreReference, ...]:
    """Read references that `write_references` wrote."""
    return tuple(map(_from_json, read_json(path)))


def _from_json(record: Mapping[str, Any]) -> ScoreReference:
    arrays = {name: np.array(record[name]) for name in ("quantiles", "gains", "probabilities")}
    bins = tuple(PreferenceBin(**entry) for entry in record["bins"])
    return ScoreReference(**{**record, **arrays, "bins": bins})


def write_references(path: PathLike, references: Sequence[ScoreReference]) -> None:
    """Write references, with six digits."""
    write_json(path, [_to_json(asdict(reference)) for reference in references])


def _to_json(value: Any) -> Any:
    """Return a value that JSON can hold, numbers with six digits."""
    if isinstance(value, Mapping):
        return {key: _to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_to_json(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


# -- building a reference --------------------------------------------------------------------------


def make_reference(
    metric: str,
    evaluators: Mapping[str, str],
    benchmark: str,
    scores: Floats,
    source_scores: Floats,
    ratings: Floats,
    source_ratings: Floats,
    changed: npt.NDArray[np.bool_],
) -> ScoreReference:
    """Return the reference built from a benchmark's outputs and ratings.

    Args:
        metric: the printed name of the metric.
        evaluators: evaluator -> digest of its package (`package_digest`).
        benchmark: the name of the benchmark.
        scores: float64 (S, N), the score of each system's output of each sentence.
        source_scores: float64 (N,), the score of each unchanged source.
        ratings: float64 (S, N), the human ratings of the outputs, NaN where there are none.
        source_ratings: float64 (N,), the human ratings of the sources.
        changed: bool (S, N), whether the output differs from its source.

    Raises:
        InputError: fewer than a hundred outputs were rated above or below their source.
    """
    preference = np.sign(ratings - source_ratings)
    decided = changed & np.isfinite(preference) & (preference != 0)
    gains, preferred = (scores - source_scores)[decided], preference[decided] > 0
    groups = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)[decided]
    if len(gains) < 100:
        raise InputError(
            f"{benchmark} has {len(gains)} outputs that are rated above or below their source; at least "
            "100 are needed to calibrate a score."
        )
    points, probabilities = fit_preference(gains, preferred)
    return ScoreReference(
        metric=metric,
        evaluators=evaluators,
        benchmark=benchmark,
        quantiles=np.percentile(scores[changed], np.arange(101)),
        outputs=int(changed.sum()),
        gains=points,
        probabilities=probabilities,
        pairs=len(gains),
        accuracy=float(np.mean(np.where(preferred, gains > 0, gains < 0))),
        bins=bins_of(predict_held_out(gains, preferred, groups), preferred),
    )


def fit_preference(gains: Floats, preferred: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return gains and, for each, the probability that human raters prefer an output with this gain.

    The outputs are cut by gain into twenty parts of about equal size. Each part gives its mean gain and the
    share that was preferred. Isotonic regression makes these shares nondecreasing.

    Source: Zadrozny and Elkan, "Transforming Classifier Scores into Accurate Multiclass Probability
    Estimates" (KDD 2002). The parts are ours, so that no point depends on a few outputs.

    Args:
        gains: float64 (P,).
        preferred: bool (P,).

    Example:
        >>> gains = np.repeat([-1.0, 0.0, 1.0], 100)
        >>> preferred = np.arange(300) % 100 < np.repeat([25, 20, 75], 100)
        >>> x, y = fit_preference(gains, preferred)
        >>> np.interp([-1.0, 0.0, 1.0], x, y).round(3).tolist()
        [0.225, 0.225, 0.75]
    """
    from scipy.optimize import isotonic_regression

    # Equal gains stay in one part.
    cuts = np.unique(np.quantile(gains, np.linspace(0, 1, _PARTS + 1)[1:-1]))
    _, part = np.unique(np.searchsorted(cuts, gains), return_inverse=True)
    counts = np.bincount(part).astype(np.float64)
    means = np.bincount(part, gains) / counts
    shares = np.bincount(part, preferred.astype(np.float64)) / counts
    rising: Floats = isotonic_regression(shares, weights=counts).x
    return means, rising


def predict_held_out(
    gains: Floats,
    preferred: npt.NDArray[np.bool_],
    groups: npt.NDArray[np.intp],
    *,
    seed: int = 0,
) -> Floats:
    """Return a probability for each output, predicted by a calibration on other sources, float64 (P,).

    Args:
        gains: float64 (P,).
        preferred: bool (P,).
        groups: int (P,), the number of each output's source. All outputs of a source are in one of ten folds.
        seed: of the folds.
    """
    fold = np.random.default_rng(seed).integers(0, _FOLDS, int(groups.max()) + 1)[groups]
    predicted = np.empty(len(gains))
    for number in range(_FOLDS):
        held_out = fold == number
        line = fit_preference(gains[~held_out], preferred[~held_out])
        predicted[held_out] = np.interp(gains[held_out], *line)
    return predicted


def bins_of(predicted: Floats, preferred: npt.NDArray[np.bool_]) -> tuple[PreferenceBin, ...]:
    """Return ten bins of outputs of about equal size, by predicted probability, with Wilson's intervals."""
    bins, z = [], 1.96
    for part in np.array_split(np.argsort(predicted, kind="stable"), _BINS):
        count, share = len(part), float(preferred[part].mean())
        scale = 1 + z * z / count
        middle = (share + z * z / (2 * count)) / scale
        reach = z * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / scale
        mean = float(predicted[part].mean())
        bins.append(PreferenceBin(mean, share, float(middle - reach), float(middle + reach), count))
    return tuple(bins)
