"""A system's score in words: its place among other systems, and how human raters judged such changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from learnedgec.analysis.explanation.reference import ScoreReference
from learnedgec.types import Floats

__all__ = ["Explanation", "explain_score"]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A system's score, explained by a reference.

    Attributes:
        below: the reference's systems with lower corpus scores, the best of them first.
        systems: how many systems the reference has.
        percentiles: float64 (N,), the percentile of each output among the reference's outputs, 0 to 100.
        preferred: float64 (N,), the probability that human raters put each output above its source; NaN where
            the output is its source.
        changed: sentences that the system changes.
        sentence: the explanation in words.
    """

    below: tuple[str, ...]
    systems: int
    percentiles: Floats
    preferred: Floats
    changed: int
    sentence: str


def explain_score(
    reference: ScoreReference,
    score: float,
    sentences: Floats,
    source_scores: Floats,
    changed: Sequence[bool] | npt.NDArray[np.bool_],
) -> Explanation:
    """Explain the score of one system on N sentences.

    Args:
        reference: a reference of the same metric.
        score: the system's corpus score.
        sentences: float64 (N,), the score of each output.
        source_scores: float64 (N,), the score of each source, left as it is.
        changed: bool (N,), which outputs have other tokens than their source (`changed_sentences`).
    """
    different = np.asarray(changed, dtype=bool)
    below = reference.below(score)
    preferred = np.where(different, reference.preferred(sentences - source_scores), np.nan)
    count, of = int(different.sum()), len(reference.systems)
    if len(below) == of:
        place = f"above all {of} systems of {reference.benchmark}"
    elif below:
        place = (
            f"above {len(below)} of the {of} systems of {reference.benchmark} (the best of these is "
            f"{below[0]})"
        )
    else:
        place = f"below all {of} systems of {reference.benchmark}"
    if count:
        share = float(np.nanmean(preferred))
        opinion = (
            f"it changes {count:,} of {len(different):,} sentences, and human raters there put {share:.0%} "
            f"of such changes above the source ({reference.pairs:,} rated outputs)"
        )
    else:
        opinion = "it changes no sentence"
    return Explanation(
        tuple(below),
        of,
        reference.percentiles(sentences),
        preferred,
        count,
        f"{score:.4f} is {place}; {opinion}.",
    )
