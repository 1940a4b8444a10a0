"""`learnedgec robust metrics`: robustness of metrics' preferences for the correction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jsonargparse import ArgumentParser

from learnedgec.analysis.contamination import contamination
from learnedgec.cli.options import (
    add_evaluation_arguments,
    add_group,
    add_metric_argument,
    make_parser,
    read_checked_metrics,
    read_resampling,
)
from learnedgec.cli.output import notice, tell_written, with_format
from learnedgec.cli.robust.cases import CaseFlags, expanded, read_frequencies, read_parts
from learnedgec.cli.robust.estimates import emit_estimates
from learnedgec.robustness.preferences import PreferenceRobustness, evaluate_preferences


@dataclass
class _Cases(CaseFlags):
    """Which cases, and which table.

    Attributes:
        show: the table to print, summary: one row per metric; variants: by action, distance and frequency of
            the change. JSON has all of them.
    """

    show: Literal["summary", "variants"] = "summary"


def build_parser() -> ArgumentParser:
    """Return the parser of `learnedgec robust metrics`."""
    parser = make_parser(
        "robust metrics",
        "Evaluate whether metrics still prefer the correction when unrelated context changes.",
    )
    add_group(parser, _Cases, "cases")
    add_metric_argument(parser)
    add_evaluation_arguments(parser)
    return parser


def main(arguments: Sequence[str]) -> None:
    """Run the command."""
    options = with_format(build_parser().parse_args(list(arguments)))
    metrics, runtime = read_checked_metrics(options)
    parts = read_parts(options.case)
    for name in expanded(options.case):
        for metric in metrics:
            for message in contamination(metric, name):
                notice(f"{name}: {message}")
    results = evaluate_preferences(
        parts,
        metrics,
        frequencies=read_frequencies(options),
        **read_resampling(options),
        runtime=runtime,
    )
    by_variant = options.show == "variants"
    emit_estimates(
        options,
        list(_variants(results) if by_variant else map(_summary, results)),
        results,
        caption="Robustness of metrics' preference for the correction",
        groups=("cases", "metric") if by_variant else ("cases", "n", "left out"),
        metrics=[metric.label for metric in metrics],
    )
    if options.plot:
        from learnedgec.plotting.robustness import plot_preferences

        tell_written(plot_preferences(results, options.plot), options)


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
