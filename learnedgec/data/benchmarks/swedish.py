"""Swedish: outputs rated for grammaticality, fluency and meaning, with a human correction of each."""

from __future__ import annotations

from typing import Literal

import numpy as np

from learnedgec.data.benchmarks.base import Benchmark, rating_means
from learnedgec.data.catalog.outputs import load_outputs
from learnedgec.data.catalog.parallel import load_parallel
from learnedgec.data.catalog.ratings import load_ratings
from learnedgec.data.references import References
from learnedgec.stats.raters import rater_agreement

__all__ = [
    "swedish",
]


def swedish(references: Literal["corpus", "post-edits"] = "corpus") -> Benchmark:
    """Return the Swedish benchmark (Östling et al. 2024): 192 sentences, five systems, three dimensions.

    Args:
        references: `corpus`, the learner corpus's one reference of each sentence; `post-edits`, for every
            system the annotator's corrections of *its* outputs, and no other reference, as a targeted edit
            rate (`hter`) requires. The annotator who wrote them also gave the ratings.

    The ratings, 1 to 4, are those of the annotator who rated everything, as in the paper. A notice reports
    the agreement with a second annotator.
    """
    parallel, systems = load_parallel("swedish"), load_outputs("swedish")
    ratings = load_ratings("swedish")
    dimensions = {
        dimension: {
            name: np.array([r.values.get(dimension, np.nan) for r in ratings if r.system == name])
            for name in systems
        }
        for dimension in ("grammaticality", "fluency", "meaning")
    }
    annotators = (0,) if references == "corpus" else tuple(range(1, len(systems) + 1))
    targeted = {name: frozenset(annotators) - {number} for number, name in enumerate(systems, 1)}
    return Benchmark(
        name="swedish" if references == "corpus" else f"swedish:{references}",
        sources=parallel.sources,
        systems=systems,
        references=References(
            tuple(
                tuple(reference for reference in row if reference.annotator in annotators)
                for row in parallel.references
            )
        ),
        ratings=dimensions,
        official={name: rating_means(values) for name, values in dimensions.items()},
        excluded={} if references == "corpus" else targeted,
        notices=tuple(_agreement(name, [r.raters[name] for r in ratings]) for name in dimensions),
    )


def _agreement(dimension: str, raters: list[tuple[float, ...]]) -> str:
    """Return a sentence about the two annotators."""
    both = np.array([ratings for ratings in raters if len(ratings) > 1]).reshape(-1, 2)
    agreement = rater_agreement(np.where(both > 0, both, np.nan))
    return (
        f"{dimension}: two annotators gave {agreement.count} outputs equal ratings in "
        f"{100 * agreement.equal:.0f} %, r {agreement.pearson:.2f}, weighted "
        f"kappa {agreement.kappa:.2f}; noise ceiling of one annotator "
        f"{agreement.ceiling(1):.2f}."
    )
