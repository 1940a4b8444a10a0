"""Compare systems with a baseline: the difference, its interval, its significance, and wins and losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from learnedgec.errors import InputError, UnknownNameError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.statistics import Statistics
from learnedgec.stats.outcomes import outcomes
from learnedgec.stats.resampling import interval, resample
from learnedgec.stats.significance import (
    enough_resamples,
    holm,
    is_significant,
    paired_bootstrap,
)
from learnedgec.types import Floats

__all__ = ["BaselineComparison", "compare_systems", "format_p_value"]


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """One system compared with the baseline, by one metric.

    Attributes:
        metric: the metric's label.
        baseline: name of the baseline.
        system: name of the system.
        baseline_score: the baseline's corpus score.
        score: the system's corpus score.
        bounds: interval of the system's score, by bootstrap over sentences.
        difference: `score` − `baseline_score`.
        difference_bounds: interval of the difference, on the same resamples; of this difference alone, not
            corrected for the number of systems as `adjusted` is.
        p_value: two-sided, of the difference, by paired bootstrap; at least 1/(resamples + 1).
        adjusted: the same after Holm's correction for the number of systems.
        wins: sentences on which the system scores above the baseline.
        ties: sentences on which both score the same (`learnedgec.stats.outcomes`).
        losses: sentences on which the system scores below the baseline.
        comparisons: number of systems compared with the baseline, for which `adjusted` is corrected.
        resamples: number of resamples.
        level: of the intervals.
        best: whether no system scores significantly higher: the one with the highest score, and those whose
            difference from it is not significant, after Holm's correction for the number of the others.
        baseline_best: whether the same holds for the baseline.
        baseline_bounds: interval of the baseline's score.
    """

    metric: str
    baseline: str
    system: str
    baseline_score: float
    score: float
    bounds: tuple[float, float]
    difference: float
    difference_bounds: tuple[float, float]
    p_value: float
    adjusted: float
    wins: int
    ties: int
    losses: int
    comparisons: int
    resamples: int
    level: float
    best: bool
    baseline_best: bool
    baseline_bounds: tuple[float, float]

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below 1 − level."""
        return is_significant(self.adjusted, self.level)

    @property
    def p(self) -> str:
        """The corrected p-value in words; `≤` if no resample was as extreme, so that more may lower it."""
        at_floor = self.p_value <= 1 / (self.resamples + 1) + 1e-12
        return format_p_value(self.adjusted, bound=at_floor)

    @property
    def sentence(self) -> str:
        """The comparison in one sentence for a paper, with the metric's name but not its parameters."""
        return self.sentence_about(self.metric.partition("(")[0])

    def sentence_about(self, metric: str) -> str:
        """Return the comparison in one sentence for a paper.

        Args:
            metric: the name of the metric in the sentence.
        """
        low, high = self.difference_bounds
        count = self.wins + self.ties + self.losses
        several = self.comparisons > 1
        corrected = f" after Holm's correction for {self.comparisons} systems" if several else ""
        evidence = (
            f"difference {self.difference:+.4f}, {'uncorrected ' if several else ''}{self.level:.0%} CI "
            f"[{low:+.4f}, {high:+.4f}], {self.p}{corrected}, paired bootstrap over {count:,} sentences with "
            f"{self.resamples:,} resamples"
        )
        if not self.difference:
            return (
                f"{self.system} and {self.baseline} score the same by {metric} ({self.score:.4f})."
            )
        if not self.significant:
            return (
                f"{self.system} and {self.baseline} cannot be told apart by {metric} "
                f"({self.score:.4f} and {self.baseline_score:.4f}; {evidence})."
            )
        return (
            f"{self.system} scores {'higher' if self.difference > 0 else 'lower'} than {self.baseline} by "
            f"{metric} ({self.score:.4f} against {self.baseline_score:.4f}; {evidence})."
        )


def compare_systems(
    metric: Metric,
    statistics: Mapping[str, Statistics],
    baseline: str,
    *,
    resamples: int | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> list[BaselineComparison]:
    """Compare every other system with the baseline, in the order given.

    Source: Koehn, "Statistical Significance Tests for Machine Translation Evaluation" (EMNLP 2004), in
    the centred form of Riezler and Maxwell (2005); Holm (1979) for several systems.

    Args:
        metric: the metric that computed the statistics.
        statistics: by system, all of the same N sentences, as `statistics_of_systems` returns them.
        baseline: name of one of the systems.
        resamples: bootstrap resamples of the sentences; all systems share them. By default 1,000, or more
            where there are so many systems that no difference could be significant (`enough_resamples`).
        level: of the intervals.
        seed: of the random generator.

    Raises:
        UnknownNameError: no system has the baseline's name.
        InputError: there is no other system, or too few resamples.

    Example:
        >>> from learnedgec import load_metric
        >>> metric = load_metric("length")
        >>> systems = {"short": ["a", "b c", "d"], "long": ["a b c", "d e f g", "d"]}
        >>> statistics = metric.statistics_of_systems(["a"] * 3, systems)
        >>> comparison, = compare_systems(metric, statistics, "short")
        >>> round(comparison.difference, 3), comparison.wins, comparison.ties, comparison.losses
        (1.333, 2, 1, 0)
    """
    if baseline not in statistics:
        raise UnknownNameError("system", baseline, statistics)
    if len(statistics) < 2:
        raise InputError(f"there is no system beside the baseline {baseline}; give at least one.")
    if (resamples is not None and resamples < 1) or not 0 < level < 1:
        raise InputError(
            f"resamples is {resamples} and level {level}; give at least one resample and a level "
            "between 0 and 1."
        )
    if resamples is None:
        resamples = enough_resamples(len(statistics) - 1, level)
    samples = resample(len(statistics[baseline]), resamples, seed)
    scores = {name: metric.aggregate(rows) for name, rows in statistics.items()}
    many = {name: metric.aggregate_many(rows, samples) for name, rows in statistics.items()}
    sentences = {name: metric.sentence_scores(rows) for name, rows in statistics.items()}

    def tests(base: str, others: Sequence[str]) -> tuple[Floats, Floats]:
        """Return the p-value of each other system's difference from one, and after correction."""
        p_values = np.array(
            [
                paired_bootstrap(scores[name] - scores[base], many[name] - many[base])
                for name in others
            ]
        )
        return p_values, holm(p_values)

    highest = max(scores, key=scores.__getitem__)
    rest = [name for name in statistics if name != highest]
    _, corrected = tests(highest, rest)
    best = {highest} | {
        name
        for name, adjusted in zip(rest, corrected, strict=True)
        if not is_significant(adjusted, level)
    }
    others = [name for name in statistics if name != baseline]
    results = {name: outcomes(sentences[name], sentences[baseline]) for name in others}
    p_values, corrected = tests(baseline, others)
    return [
        BaselineComparison(
            metric=metric.label,
            baseline=baseline,
            system=name,
            baseline_score=scores[baseline],
            score=scores[name],
            bounds=interval(many[name], level),
            difference=scores[name] - scores[baseline],
            difference_bounds=interval(many[name] - many[baseline], level),
            p_value=float(p_value),
            adjusted=float(adjusted),
            wins=int((results[name] > 0).sum()),
            ties=int((results[name] == 0).sum()),
            losses=int((results[name] < 0).sum()),
            comparisons=len(others),
            resamples=resamples,
            level=level,
            best=name in best,
            baseline_best=baseline in best,
            baseline_bounds=interval(many[baseline], level),
        )
        for name, p_value, adjusted in zip(others, p_values, corrected, strict=True)
    ]


def format_p_value(p_value: float, *, bound: bool = False) -> str:
    """Return a p-value as papers write it; `bound` says that it is at most this.

    Example:
        >>> format_p_value(0.00099, bound=True), format_p_value(0.0314), format_p_value(1.0)
        ('p ≤ .001', 'p = .031', 'p = 1')
    """
    if p_value >= 0.9995:
        return "p = 1"
    if p_value < 0.0001:
        return "p < .0001"
    number = f"{p_value:.{3 if p_value >= 0.0005 else 4}f}".lstrip("0")
    return f"p {'≤' if bound else '='} {number}"
