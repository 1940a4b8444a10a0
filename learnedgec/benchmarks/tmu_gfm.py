"""TMU-GFM: outputs rated for grammaticality, fluency and meaning."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from learnedgec.benchmarks.base import Benchmark, rating_means
from learnedgec.catalog.ratings import load_ratings

__all__ = [
    "tmu_gfm",
]


def tmu_gfm() -> Benchmark:
    """Return TMU-GFM (Yoshimura et al. 2020): five systems rated from 1 to 4 on three dimensions.

    There are no references. Of the 1,378 sources, 1,369 have one rated output of every system; the
    others are left out.
    """
    found: dict[str, dict[str, list[tuple[str, Mapping[str, float]]]]] = {}
    for rating in load_ratings("tmu-gfm"):
        for system in rating.system.split(","):
            outputs = found.setdefault(rating.source, {}).setdefault(system, [])
            outputs.append((rating.hypothesis, rating.values))
    names = sorted({system for systems in found.values() for system in systems})
    complete = {
        source: {name: systems[name][0] for name in names}
        for source, systems in found.items()
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
            f"{len(found) - len(complete)} of {len(found)} sources lack a single output of each system "
            "and are left out.",
        ),
    )
