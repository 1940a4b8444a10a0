"""`learnedgec rank`: a ranking of systems, with intervals, clusters and significance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jsonargparse import ArgumentParser, Namespace

from learnedgec.analysis.ranking import (
    ABOUT_CLUSTERS,
    ABOUT_RANKS,
    Aggregation,
    Significance,
    SystemRanking,
    rank_systems,
)
from learnedgec.cli.options import (
    add_evaluation_arguments,
    add_group,
    make_parser,
    read_resampling,
)
from learnedgec.cli.output import (
    emit,
    explain_bold,
    notice,
    shows_bold,
    tell_written,
    with_format,
)
from learnedgec.cli.scoring import add_scoring_arguments, read_scoring
from learnedgec.cli.table import Bold
from learnedgec.metrics.labels import is_sentinel, short_labels
from learnedgec.plotting.ranking import plot_ranking
from learnedgec.stats.significance import too_few_resamples


@dataclass
class _Ranking:
    """How systems are ranked.

    Attributes:
        by: the score to rank by; mean: the metric's corpus score; the others compare systems sentence by
            sentence.
        significance: test of the difference between two systems; paired-permutation needs --by mean.
        show: the table to print: the ranking, how often the row beats the column, or the p-value (after
            Holm's correction) of each difference; JSON has all of them.
    """

    by: Aggregation = "mean"
    significance: Significance = "paired-bootstrap"
    show: Literal["ranking", "wins", "p-values"] = "ranking"


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec rank`."""
    parser = make_parser(
        "rank", "Rank systems by any metric, with intervals, clusters and significance."
    )
    add_scoring_arguments(parser)
    add_group(parser, _Ranking, "ranking")
    add_evaluation_arguments(parser, many_tests=True)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = with_format(build_parser().parse_args(list(arguments)))
    scoring = read_scoring(options)
    rankings = [
        rank_systems(
            metric,
            statistics,
            by=options.by,
            significance=options.significance,
            **read_resampling(options),
            signature=scoring.signatures[metric.label],
        )
        for metric, statistics in scoring.statistics()
    ]
    if options.plot:
        for ranking in rankings:
            tell_written(plot_ranking(ranking, options.plot), options)
    _emit(rankings, options)
    systems = len(scoring.inputs.systems)
    pairs = systems * (systems - 1) // 2
    for message in too_few_resamples(pairs, rankings[0].resamples, options.confidence):
        notice(message)


def _emit(rankings: Sequence[SystemRanking], options: Namespace) -> None:
    """Print the table that was chosen."""
    rows = [
        {**_row(ranking, number, options.show), "signature": ranking.signature}
        for ranking in rankings
        for number in ranking.order
    ]
    ranks = options.show == "ranking"
    emit(
        rows,
        options,
        payload={"rankings": [ranking.to_dict() for ranking in rankings]},
        caption=_caption(rankings, options),
        table_rows=[
            _row_for_readers(ranking, number, options)
            for ranking in rankings
            for number in ranking.order
        ],
        latex_rows=[
            _row_for_paper(ranking, number, options)
            for ranking in rankings
            for number in ranking.order
        ]
        if ranks
        else None,
        groups=("metric",),
        metrics=[ranking.metric for ranking in rankings],
        notes=[_legend(rankings, options)] if ranks else [],
        signatures=[ranking.signature for ranking in rankings],
    )


def _row(ranking: SystemRanking, number: int, show: str) -> dict[str, Any]:
    """Return the row of a system."""
    row: dict[str, Any] = {"metric": ranking.metric, "system": ranking.systems[number]}
    if show != "ranking":
        matrix = ranking.wins if show == "wins" else ranking.adjusted
        return row | {
            ranking.systems[other]: float(matrix[number, other]) if other != number else None
            for other in ranking.order
        }
    low, high = ranking.intervals[number]
    best, worst = ranking.ranges[number].tolist()
    return row | {
        "cluster": int(ranking.cluster[number]),
        "ranks": str(best) if best == worst else f"{best}–{worst}",
        "score": float(ranking.scores[number]),
        "low": float(low),
        "high": float(high),
        "beats": len(ranking.beaten(number)),
    }


def _row_for_readers(ranking: SystemRanking, number: int, options: Namespace) -> dict[str, Any]:
    """Return the row with the score in bold if no other is significantly better.

    A sentinel has none: its highest score is not the best. A metric that is alone is not named.
    """
    row = _row(ranking, number, options.show)
    if "score" in row and number in ranking.best and not is_sentinel(ranking.metric):
        row["score"] = Bold(row["score"])
    if len(options.metric) == 1:
        del row["metric"]
    return row


def _row_for_paper(ranking: SystemRanking, number: int, options: Namespace) -> dict[str, Any]:
    """Return the row with the interval in one cell."""
    row = _row_for_readers(ranking, number, options)
    interval = f"[{row['low']:.4f}, {row['high']:.4f}]"
    columns = {**row, f"{options.confidence:.0%} interval": interval}
    order = (
        "metric",
        "system",
        "score",
        f"{options.confidence:.0%} interval",
        "cluster",
        "ranks",
        "beats",
    )
    return {column: columns[column] for column in order if column in columns}


def _caption(rankings: Sequence[SystemRanking], options: Namespace) -> str:
    """Return the caption of the table for a paper."""
    labels = [ranking.metric for ranking in rankings]
    metrics = ", ".join(short_labels(labels).values())
    if options.show == "wins":
        share = "share of sentences on which the row's system scores above the column's"
        return f"Systems by {metrics}: {share}."
    if options.show == "p-values":
        test = f"p-value of each difference ({options.significance}, Holm's correction)"
        return f"Systems by {metrics}: {test}."
    by = "" if options.by == "mean" else f" ({options.by})"
    bold = (
        f" Bold: the best score and those not significantly different from it "
        f"({options.significance.replace('-', ' ')}, {rankings[0].resamples:,} resamples, Holm's correction "
        "for all pairs of systems)."
    )
    head = f"Systems by {metrics}{by}, with {options.confidence:.0%} bootstrap intervals."
    return head + explain_bold(bold, labels)


def _legend(rankings: Sequence[SystemRanking], options: Namespace) -> str:
    """Return what the columns mean."""
    bold = " In bold: the best and those not significantly worse."
    test = options.significance.replace("-", " ")
    return (
        f"low, high: {options.confidence:.0%} interval of the score by bootstrap over sentences "
        f"({rankings[0].resamples:,} resamples), for each system alone: the intervals of two systems may "
        f"overlap although their difference is significant. beats: number of significantly worse systems "
        f"({test}, Holm's correction for all pairs, p < {1 - options.confidence:.2g}); cluster and ranks "
        f"follow from the same tests. {ABOUT_CLUSTERS} {ABOUT_RANKS}"
        + (explain_bold(bold, [r.metric for r in rankings]) if shows_bold(options) else "")
    )
