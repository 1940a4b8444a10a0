"""`learnedgec rank`: a ranking of systems, with intervals, clusters and significance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli.inputs import add_input_arguments, read_inputs
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
from learnedgec.cli.output import (
    about_bold,
    add_output_arguments,
    emit,
    notice,
    remark,
    shows_bold,
    with_format,
)
from learnedgec.cli.table import Layout, Strong
from learnedgec.metrics.base import shared_statistics
from learnedgec.metrics.labels import is_sentinel, short_labels
from learnedgec.metrics.needs import check_metrics
from learnedgec.plotting.ranking import plot_ranking
from learnedgec.plotting.style import check_plotting
from learnedgec.ranking import (
    ABOUT_CLUSTERS,
    ABOUT_RANKS,
    Aggregation,
    Significance,
    SystemRanking,
    rank_systems,
)
from learnedgec.stats.significance import too_few_resamples


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec rank`."""
    parser = make_parser(
        "rank", "Rank systems by any metric, with intervals, clusters and significance."
    )
    add_metric_argument(parser)
    add_reannotate_argument(parser)
    add_input_arguments(parser)
    group = parser.add_argument_group("ranking")
    group.add_argument(
        "--by",
        choices=get_args(Aggregation),
        default="mean",
        help="the score to rank by; mean: the metric's corpus score; the others compare systems "
        "sentence by sentence",
    )
    group.add_argument(
        "--significance",
        choices=get_args(Significance),
        default="paired-bootstrap",
        help="test of the difference between two systems; paired-permutation needs --by mean",
    )
    group.add_argument(
        "--show",
        choices=("ranking", "wins", "p-values"),
        default="ranking",
        help="the table to print: the ranking, how often the row beats the column, or the p-value "
        "(after Holm's correction) of each difference; JSON has all of them",
    )
    add_resampling_arguments(parser, many_tests=True)
    add_plot_argument(parser)
    add_runtime_arguments(parser)
    add_output_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = with_format(build_parser().parse_args(list(arguments)))
    if options.plot:
        check_plotting(options.plot)
    metrics = read_metrics(options)
    runtime = read_runtime(options)
    inputs = read_inputs(options, metrics)
    check_metrics(metrics, runtime)
    rankings = []
    for metric, statistics in shared_statistics(
        metrics,
        lambda m: m.statistics_of_systems(
            inputs.sources, inputs.systems, inputs.references, runtime=runtime
        ),
    ):
        rankings.append(
            rank_systems(
                metric,
                statistics,
                by=options.by,
                significance=options.significance,
                resamples=options.resamples,
                level=options.confidence,
                seed=options.seed,
                signature=metric.signature(inputs.references, runtime=runtime),
            )
        )
    if options.plot:
        for ranking in rankings:
            for path in plot_ranking(ranking, options.plot):
                remark(f"wrote {path}", options)
    alone = len(rankings) == 1
    emit(
        [
            {**row, "signature": ranking.signature}
            for ranking in rankings
            for row in _rows(ranking, options.show)
        ],
        options,
        payload={"rankings": [ranking.to_dict() for ranking in rankings]},
        caption=_caption(rankings, options),
        table_rows=[
            {key: value for key, value in row.items() if key != "metric" or not alone}
            for ranking in rankings
            for row in _strong_rows(ranking, options.show)
        ],
        latex_rows=[
            _latex_row(ranking, number, row, options)
            for ranking in rankings
            for number, row in zip(ranking.order, _strong_rows(ranking, options.show), strict=True)
        ]
        if options.show == "ranking"
        else None,
        layout=Layout(
            groups=("metric",), keys=("system",), names=[ranking.metric for ranking in rankings]
        ),
        notes=[_legend(rankings, options)] if options.show == "ranking" else [],
        signatures=[ranking.signature for ranking in rankings],
    )
    pairs = len(inputs.systems) * (len(inputs.systems) - 1) // 2
    for message in too_few_resamples(pairs, rankings[0].resamples, options.confidence):
        notice(message)


def _caption(rankings: Sequence[SystemRanking], options: Namespace) -> str:
    """Return the caption of the table for a paper."""
    metrics = ", ".join(short_labels([ranking.metric for ranking in rankings]).values())
    if options.show != "ranking":
        what = (
            "share of sentences on which the row's system scores above the column's"
            if options.show == "wins"
            else f"p-value of each difference ({options.significance}, Holm's correction)"
        )
        return f"Systems by {metrics}: {what}."
    by = "" if options.by == "mean" else f" ({options.by})"
    bold = (
        f" Bold: the best score and those not significantly different from it "
        f"({options.significance.replace('-', ' ')}, {rankings[0].resamples:,} resamples, Holm's correction "
        "for all pairs of systems)."
    )
    return (
        f"Systems by {metrics}{by}, with {options.confidence:.0%} bootstrap intervals."
        + about_bold(bold, [ranking.metric for ranking in rankings])
    )


def _strong_rows(ranking: SystemRanking, show: str) -> list[dict[str, Any]]:
    """Return the rows for people, with the scores in bold that none is significantly better than.

    A sentinel has none: its highest score is not the best.
    """
    rows = _rows(ranking, show)
    if show == "ranking" and not is_sentinel(ranking.metric):
        for number, row in zip(ranking.order, rows, strict=True):
            if number in ranking.best:
                row["score"] = Strong(row["score"])
    return rows


def _latex_row(
    ranking: SystemRanking, number: int, row: dict[str, Any], options: Namespace
) -> dict[str, Any]:
    """Return a row for a paper: the system, its score and the interval."""
    low, high = ranking.intervals[number]
    return {
        **({"metric": row["metric"]} if len(options.metric) > 1 else {}),
        "system": row["system"],
        "score": row["score"],
        f"{options.confidence:.0%} interval": f"[{low:.4f}, {high:.4f}]",
        "cluster": row["cluster"],
        "ranks": row["ranks"],
        "beats": row["beats"],
    }


def _legend(rankings: Sequence[SystemRanking], options: Namespace) -> str:
    """Return what the columns mean."""
    ranking = rankings[0]
    bold = " In bold: the best and those not significantly worse."
    test = options.significance.replace("-", " ")
    return (
        f"low, high: {options.confidence:.0%} interval of the score by bootstrap over sentences "
        f"({ranking.resamples:,} resamples), for each system alone: the intervals of two systems may "
        f"overlap although their difference is significant. beats: number of significantly worse systems "
        f"({test}, Holm's correction for all pairs, p < {1 - options.confidence:.2g}); cluster and ranks "
        f"follow from the same tests. {ABOUT_CLUSTERS} {ABOUT_RANKS}"
        + (about_bold(bold, [each.metric for each in rankings]) if shows_bold(options) else "")
    )


def _rows(ranking: SystemRanking, show: str) -> list[dict[str, Any]]:
    """Return one row per system, best first."""
    rows = []
    for number in ranking.order:
        row: dict[str, Any] = {"metric": ranking.metric, "system": ranking.systems[number]}
        if show == "ranking":
            low, high = ranking.intervals[number]
            best, worst = ranking.ranges[number].tolist()
            row |= {
                "cluster": int(ranking.cluster[number]),
                "ranks": str(best) if best == worst else f"{best}–{worst}",
                "score": float(ranking.scores[number]),
                "low": float(low),
                "high": float(high),
                "beats": len(ranking.beaten(number)),
            }
        else:
            matrix = ranking.wins if show == "wins" else ranking.adjusted
            row |= {
                ranking.systems[other]: float(matrix[number, other]) if other != number else None
                for other in ranking.order
            }
        rows.append(row)
    return rows
