"""Do the intervals hold the truth, and do the tests err, as often as they say? Simulations of all of them.

    python scripts/lab/levels.py [--share 1] [--only meta …]

Each row draws data whose truth is known many times, computes an interval or a test as the package does, and
counts: for an interval, how often it holds the truth; for a test, how often it finds a difference between
equals. `docs/lab/levels.md` has the table. `--share .1` makes a tenth of the simulations.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

from learnedgec import Edit, Metric, Runtime, Statistics
from learnedgec.analysis.aggregation import Aggregation
from learnedgec.analysis.attribution import attribute_edits
from learnedgec.analysis.comparison import comparisons_with
from learnedgec.analysis.meta.agreement import human_scores
from learnedgec.analysis.meta.evaluation import compare_metrics
from learnedgec.analysis.meta.measures import JudgedBenchmark, Measurement, Protocol, measurements
from learnedgec.analysis.ranking import rank_systems
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.catalog.outputs import Ranking
from learnedgec.judging.records import Answer, Judgement, StudySettings
from learnedgec.judging.status import rank_by_people
from learnedgec.stats.correlation import Correlation, correlate, fisher_interval, partial
from learnedgec.stats.resampling import (
    Bootstrap,
    PairTest,
    Resampling,
    interval,
    intervals,
    intervals_of_shares,
    multiplicities,
    resample,
)
from learnedgec.training.evaluate import HeadTest, main_figure
from learnedgec.tuning.objective import Goal
from learnedgec.tuning.task import tune
from learnedgec.types import Floats


@dataclass(frozen=True)
class Numbers(Metric):
    """A metric whose outputs are numbers, such as `0.5 1.5`; a sentence scores their weighted sum."""

    name: ClassVar[str] = "numbers"
    needs_references: ClassVar[bool] = False
    aggregate_parameters: ClassVar[frozenset[str]] = frozenset({"weights"})
    weights: tuple[float, ...] = (1.0,)

    def compute(self, sources: Any, hypotheses: Sequence[str], *_: Any) -> Statistics:
        """Read the numbers."""
        return Statistics({"numbers": np.array([text.split() for text in hypotheses], float)})

    def sentence_scores(self, statistics: Statistics) -> Floats:
        """Return the weighted sums."""
        scores: Floats = statistics["numbers"] @ np.array(self.weights)
        return scores


@dataclass(frozen=True)
class Ratio(Numbers):
    """A corpus score that is no mean, as F is: the sum of one number over that of another."""

    name: ClassVar[str] = "ratio"
    weights: tuple[float, ...] = (1.0, 0.0)

    def aggregate(self, statistics: Statistics) -> float:
        """Return the ratio of the sums."""
        above, below = statistics["numbers"].sum(axis=0)
        return float(above / below)


@dataclass(frozen=True)
class Fewest(Numbers):
    """A score that edits raise together: the number of `x`, and a gain for each pair of neighbours."""

    name: ClassVar[str] = "fewest"

    def compute(self, sources: Any, hypotheses: Sequence[str], *_: Any) -> Statistics:
        """Count edits and neighbours."""
        rows = []
        for text in hypotheses:
            edited = np.array([token == "x" for token in text.split()])
            rows.append(np.sqrt(edited.sum()) + 2.0 * (edited[1:] & edited[:-1])[::3].sum())
        return Statistics({"numbers": np.array(rows)[:, None]})


# Command, what is counted, its nominal share, the share seen, number of simulations.
Row = tuple[str, str, float, float, int]


def held(bounds: Sequence[tuple[float, float]] | Floats, truth: float) -> float:
    """Return the share of intervals that hold the truth, among those that exist."""
    low, high = np.array(bounds).T
    exists = ~np.isnan(low)
    return float(((low - 1e-9 <= truth) & (truth <= high + 1e-9))[exists].mean())


def share(events: Sequence[Any] | npt.NDArray[np.bool_]) -> float:
    """Return the mean of numbers, or the share of events that happened."""
    return float(np.mean(events))


def of_rank(count: int) -> Iterator[Row]:
    """Three equal systems and a better one, 100 sentences; TrueSkill with a tenth of the simulations."""
    settings: list[tuple[Numbers, Aggregation, PairTest]] = [
        (Numbers(), "mean", "paired-bootstrap"),
        (Numbers(), "mean", "paired-permutation"),
        (Ratio(), "mean", "paired-bootstrap"),
        (Numbers(), "expected-wins", "paired-bootstrap"),
        (Numbers(), "trueskill", "paired-bootstrap"),
    ]
    for metric, by, test in settings:
        total = count // 10 if by == "trueskill" else count
        random = np.random.default_rng(0)
        rankings = []
        for number in range(total):
            shared = random.normal(0, 1, (100, 1))
            scores = 2 + shared + random.normal(0, 1, (4, 100, 1))
            scores = scores + np.array([0, 0, 0, 1])[:, None, None]
            if isinstance(metric, Ratio):
                below = random.poisson(3, (4, 100, 1)) + 1.0
                scores = np.concatenate([scores * below / 3, below], axis=2)
            statistics = {f"s{n}": Statistics({"numbers": row}) for n, row in enumerate(scores)}
            rankings.append(
                rank_systems(
                    metric,
                    statistics,
                    by=by,
                    resampling=Resampling(400, seed=number, test=test),
                )
            )
        name = f"`rank --by {by}`, {'ratio of sums' if isinstance(metric, Ratio) else 'mean'}"
        truths = np.mean([ranking.scores for ranking in rankings], axis=0)
        bounds = np.array([ranking.intervals for ranking in rankings])
        if test == "paired-bootstrap":
            seen = share([held(bounds[:, n], truths[n]) for n in range(4)])
            yield name, "interval of a score", 0.95, seen, 4 * total
        equal = [ranking.better[:3, :3].any() for ranking in rankings]
        yield f"{name}, {test}", "any difference among equals", 0.05, share(equal), total
        single = [ranking.p[0, 1] < 0.05 for ranking in rankings]
        yield f"{name}, {test}", "one uncorrected p-value", 0.05, share(single), total
        parted = [len(set(ranking.cluster[:3])) > 1 for ranking in rankings]
        yield f"{name}, {test}", "clusters part equals", 0.05, share(parted), total


def of_wins(count: int) -> Iterator[Row]:
    """One system wins a share of 6 to 100 sentences against another; the interval of that share."""
    random = np.random.default_rng(12)

    def of_study(sentences: int, won: int) -> tuple[float, float]:
        study: Any = SimpleNamespace(
            systems=dict.fromkeys("ab"), sources=range(sentences), settings=StudySettings()
        )
        judgements = [
            Judgement("", number, (("a",), ("b",)), Answer([1, 2] if number < won else [2, 1]))
            for number in range(sentences)
        ]
        rows, _ = rank_by_people(study, judgements, Resampling())
        return next((row["low"], row["high"]) for row in rows if row["system"] == "a")

    for sentences in (6, 10, 18, 40, 100):
        draws = multiplicities(resample(sentences), sentences)
        won = np.arange(sentences)[:, None] < np.arange(sentences + 1)
        shares, resampled = won.mean(axis=0), draws @ won / sentences
        kinds = {
            "percentiles": intervals(resampled),
            "`rank --by expected-wins`": intervals_of_shares(shares, resampled, sentences),
            "`judge --status`": np.array([of_study(sentences, k) for k in range(sentences + 1)]),
        }
        for truth in (0.02, 0.05, 0.1, 0.5):
            wins = random.binomial(sentences, truth, count)
            for name, ends in kinds.items():
                case = f"interval of a share of {truth:g}, {sentences} sentences"
                yield name, case, 0.95, held(ends[wins], truth), count


def of_many(count: int) -> Iterator[Row]:
    """Thirty equal systems, 1,000 resamples: 435 pairs, of which the far ones are tested in closed form."""
    kinds: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
        "normal": lambda random, shape: random.normal(size=shape),
        "skewed": lambda random, shape: random.lognormal(0, 1.2, shape),
        "mostly 0": lambda random, shape: (
            random.exponential(size=shape) * (random.random(shape) < 0.4)
        ),
    }
    for sentences in (20, 40, 100, 400):
        for kind, draw in kinds.items():
            random, found = np.random.default_rng(9), []
            total = count if sentences > 20 else count // 4
            for number in range(total):
                scores = draw(random, (30, sentences))[..., None]
                statistics = {f"s{n}": Statistics({"numbers": row}) for n, row in enumerate(scores)}
                ranking = rank_systems(Numbers(), statistics, resampling=Resampling(seed=number))
                found.append(ranking.better.any())
            name = f"`rank`, 30 systems, {sentences} sentences, {kind}"
            yield name, "any difference among equals", 0.05, share(found), total


def of_compare(count: int) -> Iterator[Row]:
    """A baseline and three equal systems, 100 sentences."""
    random = np.random.default_rng(1)
    comparisons = []
    for number in range(count):
        scores = random.normal(0, 1, (100, 1)) + random.normal(0, 1, (4, 100, 1))
        statistics = {f"s{n}": Statistics({"numbers": row}) for n, row in enumerate(scores)}
        ranking = rank_systems(
            Numbers(), statistics, baseline="s0", resampling=Resampling(400, seed=number)
        )
        comparisons.append(comparisons_with("s0", ranking))
    bounds = [row.difference_bounds for rows in comparisons for row in rows]
    wrong = share([any(row.significant for row in rows) for rows in comparisons])
    yield "`compare`", "interval of a difference", 0.95, held(bounds, 0.0), 3 * count
    yield "`compare`", "any difference from an equal baseline", 0.05, wrong, count


def of_few(count: int) -> Iterator[Row]:
    """A baseline and an equal system, 1 to 20 sentences; no interval exists below six."""
    for size in range(1, 21):
        random = np.random.default_rng(8)
        rows = []
        for number in range(count):
            scores = random.normal(0, 1, (size, 1)) + random.normal(0, 1, (2, size, 1))
            statistics = {f"s{n}": Statistics({"numbers": row}) for n, row in enumerate(scores)}
            ranking = rank_systems(
                Numbers(), statistics, baseline="s0", resampling=Resampling(seed=number)
            )
            rows += comparisons_with("s0", ranking)
        name = f"`compare`, {size} sentence{'s' if size > 1 else ''}"
        yield (
            name,
            "a difference from an equal",
            0.05,
            share([row.significant for row in rows]),
            count,
        )
        if size > 5:
            seen = held([row.difference_bounds for row in rows], 0.0)
            yield name, "interval of a difference", 0.95, seen, count


def of_systems(count: int) -> Iterator[Row]:
    """2 to 13 systems; normal scores of people, a metric and a control, from four populations."""
    populations = [
        np.array([[1, r, a], [r, 1, b], [a, b, 1]])
        for r, a, b in ((0.0, 0.0, 0.0), (0.6, 0.3, 0.3), (0.9, 0.5, 0.5), (0.95, 0.7, 0.8))
    ]
    truths: dict[Correlation, Callable[[Floats], Floats]] = {
        "pearson": lambda r: r,
        "spearman": lambda r: 6 / np.pi * np.arcsin(r / 2),
        "kendall": lambda r: 2 / np.pi * np.arcsin(r),
        "pairwise-accuracy": lambda r: 0.5 + np.arcsin(r) / np.pi,
    }
    for controls in (0, 1):
        for kind, truth_of in truths.items():
            if controls and kind == "pairwise-accuracy":
                continue
            for size in range(2, 14):
                random = np.random.default_rng(9)
                seen = []
                for population in populations:
                    root = np.linalg.cholesky(population)
                    scores = np.moveaxis(random.normal(size=(count, size, 3)) @ root.T, 2, 0)
                    first, *others = truth_of(population)[[0, 0, 1], [1, 2, 2]].tolist()
                    alone = np.sqrt(np.prod(1 - np.square(others)))
                    truth = (first - np.prod(others)) / alone if controls else first
                    values = partial(kind, *scores) if controls else correlate(kind, *scores[:2])
                    settings: dict[str, Any] = {"kind": kind, "controls": controls}
                    bounds = [fisher_interval(v, size, **settings) for v in values.tolist()]
                    seen.append(held(bounds, truth) if np.isfinite(bounds).any() else np.nan)
                if np.isfinite(seen).all():
                    name = f"`meta` `{'partial_' * controls}{kind.replace('-', '_')}`"
                    what = f"interval over {size} systems"
                    yield name, f"{what}, mean of populations", 0.95, share(seen), 4 * count
                    yield name, f"{what}, lowest", 0.95, min(seen), count


def judged(random: np.random.Generator, systems: Floats, metric: Floats) -> tuple[Any, ...]:
    """Return a benchmark of 40 sentences, its metric's sentence scores, and an unrelated control."""
    shape = (len(systems), 40)
    quality = systems[:, None] + random.normal(0, 1.5, shape)
    ratings = quality + random.normal(0, 1.0, shape)
    scores = quality - systems[:, None] + metric[:, None] + random.normal(0, 1.0, shape)
    names = [f"s{n}" for n in range(len(systems))]
    ranks = np.argsort(np.argsort(-(quality + random.normal(0, 1.0, shape)), axis=0), axis=0)
    texts = tuple(map(str, range(40)))
    rankings = tuple(
        Ranking(n, dict(zip(names, column, strict=True)))
        for n, column in enumerate(ranks.T.tolist())
    )
    benchmark = Benchmark(
        "drawn",
        texts,
        dict.fromkeys(names, texts),
        ratings={"quality": dict(zip(names, ratings, strict=True))},
        rankings=rankings,
    )
    return benchmark, scores, random.poisson(2, shape).astype(float)


def of_meta(count: int) -> Iterator[Row]:
    """Twelve systems, 40 sentences, 200 resamples, all measures."""
    values: dict[tuple[str, str], list[float]] = {}
    bounds: dict[tuple[str, str], list[tuple[float, float]]] = {}
    random = np.random.default_rng(2)
    fixed = random.normal(0, 0.7, (2, 12))
    for number in range(count):
        drawn = random.normal(0, 0.7, (2, 12))
        for over, (base, change) in (("sentences", fixed), ("systems", drawn)):
            benchmark, sentences, edits = judged(random, base, 0.9 * base + 0.3 * change)
            protocol = Protocol(resampling=Resampling(200, seed=number))
            shared = JudgedBenchmark(benchmark, protocol, "quality", edits, Runtime())
            many = shared.draws @ sentences.T / sentences.shape[1]
            measured = measurements(shared, sentences, sentences.mean(axis=1), many)
            for name, measurement in measured.items():
                values.setdefault((name, over), []).append(measurement.value)
                bounds.setdefault((name, over), []).append(getattr(measurement, f"over_{over}"))
    for (name, over), ends in bounds.items():
        if np.isnan(np.array(ends)).all():
            continue
        truth = float(np.nanmedian(values[name, over]))
        yield f"`meta` `{name}`", f"interval over {over}", 0.95, held(ends, truth), count


def of_human_scores(count: int) -> Iterator[Row]:
    """Expected wins and TrueSkill of people: four systems, 40 sentences."""
    for name in ("EW", "TS"):
        random = np.random.default_rng(3)
        scores, bounds = [], []
        for number in range(count if name == "EW" else count // 4):
            benchmark, _, _ = judged(random, np.array([0.0, 0.3, 0.6, 0.9]), np.zeros(4))
            drawn = multiplicities(resample(40, Resampling(200, seed=number)), 40)
            human = human_scores(benchmark, name, drawn, seed=number)
            scores.append(human.scores)
            bounds.append(human.intervals(0.95))
        truths = np.mean(scores, axis=0)
        seen = share([held(np.array(bounds)[:, n], truths[n]) for n in range(4)])
        yield f"`meta` human score {name}", "interval", 0.95, seen, 4 * len(scores)


def of_tests(count: int) -> Iterator[Row]:
    """Three equally good metrics of eight systems, 40 sentences, 199 permutations."""
    for favour in (0.0, 0.3):
        random = np.random.default_rng(4)
        lowest: dict[tuple[str, str], list[float]] = {}
        for number in range(count):
            systems = random.normal(0, 0.7, 8)
            benchmark, _, edits = judged(random, systems, systems)
            protocol = Protocol(resampling=Resampling(199, seed=number))
            shared = JudgedBenchmark(benchmark, protocol, "quality", edits, Runtime())
            human = shared.human
            assert human.ratings is not None
            candidates = []
            for _ in range(3):
                preferred = favour * random.normal(size=(8, 1))
                scores = human.ratings + preferred + random.normal(0, 1.5, human.ratings.shape)
                r = float(np.corrcoef(human.scores, scores.mean(axis=1))[0, 1])
                values = {"pearson": r, "sentence_accuracy": 0.0, "segment_pearson": 0.0}
                estimates = {n: Measurement(value, 8, "systems") for n, value in values.items()}
                candidate: Any = SimpleNamespace(
                    metric="m", scores=scores.mean(axis=1), sentences=scores, estimates=estimates
                )
                candidates.append(candidate)
            results = compare_metrics(shared, candidates)
            for measure in ("pearson", "sentence_accuracy", "segment_pearson"):
                tests = [test for test in results if test.measure == measure]
                for name in ("perm_both", "perm_systems", "williams"):
                    p_values = [getattr(test, f"{name}_adjusted") for test in tests]
                    lowest.setdefault((measure, name), []).append(min(p_values))
        setting = "metrics that favour systems" if favour else "metrics that favour no system"
        for (measure, test), smallest in lowest.items():
            if not np.isnan(smallest).all():
                name, seen = f"`meta --tests` `{test}`, `{measure}`", np.array(smallest) < 0.05
                yield name, f"any difference, {setting}", 0.05, share(seen), count


def of_tune(count: int) -> Iterator[Row]:
    """Two weights, five systems, 60 sentences; the truth is the value on 4,000 other sentences."""
    random = np.random.default_rng(5)
    gaps: dict[str, list[float]] = {"held-out": [], "tuning data": []}
    folds: list[tuple[float, float]] = []
    value_bounds: list[tuple[float, float]] = []
    gain_bounds: list[tuple[float, float]] = []
    weights = np.array([0.5, 0.5])

    def drawn(size: int) -> Benchmark:
        parts = random.normal(size=(5, size, 2))
        ratings = parts @ weights + random.normal(0, 2.0, (5, size))
        texts = [[f"{a:.4f} {b:.4f}" for a, b in row] for row in parts.tolist()]
        names = [f"s{n}" for n in range(5)]
        return Benchmark(
            "drawn",
            tuple(map(str, range(size))),
            {name: tuple(column) for name, column in zip(names, texts, strict=True)},
            ratings={"quality": dict(zip(names, ratings, strict=True))},
        )

    def correlation(chosen: Sequence[float]) -> float:
        """Return Pearson's r of a weighted sum with the ratings, in all sentences."""
        w = np.array(chosen)
        return float(w @ weights / np.sqrt(w @ w * (weights @ weights + 4)))

    for number in range(count):
        tuning = tune(
            Numbers((0.9, 0.1)),
            drawn(60),
            objective=Goal("segment-pearson", human="quality"),
            trials=12,
            compare=[drawn(60)],
            resampling=Resampling(200, seed=number),
            output=None,
        )
        best = tuning.best
        truths = [correlation(fold.parameters["weights"]) for fold in tuning.folds]
        mean, deviation = tuning.held_out
        gaps["held-out"].append(mean - float(np.mean(truths)))
        gaps["tuning data"].append(best.value - correlation(best.parameters["weights"]))
        folds.append((mean - deviation - np.mean(truths), mean + deviation - np.mean(truths)))
        tuned, untuned = tuning.comparisons["compare[0]"][:2]
        truth = correlation(best.parameters["weights"])
        value_bounds.append((tuned.value.low - truth, tuned.value.high - truth))
        gain = truth - correlation((0.9, 0.1))
        gain_bounds.append((untuned.gain.low - gain, untuned.gain.high - gain))
    for name, gap in gaps.items():
        yield f"`tune`, {name} value", "mean excess over the truth", 0.0, share(gap), count
    what, no_level = "holds the truth (no nominal level)", float("nan")
    yield "`tune`, held-out ± deviation", what, no_level, held(folds, 0.0), count
    yield "`tune --compare`", "interval of the value", 0.95, held(value_bounds, 0.0), count
    yield "`tune --compare`", "interval of the gain", 0.95, held(gain_bounds, 0.0), count


def of_attribution(count: int) -> Iterator[Row]:
    """Ten edits, 64 orders: does the Shapley value ± 1.96 standard errors hold the exact one?"""
    edits = [tuple(Edit(n, n + 1, "x") for n in range(10))]
    source, hypothesis = ["a " * 9 + "a"], ["x " * 9 + "x"]
    exact = attribute_edits(Fewest(), source, hypothesis, edits=edits, exact_up_to=10)[0].shapley
    inside = []
    for seed in range(count):
        sample = attribute_edits(
            Fewest(), source, hypothesis, edits=edits, exact_up_to=0, seed=seed
        )[0]
        inside.append(np.abs(sample.shapley - exact) <= 1.96 * sample.standard_error + 1e-9)
    yield "attribution", "sampled value ± 1.96 standard errors", 0.95, share(inside), 10 * count


def of_explanation(count: int) -> Iterator[Row]:
    """2,000 outputs of 400 sources; with and without a source's own tendency."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from calibrate_scores import bins_of, predict_held_out

    for tendency in (0.0, 1.0):
        random = np.random.default_rng(6)
        observed, predicted = [], []
        for number in range(count):
            groups = np.repeat(np.arange(400), 5)
            gains = random.normal(size=2000)
            chance = 1 / (1 + np.exp(-1.5 * gains - tendency * random.normal(size=400)[groups]))
            preferred = random.random(2000) < chance
            prediction = predict_held_out(gains, preferred, groups, seed=number)
            bins = bins_of(prediction, preferred)
            order = np.argsort(prediction, kind="stable")
            means = [part.mean() for part in np.array_split(chance[order], len(bins))]
            observed += [b.low <= mean <= b.high for b, mean in zip(bins, means, strict=True)]
            predicted += [b.low <= b.predicted <= b.high for b in bins]
        name = f"probability of preference{', sources that differ' if tendency else ''}"
        yield name, "interval of a bin's share", 0.95, share(observed), 10 * count
        yield name, "prediction inside it", 0.95, share(predicted), 10 * count


def of_robust(count: int) -> Iterator[Row]:
    """A mean of a hundred cases, and shares of one to three variants a case, which depend within cases."""
    random = np.random.default_rng(7)
    means = []
    for number in range(count):
        bootstrap = Bootstrap(100, Resampling(400, seed=number))
        mean = bootstrap.mean(random.exponential(1.0, 100))
        means.append((mean.low, mean.high))
    yield "`robust`", "interval of a mean (skewed)", 0.95, held(means, 1.0), count
    for cases in (6, 18, 40, 100):
        bootstrap = Bootstrap(cases)
        draws = multiplicities(bootstrap.samples, cases)
        for truth in (0.02, 0.1, 0.5):
            bounds: dict[str, list[tuple[float, float]]] = {}
            for _ in range(count):
                # The share of a case has the mean `truth`; rows of a case correlate with .5.
                tendency = random.beta(truth, 1 - truth, cases)
                rows = random.integers(1, 4, cases)
                hits = random.binomial(rows, tendency)
                found = bootstrap.share(hits, rows)
                bounds.setdefault("`robust`", []).append((found.low, found.high))
                shares = draws @ hits / (draws @ rows)
                bounds.setdefault("percentiles", []).append(interval(shares))
            for name, ends in bounds.items():
                case = f"interval of a share of {truth:g}, {cases} cases"
                yield name, case, 0.95, held(ends, truth), count


def of_train(count: int) -> Iterator[Row]:
    """A head without knowledge, and one with r = .6, on ratings and pairs that depend on their sources.

    The head and the raters have tastes by source. Each row is followed by what it would be with the interval
    of independent ratings (Fisher's) or pairs (Wilson's).
    """
    random = np.random.default_rng(8)
    every_two = np.stack(np.triu_indices(20, 1), -1)
    one_and_others = np.stack([np.zeros(20, int), np.arange(1, 21)], -1)

    def paired(pairs: npt.NDArray[np.intp]) -> tuple[Floats, HeadTest]:
        """The better of two texts is drawn at random; 13 sources have the same pairs."""
        texts = int(pairs.max()) + 1
        ordered = [pair + texts * source for source in range(13) for pair in pairs]
        sources = [str(source) for source in range(13) for _ in pairs]
        values = random.normal(size=13 * texts)
        return values, HeadTest([("", "")] * len(values), None, np.array(ordered), sources)

    def rated(r: float) -> tuple[Floats, HeadTest]:
        """Thirteen sources have 37 ratings, each at least one."""
        sources = np.append(np.arange(13), random.integers(0, 13, 24))
        tastes, own = random.normal(size=(2, 2, 37)) / np.sqrt(2)
        values, other = tastes[:, sources] + own
        ratings = r * values + np.sqrt(1 - r**2) * other
        none = np.empty((0, 2), int)
        return values, HeadTest([("", "")] * 37, ratings, none, list(map(str, sources)))

    def independent(values: Floats, test: HeadTest) -> tuple[float, float]:
        if test.ratings is not None:
            return fisher_interval(float(np.corrcoef(values, test.ratings)[0, 1]), test.size)
        right = int(np.greater(*values[test.pairs].T).sum())
        low, high = binomtest(right, test.size).proportion_ci(method="wilson")
        return float(low), float(high)

    random_head = "a head without knowledge is better than chance"
    cases: list[tuple[str, str, float, Callable[[], tuple[Floats, HeadTest]], float | None]] = [
        ("listwise, 20 texts a source", random_head, 0.025, lambda: paired(every_two), None),
        ("20 pairs a source", random_head, 0.025, lambda: paired(one_and_others), None),
        ("37 ratings of 13 sources", random_head, 0.025, lambda: rated(0.0), None),
        ("37 ratings of 13 sources", "interval of r = .6", 0.95, lambda: rated(0.6), 0.6),
    ]
    for name, case, nominal, draw, truth in cases:
        by_source: list[bool] = []
        alone: list[bool] = []
        for _ in range(count):
            values, test = draw()
            figures = test.figures(values)
            measure, _ = main_figure(figures)
            bounds = (float(figures[measure + end] or 0) for end in ("_low", "_high"))
            chance = 0.5 if test.ratings is None else 0.0
            for seen, (low, high) in ((by_source, bounds), (alone, independent(values, test))):
                seen.append(low > chance if truth is None else low <= truth <= high)
        yield f"`train`, {name}", case, nominal, share(by_source), count
        yield f"`train`, {name}, taken as independent", case, np.nan, share(alone), count


# Simulation -> its function and how many are made.
SIMULATIONS: dict[str, tuple[Callable[[int], Iterator[Row]], int]] = {
    "rank": (of_rank, 500),
    "wins": (of_wins, 10000),
    "many": (of_many, 400),
    "compare": (of_compare, 1000),
    "few": (of_few, 1000),
    "systems": (of_systems, 2000),
    "meta": (of_meta, 200),
    "human": (of_human_scores, 400),
    "tests": (of_tests, 200),
    "tune": (of_tune, 60),
    "attribution": (of_attribution, 200),
    "explanation": (of_explanation, 200),
    "robust": (of_robust, 1000),
    "train": (of_train, 1000),
}


def main() -> None:
    """Print the table, in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="of the simulations")
    parser.add_argument("--only", nargs="+", choices=list(SIMULATIONS), default=list(SIMULATIONS))
    options = parser.parse_args()
    print("| command | what | nominal | seen | simulations |\n| --- | --- | --- | --- | --- |")
    for name in options.only:
        simulate, count = SIMULATIONS[name]
        for command, case, nominal, seen, total in simulate(max(10, int(count * options.share))):
            level = "–" if np.isnan(nominal) else f"{nominal:.3g}"
            print(f"| {command} | {case} | {level} | {seen:.3f} | {total:,} |", flush=True)


if __name__ == "__main__":
    main()
