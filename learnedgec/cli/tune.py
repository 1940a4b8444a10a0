"""`learnedgec tune`: find parameters of a metric that agree better with human judgements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse import ArgumentParser

from learnedgec.cli.options import (
    add_evaluation_arguments,
    add_field_arguments,
    add_group,
    add_metric_argument,
    make_parser,
    read_fields,
    read_metrics,
    read_resampling,
    read_runtime,
)
from learnedgec.cli.output import (
    emit,
    notice,
    remark,
    tell_written,
    with_format,
)
from learnedgec.errors import InputError
from learnedgec.runtime.writing import check_writable

if TYPE_CHECKING:
    from learnedgec.tuning.search import Comparison, Tuning


@dataclass
class _Task:
    """What is tuned, and on what.

    Attributes:
        space: search space of each parameter: simplex, {low, high[, log]} or a list of values (default:
            {weights: simplex}).
        benchmark: human judgements, such as gmeg:fce, gmeg:dev, tmu-gfm, jfleg:FOLDER, gjg15:12:dev10 or a
            folder; the evaluator joint-mpnet-3 (some, impara, preference) has learned from tmu-gfm, gmeg:wiki
            (a half of gmeg:dev) and JFLEG, so tune its metrics on others.
        tuned_on_test: allow test data of meta-evaluation (SEEDA, GJG15), and mark the result.
    """

    space: dict[str, Any] = field(default_factory=dict)
    benchmark: str | None = None
    tuned_on_test: bool = False


@dataclass
class _Result:
    """What is written and compared.

    Attributes:
        name: name of the tuned metric (default: METRIC@…).
        output: folder for its file.
        compare: further benchmarks on which to compare the tuned and the given metric, such as
            gjg15:12:test90.
    """

    name: str | None = None
    output: str = "checkpoints"
    compare: list[str] = field(default_factory=list)


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
    add_field_arguments(group.add_argument, _Task)
    add_field_arguments(group.add_argument, Goal, leave_out=["model"], checked=["objective"])
    group = parser.add_argument_group("search")
    add_field_arguments(group.add_argument, SearchPlan, leave_out=["seed"])
    add_group(parser, _Result, "result")
    add_evaluation_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = with_format(build_parser().parse_args(list(arguments)))
    from learnedgec.data.benchmarks.registry import expand_benchmarks, load_benchmark
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
    if options.name:
        check_name(options.name)
    name = options.name or tuned_name(metrics[0], options.benchmark)
    folder = Path(options.output)
    check_writable(folder / "tuned.json")
    tuning = tune(
        metrics[0],
        benchmark,
        read_fields(Goal, options),
        read_fields(SearchPlan, options),
        space=options.space,
        name=name,
        tuned_on_test=options.tuned_on_test,
        runtime=runtime,
    )
    resampling = read_resampling(options)
    comparisons = {
        other: compare(tuning, others[other], **resampling, runtime=runtime) for other in others
    }
    name = tuned_name(metrics[0], options.benchmark, name, tuned_on_test=tuning.tuned_on_test)
    record = tuning.record(comparisons)
    path = write_tuned(folder, name, record)
    if options.plot:
        from learnedgec.plotting.tuning import plot_tuning

        tell_written(plot_tuning(tuning, options.plot, name), options)
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
        title=f"{options.objective}, {len(tuning.trials)} trials",
        table_rows=_table_rows(tuning, comparisons),
        groups=("benchmark",),
    )
    for message in tuning.notices:
        notice(f"{benchmark.name}: {message}")
    tuned, given = tuning.held_out[0], tuning.given_held_out[0]
    if tuned <= given:
        notice(
            f"on held-out sentences the tuned metric is no better than the given one ({tuned:.4f} against "
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
    return rows + [
        {
            "benchmark": benchmark,
            "metric": comparison.label,
            "value": comparison.value,
            "low": comparison.bounds[0],
            "high": comparison.bounds[1],
            "gain": comparison.gain,
            "gain_low": comparison.gain_bounds[0],
            "gain_high": comparison.gain_bounds[1],
        }
        for benchmark, of_benchmark in comparisons.items()
        for comparison in of_benchmark
    ]


def _table_rows(
    tuning: Tuning, comparisons: Mapping[str, Sequence[Comparison]]
) -> list[dict[str, Any]]:
    """Return the same with values and intervals in one cell, for readers."""
    rows = []
    for row in _rows(tuning, comparisons):
        cells = {name: row[name] for name in ("benchmark", "metric", "value")}
        mean = row.get("held_out")
        has_spread = mean is not None and not math.isnan(mean)
        cells["held-out folds"] = (
            f"{mean:.4f} ± {row['held_out_deviation']:.4f}" if has_spread else ""
        )
        if "held_out" not in row:
            cells["interval"] = f"[{row['low']:.4f}, {row['high']:.4f}]"
            if row["metric"] != "tuned":
                cells["gain of the tuned"] = (
                    f"{row['gain']:+.4f} [{row['gain_low']:+.4f}, {row['gain_high']:+.4f}]"
                )
        parameters = {"tuned": tuning.best, **tuning.references}[row["metric"]].parameters
        rows.append(cells | {name: str(value) for name, value in parameters.items()})
    return rows
