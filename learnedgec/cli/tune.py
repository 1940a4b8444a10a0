"""`learnedgec tune`: find parameters of a metric that agree better with human judgements."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from learnedgec.analysis.contamination import count_shared
from learnedgec.cli import flags, output
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.data.benchmarks.registry import expand_benchmarks, load_benchmark
from learnedgec.errors import InputError
from learnedgec.metrics.tuned import tuned_file, write_tuned
from learnedgec.plotting.tuning import plot_tuning
from learnedgec.runtime.writing import check_writable
from learnedgec.scoring import bind_one
from learnedgec.stats.resampling import Estimate
from learnedgec.tuning import search
from learnedgec.tuning.objective import Goal
from learnedgec.tuning.search import Comparison, Tuning
from learnedgec.tuning.trials import SearchPlan


@dataclass
class _Task:
    """What is tuned, and on what.

    Attributes:
        space: search space of each parameter: simplex, {low, high[, log]} or a list of values (default:
            {weights: simplex}).
        benchmark: human judgements, such as gmeg:fce, gmeg:dev, tmu-gfm, jfleg:FOLDER, jfleg:references,
            seeda-s:dev, seeda:dev (seeda-s:dev and seeda-e:dev in turn), gjg15:12:dev10 or a folder; the
            evaluator joint-mpnet-3 (some, impara, preference) has learned from tmu-gfm, gmeg:wiki (a half of
            gmeg:dev) and JFLEG, so tune its metrics on others.
        tuned_on_test: allow test data of meta-evaluation (SEEDA and GJG15 as a whole), and mark the result.
    """

    space: dict[str, Any] = field(default_factory=dict)
    benchmark: str | None = None
    tuned_on_test: bool = False


@dataclass
class _Result(flags.Overwrite):
    """What is written and compared.

    Attributes:
        name: name of the tuned metric (default: METRIC@BENCHMARK, with +OBJECTIVE unless it is kendall); a
            name without BENCHMARK gets +BENCHMARK.
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
    )
    flags.add_metrics(parser)
    flags.add_fields(parser, _Task, Goal, title="what to tune, and on what")
    flags.add_fields(parser, SearchPlan, title="search", leave_out=["seed"])
    flags.add_fields(parser, _Result, title="result")
    flags.add_evaluation(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = output.with_format(build_parser().parse_args(arguments))
    # Options and benchmarks are checked before models are loaded.
    goal, plan = flags.read_fields(Goal, options), flags.read_fields(SearchPlan, options)
    task = {"space": options.space, "tuned_on_test": options.tuned_on_test}
    flags.require(options, benchmark="gmeg:dev")
    if options.name:
        search.check_name(options.name)
    benchmarks, others = (
        {name: load_benchmark(name) for name in expand_benchmarks(names)}
        for names in ([options.benchmark], options.compare)
    )
    named, *more = flags.read_metrics(options)
    if more:
        raise InputError(
            "several metrics were given, but one is tuned at a time; name one, or an ensemble."
        )
    runtime = flags.read_runtime(options)
    names = {}
    for typed, benchmark in benchmarks.items():
        _, on_test = search.check_task(named, benchmark, goal, plan, **task)
        names[typed] = search.tuned_name(
            named,
            typed,
            options.name or "",
            goal=goal,
            tuned_on_test=on_test or named.tuned_on_test,
        )
        path = tuned_file(Path(options.output), names[typed])
        check_writable(path)
        output.check_free(path, options)
    metric = bind_one(named, runtime)
    flags.introduce_evaluator([metric], options)
    _announce_comparisons(benchmarks, others, goal)
    announce = None if options.quiet else output.notice
    results = []
    for typed, benchmark in benchmarks.items():
        tuning = search.tune(
            metric,
            benchmark,
            goal,
            plan,
            **task,
            name=names[typed],
            resamples=options.resamples or 1000,
            level=options.confidence,
            runtime=runtime,
            announce=announce,
        )
        comparisons = {
            other_name: search.compare(
                tuning,
                other,
                **flags.read_resampling(options),
                runtime=runtime,
                announce=announce,
            )
            for other_name, other in others.items()
        }
        shared = {
            tested_name: count_shared(tuning.sentences, tested.sources)
            for tested_name, tested in {tuning.benchmark: benchmark, **others}.items()
        }
        results.append(_Tuned(names[typed], tuning, comparisons, shared))
    _emit(results, options)


@dataclass(frozen=True)
class _Tuned:
    """A tuned metric: its name, the search, and its results on other benchmarks.

    Attributes:
        name: of the tuned metric.
        tuning: the search.
        comparisons: benchmark -> what `compare` found there.
        shared: benchmark -> number of its sentences that are among the tuning data.
    """

    name: str
    tuning: Tuning
    comparisons: Mapping[str, Sequence[Comparison]]
    shared: Mapping[str, int]


def _announce_comparisons(
    benchmarks: Mapping[str, Benchmark], others: Mapping[str, Benchmark], goal: Goal
) -> None:
    """Print notices about the benchmarks to compare on: another objective, and sentences of tuning data."""
    for name, other in others.items():
        if (objective := goal.on(other).objective) != goal.objective:
            output.notice(
                f"{name}: compared by {objective}, since its outputs were ranked, not rated."
            )
        for tuned_on, benchmark in benchmarks.items():
            if shared := len(set(benchmark.sources) & set(other.sources)):
                output.notice(
                    f"{name}: {shared} of its {len(other.sources):,} sentences are in {tuned_on}, so its "
                    f"results are no evidence of a gain; they are marked {output.TUNED_MARK}."
                )


def _emit(results: Sequence[_Tuned], options: Namespace) -> None:
    """Write each tuned metric's file, and print the tables and notices."""
    rows, payloads, paths = [], [], []
    for result in results:
        record = result.tuning.record(result.comparisons)
        paths.append(write_tuned(Path(options.output), result.name, record))
        if options.plot:
            output.tell_written(plot_tuning(result.tuning, options.plot, result.name), options)
        rows += [(result, row) for row in _rows(result)]
        payloads.append({"name": result.name, "file": str(paths[-1]), **asdict(record)})
    several = len(results) > 1
    trials = len(results[0].tuning.trials)
    output.emit(
        [row for _, row in rows],
        options,
        payload=payloads if several else payloads[0],
        title=f"{options.objective}, {trials} trials",
        table_rows=[_row_for_readers(result, row, several) for result, row in rows],
        groups=("name", "benchmark"),
        notes=[output.TUNED_NOTE],
    )
    for result, path in zip(results, paths, strict=True):
        tuning, gain = result.tuning, result.tuning.gain
        output.notice(*(f"{tuning.benchmark}: {message}" for message in tuning.notices))
        if gain.low <= 0:
            elsewhere = f" on data like {tuning.benchmark}" if result.comparisons else ""
            output.notice(
                f"on held-out judgements of {tuning.benchmark} the gain over the given metric is "
                f"{_gain_cell(gain)}; expect no gain{elsewhere}."
            )
        if tuning.tuned_on_test:
            output.notice(
                f"{result.name} was tuned on test data: its held-out folds are sound evidence there, its "
                "other results are not."
            )
        output.remark(f"wrote {path}; use it as --metric {result.name}", options)


def _rows(result: _Tuned) -> list[dict[str, Any]]:
    """Return one row per metric and benchmark, for programs."""
    tuning = result.tuning
    held_out = {"tuned": tuning.held_out, "given": tuning.given_held_out}
    rows: list[dict[str, Any]] = []
    for label, candidate in tuning.candidates.items():
        mean, deviation = held_out.get(label, (None, None))
        row: dict[str, Any] = {"benchmark": tuning.benchmark, "metric": label}
        row |= {"value": candidate.value, "held_out": mean, "held_out_deviation": deviation}
        gain = _gain_columns(tuning.gain) if label == "given" else {}
        rows.append({**row, **gain, **candidate.parameters})
    for benchmark, comparisons in result.comparisons.items():
        for comparison in comparisons:
            low, high = comparison.bounds
            row = {"benchmark": benchmark, "metric": comparison.label}
            row |= {"value": comparison.value, "low": low, "high": high}
            gain = _gain_columns(Estimate(comparison.gain, *comparison.gain_bounds))
            rows.append({**row, **gain})
    return [
        {"name": result.name, **row, "tuned_here": result.shared[row["benchmark"]]} for row in rows
    ]


def _gain_columns(gain: Estimate) -> dict[str, float]:
    return {"gain": gain.value, "gain_low": gain.low, "gain_high": gain.high}


def _gain_cell(gain: Estimate) -> str:
    return f"{gain.value:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]"


def _row_for_readers(result: _Tuned, row: Mapping[str, Any], several: bool) -> dict[str, Any]:
    """Return the row with values and intervals in one cell, and a mark on values on the tuning data."""
    cells = {"name": row["name"]} if several else {}
    mark = output.TUNED_MARK if row["tuned_here"] and row["metric"] == "tuned" else ""
    cells |= {"benchmark": row["benchmark"], "metric": row["metric"]}
    cells["value"] = f"{row['value']:.4f}{mark}"
    mean = row.get("held_out")
    if "low" in row:
        cells["interval"] = f"[{row['low']:.4f}, {row['high']:.4f}]"
    elif mean is not None and not math.isnan(mean):
        held_out = "systems" if result.tuning.plan.validation == "systems" else "folds"
        cells[f"held-out {held_out}"] = f"{mean:.4f} ± {row['held_out_deviation']:.4f}"
    gain = Estimate(*(row.get(key, math.nan) for key in ("gain", "gain_low", "gain_high")))
    if row["metric"] != "tuned" and not math.isnan(gain.value):
        # The gain on held-out judgements is evidence even where the value is not.
        overlaps = row["tuned_here"] and "low" in row
        cells["gain of the tuned"] = _gain_cell(gain) + (output.TUNED_MARK if overlaps else "")
    parameters = result.tuning.candidates[row["metric"]].parameters
    return cells | {name: str(value) for name, value in parameters.items()}
