"""How much a search gains on judgements that it has not seen: of other sentences, or of another system.

The search is repeated on a part of the judgements, and its choice is evaluated on the rest.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.errors import ConfigError, InputError
from learnedgec.stats.resampling import Estimate, interval, resample
from learnedgec.tuning.objective import Goal, Target
from learnedgec.tuning.space import Space
from learnedgec.tuning.trials import MetricTrials, SearchPlan, best_trial, run_trials
from learnedgec.types import Indices


@dataclass(frozen=True, slots=True)
class Fold:
    """One search on a part of the judgements.

    Attributes:
        parameters: the chosen parameters.
        value: the objective on the judgements that the search used.
        held_out: the objective on the others; NaN where it does not exist there.
        given: the objective of the given metric on the others.
        system: the system whose judgements were held out; empty where sentences were.
    """

    parameters: Mapping[str, Any]
    value: float
    held_out: float
    given: float
    system: str = ""


def check_validation(goal: Goal, benchmark: Benchmark, plan: SearchPlan) -> None:
    """Raise `ConfigError` unless the judgements can be held out as the plan says.

    Args:
        goal: what is tuned for.
        benchmark: the human judgements.
        plan: how judgements are held out.
    """
    if plan.validation == "systems" and (
        benchmark.anonymous
        or len(benchmark.systems) < 3
        or not goal.objective.startswith(("sentence-", "segment-"))
    ):
        raise ConfigError(
            f"validation: {goal.objective} on {benchmark.name} cannot be evaluated on a system that is left "
            "out; that needs three systems and an objective that begins with sentence- or segment-. Hold "
            "out sentences (k-fold)."
        )
    size = len(benchmark.sources)
    if plan.validation == "k-fold" and not 2 <= plan.folds <= size:
        raise ConfigError(f"folds: {plan.folds} of {size} sentences; give 2 or more, up to {size}.")


def cross_validate(
    trials_of: MetricTrials,
    goal: Goal,
    space: Space,
    plan: SearchPlan,
    *,
    resamples: int = 1000,
    level: float = 0.95,
) -> tuple[list[Fold], Estimate]:
    """Search on parts of the judgements; return the folds, and the mean gain over the given metric.

    Parts without a value for any trial are left out. The interval of the gain is by bootstrap over the
    held-out sentences, and over the systems where these are held out. It is paired: both metrics are
    evaluated on the same resamples. It does not include what another search would have chosen.

    Args:
        trials_of: the metric on the benchmark.
        goal: what is maximised.
        space: what is tuned.
        plan: the settings of the search; `validation` says what is held out.
        resamples: bootstrap resamples of what is held out.
        level: of the interval.
    """
    benchmark, alone = trials_of.benchmark, dataclasses.replace(plan, storage=None)
    folds, gains = [], []
    for system, seen, held_out in _splits(benchmark, plan):
        search = Target(goal, benchmark, seen[None], without=system, seed=plan.seed)
        # The first sample is all that is held out; the others are resamples of it.
        numbers = resample(len(held_out), resamples, plan.seed)
        drawn = held_out[np.vstack([np.arange(len(held_out)), numbers])]
        others = Target(goal, benchmark, drawn, only=system, seed=plan.seed)
        try:
            best = best_trial(run_trials(trials_of, search, space, alone))
        except InputError:
            continue
        tuned, given = (
            trials_of.values(metric, others) for metric in (best.metric, trials_of.metric)
        )
        folds.append(Fold(best.parameters, best.value, float(tuned[0]), float(given[0]), system))
        if not math.isnan(tuned[0] - given[0]):
            gains.append(tuned - given)
    if not gains:
        return folds, Estimate(math.nan, math.nan, math.nan)
    whole, resampled = np.split(np.array(gains), [1], axis=1)
    if plan.validation == "systems":
        systems = resample(len(gains), resamples, plan.seed + 1)
        resampled = np.take_along_axis(resampled, systems.T, axis=0)
    return folds, Estimate(float(whole.mean()), *interval(resampled.mean(axis=0), level))


def _splits(benchmark: Benchmark, plan: SearchPlan) -> list[tuple[str, Indices, Indices]]:
    """Return the system held out, if any, the sentences that a search sees, and those that are held out."""
    everything = np.arange(len(benchmark.sources))
    if plan.validation == "systems":
        return [(system, everything, everything) for system in benchmark.systems]
    if plan.validation == "none":
        return []
    shuffled = np.random.default_rng(plan.seed).permutation(everything)
    parts = np.array_split(shuffled, plan.folds)
    return [("", np.setdiff1d(everything, part), np.sort(part)) for part in parts]
