"""`learnedgec meta`: meta-evaluate metrics against human judgements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal

from jsonargparse import Namespace
from jsonargparse.typing import PositiveInt

from learnedgec.analysis.aggregation import Aggregation, check_aggregation
from learnedgec.analysis.conclusions import listed
from learnedgec.analysis.meta.agreement import Ties, default_human, judged
from learnedgec.analysis.meta.evaluation import (
    Evaluation,
    MetricEvaluation,
    Scored,
    check_references,
    evaluate,
)
from learnedgec.analysis.meta.measures import (
    Measurement,
    Protocol,
    measure_name,
    measures_of,
    swapped_unit,
)
from learnedgec.cli import flags, output
from learnedgec.data.benchmarks import expand_benchmarks, load_benchmark
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.errors import InputError, UnknownNameError
from learnedgec.metrics.bound import BoundMetric, NamedMetric, short_labels
from learnedgec.metrics.tuned import TUNED_MARK
from learnedgec.plotting.figures import plot_evaluation
from learnedgec.runtime.runtime import Runtime
from learnedgec.stats.correlation import rank_distance, ranks
from learnedgec.stats.significance import format_p_value, is_significant, sentences_needed

# By default, the table has these measures, if the benchmark has judgements for them; it has room for four.
MEASURES = (
    "pearson",
    "spearman",
    "sentence_accuracy",
    "sentence_accuracy_equal_edits",
    "segment_pearson",
    "grouped_kendall",
)

# The p-values that readers see, which are corrected ones, and their headings.
_P_VALUES = {
    "perm_both_adjusted": "PERM-BOTH",
    "perm_systems_adjusted": "PERM-SYS",
    "williams_adjusted": "Williams",
}

# The tests of the best metric, by the unit whose scores they swap.
_TESTS = {"systems": "PERM-SYS", "sentences": "PERM-INPUT"}

_Table = Callable[[Evaluation], Iterator[dict[str, Any]]]

# Units that measures count, the same for every metric.
_UNITS = ("systems", "comparisons", "outputs", "sources")


@dataclass
class _Evaluation:
    """Options of what to compare metrics with and how, and what to print.

    Attributes:
        benchmark: seeda (both seeda-s and seeda-e), gjg15, gmeg:fce, tmu-gfm, jfleg:FOLDER, sample, …, with
            options such as seeda-s:+fluency; or a folder with your own benchmark, FOLDER, or a half of it,
            FOLDER:test; or a table (.csv, .tsv, .jsonl, .parquet) of outputs with the columns source,
            hypothesis, system and one for each rated dimension, or rank, or with the columns source and
            outputs, and best, worst or ranks.
        columns: the names of columns of the table, such as {source: learner, fluency: [rater_1, rater_2]}
            or {outputs: [prod_a, prod_b], best: winner}.
        human: human scores: EW (expected wins), TS (TrueSkill), a rated dimension or a published score
            (default: TS if published, else EW, else every dimension).
        aggregation: how a metric's sentence scores become a system's score, one or several (default: mean,
            the metric's corpus score).
        ties: how Kendall's tau counts a tie of the metric: as neither right nor wrong (symmetric), or, as in
            SEEDA's script, as a loss of the system listed first (official).
        window: number of neighbouring systems in a window.
        tests: test each pair of metrics for a difference (PERM-BOTH, PERM-SYS, Williams; two-sided).
        show: the table to print; JSON has all of them. best: the correlation among the K best systems; ranks:
            each system's rank by people and by each metric, the difference Δ, and its sum over systems; with
            several --human scores also the sum of the distances to the nearest of their ranks.
        measure: columns of --show measures; all: every measure.
        interval: whether the interval shown resamples systems (if there is such an interval) or sentences.
    """

    benchmark: list[str] | None = None
    columns: dict[str, Any] | None = None
    human: list[str] | None = None
    aggregation: list[Aggregation] | None = None
    ties: Ties = "symmetric"
    window: PositiveInt = 8
    tests: bool = False
    show: Literal["measures", "scores", "ranks", "windows", "best", "leave-one-out", "tests"] = (
        "measures"
    )
    measure: list[str] | None = None
    interval: Literal["systems", "sentences"] = "systems"


def run_meta(arguments: Sequence[str]) -> None:
    """Run the command."""
    parser = flags.make_parser(
        "meta",
        "Meta-evaluate metrics against human judgements. The sentinels (edit-count, length, constant, "
        "random) are always included; a metric's agreement is evidence of quality only if it exceeds theirs.",
        common="metric benchmark human aggregation measure interval show tests format out",
    )
    flags.add_metrics(parser, reannotate=True)
    flags.add_fields(parser, _Evaluation, title="meta-evaluation")
    flags.add_evaluation(parser)
    options = output.with_format(parser.parse_args(arguments))
    flags.require(options, benchmark="seeda")
    resampling = flags.read_resampling(options)
    tests = options.tests or options.show == "tests"
    protocols = [
        Protocol(aggregation, options.ties, options.window, resampling, tests)
        for aggregation in options.aggregation or ["mean"]
    ]
    benchmarks = {
        name: load_benchmark(name, options.columns)
        for name in dict.fromkeys(expand_benchmarks(options.benchmark))
    }
    named = flags.read_metrics(options) if options.metric else []
    _check(options, named, benchmarks)
    metrics = flags.read_bound(options) if named else []
    runtime = metrics[0].runtime if metrics else flags.read_runtime(options)
    evaluations = _evaluate(options, metrics, benchmarks, protocols, runtime)
    if options.plot:
        for evaluation in evaluations:
            output.tell_written(plot_evaluation(evaluation, options.plot), options)
    _emit(evaluations, metrics, options)


def _check(
    options: Namespace, metrics: Sequence[NamedMetric], benchmarks: Mapping[str, Benchmark]
) -> None:
    """Check human scores, measures, references and numbers of systems before a model is loaded."""
    systems, measures = 0, dict[str, None]()
    for benchmark in benchmarks.values():
        for metric in metrics:
            check_references(metric, benchmark)
        for human in options.human or default_human(benchmark):
            chosen = judged(benchmark, human)
            systems = max(systems, len(chosen.systems))
            measures |= dict.fromkeys(measures_of(chosen, human))
            for aggregation in options.aggregation or ():
                check_aggregation(aggregation, len(chosen.systems))
    if options.tests and options.show != "tests" and options.format != "json":
        raise InputError(
            "--tests adds tests to the JSON, and this output has none; give --format json, or --show tests "
            "for a table of them."
        )
    for name in options.measure or ():
        if name not in ("all", *measures):
            raise UnknownNameError(f"measure of {listed(list(benchmarks))}", name, measures)
    if options.show == "windows" and systems < options.window:
        raise InputError(
            f"--show windows was given for {systems} systems, and a window has {options.window}; give a "
            "smaller --window."
        )


def _evaluate(
    options: Namespace,
    metrics: Sequence[BoundMetric],
    benchmarks: Mapping[str, Benchmark],
    protocols: Sequence[Protocol],
    runtime: Runtime,
) -> list[Evaluation]:
    """Return an evaluation for each benchmark, human score and aggregation; print each notice once."""
    evaluations, scored = [], Scored()
    for name, benchmark in benchmarks.items():
        results = [
            evaluate(metrics, benchmark, protocol, human=human, runtime=runtime, scored=scored)
            for human in options.human or default_human(benchmark)
            for protocol in protocols
        ]
        messages = [message for evaluation in results for message in evaluation.notices]
        output.notice_daily(*(f"{name}: {message}" for message in dict.fromkeys(messages)))
        evaluations += results
    return evaluations


def _emit(
    evaluations: Sequence[Evaluation], metrics: Sequence[BoundMetric], options: Namespace
) -> None:
    """Print the table that was chosen."""
    entries = [entry for evaluation in evaluations for entry in evaluation.metrics]
    several = len(options.aggregation or ()) > 1

    def rows_of(table: _Table) -> list[dict[str, Any]]:
        # The columns that tell evaluations apart come first.
        return [
            {"benchmark": evaluation.benchmark}
            | ({"aggregation": evaluation.protocol.aggregation} if several else {})
            | row
            for evaluation in evaluations
            for row in table(evaluation)
        ]

    rows = rows_of(_TABLES[options.show])
    if options.show == "ranks":
        rows += _nearest_rows(evaluations)
    marks = [output.TUNED_NOTE] if any(entry.tuned_here for entry in entries) else []
    marks += [output.TRAINED_NOTE] if any(entry.trained_here for entry in entries) else []
    table: dict[str, Any] = {"caption": f"Metrics and human judgements: {options.show}."}
    if options.show == "measures":
        level, over = f"{100 * options.confidence:g}%", options.interval
        measures = _measures(options.measure, entries)
        # Measures of comparisons or single outputs have intervals over sentences alone.
        kinds = "over systems, else over sentences" if over == "systems" else "over sentences"
        table_rows = rows_of(partial(_wide, measures=measures, over=over))
        asked = {metric.label for metric in metrics}
        table = {
            "title": f"Agreement with people [{level} interval {kinds}]",
            "caption": f"Agreement of metrics with human judgements, with {level} intervals {kinds}.",
            "table_rows": table_rows,
            "latex_rows": [row for row in table_rows if not asked or row["metric"] in asked],
        }
        best = [_best(evaluation, measures, over) for evaluation in evaluations]
        marks = [*filter(None, best), *marks]
    elif options.show == "tests":
        shown = ("benchmark", "human", "measure", "better", "worse", "difference", *_P_VALUES)
        table["title"] = "Tests of pairs of metrics [two-sided p-values after Holm's correction]"
        table["table_rows"] = [{_P_VALUES.get(key, key): row[key] for key in shown} for row in rows]
    output.emit(
        rows,
        options,
        payload={"evaluations": [evaluation.to_dict() for evaluation in evaluations]},
        groups=("benchmark", "aggregation", "human", *_UNITS),
        metrics=[metric.label for metric in metrics],
        conclusions=marks,
        signatures=[entry.signature for entry in entries if not entry.sentinel],
        **table,
    )


def _measures(named: Sequence[str] | None, entries: Sequence[MetricEvaluation]) -> list[str]:
    """Return the measures to show, in the order in which they are computed."""
    computed = list(dict.fromkeys(name for entry in entries for name in entry.estimates))
    if named == ["all"]:
        return computed
    return [name for name in computed if name in (named or MEASURES)]


def _wide(evaluation: Evaluation, measures: Sequence[str], over: str) -> Iterator[dict[str, Any]]:
    """Yield one row per metric with a column per measure, for readers."""
    for entry in evaluation.metrics:
        counts = {
            estimate.unit: f"{estimate.count:,}"
            for name, estimate in entry.estimates.items()
            if not name.endswith("_equal_edits") and name != "tie_calibrated_accuracy"
        }
        cells = {
            measure_name(name): _cell(estimate, over, _mark(entry))
            for name in measures
            if (estimate := entry.estimates.get(name))
        }
        yield {"human": evaluation.human, **counts, "metric": entry.metric, **cells}


def _best(evaluation: Evaluation, measures: Sequence[str], over: str) -> str:
    """Return which metric and which sentinel agree best, by the measure that counts most judgements."""
    counts = [
        (entry.estimates[name].count, name)
        for name in measures
        for entry in evaluation.metrics
        if name in ("sentence_accuracy", "segment_pearson", "pearson") and name in entry.estimates
    ]
    if not counts:
        return ""
    count, measure = max(counts)
    where, level = (
        f"{evaluation.benchmark}, {evaluation.human}",
        evaluation.protocol.resampling.level,
    )
    if count < (needed := sentences_needed(1, level)):
        unit = evaluation.metrics[0].estimates[measure].unit
        return (
            f"{where}: too few {unit} ({count}) to say anything about the metrics; with {needed} or more, a "
            "difference can be significant."
        )
    leader = evaluation.leaders.get(measure)
    if leader is None or not leader.sentinel:
        return ""
    short = short_labels([entry.metric for entry in evaluation.metrics])
    estimates = {entry.metric: entry.estimates[measure] for entry in evaluation.metrics}
    cells = {
        entry.metric: f"{short[entry.metric]} {_cell(estimates[entry.metric], over, _mark(entry))}"
        for entry in evaluation.metrics
    }
    estimate, sentinel = estimates[leader.metric], cells[leader.sentinel]
    best = [
        entry.metric
        for entry in evaluation.metrics
        if not entry.sentinel and estimates[entry.metric].value == estimate.value
    ]
    named = listed([cells[metric] for metric in best])
    if estimate.value > estimates[leader.sentinel].value:
        verb = "metrics are" if len(best) > 1 else "metric is"
        conclusion = f"the best {verb} {named}, and the best sentinel is {sentinel}."
    else:
        conclusion = (
            f"no metric is better than the best sentinel, {sentinel}; the nearest: {named}."
        )
    rivals = [
        f"{short[rival]} ({format_p_value(p_value, level)})"
        for rival, p_value in leader.p_values.items()
        if not is_significant(p_value, level) and rival not in best
    ]
    if rivals:
        best_name = short[leader.metric]
        test = _TESTS[swapped_unit(measure)]
        conclusion += (
            f" By {test}, {count:,} {estimate.unit} cannot tell {best_name} from {listed(rivals)}."
        )
    return f"{where}: by {measure_name(measure)}, {conclusion}"


def _cell(estimate: Measurement, over: str, mark: str) -> str:
    """Return `0.886* [0.61, 0.97]`, with the interval asked for, or the other one if it is missing."""
    if math.isnan(estimate.value):
        return "–"
    intervals = [estimate.over_systems, estimate.over_sentences]
    if over == "sentences":
        intervals.reverse()
    low, high = intervals[0] if not math.isnan(intervals[0][0]) else intervals[1]
    value = f"{estimate.value:.3f}{mark}"
    return value if math.isnan(low) else f"{value} [{low:.2f}, {high:.2f}]"


# -- tables for programs, without the benchmark's column -------------------------------------------


def _mark(entry: MetricEvaluation) -> str:
    """Return the marks of a metric that was tuned or trained on data of the benchmark."""
    tuned = TUNED_MARK if entry.tuned_here else ""
    return tuned + (output.TRAINED_MARK if entry.trained_here else "")


def _marked(entry: MetricEvaluation) -> str:
    return entry.metric + _mark(entry)


def _measure_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield one row per metric and measure."""
    for entry in evaluation.metrics:
        for measure, estimate in entry.estimates.items():
            yield {
                "human": evaluation.human,
                "metric": entry.metric,
                "measure": measure,
                "value": estimate.value,
                "count": estimate.count,
                "unit": estimate.unit,
                "tuned_here": entry.tuned_here,
                "trained_here": entry.trained_here,
                "low_over_sentences": estimate.over_sentences[0],
                "high_over_sentences": estimate.over_sentences[1],
                "low_over_systems": estimate.over_systems[0],
                "high_over_systems": estimate.over_systems[1],
                "signature": entry.signature,
            }


def _curve_rows(evaluation: Evaluation, *, best: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one row per metric and correlation with a column per window, or per number of best systems."""
    systems, width = len(evaluation.systems), evaluation.protocol.window
    for entry in evaluation.metrics:
        for kind, curve in (entry.best if best else entry.windows).items():
            row: dict[str, Any] = {"human": evaluation.human, "metric": _marked(entry)}
            row["correlation"] = kind
            for place, value in enumerate(curve.values.tolist(), 1):
                window = f"{place}-{place + width - 1}"
                row[f"best {systems - len(curve.values) + place}" if best else window] = value
            yield row


def _without_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield one row per system left out with a column per metric."""
    for kind in ("pearson", "spearman"):
        for number in evaluation.order.tolist():
            row: dict[str, Any] = {"human": evaluation.human, "correlation": kind}
            row["without"] = evaluation.systems[number]
            yield row | {_marked(e): float(e.without[kind][number]) for e in evaluation.metrics}


def _score_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield one row per system, best first, with the human and the metrics' scores."""
    for number in evaluation.order.tolist():
        row: dict[str, Any] = {"system": evaluation.systems[number]}
        row[f"human {evaluation.human}"] = float(evaluation.human_scores[number])
        if evaluation.human_common is not None:
            row["on common sentences"] = float(evaluation.human_common[number])
        yield row | {_marked(entry): float(entry.scores[number]) for entry in evaluation.metrics}


def _rank_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield one row per system, best first, with its ranks and each Δ, metric less human; then Σ|Δ|."""
    human = ranks(evaluation.human_scores)
    by_metric = {_marked(entry): ranks(entry.scores) for entry in evaluation.metrics}
    sums = dict.fromkeys(by_metric, 0)
    for number in evaluation.order.tolist():
        row: dict[str, Any] = {"system": evaluation.systems[number]}
        row[f"human {evaluation.human}"] = int(human[number])
        for metric, own_ranks in by_metric.items():
            change = int(own_ranks[number] - human[number])
            sums[metric] += abs(change)
            row |= {metric: int(own_ranks[number]), f"Δ {metric}": change}
        yield row
    yield {"system": "Σ|Δ|", **{f"Δ {metric}": total for metric, total in sums.items()}}


def _nearest_rows(evaluations: Sequence[Evaluation]) -> Iterator[dict[str, Any]]:
    """Yield Σ|Δ| to the nearest human rank for benchmarks of which several human scores were given."""
    several: dict[Any, list[Evaluation]] = {}
    for evaluation in evaluations:
        key = evaluation.benchmark, evaluation.protocol.aggregation, evaluation.systems
        several.setdefault(key, []).append(evaluation)
    for first, *others in several.values():
        if others:
            human = [evaluation.human_scores for evaluation in (first, *others)]
            names = ", ".join(evaluation.human for evaluation in (first, *others))
            yield {
                "benchmark": first.benchmark,
                "system": f"Σ|Δ| to the nearest of {names}",
                **{f"Δ {_marked(e)}": rank_distance(e.scores, human) for e in first.metrics},
            }


def _test_rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    """Yield one row per pair of metrics and measure."""
    labels = {entry.metric: _marked(entry) for entry in evaluation.metrics}
    for test in evaluation.tests:
        row = {"human": evaluation.human, **asdict(test)}
        yield row | {"better": labels[test.better], "worse": labels[test.worse]}


_TABLES: Mapping[str, _Table] = {
    "measures": _measure_rows,
    "scores": _score_rows,
    "ranks": _rank_rows,
    "windows": _curve_rows,
    "best": partial(_curve_rows, best=True),
    "leave-one-out": _without_rows,
    "tests": _test_rows,
}
