"""GMEG: ratings of seven systems in three domains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from learnedgec.data.benchmarks.base import Benchmark, rating_means
from learnedgec.data.catalog.files import dataset_file
from learnedgec.data.catalog.outputs import load_outputs
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.references import References
from learnedgec.data.tables import read_table

__all__ = [
    "gmeg",
]


_NOTICES = ("`source`, the uncorrected text, is one of the seven systems.",)


def gmeg(domain: Literal["dev", "fce", "wiki"] = "dev") -> Benchmark:
    """Return GMEG dev (Napoles et al. 2019): six systems and the source, rated from 0 to 100.

    Args:
        domain: learner essays (`fce`, 968 sentences), Wikipedia edits (`wiki`, 992) or both after one
            another (`dev`).

    The dimension is `quality`. Six and twelve sentences were not rated. `official["mean"]` is the mean
    rating of a system, which for one domain is the published corpus score. One of the four references was
    rated as well, but it is not published which, so it is not a system here.
    """
    if domain == "dev":
        return _concatenate("gmeg:dev", [gmeg("fce"), gmeg("wiki")])
    data = load_parallel(f"gmeg:{domain}")
    systems = {"source": data.sources, **load_outputs(f"gmeg:{domain}")}
    del systems["source+error"]
    columns: dict[str, list[float]] = {name: [] for name in systems}
    for _, record in read_table(dataset_file("gmeg", f"data/dev/{domain}-segment-scores.csv")):
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
        notices=_NOTICES,
    ).exclude_own_references()


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
        notices=_NOTICES,
    )
