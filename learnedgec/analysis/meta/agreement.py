"""Agreement of sentence scores with human comparisons and ratings of outputs, and human scores of systems.

Comparisons are counted per sentence first, so a bootstrap over sentences is one matrix product. Ratings are
correlated in two ways. `pooled` correlates all rated outputs at once, and so also rewards a metric that knows
which *sentences* are easy. `grouped` is the mean correlation of the outputs of one source, so only the choice
of the better output counts.
"""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from learnedgec._version import __version__
from learnedgec.analysis.aggregation import expected_wins
from learnedgec.data.benchmarks.base import Benchmark, Comparisons
from learnedgec.errors import InputError, UnknownNameError
from learnedgec.runtime.files import key_of
from learnedgec.runtime.runtime import Runtime
from learnedgec.runtime.store import Store
from learnedgec.stats.correlation import correlate, one_sided_p_values
from learnedgec.stats.resampling import Resampling, intervals, intervals_of_shares, quotient
from learnedgec.stats.significance import outcomes
from learnedgec.stats.skills import rate_judgements
from learnedgec.types import Floats, Indices

Ties = Literal["symmetric", "official", "excluded"]
Grouping = Literal["pooled", "grouped"]
SegmentCorrelation = Literal["pearson", "spearman", "kendall"]


# Differences of scores that are closer than this share of the largest score are equal.
_EQUAL = 1e-12


@dataclass(frozen=True, slots=True)
class Agreement:
    """Counts, per sentence, of the comparisons that a metric orders as the annotator did, or does not.

    Human ties do not count. Each attribute is float64 (N,).

    Attributes:
        concordant: the number of comparisons in which the metric prefers the same output.
        discordant: the number of comparisons in which it prefers the other output.
        tied: the number of comparisons in which it scores both equally.
    """

    concordant: Floats
    discordant: Floats
    tied: Floats

    @property
    def count(self) -> int:
        """The number of comparisons."""
        return int((self.concordant + self.discordant + self.tied).sum())

    @property
    def sentences(self) -> int:
        """The number of sentences that have comparisons."""
        return int((self._all > 0).sum())

    @property
    def accuracy(self) -> float:
        """The share of comparisons with the same preference, concordant/all; a tie is wrong."""
        return float(self.accuracies(np.ones((1, len(self.tied))))[0])

    @property
    def kendall(self) -> float:
        """Kendall's τ over comparisons: (concordant − discordant)/all; a constant metric has 0."""
        return float(self.kendalls(np.ones((1, len(self.tied))))[0])

    def accuracies(self, draws: Floats) -> Floats:
        """Return the accuracy on each resample, (B,), from the number of draws of each sentence, (B, N)."""
        return quotient(draws @ self.concordant, draws @ self._all)

    def kendalls(self, draws: Floats) -> Floats:
        """Return τ on each resample, like `accuracies`."""
        return quotient(draws @ (self.concordant - self.discordant), draws @ self._all)

    @property
    def _all(self) -> Floats:
        return self.concordant + self.discordant + self.tied


def agreement(scores: Floats, comparisons: Comparisons, ties: Ties = "symmetric") -> Agreement:
    """Return how a metric's sentence scores agree with human comparisons.

    A metric's tie is neither concordant nor discordant with `symmetric` ties. With `official` ties it means
    that the system listed first loses, as in SEEDA's script, so that the result depends on the order of the
    systems and a constant metric has τ = .096 there. With `excluded` ties such comparisons do not count.

    Source: Kobayashi et al., "Revisiting Meta-evaluation for Grammatical Error Correction" (TACL 2024).

    Args:
        scores: (S, N), the score of each sentence of each system, in the order of `comparisons.systems`.
        comparisons: the human comparisons; each annotation counts.
        ties: the treatment of the metric's ties.

    Example:
        >>> judged = Comparisons(("a", "b"), *np.array([[0, 1], [0, 0], [1, 1], [1, -1]]))
        >>> agreement(np.array([[0.9, 0.5], [0.1, 0.5]]), judged).accuracy
        0.5
    """
    comparisons = without_ties(comparisons)
    if ties == "excluded":
        comparisons = select(comparisons, preferences(scores, comparisons) != 0)
    product = preferences(scores, comparisons, ties) * comparisons.outcome
    return Agreement(
        *(_count_by_sentence(comparisons, product == value, scores) for value in (1, -1, 0))
    )


def preferences(scores: Floats, comparisons: Comparisons, ties: Ties = "symmetric") -> Floats:
    """Return which output of each comparison the metric prefers: 1 the first, -1 the second, 0 none.

    Args:
        scores: (…, S, N).
        comparisons: C comparisons.
        ties: as for `agreement`.

    Returns:
        float64 (…, C).

    Raises:
        UnknownNameError: there is no such treatment of ties.
    """
    if ties not in get_args(Ties):
        raise UnknownNameError("treatment of ties", ties, get_args(Ties))
    preference = outcomes(*_compared(scores, comparisons))
    if ties == "official":
        listed_first = np.where(comparisons.first < comparisons.second, -1.0, 1.0)
        preference = np.where(preference == 0, listed_first, preference)
    return preference


def without_ties(comparisons: Comparisons) -> Comparisons:
    """Return only the comparisons that are not ties."""
    return select(comparisons, comparisons.outcome != 0)


def at_equal_counts(comparisons: Comparisons, counts: Floats) -> Comparisons:
    """Return only the comparisons of outputs with equal counts, such as numbers of edits.

    A metric that only counts edits is right no more often than by chance on these.

    Args:
        comparisons: the human comparisons.
        counts: (S, N), in the order of `comparisons.systems`.
    """
    return select(comparisons, outcomes(*_compared(counts, comparisons)) == 0)


def tie_threshold(scores: Floats, comparisons: Comparisons) -> float:
    """Return ε, the smallest threshold of ties with which the metric agrees best with the human comparisons.

    Scores tie if they differ by at most ε. It is NaN if there are no comparisons. Differences that are equal
    but for their last bits, 1e-12 of the largest score, are on one side of ε, so that the unit of the scores
    does not matter.

    Args:
        scores: (S, N), in the order of `comparisons.systems`.
        comparisons: the human comparisons, ties included.
    """
    if not len(comparisons):
        return float("nan")
    difference = _differences(scores, comparisons)
    # A larger ε gains human ties and loses concordant comparisons.
    gained = comparisons.outcome == 0
    lost = np.sign(difference) * comparisons.outcome > 0
    distance = np.append(np.abs(difference), 0.0)
    order = np.argsort(distance)
    candidates = distance[order]
    gains = np.cumsum(np.append(gained.astype(int) - lost, 0)[order])
    largest = np.abs(scores[np.isfinite(scores)]).max(initial=0.0)
    with np.errstate(invalid="ignore"):
        last = np.append(np.diff(candidates) > _EQUAL * largest, True)
    return float(candidates[last][np.argmax(gains[last])])


def agreement_with_ties(scores: Floats, comparisons: Comparisons, threshold: float) -> Agreement:
    """Return the agreement on better, worse *and tied* outputs, with ties of the metric up to a threshold.

    With the threshold of `tie_threshold` its accuracy is the tie-calibrated one. Unlike the plain accuracy,
    it rewards a metric for recognising equally good outputs, and does not favour metrics whose scores are
    never equal. Every comparison is concordant or discordant here.

    Source: Deutsch et al., "Ties Matter: Meta-Evaluating Modern Metrics with Pairwise Accuracy and
    Tie Calibration" (EMNLP 2023). Systems with the same output count as a human tie.

    Args:
        scores: (S, N), in the order of `comparisons.systems`.
        comparisons: the human comparisons, ties included.
        threshold: ε.
    """
    difference = _differences(scores, comparisons)
    preference = np.where(np.abs(difference) <= threshold, 0, np.sign(difference))
    right = preference == comparisons.outcome
    return Agreement(
        _count_by_sentence(comparisons, right, scores),
        _count_by_sentence(comparisons, ~right, scores),
        np.zeros(scores.shape[1]),
    )


def _count_by_sentence(
    comparisons: Comparisons, marked: npt.NDArray[np.bool_], scores: Floats
) -> Floats:
    """Return the number of marked comparisons of each sentence, float64 (N,)."""
    counts = np.bincount(comparisons.sentence[marked], minlength=scores.shape[1])
    return counts.astype(np.float64)


def _differences(scores: Floats, comparisons: Comparisons) -> Floats:
    """Return, per comparison, the first output's score minus the second's; 0 where they tie."""
    first, second = _compared(scores, comparisons)
    return np.where(outcomes(first, second) == 0, 0.0, first - second)


def _compared(scores: Floats, comparisons: Comparisons) -> tuple[Floats, Floats]:
    """Return, per comparison, the scores of the first output and of the second."""
    return (
        scores[..., comparisons.first, comparisons.sentence],
        scores[..., comparisons.second, comparisons.sentence],
    )


def select(comparisons: Comparisons, marked: npt.NDArray[np.bool_]) -> Comparisons:
    """Return the marked comparisons."""
    _, *columns = (field.name for field in dataclasses.fields(comparisons))
    selected = {column: getattr(comparisons, column)[marked] for column in columns}
    return dataclasses.replace(comparisons, **selected)


def human_wins(comparisons: Comparisons, sentences: int) -> tuple[Floats, Floats]:
    """Return wins and ties per sentence, each float64 (N, S, S).

    `wins[n, a, b]` is the number of annotators who preferred a to b on sentence n; `ties` is symmetric.
    """
    size = len(comparisons.systems)
    wins, ties = np.zeros((2, sentences, size, size))
    for counts, outcome in ((wins, 1), (wins.swapaxes(1, 2), -1), (ties, 0)):
        selected = select(comparisons, comparisons.outcome == outcome)
        np.add.at(counts, (selected.sentence, selected.first, selected.second), 1)
    return wins, ties + ties.swapaxes(1, 2)


# -- ratings of outputs ----------------------------------------------------------------------------


def segment_correlation(
    kind: SegmentCorrelation, scores: Floats, ratings: Floats, grouping: Grouping = "pooled"
) -> tuple[float, int]:
    """Return the correlation of a metric's sentence scores with ratings, and its sample size.

    Args:
        kind: Pearson's r, Spearman's ρ or Kendall's τ-b.
        scores: (S, N), the metric's score of each sentence of each system.
        ratings: (S, N), the human ratings, NaN where missing.
        grouping: `pooled` over all rated outputs, or `grouped`: the mean over sources of the
            correlation among that source's outputs, leaving out sources without two outputs that are rated
            differently. A source whose outputs the metric scores alike counts as 0, so that all metrics are
            judged on the same sources and none gains by abstaining.

    Returns:
        The correlation, and the number of rated outputs (pooled) or sources (grouped).
    """
    if grouping == "grouped":
        values = _correlations_by_source(kind, scores, ratings)
        values = values[~np.isnan(values)]
        return (float(values.mean()) if values.size else float("nan")), values.size
    rated = ~np.isnan(ratings)
    pooled, count = (scores[rated], ratings[rated]), int(rated.sum())
    if kind != "kendall":
        return float(correlate(kind, *pooled)), count
    # scipy computes τ in O(n log n), `correlate` in O(n²).
    from scipy.stats import kendalltau

    return float(kendalltau(*pooled).statistic) if count > 1 else float("nan"), count


def segment_correlations_of_resamples(
    kind: SegmentCorrelation,
    scores: Floats,
    ratings: Floats,
    samples: Indices,
    grouping: Grouping,
) -> Floats:
    """Return the correlation on each of B resamples of the sources, float64 (B,).

    Args:
        kind: the correlation, as for `segment_correlation`.
        scores: (S, N).
        ratings: (S, N).
        samples: int (B, M), each row the source numbers of one resample.
        grouping: `pooled` or `grouped`.
    """
    if grouping == "grouped":
        values = _correlations_by_source(kind, scores, ratings)[samples]
        return quotient(np.nansum(values, axis=1), (~np.isnan(values)).sum(axis=1))
    return np.array(
        [segment_correlation(kind, scores[:, rows], ratings[:, rows])[0] for rows in samples]
    )


def _correlations_by_source(kind: SegmentCorrelation, scores: Floats, ratings: Floats) -> Floats:
    """Return the correlation among each source's outputs, (N,); it is NaN where all are rated alike."""
    correlations = np.full(scores.shape[1], np.nan)
    rated = ~np.isnan(ratings)
    # Sources with the same number of rated outputs are computed together.
    counts = rated.sum(axis=0)
    for count in np.unique(counts[counts > 1]):
        sources = np.flatnonzero(counts == count)
        score, rating = (
            values[:, sources].T[rated[:, sources].T].reshape(-1, count)
            for values in (scores, ratings)
        )
        abstains = (np.ptp(score, axis=1) == 0) & (np.ptp(rating, axis=1) > 0)
        correlations[sources] = np.where(abstains, 0.0, correlate(kind, score, rating))
    return correlations


# -- human scores of systems -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HumanScores:
    """Human scores of the S systems under evaluation.

    Attributes:
        name: `EW`, `TS`, a rated dimension or another published score.
        scores: float64 (S,), the published scores if there are any.
        resampled: float64 (B, S), the scores on resamples of the sentences. A resample without a judgement of
            some system has NaN. If only published scores are known, every resample has those.
        p_values: float64 (pairs i < j,), one-sided p-values that the first is preferred; `None` if only
            published scores are known.
        ratings: float64 (S, N), the ratings behind the scores, or `None`.
        compared: int (S,), the number of sentences on which each system was compared, if the scores are
            shares of wins.
        common: float64 (S,), the mean ratings of the sentences on which all systems were rated, NaN if there
            are none; `None` if all systems were rated on the same sentences.
    """

    name: str
    scores: Floats
    resampled: Floats
    p_values: Floats | None = None
    ratings: Floats | None = None
    compared: Indices | None = None
    common: Floats | None = None

    def intervals(self, level: float) -> Floats:
        """Return the intervals of the scores, float64 (S, 2)."""
        if self.compared is None:
            return intervals(self.resampled, level)
        return intervals_of_shares(self.scores, self.resampled, self.compared, level)


def default_human(benchmark: Benchmark) -> list[str]:
    """Return the names of the human scores that a benchmark is evaluated against by default.

    The default is TrueSkill if that is published (as in Kobayashi et al. 2024), else expected wins if systems
    were ranked, else every rated dimension, else every published score.
    """
    if "TS" in benchmark.official:
        return ["TS"]
    if benchmark.rankings:
        return ["EW"]
    return list(benchmark.ratings or benchmark.official)


def judged(benchmark: Benchmark, name: str) -> Benchmark:
    """Return the benchmark with only the systems that have a human score of this name.

    Args:
        benchmark: the benchmark.
        name: `EW` (expected wins) or `TS` (TrueSkill) where systems were ranked, a rated dimension, or
            a published score; `mean` denotes the only dimension of a benchmark.

    Raises:
        UnknownNameError: the benchmark has no such score.
        InputError: no system has such a score.
    """
    covered: list[set[str]] = []
    if name in benchmark.official:
        covered.append(set(benchmark.official[name]))
    dimension = rated_dimension(benchmark, name)
    if is_of_rankings(benchmark, name):
        covered.append(set(benchmark.ranked_systems))
    elif dimension:
        columns = benchmark.ratings[dimension].items()
        covered.append({system for system, column in columns if not np.isnan(column).all()})
    if not covered:
        names = {*benchmark.official, *benchmark.ratings}
        names |= {"EW", "TS"} if benchmark.rankings else set()
        raise UnknownNameError(f"human score of {benchmark.name}", name, names)
    judged_systems = set.intersection(*covered)
    selected = [system for system in benchmark.systems if system in judged_systems]
    left_out = [system for system in benchmark.systems if system not in judged_systems]
    if not left_out:
        return benchmark
    if not selected:
        raise InputError(f"no system of {benchmark.name} has a human score {name}; choose another.")
    notice = f"{', '.join(left_out)}: no human score {name}, left out."
    return dataclasses.replace(benchmark.select(selected), notices=(*benchmark.notices, notice))


def human_scores(
    benchmark: Benchmark,
    name: str,
    draws: Floats,
    *,
    runs: int = 1000,
    seed: int = 0,
    runtime: Runtime = Runtime(),
) -> HumanScores:
    """Return a human score of each system, with its resamples.

    Args:
        benchmark: a benchmark whose systems all have that score, as returned by `judged`.
        name: as for `judged`.
        draws: (B, N), the number of times that each of B resamples has drawn each sentence.
        runs: the number of TrueSkill's runs on all sentences, unless TrueSkill is published; the default is
            the number of runs behind published scores. Give 0 if you need only the resamples.
        seed: the seed of TrueSkill's runs and of the permutations for the p-values.
        runtime: its cache stores TrueSkill's runs, which take a while.
    """
    values = benchmark.official.get(name)
    published = None if values is None else np.array([values[s] for s in benchmark.systems])
    dimension = rated_dimension(benchmark, name)
    if is_of_rankings(benchmark, name):
        scores = _from_rankings(benchmark, name, draws, runs, seed, runtime)
    elif dimension:
        scores = _from_ratings(benchmark, name, dimension, draws, seed)
    else:
        assert published is not None
        scores = HumanScores(name, published, np.tile(published, (len(draws), 1)))
    return scores if published is None else dataclasses.replace(scores, scores=published)


def is_of_rankings(benchmark: Benchmark, name: str) -> bool:
    """Return whether a human score is computed from rankings: expected wins or TrueSkill."""
    return name in ("EW", "TS") and bool(benchmark.rankings)


def rated_dimension(benchmark: Benchmark, name: str) -> str:
    """Return the rated dimension that a score's name denotes, or `""`."""
    if name == "mean" and len(benchmark.ratings) == 1:
        return next(iter(benchmark.ratings))
    return name if name in benchmark.ratings else ""


def _from_rankings(
    benchmark: Benchmark, name: str, draws: Floats, runs: int, seed: int, runtime: Runtime
) -> HumanScores:
    """Compute expected wins or TrueSkill from the judgements of all systems, as published scores are.

    Unpublished TrueSkill scores are the mean of `runs`; each resample has one run.
    """
    # Every choice of systems under evaluation finds the same runs in the cache, because these are sorted.
    ranked = sorted(benchmark.ranked_systems)
    wins, ties = human_wins(benchmark.comparisons(ranked), len(benchmark.sources))
    resampled_wins, resampled_ties = (
        np.tensordot(draws, counts, axes=1) for counts in (wins, ties)
    )
    complete = (resampled_wins + resampled_wins.swapaxes(1, 2) > 0).any(axis=2).all(axis=1)
    resampled = np.full((len(draws), len(ranked)), np.nan)
    scores = np.zeros(len(ranked))
    if name == "EW":
        scores = expected_wins(wins.sum(axis=0))
        resampled[complete] = expected_wins(resampled_wins[complete])
    else:
        if runs and name not in benchmark.official:
            scores = _rate(wins.sum(axis=0), ties.sum(axis=0), runs, seed, runtime).mean(axis=0)
        if complete.any():
            counts = resampled_wins[complete], resampled_ties[complete]
            resampled[complete] = _rate(*counts, int(complete.sum()), seed, runtime)
    evaluated = np.array([ranked.index(system) for system in benchmark.systems])
    first, second = (evaluated[index] for index in np.triu_indices(len(evaluated), 1))
    differences = wins[:, first, second] - wins[:, second, first]
    p_values = one_sided_p_values(differences, Resampling(len(draws), seed=seed))
    met = (wins + wins.swapaxes(1, 2)).any(axis=2).sum(axis=0)
    compared = met[evaluated] if name == "EW" else None
    return HumanScores(
        name, scores[evaluated], resampled[:, evaluated], p_values, compared=compared
    )


SHIPPED = Path(__file__).with_name("trueskill.npz")
"""TrueSkill's runs on SEEDA's and GJG15's judgements with the default `Protocol`, which would take a minute.
The file has skills alone; `scripts/benchmark/human_trueskill.py` writes the file."""


def runs_key(wins: Floats, ties: Floats, runs: int, seed: int) -> str:
    """Return the key of TrueSkill's runs on these counts of judgements; other counts have another one.

    Args:
        wins: how often each system won against each other one, in each run.
        ties: how often they were level.
        runs: number of runs.
        seed: the seed of the runs.
    """
    counts = hashlib.sha256(wins.tobytes() + ties.tobytes()).hexdigest()
    return key_of(f"rate_judgements|{wins.shape}|{runs}|{seed}", counts)


def _rate(wins: Floats, ties: Floats, runs: int, seed: int, runtime: Runtime) -> Floats:
    """Return TrueSkill's runs, float64 (runs, S): shipped, from the cache, or made now."""
    key = runs_key(wins, ties, runs, seed)
    with np.load(SHIPPED) as shipped:
        if key in shipped:
            mu: Floats = shipped[key]
            return mu
    key = key_of(key, __version__)
    store = None if runtime.cache_dir is None else Store(runtime.cache_dir)
    if store and (stored := store.load(key)) is not None:
        return stored[0]["mu"]
    mu = rate_judgements(wins, ties, runs=runs, seed=seed, progress=runtime.progress)
    if store:
        store.save(key, {"mu": mu})
    return mu


def _from_ratings(
    benchmark: Benchmark, name: str, dimension: str, draws: Floats, seed: int
) -> HumanScores:
    """Compute each system's mean rating."""
    ratings = np.stack([benchmark.ratings[dimension][system] for system in benchmark.systems])
    rated = ~np.isnan(ratings)
    values, counts = np.where(rated, ratings, 0.0), draws @ rated.T
    resampled = quotient(draws @ values.T, counts)
    first, second = np.triu_indices(len(ratings), 1)
    both = rated[first] & rated[second]
    differences = np.where(both, values[first] - values[second], 0.0).T
    p_values = one_sided_p_values(differences, Resampling(len(draws), seed=seed))
    of_all = rated.all(axis=0)
    common = None
    if (rated != of_all).any():
        common = quotient(values[:, of_all].sum(axis=1), np.full(len(ratings), of_all.sum()))
    means = values.sum(axis=1) / rated.sum(axis=1)
    return HumanScores(name, means, resampled, p_values, ratings, common=common)
