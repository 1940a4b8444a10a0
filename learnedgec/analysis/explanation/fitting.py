"""Building a reference: percentiles of scores, and a calibration that is checked on unseen sources."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from sklearn.isotonic import IsotonicRegression

from learnedgec.analysis.explanation.reference import PreferenceBin, ScoreReference
from learnedgec.errors import InputError
from learnedgec.types import Floats

__all__ = ["bins_of", "fit_preference", "make_reference", "predict_held_out"]

_FOLDS = 10
_BINS = 10
_PARTS = 20


def make_reference(
    metric: str,
    evaluators: Mapping[str, str],
    benchmark: str,
    scores: Mapping[str, Floats],
    corpus_scores: Mapping[str, float],
    source_scores: Floats,
    ratings: Mapping[str, Floats],
    source_ratings: Floats,
    changed: Mapping[str, npt.NDArray[np.bool_]],
    *,
    seed: int = 0,
) -> ScoreReference:
    """Return the reference built from a benchmark's outputs and ratings.

    Args:
        metric: the printed name of the metric.
        evaluators: evaluator -> digest of its package (`package_digest`).
        benchmark: the name of the benchmark.
        scores: system -> float64 (N,), each output's score.
        corpus_scores: system -> its corpus score.
        source_scores: float64 (N,), the score of each unchanged source.
        ratings: system -> float64 (N,), the human ratings of its outputs, NaN where there are none.
        source_ratings: float64 (N,), the human ratings of the sources.
        changed: system -> bool (N,), whether the output differs from its source.
        seed: of the folds.

    Raises:
        InputError: fewer than a hundred outputs were rated above or below their source.
    """
    names = list(scores)
    kept = np.stack([changed[name] for name in names])
    values = np.stack([scores[name] for name in names])
    preference = np.sign(np.stack([ratings[name] for name in names]) - source_ratings)
    told = kept & np.isfinite(preference) & (preference != 0)
    gains, preferred = (values - source_scores)[told], preference[told] > 0
    groups = np.broadcast_to(np.arange(values.shape[1]), values.shape)[told]
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
        quantiles=np.percentile(values[kept], np.arange(101)),
        outputs=int(kept.sum()),
        systems=corpus_scores,
        gains=points,
        probabilities=probabilities,
        pairs=len(gains),
        accuracy=float(np.mean(np.where(preferred, gains > 0, gains < 0))),
        bins=bins_of(predict_held_out(gains, preferred, groups, seed=seed), preferred),
    )


def fit_preference(gains: Floats, preferred: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return the points, gains and probabilities, of the line of the probability of being preferred.

    The pairs are cut by gain into twenty parts of about equal size. Each part gives its mean gain and the
    share that was preferred, and neighbours whose shares fall are pooled until none does (isotonic
    regression).

    Source: Zadrozny and Elkan, "Transforming Classifier Scores into Accurate Multiclass Probability
    Estimates" (KDD 2002); in parts, so that no point depends on a few pairs.

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
    # Equal gains stay in one part.
    cuts = np.unique(np.quantile(gains, np.linspace(0, 1, _PARTS + 1)[1:-1]))
    _, part = np.unique(np.searchsorted(cuts, gains), return_inverse=True)
    counts = np.bincount(part).astype(np.float64)
    means = np.bincount(part, gains) / counts
    shares = np.bincount(part, preferred.astype(np.float64)) / counts
    rising: Floats = IsotonicRegression().fit_transform(means, shares, sample_weight=counts)
    return means, rising


def predict_held_out(
    gains: Floats,
    preferred: npt.NDArray[np.bool_],
    groups: npt.NDArray[np.intp],
    *,
    seed: int = 0,
) -> Floats:
    """Return the probability that calibrations on other groups predict for each pair, float64 (P,).

    Args:
        gains: float64 (P,).
        preferred: bool (P,).
        groups: int (P,), the source of each; a source is in one of ten folds.
        seed: of the folds.
    """
    fold = np.random.default_rng(seed).integers(0, _FOLDS, int(groups.max()) + 1)[groups]
    predicted = np.empty(len(gains))
    for number in range(_FOLDS):
        held = fold == number
        predicted[held] = np.interp(gains[held], *fit_preference(gains[~held], preferred[~held]))
    return predicted


def bins_of(predicted: Floats, preferred: npt.NDArray[np.bool_]) -> tuple[PreferenceBin, ...]:
    """Return ten bins of pairs of about equal size, by their predicted probability."""
    order = np.argsort(predicted, kind="stable")
    return tuple(_bin(predicted[part], preferred[part]) for part in np.array_split(order, _BINS))


def _bin(predicted: Floats, preferred: npt.NDArray[np.bool_]) -> PreferenceBin:
    """Return one bin with Wilson's interval of its share."""
    count, share, z = len(preferred), float(preferred.mean()), 1.96
    below = 1 + z * z / count
    middle = (share + z * z / (2 * count)) / below
    reach = z * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / below
    return PreferenceBin(
        float(predicted.mean()), share, float(middle - reach), float(middle + reach), count
    )
