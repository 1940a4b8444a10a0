r"""Both tables of SOME's paper anew, beside its figures: docs/results/some-tables.md.

    learnedgec train --config some-mini
    learnedgec train --config some-mini --name some-mini-random --data.split paper-random
    learnedgec train --config some-existing-mini
    python scripts/some_tables.py --some "some(model='some-mini')" "some(model='some-mini-random')" \
        --existing "some(model='some-existing-mini')" --out docs/results/some-tables.md

The paper deals its ratings out at random; by source is stricter. A model that was trained on one split has
seen test ratings of the other, so each model has figures on its own split alone.

With BERT-base, as in the paper, `scripts/train_some.sh` and `scripts/train_some_existing.sh` train three
models each; `some(grammaticality='some-grammaticality', fluency='some-fluency', meaning='some-meaning')` is
all three. The paper tuned the weights for systems on the judged outputs of JFLEG, which are not public; here
they are tuned on GMEG dev. Those for sentences are tuned, as in the paper, on a tenth of GJG15.
"""

from __future__ import annotations

import argparse
import datetime
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from rerun import number, row

from learnedgec import Runtime, load_metric
from learnedgec.benchmarks.registry import load_benchmark
from learnedgec.catalog.ratings import Rating, load_ratings
from learnedgec.errors import InputError
from learnedgec.formats.text import read_json, write_lines
from learnedgec.meta.evaluation import evaluate
from learnedgec.meta.protocol import Protocol
from learnedgec.metrics.base import Metric
from learnedgec.metrics.some import DIMENSIONS
from learnedgec.models.packages import find_evaluator
from learnedgec.stats.correlation import pearson, spearman
from learnedgec.training.examples import rating_examples, split_examples
from learnedgec.tuning.objective import Goal
from learnedgec.tuning.search import tune
from learnedgec.tuning.trials import SearchPlan


@dataclass(frozen=True)
class Paper:
    """What the paper says of a row.

    Attributes:
        called: its name.
        whole: r and ρ of systems, accuracy and τ of sentences.
        weights: for systems and for sentences.
        own: dimension -> r and ρ on the test part of its data.
        alone: dimension -> r, ρ, accuracy and τ on GJG15.
    """

    called: str
    whole: tuple[float, ...]
    weights: tuple[str, str]
    own: Mapping[str, tuple[float, ...]]
    alone: Mapping[str, tuple[float, ...]]


def _by_dimension(*values: tuple[float, ...]) -> dict[str, tuple[float, ...]]:
    return dict(zip(DIMENSIONS, values, strict=True))


PAPER = {
    "asano": Paper(
        "Asano et al. (2017)",
        (0.878, 0.874, 0.690, 0.390),
        (".07 : .83 : .10", ".02 : .82 : .16"),
        _by_dimension((0.342, 0.358), (0.220, 0.238), (0.593, 0.504)),
        _by_dimension(
            (0.759, 0.835, 0.641, 0.283),
            (0.864, 0.819, 0.707, 0.415),
            (0.198, -0.192, 0.189, 0.059),
        ),
    ),
    "existing": Paper(
        "existing data",
        (0.939, 0.929, 0.744, 0.502),
        (".84 : .01 : .15", ".86 : .13 : .01"),
        _by_dimension((0.608, 0.624), (0.545, 0.548), (0.570, 0.355)),
        _by_dimension(
            (0.966, 0.967, 0.735, 0.483),
            (0.865, 0.742, 0.714, 0.443),
            (-0.462, -0.610, 0.502, 0.016),
        ),
    ),
    "some": Paper(
        "SOME",
        (0.975, 0.978, 0.749, 0.510),
        (".01 : .98 : .01", ".55 : .43 : .02"),
        _by_dimension((0.700, 0.719), (0.676, 0.696), (0.639, 0.619)),
        _by_dimension(
            (0.976, 0.973, 0.745, 0.502),
            (0.979, 0.978, 0.741, 0.494),
            (-0.517, -0.621, 0.504, 0.022),
        ),
    ),
}

_MEASURES = ("pearson", "spearman", "sentence_accuracy", "sentence_kendall")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="some_tables", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--some", nargs="*", default=[], help="SOME: metrics with three dimensions and weights"
    )
    parser.add_argument("--existing", nargs="*", default=[], help="likewise, from existing data")
    parser.add_argument("--asano", nargs="*", default=[], help="likewise, the baseline")
    parser.add_argument("--ratings", default="tmu-gfm", help="whose test part is predicted")
    parser.add_argument("--systems", default="gjg15:12")
    parser.add_argument("--systems-dev", default="gmeg:dev", help="tunes the weights for systems")
    parser.add_argument("--sentences", default="gjg15:12:test90")
    parser.add_argument("--sentences-dev", default="gjg15:12:dev10", help="for sentences")
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--cache-dir", help="keeps what models compute of each distinct input")
    parser.add_argument("--out", default="-", help="the document; -: standard output")
    options = parser.parse_args(arguments)
    known = {key: [load_metric(name) for name in vars(options)[key]] for key in PAPER}
    for metric in (each for metrics in known.values() for each in metrics):
        if not hasattr(metric, "weights"):
            raise InputError(f"{metric} has no weights; give some(…) or asano(…).")
    with tempfile.TemporaryDirectory() as folder:
        runtime = Runtime(
            device=options.device, dtype=options.dtype, cache_dir=options.cache_dir or folder
        )
        write_lines(options.out, list(document(known, options, runtime)))


def document(
    known: Mapping[str, Sequence[Metric]], options: argparse.Namespace, runtime: Runtime
) -> Iterator[str]:
    """Yield the lines of the document."""
    yield "# The tables of SOME's paper"
    yield ""
    yield (
        f"Written by `python scripts/some_tables.py` on "
        f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}; figures of the paper (Yoshimura et al. "
        "2020) are the rows without a model."
    )
    yield ""
    yield f"## The whole metric on `{options.systems}`"
    yield ""
    yield (
        f"r and ρ of systems with weights that agree best on `{options.systems_dev}` (the paper: on JFLEG); "
        f"accuracy and τ of sentences of `{options.sentences}` with weights that agree best on "
        f"`{options.sentences_dev}`. Intervals (95 %) resample systems, and sentences."
    )
    yield ""
    yield from row(
        *("metric", "model", "r", "ρ", "accuracy", "τ"),
        *("weights for systems", "weights for sentences"),
    )
    yield from row(*["---"] * 8)
    for key, paper in PAPER.items():
        yield from row(paper.called, "the paper's", *map(number, paper.whole), *paper.weights)
        for metric in known[key]:
            found, weights = whole(metric, options, runtime)
            yield from row(paper.called, f"`{metric.label}`", *found, *weights)
    yield ""
    yield "## Each dimension alone"
    yield ""
    yield (
        f"r and ρ with the ratings of the test part of `{options.ratings}`, dealt out at random as in the "
        f"paper and by source; then on `{options.systems}`. A model that learned from the ratings "
        "has no figures on the split that it was not trained on."
    )
    yield ""
    yield from row(
        *("metric", "model", "dimension", "r, random split", "ρ", "r, by source", "ρ"),
        *("r of systems", "ρ of systems", "accuracy", "τ"),
    )
    yield from row(*["---"] * 11)
    ratings = load_ratings(options.ratings)
    for key, paper in PAPER.items():
        for dimension in DIMENSIONS:
            own = (*map(number, paper.own[dimension]), "–", "–")
            yield from row(
                *(paper.called, "the paper's", dimension, *own),
                *map(number, paper.alone[dimension]),
            )
        for metric in known[key]:
            predicted = on_ratings(metric, options.ratings, ratings, runtime)
            judged = alone(metric, options, runtime)
            for dimension in DIMENSIONS:
                yield from row(
                    *(paper.called, f"`{metric.label}`", dimension),
                    *predicted[dimension],
                    *judged[dimension],
                )


def weighted(metric: Metric, weights: Sequence[float]) -> Metric:
    """Return a metric with other weights of its dimensions."""
    changed: Metric = replace(metric, weights=tuple(weights))  # type: ignore[call-arg]
    return changed


def whole(
    metric: Metric, options: argparse.Namespace, runtime: Runtime
) -> tuple[list[str], list[str]]:
    """Return the four figures of a metric with tuned weights, and the weights."""
    plan = SearchPlan(trials=options.trials, validation="none")
    cells: list[str] = []
    told: list[str] = []
    for tuned_on, goal, tested_on, measures in (
        (options.systems_dev, Goal("pearson"), options.systems, _MEASURES[:2]),
        (options.sentences_dev, Goal("sentence-accuracy"), options.sentences, _MEASURES[2:]),
    ):
        tuned = tune(metric, load_benchmark(tuned_on), goal, plan, runtime=runtime)
        best: Any = tuned.best.metric
        cells += measured(best, tested_on, measures, options, runtime)
        total = sum(best.weights)
        told.append(" : ".join(f"{weight / total:.2f}".lstrip("0") for weight in best.weights))
    return cells, told


def alone(metric: Metric, options: argparse.Namespace, runtime: Runtime) -> dict[str, list[str]]:
    """Return the figures of each dimension by itself."""
    return {
        dimension: measured(
            weighted(metric, np.eye(len(DIMENSIONS))[place].tolist()),
            options.systems,
            _MEASURES,
            options,
            runtime,
        )
        for place, dimension in enumerate(DIMENSIONS)
    }


def measured(
    metric: Metric,
    benchmark: str,
    measures: Sequence[str],
    options: argparse.Namespace,
    runtime: Runtime,
) -> list[str]:
    """Return some measures of a metric on a benchmark, with intervals."""
    found = evaluate(
        load_benchmark(benchmark),
        [metric],
        Protocol(resamples=options.resamples),
        sentinels=False,
        runtime=runtime,
    )
    cells = []
    for measure in measures:
        estimate = found.metrics[0].estimates[measure]
        systems = estimate.unit == "systems"
        low, high = estimate.over_systems if systems else estimate.over_sentences
        cells.append(f"{number(estimate.value)} [{number(low)}, {number(high)}]")
    return cells


def on_ratings(
    metric: Metric, name: str, ratings: Sequence[Rating], runtime: Runtime
) -> dict[str, list[str]]:
    """Return r and ρ of each dimension with the ratings of the test part of both splits.

    Args:
        metric: with the three dimensions among its details.
        name: of the ratings, as evaluators call them that learned from them.
        ratings: all of them.
        runtime: how to score.
    """
    learned = [
        read_json(find_evaluator(each) / "manifest.json")["data"] for each in metric.evaluators()
    ]
    found: dict[str, list[str]] = {dimension: [] for dimension in DIMENSIONS}
    for split in ("paper-random", "by-source"):
        if any(name in data["ratings"] and data["split"] != split for data in learned):
            for dimension in DIMENSIONS:
                found[dimension] += ["–", "–"]
            continue
        examples = split_examples(rating_examples(ratings), split)["test"]
        sources, hypotheses = zip(*(example.texts[0] for example in examples), strict=True)
        predicted = metric.score(sources, hypotheses, runtime=runtime).sentence_details
        for dimension in DIMENSIONS:
            rated = [place for place, each in enumerate(examples) if dimension in each.values]
            values = np.array([examples[place].values[dimension] for place in rated])
            for correlation in (pearson, spearman):
                figure = correlation(np.asarray(predicted[dimension], float)[rated], values)
                found[dimension].append(number(float(figure)))
    return found


if __name__ == "__main__":
    main()
