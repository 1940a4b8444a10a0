"""`learnedgec meta`: meta-evaluate metrics against human judgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jsonargparse import Namespace
from jsonargparse.typing import PositiveInt

from learnedgec.analysis.aggregation import Aggregation, check_aggregation
from learnedgec.analysis.conclusions import listed
from learnedgec.analysis.meta.agreement import Ties, default_human, judged
from learnedgec.analysis.meta.evaluation import (
    Scored,
    check_references,
    evaluate_metrics,
    with_sentinels,
)
from learnedgec.analysis.meta.measures import Protocol, measure_name, measures_of, swapped_unit
from learnedgec.analysis.meta.results import (
    MEASURES,
    Evaluation,
    Over,
    Show,
    computed_measures,
    mark,
    measurement_cell,
    table_of,
)
from learnedgec.cli import flags, output
from learnedgec.data.benchmarks import expand_benchmarks, load_benchmark
from learnedgec.data.benchmarks.base import Benchmark
from learnedgec.errors import InputError, UnknownNameError
from learnedgec.metrics.bound import BoundMetric, NamedMetric, short_labels
from learnedgec.plotting.figures import plot_evaluation
from learnedgec.runtime.runtime import Runtime
from learnedgec.stats.significance import format_p_value, is_significant, sentences_needed

# The tests of the best metric, by the unit whose scores they swap.
_TESTS = {"systems": "PERM-SYS", "sentences": "PERM-INPUT"}


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
    show: Show = "measures"
    measure: list[str] | None = None
    interval: Over = "systems"


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
    metrics = with_sentinels(metrics, runtime)
    for name, benchmark in benchmarks.items():
        results = [
            evaluate_metrics(metrics, benchmark, protocol, human, scored, runtime)
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
    computed = computed_measures(evaluations)
    named = computed if options.measure == ["all"] else options.measure or MEASURES
    measures = [name for name in computed if name in named]
    over = options.interval
    table = table_of(evaluations, options.show, measures=measures, over=over)
    rows, asked = table.rows, [metric.label for metric in metrics]
    if options.show == "measures" and options.format == "latex" and asked:
        # A paper has the sentinels if they are asked for.
        rows = [row for row in rows if row["metric"] in asked]
    conclusions = [output.TUNED_NOTE] if any(entry.tuned_here for entry in entries) else []
    conclusions += [output.TRAINED_NOTE] if any(entry.trained_here for entry in entries) else []
    if options.show == "measures":
        best = [_best(evaluation, measures, over) for evaluation in evaluations]
        conclusions = [*filter(None, best), *conclusions]
    output.emit_table(
        replace(table, rows=rows, short=short_labels(asked)),
        options,
        details={"evaluations": [evaluation.to_dict() for evaluation in evaluations]},
        conclusions=conclusions,
        signatures=[entry.signature for entry in entries if not entry.sentinel],
    )


def _best(evaluation: Evaluation, measures: Sequence[str], over: Over) -> str:
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
        entry.metric: f"{short[entry.metric]} {measurement_cell(estimates[entry.metric], over, mark(entry))}"
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
