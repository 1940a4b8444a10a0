"""Rankings of systems by a metric, with intervals, significance, clusters and a win matrix.

`rank` starts from texts, and `rank_systems` from statistics. `aggregation` computes the systems' scores.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from learnedgec.analysis.aggregation import (
    ABOUT_ORDER,
    Aggregation,
    differences_after_swaps,
    differing,
    resampled_system_scores,
    sentence_intervals,
    sentence_scores,
    system_scores,
)
from learnedgec.data.references import ReferenceRows
from learnedgec.data.sentences import Sentences, Systems
from learnedgec.errors import InputError, UnknownNameError
from learnedgec.metrics.bound import BoundMetric, NamedMetric
from learnedgec.metrics.contract import Statistics, warn_of_doubts
from learnedgec.metrics.sentinels import is_sentinel
from learnedgec.runtime.runtime import Runtime, track
from learnedgec.scoring import AnyMetric, as_named, bind_one, corpus_for
from learnedgec.stats.resampling import FEW, Resampling
from learnedgec.stats.significance import (
    are_enough,
    bootstrap_test,
    describe_correction,
    describe_tests,
    format_p_value,
    holm,
    permutation_test,
    significant,
    too_few_sentences,
    win_counts,
    win_shares,
)
from learnedgec.stats.skills import MODEL, rate_orders
from learnedgec.table import Bold, Column, For, Row, Table, plain
from learnedgec.types import Array, Floats, Indices

if TYPE_CHECKING:
    import pandas


def describe_p_value(p: float, p_adjusted: float, test: str, resampling: Resampling) -> str:
    """Return a corrected p-value in words, with `≤` if more resamples could lower it, and `p –` for NaN.

    Args:
        p: the p-value before the correction.
        p_adjusted: the p-value after the correction.
        test: the test of the pair; only shares of random draws have a lowest value.
        resampling: the number of draws, and the level.
    """
    drawn = test in ("paired-bootstrap", "paired-permutation")
    at_floor = drawn and p <= 1 / (resampling.resamples + 1) + 1e-12
    return format_p_value(float(p_adjusted), resampling.level, bound=bool(at_floor))


# -- ranks and clusters ----------------------------------------------------------------------------

# These explanations are shown with ranks and with clusters.
ABOUT_RANKS = (
    "A system's best rank is 1 plus the number of systems significantly better than it; its worst rank is "
    "the number of all systems minus those significantly worse."
)
ABOUT_CLUSTERS = (
    "Every system of a cluster is significantly better than every system of a later one; the systems within "
    "a cluster cannot all be told apart."
)


def clusters(scores: Floats, better: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return the cluster of each system, int (S,), 1 for the best.

    In order of score, a new cluster begins where every system above is significantly better than every
    system below. With p-values corrected for all pairs, the probability that any boundary separates systems
    that do not differ is at most the level of the tests.

    Args:
        scores: (S,), the systems' scores.
        better: (S, S), whether the row's system is significantly better than the column's.

    Example:
        >>> better = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=bool)
        >>> clusters(np.array([2.0, 1.5, 0.0]), better).tolist()
        [1, 1, 2]
    """
    order = np.argsort(-scores, kind="stable")
    ordered = better[np.ix_(order, order)]
    begins = [bool(place and ordered[:place, place:].all()) for place in range(len(order))]
    cluster = np.empty(len(order), dtype=np.int64)
    cluster[order] = 1 + np.cumsum(begins)
    return cluster


# -- rankings ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SystemRanking:
    """S systems, in the order given, with their scores and the evidence about their order.

    Attributes:
        metric: the metric's label.
        by: the aggregation of sentences to one score.
        systems: the names of the systems.
        scores: float64 (S,), the systems' scores.
        resampled: float64 (B, S), the scores on each resample of the sentences.
        intervals: float64 (S, 2), the intervals of the scores (`sentence_intervals`).
        wins: float64 (S, S), the share of sentences on which the row's system scores above the column's. They
            tie on the share 1 − `wins` − `wins.T` (`learnedgec.stats.significance`).
        p: float64 (S, S), the two-sided p-value of each pair's difference; 1 on the diagonal, and NaN for
            pairs that are not or cannot be compared.
        p_adjusted: float64 (S, S), `p` after Holm's correction for the number of compared pairs.
        tests: str (S, S), the `Test` of each pair; empty where there is no p-value.
        differing: int (S, S), the number of sentences, or documents if these are resampled, on which two
            systems' statistics differ.
        sentences: N, the number of sentences for which every system has a score.
        resampling: how intervals and tests were made.
        baseline: the system with which the others are compared; `None` if all pairs are compared.
        signature: everything on which the ranking depends, on one line.
        spread: float64 (S,), the standard deviation of the scores over orders of TrueSkill's games; `None`
            with other aggregations.

    Example:
        >>> ranking = rank("length", ["a", "b"], {"short": ["a", "b c"], "long": ["a b c", "d e f g"]})
        >>> ranking.scores.tolist(), ranking.order, ranking.wins.tolist()
        ([1.5, 3.5], [1, 0], [[0.0, 0.0], [1.0, 0.0]])
    """

    metric: str
    by: Aggregation
    systems: tuple[str, ...]
    scores: Floats
    resampled: Floats
    intervals: Floats
    wins: Floats
    p: Floats
    p_adjusted: Floats
    tests: Array
    differing: Indices
    sentences: int
    resampling: Resampling
    signature: str
    baseline: str | None = None
    spread: Floats | None = None

    @property
    def comparisons(self) -> int:
        """The number of compared pairs, for which `p_adjusted` is corrected."""
        size = len(self.systems)
        return size - 1 if self.baseline else size * (size - 1) // 2

    @property
    def correction(self) -> str:
        """The comparisons for which p-values are corrected, in words (`describe_correction`)."""
        return describe_correction(self.comparisons, self.baseline)

    @property
    def tests_run(self) -> list[str]:
        """The `Test` of each compared pair."""
        compared = np.triu(self.tests != "", 1)
        return [str(test) for test in self.tests[compared]]

    def p_in_words(self, first: int, other: int) -> str:
        """Return the corrected p-value of two systems' difference in words (`describe_p_value`)."""
        p, p_adjusted = self.p[first, other], self.p_adjusted[first, other]
        return describe_p_value(p, p_adjusted, str(self.tests[first, other]), self.resampling)

    @property
    def too_few(self) -> list[str]:
        """A warning if there are too few sentences (`too_few_sentences`)."""
        drawn = self.resampling
        size, unit = drawn.size(self.sentences), drawn.unit
        return too_few_sentences(self.comparisons, size, drawn.level, unit=unit)

    @property
    def order(self) -> list[int]:
        """The systems' numbers from best to worst; equals stay in the order given."""
        return [int(number) for number in np.argsort(-self.scores, kind="stable")]

    @property
    def better(self) -> npt.NDArray[np.bool_]:
        """Whether the row's system scores significantly higher after Holm's correction, bool (S, S)."""
        higher: npt.NDArray[np.bool_] = self.scores[:, None] > self.scores
        return higher & significant(self.p_adjusted, self.resampling.level)

    @property
    def ranges(self) -> npt.NDArray[np.int64]:
        """The best and the worst rank that the tests leave to each system, int (S, 2), 1 for the best.

        The best rank is 1 plus the number of systems that are significantly better. The worst rank is S minus
        the number of systems that are significantly worse.

        Source: Kocmi et al., "Findings of the 2023 Conference on Machine Translation (WMT23)" (2023).
        """
        better = self.better
        return np.stack([1 + better.sum(axis=0), len(better) - better.sum(axis=1)], axis=1)

    @property
    def cluster(self) -> npt.NDArray[np.int64]:
        """The cluster of each system, int (S,), 1 for the best (`clusters`)."""
        return clusters(self.scores, self.better)

    def beaten(self, number: int) -> list[str]:
        """Return the systems that are significantly worse than the one with this number, best first."""
        worse = self.better[number]
        return [self.systems[other] for other in self.order if worse[other]]

    @property
    def best(self) -> list[int]:
        """The numbers of the best system and of all that are not significantly worse, from best to worst."""
        order = self.order
        worse = self.better[order[0]]
        return [n for n in order if not worse[n] and not np.isnan(self.scores[n])]

    def __repr__(self) -> str:
        names = [self.systems[number] for number in self.order]
        return f"SystemRanking(metric={self.metric!r}, by={self.by!r}, best_first={names})"

    def table(self) -> Table:
        """Return a row for each system, best first: its place, or its difference from the baseline.

        Readers see in bold the scores that no other is significantly better than or, with a baseline, those
        significantly above its score. A sentinel has none, since its highest score is not the best.
        """
        base = self.systems.index(self.baseline) if self.baseline else None
        leading = self.best if base is None else np.flatnonzero(self.better[:, base])
        cluster, ranges, beats = self.cluster, self.ranges, self.better.sum(axis=1)
        rows: list[Row] = []
        for number in self.order:
            low, high = self.intervals[number].tolist()
            row: dict[str, Any] = {"metric": self.metric, "system": self.systems[number]}
            row |= {"score": float(self.scores[number]), "low": low, "high": high}
            if base is None:
                best_rank, worst_rank = ranges[number].tolist()
                row |= {"cluster": int(cluster[number]), "beats": int(beats[number])}
                row |= {"best_rank": best_rank, "worst_rank": worst_rank}
            elif number == base:
                row |= dict.fromkeys(("difference", "p", "p_adjusted", "test"))
            else:
                row["difference"] = float(self.scores[number] - self.scores[base])
                row["p"], row["p_adjusted"] = self.p[number, base], self.p_adjusted[number, base]
                row["test"] = str(self.tests[number, base])
            row["leading"] = number in leading and not is_sentinel(self.metric)
            rows.append({**row, "signature": self.signature})

        def in_words(key: str) -> Callable[[Row], str | None]:
            def show(row: Row) -> str | None:
                if row.get("p") is None:
                    return "–" if "p" in row else None
                words = describe_p_value(row["p"], row[key], row["test"], self.resampling)
                return words.removeprefix("p ").removeprefix("= ")

            return show

        interval = f"{100 * self.resampling.level:g}% interval"
        several = For.ALL if self.comparisons > 1 else For.DATA
        columns = [
            Column("metric", varying=True),
            Column("system"),
            Column("cluster"),
            Column("best_rank", audience=For.DATA),
            Column("worst_rank", audience=For.DATA),
            Column("ranks", show=_ranks_cell, audience=For.READERS),
            Column("score", show=_score_cell),
            Column("low", audience=For.DATA | For.TEXT | For.WIDE),
            Column("high", audience=For.DATA | For.TEXT | For.WIDE),
            Column(interval, show=_interval_cell, audience=For.PAPER),
            Column("beats"),
            Column("difference"),
            Column("p", show=in_words("p")),
            Column("p_adjusted", show=in_words("p_adjusted"), audience=several),
            Column("test", show=_test_cell, varying=True),
            Column("signature", audience=For.DATA),
        ]
        caption = f"{self.metric} by {self.by}"
        return Table(columns, rows, caption=caption, groups=("metric",), note=self.signature)

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON: the rows of `table`, and matrices from best to worst."""
        names = [self.systems[number] for number in self.order]

        def by_name(matrix: npt.NDArray[Any]) -> dict[str, dict[str, Any]]:
            return {
                row: dict(zip(names, matrix[number, self.order], strict=True))
                for row, number in zip(names, self.order, strict=True)
            }

        record: dict[str, Any] = plain(
            {
                "rows": self.table().records(),
                "metric": self.metric,
                "by": self.by,
                "baseline": self.baseline,
                "signature": self.signature,
                "wins": by_name(self.wins),
                "p": by_name(self.p),
                "p_adjusted": by_name(self.p_adjusted),
                "tests": by_name(self.tests),
            }
        )
        return record

    def to_frame(self) -> pandas.DataFrame:
        """Return the rows of `table` as a data frame.

        Raises:
            MissingDependencyError: pandas is not installed.
        """
        return self.table().to_frame()

    def _repr_html_(self) -> str:
        return self.table().html()


def ranks_in_words(best: int, worst: int) -> str:
    """Return the ranks that a system may have, such as `2` or `1–3`."""
    return f"{best}" if best == worst else f"{best}–{worst}"


def _score_cell(row: Row) -> float:
    return Bold(row["score"]) if row["leading"] else float(row["score"])


def _interval_cell(row: Row) -> str:
    return "–" if np.isnan(row["low"]) else f"[{row['low']:.4f}, {row['high']:.4f}]"


def _ranks_cell(row: Row) -> str | None:
    return ranks_in_words(row["best_rank"], row["worst_rank"]) if "best_rank" in row else None


def _test_cell(row: Row) -> str | None:
    return describe_tests([row["test"]]) if row.get("test") else None


def rank(
    metric: AnyMetric,
    sources: Sentences,
    systems: Systems,
    references: ReferenceRows | None = None,
    *,
    baseline: str | None = None,
    by: Aggregation = "mean",
    resampling: Resampling = Resampling(),
    runtime: Runtime = Runtime(),
) -> SystemRanking:
    """Score systems with a metric and rank them, with intervals, significance and clusters.

    Args:
        metric: a metric's name such as `gleu` or `m2(beta=1.0)`, or a `Metric`.
        sources: N texts, one sentence each, tokens separated by spaces: any sequence of `str`.
        systems: each system's N texts, by the system's name.
        references: each sentence's texts, `[[references of a sentence], …]`, or `References`, which may
            hold gold edits; `None` for metrics that need none.
        baseline: the system with which each other one is compared, as by `learnedgec.compare`; by default,
            all pairs are compared.
        by: the aggregation of sentences to one score.
        resampling: how intervals and tests are made.
        runtime: how to run.

    Raises:
        BadNameError: no metric has this name, or it lacks a parameter that the name gives.
        InputError: the inputs cannot be scored (see `learnedgec.score`) or ranked (see `rank_systems`).

    Example:
        >>> systems = {"short": ["a", "b c"], "long": ["a b c", "d e f g"]}
        >>> rank("length", ["a", "b"], systems)
        SystemRanking(metric='length', by='mean', best_first=['long', 'short'])
    """
    bound = bind_one(metric, runtime)
    corpus = corpus_for([bound], sources, systems, references)
    return rank_systems(
        bound,
        bound.compute(corpus),
        baseline=baseline,
        by=by,
        resampling=resampling,
        signature=bound.signature(corpus.references),
    )


def check_ranking(by: Aggregation, resampling: Resampling) -> None:
    """Raise `InputError` if the test is for other scores."""
    if resampling.test == "paired-permutation" and by != "mean":
        raise InputError(
            f"paired-permutation tests corpus scores, not {by}; use paired-bootstrap with it."
        )


def rank_systems(
    metric: AnyMetric,
    statistics: Mapping[str, Statistics],
    *,
    baseline: str | None = None,
    by: Aggregation = "mean",
    resampling: Resampling = Resampling(),
    signature: str = "",
) -> SystemRanking:
    """Rank systems whose statistics are known, with intervals, significance and clusters.

    If the resamples are not enough for so many comparisons (`are_enough`), pairs of systems that are far
    apart are tested in closed form (`far_p_value`).

    Args:
        metric: the metric that computed the statistics, or its name.
        statistics: system -> statistics of the same N sentences, as `BoundMetric.statistics` returns them.
        baseline: as for `rank`, like the following arguments.
        by: the aggregation of sentences to one score.
        resampling: how intervals and tests are made.
        signature: the signature of the metric, to which the settings of the ranking are appended.

    Raises:
        UnknownNameError: no system has the baseline's name, or there is no such aggregation.
        InputError: too few systems, or permutation with another aggregation.

    Example:
        >>> metric = bind_one("length")
        >>> systems = {"short": ["a", "b c"], "long": ["a b c", "d e f g"]}
        >>> ranking = rank_systems(metric, metric.statistics(["a", "b"], systems))
        >>> [ranking.systems[number] for number in ranking.order]
        ['long', 'short']
    """
    named = as_named(metric)
    check_ranking(by, resampling)
    if baseline is not None and baseline not in statistics:
        raise UnknownNameError("system", baseline, statistics)
    value, systems = named.metric, tuple(statistics)
    rows, sentences, kept = _scored(named, list(statistics.values()))
    if resampling.documents:
        resampling.units(len(next(iter(statistics.values()))))  # This checks their number.
        resampling = replace(resampling, documents=[resampling.documents[n] for n in kept.tolist()])
    base = None if baseline is None else systems.index(baseline)
    pairs = [pair for pair in combinations(range(len(systems)), 2) if base in (None, *pair)]
    warn_of_doubts(value, rows)
    size, count = len(rows[0]), len(systems)
    units, drawn_units = resampling.units(size), resampling.size(size)
    differ = np.zeros((count, count), dtype=np.intp)
    for a, b in combinations(range(count), 2):
        differ[a, b] = differ[b, a] = np.unique(units[differing(rows[a], rows[b])]).size
    orders = rate_orders(sentences) if by == "trueskill" else None
    scores = system_scores(value, rows, by) if orders is None else orders.mean(axis=0)
    shown = isinstance(metric, BoundMetric) and metric.runtime.progress
    described = f"{named.label}: resamples of systems" if shown else ""
    resampled = resampled_system_scores(value, rows, resampling, by, description=described)
    enough = are_enough(resampling, len(pairs))

    def test(a: int, b: int) -> tuple[float, str]:
        if drawn_units < 2 or np.isnan(scores[a] - scores[b]):
            return float("nan"), ""
        if differ[a, b] > FEW and resampling.test == "paired-bootstrap":
            drawn = resampled[:, a] - resampled[:, b]
            return bootstrap_test(scores[a] - scores[b], drawn, drawn_units, enough=enough)
        swapped = differences_after_swaps(value, rows, (a, b), by, resampling)
        return permutation_test(swapped, int(differ[a, b]), enough=enough)

    # Pairs that are tested by permutation take most of the time.
    tested = [test(*pair) for pair in track(pairs, f"{named.label}: pairs of systems", show=shown)]
    p_values = np.array([p for p, _ in tested])
    tests = np.full((count, count), "", dtype="U32")
    for (a, b), (_, name) in zip(pairs, tested, strict=True):
        tests[a, b] = tests[b, a] = name
    wins = win_counts(sentences)
    parts = [signature or str(named), f"by:{by}"]
    if by in ABOUT_ORDER:
        listed = "" if by == "trueskill" else f": {' '.join(systems)}"
        parts.append(f"model:{MODEL}|{ABOUT_ORDER[by]}{listed}")
    parts += [] if baseline is None else [f"baseline:{baseline}"]
    named_tests = "+".join(sorted({name for _, name in tested if name}))
    parts += [f"test:{named_tests}"] if named_tests else []
    parts.append(str(resampling))
    return SystemRanking(
        metric=named.label,
        by=by,
        systems=systems,
        scores=scores,
        resampled=resampled,
        intervals=sentence_intervals(
            resampled,
            drawn_units,
            resampling.level,
            shares=scores if by == "expected-wins" else None,
        ),
        wins=win_shares(wins, size - wins - wins.T),
        p=_square(pairs, p_values, count),
        p_adjusted=_square(pairs, holm(p_values), count),
        tests=tests,
        differing=differ,
        sentences=size,
        resampling=resampling,
        signature="|".join(parts),
        baseline=baseline,
        spread=None if orders is None else orders.std(axis=0),
    )


def _scored(
    metric: NamedMetric, statistics: Sequence[Statistics]
) -> tuple[Sequence[Statistics], Floats, Indices]:
    """Return statistics, scores, (S, N), and numbers of the sentences that all systems have a score for.

    Systems without any score do not count. A warning has the number of sentences that are left out.
    """
    sentences = sentence_scores(metric.metric, statistics)
    unscored = np.isnan(sentences)
    left_out: npt.NDArray[np.bool_] = np.logical_or.reduce(unscored[~unscored.all(axis=1)], axis=0)
    if left_out.all():
        raise InputError(
            f"{metric.label} gives no sentence a score for every system; score the systems separately."
        )
    if left_out.any():
        warnings.warn(
            f"{metric.label}: {left_out.sum():,} of {len(left_out):,} sentences have no score for some "
            "system and are left out.",
            stacklevel=3,
        )
    kept = np.flatnonzero(~left_out)
    if left_out.any():
        return [rows.take(kept) for rows in statistics], sentences[:, kept], kept
    return statistics, sentences, kept


def _square(pairs: Sequence[tuple[int, int]], values: Floats, size: int) -> Floats:
    """Return a symmetric matrix with the values of pairs, 1 on the diagonal and NaN elsewhere."""
    matrix = np.where(np.eye(size, dtype=bool), 1.0, np.nan)
    for (first, other), value in zip(pairs, values, strict=True):
        matrix[first, other] = matrix[other, first] = value
    return matrix
