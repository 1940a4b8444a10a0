"""`learnedgec tune`: find parameters of a metric that agree better with human judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jsonargparse import ArgumentParser

from learnedgec.cli import flags, output
from learnedgec.data.benchmarks import expand_benchmarks, load_benchmark
from learnedgec.errors import InputError
from learnedgec.plotting.figures import plot_tuning
from learnedgec.runtime.files import local_path
from learnedgec.scoring import bind_one
from learnedgec.tuning.objective import Goal
from learnedgec.tuning.search import SearchPlan, check_tuning
from learnedgec.tuning.task import run_task


@dataclass
class _Task:
    """Options of what to tune, and on which judgements.

    Attributes:
        benchmark: human judgements, such as gmeg:fce, gmeg:dev, tmu-gfm, jfleg:FOLDER,
            seeda-s:dev, gjg15:12:dev10, or several, of which each counts alike, a folder, or a half
            of it, FOLDER:dev, or a table (.csv, .tsv, .jsonl, .parquet) of outputs with the columns source,
            hypothesis, system and one for each rated dimension (--human), or rank, or with the columns source
            and outputs, and best, worst or ranks. The metric some has learned from tmu-gfm, gmeg:wiki (a
            half of gmeg:dev) and JFLEG, so tune it on other judgements.
        columns: the names of columns of the table, and of tables in --compare: --columns.source learner,
            or {source: learner, rank: [judge_1, judge_2]}, with several columns for several judges, or
            {outputs: [prod_a, prod_b], best: winner}.
    """

    benchmark: list[str] = field(default_factory=list)
    columns: dict[str, Any] | None = None


@dataclass
class _Result(flags.Overwrite):
    """Options of what to write and to compare.

    Attributes:
        name: name of the tuned metric, for --metric NAME: METRIC@WORD, or WORD alone, to which +BENCHMARK is
            added, so that every table shows on what it was tuned (default: METRIC@BENCHMARK, with +OBJECTIVE
            unless it is kendall).
        output: folder for its file.
        compare: further benchmarks on which to compare the tuned and the given metric, such as
            seeda-s:test or gjg15:12:test90.
    """

    name: str | None = None
    output: str = "checkpoints"
    compare: list[str] = field(default_factory=list)


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec tune`."""
    parser = flags.make_parser(
        "tune",
        "Find the parameters with which a metric agrees best with human judgements, and save the tuned "
        "metric under a name. Its value on the tuning data is optimistic; report the held-out value.",
        common="metric benchmark columns space objective trials compare name overwrite out",
    )
    flags.add_metrics(parser)
    flags.add_fields(parser, _Task, Goal, title="what to tune, and on what")
    flags.add_fields(parser, SearchPlan, title="search")
    flags.add_fields(parser, _Result, title="result")
    flags.add_evaluation(parser)
    return parser


def _is_table(name: str) -> bool:
    """Return whether a benchmark is a table, perhaps a part of it; `--columns` is about tables alone."""
    path = local_path(name) or local_path(name.rpartition(":")[0])
    return path is not None and path.is_file()


def run_tune(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = output.with_format(build_parser().parse_args(arguments))
    # Options and benchmarks are checked before models are loaded.
    goal, plan = flags.read_fields(Goal, options), flags.read_fields(SearchPlan, options)
    flags.require(options, benchmark=goal.benchmarks[0])
    benchmarks = [
        load_benchmark(name, options.columns) for name in expand_benchmarks(options.benchmark)
    ]
    others = {
        name: load_benchmark(name, options.columns if _is_table(name) else None)
        for name in expand_benchmarks(options.compare)
    }
    named, *more = flags.read_metrics(options)
    if more:
        raise InputError(
            "several metrics were given, but one is tuned at a time; name one, or an ensemble."
        )
    runtime = flags.read_runtime(options)
    task = check_tuning(named, benchmarks, goal, plan, others).saved_as(
        options.name,
        "+".join(options.benchmark),
        output=options.output,
        overwrite=options.overwrite,
    )
    metric = bind_one(named, runtime)
    flags.introduce_evaluator([metric], options)
    output.notice(*task.notices)
    result = run_task(task, metric, flags.read_resampling(options))
    if options.plot:
        output.tell_written(plot_tuning(result, options.plot), options)
    title = (
        f"Agreement with people by {options.objective} on {result.judgements}, "
        f"{len(result.trials)} trials"
    )
    output.emit_table(
        replace(result.table(), title=title, caption=""),
        options,
        details={"tuned": result.to_dict()},
        conclusions=[output.TUNED_NOTE, *result.conclusions],
    )
    output.notice_daily(*result.notices)
    output.remark(f"wrote {result.file}; use it as --metric {result.name}", options)
