"""`learnedgec compare`: differences from a baseline, with intervals, tests and a sentence for a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from learnedgec.analysis.comparison import BaselineComparison, compare_systems
from learnedgec.cli import flags, output
from learnedgec.cli.inputs import add_scoring, read_scoring, system_files, system_names
from learnedgec.errors import InputError
from learnedgec.metrics.labels import is_sentinel
from learnedgec.stats.significance import too_few_resamples


@dataclass
class _Baseline:
    """What systems are compared with.

    Attributes:
        baseline: the output of the baseline, in addition to --hyp, or the name of a system among those.
    """

    baseline: str | None = None


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec compare`."""
    parser = flags.make_parser("compare", "Compare systems with a baseline by one or more metrics.")
    flags.add_fields(parser, _Baseline)
    add_scoring(parser)
    flags.add_evaluation(parser, many_tests=True, plot=False)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = output.with_format(build_parser().parse_args(list(arguments)))
    _put_baseline_first(options)
    scoring = read_scoring(options)
    baseline = next(iter(scoring.inputs.systems))
    by_metric = [
        compare_systems(metric, statistics, baseline, **flags.read_resampling(options))
        for metric, statistics in scoring.statistics()
    ]
    rows = [row for of_metric in by_metric for row in of_metric]
    first, names = rows[0], scoring.short_names
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
            _legend(first, list(names), bold=output.shows_bold(options)),
        ],
        signatures=signatures.values(),
    )
    for message in too_few_resamples(first.comparisons, first.resamples, first.level):
        output.notice(message)


def _put_baseline_first(options: Namespace) -> None:
    """Put the baseline, a file or the name of one of the systems, before the other systems.

    Raises:
        InputError: it is neither, or no other system was given.
    """
    baseline = options.baseline
    if not baseline:
        raise InputError(
            "no baseline was given; name its output with --baseline, and others with --hyp."
        )
    paths = options.jsonl or system_files(options.hyp or ())
    if baseline != "-" and (Path(baseline).is_dir() or not Path(baseline).exists()):
        files = dict(zip(system_names(paths), paths, strict=True))
        if baseline not in files:
            others = f"; systems are {', '.join(files)}" if files else ""
            raise InputError(
                f"the baseline {baseline} is neither a file nor the name of a system among the others"
                f"{others}."
            )
        baseline = files[baseline]
    place = Path(baseline).absolute()
    paths = [path for path in paths if path == "-" or Path(path).absolute() != place]
    if not paths:
        raise InputError("no system was given besides the baseline; name one or more with --hyp.")
    options["jsonl" if options.jsonl else "hyp"] = [baseline, *paths]


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


def _legend(row: BaselineComparison, metrics: Sequence[str], *, bold: bool) -> str:
    """Return what the columns mean."""
    several = row.comparisons > 1
    corrected = f", after Holm's correction for {row.comparisons} systems" if several else ""
    meaning = " In bold: the best system and those not significantly worse, by separate tests."
    return (
        f"Wins, ties and losses count sentences; p is two-sided{corrected}.{_uncorrected(row)}"
        + (output.explain_bold(meaning, metrics) if bold else "")
    )


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
    tests = f"{row.comparisons} test{'s' if row.comparisons > 1 else ''}"
    bold = (
        " Bold: the best score and those not significantly different from it, after Holm's correction for "
        f"{tests} against the best."
    )
    return (
        f"Differences from {row.baseline} by {', '.join(names.values())}, with {row.level:.0%} intervals; "
        f"win/tie/loss counts sentences. p: of the difference from {row.baseline}, after Holm's correction "
        f"for {tests}.{_uncorrected(row)}{output.explain_bold(bold, list(names))} All by paired bootstrap "
        f"with {row.resamples:,} resamples."
    )


def _table_rows(rows: Sequence[BaselineComparison]) -> list[dict[str, Any]]:
    """Return the rows of one metric for readers: the baseline's, and one for each other system.

    The best scores are in bold; a sentinel's highest score is not the best.
    """
    metric, sentinel = rows[0].metric, is_sentinel(rows[0].metric)

    def row_of(system: str, score: float, best: bool, *others: str) -> dict[str, Any]:
        cells = (metric, system, output.Bold(score) if best and not sentinel else score, *others)
        columns = ("metric", "system", "score", "Δ", "interval", "p", "win/tie/loss")
        return dict(zip(columns, cells, strict=True))

    baseline = (rows[0].baseline, rows[0].baseline_score, rows[0].baseline_best)
    return [row_of(*baseline, *["–"] * 4)] + [
        row_of(
            row.system,
            row.score,
            row.best,
            f"{row.difference:+.4f}",
            "[{:+.4f}, {:+.4f}]".format(*row.difference_bounds),
            row.p.removeprefix("p ").removeprefix("= "),
            f"{row.wins}/{row.ties}/{row.losses}",
        )
        for row in rows
    ]
