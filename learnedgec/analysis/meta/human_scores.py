"""Human scores of a benchmark's systems, with their uncertainty."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from learnedgec._version import __version__
from learnedgec.analysis.aggregation import expected_wins
from learnedgec.analysis.meta.agreement import human_wins
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.errors import InputError, UnknownNameError
from learnedgec.runtime.files import key_of
from learnedgec.runtime.store import Store
from learnedgec.stats.correlation import one_sided_p_values
from learnedgec.stats.significance import quotient
from learnedgec.stats.skills import rate_judgements
from learnedgec.types import Floats


@dataclass(frozen=True, slots=True)
class HumanScores:
    """Human scores of the S systems under evaluation.

    Attributes:
        name: `EW`, `TS`, a rated dimension or another published score.
        scores: float64 (S,), the published scores if there are any.
        many: float64 (B, S), the scores on resamples of the sentences. A resample without a judgement of some
            system has NaN; if only scores are known, every resample has these.
        p_values: float64 (pairs i < j,), one-sided p-values that the first is preferred; `None` if only
            scores are known.
        ratings: float64 (S, N), the ratings behind the scores, or `None`.
    """

    name: str
    scores: Floats
    many: Floats
    p_values: Floats | None = None
    ratings: Floats | None = None


def default_human(benchmark: Benchmark) -> list[str]:
    """Return the names of the human scores that a benchmark is evaluated against by default.

    It is TrueSkill if that is published (as in Kobayashi et al. 2024), else expected wins if systems were
    ranked, else every rated dimension, else every published score.
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
    dimension = _dimension(benchmark, name)
    if _is_of_rankings(benchmark, name):
        covered.append(set(benchmark.ranked_systems))
    elif dimension:
        columns = benchmark.ratings[dimension].items()
        covered.append({system for system, column in columns if not np.isnan(column).all()})
    if not covered:
        names = {*benchmark.official, *benchmark.ratings}
        names |= {"EW", "TS"} if benchmark.rankings else set()
        raise UnknownNameError(f"human score of {benchmark.name}", name, names)
    judged_systems = set.intersection(*covered)
    chosen = [system for system in benchmark.systems if system in judged_systems]
    left_out = [system for system in benchmark.systems if system not in judged_systems]
    if not left_out:
        return benchmark
    if not chosen:
        raise InputError(f"no system of {benchmark.name} has a human score {name}; choose another.")
    notice = f"{', '.join(left_out)}: no human score {name}, left out."
    return dataclasses.replace(benchmark.select(chosen), notices=(*benchmark.notices, notice))


def human_scores(
    benchmark: Benchmark,
    name: str,
    drawn: Floats,
    *,
    runs: int = 1000,
    seed: int = 0,
    cache_dir: str | None = None,
    progress: bool = False,
) -> HumanScores:
    """Return a human score of each system, with its resamples.

    Args:
        benchmark: a benchmark whose systems all have that score, as returned by `judged`.
        name: as for `judged`.
        drawn: (B, N), the number of times that each of B resamples has drawn each sentence.
        runs: the number of TrueSkill's runs on all sentences if it is not published; by default, that of
            published scores. It is 0 if only the resamples are needed.
        seed: the seed of TrueSkill's runs and of the permutations for the p-values.
        cache_dir: folder in which TrueSkill's runs, which take a while, are cached; `None` for no cache.
        progress: show a bar for them on stderr.
    """
    values = benchmark.official.get(name)
    published = None if values is None else np.array([values[s] for s in benchmark.systems])
    dimension = _dimension(benchmark, name)
    if _is_of_rankings(benchmark, name):
        rate = partial(_rate, seed=seed, cache_dir=cache_dir, progress=progress)
        scores = _from_rankings(benchmark, name, drawn, seed, rate, runs)
    elif dimension:
        scores = _from_ratings(benchmark, name, dimension, drawn, seed)
    else:
        assert published is not None
        many = np.broadcast_to(published, (len(drawn), len(published)))
        scores = HumanScores(name, published, many)
    return scores if published is None else dataclasses.replace(scores, scores=published)


def _is_of_rankings(benchmark: Benchmark, name: str) -> bool:
    return name in ("EW", "TS") and bool(benchmark.rankings)


def _dimension(benchmark: Benchmark, name: str) -> str:
    """Return the rated dimension that a score's name denotes, or `""`."""
    if name == "mean" and len(benchmark.ratings) == 1:
        return next(iter(benchmark.ratings))
    return name if name in benchmark.ratings else ""


def _from_rankings(
    benchmark: Benchmark,
    name: str,
    drawn: Floats,
    seed: int,
    rate: Callable[..., Floats],
    runs: int,
) -> HumanScores:
    """Compute expected wins or TrueSkill from the judgements of all systems, as published scores are.

    Unpublished TrueSkill scores are the mean of `runs`; each resample has one run.
    """
    # Sorted by name, all choices of systems under evaluation share one computation.
    ranked = sorted(benchmark.ranked_systems)
    wins, ties = human_wins(benchmark.comparisons(ranked), len(benchmark.sources))
    many_wins, many_ties = (np.tensordot(drawn, counts, axes=1) for counts in (wins, ties))
    played = (many_wins + many_wins.swapaxes(1, 2) > 0).any(axis=2).all(axis=1)
    many = np.full((len(drawn), len(ranked)), np.nan)
    scores = np.zeros(len(ranked))
    if name == "EW":
        scores = expected_wins(wins.sum(axis=0))
        many[played] = expected_wins(many_wins[played])
    else:
        if runs and name not in benchmark.official:
            scores = rate(wins.sum(axis=0), ties.sum(axis=0), runs=runs).mean(axis=0)
        if played.any():
            many[played] = rate(many_wins[played], many_ties[played], runs=int(played.sum()))
    chosen = np.array([ranked.index(system) for system in benchmark.systems])
    first, second = (chosen[index] for index in np.triu_indices(len(chosen), 1))
    differences = wins[:, first, second] - wins[:, second, first]
    p_values = one_sided_p_values(differences, count=len(drawn), seed=seed)
    return HumanScores(name, scores[chosen], many[:, chosen], p_values)


def _rate(
    wins: Floats, ties: Floats, *, runs: int, seed: int, cache_dir: str | None, progress: bool
) -> Floats:
    """Return TrueSkill's runs, float64 (runs, S), from the cache if possible."""
    counts = hashlib.sha256(wins.tobytes() + ties.tobytes()).hexdigest()
    key = key_of(f"rate_judgements|{wins.shape}|{runs}|{seed}|{__version__}", counts)
    if cache_dir is not None and (stored := Store(cache_dir).load(key)) is not None:
        return stored[0]["mu"]
    mu = rate_judgements(wins, ties, runs=runs, seed=seed, progress=progress)
    if cache_dir is not None:
        Store(cache_dir).save(key, {"mu": mu})
    return mu


def _from_ratings(
    benchmark: Benchmark, name: str, dimension: str, drawn: Floats, seed: int
) -> HumanScores:
    """Compute each system's mean rating."""
    ratings = np.stack([benchmark.ratings[dimension][system] for system in benchmark.systems])
    rated = ~np.isnan(ratings)
    values, counts = np.where(rated, ratings, 0.0), drawn @ rated.T
    many = quotient(drawn @ values.T, counts)
    first, second = np.triu_indices(len(ratings), 1)
    both = rated[first] & rated[second]
    differences = np.where(both, values[first] - values[second], 0.0).T
    p_values = one_sided_p_values(differences, count=len(drawn), seed=seed)
    return HumanScores(name, values.sum(axis=1) / rated.sum(axis=1), many, p_values, ratings)
