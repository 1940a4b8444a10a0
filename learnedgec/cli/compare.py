"""`learnedgec compare`: differences from a baseline, with intervals, tests and a sentence for a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace

from learnedgec.cli.inputs import (
    Inputs,
    add_input_arguments,
    read_inputs,
    system_files,
    system_names,
)
from learnedgec.cli.options import (
    add_metric_argument,
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
    shows_bold,
    with_format,
)
from learnedgec.cli.table import Layout, Strong
from learnedgec.comparison import BaselineComparison, compare_systems
from learnedgec.errors import InputError
from learnedgec.metrics.base import Metric, shared_statistics
from learnedgec.metrics.labels import is_sentinel, short_labels
from learnedgec.metrics.needs import check_metrics
from learnedgec.stats.significance import too_few_resamples


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec compare`."""
    parser = make_parser("compare", "Compare systems with a baseline by one or more metrics.")
    parser.add_argument(
        "--baseline",
        type=str,
        help="the output of the baseline, in addition to --hyp, or the name of a system among those",
    )
    add_metric_argument(parser)
    add_reannotate_argument(parser)
    add_input_arguments(parser)
    add_resampling_arguments(parser, many_tests=True)
    add_runtime_arguments(parser)
    add_output_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = with_format(build_parser().parse_args(list(arguments)))
    metrics = read_metrics(options)
    runtime = read_runtime(options)
    inputs, baseline = _read(options, metrics)
    check_metrics(metrics, runtime)
    rows: list[BaselineComparison] = []
    signatures = {}
    for metric, statistics in shared_statistics(
        metrics,
        lambda m: m.statistics_of_systems(
            inputs.sources, inputs.systems, inputs.references, runtime=runtime
        ),
    ):
        found = compare_systems(
            metric,
            statistics,
            baseline,
            resamples=options.resamples,
            level=options.confidence,
            seed=options.seed,
        )
        rows += found
        signatures[metric.label] = (
            f"{metric.signature(inputs.references, runtime=runtime)}|test:paired-bootstrap"
            f"|resamples:{found[0].resamples}|seed:{options.seed}"
        )
    names = short_labels([metric.label for metric in metrics])
    records = [_record(row, signatures, names) for row in rows]
    emit(
        records,
        options,
        payload={"comparisons": records},
        title=f"Differences from {baseline}, with {options.confidence:.0%} intervals",
        caption=_caption(rows[0], names),
        table_rows=[
            cells
            for metric in metrics
            for cells in _table_rows(
                [row for row in rows if row.metric == metric.label], len(metrics) > 1
            )
        ],
        layout=Layout(groups=("metric",), keys=("system",), names=list(names)),
        notes=[
            *(row.sentence_about(names[row.metric]) for row in rows),
            _legend(rows[0], metrics, bold=shows_bold(options)),
        ],
        signatures=signatures.values(),
    )
    first = rows[0]
    for message in too_few_resamples(first.comparisons, first.resamples, first.level):
        notice(message)


def _baseline_file(given: str, paths: Sequence[str]) -> str:
    """Return the baseline's file: the one given, or that of the system with this name.

    Raises:
        InputError: it is neither a file nor the name of a system.
    """
    if given == "-" or (Path(given).exists() and not Path(given).is_dir()):
        return given
    files = dict(zip(system_names(paths), paths, strict=True))
    if given not in files:
        known = f"; systems are {', '.join(files)}" if files else ""
        raise InputError(
            f"the baseline {given} is neither a file nor the name of a system among the others{known}."
        )
    return files[given]


def _read(options: Namespace, metrics: Sequence[Metric]) -> tuple[Inputs, str]:
    """Return the input with the baseline among the systems, and the baseline's name."""
    if not options.baseline:
        raise InputError(
            "no baseline was given; name its output with --baseline, and others with --hyp."
        )
    paths = options.jsonl or system_files(options.hyp or ())
    baseline = _baseline_file(options.baseline, paths)
    others = [
        path for path in paths if path == "-" or Path(path).absolute() != Path(baseline).absolute()
    ]
    if not others:
        raise InputError("no system was given besides the baseline; name one or more with --hyp.")
    options["jsonl" if options.jsonl else "hyp"] = [baseline, *others]
    inputs = read_inputs(options, metrics)
    return inputs, next(iter(inputs.systems))


def _record(
    row: BaselineComparison, signatures: Mapping[str, str], names: Mapping[str, str]
) -> dict[str, Any]:
    """Return all fields of a comparison as a flat record, for programs."""
    record = asdict(row)
    for name in ("bounds", "difference_bounds", "baseline_bounds"):
        record[name.replace("bounds", "low")], record[name.replace("bounds", "high")] = record.pop(
            name
        )
    return {
        **record,
        "significant": row.significant,
        "sentence": row.sentence_about(names[row.metric]),
        "signature": signatures[row.metric],
    }


def _legend(row: BaselineComparison, metrics: Sequence[Metric], *, bold: bool) -> str:
    """Return what the columns mean."""
    corrected = (
        f", after Holm's correction for {row.comparisons} systems" if row.comparisons > 1 else ""
    )
    return (
        f"Wins, ties and losses count sentences; p is two-sided{corrected}.{_uncorrected(row)}"
        + (
            about_bold(
                " In bold: the best system and those not significantly worse, by separate tests.",
                [metric.label for metric in metrics],
            )
            if bold
            else ""
        )
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
        f"for {tests}.{_uncorrected(row)}{about_bold(bold, list(names))} All by paired bootstrap with "
        f"{row.resamples:,} resamples."
    )


def _table_rows(rows: Sequence[BaselineComparison], several: bool) -> list[dict[str, Any]]:
    """Return the rows of one metric for readers: the baseline's, and one for each other system."""
    first = rows[0]
    best = not is_sentinel(first.metric)  # its highest score is not the best
    metric = {"metric": first.metric} if several else {}
    found: list[dict[str, Any]] = [
        {
            **metric,
            "system": first.baseline,
            "score": _score(first.baseline_score, best=best and first.baseline_best),
            "Δ": "–",
            "interval": "–",
            "p": "–",
            "win/tie/loss": "–",
        }
    ]
    for row in rows:
        low, high = row.difference_bounds
        found.append(
            {
                **metric,
                "system": row.system,
                "score": _score(row.score, best=best and row.best),
                "Δ": f"{row.difference:+.4f}",
                "interval": f"[{low:+.4f}, {high:+.4f}]",
                "p": row.p.removeprefix("p ").removeprefix("= "),
                "win/tie/loss": f"{row.wins}/{row.ties}/{row.losses}",
            }
        )
    return found


def _score(value: float, *, best: bool) -> float | Strong:
    return Strong(value) if best else value
