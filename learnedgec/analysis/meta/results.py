"""Results of meta-evaluations, and their tables: measures, systems' scores and ranks, correlations, tests.

Programs get a row for each value. Readers see the values of metrics, or of measures, beside each other.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from learnedgec.analysis.meta.measures import Leader, Measurement, Protocol, measure_name
from learnedgec.metrics.tuned import TRAINED_MARK, TUNED_MARK
from learnedgec.stats.correlation import rank_distance, ranks
from learnedgec.table import Column, For, Row, Table, interval_cell
from learnedgec.types import Floats, Indices

Show: TypeAlias = Literal[
    "measures", "scores", "ranks", "windows", "best", "leave-one-out", "tests"
]
"""The tables of a meta-evaluation (`table_of`)."""

Over: TypeAlias = Literal["systems", "sentences"]
"""What the interval resamples that readers see."""

MEASURES = (
    "pearson",
    "spearman",
    "sentence_accuracy",
    "sentence_accuracy_equal_edits",
    "segment_pearson",
    "grouped_kendall",
)
"""The measures that readers see by default; a terminal has room for four."""

_P_VALUES = {
    "perm_both": "PERM-BOTH",
    "perm_systems": "PERM-SYS",
    "williams": "Williams",
}

# Units that measures count, the same for every metric.
_UNITS = ("systems", "comparisons", "outputs", "sources")


@dataclass(frozen=True, slots=True)
class Curve:
    """The correlations of a metric with people within several sets of the systems.

    Attributes:
        values: float64 (W,).
        intervals: float64 (W, 2), by bootstrap over sentences.
    """

    values: Floats
    intervals: Floats


@dataclass(frozen=True, slots=True)
class MetricEvaluation:
    """The results of one metric.

    Attributes:
        metric: the label of the metric.
        sentinel: whether the metric is one of `SENTINELS`.
        signature: the signature of the metric, the benchmark and the protocol.
        scores: float64 (S,), the systems' scores.
        sentences: float64 (S, N), the score of each sentence of each system.
        score_intervals: float64 (S, 2), by bootstrap over sentences.
        estimates: measure -> its estimate.
        windows: correlation -> its values within each window, from the best systems on.
        best: correlation -> its values among the K best systems, for K from 4 to S.
        without: correlation -> float64 (S,), its value without each system in turn.
        tuned_here: the number of the benchmark's sentences on which the metric was tuned.
        trained_here: whether one of the metric's evaluators was trained on the benchmark's data.
    """

    metric: str
    sentinel: bool
    signature: str
    scores: Floats
    sentences: Floats
    score_intervals: Floats
    estimates: Mapping[str, Measurement]
    windows: Mapping[str, Curve]
    best: Mapping[str, Curve]
    without: Mapping[str, Floats]
    tuned_here: int = 0
    trained_here: bool = False


@dataclass(frozen=True, slots=True)
class MetricTest:
    """A test of the difference of two metrics by one measure; every p-value is two-sided.

    Each test is corrected by Holm's method for the pairs of metrics that are compared by its measure.

    Attributes:
        measure: `pearson`, `sentence_accuracy` or `segment_pearson`.
        better: label of the metric with the larger value.
        worse: label of the other metric.
        difference: the difference of their values.
        perm_both: p-value of PERM-BOTH on the metrics' sentence scores or their means, which asks whether the
            two are interchangeable on these outputs.
        perm_both_adjusted: `perm_both` after Holm's correction.
        perm_systems: p-value of PERM-SYS, which asks whether the difference holds for other systems; it is at
            least 2/2^S.
        perm_systems_adjusted: `perm_systems` after Holm's correction.
        williams: p-value of Williams' test for correlations of systems; NaN otherwise.
        williams_adjusted: `williams` after Holm's correction.
    """

    measure: str
    better: str
    worse: str
    difference: float
    perm_both: float
    perm_systems: float
    williams: float
    perm_both_adjusted: float = float("nan")
    perm_systems_adjusted: float = float("nan")
    williams_adjusted: float = float("nan")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Metrics meta-evaluated on one benchmark against one human score.

    Attributes:
        benchmark: its name.
        human: the name of the human score.
        systems: names of the S systems.
        human_scores: float64 (S,).
        human_intervals: float64 (S, 2), by bootstrap over sentences; NaN if only the published values are
            known.
        order: int (S,), the systems from best to worst, by human score.
        human_p_values: float64 (S,), two-sided, of the difference of each system from people's best, by
            permutation within sentences and after Holm's correction; NaN for the best itself, and if only the
            published values are known.
        human_wins: float64 (S, S), the share of human comparisons, ties included, that the row's system won
            against the column's; NaN if there are no comparisons.
        metrics: one entry per metric, sentinels last.
        leaders: measure -> the metric that agrees best with people by it, for `pearson`,
            `sentence_accuracy` and `segment_pearson`, if the benchmark has them.
        tests: the tests between pairs of metrics, if requested.
        protocol: the settings of the evaluation.
        notices: caveats for a reader, one sentence each.
        human_common: float64 (S,), the human scores on the sentences on which all systems were rated, NaN if
            there are none; `None` if all systems were rated on the same sentences.

    Example:
        >>> from learnedgec import evaluate, load_benchmark
        >>> evaluation = evaluate("gleu(iterations=1)", load_benchmark("sample"))
        >>> row = evaluation.table("ranks").records()[0]
        >>> row["system"], row["human_rank"]
        ('strong', 1)
    """

    benchmark: str
    human: str
    systems: tuple[str, ...]
    human_scores: Floats
    human_intervals: Floats
    order: Indices
    human_p_values: Floats
    human_wins: Floats
    metrics: tuple[MetricEvaluation, ...]
    leaders: Mapping[str, Leader]
    tests: tuple[MetricTest, ...]
    protocol: Protocol
    notices: tuple[str, ...]
    human_common: Floats | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, with values of systems by the system's name."""
        content = dataclasses.asdict(self)
        names = content.pop("systems")

        def by_system(values: Any) -> dict[str, Any]:
            return dict(zip(names, values, strict=True))

        fields = ["human_scores", "human_intervals", "human_p_values"]
        if self.human_common is None:
            del content["human_common"]
        else:
            fields.append("human_common")
        content |= {name: by_system(content[name]) for name in fields}
        content["human_wins"] = by_system(map(by_system, self.human_wins))
        content["order"] = [names[number] for number in self.order]
        for entry in content["metrics"]:
            del entry["sentences"]
            entry["measures"] = entry.pop("estimates")
            entry |= {name: by_system(entry[name]) for name in ("scores", "score_intervals")}
            entry["without"] = {
                kind: by_system(values) for kind, values in entry["without"].items()
            }
        return content

    def table(
        self, show: Show = "measures", *, measures: Sequence[str] = MEASURES, over: Over = "systems"
    ) -> Table:
        """Return one of its tables; arguments are as for `table_of`."""
        return table_of([self], show, measures=measures, over=over)


def table_of(
    evaluations: Sequence[Evaluation],
    show: Show = "measures",
    *,
    measures: Sequence[str] = MEASURES,
    over: Over = "systems",
) -> Table:
    """Return one of the tables of meta-evaluations.

    Args:
        evaluations: the results, each of a benchmark, an aggregation and a human score.
        show: measures: each measure of each metric; scores: the systems' scores; ranks: the systems' ranks by
            people and by each metric, and their difference, metric less human; windows: correlations of
            neighbouring systems; best: of the K best; leave-one-out: without each system; tests: of pairs
            of metrics.
        measures: the measures that readers see.
        over: what the interval resamples that readers see; if it is missing, they see the other one.
    """
    if show == "measures":
        return _table_of_measures(evaluations, measures, over)
    rows, columns = _TABLES[show]
    title = ""
    if show == "tests":
        title = "Tests of pairs of metrics [two-sided p-values after Holm's correction]"
    return Table(
        [
            Column("benchmark"),
            Column("aggregation", varying=True),
            Column("human", varying=show in ("scores", "ranks")),
            *columns,
            *([] if show == "tests" else _MARKS),
        ],
        [{**_named(each), **row} for each in evaluations for row in rows(each)],
        title=title,
        caption=f"Metrics and human judgements: {show}.",
        groups=("benchmark", "aggregation", "human"),
        totals=[*_distances(evaluations)] if show == "ranks" else (),
    )


def computed_measures(evaluations: Sequence[Evaluation]) -> list[str]:
    """Return the names of the measures in the order in which they are computed."""
    entries = (entry for evaluation in evaluations for entry in evaluation.metrics)
    return list(dict.fromkeys(name for entry in entries for name in entry.estimates))


def mark(entry: MetricEvaluation) -> str:
    """Return the marks of a metric that was tuned or trained on data of the benchmark."""
    return _mark({"tuned_here": entry.tuned_here, "trained_here": entry.trained_here})


def measurement_cell(estimate: Measurement, over: Over, mark: str = "") -> str:
    """Return `0.886* [0.61, 0.97]`, with the interval asked for, or the other one if it is missing.

    Args:
        estimate: the measure of a metric.
        over: what the interval resamples.
        mark: a text after the value.
    """
    bounds = [estimate.over_systems, estimate.over_sentences]
    if over == "sentences":
        bounds.reverse()
    low, high = bounds[0] if not math.isnan(bounds[0][0]) else bounds[1]
    return interval_cell(estimate.value, low, high, mark=mark, digits=2)


def _named(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "benchmark": evaluation.benchmark,
        "aggregation": evaluation.protocol.aggregation,
        "human": evaluation.human,
    }


def _of_metric(entry: MetricEvaluation) -> dict[str, Any]:
    return {
        "metric": entry.metric,
        "tuned_here": entry.tuned_here,
        "trained_here": entry.trained_here,
    }


def _mark(row: Row) -> str:
    return TUNED_MARK * bool(row["tuned_here"]) + TRAINED_MARK * bool(row["trained_here"])


def _marked(row: Row) -> str:
    return str(row["metric"]) + _mark(row)


# -- measures --------------------------------------------------------------------------------------


def _table_of_measures(
    evaluations: Sequence[Evaluation], measures: Sequence[str], over: Over
) -> Table:
    """Return a row for each metric and measure; readers see a column for each measure."""
    rows = [
        {
            **_named(evaluation),
            **_of_metric(entry),
            "measure": measure,
            "value": estimate.value,
            "count": estimate.count,
            "unit": estimate.unit,
            "low_over_sentences": estimate.over_sentences[0],
            "high_over_sentences": estimate.over_sentences[1],
            "low_over_systems": estimate.over_systems[0],
            "high_over_systems": estimate.over_systems[1],
            "signature": entry.signature,
            "estimate": estimate,
        }
        for evaluation in evaluations
        for entry in evaluation.metrics
        for measure, estimate in entry.estimates.items()
    ]

    def unit(row: Row) -> str | None:
        of_few = row["measure"].endswith("_equal_edits")
        return None if of_few or row["measure"] == "tie_calibrated_accuracy" else row["unit"]

    def heading(row: Row) -> str | None:
        return measure_name(row["measure"]) if row["measure"] in measures else None

    columns = [
        Column("benchmark"),
        Column("aggregation", varying=True),
        Column("human"),
        Column("unit", audience=For.DATA),
        Column("count", unit, lambda row: f"{row['count']:,}"),
        Column("metric"),
        Column("measure", audience=For.DATA),
        Column("value", heading, lambda row: measurement_cell(row["estimate"], over, _mark(row))),
        *(
            Column(key, audience=For.DATA)
            for key in (
                *("low_over_sentences", "high_over_sentences"),
                *("low_over_systems", "high_over_systems"),
                *("tuned_here", "trained_here", "signature"),
            )
        ),
    ]
    level = f"{100 * evaluations[0].protocol.resampling.level:g}%"
    # Measures of comparisons or single outputs have intervals over sentences alone.
    kinds = "over systems, else over sentences" if over == "systems" else "over sentences"
    return Table(
        columns,
        rows,
        title=f"Agreement with people [{level} interval {kinds}]",
        caption=f"Agreement of metrics with human judgements, with {level} intervals {kinds}.",
        groups=("benchmark", "aggregation", "human", *_UNITS),
    )


# -- systems ---------------------------------------------------------------------------------------


def _score_rows(evaluation: Evaluation) -> Iterator[Row]:
    """Yield a row for each system, best first, and metric."""
    for number in evaluation.order.tolist():
        row = {
            "system": evaluation.systems[number],
            "human_score": float(evaluation.human_scores[number]),
        }
        if evaluation.human_common is not None:
            row["human_common"] = float(evaluation.human_common[number])
        for entry in evaluation.metrics:
            yield row | _of_metric(entry) | {"score": float(entry.scores[number])}


def _rank_rows(evaluation: Evaluation) -> Iterator[Row]:
    """Yield a row for each system, best first, and metric."""
    human = ranks(evaluation.human_scores).tolist()
    by_metric = [(entry, ranks(entry.scores).tolist()) for entry in evaluation.metrics]
    for number in evaluation.order.tolist():
        row = {"system": evaluation.systems[number], "human_rank": int(human[number])}
        for entry, own in by_metric:
            rank = int(own[number])
            yield (
                row | _of_metric(entry) | {"rank": rank, "difference": rank - int(human[number])}
            )


def _distances(evaluations: Sequence[Evaluation]) -> Iterator[Row]:
    """Yield each metric's Σ|Δ|, and to the nearest human rank where there are several human scores."""
    several: dict[Any, list[Evaluation]] = {}
    for evaluation in evaluations:
        key = evaluation.benchmark, evaluation.protocol.aggregation, evaluation.systems
        several.setdefault(key, []).append(evaluation)
        row = _named(evaluation) | {"system": "Σ|Δ|"}
        for entry in evaluation.metrics:
            distance = rank_distance(entry.scores, [evaluation.human_scores])
            yield row | _of_metric(entry) | {"difference": distance}
    for first, *others in several.values():
        if others:
            human = [evaluation.human_scores for evaluation in (first, *others)]
            names = ", ".join(evaluation.human for evaluation in (first, *others))
            row = _named(first) | {"human": None, "system": f"Σ|Δ| to the nearest of {names}"}
            for entry in first.metrics:
                distance = rank_distance(entry.scores, human)
                yield row | _of_metric(entry) | {"difference": distance}


# -- correlations and tests ------------------------------------------------------------------------


def _curve_rows(
    curves: Callable[[MetricEvaluation], Mapping[Any, Curve]], place: Callable[..., Row]
) -> Callable[[Evaluation], Iterator[Row]]:
    """Return a function that yields a row for each metric, correlation and set of systems."""

    def rows(evaluation: Evaluation) -> Iterator[Row]:
        for entry in evaluation.metrics:
            for kind, curve in curves(entry).items():
                numbers = zip(curve.values.tolist(), curve.intervals.tolist(), strict=True)
                for number, (value, (low, high)) in enumerate(numbers):
                    row = _of_metric(entry) | {"correlation": kind}
                    row |= place(evaluation, number, len(curve.values))
                    yield row | {"value": value, "low": low, "high": high}

    return rows


def _window(evaluation: Evaluation, number: int, count: int) -> Row:
    return {"window": f"{number + 1}-{number + evaluation.protocol.window}"}


def _number_of_best(evaluation: Evaluation, number: int, count: int) -> Row:
    return {"best": len(evaluation.systems) - count + number + 1}


def _without_rows(evaluation: Evaluation) -> Iterator[Row]:
    """Yield a row for each correlation, system left out, and metric."""
    for kind in ("pearson", "spearman"):
        for number in evaluation.order.tolist():
            row = {"correlation": kind, "without": evaluation.systems[number]}
            for entry in evaluation.metrics:
                yield row | _of_metric(entry) | {"value": float(entry.without[kind][number])}


def _test_rows(evaluation: Evaluation) -> Iterator[Row]:
    """Yield a row for each measure and pair of metrics."""
    marked = {entry.metric: _marked(_of_metric(entry)) for entry in evaluation.metrics}
    for test in evaluation.tests:
        yield asdict(test) | {"marked": (marked[test.better], marked[test.worse])}


_MARKS = (Column("tuned_here", audience=For.DATA), Column("trained_here", audience=For.DATA))
_ENDS = (Column("low", audience=For.DATA), Column("high", audience=For.DATA))

_TABLES: Mapping[str, tuple[Callable[[Evaluation], Iterator[Row]], Sequence[Column]]] = {
    "scores": (
        _score_rows,
        [
            Column("system"),
            Column("human_score", lambda row: f"human {row['human']}"),
            Column("human_common", "on common sentences"),
            Column("metric", audience=For.DATA),
            Column("score", _marked),
        ],
    ),
    "ranks": (
        _rank_rows,
        [
            Column("system"),
            Column("human_rank", lambda row: f"human {row['human']}"),
            Column("metric", audience=For.DATA),
            Column("rank", _marked),
            Column("difference", lambda row: f"Δ {_marked(row)}"),
        ],
    ),
    "windows": (
        _curve_rows(lambda entry: entry.windows, _window),
        [
            Column("metric", show=_marked),
            Column("correlation"),
            Column("window", audience=For.DATA),
            Column("value", lambda row: str(row["window"])),
            *_ENDS,
        ],
    ),
    "best": (
        _curve_rows(lambda entry: entry.best, _number_of_best),
        [
            Column("metric", show=_marked),
            Column("correlation"),
            Column("best", audience=For.DATA),
            Column("value", lambda row: f"best {row['best']}"),
            *_ENDS,
        ],
    ),
    "leave-one-out": (
        _without_rows,
        [
            Column("correlation"),
            Column("without"),
            Column("metric", audience=For.DATA),
            Column("value", _marked),
        ],
    ),
    "tests": (
        _test_rows,
        [
            Column("measure"),
            Column("better", show=lambda row: row["marked"][0]),
            Column("worse", show=lambda row: row["marked"][1]),
            Column("difference"),
            *(Column(key, audience=For.DATA) for key in _P_VALUES),
            *(Column(f"{key}_adjusted", heading) for key, heading in _P_VALUES.items()),
        ],
    ),
}
