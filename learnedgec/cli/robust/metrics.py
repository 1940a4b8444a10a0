"""`learnedgec robust metrics`: robustness of metrics' preferences for the correction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jsonargparse import ArgumentParser

from learnedgec.benchmarks.contamination import contamination
from learnedgec.cli.options import (
    add_metric_argument,
    add_plot_argument,
    add_resampling_arguments,
    add_runtime_arguments,
    make_parser,
    read_metrics,
    read_runtime,
)
from learnedgec.cli.output import add_output_arguments, notice, with_format
from learnedgec.cli.robust.cases import (
    add_case_arguments,
    expanded,
    read_frequencies,
    read_parts,
)
from learnedgec.cli.robust.estimates import emit_estimates, resampling, tell_plots
from learnedgec.cli.table import Layout
from learnedgec.metrics.needs import check_metrics
from learnedgec.plotting.style import check_plotting
from learnedgec.robustness.preferences import PreferenceRobustness, evaluate_preferences

_SHOW = {
    "summary": "one row per metric",
    "variants": "by action, distance and frequency of the change",
}


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec robust metrics`."""
    parser = make_parser(
        "robust metrics",
        "Evaluate whether metrics still prefer the correction when unrelated context changes.",
    )
    add_case_arguments(parser, _SHOW)
    add_metric_argument(parser)
    add_resampling_arguments(parser)
    add_plot_argument(parser)
    add_runtime_arguments(parser)
    add_output_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = with_format(build_parser().parse_args(list(arguments)))
    if options.plot:
        check_plotting(options.plot)
    metrics = read_metrics(options)
    check_metrics(metrics, read_runtime(options))
    parts = read_parts(options.case)
    for name in expanded(options.case):
        for message in (text for each in metrics for text in contamination(each, name)):
            notice(f"{name}: {message}")
    found = evaluate_preferences(
        parts,
        metrics,
        frequencies=read_frequencies(options),
        **resampling(options),
        runtime=read_runtime(options),
    )
    rows = _variants(found) if options.show == "variants" else map(_summary, found)
    emit_estimates(
        options,
        list(rows),
        found,
        caption="Robustness of metrics' preference for the correction",
        layout=Layout(
            groups=("cases", "n", "left out") if options.show == "summary" else ("cases", "metric"),
            keys=("metric",) if options.show == "summary" else ("by", "variants", "n"),
            names=[metric.label for metric in metrics],
        ),
    )
    if options.plot:
        from learnedgec.plotting.robustness import plot_preferences

        tell_plots(plot_preferences(found, options.plot), options)


def _summary(result: PreferenceRobustness) -> dict[str, Any]:
    return {
        "cases": result.cases,
        "n": result.count,
        "left out": result.left_out,
        "metric": result.metric,
        "accuracy": result.accuracy,
        "ties": result.ties,
        "always right": result.always,
        "CRS": result.crs,
        "P-CRS": result.p_crs,
        "margin": result.margin,
        "spread": result.spread,
        "within": result.within,
    }


def _variants(results: Sequence[PreferenceRobustness]) -> Iterator[dict[str, Any]]:
    """Yield one row for each kind of variant."""
    for result in results:
        for group in result.groups:
            yield {
                "cases": result.cases,
                "metric": result.metric,
                "by": group.dimension,
                "variants": group.group,
                "n": group.count,
                "P-CRS": group.consistent,
                "accuracy": group.accuracy,
            }
