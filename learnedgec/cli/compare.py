"""`learnedgec compare`: differences from a baseline, with intervals, tests and a sentence for a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from learnedgec.analysis.comparison import BaselineComparison, compare_systems
from learnedgec.cli import flags, inputs, output
from learnedgec.metrics.scores import is_sentinel, short_labels
from learnedgec.stats.significance import describe_test, too_few_resamples, too_few_sentences


@dataclass
class _Comparison(inputs.Baseline):
    """The baseline, and what p-values are corrected for.

    Attributes:
        all_pairs: correct p-values for all pairs of systems, as `rank` and `report` do without a baseline,
            and not for the comparisons with the baseline alone.
    """

    all_pairs: bool = False


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    about = "Compare systems with a baseline by one or more metrics."
    parser = flags.make_parser("compare", about)
    flags.add_fields(parser, _Comparison)
    inputs.add_scoring(parser)
    flags.add_evaluation(parser, plot=False)
    options = output.with_format(parser.parse_args(arguments))
    flags.require(options, baseline="old.txt")
    task = inputs.read_task(options)
    baseline, *_ = task.inputs.systems
    rows: list[BaselineComparison] = []
    table_rows: list[dict[str, Any]] = []
    for metric, statistics in task.statistics():
        resampling = flags.read_resampling(options)
        compared = compare_systems(
            metric, statistics, baseline, all_pairs=options.all_pairs, **resampling
        )
        rows += compared
        table_rows += _table_rows(compared, alone=len(task.metrics) == 1)
    first, names = rows[0], short_labels(task.labels)
    test = f"|test:paired-bootstrap|resamples:{first.resamples}|seed:{options.seed}"
    signatures = {label: signature + test for label, signature in task.signatures.items()}
    records = [_record(row, signatures[row.metric], names[row.metric]) for row in rows]
    output.emit(
        records,
        options,
        payload={"comparisons": records},
        title=f"Differences from {baseline}, with {100 * options.confidence:g}% intervals",
        caption=_caption(rows, names),
        table_rows=table_rows,
        groups=("metric",),
        metrics=list(names),
        notes=[
            *(record["sentence"] for record in records),
            "Wins, ties and losses count sentences; p is two-sided"
            f"{first.correction}.{_uncorrected(first)}",
        ],
        signatures=signatures.values(),
    )
    sentences = first.wins + first.ties + first.losses
    output.notice(
        *too_few_sentences(first.comparisons, sentences, first.level),
        *too_few_resamples(first.comparisons, first.resamples, first.level),
    )


def _record(row: BaselineComparison, signature: str, name: str) -> dict[str, Any]:
    """Return all fields of a comparison by a metric of this name as a flat record, for programs."""
    record = asdict(row)
    for field in ("", "difference_", "baseline_"):
        record[f"{field}low"], record[f"{field}high"] = record.pop(f"{field}bounds")
    sentence = row.sentence_about(name)
    return {**record, "significant": row.significant, "sentence": sentence, "signature": signature}


def _uncorrected(row: BaselineComparison) -> str:
    """Return why an interval and a p-value may seem to differ, where there are several systems."""
    if row.comparisons == 1:
        return ""
    return (
        " Each interval is for a single difference, without that correction: if it excludes 0 but p is not "
        f"below {1 - row.level:.2g}, the difference is not significant after the correction."
    )


def _caption(rows: Sequence[BaselineComparison], names: Mapping[str, str]) -> str:
    """Return the caption of the table for a paper."""
    row = rows[0]
    test = describe_test("paired-bootstrap", [each.differing for each in rows])
    bold = f" Bold: scores significantly above that of {row.baseline}."
    return (
        f"Differences from {row.baseline} by {', '.join(names.values())}, with {100 * row.level:g}% "
        f"intervals; win/tie/loss counts sentences. p: of the difference from {row.baseline}{row.correction}."
        f"{_uncorrected(row)}{output.explain_bold(bold, list(names))} All by {test} with "
        f"{row.resamples:,} resamples."
    )


def _table_rows(rows: Sequence[BaselineComparison], *, alone: bool) -> list[dict[str, Any]]:
    """Return the rows of one metric for readers: the baseline's, and one for each other system.

    Scores significantly above the baseline's are in bold; a sentinel has none. A metric that is alone is not
    named.
    """
    first = rows[0]
    name = {} if alone else {"metric": first.metric}
    dashes = dict.fromkeys(("Δ", "interval", "p", "win/tie/loss"), "–")
    table = [{**name, "system": first.baseline, "score": first.baseline_score, **dashes}]
    for row in rows:
        better = row.significant and row.difference > 0 and not is_sentinel(row.metric)
        table.append(
            {
                **name,
                "system": row.system,
                "score": output.Bold(row.score) if better else row.score,
                "Δ": "–" if np.isnan(row.difference) else f"{row.difference:+.4f}",
                "interval": "–"
                if np.isnan(row.difference_bounds[0])
                else "[{:+.4f}, {:+.4f}]".format(*row.difference_bounds),
                "p": row.p.removeprefix("p ").removeprefix("= "),
                "win/tie/loss": f"{row.wins}/{row.ties}/{row.losses}",
            }
        )
    return table
