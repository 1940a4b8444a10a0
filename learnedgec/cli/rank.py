"""`learnedgec rank`: a ranking of systems, with intervals, clusters and significance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jsonargparse import ArgumentParser, Namespace

from learnedgec.analysis.aggregation import Aggregation
from learnedgec.analysis.ranking import (
    ABOUT_CLUSTERS,
    ABOUT_RANKS,
    Significance,
    SystemRanking,
    rank_systems,
)
from learnedgec.cli import flags, output
from learnedgec.cli.inputs import add_scoring, read_scoring
from learnedgec.metrics.labels import is_sentinel, short_labels
from learnedgec.plotting.scores import plot_ranking
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
    parser = flags.make_parser(
        "rank", "Rank systems by any metric, with intervals, clusters and significance."
    )
    add_scoring(parser)
    flags.add_fields(parser, _Ranking, title="ranking")
    flags.add_evaluation(parser, many_tests=True)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = output.with_format(build_parser().parse_args(list(arguments)))
    scoring = read_scoring(options)
    rankings = [
        rank_systems(
            metric,
            statistics,
            by=options.by,
            significance=options.significance,
            **flags.read_resampling(options),
            signature=scoring.signatures[metric.label],
        )
        for metric, statistics in scoring.statistics()
    ]
    if options.plot:
        for ranking in rankings:
            output.tell_written(plot_ranking(ranking, options.plot), options)
    for_readers = [row for ranking in rankings for row in _rows_for_readers(ranking, options)]
    ranks = options.show == "ranking"
    output.emit(
        [
            {**row, "signature": ranking.signature}
            for ranking in rankings
            for row in _rows(ranking, options.show)
        ],
        options,
        payload={"rankings": [ranking.to_dict() for ranking in rankings]},
        caption=_caption(rankings, options),
        table_rows=for_readers,
        latex_rows=[_row_for_paper(row, options) for row in for_readers] if ranks else None,
        groups=("metric",),
        metrics=scoring.labels,
        notes=[_legend(rankings, options)] if ranks else [],
        signatures=[ranking.signature for ranking in rankings],
    )
    systems = len(scoring.inputs.systems)
    pairs = systems * (systems - 1) // 2
    for message in too_few_resamples(pairs, rankings[0].resamples, options.confidence):
        output.notice(message)


def _rows(ranking: SystemRanking, show: str) -> list[dict[str, Any]]:
    """Return a row for each system, best first."""
    rows: list[dict[str, Any]] = []
    for number in ranking.order:
        row: dict[str, Any] = {"metric": ranking.metric, "system": ranking.systems[number]}
        if show == "ranking":
            best, worst = ranking.ranges[number].tolist()
            low, high = ranking.intervals[number].tolist()
            row["cluster"] = int(ranking.cluster[number])
            row["ranks"] = str(best) if best == worst else f"{best}–{worst}"
            row |= {"score": float(ranking.scores[number]), "low": low, "high": high}
            row["beats"] = len(ranking.beaten(number))
        else:
            values = (ranking.wins if show == "wins" else ranking.adjusted)[number].tolist()
            for other in ranking.order:
                row[ranking.systems[other]] = values[other] if other != number else None
        rows.append(row)
    return rows


def _rows_for_readers(ranking: SystemRanking, options: Namespace) -> list[dict[str, Any]]:
    """Return the rows with scores in bold if no other is significantly better.

    A sentinel has none: its highest score is not the best. A metric that is alone is not named.
    """
    rows = _rows(ranking, options.show)
    for number, row in zip(ranking.order, rows, strict=True):
        if "score" in row and number in ranking.best and not is_sentinel(ranking.metric):
            row["score"] = output.Bold(row["score"])
        if len(options.metric) == 1:
            del row["metric"]
    return rows


def _row_for_paper(row: dict[str, Any], options: Namespace) -> dict[str, Any]:
    """Return the row with the interval in one cell."""
    interval = f"{options.confidence:.0%} interval"
    row = {**row, interval: f"[{row['low']:.4f}, {row['high']:.4f}]"}
    order = ("metric", "system", "score", interval, "cluster", "ranks", "beats")
    return {column: row[column] for column in order if column in row}


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
    return head + output.explain_bold(bold, labels)


def _legend(rankings: Sequence[SystemRanking], options: Namespace) -> str:
    """Return what the columns mean."""
    bold = " In bold: the best and those not significantly worse."
    test = options.significance.replace("-", " ")
    labels = [ranking.metric for ranking in rankings]
    return (
        f"low, high: {options.confidence:.0%} interval of the score by bootstrap over sentences "
        f"({rankings[0].resamples:,} resamples), for each system alone: the intervals of two systems may "
        f"overlap although their difference is significant. beats: number of significantly worse systems "
        f"({test}, Holm's correction for all pairs, p < {1 - options.confidence:.2g}); cluster and ranks "
        f"follow from the same tests. {ABOUT_CLUSTERS} {ABOUT_RANKS}"
        + (output.explain_bold(bold, labels) if output.shows_bold(options) else "")
    )
