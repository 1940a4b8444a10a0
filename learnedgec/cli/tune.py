"""`learnedgec tune`: find parameters of a metric that agree better with human judgements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonargparse import ArgumentParser

from learnedgec.cli import flags, output
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
        benchmark: human judgements, such as gmeg:fce, gmeg:dev, tmu-gfm, jfleg:FOLDER, seeda-s:dev,
            gjg15:12:dev10 or a folder; the evaluator joint-mpnet-3 (some, impara, preference) has learned
            from tmu-gfm, gmeg:wiki (a half of gmeg:dev) and JFLEG, so tune its metrics on others.
        tuned_on_test: allow test data of meta-evaluation (SEEDA and GJG15 as a whole), and mark the result.
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
            seeda-s:test or gjg15:12:test90.
    """

    name: str | None = None
    output: str = "checkpoints"
    compare: list[str] = field(default_factory=list)


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec tune`."""
    from learnedgec.tuning.objective import Goal
    from learnedgec.tuning.trials import SearchPlan

    parser = flags.make_parser(
        "tune",
        "Find the parameters with which a metric agrees best with human judgements, and save the tuned "
        "metric under a name. Its value on the tuning data is optimistic; report the held-out value.",
    )
    flags.add_metrics(parser)
    flags.add_fields(parser, _Task, Goal, title="what to tune, and on what", leave_out=["model"])
    flags.add_fields(parser, SearchPlan, title="search", leave_out=["seed"])
    flags.add_fields(parser, _Result, title="result")
    flags.add_evaluation(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = output.with_format(build_parser().parse_args(list(arguments)))
    from learnedgec.data.benchmarks.registry import expand_benchmarks, load_benchmark
    from learnedgec.metrics.tuned import write_tuned
    from learnedgec.tuning import search
    from learnedgec.tuning.objective import Goal
    from learnedgec.tuning.trials import SearchPlan

    metrics, runtime = flags.read_checked_metrics(options)
    if len(metrics) > 1:
        raise InputError(
            "several metrics were given, but one is tuned at a time; name one, or an ensemble."
        )
    if not options.benchmark:
        raise InputError("no benchmark was given; name one, such as --benchmark gmeg:dev.")
    benchmark = load_benchmark(options.benchmark)
    others = {name: load_benchmark(name) for name in expand_benchmarks(options.compare)}
    if options.name:
        search.check_name(options.name)
    name = options.name or search.tuned_name(metrics[0], options.benchmark)
    folder = Path(options.output)
    check_writable(folder / "tuned.json")
    tuning = search.tune(
        metrics[0],
        benchmark,
        flags.read_fields(Goal, options),
        flags.read_fields(SearchPlan, options),
        space=options.space,
        name=name,
        tuned_on_test=options.tuned_on_test,
        runtime=runtime,
    )
    resampling = flags.read_resampling(options)
    comparisons = {
        other: search.compare(tuning, others[other], **resampling, runtime=runtime)
        for other in others
    }
    name = search.tuned_name(
        metrics[0], options.benchmark, name, tuned_on_test=tuning.tuned_on_test
    )
    record = tuning.record(comparisons)
    path = write_tuned(folder, name, record)
    if options.plot:
        from learnedgec.plotting.tuning import plot_tuning

        output.tell_written(plot_tuning(tuning, options.plot, name), options)
    rows = _rows(tuning, comparisons)
    output.emit(
        rows,
        options,
        payload={
            "name": name,
            "file": str(path),
            "metric": record.metric,
            "tuned_on_test": record.tuned_on_test,
            "study": record.study,
        },
        title=f"{options.objective}, {len(tuning.trials)} trials",
        table_rows=[_row_for_readers(tuning, row) for row in rows],
        groups=("benchmark",),
    )
    for message in tuning.notices:
        output.notice(f"{benchmark.name}: {message}")
    tuned, untuned = tuning.held_out[0], tuning.given_held_out[0]
    if tuned <= untuned:
        output.notice(
            f"on held-out sentences the tuned metric is no better than the given one ({tuned:.4f} against "
            f"{untuned:.4f}); expect no gain."
        )
    if tuning.tuned_on_test:
        output.notice(f"{name} was tuned on test data; only its held-out folds are evidence there.")
    output.remark(f"wrote {path}; use it as --metric {name}", options)


def _rows(tuning: Tuning, comparisons: Mapping[str, Sequence[Comparison]]) -> list[dict[str, Any]]:
    """Return one row per metric and benchmark, for programs."""
    held_out = {"tuned": tuning.held_out, "given": tuning.given_held_out}
    rows: list[dict[str, Any]] = []
    row: dict[str, Any]
    for label, candidate in {"tuned": tuning.best, **tuning.references}.items():
        mean, deviation = held_out.get(label, (None, None))
        row = {"benchmark": tuning.benchmark, "metric": label, "value": candidate.value}
        row |= {"held_out": mean, "held_out_deviation": deviation}
        rows.append({**row, **candidate.parameters})
    for benchmark, of_benchmark in comparisons.items():
        for comparison in of_benchmark:
            row = {"benchmark": benchmark, "metric": comparison.label, "value": comparison.value}
            row["low"], row["high"] = comparison.bounds
            row["gain"] = comparison.gain
            row["gain_low"], row["gain_high"] = comparison.gain_bounds
            rows.append(row)
    return rows


def _row_for_readers(tuning: Tuning, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row with values and intervals in one cell."""
    cells = {name: row[name] for name in ("benchmark", "metric", "value")}
    mean = row.get("held_out")
    has_spread = mean is not None and not math.isnan(mean)
    cells["held-out folds"] = f"{mean:.4f} ± {row['held_out_deviation']:.4f}" if has_spread else ""
    if "held_out" not in row:
        cells["interval"] = f"[{row['low']:.4f}, {row['high']:.4f}]"
        if row["metric"] != "tuned":
            gains = (row["gain"], row["gain_low"], row["gain_high"])
            cells["gain of the tuned"] = "{:+.4f} [{:+.4f}, {:+.4f}]".format(*gains)
    parameters = {"tuned": tuning.best, **tuning.references}[row["metric"]].parameters
    return cells | {name: str(value) for name, value in parameters.items()}
