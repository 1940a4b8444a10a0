"""Make `learnedgec/analysis/score_references.json`: what scores of the released evaluator's metrics mean.

    LEARNEDGEC_MIRROR=… python scripts/calibrate_scores.py [--benchmark gmeg:fce] [--metric some impara …]

The benchmark needs ratings of outputs and of the sources (a system named `source`). gmeg:fce is development
data: the evaluator has not learned from it, and candidates were compared on it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from learnedgec.analysis.aggregation import sentence_scores
from learnedgec.analysis.explanation import evaluators_of, make_reference, write_references
from learnedgec.analysis.meta.evaluation import benchmark_statistics
from learnedgec.data.benchmarks.registry import load_benchmark
from learnedgec.data.sentences import changed_sentences
from learnedgec.metrics.registry import load_metric
from learnedgec.runtime.runtime import Runtime

PLACE = Path(__file__).resolve().parents[1] / "learnedgec/analysis/score_references.json"


def main() -> None:
    """Score, fit and write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--benchmark", default="gmeg:fce")
    parser.add_argument("--metric", nargs="+", default=["some", "impara", "preference"])
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
        metric = load_metric(name)
        runtime = Runtime(dtype=options.dtype, cache_dir=options.cache)
        statistics = benchmark_statistics(metric, benchmark, runtime)
        scores = sentence_scores(metric, statistics)
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
    write_references(options.out, references)


if __name__ == "__main__":
    main()
