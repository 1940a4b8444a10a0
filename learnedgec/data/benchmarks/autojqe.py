"""autoJQE: corrections of Japanese learner sentences, with ratings by three raters."""

from __future__ import annotations

from typing import Literal

import numpy as np

from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.catalog.ratings import Rating, load_ratings
from learnedgec.stats.raters import rater_agreement

__all__ = [
    "autojqe",
]

_PARTS = ("flutec", "tecjl")


def autojqe(part: Literal["all", "flutec", "tecjl"] = "all") -> Benchmark:
    """Return autoJQE (Suzuki et al. 2022): up to four rated outputs of each Japanese sentence.

    Args:
        part: the sentences of `flutec`, of `tecjl`, or of both after one another.

    The dimension is `quality`, 1 to 4, the mean of three raters. Equal outputs of a sentence are merged. It
    is not published which system wrote which output: `output-1` to `output-4` are not systems but the outputs
    in the order of the file. If a sentence has fewer outputs, its unrated source is used instead. There are
    no references. The sentences are not tokenised.
    """
    parts = [load_ratings(f"autojqe:{name}") for name in (_PARTS if part == "all" else (part,))]
    rows: list[list[Rating]] = []
    for ratings in parts:
        by_source: dict[str, list[Rating]] = {}
        for rating in ratings:
            by_source.setdefault(rating.source, []).append(rating)
        rows += by_source.values()
    sources = tuple(row[0].source for row in rows)
    places = {f"output-{place + 1}": place for place in range(max(map(len, rows)))}
    raters = np.array([rating.raters["quality"] for row in rows for rating in row])
    agreement = rater_agreement(np.where(raters > 0, raters, np.nan))
    return Benchmark(
        name="autojqe" if part == "all" else f"autojqe:{part}",
        sources=sources,
        systems={
            name: tuple(
                row[place].hypothesis if place < len(row) else row[0].source for row in rows
            )
            for name, place in places.items()
        },
        ratings={
            "quality": {
                name: np.array(
                    [
                        row[place].values.get("quality", np.nan) if place < len(row) else np.nan
                        for row in rows
                    ]
                )
                for name, place in places.items()
            }
        },
        notices=(
            "which system wrote which output is not published, so systems are not compared.",
            f"agreement of three raters on {agreement.count:,} outputs: r {agreement.pearson:.2f} and "
            f"weighted kappa {agreement.kappa:.2f} per pair, r {agreement.leave_one_out:.2f} of one with the "
            f"mean of the others; noise ceiling of their mean {agreement.ceiling(3):.2f}.",
        ),
        anonymous=True,
    )
