"""`learnedgec tune`: find parameters of a metric that agree better with human judgements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse import ArgumentParser

from learnedgec.cli.options import (
    add_field_arguments,
    add_metric_argument,
    add_plot_argument,
    add_resampling_arguments,
    add_runtime_arguments,
    make_parser,
    read_fields,
    read_metrics,
    read_runtime,
)
from learnedgec.cli.output import add_output_arguments, emit, notice, remark, with_format
from learnedgec.cli.table import Layout
from learnedgec.errors import InputError
from learnedgec.execution.writing import check_writable
from learnedgec.plotting.style import check_plotting

if TYPE_CHECKING:
    from learnedgec.tuning.results import Comparison, Tuning


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec tune`."""
    from learnedgec.tuning.objective import Goal
    from learnedgec.tuning.trials import SearchPlan

    parser = make_parser(
        "tune",
        "Find the parameters with which a metric agrees best with human judgements, and save the tuned "
        "metric under a name. Its value on the tuning data is optimistic; report the held-out value.",
    )
    add_metric_argument(parser)
    group = parser.add_argument_group("what to tune, and on what")
    group.add_argument(
        "--space",
        type=dict[str, Any],
        default={},
        help="search space of each parameter: simplex, {low, high[, log]} or a list of values (default: "
        "{weights: simplex})",
    )
    group.add_argument(
        "--benchmark",
        type=str,
        help="human judgements, such as gmeg:fce, gmeg:dev, tmu-gfm, jfleg:FOLDER, gjg15:12:dev10 or a "
        "folder; the evaluator joint-mpnet-3 (some, impara, preference) has learned from tmu-gfm, gmeg:wiki "
        "(a half of gmeg:dev) and JFLEG, so tune its metrics on others",
    )
    add_field_arguments(group.add_argument, Goal, leave_out=["model"], checked=["objective"])
    group.add_argument(
        "--tuned-on-test",
        action="store_true",
        help="allow test data of meta-evaluation (SEEDA, GJG15), and mark the result",
    )
    group = parser.add_argument_group("search")
    add_field_arguments(group.add_argument, SearchPlan, leave_out=["seed"])
    group = parser.add_argument_group("result")
    group.add_argument("--name", type=str, help="name of the tuned metric (default: METRIC@…)")
    group.add_argument("--output", type=str, default="checkpoints", help="folder for its file")
    group.add_argument(
        "--compare",
        nargs="+",
        type=str,
        default=[],
        help="further benchmarks on which to compare the tuned and the given metric, such as gjg15:12:test90",
    )
    add_resampling_arguments(parser)
    add_plot_argument(parser)
    add_runtime_arguments(parser)
    add_output_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = with_format(build_parser().parse_args(list(arguments)))
    from learnedgec.benchmarks.registry import expand_benchmarks, load_benchmark
    from learnedgec.metrics.needs import check_metrics
    from learnedgec.metrics.tuned import write_tuned
    from learnedgec.tuning.objective import Goal
    from learnedgec.tuning.search import check_name, compare, tune, tuned_name
    from learnedgec.tuning.trials import SearchPlan

    metrics = read_metrics(options)
    if len(metrics) > 1:
        raise InputError(
            "several metrics were given, but one is tuned at a time; name one, or an ensemble."
        )
    if not options.benchmark:
        raise InputError("no benchmark was given; name one, such as --benchmark gmeg:dev.")
    runtime = read_runtime(options)
    check_metrics(metrics, runtime)
    benchmark = load_benchmark(options.benchmark)
    others = {name: load_benchmark(name) for name in expand_benchmarks(options.compare)}
    goal, plan = read_fields(Goal, options), read_fields(SearchPlan, options)
    if options.name:
        check_name(options.name)
    name = options.name or tuned_name(metrics[0], options.benchmark)
    folder = Path(options.output)
    check_writable(folder / "tuned.json")
    if options.plot:
        check_plotting(options.plot)
    tuning = tune(
        metrics[0],
        benchmark,
        goal,
        plan,
        space=options.space,
        name=name,
        tuned_on_test=options.tuned_on_test,
        runtime=runtime,
    )
    comparisons = {
        name: compare(
            tuning,
            other,
            resamples=options.resamples,
            level=options.confidence,
            seed=options.seed,
            runtime=runtime,
        )
        for name, other in others.items()
    }
    name = tuned_name(metrics[0], options.benchmark, name, tuned_on_test=tuning.tuned_on_test)
    record = tuning.record(comparisons)
    path = write_tuned(folder, name, record)
    if options.plot:
        from learnedgec.plotting.tuning import plot_tuning

        for file in plot_tuning(tuning, options.plot, name):
            remark(f"wrote {file}", options)
    emit(
        _rows(tuning, comparisons),
        options,
        payload={
            "name": name,
            "file": str(path),
            "metric": record.metric,
            "tuned_on_test": record.tuned_on_test,
            "study": record.study,
        },
        title=f"{goal.objective}, {len(tuning.trials)} trials",
        table_rows=_table_rows(tuning, comparisons),
        layout=Layout(groups=("benchmark",), keys=("metric",)),
    )
    for message in tuning.notices:
        notice(f"{benchmark.name}: {message}")
    own, given = tuning.held_out[0], tuning.given_held_out[0]
    if own <= given:
        notice(
            f"on held-out sentences the tuned metric is no better than the given one ({own:.4f} against "
            f"{given:.4f}); expect no gain."
        )
    if tuning.tuned_on_test:
        notice(f"{name} was tuned on test data; its results there are meaningless.")
    remark(f"wrote {path}; use it as --metric {name}", options)


def _rows(tuning: Tuning, comparisons: Mapping[str, Sequence[Comparison]]) -> list[dict[str, Any]]:
    """Return one row per metric and benchmark, for programs."""
    held_out = {"tuned": tuning.held_out, "given": tuning.given_held_out}
    rows: list[dict[str, Any]] = []
    for label, candidate in {"tuned": tuning.best, **tuning.references}.items():
        mean, deviation = held_out.get(label, (None, None))
        rows.append(
            {
                "benchmark": tuning.benchmark,
                "metric": label,
                "value": candidate.value,
                "held_out": mean,
                "held_out_deviation": deviation,
                **candidate.parameters,
            }
        )
    for benchmark, found in comparisons.items():
        rows += [
            {
                "benchmark": benchmark,
                "metric": each.label,
                "value": each.value,
                "low": each.bounds[0],
                "high": each.bounds[1],
                "gain": each.gain,
                "gain_low": each.gain_bounds[0],
                "gain_high": each.gain_bounds[1],
            }
            for each in found
        ]
    return rows


def _table_rows(
    tuning: Tuning, comparisons: Mapping[str, Sequence[Comparison]]
) -> list[dict[str, Any]]:
    """Return the same with values and intervals in one cell, for readers."""
    rows = []
    for row in _rows(tuning, comparisons):
        own = row["benchmark"] == tuning.benchmark and "held_out" in row
        spread = ""
        if own and row["held_out"] is not None and not math.isnan(row["held_out"]):
            spread = f"{row['held_out']:.4f} ± {row['held_out_deviation']:.4f}"
        cells = {
            "benchmark": row["benchmark"],
            "metric": row["metric"],
            "value": row["value"],
            "held-out folds": spread,
        }
        if not own:
            cells["interval"] = f"[{row['low']:.4f}, {row['high']:.4f}]"
            if row["metric"] != "tuned":
                cells["gain of the tuned"] = (
                    f"{row['gain']:+.4f} [{row['gain_low']:+.4f}, {row['gain_high']:+.4f}]"
                )
        parameters = {"tuned": tuning.best, **tuning.references}[row["metric"]].parameters
        cells |= {name: str(value) for name, value in parameters.items()}
        rows.append(cells)
    return rows
