"""Scores do not depend on batch, order, systems, cache or shards: exactly, or to 10⁻⁵ where learned.

Each trial draws rows of the sample, with repeats, systems and a metric, and compares one way of scoring with
the plain one: sentence by sentence, and for shards and caches the corpus score too. A corpus score may depend
on the order of sentences where the metric is so defined (M2 and ERRANT choose references by running totals).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from pathlib import Path
from random import Random

import numpy as np
from offline import SOURCES, SYSTEMS, gold, metrics
from trial import Trial, main

from learnedgec.applications.corpus import joined_statistics
from learnedgec.data.references import References
from learnedgec.metrics.contract import Metric, Statistics
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import bind_one

# How far scores of encoders may be apart; other scores are equal.
TOLERANCE = 1e-5

EXACT = {
    *("m2", "sentm2", "errant", "senterrant", "gleu", "green", "ensemble", "edit-count", "length"),
    *("constant", "random", "gotoscorer", "cleme", "sentcleme"),
}


def close(metric: Metric, actual: object, expected: object, label: str) -> None:
    """Raise unless numbers are equal, or for a learned metric nearly so."""
    np.testing.assert_allclose(
        np.asarray(actual, dtype=float),
        np.asarray(expected, dtype=float),
        rtol=0,
        atol=0 if metric.name in EXACT else TOLERANCE,
        err_msg=label,
    )


@dataclass(frozen=True)
class Rows:
    """Rows of texts: sources, systems and references."""

    sources: Sequence[str]
    systems: Mapping[str, Sequence[str]]
    references: References

    def take(self, rows: Sequence[int]) -> Rows:
        """Return the rows in another order, or some of them."""
        return Rows(
            [self.sources[row] for row in rows],
            {name: [texts[row] for row in rows] for name, texts in self.systems.items()},
            self.references.select(rows),
        )

    def statistics(self, metric: Metric, runtime: Runtime) -> dict[str, Statistics]:
        """Return the statistics of each system."""
        references = self.references if metric.needs_references else None
        return bind_one(metric, runtime).statistics(self.sources, self.systems, references)


def same(
    metric: Metric,
    computed: Mapping[str, Statistics],
    expected: Mapping[str, Statistics],
    change: str,
    corpus: bool,
) -> None:
    """Compare sentence scores, and corpus scores where the order is the same."""
    for name, statistics in expected.items():
        close(
            metric,
            metric.sentence_scores(computed[name]),
            metric.sentence_scores(statistics),
            change,
        )
        if corpus:
            close(
                metric,
                metric.aggregate(computed[name]),
                metric.aggregate(statistics),
                f"{change}, corpus",
            )


def attempt(metric: Metric, rows: Rows, way: str, seed: int, folder: Path) -> None:
    """Score in one other way and compare."""
    random, plain = Random(seed), Runtime()
    expected = rows.statistics(metric, plain)
    count = len(rows.sources)
    if way == "order":
        order = random.sample(range(count), count)
        shuffled = rows.take(order).statistics(metric, plain)
        back = [order.index(row) for row in range(count)]
        restored = {name: statistics.take(back) for name, statistics in shuffled.items()}
        same(metric, restored, expected, way, corpus=False)
    elif way == "shards":
        cut = random.randint(1, count - 1)
        parts = [
            rows.take(part).statistics(metric, plain) for part in (range(cut), range(cut, count))
        ]
        for name, statistics in expected.items():
            with joined_statistics(lambda name=name: [part[name] for part in parts]) as whole:  # type: ignore[misc]
                same(metric, {name: whole}, {name: statistics}, way, corpus=True)
    elif way == "systems":
        for name, hypotheses in rows.systems.items():
            alone = replace(rows, systems={name: hypotheses})
            same(metric, alone.statistics(metric, plain), {name: expected[name]}, way, corpus=True)
    else:
        batch_tokens = random.choice((1, 64, 20_000))
        runtime = {
            "batch": replace(plain, batch_tokens=batch_tokens),
            "cache": replace(plain, cache_dir=str(folder)),
            "jobs": replace(plain, jobs=2),
        }[way]
        # The second time, a cache is read.
        for _ in range(2 if way == "cache" else 1):
            same(metric, rows.statistics(metric, runtime), expected, way, corpus=True)
        shutil.rmtree(folder, ignore_errors=True)


WAYS = ("order", "shards", "systems", "batch", "cache")


def trials(seed: int, folder: Path) -> Iterator[Trial]:
    """Yield subsets, metrics and ways without end; every metric in turn."""
    random = Random(seed)
    sample = Rows(SOURCES, SYSTEMS, gold())
    for number, (label, metric) in enumerate(cycle(metrics(folder)), 1):
        way = "jobs" if number % 200 == 0 else random.choice(WAYS)
        if way == "systems" and metric.statistics_depend_on_others:
            continue
        rows = sample.take(random.choices(range(len(SOURCES)), k=random.randint(2, 9)))
        names = random.sample(list(SYSTEMS), k=random.randint(1, 3))
        rows = replace(rows, systems={name: rows.systems[name] for name in names})
        seed = random.randrange(1 << 30)
        run = partial(attempt, metric, rows, way, seed, folder / "kept")
        yield Trial(f"{label}, {way}", run)


if __name__ == "__main__":
    main(
        "invariance",
        "Scores are independent of batch, order, systems, cache and shards.",
        trials,
        count=270,
        longest=120,
    )
