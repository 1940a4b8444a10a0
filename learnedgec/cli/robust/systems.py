"""`learnedgec robust systems`: robustness of systems' corrections to changes of the context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser

from learnedgec.catalog.cases import Case
from learnedgec.cli.inputs import system_names
from learnedgec.cli.options import (
    add_metric_argument,
    add_plot_argument,
    add_resampling_arguments,
    add_runtime_arguments,
    make_parser,
    read_metrics,
    read_runtime,
)
from learnedgec.cli.output import add_output_arguments, with_format
from learnedgec.cli.robust.cases import (
    add_case_arguments,
    all_pairs,
    read_frequencies,
    read_parts,
)
from learnedgec.cli.robust.estimates import emit_estimates, resampling, tell_plots
from learnedgec.cli.table import Layout
from learnedgec.errors import InputError
from learnedgec.formats.text import check_lengths, read_lines, write_lines
from learnedgec.metrics.needs import check_metrics
from learnedgec.plotting.style import check_plotting
from learnedgec.robustness.systems import SystemRobustness, evaluate_systems

_DEFAULT = ["errant"]
_SHOW = {
    "summary": "one row per system",
    "variants": "by action, distance and frequency of the change",
    "sources": "write the sentences that a system has to correct instead",
}


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec robust systems`."""
    parser = make_parser(
        "robust systems",
        "Evaluate whether systems' corrections stay the same when only unrelated context changes.",
    )
    add_case_arguments(parser, _SHOW)
    parser.add_argument(
        "--hyp",
        nargs="+",
        type=str,
        help="system outputs, one line per sentence: for each case the original, then its variants; for "
        "several sets, one file with all sets in turn, or a folder with one file per set (conll14.txt)",
    )
    add_metric_argument(parser, _DEFAULT)
    add_resampling_arguments(parser)
    add_plot_argument(parser)
    add_runtime_arguments(parser)
    add_output_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = build_parser().parse_args(list(arguments))
    options = with_format(options, table=options.show != "sources")
    if options.plot:
        check_plotting(options.plot)
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
    metrics, runtime = read_metrics(options), read_runtime(options)
    check_metrics(metrics, runtime)
    frequencies = read_frequencies(options)
    parts = read_parts(options.case)
    systems = _read_systems(options.hyp, parts)
    found = [
        result
        for metric in metrics
        for result in evaluate_systems(
            parts, systems, metric, frequencies=frequencies, **resampling(options), runtime=runtime
        )
    ]
    rows = _variants(found) if options.show == "variants" else map(_summary, found)
    emit_estimates(
        options,
        list(rows),
        found,
        caption="Robustness of systems' corrections",
        layout=Layout(
            groups=("cases", "n", "metric") if options.show == "summary" else ("cases", "metric"),
            keys=("system",) if options.show == "summary" else ("system", "by", "variants", "n"),
        ),
    )
    if options.plot:
        from learnedgec.plotting.robustness import plot_systems

        for metric in metrics:
            chosen = [each for each in found if each.metric == metric.label]
            tell_plots(plot_systems(chosen, options.plot), options)


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
    row |= {f"CRS {rule}": each for rule, each in result.crs.items()}
    return row | {f"P-CRS {rule}": each for rule, each in result.p_crs.items()}


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
                **{f"P-CRS {rule}": each for rule, each in group.consistent.items()},
                "F": group.f,
                "original F": group.original_f,
            }
