"""`learnedgec rank`: a ranking of systems, with intervals, clusters and significance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jsonargparse import Namespace

from learnedgec.analysis.aggregation import Aggregation, check_aggregation
from learnedgec.analysis.conclusions import guidance, leaders, undecided_rankings, used_tests
from learnedgec.analysis.ranking import (
    ABOUT_CLUSTERS,
    ABOUT_RANKS,
    SystemRanking,
    check_ranking,
    rank_systems,
)
from learnedgec.cli import flags, inputs, output, tables
from learnedgec.metrics.bound import BoundMetric, names_in_text, short_labels
from learnedgec.plotting.figures import plot_ranking
from learnedgec.scoring import bind_one
from learnedgec.stats.resampling import PairTest
from learnedgec.stats.skills import ORDERS
from learnedgec.table import Table


@dataclass
class _Ranking:
    """Options of how to rank systems.

    Attributes:
        by: the score to rank by; mean: the metric's corpus score; the others compare systems sentence by
            sentence (default: mean, or with --pool trueskill).
        significance: test of the difference between two systems; paired-permutation needs --by mean.
    """

    by: Aggregation | None = None
    significance: PairTest = "paired-bootstrap"


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
    resampling = replace(flags.read_resampling(options), test=options.significance)
    check_ranking(options.by, resampling)
    task = inputs.read_task(options)
    check_aggregation(options.by, len(task.corpus.systems))
    signatures = task.signatures
    resampling = replace(resampling, documents=task.corpus.documents)
    settings = {"baseline": task.baseline, "by": options.by, "resampling": resampling}
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
    table = Table.join([ranking.table() for ranking in rankings])
    output.emit_table(
        replace(table, caption=_caption(rankings, options), short=short_labels(task.labels)),
        options,
        details={
            "rankings": [
                {key: value for key, value in ranking.to_dict().items() if key != "rows"}
                for ranking in rankings
            ],
            "guidance": advice,
        },
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
        notes=[*advice, _legend(rankings, options)],
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


def _caption(rankings: Sequence[SystemRanking], options: Namespace) -> str:
    """Return the caption of the table for a paper."""
    labels = [ranking.metric for ranking in rankings]
    metrics = ", ".join(names_in_text(labels).values())
    test = f"{used_tests(rankings)}, {rankings[0].resampling.resamples:,} resamples"
    tests = f"{test}{rankings[0].correction.replace(' after', ',')}"
    by = "" if options.by == "mean" else f" ({options.by})"
    best = "the best score and those not significantly different from it"
    if options.baseline:
        best = f"scores significantly above that of {rankings[0].baseline}"
    bold = f" Bold: {best} ({tests})."
    head = f"Systems by {metrics}{by}, with {100 * options.confidence:g}% bootstrap intervals."
    return head + tables.explain_bold(bold, labels)


def _legend(rankings: Sequence[SystemRanking], options: Namespace) -> str:
    """Return what the columns mean."""
    ranking = rankings[0]
    test = f"{used_tests(rankings)}{ranking.correction.replace(' after', ',')}"
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
        f"{orders}low, high: {100 * options.confidence:g}% interval of the score by bootstrap over "
        f"{ranking.resampling.unit}s "
        f"({options.resamples:,} resamples), for each system alone: the intervals of two systems may overlap "
        f"although their difference is significant. {follows}"
    )
