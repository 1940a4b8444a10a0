"""`learnedgec meta`: meta-evaluate metrics against human judgements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, get_args

from jsonargparse import ArgumentParser

from learnedgec.benchmarks.registry import expand_benchmarks, load_benchmark
from learnedgec.cli.options import (
    add_metric_argument,
    add_plot_argument,
    add_reannotate_argument,
    add_resampling_arguments,
    add_runtime_arguments,
    make_parser,
    read_metrics,
    read_runtime,
)
from learnedgec.cli.output import add_output_arguments, emit, notice, remark, with_format
from learnedgec.cli.table import Layout
from learnedgec.errors import InputError, UnknownNameError
from learnedgec.meta.agreement import Ties
from learnedgec.meta.evaluation import Evaluation, evaluate
from learnedgec.meta.human_scores import default_human
from learnedgec.meta.measures import Measurement
from learnedgec.meta.protocol import Protocol
from learnedgec.metrics.needs import check_metrics
from learnedgec.plotting.meta import plot_evaluation
from learnedgec.plotting.style import check_plotting
from learnedgec.ranking import Aggregation

# The measures in the table by default, as far as a benchmark has them.
MEASURES = (
    "pearson",
    "spearman",
    "partial_pearson",
    "sentence_accuracy",
    "sentence_kendall",
    "sentence_accuracy_equal_edits",
    "segment_pearson",
    "grouped_kendall",
)

# Units that measures count, the same for every metric.
_UNITS = ("systems", "comparisons", "outputs")


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec meta`."""
    parser = make_parser(
        "meta",
        "Meta-evaluate metrics against human judgements. The sentinels (edit-count, length, constant, "
        "random) are always included; a metric's agreement is evidence of quality only if it exceeds theirs.",
    )
    parser.add_argument(
        "--benchmark",
        nargs="+",
        type=str,
        help="seeda (both seeda-s and seeda-e), gjg15, gmeg:fce, tmu-gfm, jfleg:FOLDER, sample, …, with "
        "options such as seeda-s:+fluency; or a folder with your own benchmark",
    )
    add_metric_argument(parser)
    add_reannotate_argument(parser)
    group = parser.add_argument_group("meta-evaluation")
    group.add_argument(
        "--human",
        nargs="+",
        type=str,
        help="human scores: EW (expected wins), TS (TrueSkill), a rated dimension or a published score "
        "(default: TS if published, else EW, else every dimension)",
    )
    group.add_argument(
        "--aggregation",
        choices=get_args(Aggregation),
        default="mean",
        help="how a metric's sentence scores become a system's score; mean: the metric's corpus score",
    )
    group.add_argument(
        "--ties",
        choices=get_args(Ties),
        default="symmetric",
        help="how Kendall's tau counts a tie of the metric: as neither right nor wrong (symmetric), or, as "
        "in SEEDA's script, as a loss of the system listed first (official)",
    )
    group.add_argument(
        "--window", type=int, default=8, help="number of neighbouring systems in a window"
    )
    group.add_argument(
        "--tests",
        action="store_true",
        help="test each pair of metrics for a difference (PERM-BOTH, Williams)",
    )
    group.add_argument(
        "--show",
        choices=tuple(_TABLES),
        default="measures",
        help="the table to print; JSON has all of them",
    )
    group.add_argument(
        "--measure", nargs="+", type=str, help="columns of --show measures; all: every measure"
    )
    group.add_argument(
        "--interval",
        choices=("systems", "sentences"),
        default="systems",
        help="whether the interval shown resamples systems (if there is such an interval) or sentences",
    )
    add_resampling_arguments(parser)
    add_plot_argument(parser)
    add_runtime_arguments(parser)
    add_output_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = with_format(build_parser().parse_args(list(arguments)))
    if options.plot:
        check_plotting(options.plot)
    if not options.benchmark:
        raise InputError("no benchmark was given; name one or more, such as --benchmark seeda.")
    protocol = Protocol(
        aggregation=options.aggregation,
        ties=options.ties,
        window=options.window,
        resamples=options.resamples,
        level=options.confidence,
        seed=options.seed,
    )
    metrics = read_metrics(options, required=False)
    runtime = read_runtime(options)
    check_metrics(metrics, runtime)
    evaluations: list[Evaluation] = []
    told: set[tuple[str, str]] = set()
    for name in expand_benchmarks(options.benchmark):
        benchmark = load_benchmark(name)
        for human in options.human or default_human(benchmark):
            evaluations.append(
                evaluate(
                    benchmark,
                    metrics,
                    protocol,
                    human=human,
                    tests=options.tests or options.show == "tests",
                    runtime=runtime,
                )
            )
            # A benchmark has the same notices for each of its human scores.
            for message in evaluations[-1].notices:
                if (name, message) not in told:
                    notice(f"{name}: {message}")
                told.add((name, message))
    if options.plot:
        for evaluation in evaluations:
            for path in plot_evaluation(evaluation, options.plot):
                remark(f"wrote {path}", options)
    chosen = _measures(options.measure, evaluations)
    table = _TABLES[options.show]
    emit(
        [row for each in evaluations for row in table(each)],
        options,
        payload={"evaluations": [_payload(each) for each in evaluations]},
        caption=f"Agreement of metrics with human judgements, with {100 * options.confidence:g}% "
        f"intervals over {options.interval}."
        if options.show == "measures"
        else f"Metrics and human judgements: {options.show}.",
        table_rows=[row for each in evaluations for row in _wide(each, chosen, options.interval)]
        if options.show == "measures"
        else None,
        layout=Layout(
            groups=("benchmark", "human", *_UNITS),
            keys=("metric", "system", "without", "correlation"),
            names=[metric.label for metric in metrics],
        ),
        notes=[f"[{100 * options.confidence:g} % interval over {options.interval}]"]
        if options.show == "measures"
        else [],
        signatures=[
            entry.signature
            for evaluation in evaluations
            for entry in evaluation.metrics
            if not entry.sentinel
        ],
    )


def _measures(named: Sequence[str] | None, evaluations: Sequence[Evaluation]) -> list[str]:
    """Return the measures to show, in the order in which they are computed."""
    known = list(
        dict.fromkeys(
            name for each in evaluations for entry in each.metrics for name in entry.estimates
        )
    )
    if named == ["all"]:
        return known
    for name in named or ():
        if name not in known:
            raise UnknownNameError("measure", name, known)
    return [name for name in known if name in (named or MEASURES)]


def _head(evaluation: Evaluation) -> dict[str, Any]:
    return {"benchmark": evaluation.benchmark, "human": evaluation.human}


def _wide(evaluation: Evaluation, measures: Sequence[str], over: str) -> Iterator[dict[str, Any]]:
    """Return one row per metric with a column per measure, for readers."""
    for entry in evaluation.metrics:
        counts = {
            estimate.unit: f"{estimate.count:,}"
            for name, estimate in entry.estimates.items()
            if not name.endswith("_equal_edits") and name != "tie_calibrated_accuracy"
        }
        cells = {
            name: _cell(entry.estimates[name], over) for name in measures if name in entry.estimates
        }
        yield {**_head(evaluation), **counts, "metric": entry.metric, **cells}


def _cell(estimate: Measurement, over: str) -> str:
    """Return `0.886 [0.61, 0.97]`, with the interval asked for, or the other where it is missing."""
    if math.isnan(estimate.value):
        return "–"
    intervals = [estimate.over_systems, estimate.over_sentences]
    if over == "sentences":
        intervals.reverse()
    low, high = intervals[0] if not math.isnan(intervals[0][0]) else intervals[1]
    return f"{estimate.value:.3f} [{low:.2f}, {high:.2f}]"


def _measure_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Return one row per metric and measure, for programs."""
    for entry in evaluation.metrics:
        for measure, estimate in entry.estimates.items():
            yield {
                **_head(evaluation),
                "metric": entry.metric,
                "measure": measure,
                "value": estimate.value,
                "count": estimate.count,
                "unit": estimate.unit,
                "low_over_sentences": estimate.over_sentences[0],
                "high_over_sentences": estimate.over_sentences[1],
                "low_over_systems": estimate.over_systems[0],
                "high_over_systems": estimate.over_systems[1],
                "signature": entry.signature,
            }


def _window_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Return one row per metric and correlation with a column per window."""
    width = evaluation.protocol.window
    for entry in evaluation.metrics:
        for kind, values in entry.windows.items():
            columns = {
                f"{place}-{place + width - 1}": float(value)
                for place, value in enumerate(values, 1)
            }
            yield {**_head(evaluation), "metric": entry.metric, "correlation": kind, **columns}


def _without_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Return one row per system left out with a column per metric."""
    for kind in ("pearson", "spearman"):
        for number in evaluation.order.tolist():
            columns = {
                entry.metric: float(entry.without[kind][number]) for entry in evaluation.metrics
            }
            head = {**_head(evaluation), "correlation": kind}
            yield {**head, "without": evaluation.systems[number], **columns}


def _score_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Return one row per system, best first, with the human and the metrics' scores."""
    for number in evaluation.order.tolist():
        columns = {entry.metric: float(entry.scores[number]) for entry in evaluation.metrics}
        human = float(evaluation.human_scores[number])
        yield {
            "benchmark": evaluation.benchmark,
            "system": evaluation.systems[number],
            f"human {evaluation.human}": human,
            **columns,
        }


def _test_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Return one row per pair of metrics and measure."""
    for test in evaluation.tests:
        yield {**_head(evaluation), **asdict(test)}


_TABLES: Mapping[str, Callable[[Evaluation], Iterator[dict[str, Any]]]] = {
    "measures": _measure_rows,
    "scores": _score_rows,
    "windows": _window_rows,
    "leave-one-out": _without_rows,
    "tests": _test_rows,
}


def _payload(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation's JSON object."""
    names = evaluation.systems

    def by_system(values: Any) -> dict[str, Any]:
        return dict(zip(names, values, strict=True))

    return {
        **_head(evaluation),
        "protocol": asdict(evaluation.protocol),
        "notices": evaluation.notices,
        "human_scores": by_system(evaluation.human_scores),
        "human_intervals": by_system(evaluation.human_intervals),
        "human_wins": by_system([by_system(row) for row in evaluation.human_wins]),
        "order": [names[number] for number in evaluation.order],
        "metrics": [
            {
                "metric": entry.metric,
                "sentinel": entry.sentinel,
                "signature": entry.signature,
                "scores": by_system(entry.scores),
                "score_intervals": by_system(entry.score_intervals),
                "measures": {name: asdict(value) for name, value in entry.estimates.items()},
                "windows": entry.windows,
                "window_intervals": entry.window_intervals,
                "without": {kind: by_system(values) for kind, values in entry.without.items()},
            }
            for entry in evaluation.metrics
        ],
        "tests": [asdict(test) for test in evaluation.tests],
    }
