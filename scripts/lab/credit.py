"""Should an edit that no reference has count by the probability that it is acceptable?

    LEARNEDGEC_MIRROR=… python scripts/lab/credit.py [seeda-s:base gjg15 …] [--resamples 500]

ERRANT with the edits of `en-ewt-sm`. Of an edit that a reference does not have, with the probability p of
`edit_confidence`, the metric counts

    plain       1 as wrong
    excused     1 − p as wrong, and p not at all
    soft        1 − p as wrong, and p as an edit that the reference has

The controls are p = its mean, and p shuffled over the edits of a benchmark (the mean of five draws). A
constant leaves more ties, which count as wrong, so shuffled p is the fairer control of accuracy. The first
table is agreement with people; each difference from `plain` and the controls has an interval over sentences.
The second gives one reference of four (of JFLEG, whose outputs are people's own, of three): the correlation
of its sentence scores with those of all references by `plain`, and the mean distance of the outputs' scores.

The rule was written before any result was read: `soft` or `excused` becomes a parameter of `errant` if it
gains over `plain` and over the constant, with intervals above 0, in accuracy at equal edit counts on SEEDA-S,
SEEDA-E and GJG15, comes nearer with one reference on GMEG and JFLEG than `plain`, and loses nowhere more than
.01. docs/lab/tried.md has the tables.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from learnedgec import Resampling, Runtime, load_benchmark
from learnedgec.analysis.aggregation import (
    sentence_scores,
    system_scores,
    system_scores_of_resamples,
)
from learnedgec.analysis.meta.agreement import (
    agreement,
    default_human,
    judged,
    segment_correlation,
    segment_correlations_of_resamples,
)
from learnedgec.analysis.meta.evaluation import benchmark_statistics
from learnedgec.analysis.meta.measures import JudgedBenchmark, Protocol
from learnedgec.applications.confidence import edit_confidence
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.metrics.contract import Statistics
from learnedgec.scoring import bind_one
from learnedgec.stats.correlation import pearson
from learnedgec.stats.resampling import interval, resample
from learnedgec.types import Floats, Indices

# A sentence, and the place and correction of an edit.
Key: TypeAlias = tuple[int, int, int, str]

ANNOTATOR = "en-ewt-sm"
# Benchmark -> how many of its sentences one is taken of.
EVERY = {
    "seeda-s:base": 1,
    "seeda-e:base": 1,
    "gjg15": 6,
    "gmeg:fce": 6,
    "gmeg:wiki": 6,
    "jfleg:dev": 24,
}
MODES = ("soft", "excused")
SHUFFLES = 5
# Measure -> its value, and its values on the resamples.
Measured: TypeAlias = Mapping[str, tuple[float, Floats]]


def main() -> None:
    """Print the tables of each benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("benchmarks", nargs="*", default=[*EVERY], metavar="BENCHMARK")
    parser.add_argument("--resamples", type=int, default=500)
    options = parser.parse_args()
    resampling = Resampling(options.resamples)
    for name in options.benchmarks:
        benchmark = taken(name)
        statistics = counted(benchmark)
        edits = sure_edits(benchmark)
        print(f"\n{name}: {len(benchmark.sources)} sentences, {len(edits)} edits", flush=True)
        if name != "jfleg:dev":
            agree(benchmark, statistics, edits, resampling)
        if not name.startswith(("seeda", "gjg")):
            come_near(statistics, edits, resampling)


def taken(name: str) -> Benchmark:
    """Return a benchmark with the sentences that are taken; of JFLEG, people's corrections are outputs."""
    if name == "jfleg:dev":
        data = load_parallel(name)
        outputs = {f"person {n}": tuple(row[n].text for row in data.references) for n in range(4)}
        excluded = {f"person {n}": frozenset({n}) for n in range(4)}
        benchmark = Benchmark(name, data.sources, outputs, data.references, excluded=excluded)
    else:
        benchmark = load_benchmark(name)
    numbers = sorted({r.sentence for r in benchmark.rankings}) if name == "gjg15" else None
    return benchmark.select(
        benchmark.systems, (numbers or range(len(benchmark.sources)))[:: EVERY[name]]
    )


METRIC = bind_one(f"errant(annotator={ANNOTATOR!r}, reannotate=True)")


def counted(benchmark: Benchmark) -> list[Statistics]:
    """Return ERRANT's counts of each system."""
    return benchmark_statistics(METRIC, benchmark)


def sure_edits(benchmark: Benchmark) -> dict[Key, float]:
    """Return the probability of each edit of each system; of equal edits of a sentence, the mean."""
    found: dict[Key, list[float]] = {}
    for texts in benchmark.systems.values():
        runtime = Runtime(dtype="auto", progress=True)
        edits = edit_confidence(benchmark.sources, texts, annotator=ANNOTATOR, runtime=runtime)
        for number, row in enumerate(edits.edits):
            for edit, sure in row:
                found.setdefault((number, edit.start, edit.end, edit.correction), []).append(sure)
    return {key: float(np.mean(values)) for key, values in found.items()}


def credited(statistics: Statistics, edits: Mapping[Key, float], mode: str) -> Statistics:
    """Return the counts with credit for edits that a reference does not have."""
    credit = np.zeros(statistics["tp"].shape)
    for number, row in enumerate(statistics.records):
        for reference, record in enumerate(row):
            credit[number, reference] = sum(
                edits[number, edit["start"], edit["end"], edit["correction"]]
                for edit in record["edits"]
                if not edit["matched"]
            )
    changes = {"soft": {"tp": 1, "gold": 1}, "excused": {"proposed": -1}}[mode]
    arrays = {name: array + changes.get(name, 0) * credit for name, array in _counts(statistics)}
    return Statistics({**statistics.arrays, **arrays}, statistics.records)


def _counts(statistics: Statistics) -> Iterator[tuple[str, Floats]]:
    for name in ("tp", "proposed", "gold"):
        yield name, statistics[name].astype(float)


def variants(
    statistics: Sequence[Statistics],
    edits: Mapping[Key, float],
    measure: Callable[[Sequence[Statistics]], Measured],
) -> dict[str, Measured]:
    """Return what is measured of each metric; of shuffled p, the mean of the draws."""
    unmatched = sorted(
        {
            (number, edit["start"], edit["end"], edit["correction"])
            for rows in statistics
            for number, row in enumerate(rows.records)
            for record in row
            for edit in record["edits"]
            if not edit["matched"]
        }
    )
    values = [edits[key] for key in unmatched]
    drawn = [random.Random(seed).sample(values, len(values)) for seed in range(SHUFFLES)]
    sources: dict[str, list[Mapping[Key, float]]] = {
        "judge": [edits],
        "constant": [dict.fromkeys(unmatched, float(np.mean(values)))],
        "shuffled": [dict(zip(unmatched, row, strict=True)) for row in drawn],
    }
    print(f"{len(unmatched)} edits that a reference lacks, mean p {np.mean(values):.3f}")
    measured = {"plain": measure(statistics)}
    for mode in MODES:
        for by, rated in sources.items():
            each = [measure([credited(rows, c, mode) for rows in statistics]) for c in rated]
            measured[f"{mode}, {by}"] = {key: _mean([one[key] for one in each]) for key in each[0]}
    return measured


def agree(
    benchmark: Benchmark,
    statistics: Sequence[Statistics],
    edits: Mapping[Key, float],
    resampling: Resampling,
) -> None:
    """Print the agreement with people."""
    human = default_human(benchmark)[0]
    kept = judged(benchmark, human)
    statistics = [
        rows
        for rows, name in zip(statistics, benchmark.systems, strict=True)
        if name in kept.systems
    ]
    count = bind_one("edit-count")
    changed = sentence_scores(count.metric, benchmark_statistics(count, kept))
    shared = JudgedBenchmark(kept, Protocol(resampling=resampling), human, changed, Runtime())
    _print(variants(statistics, edits, lambda rows: _agreements(shared, rows)))


def _agreements(shared: JudgedBenchmark, statistics: Sequence[Statistics]) -> Measured:
    metric = METRIC.metric
    scores, sentences = system_scores(metric, statistics), sentence_scores(metric, statistics)
    resampled = system_scores_of_resamples(metric, statistics, shared.samples)
    people = shared.human
    found = {
        "r of systems": (
            float(pearson(people.scores, scores)),
            pearson(people.resampled, resampled),
        )
    }
    if shared.comparisons is not None and people.ratings is None:
        kinds = {"accuracy": shared.comparisons, "at equal edits": shared.at_equal_edits}
        for name, comparisons in kinds.items():
            counts = agreement(sentences, comparisons)
            found[f"{name} ({counts.count:,})"] = counts.accuracy, counts.accuracies(shared.draws)
    if people.ratings is not None:
        ratings, samples = people.ratings, shared.samples
        value, number = segment_correlation("pearson", sentences, ratings)
        drawn = segment_correlations_of_resamples("pearson", sentences, ratings, samples, "pooled")
        found[f"r of segments ({number:,})"] = value, drawn
        value, number = segment_correlation("kendall", sentences, ratings, "grouped")
        drawn = segment_correlations_of_resamples("kendall", sentences, ratings, samples, "grouped")
        found[f"τ within a source ({number:,})"] = value, drawn
    return found


def come_near(
    statistics: Sequence[Statistics], edits: Mapping[Key, float], resampling: Resampling
) -> None:
    """Print how near one reference comes to all."""
    metric = METRIC.metric
    several = min(int(rows["references"].min()) for rows in statistics)
    samples = resample(len(statistics[0]), resampling)
    of_all = sentence_scores(metric, statistics)
    systems = system_scores(metric, statistics)
    resampled = system_scores_of_resamples(metric, statistics, samples)

    def measure(made: Sequence[Statistics]) -> Measured:
        near, far = [], []
        for number in range(several):
            one = [_one_reference(rows, number) for rows in made]
            scores = sentence_scores(metric, one)
            near.append((_correlation(scores, of_all), _correlations(scores, of_all, samples)))
            distance = float(np.abs(system_scores(metric, one) - systems).mean())
            distances = np.abs(system_scores_of_resamples(metric, one, samples) - resampled)
            far.append((distance, distances.mean(axis=1)))
        return {"r with all references": _mean(near), "distance of scores": _mean(far)}

    _print(variants(statistics, edits, measure))


def _one_reference(statistics: Statistics, number: int) -> Statistics:
    arrays = {
        name: array[:, [number]] if array.ndim > 1 else np.ones_like(array)
        for name, array in statistics.arrays.items()
    }
    return Statistics(arrays)


def _correlation(scores: Floats, others: Floats) -> float:
    return float(pearson(scores.ravel(), others.ravel()))


def _correlations(scores: Floats, others: Floats, samples: Indices) -> Floats:
    return np.array([_correlation(scores[:, rows], others[:, rows]) for rows in samples])


def _mean(rows: Sequence[tuple[float, Floats]]) -> tuple[float, Floats]:
    values, drawn = zip(*rows, strict=True)
    return float(np.mean(values)), np.mean(drawn, axis=0)


def _print(measured: Mapping[str, Measured]) -> None:
    """Print each value, and the differences from `plain` and the controls."""
    columns = list(measured["plain"])
    print(f"| metric | {' | '.join(columns)} |\n| --- |{' --- |' * len(columns)}")

    def cell(value: float, drawn: Floats, sign: str = "") -> str:
        low, high = interval(drawn)
        return f"{value:{sign}.3f} [{low:{sign}.3f}, {high:{sign}.3f}]"

    for name, values in measured.items():
        cells = [cell(*values[column]) for column in columns]
        print(f"| {name} | {' | '.join(cells)} |")
    for mode in MODES:
        ours = measured[f"{mode}, judge"]
        for other in ("plain", f"{mode}, constant", f"{mode}, shuffled"):
            theirs = measured[other]
            cells = [
                cell(ours[c][0] - theirs[c][0], ours[c][1] - theirs[c][1], "+") for c in columns
            ]
            print(f"| {mode}, judge − {other} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
