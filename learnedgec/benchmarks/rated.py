"""The benchmarks with ratings of single outputs: GMEG and TMU-GFM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from learnedgec.benchmarks.base import Benchmark, Floats
from learnedgec.catalog.files import path
from learnedgec.catalog.outputs import load_outputs
from learnedgec.catalog.parallel import load_parallel
from learnedgec.catalog.ratings import load_ratings
from learnedgec.catalog.tables import read_table
from learnedgec.references import References

__all__ = ["gmeg", "rating_means", "tmu_gfm"]


def gmeg(domain: Literal["dev", "fce", "wiki"] = "dev") -> Benchmark:
    """Return GMEG dev (Napoles et al. 2019): six systems and the source, rated from 0 to 100.

    Args:
        domain: learner essays (`fce`, 968 sentences), Wikipedia edits (`wiki`, 992) or both after one
            another (`dev`).

    The dimension is `quality`. Six and twelve sentences were not rated. `official["mean"]` is the mean
    rating of a system, which for one domain is the published corpus score. A reference was rated as
    well, but which of the four is not published, so it is no system here.
    """
    if domain == "dev":
        return _concatenate("gmeg:dev", [gmeg("fce"), gmeg("wiki")])
    data = load_parallel(f"gmeg:{domain}")
    systems = {"source": data.sources, **load_outputs(f"gmeg:{domain}")}
    del systems["source+error"]
    columns: dict[str, list[float]] = {name: [] for name in systems}
    for _, record in read_table(path("gmeg", f"data/dev/{domain}-segment-scores.csv")):
        for name, column in columns.items():
            column.append(float(record[name] or "nan"))
    ratings = {"quality": {name: np.array(column) for name, column in columns.items()}}
    return Benchmark(
        name=f"gmeg:{domain}",
        sources=data.sources,
        systems=systems,
        references=data.references,
        ratings=ratings,
        official={"mean": rating_means(ratings["quality"])},
    ).exclude_own_references()


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


def rating_means(values: Mapping[str, Floats]) -> dict[str, float]:
    """Return each system's mean rating over its rated sentences."""
    return {name: float(np.nanmean(column)) for name, column in values.items()}


def _concatenate(name: str, parts: Sequence[Benchmark]) -> Benchmark:
    """Return rated benchmarks of the same systems as one."""
    systems = {
        system: tuple(text for part in parts for text in part.systems[system])
        for system in parts[0].systems
    }
    ratings = {
        dimension: {
            system: np.concatenate([part.ratings[dimension][system] for part in parts])
            for system in systems
        }
        for dimension in parts[0].ratings
    }
    rows = [row for part in parts for row in part.references or ()]
    return Benchmark(
        name=name,
        sources=tuple(source for part in parts for source in part.sources),
        systems=systems,
        references=References(tuple(rows)),
        ratings=ratings,
        official={"mean": rating_means(ratings["quality"])},
    )
