"""`learnedgec robust systems`: robustness of systems' corrections to changes of the context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jsonargparse import ArgumentParser

from learnedgec.cli.inputs import system_names
from learnedgec.cli.options import (
    add_evaluation_arguments,
    add_group,
    add_metric_argument,
    make_parser,
    read_checked_metrics,
    read_resampling,
)
from learnedgec.cli.output import tell_written, with_format
from learnedgec.cli.robust.cases import CaseFlags, all_pairs, read_frequencies, read_parts
from learnedgec.cli.robust.estimates import emit_estimates
from learnedgec.data.catalog.cases import Case
from learnedgec.data.text import check_lengths, read_lines, write_lines
from learnedgec.errors import InputError
from learnedgec.robustness.systems import SystemRobustness, evaluate_systems

_DEFAULT = ["errant"]


@dataclass
class _Cases(CaseFlags):
    """Which systems are evaluated on which cases, and which table is printed.

    Attributes:
        hyp: system outputs, one line per sentence: for each case the original, then its variants; for several
            sets, one file with all sets in turn, or a folder with one file per set (conll14.txt).
        show: the table to print, summary: one row per system; variants: by action, distance and frequency of
            the change; sources: write the sentences that a system has to correct instead. JSON has all of
            them.
    """

    hyp: list[str] | None = None
    show: Literal["summary", "variants", "sources"] = "summary"


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec robust systems`."""
    parser = make_parser(
        "robust systems",
        "Evaluate whether systems' corrections stay the same when only unrelated context changes.",
    )
    add_group(parser, _Cases, "cases")
    add_metric_argument(parser, _DEFAULT)
    add_evaluation_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = build_parser().parse_args(list(arguments))
    options = with_format(options, table=options.show != "sources")
    if options.show == "sources":
        if options.hyp or options.metric != _DEFAULT:
            raise InputError(
                "--show sources only writes what to correct; leave out --hyp and --metric."
            )
        write_lines(options.out, [pair.source for pair in all_pairs(read_parts(options.case))])
        return
    if not options.hyp:
        raise InputError(
            "no system output was given; name at least one file with --hyp. --show sources writes what to "
            "correct."
        )
    metrics, runtime = read_checked_metrics(options)
    frequencies = read_frequencies(options)
    parts = read_parts(options.case)
    systems = _read_systems(options.hyp, parts)
    resampling = read_resampling(options)
    results = [
        result
        for metric in metrics
        for result in evaluate_systems(
            parts, systems, metric, frequencies=frequencies, **resampling, runtime=runtime
        )
    ]
    by_variant = options.show == "variants"
    emit_estimates(
        options,
        list(_variants(results) if by_variant else map(_summary, results)),
        results,
        caption="Robustness of systems' corrections",
        groups=("cases", "metric") if by_variant else ("cases", "n", "metric"),
    )
    if options.plot:
        from learnedgec.plotting.robustness import plot_systems

        for metric in metrics:
            of_metric = [result for result in results if result.metric == metric.label]
            tell_written(plot_systems(of_metric, options.plot), options)


def _read_systems(
    paths: Sequence[str], parts: Mapping[str, Sequence[Case]]
) -> dict[str, dict[str, list[str]]]:
    """Return each system's hypotheses for each set, from one file with all or a folder with one file each."""
    sources = [pair.source for pair in all_pairs(parts)]
    systems: dict[str, dict[str, list[str]]] = {}
    for system, path in zip(system_names(paths), paths, strict=True):
        if Path(path).is_dir():
            systems[system] = {name: read_lines(Path(path) / f"{name}.txt") for name in parts}
            continue
        lines = read_lines(path)
        check_lengths((" and ".join(parts), sources), (path, lines))
        systems[system], start = {}, 0
        for name, cases in parts.items():
            end = start + sum(len(case.pairs) for case in cases)
            systems[system][name], start = lines[start:end], end
    return systems


def _summary(result: SystemRobustness) -> dict[str, Any]:
    row: dict[str, Any] = {"cases": result.cases, "n": result.count, "system": result.system}
    row["metric"] = result.metric
    for name in ("original", "upper", "lower"):
        part = getattr(result, name)
        row |= {f"{name} P": part.precision, f"{name} R": part.recall, f"{name} F": part.f}
    row |= {"Δ": result.delta}
    row |= {f"CRS {rule}": estimate for rule, estimate in result.crs.items()}
    return row | {f"P-CRS {rule}": estimate for rule, estimate in result.p_crs.items()}


def _variants(results: Sequence[SystemRobustness]) -> Iterator[dict[str, Any]]:
    """Yield one row for each kind of variant."""
    for result in results:
        for group in result.groups:
            yield {
                "cases": result.cases,
                "system": result.system,
                "metric": result.metric,
                "by": group.dimension,
                "variants": group.group,
                "n": group.count,
                **{f"P-CRS {rule}": estimate for rule, estimate in group.consistent.items()},
                "F": group.f,
                "original F": group.original_f,
            }
