"""Tuning of a metric: checks before models are loaded, the search, its result and the file."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from learnedgec.analysis.aggregation import Aggregation
from learnedgec.data.benchmarks import expand_benchmarks, load_benchmark
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.catalog.leakage import fingerprint
from learnedgec.data.sentences import Columns, Rows
from learnedgec.errors import ConfigError, InputError, LeakageError, OutputError
from learnedgec.metrics.bound import BoundMetric, NamedMetric
from learnedgec.metrics.ensemble import Ensemble
from learnedgec.metrics.tuned import TEST_MARK, tuned_file, tuned_on, write_tuned
from learnedgec.runtime.files import PathLike, check_writable, local_path
from learnedgec.runtime.runtime import Runtime
from learnedgec.scoring import AnyMetric, as_named, bind_one, contamination
from learnedgec.tuning.objective import Goal, Objective, Target, check_tuning_data
from learnedgec.tuning.result import TuningResult
from learnedgec.tuning.search import (
    MetricTrials,
    SearchPlan,
    Task,
    Validation,
    best_trial,
    check_validation,
    compare,
    cross_validate,
    run_trials,
)
from learnedgec.tuning.space import read_space


def check_tuning(
    metric: NamedMetric,
    benchmark: Benchmark,
    goal: Goal = Goal(),
    plan: SearchPlan = SearchPlan(),
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
        check_name(name)
    caveat, on_test = "", False
    try:
        caveat = check_tuning_data(benchmark, goal)
    except LeakageError:
        if not tuned_on_test:
            raise
        on_test = True
    read_space(metric.metric, space)
    benchmark = goal.judged(benchmark)
    check_validation(goal, benchmark, plan)
    # Expected wins replace TrueSkill, which takes long and needs the same judgements.
    Target(dataclasses.replace(goal, human=None if goal.human == "TS" else goal.human), benchmark)
    marked = on_test or metric.tuned_on_test
    typed = typed or benchmark.name
    name = tuned_name(metric, typed, name or "", goal=goal, tuned_on_test=marked)
    file = None if output is None else tuned_file(Path(output), name)
    if file is not None:
        check_writable(file)
        if file.is_file() and not overwrite:
            raise OutputError(
                f"{file} exists; choose another name, or replace it with ",
                hint="overwrite=True.",
                flag="--overwrite.",
            )
    return Task(name, file, benchmark, goal, plan, others or {}, space, marked, caveat)


def tuned_name(
    metric: NamedMetric,
    benchmark: str,
    name: str = "",
    *,
    goal: Goal = Goal(),
    tuned_on_test: bool = False,
) -> str:
    """Return the name of a tuned metric: `METRIC@BENCHMARK`, or the given name.

    The objective follows as `+OBJECTIVE` unless it is the default. A given word becomes `METRIC@WORD`, and a
    given name gets `+BENCHMARK` unless it names the benchmark. If the tuning data are test data, every name
    gets `+test`, so that every table shows it.

    Args:
        metric: the metric to tune.
        benchmark: the tuning data's name, as the user wrote it.
        name: the name of the tuned metric, if one is given.
        goal: the goal that was maximised.
        tuned_on_test: whether the tuning data are test data.

    Example:
        >>> from learnedgec.scoring import as_named
        >>> tuned_name(as_named("length"), "gjg15:dev10")
        'length@gjg15-dev10'
        >>> tuned_name(as_named("length"), "sample", goal=Goal("pearson"))
        'length@sample+pearson'
    """
    head = benchmark.partition(":")[0]
    if head.lower() == "jfleg":
        benchmark = head
    # The name of a folder such as `.` comes from its full path; `folder` replaces one without usable letters.
    words = next(filter(None, map(_words, (Path(benchmark), Path(benchmark).absolute()))), "folder")
    if name and "@" not in name:
        name = f"{metric.metric.name}@{name}"
    if not name:
        name = f"{metric.metric.name}@{words}"
        name += f"+{goal.objective}" if goal.objective != Goal().objective else ""
    elif words not in name and _words(Path(head)) not in name.partition("@")[2]:
        name += f"+{words}"
    return name + TEST_MARK if tuned_on_test and not name.endswith(TEST_MARK) else name


def _words(place: Path) -> str:
    """Return the last part of a benchmark's name or path, without a table's suffix, as a metric's word."""
    name = re.sub(r"\.(csv|tsv|jsonl|parquet)(\.gz)?(?=:|$)", "", place.name)
    return re.sub("[^A-Za-z0-9_.+]+", "-", name).strip("-.")


def check_name(name: str) -> None:
    """Raise `ConfigError` unless a tuned metric can have this name, or this word after `@`."""
    if not re.fullmatch(r"([A-Za-z][\w.+-]*@)?[\w.+-]+", name):
        raise ConfigError(
            f"name: {name!r} cannot be the name of the tuned metric, by which it is found; write "
            "METRIC@WORD, or WORD, with letters, digits and ._+- such as some@mine."
        )


def run_task(
    task: Task, metric: BoundMetric, *, resamples: int | None = None, level: float = 0.95
) -> TuningResult:
    """Search, compare, and write the file of the tuned metric.

    The first trials are the given parameters, then the corners and the centre of weights and the ends
    and the middle of numbers. The statistics are computed once if they do not depend on the tuned
    parameters (`Metric.aggregate_parameters`), otherwise once for each of their values. An ensemble
    without scales gets those of its members on the benchmark.

    Args:
        task: the search, from `check_tuning`.
        metric: the metric to tune.
        resamples: bootstrap resamples of the sentences, 1,000 by default.
        level: the level of the intervals.
    """
    benchmark, goal, plan, runtime = task.benchmark, task.goal, task.plan, metric.runtime
    resamples = resamples or 1000
    # The parameters of a tuned metric are kept, but not its name.
    bound = BoundMetric(metric.metric, runtime=runtime)
    trials_of = MetricTrials(bound, benchmark)
    if isinstance(bound.metric, Ensemble) and bound.metric.scales is None:
        trials_of.metric = bound.metric.scaled_by(trials_of.statistics(bound.metric))
    target = Target(goal, benchmark, seed=plan.seed, cache_dir=runtime.cache_dir)
    space = read_space(trials_of.metric, task.space)
    trials = run_trials(trials_of, target, space, plan, progress=runtime.progress)
    folds, gain, held_out_sentences = cross_validate(
        trials_of, goal, space, plan, resamples=resamples, level=level
    )
    candidates = {"tuned": best_trial(trials), "given": trials_of.tried(space.given, target)}
    if equal := space.equal_weights:
        candidates["uniform"] = trials_of.tried(equal, target)
    metrics = {label: candidate.metric for label, candidate in candidates.items()}
    trained = contamination(bound, benchmark.name, benchmark.sources)
    result = TuningResult(
        task=task,
        candidates=candidates,
        trials=trials,
        folds=folds,
        gain=gain,
        held_out_sentences=held_out_sentences,
        judgements=target.judgements,
        caveats=list(filter(None, [*benchmark.notices, *trained, task.caveat])),
        space=space,
        signature=bound.replaced(metrics["tuned"]).signature(benchmark.references),
        # The metric or its members may have been tuned before.
        sentences=frozenset(filter(None, map(fingerprint, benchmark.sources)))
        | tuned_on(metric.tuned_names),
        comparisons={
            name: compare(
                bound, metrics, goal, other, resamples=resamples, level=level, seed=plan.seed
            )
            for name, other in task.others.items()
        },
    )
    if task.file is not None:
        write_tuned(task.file.parent, task.name, result.record)
    return result


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
        >>> round(tuned.held_out[0], 1)
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
    return run_task(task, bind_one(named, runtime), resamples=resamples, level=level)


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
