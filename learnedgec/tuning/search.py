"""The search for a metric's parameters: trials that take milliseconds, held-out folds, and comparisons.

`MetricTrials` computes the metric's statistics once, so that a trial takes milliseconds. The objective on the
tuning data overestimates the gain. `cross_validate` therefore repeats the search on a part of the judgements
and evaluates its choice on the rest, which are of other sentences or of another system. `compare` evaluates
the tuned metric on another benchmark, next to the given one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import optuna
from jsonargparse.typing import PositiveInt
from optuna.samplers import BaseSampler
from optuna.trial import TrialState

from learnedgec.analysis.meta.evaluation import benchmark_statistics
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.errors import ConfigError, InputError, LeakageError, OutputError, check_choice
from learnedgec.metrics.bound import BoundMetric, NamedMetric
from learnedgec.metrics.contract import Metric, Statistics
from learnedgec.metrics.tuned import tuned_file, tuned_name
from learnedgec.runtime.files import PathLike, check_writable
from learnedgec.runtime.runtime import track
from learnedgec.stats.resampling import (
    Estimate,
    Resampling,
    interval_of_correlation,
    interval_over_sentences,
    resample,
)
from learnedgec.tuning.objective import Goal, Target, check_tuning_data
from learnedgec.tuning.space import Space, read_space
from learnedgec.types import Floats, Indices

# The number of metrics whose statistics stay in memory, if trials need statistics of their own.
_MAX_IN_MEMORY = 32


Validation = Literal["k-fold", "systems", "none"]


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """The settings of a search.

    Attributes:
        trials: number of trials.
        space: search space of each parameter: simplex, {low, high[, log]} or a list of values (default:
            {weights: simplex}).
        validation: the judgements to hold out when the search is repeated for evaluation: `k-fold` for those
            of a fold of the sentences, `systems` for the judgements of each system in turn, or `none`.
        folds: number of folds over sentences.
        tuned_on_test: allow test data of meta-evaluation (SEEDA and GJG15 as a whole), and mark the result.

    Raises:
        ConfigError: there is no such validation, or no trial.

    Example:
        >>> SearchPlan(50, folds=3).sentences_needed
        9
    """

    trials: PositiveInt = 200
    space: dict[str, Any] | None = None
    validation: Validation = "k-fold"
    folds: int = 5
    tuned_on_test: bool = False

    def __post_init__(self) -> None:
        check_choice("validation", self.validation, get_args(Validation))
        if self.trials < 1:
            raise ConfigError(f"trials is {self.trials}; a number of at least 1 was expected.")

    @property
    def sentences_needed(self) -> int:
        """The number of held-out sentences that an interval of the gain needs (docs/lab/levels.md)."""
        return max(8, 3 * self.folds) if self.validation == "k-fold" else 8


@dataclass(frozen=True)
class Task:
    """A search that can begin, with checked options and without any loaded model.

    Attributes:
        metric: the name of the metric's kind, such as `ensemble`.
        benchmarks: the tuning data, with only the systems that were judged; each counts alike.
        goal: the goal to maximise.
        plan: the settings of the search.
        others: name -> a benchmark on which the tuned metric is compared with the given one.
        tuned_on_test: whether a benchmark, or what a member was tuned on before, is test data.
        caveats: sentences about the benchmarks.
        name: the name of the tuned metric.
        file: the file for the tuned metric; `None` to write none.
    """

    metric: str
    benchmarks: Sequence[Benchmark]
    goal: Goal
    plan: SearchPlan
    others: Mapping[str, Benchmark]
    tuned_on_test: bool
    caveats: Sequence[str]
    name: str = ""
    file: Path | None = None

    def saved_as(
        self,
        name: str | None,
        typed: str = "",
        *,
        output: PathLike | None = None,
        overwrite: bool = False,
    ) -> Task:
        """Return the task with the name of the tuned metric and its file.

        Args:
            name: the name that the user chose, if any.
            typed: the name of the tuning data as the user wrote it; by default, the benchmarks' own names.
            output: the folder of the file, or `None` to write none.
            overwrite: whether an existing file is replaced.

        Raises:
            ConfigError: the name cannot be used.
            OutputError: the file exists or cannot be written.
        """
        objective = self.goal.objective
        name = tuned_name(
            self.metric,
            typed or "+".join(benchmark.name for benchmark in self.benchmarks),
            name or "",
            objective=objective if objective != Goal().objective else "",
            on_test=self.tuned_on_test,
        )
        file = None if output is None else tuned_file(Path(output), name)
        if file is not None:
            check_writable(file)
            if file.is_file() and not overwrite:
                raise OutputError(
                    f"{file} exists; choose another name, or replace it with ",
                    hint="overwrite=True.",
                    flag="--overwrite.",
                )
        return replace(self, name=name, file=file)

    @property
    def label(self) -> str:
        """The names of the tuning data."""
        return " + ".join(benchmark.name for benchmark in self.benchmarks)

    @property
    def notices(self) -> list[str]:
        """Caveats before the search: other objectives, and sentences shared with the tuning data."""
        notices = []
        for name, other in self.others.items():
            if (objective := self.goal.on(other).objective) != self.goal.objective:
                notices.append(
                    f"{name}: compared by {objective}, since its outputs were ranked, not rated."
                )
            tuned_on = {source for benchmark in self.benchmarks for source in benchmark.sources}
            if shared := len(tuned_on & set(other.sources)):
                notices.append(
                    f"{name}: {shared} of its {len(other.sources):,} sentences are in "
                    f"{self.label}, so its results are no evidence of a gain; tables mark them "
                    "with *."
                )
        return notices


def check_tuning(
    metric: NamedMetric,
    benchmarks: Sequence[Benchmark],
    goal: Goal = Goal(),
    plan: SearchPlan = SearchPlan(),
    others: Mapping[str, Benchmark] | None = None,
) -> Task:
    """Return a search that can begin, or raise what `tune` raises.

    Args:
        metric: the metric to tune, not bound yet.
        benchmarks: the tuning data.
        goal: the goal to maximise.
        plan: the settings of the search.
        others: name -> benchmark to compare on.

    Raises:
        ConfigError: the space or the plan cannot be used.
    """
    on_test, several = False, len(benchmarks) > 1
    caveats, judged = [], []
    for benchmark in benchmarks:
        own = goal.on(benchmark) if several else goal
        try:
            if caveat := check_tuning_data(benchmark, own):
                caveats.append(f"{benchmark.name}: {caveat}")
        except LeakageError:
            if not plan.tuned_on_test:
                raise
            on_test = True
        judged.append(own.judged(benchmark))
        check_validation(own, judged[-1], plan)
        # Expected wins replace TrueSkill, which takes long and needs the same judgements.
        human = None if own.human == "TS" else own.human
        Target(dataclasses.replace(own, human=human), judged[-1])
    if several and plan.validation == "systems":
        raise ConfigError(
            "validation: systems of several benchmarks differ; hold out sentences (k-fold)."
        )
    read_space(metric.metric, plan.space)
    marked = on_test or metric.tuned_on_test
    return Task(metric.metric.name, judged, goal, plan, others or {}, marked, caveats)


@dataclass(frozen=True, slots=True)
class TriedMetric:
    """A metric with parameters that were tried.

    Attributes:
        metric: the metric.
        parameters: the tuned parameters.
        value: the objective on the tuning data; NaN if it does not exist.
        number: the number of the trial; -1 for a metric that was evaluated outside the study.
    """

    metric: Metric
    parameters: Mapping[str, Any]
    value: float
    number: int = -1


class MetricTrials:
    """A metric on benchmarks, with other parameters at each trial; statistics are computed once."""

    def __init__(self, bound: BoundMetric, benchmarks: Sequence[Benchmark]) -> None:
        """Compute nothing yet.

        Args:
            bound: the metric with its given parameters.
            benchmarks: the human judgements.
        """
        self.bound, self.metric, self.benchmarks = bound, bound.metric, benchmarks
        self._held: dict[Metric, list[list[Statistics]]] = {}

    def statistics(self, metric: Metric) -> list[list[Statistics]]:
        """Return the statistics of each benchmark's systems, from memory if another metric shares them."""
        key = metric.for_statistics
        if key not in self._held:
            if len(self._held) >= _MAX_IN_MEMORY:
                del self._held[next(iter(self._held))]
            bound = self.bound.replaced(metric)
            self._held[key] = [benchmark_statistics(bound, data) for data in self.benchmarks]
        return self._held[key]

    def values(self, metric: Metric, targets: Sequence[Target]) -> Floats:
        """Return the mean objective of the metric with other parameters, on each sample of the targets.

        Args:
            metric: the metric.
            targets: the target on each benchmark, all with the same number of samples.
        """
        pairs = zip(targets, self.statistics(metric), strict=True)
        means: Floats = np.mean([target.values(metric, rows) for target, rows in pairs], axis=0)
        return means

    def tried(self, parameters: Mapping[str, Any], targets: Sequence[Target]) -> TriedMetric:
        """Return the metric with some parameters, and its value on the targets' first sample."""
        metric = dataclasses.replace(self.metric, **parameters)
        return TriedMetric(metric, parameters, float(self.values(metric, targets)[0]))


def sampler_of(seed: int, number: int) -> BaseSampler:
    """Return the sampler of one trial: tree-structured Parzen estimators.

    Its seed comes from the study's seed and the trial's number, so that a study that was stopped continues as
    if it had never stopped.
    """
    seed = (seed * 1_000_003 + number) % 2**32
    # With `constant_liar`, processes keep away from the points that others are trying.
    return optuna.samplers.TPESampler(seed=seed, multivariate=True, constant_liar=True)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence optuna's announcements, its advice, and its warnings about experimental features."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(level)


def run_trials(
    trials_of: MetricTrials,
    targets: Sequence[Target],
    space: Space,
    trials: int,
    *,
    seed: int = 0,
    progress: bool = False,
) -> list[TriedMetric]:
    """Return the trials of a search.

    Args:
        trials_of: the metric on the benchmarks.
        targets: the target to maximise on each of them.
        space: the ranges of the tuned parameters.
        trials: number of trials.
        seed: the seed of the trials.
        progress: show a bar on stderr.

    Raises:
        InputError: the objective does not exist for any of the parameters tried.
    """
    tried = []
    with quiet():
        study = optuna.create_study(direction="maximize", pruner=optuna.pruners.NopPruner())
        for point in space.starts():
            study.enqueue_trial(point, skip_if_exists=True)
        for number in track(range(trials), "trials", show=progress):
            study.sampler = sampler_of(seed, number)
            trial = study.ask()
            made = trials_of.tried(space.suggest(trial), targets)
            tried.append(dataclasses.replace(made, number=number))
            if math.isnan(made.value):
                study.tell(trial, state=TrialState.PRUNED)
            else:
                study.tell(trial, made.value)
    if all(math.isnan(trial.value) for trial in tried):
        names = " + ".join(benchmark.name for benchmark in trials_of.benchmarks)
        raise InputError(
            f"{trials_of.metric.name} has no {targets[0].goal.objective} on {names} with any "
            "of the parameters tried: it gives everything compared the same score, or all human judgements "
            "are equal. Choose another metric or benchmark."
        )
    return tried


def best_trial(trials: Sequence[TriedMetric]) -> TriedMetric:
    """Return the trial with the largest value, the first of equals."""
    return max(trials, key=lambda trial: -math.inf if math.isnan(trial.value) else trial.value)


# -- held-out judgements ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fold:
    """One search on a part of the judgements.

    Attributes:
        parameters: the chosen parameters.
        value: the objective on the judgements that the search used.
        held_out: the objective on the other judgements; NaN if it does not exist there.
        given: the objective of the given metric on the other judgements.
        system: the system whose judgements were held out; empty if judgements of sentences were.
    """

    parameters: Mapping[str, Any]
    value: float
    held_out: float
    given: float
    system: str = ""


def check_validation(goal: Goal, benchmark: Benchmark, plan: SearchPlan) -> None:
    """Raise `ConfigError` unless the judgements can be held out as the plan says.

    Args:
        goal: the goal of the search.
        benchmark: the human judgements.
        plan: the settings of the search, with its validation.
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
        if size < 8:
            few = f"{size} sentence{'s are' if size > 1 else ' is'} too few to tune on"
            raise ConfigError(f"folds: {few}; judge {plan.sentences_needed} or more.")
        raise ConfigError(f"folds: {plan.folds} of {size} sentences; give 2 or more, up to {size}.")


def cross_validate(
    trials_of: MetricTrials,
    goal: Goal,
    space: Space,
    plan: SearchPlan,
    resampling: Resampling = Resampling(),
) -> tuple[list[Fold], Estimate, int]:
    """Search on parts of the judgements; return folds, mean gain, and number of sentences with judgements.

    Parts without a value for any trial are left out. The interval of the gain is by bootstrap over the
    held-out sentences, and over the systems if these are held out; below `SearchPlan.sentences_needed`, there
    is none. It is paired: both metrics are evaluated on the same resamples. It does not include the variation
    between searches.

    Args:
        trials_of: the metric on the benchmarks.
        goal: the goal to maximise; on several benchmarks, as `Goal.on` reads it for each.
        space: the ranges of the tuned parameters.
        plan: the settings of the search, with its validation.
        resampling: how the held-out judgements are drawn for the interval; its seed is also the seed of the
            folds and the trials.
    """
    benchmarks, seed = trials_of.benchmarks, resampling.seed
    goals = [goal.on(data) for data in benchmarks] if len(benchmarks) > 1 else [goal]
    judged = list(zip(goals, benchmarks, strict=True))
    folds, gains, counted = [], [], []
    for number, splits in enumerate(
        zip(*(_splits(data, plan, seed) for data in benchmarks), strict=True)
    ):
        system = splits[0][0]
        search, test = [], []
        for (own, data), (_, searched, held_out) in zip(judged, splits, strict=True):
            # The first sample has all held-out sentences; the others are resamples of it. Systems share their
            # resamples; each fold of sentences has draws of its own.
            numbers = resample(len(held_out), resampling.other(0 if system else number))
            samples = held_out[np.vstack([np.arange(len(held_out)), numbers])]
            searching, testing = (
                Target(own, data, drawn, seed=seed) for drawn in (searched[None], samples)
            )
            search.append(searching.without(system) if system else searching)
            test.append(testing.only(system) if system else testing)
        try:
            best = best_trial(run_trials(trials_of, search, space, plan.trials, seed=seed))
        except InputError:
            continue
        tuned, given = (
            trials_of.values(metric, test) for metric in (best.metric, trials_of.metric)
        )
        folds.append(Fold(best.parameters, best.value, float(tuned[0]), float(given[0]), system))
        if not math.isnan(tuned[0] - given[0]):
            gains.append(tuned - given)
            # Sentences of different benchmarks have different numbers.
            counts = (
                place * 10**9 + np.intersect1d(target.counted, held_out)
                for place, (target, (_, _, held_out)) in enumerate(zip(test, splits, strict=True))
            )
            counted.append(np.concatenate([*counts]))
    if not gains:
        return folds, Estimate(math.nan, math.nan, math.nan), 0
    return folds, *_mean_gain(gains, counted, plan, resampling)


def _mean_gain(
    gains: Sequence[Floats], counted: Sequence[Indices], plan: SearchPlan, resampling: Resampling
) -> tuple[Estimate, int]:
    """Return the mean gain, from each fold's (1 + B,), and the number of sentences with judgements."""
    whole, resampled = np.split(np.array(gains), [1], axis=1)
    if plan.validation == "systems":
        draws = Resampling(resampled.shape[1], seed=resampling.seed + 1)
        systems = resample(len(gains), draws)
        resampled = np.take_along_axis(resampled, systems.T, axis=0)
    with np.errstate(invalid="ignore"):
        means = np.nansum(resampled, axis=0) / (~np.isnan(resampled)).sum(axis=0)
    sentences = len(np.unique(np.concatenate(counted)))
    # Folds that keep the given parameters add nothing to the variation.
    parts = [len(part) for part, gain in zip(counted, gains, strict=True) if np.nanstd(gain)]
    parts = [sentences] if plan.validation == "systems" else parts
    enough = sentences >= plan.sentences_needed
    bounds = interval_over_sentences(means, parts if enough else [], resampling.level)
    return Estimate(float(whole.mean()), *bounds), sentences


def _splits(
    benchmark: Benchmark, plan: SearchPlan, seed: int = 0
) -> list[tuple[str, Indices, Indices]]:
    """Return each fold's held-out system, if any, the sentences of the search, and the held-out ones."""
    everything = np.arange(len(benchmark.sources))
    if plan.validation == "systems":
        return [(system, everything, everything) for system in benchmark.systems]
    if plan.validation == "none":
        return []
    shuffled = np.random.default_rng(seed).permutation(everything)
    parts = np.array_split(shuffled, plan.folds)
    return [("", np.setdiff1d(everything, part), np.sort(part)) for part in parts]


# -- another benchmark -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Comparison:
    """The value of a metric on another benchmark than the tuning data, and the gain of the tuned metric.

    Attributes:
        label: `tuned`, `given` or `uniform`.
        value: the objective, with its interval by bootstrap over sentences.
        gain: the tuned metric's value minus this value, with its interval on the same resamples.
        sentences: the number of sentences whose judgements count.
    """

    label: str
    value: Estimate
    gain: Estimate
    sentences: int


def compare(
    bound: BoundMetric,
    metrics: Mapping[str, Metric],
    goal: Goal,
    benchmark: Benchmark,
    resampling: Resampling = Resampling(),
) -> list[Comparison]:
    """Evaluate a tuned metric on another benchmark, next to the given metric and equal weights.

    Args:
        bound: the given metric.
        metrics: label -> the metric with some parameters; one is labelled `tuned`.
        goal: the goal of the search, whose objective is evaluated (`Goal.on`).
        benchmark: another benchmark, such as `gjg15:test90` after `gjg15:dev10`.
        resampling: how sentences are drawn for intervals; all metrics share the draws.

    Raises:
        InputError: the benchmark lacks the judgements that the goal needs.
    """
    goal = goal.on(benchmark)
    judged = goal.judged(benchmark)
    trials_of = MetricTrials(bound, [judged])
    draws = resample(len(benchmark.sources), resampling)
    whole, parts = (
        Target(goal, judged, samples, seed=resampling.seed, cache_dir=bound.runtime.cache_dir)
        for samples in (None, draws)
    )
    values = {
        label: float(trials_of.values(metric, [whole])[0]) for label, metric in metrics.items()
    }
    resampled_values = {
        label: trials_of.values(metric, [parts]) for label, metric in metrics.items()
    }
    sentences = len(whole.counted)
    rows = []
    for label, resampled in resampled_values.items():
        if goal.of_sentences or goal.of_segments:
            bounds = interval_over_sentences(resampled, [sentences], resampling.level)
        else:
            bounds = interval_of_correlation(values[label], resampled, resampling.level)
        gains = interval_over_sentences(
            resampled_values["tuned"] - resampled, [sentences], resampling.level
        )
        gain = Estimate(values["tuned"] - values[label], *gains)
        rows.append(Comparison(label, Estimate(values[label], *bounds), gain, sentences))
    return rows
