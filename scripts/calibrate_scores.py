"""Make `checkpoints/score_references.json`: what scores of the released evaluators' metrics mean.

    LEARNEDGEC_MIRROR=… python scripts/calibrate_scores.py [--benchmark gmeg:fce] [--metric quality …]

The benchmark needs ratings of outputs and of the sources (a system named `source`). gmeg:fce is development
data: no evaluator has learned from it, and candidates were compared on it.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import isotonic_regression
from scipy.stats import binomtest

from learnedgec.analysis.aggregation import sentence_scores
from learnedgec.analysis.meta.evaluation import benchmark_statistics
from learnedgec.data.benchmarks import load_benchmark
from learnedgec.data.sentences import changed_sentences
from learnedgec.data.text import write_json
from learnedgec.errors import InputError
from learnedgec.evaluators import RELEASES
from learnedgec.report.overview import PreferenceBin, ScoreReference, evaluators_of
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import bind_one
from learnedgec.types import Floats

PLACE = Path(__file__).resolve().parents[1] / "checkpoints/score_references.json"
FOLDS, BINS, PARTS = 10, 10, 20


def main() -> None:
    """Score, fit and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--benchmark", default="gmeg:fce")
    usual = ["some", *(f"{name}[{of}]" for of in RELEASES for name in ("quality", "preference"))]
    parser.add_argument("--metric", nargs="+", default=usual)
    parser.add_argument("--out", type=Path, default=PLACE)
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--cache")
    options = parser.parse_args()
    benchmark = load_benchmark(options.benchmark)
    ((_, ratings),) = benchmark.ratings.items()
    rated = np.stack([ratings[name] for name in benchmark.systems])
    outputs = benchmark.systems.values()
    changed = np.array([changed_sentences(benchmark.sources, texts) for texts in outputs])
    source = list(benchmark.systems).index("source")
    others = [number for number in range(len(benchmark.systems)) if number != source]
    references = []
    for name in options.metric:
        metric = bind_one(name, Runtime(dtype=options.dtype, cache_dir=options.cache))
        scores = sentence_scores(metric.metric, benchmark_statistics(metric, benchmark))
        reference = make_reference(
            str(metric),
            evaluators_of(metric),
            benchmark.name,
            *(scores[others], scores[source], rated[others], rated[source], changed[others]),
        )
        references.append(reference)
        print(f"{metric.label}: {reference.pairs} pairs, accuracy {reference.accuracy:.3f}")
        for bin_ in reference.bins:
            print(f"  predicted {bin_.predicted:.3f}  preferred {bin_.preferred:.3f} "
                  f"[{bin_.low:.3f}, {bin_.high:.3f}]  n {bin_.count}")  # fmt: skip
    write_json(options.out, [to_json(asdict(reference)) for reference in references])


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
        evaluators: evaluator -> digest of its package.
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
    """
    # Equal gains stay in one part.
    cuts = np.unique(np.quantile(gains, np.linspace(0, 1, PARTS + 1)[1:-1]))
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
    fold = np.random.default_rng(seed).integers(0, FOLDS, int(groups.max()) + 1)[groups]
    predicted = np.empty(len(gains))
    for number in range(FOLDS):
        held_out = fold == number
        line = fit_preference(gains[~held_out], preferred[~held_out])
        predicted[held_out] = np.interp(gains[held_out], *line)
    return predicted


def bins_of(predicted: Floats, preferred: npt.NDArray[np.bool_]) -> tuple[PreferenceBin, ...]:
    """Return ten bins of outputs of about equal size, by predicted probability, with Wilson's intervals."""
    bins = []
    for part in np.array_split(np.argsort(predicted, kind="stable"), BINS):
        times = int(preferred[part].sum())
        low, high = binomtest(times, len(part)).proportion_ci(method="wilson")
        mean = float(predicted[part].mean())
        bins.append(PreferenceBin(mean, times / len(part), float(low), float(high), len(part)))
    return tuple(bins)


def to_json(value: Any) -> Any:
    """Return a value that JSON can hold, numbers with six digits."""
    if isinstance(value, Mapping):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [to_json(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main()
