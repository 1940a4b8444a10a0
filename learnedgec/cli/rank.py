"""`learnedgec rank`: a ranking of systems, with intervals, clusters and significance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jsonargparse import Namespace

from learnedgec.analysis.aggregation import Aggregation, check_aggregation
from learnedgec.analysis.conclusions import guidance, leaders, undecided_rankings, used_tests
from learnedgec.analysis.ranking import (
    ABOUT_CLUSTERS,
    ABOUT_RANKS,
    Significance,
    SystemRanking,
    check_ranking,
    describe_p_value,
    rank_systems,
)
from learnedgec.cli import flags, inputs, output, tables
from learnedgec.metrics.bound import BoundMetric, short_labels
from learnedgec.metrics.sentinels import is_sentinel
from learnedgec.plotting.figures import plot_ranking
from learnedgec.scoring import bind_one
from learnedgec.stats.significance import describe_tests
from learnedgec.stats.skills import ORDERS
from learnedgec.table import Bold


@dataclass
class _Ranking:
    """Options of how to rank systems.

    Attributes:
        by: the score to rank by; mean: the metric's corpus score; the others compare systems sentence by
            sentence (default: mean, or with --pool trueskill).
        significance: test of the difference between two systems; paired-permutation needs --by mean.
    """

    by: Aggregation | None = None
    significance: Significance = "paired-bootstrap"


def run_rank(arguments: Sequence[str]) -> None:
    """Run the command."""
    about = "Rank systems by any metric, with intervals, clusters and significance."
    common = "src hyp ref gold metric baseline pool by format out"
    parser = flags.make_parser("rank", about, common)
    inputs.add_scoring(parser)
    flags.add_fields(parser, inputs.Baseline, inputs.Pool)
    flags.add_fields(parser, _Ranking, title="ranking")
    flags.add_evaluation(parser)
    options = output.with_format(parser.parse_args(arguments))
    options["by"] = options.by or ("trueskill" if options.pool else "mean")
    check_ranking(options.by, options.significance)
    task = inputs.read_task(options)
    check_aggregation(options.by, len(task.corpus.systems))
    signatures = task.signatures
    settings = {
        "baseline": task.baseline,
        "by": options.by,
        "significance": options.significance,
        "resampling": flags.read_resampling(options),
    }
    by_metric = {
        metric: rank_systems(metric, statistics, **settings, signature=signatures[metric.label])
        for metric, statistics in task.statistics()
    }
    rankings = list(by_metric.values())
    undecided = undecided_rankings(by_metric, task.corpus, **settings)
    if options.plot:
        for ranking in rankings:
            output.tell_written(plot_ranking(ranking, options.plot), options)
    advice = _guidance(task, {m: r for m, r in by_metric.items() if m.label not in undecided})
    for_readers = [row for ranking in rankings for row in _rows_for_readers(ranking, options)]
    output.emit(
        [row | {"signature": ranking.signature} for ranking in rankings for row in _rows(ranking)],
        options,
        payload={"rankings": [ranking.to_dict() for ranking in rankings], "guidance": advice},
        caption=_caption(rankings, options),
        table_rows=for_readers,
        latex_rows=[_row_for_paper(row, options) for row in for_readers],
        groups=("metric",),
        metrics=task.labels,
        # The finding in each piece of advice is a conclusion, and its consequence belongs to the notes.
        conclusions=list(
            filter(
                None,
                [
                    *(rankings[0].too_few or [leaders(rankings, undecided)]),
                    *(text.partition(". ")[0] + "." for text in advice),
                ],
            )
        ),
        notes=[*advice, _legend(rankings[0], options)],
        signatures=[ranking.signature for ranking in rankings],
    )
    if options.format in ("csv", "tsv"):
        output.notice(*rankings[0].too_few)


def _guidance(task: inputs.Task, rankings: Mapping[BoundMetric, SystemRanking]) -> list[str]:
    """Return where the metrics disagree or only count edits, and what follows (`guidance`)."""
    count = bind_one("edit-count")
    counts = count.compute(task.corpus).values()
    edits = np.array([count.metric.aggregate(rows) for rows in counts])
    return guidance(rankings, edits)


def _rows(ranking: SystemRanking) -> list[dict[str, Any]]:
    """Return a row for each system, best first: its place, or its difference from the baseline."""
    rows = []
    for number in ranking.order:
        low, high = ranking.intervals[number].tolist()
        name = {"metric": ranking.metric, "system": ranking.systems[number]}
        score = {"score": float(ranking.scores[number]), "low": low, "high": high}
        if ranking.baseline is None:
            cluster = int(ranking.cluster[number])
            place = {"cluster": cluster, "ranks": ranking.ranks_of(number)}
            rows.append({**name, **place, **score, "beats": len(ranking.beaten(number))})
            continue
        base = ranking.systems.index(ranking.baseline)
        difference = float(ranking.scores[number] - ranking.scores[base])
        tested = {
            "difference": difference,
            "p": float(ranking.p[number, base]),
            "p_adjusted": float(ranking.p_adjusted[number, base]),
            "test": str(ranking.tests[number, base]),
        }
        rows.append({**name, **score, **(dict.fromkeys(tested) if number == base else tested)})
    return rows


def _rows_for_readers(ranking: SystemRanking, options: Namespace) -> list[dict[str, Any]]:
    """Return the rows with p-values as papers write them, and the best scores in bold.

    These are the scores that no other is significantly better than or, with a baseline, those significantly
    above its score. A sentinel has none: its highest score is not the best. A metric that is alone is not
    named.
    """
    rows = _rows(ranking)
    base = ranking.systems.index(ranking.baseline) if ranking.baseline else None
    best = ranking.best if base is None else np.flatnonzero(ranking.better[:, base])
    for number, row in zip(ranking.order, rows, strict=True):
        if number in best and not is_sentinel(ranking.metric):
            row["score"] = Bold(row["score"])
        if base is not None:
            for name in ("p", "p_adjusted", "test"):
                del row[name]
            row.update(_tested(ranking, number, base))
        if len(options.metric) == 1:
            del row["metric"]
    return rows


def _tested(ranking: SystemRanking, number: int, base: int) -> dict[str, str]:
    """Return the p-values of a system against the baseline as papers write them, and the test."""
    test = str(ranking.tests[number, base])
    cells = {"p": "–", "p_adjusted": "–", "test": describe_tests([test]) if test else "–"}
    if number != base:
        p, p_adjusted = ranking.p[number, base], ranking.p_adjusted[number, base]
        for name, value in (("p", p), ("p_adjusted", p_adjusted)):
            words = describe_p_value(p, value, test, ranking.resampling)
            cells[name] = words.removeprefix("p ").removeprefix("= ")
    left_out = {
        *(["p_adjusted"] if ranking.comparisons == 1 else []),
        *(["test"] if len({*ranking.tests_run}) == 1 else []),
    }
    return {name: cell for name, cell in cells.items() if name not in left_out}


def _row_for_paper(row: dict[str, Any], options: Namespace) -> dict[str, Any]:
    """Return the row with the interval in one cell."""
    interval = f"{100 * options.confidence:g}% interval"
    bounds = f"[{row['low']:.4f}, {row['high']:.4f}]"
    row = {**row, interval: "–" if np.isnan(row["low"]) else bounds}
    order = ("metric", "system", "score", interval, "cluster", "ranks", "beats", "difference")
    tested = ("p", "p_adjusted", "test")
    return {column: row[column] for column in (*order, *tested) if column in row}


def _caption(rankings: Sequence[SystemRanking], options: Namespace) -> str:
    """Return the caption of the table for a paper."""
    labels = [ranking.metric for ranking in rankings]
    metrics = ", ".join(short_labels(labels).values())
    test = f"{used_tests(rankings)}, {rankings[0].resampling.resamples:,} resamples"
    tests = f"{test}{rankings[0].correction.replace(' after', ',')}"
    by = "" if options.by == "mean" else f" ({options.by})"
    best = "the best score and those not significantly different from it"
    if options.baseline:
        best = f"scores significantly above that of {rankings[0].baseline}"
    bold = f" Bold: {best} ({tests})."
    head = f"Systems by {metrics}{by}, with {100 * options.confidence:g}% bootstrap intervals."
    return head + tables.explain_bold(bold, labels)


def _legend(ranking: SystemRanking, options: Namespace) -> str:
    """Return what the columns mean."""
    test = f"{used_tests([ranking])}{ranking.correction.replace(' after', ',')}"
    follows = (
        f"beats: number of significantly worse systems ({test}, p < {1 - options.confidence:.2g}); cluster "
        f"and ranks follow from the same tests. {ABOUT_CLUSTERS} {ABOUT_RANKS}"
    )
    if ranking.baseline:
        follows = f"difference, p: from and against {ranking.baseline} ({test})."
    orders = ""
    if ranking.spread is not None:
        orders = (
            f"score: TrueSkill's skill, the mean of {ORDERS} random orders of the games; a single order "
            f"deviates from it by {ranking.spread.max():.3f} at most (standard deviation; --by "
            "trueskill-as-listed plays one, that of the files). "
        )
    return (
        f"{orders}low, high: {100 * options.confidence:g}% interval of the score by bootstrap over sentences "
        f"({options.resamples:,} resamples), for each system alone: the intervals of two systems may overlap "
        f"although their difference is significant. {follows}"
    )
