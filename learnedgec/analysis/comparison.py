"""Compare systems with a baseline: the difference, its interval, its significance, and wins and losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from learnedgec.analysis.aggregation import sentence_intervals
from learnedgec.analysis.ranking import SystemRanking, describe_p_value, rank
from learnedgec.data.references import ReferenceRows
from learnedgec.data.sentences import Sentences, Systems
from learnedgec.errors import InputError, UnknownNameError
from learnedgec.metrics.sentinels import is_sentinel
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric
from learnedgec.stats.resampling import FEW, Resampling
from learnedgec.stats.significance import (
    describe_correction,
    describe_tests,
    is_significant,
    sentences_needed,
)
from learnedgec.table import Bold, Column, For, Row, Table
from learnedgec.types import Floats


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
        difference_bounds: interval of the difference, on the same resamples, not corrected for the number of
            comparisons.
        p: the two-sided p-value of the difference; NaN for a single sentence.
        p_adjusted: `p` after Holm's correction for the number of comparisons.
        test: the test that gave `p` (`learnedgec.stats.significance.Test`); empty for NaN.
        wins: sentences on which the system scores above the baseline.
        ties: sentences on which both score the same (`learnedgec.stats.significance`).
        losses: sentences on which the system scores below the baseline.
        differing: sentences, or documents if these are resampled, on which the two systems' statistics
            differ.
        comparisons: number of comparisons for which `p_adjusted` is corrected.
        all_pairs: whether these are all pairs of systems, and not the comparisons with the baseline alone.
        resampling: how intervals and tests were made.
        baseline_bounds: interval of the baseline's score.

    Example: `compare`.
    """

    metric: str
    baseline: str
    system: str
    baseline_score: float
    score: float
    bounds: tuple[float, float]
    difference: float
    difference_bounds: tuple[float, float]
    p: float
    p_adjusted: float
    test: str
    wins: int
    ties: int
    losses: int
    differing: int
    comparisons: int
    all_pairs: bool
    resampling: Resampling
    baseline_bounds: tuple[float, float]

    def __repr__(self) -> str:
        low, high = self.difference_bounds
        interval = "" if np.isnan(low) else f" [{low:+.4f}, {high:+.4f}]"
        return (
            f"BaselineComparison({self.metric}: {self.system} {self.score:.4f}, {self.baseline} "
            f"{self.baseline_score:.4f}, {self.difference:+.4f}{interval}, {self.p_in_words})"
        )

    def table(self) -> Table:
        """Return a row for the baseline and one for the system (`table_of`)."""
        return table_of([self])

    def _repr_html_(self) -> str:
        return self.table().html()

    @property
    def significant(self) -> bool:
        """Whether the corrected p-value is below 1 − level."""
        return is_significant(self.p_adjusted, self.resampling.level)

    @property
    def p_in_words(self) -> str:
        """The corrected p-value as text, such as `p = .012` (`describe_p_value`)."""
        return describe_p_value(self.p, self.p_adjusted, self.test, self.resampling)

    @property
    def correction(self) -> str:
        """The comparisons for which `p_adjusted` is corrected, in words (`describe_correction`)."""
        return describe_correction(self.comparisons, None if self.all_pairs else self.baseline)

    @property
    def sentence(self) -> str:
        """The comparison in one sentence for a paper, with the metric's name but not its parameters."""
        return self.sentence_about(self.metric.partition("(")[0])

    def sentence_about(self, metric: str) -> str:
        """Return the comparison in one sentence for a paper.

        Args:
            metric: the name of the metric in the sentence.
        """
        if np.isnan(self.difference):
            unscored = self.system if np.isnan(self.score) else self.baseline
            return f"{unscored} has no score by {metric}."
        if not self.difference:
            return (
                f"{self.system} and {self.baseline} score the same by {metric} ({self.score:.4f})."
            )
        scores = f"({self.score:.4f} and {self.baseline_score:.4f}; {self._evidence})"
        needed = sentences_needed(1, self.resampling.level)
        if self.differing < needed:
            return (
                f"{self.system} and {self.baseline} cannot be told apart by {metric}, because they differ on "
                f"only {self.differing} of {self._units}, and a significant difference needs {needed} "
                f"{scores}."
            )
        if not self.significant:
            return f"{self.system} and {self.baseline} cannot be told apart by {metric} {scores}."
        scores = scores.replace(" and ", " against ", 1)
        return f"{self.system} {self.verdict} {self.baseline} by {metric} {scores}."

    @property
    def verdict(self) -> str:
        """The result in a few words, which the baseline's name completes."""
        if np.isnan(self.difference):
            return "cannot be compared with"
        if not self.difference:
            return "scores the same as"
        if not self.significant:
            return "cannot be told apart from"
        comparative = "higher" if self.difference > 0 else "lower"
        if is_sentinel(self.metric):
            return f"has a {comparative} value than"
        return f"scores {comparative} than"

    def failure(self, metric: str, margin: float = 0.0) -> str:
        """Return why this comparison stops a release: the system has no score or is worse; else nothing.

        Args:
            metric: the name of the metric in the sentence.
            margin: a significant difference of at most this much is no reason.
        """
        if np.isnan(self.difference):
            return self.sentence_about(metric)
        if not self.significant or self.difference >= -margin:
            return ""
        allowed = f"; the margin is {margin:g}" if margin else ""
        return (
            f"{self.system} is significantly worse than {self.baseline} by {metric} "
            f"({self.difference:+.4f}, {self.p_in_words}{self.correction}{allowed})."
        )

    @property
    def _units(self) -> str:
        return self.resampling.counted(self.wins + self.ties + self.losses)

    @property
    def _evidence(self) -> str:
        """The difference with its interval and the test, as far as they exist."""
        low, high = self.difference_bounds
        parts = [f"difference {self.difference:+.4f}"]
        if not np.isnan(low):
            uncorrected = "uncorrected " if self.comparisons > 1 else ""
            parts.append(
                f"{uncorrected}{100 * self.resampling.level:g}% CI [{low:+.4f}, {high:+.4f}]"
            )
        if self.test:
            drawn = f" with {self.resampling.resamples:,} resamples"
            draws = "" if self.test == "exact-permutation" else drawn
            test = f"{describe_tests([self.test])} over {self._units}{draws}"
            parts += [f"{self.p_in_words}{self.correction}", test]
        return ", ".join(parts)


def table_of(
    comparisons: Sequence[BaselineComparison],
    conclusions: Sequence[str] = (),
    signatures: Mapping[str, str] | None = None,
) -> Table:
    """Return a row for each system, after the baseline's by the same metric, whose difference is empty.

    Readers see in bold the scores that are significantly above the baseline's, except sentinels' scores.

    Args:
        comparisons: comparisons with one baseline, those by one metric beside each other.
        conclusions: a sentence about each comparison, for programs; by default, `sentence`.
        signatures: metric -> the signature of its scores, to which each row adds its test.
    """
    sentences = conclusions or [each.sentence for each in comparisons]
    rows: list[dict[str, Any]] = []
    for each, sentence in zip(comparisons, sentences, strict=True):
        named = {"metric": each.metric, "baseline": each.baseline}
        if not rows or rows[-1]["metric"] != each.metric:
            low, high = each.baseline_bounds
            row = {"system": each.baseline, "score": each.baseline_score, "low": low, "high": high}
            rows.append({**named, **row})
        (low, high), (difference_low, difference_high) = each.bounds, each.difference_bounds
        rows.append(
            {
                **named,
                "system": each.system,
                "score": each.score,
                "low": low,
                "high": high,
                "difference": each.difference,
                "difference_low": difference_low,
                "difference_high": difference_high,
                "p": each.p,
                "p_adjusted": each.p_adjusted,
                "test": each.test or None,
                "wins": each.wins,
                "ties": each.ties,
                "losses": each.losses,
                "differing": each.differing,
                "comparisons": each.comparisons,
                "significant": each.significant,
                "conclusion": sentence,
            }
        )
        if signatures:
            test = f"|test:{each.test}" if each.test else ""
            rows[-1]["signature"] = f"{signatures[each.metric]}{test}|{each.resampling}"
    resampling = comparisons[0].resampling

    def in_words(key: str) -> Callable[[Row], str]:
        def show(row: Row) -> str:
            if "p" not in row:
                return "–"
            words = describe_p_value(row["p"], row[key], row["test"] or "", resampling)
            return words.removeprefix("p ").removeprefix("= ")

        return show

    columns = [
        Column("metric", varying=True),
        Column("baseline", audience=For.DATA),
        Column("system"),
        Column("score", show=_score_cell),
        Column("low", audience=For.DATA),
        Column("high", audience=For.DATA),
        Column("difference", "Δ", show=_difference_cell),
        Column("difference_low", audience=For.DATA),
        Column("difference_high", audience=For.DATA),
        Column("interval", show=_interval_cell, audience=For.READERS),
        Column("p", show=in_words("p")),
        Column(
            "p_adjusted",
            show=in_words("p_adjusted"),
            audience=For.ALL if comparisons[0].comparisons > 1 else For.DATA,
        ),
        Column("test", show=_test_cell, varying=True),
        Column("win/tie/loss", show=_wins_cell, audience=For.READERS),
        *(
            Column(key, audience=For.DATA)
            for key in (
                *("wins", "ties", "losses", "differing", "comparisons"),
                *("significant", "conclusion", "signature"),
            )
        ),
    ]
    title = (
        f"Differences from {comparisons[0].baseline}, with {100 * resampling.level:g}% intervals"
    )
    return Table(columns, rows, title=title, groups=("metric",), note=" ".join(sentences))


def _score_cell(row: Row) -> float:
    better = row.get("significant") and row["difference"] > 0 and not is_sentinel(row["metric"])
    return Bold(row["score"]) if better else float(row["score"])


def _difference_cell(row: Row) -> str:
    difference = row.get("difference", math.nan)
    return "–" if math.isnan(difference) else f"{difference:+.4f}"


def _interval_cell(row: Row) -> str:
    low = row.get("difference_low", math.nan)
    return "–" if math.isnan(low) else f"[{low:+.4f}, {row['difference_high']:+.4f}]"


def _test_cell(row: Row) -> str | None:
    return describe_tests([row["test"]]) if row.get("test") else None


def _wins_cell(row: Row) -> str:
    return f"{row['wins']}/{row['ties']}/{row['losses']}" if "wins" in row else "–"


def compare(
    metric: AnyMetric,
    sources: Sentences,
    systems: Systems,
    references: ReferenceRows | None = None,
    *,
    baseline: str,
    resampling: Resampling = Resampling(),
    runtime: Runtime = Runtime(),
) -> list[BaselineComparison]:
    """Score systems with a metric and compare every other system with the baseline, in the order given.

    P-values are corrected for these comparisons; `comparisons_with` takes a ranking's p-values of all pairs.

    Args:
        metric: a metric's name such as `gleu` or `m2(beta=1.0)`, or a `Metric`.
        sources: N texts, one sentence each, tokens separated by spaces: any sequence of `str`.
        systems: each system's N texts, by the system's name.
        references: each sentence's texts, `[[references of a sentence], …]`, or `References`, which may
            hold gold edits; `None` for metrics that need none.
        baseline: name of one of the systems.
        resampling: how intervals and tests are made.
        runtime: how to run.

    Raises:
        BadNameError: no metric has this name, or it lacks a parameter that the name gives.
        UnknownNameError: no system has the baseline's name.
        InputError: the inputs cannot be scored (see `learnedgec.score`) or compared.

    Example:
        >>> systems = {"short": ["a", "b c", "d"], "long": ["a b c", "d e f g", "d"]}
        >>> comparison, = compare("length", ["a"] * 3, systems, baseline="short")
        >>> comparison.system, round(comparison.difference, 3)
        ('long', 1.333)
    """
    ranking = rank(
        metric,
        sources,
        systems,
        references,
        baseline=baseline,
        resampling=resampling,
        runtime=runtime,
    )
    return comparisons_with(baseline, ranking)


def comparisons_with(baseline: str, ranking: SystemRanking) -> list[BaselineComparison]:
    """Return the comparison of every other system of a ranking with the baseline, in the order given.

    P-values are corrected for the comparisons that the ranking has: those with its baseline, or all pairs.

    Source: Koehn, "Statistical Significance Tests for Machine Translation Evaluation" (EMNLP 2004), in
    the centred form of Riezler and Maxwell (2005); Holm (1979) for several systems.

    Args:
        baseline: name of one of the systems.
        ranking: the ranking of all systems.

    Raises:
        UnknownNameError: no system has the baseline's name.
        InputError: there is no other system.

    Example:
        >>> from learnedgec import rank
        >>> systems = {"short": ["a", "b c", "d"], "long": ["a b c", "d e f g", "d"]}
        >>> comparison, = comparisons_with("short", rank("length", ["a"] * 3, systems))
        >>> round(comparison.difference, 3), comparison.wins, comparison.ties, comparison.losses
        (1.333, 2, 1, 0)
    """
    systems = ranking.systems
    if baseline not in systems:
        raise UnknownNameError("system", baseline, systems)
    if len(systems) < 2:
        raise InputError(f"there is no system beside the baseline {baseline}; give at least one.")
    base = systems.index(baseline)
    return [_compared(ranking, number, base) for number in range(len(systems)) if number != base]


def _compared(ranking: SystemRanking, number: int, base: int) -> BaselineComparison:
    """Return the comparison of one system of a ranking with the baseline."""
    score, baseline_score = ranking.scores[[number, base]].tolist()
    wins, losses = (
        round(ranking.wins[pair] * ranking.sentences) for pair in ((number, base), (base, number))
    )
    return BaselineComparison(
        metric=ranking.metric,
        baseline=ranking.systems[base],
        system=ranking.systems[number],
        baseline_score=baseline_score,
        score=score,
        bounds=_bounds(ranking.intervals[number]),
        difference=score - baseline_score,
        difference_bounds=_difference_bounds(ranking, number, base),
        p=float(ranking.p[number, base]),
        p_adjusted=float(ranking.p_adjusted[number, base]),
        test=str(ranking.tests[number, base]),
        wins=wins,
        ties=ranking.sentences - wins - losses,
        losses=losses,
        differing=int(ranking.differing[number, base]),
        comparisons=ranking.comparisons,
        all_pairs=ranking.baseline is None,
        resampling=ranking.resampling,
        baseline_bounds=_bounds(ranking.intervals[base]),
    )


def _bounds(interval: Floats) -> tuple[float, float]:
    low, high = interval.tolist()
    return low, high


def _difference_bounds(ranking: SystemRanking, number: int, base: int) -> tuple[float, float]:
    """Return the interval of a difference; it holds 0 where a permutation of few sentences allows it."""
    differences, level = (
        ranking.resampled[:, number] - ranking.resampled[:, base],
        ranking.resampling.level,
    )
    units = ranking.resampling.size(ranking.sentences)
    low, high = sentence_intervals(differences[:, None], units, level)[0].tolist()
    few = ranking.differing[number, base] <= FEW
    if few and not is_significant(ranking.p[number, base], level):
        return min(low, 0.0), max(high, 0.0)
    return low, high
