"""Tuning of a metric: checks before models are loaded, the search, its result and the file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, cast

import numpy as np
import optuna

from learnedgec._version import __version__
from learnedgec.data.benchmarks import expand_benchmarks, load_benchmark
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.catalog.leakage import fingerprint
from learnedgec.data.records import Rows
from learnedgec.metrics.bound import BoundMetric
from learnedgec.metrics.contract import Metric
from learnedgec.metrics.ensemble import Ensemble, about_scale
from learnedgec.metrics.tuned import (
    TUNED_MARK,
    TunedMetric,
    tuned_on,
    write_tuned,
)
from learnedgec.runtime.files import PathLike
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, as_named, bind_one, contamination, count_shared
from learnedgec.stats.resampling import MIN_SENTENCES, Estimate, Resampling
from learnedgec.table import Column, For, Row, Table, plain
from learnedgec.tuning.objective import Goal, Objective, Target
from learnedgec.tuning.search import (
    Comparison,
    Fold,
    MetricTrials,
    SearchPlan,
    Task,
    TriedMetric,
    best_trial,
    check_tuning,
    compare,
    cross_validate,
    run_trials,
)
from learnedgec.tuning.space import Space, read_space


@dataclass(frozen=True, repr=False)
class TuningResult:
    """A tuned metric with its gain, and the search that found it.

    Attributes:
        task: the metric, the tuning data and the settings.
        candidates: `given`, the metric before tuning; `tuned`, the first of the best metrics, which is the
            given one if none is better; and `uniform`, the metric with equal weights, if weights were tuned.
        trials: every finished trial by number.
        folds: the same search on parts of the judgements, each evaluated on the others.
        gain: the gain over the given metric on the held-out judgements of the folds; without an interval if
            they are too few or no resample differs.
        held_out_sentences: the number of held-out sentences whose judgements count.
        judgements: how many judgements of the benchmark count, in words.
        notices: caveats about the result, one sentence each.
        space: the ranges of the tuned parameters.
        signature: the signature of the tuned metric.
        sentences: hashes of the tuning data's sentences, as `tuned_on` returns them.
        comparisons: benchmark -> the results of the tuned metric and of the other candidates there.
        resampling: how intervals were made; its seed is also the seed of the search.

    Example: `tune("ensemble(gleu=0.5, length=0.5)", "mine").metric.score(sources, hypotheses, references)`
    """

    task: Task
    candidates: Mapping[str, TriedMetric]
    trials: Sequence[TriedMetric]
    folds: Sequence[Fold]
    gain: Estimate
    held_out_sentences: int
    judgements: str
    notices: Sequence[str]
    space: Space
    signature: str
    sentences: frozenset[bytes]
    comparisons: Mapping[str, Sequence[Comparison]]
    resampling: Resampling

    @property
    def name(self) -> str:
        """The name under which every command and `load_metric` find the tuned metric in `checkpoints`."""
        return self.task.name

    @property
    def file(self) -> Path | None:
        """The file of the tuned metric; `None` if it was not written."""
        return self.task.file

    @property
    def best(self) -> TriedMetric:
        """The tuned metric with its parameters and its value on the tuning data."""
        return self.candidates["tuned"]

    @property
    def metric(self) -> Metric:
        """The tuned metric."""
        return self.best.metric

    @property
    def history(self) -> list[dict[str, Any]]:
        """The number, value and parameters of each trial."""
        return [
            {"number": trial.number, "value": trial.value, **trial.parameters}
            for trial in self.trials
        ]

    @property
    def held_out(self) -> tuple[float, float]:
        """The mean and the standard deviation of the folds' held-out values; NaN without folds."""
        return _mean_and_deviation([fold.held_out for fold in self.folds])

    @property
    def given_held_out(self) -> tuple[float, float]:
        """The mean and the standard deviation of the given metric's values on the same judgements."""
        return _mean_and_deviation([fold.given for fold in self.folds])

    @cached_property
    def shared(self) -> dict[str, int]:
        """Benchmark -> number of its sentences that are among the tuning data."""
        searched = [source for data in self.task.benchmarks for source in data.sources]
        tested = {name: benchmark.sources for name, benchmark in self.task.others.items()}
        return {
            name: count_shared(self.sentences, sources)
            for name, sources in {self.task.label: searched, **tested}.items()
        }

    @property
    def record(self) -> TunedMetric:
        """The content of the tuned metric's file."""
        task, (held_out, deviation) = self.task, self.held_out
        given_held_out, given_deviation = self.given_held_out
        study = {
            "benchmark": task.label,
            "objective": task.goal.objective,
            "aggregation": task.goal.aggregation,
            "human": " + ".join(task.goal.human_on(data) for data in task.benchmarks),
            "sampler": "tpe",
            "seed": self.resampling.seed,
            "space": {parameter: str(range_) for parameter, range_ in self.space.ranges.items()},
            "validation": task.plan.validation,
            "signature": self.signature,
            "value": self.best.value,
            "parameters": self.best.parameters,
            "references": {
                label: {"value": candidate.value, "parameters": candidate.parameters}
                for label, candidate in self.candidates.items()
                if label != "tuned"
            },
            "held_out": held_out,
            "held_out_deviation": deviation,
            "given_held_out": given_held_out,
            "given_held_out_deviation": given_deviation,
            "gain": asdict(self.gain),
            "folds": [asdict(fold) for fold in self.folds],
            "comparisons": {
                name: [asdict(row) for row in rows] for name, rows in self.comparisons.items()
            },
            "sentences": sorted(key.hex() for key in self.sentences),
            "versions": {"learnedgec": __version__, "optuna": optuna.__version__},
            "trials": [
                {"number": trial.number, "value": trial.value, "parameters": trial.parameters}
                for trial in self.trials
            ],
        }
        return TunedMetric(str(self.metric), plain(study), task.tuned_on_test)

    @property
    def conclusions(self) -> list[str]:
        """Sentences about the expected gain of the tuned metric and the scale of its scores.

        If the metric was compared on sentences that had no part in the search, the gain there counts.
        """
        name, plan = self.task.label, self.task.plan
        gains = []
        if unseen := [other for other in self.comparisons if not self.shared[other]]:
            for other in unseen:
                row = self._against_given(other)
                judgements = f"{other}, which had no part in the search"
                similar = f" on data like {other}"
                gains.append(
                    _about_gain(row.gain, judgements, row.sentences, MIN_SENTENCES, similar)
                )
        elif plan.validation != "none":
            similar = f" on data like {name}" if self.comparisons else ""
            counts = self.held_out_sentences, plan.sentences_needed
            judgements = f"held-out judgements of {name}"
            gains.append(_about_gain(self.gain, judgements, *counts, similar))
        return [*gains, *about_scale(self.name, self.metric)]

    def _against_given(self, benchmark: str) -> Comparison:
        """Return the comparison with the given metric on a benchmark of `comparisons`."""
        return next(row for row in self.comparisons[benchmark] if row.label == "given")

    def table(self) -> Table:
        """Return a row for each candidate and benchmark: value, held-out value or interval, gain, parameters.

        `tuned_here` is the number of the benchmark's sentences that are among the tuning data.
        """
        held_out = {"tuned": self.held_out, "given": self.given_held_out}
        rows: list[Row] = []
        for label, candidate in self.candidates.items():
            mean, deviation = held_out.get(label, (None, None))
            row: dict[str, Any] = {"benchmark": self.task.label, "candidate": label}
            row |= {"value": candidate.value, "held_out": mean, "held_out_deviation": deviation}
            gain = _gain_columns(self.gain) if label == "given" else {}
            rows.append({**row, **gain, **candidate.parameters})
        for benchmark, comparisons in self.comparisons.items():
            for comparison in comparisons:
                row = {"benchmark": benchmark, "candidate": comparison.label}
                row |= {**asdict(comparison.value), **_gain_columns(comparison.gain)}
                rows.append({**row, **self.candidates[comparison.label].parameters})
        rows = [
            {"name": self.name, **row, "tuned_here": self.shared[row["benchmark"]]} for row in rows
        ]
        unit = "systems" if self.task.plan.validation == "systems" else "folds"
        columns = [
            Column("name", varying=True),
            Column("benchmark"),
            Column("candidate"),
            Column("value", show=_value_cell),
            Column("interval", show=_interval_cell, audience=For.READERS),
            Column(f"held-out {unit}", show=_held_out_cell, audience=For.READERS),
            *(Column(name, show=_parameter_cell(name)) for name in self.best.parameters),
            Column("gain of the tuned", show=_gain_of_tuned_cell, audience=For.READERS),
            *(
                Column(key, audience=For.DATA)
                for key in (
                    *("low", "high", "held_out", "held_out_deviation"),
                    *("gain", "gain_low", "gain_high", "tuned_here"),
                )
            ),
        ]
        note = " ".join([*self.conclusions, *self.notices])
        groups = ("name", "benchmark")
        return Table(columns, rows, caption=self.name, groups=groups, note=note)

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary for JSON: the content of the tuned metric's file, its name and its path."""
        return {"name": self.name, "file": str(self.file), **asdict(self.record)}

    def __repr__(self) -> str:
        task, held_out, given = self.task, self.held_out[0], self.given_held_out[0]
        lines = [
            f"{self.name}: {self.metric.label}",
            f"  {task.goal.objective} on held-out judgements of {task.label}: "
            f"{held_out:.4f}, given metric {given:.4f}, gain {gain_cell(self.gain)}",
        ]
        for benchmark, comparisons in self.comparisons.items():
            value = {comparison.label: comparison.value.value for comparison in comparisons}
            lines.append(
                f"  on {benchmark}: {value['tuned']:.4f}, given metric {value['given']:.4f}, gain "
                f"{gain_cell(self._against_given(benchmark).gain)}"
            )
        return "\n".join([*lines, *(f"  {sentence}" for sentence in self.conclusions)])

    def _repr_html_(self) -> str:
        return self.table().html()


def _value_cell(row: Row) -> str:
    return f"{row['value']:.4f}" + TUNED_MARK * bool(
        row["tuned_here"] and row["candidate"] == "tuned"
    )


def _interval_cell(row: Row) -> str | None:
    if "low" not in row:
        return None
    return "–" if math.isnan(row["low"]) else f"[{row['low']:.4f}, {row['high']:.4f}]"


def _held_out_cell(row: Row) -> str | None:
    mean = row.get("held_out")
    if mean is None or math.isnan(mean):
        return None
    return f"{mean:.4f} ± {row['held_out_deviation']:.4f}"


def _gain_of_tuned_cell(row: Row) -> str | None:
    if row["candidate"] == "tuned" or "gain" not in row or math.isnan(row["gain"]):
        return None
    # The gain on held-out judgements is evidence even where the value is not.
    overlaps = row["tuned_here"] and "low" in row
    gain = Estimate(row["gain"], row["gain_low"], row["gain_high"])
    return gain_cell(gain) + TUNED_MARK * bool(overlaps)


def _parameter_cell(name: str) -> Callable[[Row], str]:
    return lambda row: str(row[name])


def _about_gain(gain: Estimate, judgements: str, sentences: int, needed: int, similar: str) -> str:
    """Return a sentence about the gain on judgements of so many sentences, and what it means elsewhere."""
    meaning = ""
    if sentences < needed:
        meaning = (
            ": too few judgements to tell whether the tuned metric is better (sentences with judgements that "
            f"count: {sentences}; needed: {needed})"
        )
    # If no resample differs, there is no interval.
    elif not np.fmin(gain.low, gain.value) > 0:
        meaning = f": expect no gain{similar}"
    return f"On {judgements}, the tuned metric's gain over the given one is {gain_cell(gain)}{meaning}."


def gain_cell(gain: Estimate) -> str:
    """Return a gain with its interval, if it has one, in brackets."""
    if math.isnan(gain.value):
        return "unknown"
    bounds = "" if math.isnan(gain.low) else f" [{gain.low:+.4f}, {gain.high:+.4f}]"
    return f"{gain.value:+.4f}{bounds}"


def _gain_columns(gain: Estimate) -> dict[str, float]:
    return {"gain": gain.value, "gain_low": gain.low, "gain_high": gain.high}


def _mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    values = [value for value in values if not math.isnan(value)]
    return (float(np.mean(values)), float(np.std(values))) if values else (math.nan, math.nan)


# -- the search -----------------------------------------------------------------------------------


def run_task(
    task: Task, metric: BoundMetric, resampling: Resampling = Resampling()
) -> TuningResult:
    """Search, compare, and write the file of the tuned metric.

    The first trials are the given parameters, then the corners and the centre of weights and the ends
    and the middle of numbers. The statistics are computed once if they do not depend on the tuned
    parameters (`Metric.aggregate_parameters`), otherwise once for each of their values. An ensemble
    without scales gets the scales of its members on the benchmark.

    Args:
        task: the search, from `check_tuning`.
        metric: the metric to tune.
        resampling: how sentences are drawn for intervals; its seed is also the seed of the search.
    """
    benchmarks, goal, plan, runtime = task.benchmarks, task.goal, task.plan, metric.runtime
    seed = resampling.seed
    # The parameters of a tuned metric are kept, but not its name.
    bound = BoundMetric(metric.metric, runtime=runtime)
    trials_of = MetricTrials(bound, benchmarks)
    if isinstance(bound.metric, Ensemble) and bound.metric.scales is None:
        trials_of.metric = bound.metric.scaled_by(chain(*trials_of.statistics(bound.metric)))
    targets = [
        Target(
            goal.on(data) if len(benchmarks) > 1 else goal,
            data,
            seed=seed,
            cache_dir=runtime.cache_dir,
        )
        for data in benchmarks
    ]
    space = read_space(trials_of.metric, plan.space)
    trials = run_trials(
        trials_of, targets, space, plan.trials, seed=seed, progress=runtime.progress
    )
    folds, gain, held_out_sentences = cross_validate(trials_of, goal, space, plan, resampling)
    candidates = {"tuned": best_trial(trials), "given": trials_of.tried(space.given, targets)}
    if equal := space.equal_weights:
        candidates["uniform"] = trials_of.tried(equal, targets)
    metrics = {label: candidate.metric for label, candidate in candidates.items()}
    result = TuningResult(
        task=task,
        candidates=candidates,
        trials=trials,
        folds=folds,
        gain=gain,
        held_out_sentences=held_out_sentences,
        judgements=" and ".join(target.judgements for target in targets),
        notices=_notices(task, bound),
        space=space,
        signature=bound.replaced(metrics["tuned"]).signature(benchmarks[0].references),
        # The metric or its members may have been tuned before.
        sentences=frozenset(
            filter(None, (fingerprint(source) for data in benchmarks for source in data.sources))
        )
        | tuned_on(metric.tuned_names),
        comparisons={
            name: compare(bound, metrics, goal, other, resampling)
            for name, other in task.others.items()
        },
        resampling=resampling,
    )
    if task.file is not None:
        write_tuned(task.file.parent, task.name, result.record)
    return result


def _notices(task: Task, bound: BoundMetric) -> list[str]:
    """Return caveats about the result of a search, one sentence each."""
    notices = [
        f"{benchmark.name}: {caveat}"
        for benchmark in task.benchmarks
        for caveat in (
            *benchmark.notices,
            *contamination(bound, benchmark.name, benchmark.sources),
        )
    ]
    notices += task.caveats
    if task.tuned_on_test:
        notices.append(
            f"{task.name} was tuned on test data: its held-out folds are sound evidence there, its other "
            "results are not."
        )
    return notices


def tune(
    metric: AnyMetric,
    benchmark: str | Benchmark | Rows | Sequence[str | Benchmark],
    *,
    objective: Objective | Goal = "kendall",
    trials: int | SearchPlan = 200,
    compare: Sequence[str | Benchmark | Rows] = (),
    name: str | None = None,
    output: PathLike | None = "checkpoints",
    overwrite: bool = False,
    resampling: Resampling = Resampling(),
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
            the best of a source; or with `source` and `outputs`, and `best`, `worst` or `ranks`. If columns
            have other names, give `load_benchmark(table, columns)`. Of several benchmarks, each counts alike:
            the mean of their objectives is maximised, and an objective on ratings is `sentence-accuracy`
            where outputs were ranked.
        objective: the agreement to maximise, or a `Goal`, which also says how a metric's sentences are
            aggregated and which human score counts.
        trials: number of trials, or a `SearchPlan`, which also says what is searched, how the result is
            validated, and whether test data are allowed.
        compare: further benchmarks, or tables, on which the tuned and the given metric
            are compared. A table, or a benchmark whose name is taken, is called `compare[0]` and so on.
        name: the name of the tuned metric; by default `METRIC@BENCHMARK`, with `+OBJECTIVE` unless it is
            `kendall`.
        output: folder of its file, or `None` to write none.
        overwrite: replace a tuned metric of this name.
        resampling: how sentences are drawn for intervals; its seed is also the seed of the search.
        runtime: how to run.

    Raises:
        LeakageError: the benchmark is test data, and the plan does not allow it.
        ConfigError: the space, the name or the plan cannot be used.
        InputError: the benchmark lacks the judgements that the objective needs.
        OutputError: a tuned metric of this name exists.
        UnknownNameError: no metric or benchmark has this name.

    Example:
        >>> tuned = tune("ensemble(length=0.5, random=0.5)", "sample", objective="sentence-accuracy",
        ...              trials=SearchPlan(20, folds=2), output=None)
        >>> tuned.name
        'ensemble@sample+sentence-accuracy'
        >>> round(tuned.held_out[0], 1)
        0.5
    """
    goal = objective if isinstance(objective, Goal) else Goal(objective)
    plan = trials if isinstance(trials, SearchPlan) else SearchPlan(trials)
    named = as_named(metric)
    tuning_data = _tuning_data(benchmark)
    names = [data.name for data in tuning_data]
    others: dict[str, Benchmark] = {}
    for number, other in enumerate(compare):
        if isinstance(other, str):
            others[other] = load_benchmark(other)
            continue
        loaded = _loaded(other)
        # Two objects may have one name.
        own_name = isinstance(other, Benchmark) and loaded.name not in (*names, *others)
        others[loaded.name if own_name else f"compare[{number}]"] = loaded
    # The type of a table in memory adds nothing to a given name.
    own = "" if isinstance(benchmark, Benchmark) else (name or "").rpartition("@")[2]
    typed = benchmark if isinstance(benchmark, str) else own
    task = check_tuning(named, tuning_data, goal, plan, others)
    task = task.saved_as(name, typed, output=output, overwrite=overwrite)
    return run_task(task, bind_one(named, runtime), resampling)


def _tuning_data(given: str | Benchmark | Rows | Sequence[str | Benchmark]) -> list[Benchmark]:
    """Return the benchmarks that a name, an object or a list of them stands for."""
    if isinstance(given, str):
        return [load_benchmark(name) for name in expand_benchmarks([given])]
    if isinstance(given, list | tuple) and all(isinstance(data, str | Benchmark) for data in given):
        return [benchmark for data in given for benchmark in _tuning_data(data)]
    return [_loaded(cast("Benchmark | Rows", given))]


def _loaded(benchmark: Benchmark | Rows) -> Benchmark:
    """Return a benchmark, which is made if it is a table."""
    return benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark)
