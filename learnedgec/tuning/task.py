"""Tuning of a metric: checks before models are loaded, the search, the comparisons and the file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from learnedgec.analysis.aggregation import Aggregation
from learnedgec.data.benchmarks import expand_benchmarks, load_benchmark
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.sentences import Columns, Rows
from learnedgec.data.tables import as_html
from learnedgec.errors import InputError, OutputError
from learnedgec.metrics.base import Metric
from learnedgec.metrics.bound import BoundMetric, NamedMetric
from learnedgec.metrics.ensemble import about_scale
from learnedgec.metrics.tuned import tuned_file, write_tuned
from learnedgec.runtime.files import PathLike, check_writable, local_path
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, as_named, bind_one, count_shared
from learnedgec.stats.resampling import Estimate
from learnedgec.tuning import search
from learnedgec.tuning.objective import Goal, Objective
from learnedgec.tuning.search import Comparison, Tuning
from learnedgec.tuning.trials import SearchPlan, Validation


@dataclass(frozen=True, repr=False)
class TuningResult:
    """A tuned metric with its gain, and the search that found it.

    Attributes:
        name: the name of the tuned metric, under which every command and `load_metric` find it in
            `checkpoints`.
        file: the file of the tuned metric; `None` if it was not written.
        tuning: the search, with its trials and the values on the tuning data and on held-out folds.
        comparisons: benchmark -> the results of the tuned metric and of the references there.
        shared: benchmark -> number of its sentences that are among the tuning data.

    Example: `tune("ensemble(gleu=0.5, length=0.5)", "mine").metric.score(sources, hypotheses, references)`
    """

    name: str
    file: Path | None
    tuning: Tuning
    comparisons: Mapping[str, Sequence[Comparison]]
    shared: Mapping[str, int]

    @property
    def metric(self) -> Metric:
        """The tuned metric."""
        return self.tuning.best.metric

    @property
    def gain(self) -> Estimate:
        """The gain over the given metric on held-out judgements, with its interval."""
        return self.tuning.gain

    @property
    def history(self) -> list[dict[str, Any]]:
        """The number, value and parameters of each trial."""
        return [
            {"number": trial.number, "value": trial.value, **trial.parameters}
            for trial in self.tuning.trials
        ]

    @property
    def conclusions(self) -> list[str]:
        """Sentences about the expected gain of the tuned metric and the scale of its scores.

        The gain is that on other data, if it was compared on sentences that had no part in the search.
        """
        tuning = self.tuning
        if unseen := [name for name in self.comparisons if not self.shared[name]]:
            return [*map(self._gain_on, unseen), *about_scale(self.name, self.metric)]
        elsewhere = f" on data like {tuning.benchmark}" if self.comparisons else ""
        follows = "" if self.gain.low > 0 else f": expect no gain{elsewhere}"
        gain = (
            f"On held-out judgements of {tuning.benchmark}, the tuned metric's gain over the given one is "
            f"{gain_cell(self.gain)}{follows}."
        )
        count, needed = tuning.held_out_sentences, tuning.plan.sentences_needed
        if tuning.plan.validation == "none":
            return about_scale(self.name, self.metric)
        if count < needed:
            gain = (
                f"The judgements of {tuning.benchmark} are too few to tell whether the tuned metric is "
                f"better: {count} held-out sentences have judgements that count, and {needed} are needed."
            )
        return [gain, *about_scale(self.name, self.metric)]

    def _gain_on(self, benchmark: str) -> str:
        """Return the gain on a benchmark of `comparisons` in a sentence."""
        [given] = [each for each in self.comparisons[benchmark] if each.label == "given"]
        gain = Estimate(given.gain, *given.gain_bounds)
        follows = "" if gain.low > 0 else f": expect no gain on data like {benchmark}"
        return (
            f"On {benchmark}, which had no part in the search, the tuned metric's gain over the given one is "
            f"{gain_cell(gain)}{follows}."
        )

    @property
    def notices(self) -> list[str]:
        """Caveats about the result, one sentence each."""
        tuning = self.tuning
        notices = [f"{tuning.benchmark}: {message}" for message in tuning.notices]
        if tuning.tuned_on_test:
            notices.append(
                f"{self.name} was tuned on test data: its held-out folds are sound evidence there, its other "
                "results are not."
            )
        return notices

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per metric and benchmark: value, held-out value or interval, gain, parameters."""
        tuning = self.tuning
        held_out = {"tuned": tuning.held_out, "given": tuning.given_held_out}
        rows: list[dict[str, Any]] = []
        for label, candidate in tuning.candidates.items():
            mean, deviation = held_out.get(label, (None, None))
            row: dict[str, Any] = {"benchmark": tuning.benchmark, "metric": label}
            row |= {"value": candidate.value, "held_out": mean, "held_out_deviation": deviation}
            gain = _gain_columns(tuning.gain) if label == "given" else {}
            rows.append({**row, **gain, **candidate.parameters})
        for benchmark, comparisons in self.comparisons.items():
            for comparison in comparisons:
                low, high = comparison.bounds
                row = {"benchmark": benchmark, "metric": comparison.label}
                row |= {"value": comparison.value, "low": low, "high": high}
                gain = _gain_columns(Estimate(comparison.gain, *comparison.gain_bounds))
                rows.append({**row, **gain})
        return [
            {"name": self.name, **row, "tuned_here": self.shared[row["benchmark"]]} for row in rows
        ]

    def __repr__(self) -> str:
        held_out, given = self.tuning.held_out[0], self.tuning.given_held_out[0]
        lines = [
            f"{self.name}: {self.metric.label}",
            f"  {self.tuning.goal.objective} on held-out judgements of {self.tuning.benchmark}: "
            f"{held_out:.4f}, given metric {given:.4f}, gain {gain_cell(self.gain)}",
        ]
        for benchmark, comparisons in self.comparisons.items():
            of = {comparison.label: comparison for comparison in comparisons}
            gain = Estimate(of["given"].gain, *of["given"].gain_bounds)
            lines.append(
                f"  on {benchmark}: {of['tuned'].value:.4f}, given metric {of['given'].value:.4f}, gain "
                f"{gain_cell(gain)}"
            )
        return "\n".join([*lines, *(f"  {sentence}" for sentence in self.conclusions)])

    def _repr_html_(self) -> str:
        return as_html(
            self.rows(), caption=self.name, note=" ".join([*self.conclusions, *self.notices])
        )


def gain_cell(gain: Estimate) -> str:
    """Return a gain with its interval, if it has one, in brackets."""
    bounds = "" if math.isnan(gain.low) else f" [{gain.low:+.4f}, {gain.high:+.4f}]"
    return f"{gain.value:+.4f}{bounds}"


def _gain_columns(gain: Estimate) -> dict[str, float]:
    return {"gain": gain.value, "gain_low": gain.low, "gain_high": gain.high}


@dataclass(frozen=True)
class Task:
    """A search that can begin, with checked options and without any loaded model.

    Attributes:
        name: the name of the tuned metric.
        file: the file for the tuned metric; `None` to write none.
        benchmark: the tuning data.
        goal: the goal to maximise.
        plan: the settings of the search.
        others: name -> a benchmark on which the tuned metric is compared with the given one.
        space: parameter -> range, as `read_space` reads it.
        tuned_on_test: whether test data are allowed.
    """

    name: str
    file: Path | None
    benchmark: Benchmark
    goal: Goal
    plan: SearchPlan
    others: Mapping[str, Benchmark]
    space: Mapping[str, Any] | None
    tuned_on_test: bool

    @property
    def notices(self) -> list[str]:
        """Caveats before the search: other objectives, and sentences shared with the tuning data."""
        notices = []
        for name, other in self.others.items():
            if (objective := self.goal.on(other).objective) != self.goal.objective:
                notices.append(
                    f"{name}: compared by {objective}, since its outputs were ranked, not rated."
                )
            if shared := len(set(self.benchmark.sources) & set(other.sources)):
                notices.append(
                    f"{name}: {shared} of its {len(other.sources):,} sentences are in "
                    f"{self.benchmark.name}, so its results are no evidence of a gain; tables mark them "
                    "with *."
                )
        return notices

    def run(
        self,
        metric: BoundMetric,
        *,
        resamples: int | None = None,
        level: float = 0.95,
        runtime: Runtime = Runtime(),
    ) -> TuningResult:
        """Search, compare, and write the file of the tuned metric; arguments are those of `tune`."""
        resamples = resamples or 1000
        tuning = search.tune(
            metric,
            self.benchmark,
            self.goal,
            self.plan,
            space=self.space,
            tuned_on_test=self.tuned_on_test,
            resamples=resamples,
            level=level,
            runtime=runtime,
        )
        comparisons = {
            name: search.compare(
                tuning,
                other,
                resamples=resamples,
                level=level,
                seed=self.plan.seed,
                runtime=runtime,
            )
            for name, other in self.others.items()
        }
        shared = {
            name: count_shared(tuning.sentences, tested.sources)
            for name, tested in {tuning.benchmark: self.benchmark, **self.others}.items()
        }
        if self.file is not None:
            write_tuned(self.file.parent, self.name, tuning.record(comparisons))
        return TuningResult(self.name, self.file, tuning, comparisons, shared)


def check_tuning(
    metric: NamedMetric,
    benchmark: Benchmark,
    goal: Goal,
    plan: SearchPlan,
    *,
    typed: str = "",
    space: Mapping[str, Any] | None = None,
    others: Mapping[str, Benchmark] | None = None,
    name: str | None = None,
    output: PathLike | None = None,
    overwrite: bool = False,
    tuned_on_test: bool = False,
) -> Task:
    """Return a search that can begin, or raise what `tune` raises.

    Args:
        metric: the metric to tune, not bound yet.
        benchmark: the tuning data.
        goal: the goal to maximise.
        plan: the settings of the search.
        typed: the benchmark's name as the user wrote it; by default, its own name.
        others: name -> benchmark to compare on.
        space: see `tune`, as for the following.
        name: see there.
        output: see there.
        overwrite: see there.
        tuned_on_test: see there.

    Raises:
        OutputError: the tuned metric's file exists or cannot be written.
    """
    if name:
        search.check_name(name)
    _, on_test = search.check_task(
        metric, benchmark, goal, plan, space=space, tuned_on_test=tuned_on_test
    )
    marked = on_test or metric.tuned_on_test
    typed = typed or benchmark.name
    name = search.tuned_name(metric, typed, name or "", goal=goal, tuned_on_test=marked)
    file = None if output is None else tuned_file(Path(output), name)
    if file is not None:
        check_writable(file)
        if file.is_file() and not overwrite:
            raise OutputError(
                f"{file} exists; choose another name, or replace it with ",
                hint="overwrite=True.",
                flag="--overwrite.",
            )
    return Task(name, file, benchmark, goal, plan, others or {}, space, tuned_on_test)


def tune(
    metric: AnyMetric,
    benchmark: str | Benchmark | Rows,
    *,
    objective: Objective = "kendall",
    trials: int = 200,
    space: Mapping[str, Any] | None = None,
    compare: Sequence[str | Benchmark | Rows] = (),
    name: str | None = None,
    output: PathLike | None = "checkpoints",
    overwrite: bool = False,
    columns: Columns | None = None,
    human: str | None = None,
    aggregation: Aggregation = "mean",
    validation: Validation = "k-fold",
    folds: int = 5,
    seed: int = 0,
    resamples: int = 1000,
    level: float = 0.95,
    tuned_on_test: bool = False,
    runtime: Runtime = Runtime(),
) -> TuningResult:
    """Find the parameters with which a metric agrees best with human judgements, and save the tuned metric.

    What `learnedgec tune` checks is checked. The value on the tuning data is optimistic, so report the gain
    on held-out judgements, or the value on another benchmark (`compare`).

    Args:
        metric: the metric to tune, or its name.
        benchmark: human judgements: their name (`gmeg:fce`, `seeda-s:dev`, a folder, a file of ratings), or a
            table of outputs (a data frame, a `datasets.Dataset`, a list of its rows) with the columns
            `source`, `hypothesis`, `system` and one for each rated dimension (`human`), or `rank`, from 1,
            the best of a source; or with `source` and `outputs`, and `best`, `worst` or `ranks`.
        objective: the agreement to maximise; see `Goal` for it, `human` and `aggregation`.
        trials: number of trials; see `SearchPlan` for it, `validation`, `folds` and `seed`.
        space: parameter -> search space: `"simplex"`, `{"low": 0, "high": 1}` or a list of values; by
            default, the weights on the simplex.
        compare: further benchmarks, or tables with the same columns, on which the tuned and the given metric
            are compared.
        name: the name of the tuned metric; by default `METRIC@BENCHMARK`, with `+OBJECTIVE` unless it is
            `kendall`.
        output: folder of its file, or `None` to write none.
        overwrite: replace a tuned metric of this name.
        columns: our name of a column -> its name in the table, or several names, one for each judge.
        human: see `objective`.
        aggregation: see `objective`.
        validation: see `trials`.
        folds: see `trials`.
        seed: see `trials`.
        resamples: bootstrap resamples of the sentences.
        level: the level of the intervals.
        tuned_on_test: allow test data of meta-evaluation, and mark the result.
        runtime: how to run.

    Raises:
        LeakageError: the benchmark is test data, and `tuned_on_test` does not say so.
        ConfigError: the space, the name or the plan cannot be used.
        InputError: the benchmark lacks the judgements that the objective needs.
        OutputError: a tuned metric of this name exists.
        UnknownNameError: no metric or benchmark has this name.

    Example:
        >>> tuned = tune("ensemble(length=0.5, random=0.5)", "sample", objective="sentence-accuracy",
        ...              trials=20, folds=2, output=None)
        >>> tuned.name
        'ensemble@sample+sentence-accuracy'
        >>> round(tuned.tuning.held_out[0], 1)
        0.5
    """
    goal = Goal(objective, aggregation, human)
    plan = SearchPlan(trials, seed, validation, folds)
    named = as_named(metric)
    others: dict[str, Benchmark] = {}
    for number, other in enumerate(compare):
        loaded = (
            load_compared(other, columns) if isinstance(other, str) else _loaded(other, columns)
        )
        label = loaded.name if isinstance(other, Benchmark) else f"compare[{number}]"
        others[other if isinstance(other, str) else label] = loaded
    # The type of a table in memory adds nothing to a given name.
    own = "" if isinstance(benchmark, Benchmark) else (name or "").rpartition("@")[2]
    task = check_tuning(
        named,
        _loaded(benchmark, columns),
        goal,
        plan,
        typed=benchmark if isinstance(benchmark, str) else own,
        space=space,
        others=others,
        name=name,
        output=output,
        overwrite=overwrite,
        tuned_on_test=tuned_on_test,
    )
    bound = bind_one(named, runtime)
    return task.run(bound, resamples=resamples, level=level, runtime=runtime)


def load_compared(name: str, columns: Columns | None) -> Benchmark:
    """Return a benchmark to compare on; the columns are those of tables alone."""
    path = local_path(name) or local_path(name.rpartition(":")[0])
    return load_benchmark(name, columns if path and path.is_file() else None)


def _loaded(benchmark: str | Benchmark | Rows, columns: Columns | None = None) -> Benchmark:
    """Return a benchmark, which is loaded if it is given by its name, and made if it is a table."""
    if isinstance(benchmark, Benchmark):
        return benchmark
    if not isinstance(benchmark, str):
        return load_benchmark(benchmark, columns)
    first, *others = expand_benchmarks([benchmark])
    if others:
        raise InputError(
            f"{benchmark} stands for {first} and {', '.join(others)}; name one of them at a time."
        )
    return load_benchmark(first, columns)
