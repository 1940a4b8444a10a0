"""`learnedgec compare`: differences from a baseline, with intervals, tests and a sentence for a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jsonargparse import ArgumentParser

from learnedgec.analysis.comparison import BaselineComparison, compare_systems
from learnedgec.cli import flags, inputs, output
from learnedgec.metrics.labels import is_sentinel, short_labels
from learnedgec.stats.significance import too_few_resamples


@dataclass
class _Comparison(inputs.Baseline):
    """The baseline, and what p-values are corrected for.

    Attributes:
        all_pairs: correct p-values for all pairs of systems, as `rank` and `report` do without a baseline,
            and not for the comparisons with the baseline alone.
    """

    all_pairs: bool = False


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec compare`."""
    parser = flags.make_parser("compare", "Compare systems with a baseline by one or more metrics.")
    flags.add_fields(parser, _Comparison)
    inputs.add_scoring(parser)
    flags.add_evaluation(parser, plot=False)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = output.with_format(build_parser().parse_args(list(arguments)))
    flags.require(options, baseline="old.txt")
    scoring = inputs.read_scoring(options)
    baseline, *_ = scoring.inputs.systems
    by_metric = [
        compare_systems(
            metric,
            statistics,
            baseline,
            all_pairs=options.all_pairs,
            **flags.read_resampling(options),
        )
        for metric, statistics in scoring.statistics()
    ]
    rows = [row for of_metric in by_metric for row in of_metric]
    first, names = rows[0], short_labels(scoring.labels)
    test = f"|test:paired-bootstrap|resamples:{first.resamples}|seed:{options.seed}"
    signatures = {label: signature + test for label, signature in scoring.signatures.items()}
    records = [_record(row, signatures, names) for row in rows]
    table_rows = [row for of_metric in by_metric for row in _table_rows(of_metric)]
    if len(by_metric) == 1:
        for cells in table_rows:
            del cells["metric"]
    output.emit(
        records,
        options,
        payload={"comparisons": records},
        title=f"Differences from {baseline}, with {options.confidence:.0%} intervals",
        caption=_caption(first, names),
        table_rows=table_rows,
        groups=("metric",),
        metrics=list(names),
        notes=[
            *(row.sentence_about(names[row.metric]) for row in rows),
            "Wins, ties and losses count sentences; p is two-sided"
            f"{first.correction}.{_uncorrected(first)}",
        ],
        signatures=signatures.values(),
    )
    output.notice(*too_few_resamples(first.comparisons, first.resamples, first.level))


def _record(
    row: BaselineComparison, signatures: Mapping[str, str], names: Mapping[str, str]
) -> dict[str, Any]:
    """Return all fields of a comparison as a flat record, for programs."""
    record = asdict(row)
    for name in ("bounds", "difference_bounds", "baseline_bounds"):
        low, high = (name.replace("bounds", end) for end in ("low", "high"))
        record[low], record[high] = record.pop(name)
    return {
        **record,
        "significant": row.significant,
        "sentence": row.sentence_about(names[row.metric]),
        "signature": signatures[row.metric],
    }


def _uncorrected(row: BaselineComparison) -> str:
    """Return why an interval and a p-value may seem to differ, where there are several systems."""
    if row.comparisons == 1:
        return ""
    return (
        " Each interval is for a single difference, without that correction: if it excludes 0 but p is not "
        f"below {1 - row.level:.2g}, the difference is not significant after the correction."
    )


def _caption(row: BaselineComparison, names: Mapping[str, str]) -> str:
    """Return the caption of the table for a paper."""
    bold = f" Bold: scores significantly above that of {row.baseline}."
    return (
        f"Differences from {row.baseline} by {', '.join(names.values())}, with {row.level:.0%} intervals; "
        f"win/tie/loss counts sentences. p: of the difference from {row.baseline}{row.correction}."
        f"{_uncorrected(row)}{output.explain_bold(bold, list(names))} All by paired bootstrap with "
        f"{row.resamples:,} resamples."
    )


def _table_rows(rows: Sequence[BaselineComparison]) -> list[dict[str, Any]]:
    """Return the rows of one metric for readers: the baseline's, and one for each other system.

    Scores significantly above the baseline's are in bold; a sentinel has none.
    """
    first = rows[0]
    baseline = {"metric": first.metric, "system": first.baseline, "score": first.baseline_score}
    table = [baseline | dict.fromkeys(("Δ", "interval", "p", "win/tie/loss"), "–")]
    for row in rows:
        better = row.significant and row.difference > 0 and not is_sentinel(row.metric)
        table.append(
            {
                "metric": row.metric,
                "system": row.system,
                "score": output.Bold(row.score) if better else row.score,
                "Δ": f"{row.difference:+.4f}",
                "interval": "[{:+.4f}, {:+.4f}]".format(*row.difference_bounds),
                "p": row.p.removeprefix("p ").removeprefix("= "),
                "win/tie/loss": f"{row.wins}/{row.ties}/{row.losses}",
            }
        )
    return table
