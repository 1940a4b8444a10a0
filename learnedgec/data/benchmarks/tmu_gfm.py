"""TMU-GFM: outputs rated for grammaticality, fluency and meaning."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from learnedgec.data.benchmarks.base import Benchmark, rating_means
from learnedgec.data.catalog.ratings import load_ratings

__all__ = [
    "tmu_gfm",
]


def tmu_gfm() -> Benchmark:
    """Return TMU-GFM (Yoshimura et al. 2020): five systems rated from 1 to 4 on three dimensions.

    There are no references. Of the 1,378 sources, 1,369 have one rated output of every system; the
    others are left out.
    """
    by_source: dict[str, dict[str, list[tuple[str, Mapping[str, float]]]]] = {}
    for rating in load_ratings("tmu-gfm"):
        for system in rating.system.split(","):
            outputs = by_source.setdefault(rating.source, {}).setdefault(system, [])
            outputs.append((rating.hypothesis, rating.values))
    names = sorted({system for systems in by_source.values() for system in systems})
    complete = {
        source: {name: systems[name][0] for name in names}
        for source, systems in by_source.items()
        if all(len(systems.get(name, ())) == 1 for name in names)
    }
    ratings = {
        dimension: {
            name: np.array([row[name][1][dimension] for row in complete.values()]) for name in names
        }
        for dimension in ("grammaticality", "fluency", "meaning")
    }
    return Benchmark(
        name="tmu-gfm",
        sources=tuple(complete),
        systems={name: tuple(row[name][0] for row in complete.values()) for name in names},
        ratings=ratings,
        official={dimension: rating_means(values) for dimension, values in ratings.items()},
        notices=(
            f"{len(by_source) - len(complete)} of {len(by_source)} sources lack a single output of each "
            "system and are left out.",
        ),
    )
